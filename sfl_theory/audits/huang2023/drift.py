r"""``huang2023``: how far local models drift apart within a round.

With $\tau=EM$, $D=\sum_np_nE\|w_n-\bar w\|^2$, $x=\gamma+i$, $\eta=2/(\mu x)$ and a
round that starts at $x_0$ with $\eta_0$:

1. $D_{j+1}\le(1+\frac1{2\tau})D_j+\eta_0^2B$, $B=2\tau\delta^2+R^2$, from $D_0=0$;
2. so $D_j(1-\frac j{2\tau})\le j\eta_0^2B$, and $D_j\le8(\tau-1)\eta^2B$ as
   $\eta_0\le2\eta$.
"""

from __future__ import annotations

from functools import partial

import sympy as sp

from sfl_theory.audits.huang2023.notation import (
    A2,
    A4,
    A5,
    R2,
    UPDATE,
    Build,
    delta2,
    eta,
    eta_0,
    j,
    x,
)
from sfl_theory.evidence.certificate import Certificate, Fact, atom
from sfl_theory.evidence.derivation import INDUCTION, Instance, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.induction import Induction
from sfl_theory.symbols import mu, tau

DRIFTING = (UPDATE, A2, A4, A5, "square")
"""What the drift within a round rests on."""

B = 2 * tau * delta2 + R2


def one_step(claim: str) -> Certificate:
    """Return Step 1 of the module's proof: the drift after one more local step."""
    now, after = atom("D_j"), atom("D_(j+1)")
    monotone, diverge, variance = atom("P"), atom("Q"), atom("G_c")
    k, h = free("k_ h_")
    one, two = free("d_ R_")
    three, four = positive("m_ e_")
    domain = Domain(
        "tau >= 1, 0 < eta <= eta_0",
        {delta2: one, R2: two, mu: three, tau: 1 + k, eta: four, eta_0: four + h},
        (k, h, one, two, three, four),
    )
    expanded = Fact(
        "u_n' = u_n - eta (g_{c,n} - mean): square, mean of u_n is 0",
        now - 2 * eta * (monotone + diverge) + eta**2 * variance - after,
        UPDATE,
    )
    convex = Fact(
        "P = sum p E<w_n - wbar, grad f_n(w_n) - grad f_n(wbar)> >= mu D",
        monotone - mu * now,
        A2,
    )
    # -2 eta <u_n, grad f_n(wbar) - grad F(wbar)> <= ||u_n||^2/(2 tau) + 2 tau eta^2
    # delta^2
    young = Fact(
        "Q = sum p E<w_n - wbar, grad f_n(wbar) - grad F(wbar)>, Young with 1/(2 tau)",
        now / (2 * tau) + 2 * tau * eta**2 * delta2 + 2 * eta * diverge,
        A5,
    )
    norm = Fact("sum p E||g_{c,n} - mean||^2 <= R^2", R2 - variance, A4)
    known = Fact("D_j >= 0", now, "square")
    return Certificate(
        claim,
        after,
        (1 + 1 / (2 * tau)) * now + eta_0**2 * B,
        DRIFTING,
        domain,
        uses=(
            (expanded, 1),
            (convex, 2 * eta),
            (young, 1),
            (norm, eta**2),
            (known, 2 * eta * mu),
        ),
        statement="D_{j+1} <= (1 + 1/(2 tau)) D_j + eta_0^2 (2 tau delta^2 + R^2)",
    )


def start_of_round(claim: str) -> Certificate:
    """Return the base of Step 2: after averaging all models are the same."""
    start = atom("D_0")
    averaged = Fact("D_0 = 0: averaged models", start, UPDATE, equality=True)
    return Certificate(
        claim,
        start,
        sp.Integer(0),
        (UPDATE,),
        Domain("any", {}, ()),
        uses=((averaged, -1),),
        statement="D_0 <= 0",
    )


def multiplied(claim: str) -> Certificate:
    """Return the step of Step 2, at any rate of the round."""
    now, after = atom("D_j"), atom("D_(j+1)")
    m, i, h = free("m_j i_ h_")
    one, two = free("d_ R_")
    three, four = positive("m_ e_")
    domain = Domain(
        "0 <= j < tau, 0 < eta <= eta_0",
        {
            delta2: one,
            R2: two,
            mu: three,
            eta: four,
            eta_0: four + h,
            j: i,
            tau: 1 + i + m,
        },
        (i, m, h, one, two, three, four),
    )
    unit = B * eta_0**2
    at = {"k_": tau - 1, "h_": eta_0 - eta, "d_": delta2, "R_": R2, "m_": mu}
    step = Fact(
        "step",
        (1 + 1 / (2 * tau)) * now + unit - after,
        "",
        derived=Instance(Use(one_step(claim), {**at, "e_": eta})),
    )
    assumed = Fact("before", j * unit - (1 - j / (2 * tau)) * now, INDUCTION)
    factor = 1 - (j + 1) / (2 * tau)
    first = factor * (1 + 1 / (2 * tau)) / (1 - j / (2 * tau))
    return Certificate(
        claim,
        factor * after,
        (j + 1) * unit,
        (*DRIFTING, INDUCTION),
        domain,
        uses=((step, factor), (assumed, first)),
        statement="(1 - j/(2 tau)) D_j <= j eta_0^2 B implies the same for j + 1",
    )


def ended(claim: str) -> Certificate:
    """Return the end of Step 2: the drift after j steps, by the current rate."""
    now = atom("D_j'")
    m, i, begin = free("m_j i_ b_")
    one, two = free("d_ R_")
    (three,) = positive("m_")
    domain = Domain(
        "1 <= tau, j <= tau - 1, x = x_0 + j, x_0 = gamma + i_0 >= tau",
        {
            delta2: one,
            R2: two,
            mu: three,
            j: i,
            tau: 1 + i + m,
            x: 1 + i + m + begin + i,
            eta: 2 / (mu * x),
            eta_0: 2 / (mu * (x - j)),
        },
        (i, m, begin, one, two, three),
    )
    unit = B * eta_0**2
    (index,) = free("j'")
    then = 2 / (mu * (x - j + index))  # the rate j' steps after the round began
    at = {"m_j": tau - 1 - index, "i_": index, "h_": eta_0 - then}
    chain = Induction(
        claim=index * unit - (1 - index / (2 * tau)) * atom("D_j"),
        index=index,
        end=j,
        base=Use(start_of_round(claim), {}),
        steps=(
            Use(
                multiplied(claim),
                {**at, "d_": delta2, "R_": R2, "m_": mu, "e_": then},
            ),
        ),
        moves={"D_j": ("D_0", "D_(j+1)", "D_j'")},
    )
    shrunk = Fact(
        "(1 - j/(2 tau)) D_j <= j eta_0^2 B",
        j * unit - (1 - j / (2 * tau)) * now,
        "",
        derived=chain,
    )
    return Certificate(
        claim,
        now,
        8 * (tau - 1) * eta**2 * B,
        DRIFTING,
        domain,
        uses=((shrunk, 1 / (1 - j / (2 * tau))),),
        statement="sum p E||w_{c,n} - wbar_c||^2 <= 8 (tau - 1) eta^2 "
        "(R^2 + 2 tau delta^2) for gamma >= tau",
    )


def drift(claim: str) -> tuple[Build, ...]:
    """Return the certificates of Steps 1 and 2 of the module's proof."""
    builders = (one_step, start_of_round, multiplied, ended)
    return tuple(partial(build, claim) for build in builders)
