r"""``huang2023``: a proof of Theorem 1 that needs neither of its propositions.

Joint recursion. With $\tau=EM$, $\bar w=(\bar w_c,w_s)$, $w_n=(w_{c,n},w_s)$,
$\Delta^i=E\|\bar w^i-w^*\|^2$, $D=\sum_np_nE\|w_n-\bar w\|^2$, $x=\gamma+i$,
$\eta=2/(\mu x)$ and a round that starts at $x_0$ with $\eta_0$:

1. drift: $D_{j+1}\le(1+\frac1{2\tau})D_j+\eta_0^2B$, $B=2\tau\delta^2+R^2$,
   from $D_0=0$;
2. so $D_j(1-\frac j{2\tau})\le j\eta_0^2B$, and $D_j\le8(\tau-1)\eta^2B$ as
   $\eta_0\le2\eta$;
3. $\Delta^{i+1}\le(1-2\mu\eta)\Delta^i+\eta SD+\eta^2R^2\le(1-2\mu\eta)\Delta^i
   +\eta^2V$, $V=R^2+\frac{16}7(\tau-1)B$, as $\eta S\le\frac27$;
4. $\Delta^i\le v/(\gamma+i)$ with $v=\frac{4V}{3\mu^2}+\gamma\Delta^0$, by induction;
5. Lemma 1 at $i=T\tau$ (``printed_bound``).

Used of the assumptions: inequalities at iterates, their means and $w^*$ only, so
"for all w" may be read as "on a convex set that contains these".
"""

from __future__ import annotations

from functools import partial
from typing import Any

import sympy as sp

from sfl_theory import symbols
from sfl_theory.audits.huang2023.drift import B, drift, ended
from sfl_theory.audits.huang2023.notation import (
    A1,
    A2,
    A4,
    A5,
    R2,
    UPDATE,
    Build,
    delta2,
    eta,
    j,
    v,
    x,
)
from sfl_theory.evidence.certificate import Certificate, Fact, atom
from sfl_theory.evidence.derivation import INDUCTION, Instance, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.induction import Induction
from sfl_theory.symbols import S, gamma, mu, tau

V = R2 + sp.Rational(16, 7) * (tau - 1) * B
initial = symbols.I_err
START = "I_err = ||w^0 - w*||^2"
ASSUMED = (UPDATE, A1, A2, A4, A5, "square", "kernel")
"""What the joint recursion assumes."""


def _domain() -> Domain:
    r"""Return the parameters; $j=i\bmod\tau$, so $x-j=\gamma+i-j\ge\gamma\ge\tau$."""
    k, c, g, i, step = free("k_ c_ g_ i_ j_")
    one, two = free("d_ R_")
    (three,) = positive("m_")
    return Domain(
        "tau >= 1, S >= mu > 0, x = gamma + i, gamma >= 8S/mu - 1, gamma >= tau, "
        "j = i mod tau",
        {
            tau: 1 + k,
            mu: three,
            S: three * (1 + c),
            gamma: 8 * (1 + c) - 1 + g,
            x: gamma + i,
            eta: 2 / (mu * x),
            delta2: one,
            R2: two,
            j: step,
        },
        (k, c, g, i, step, one, two, three),
        given=(tau - 1 - j, x - j - tau),
    )


def recursion(claim: str) -> Certificate:
    """Return Step 3: one joint step of the mean model."""
    here, after = atom("Delta^i"), atom("Delta^(i+1)")
    spread, cross, size = atom("D"), atom("C"), atom("E||g||^2")
    local, near, gap_n = atom("L"), atom("sum p ||w_n-w*||^2"), atom("f_n - F*")
    gap = atom("F(wbar) - F*")
    drifted = Use(
        ended(claim),
        at={
            "m_j": tau - 1 - j,
            "i_": j,
            "b_": x - j - tau,
            "d_": delta2,
            "R_": R2,
            "m_": mu,
        },
        atoms={"D_j'": spread},
    )
    # C = sum p E<wbar - w_n, grad f_n(w_n)>, L = sum p E<w_n - w*, grad f_n(w_n)>
    facts = (
        (
            Fact(
                "wbar' = wbar - eta g, unbiased",
                here - 2 * eta * (cross + local) + eta**2 * size - after,
                UPDATE,
            ),
            1,
        ),
        (Fact("Jensen, E||g||^2 <= R^2", R2 - size, A4), eta**2),
        (
            Fact("f_n smooth, w_n -> wbar", gap_n + cross + S / 2 * spread - gap, A1),
            2 * eta,
        ),
        (Fact("f_n convex, w_n -> w*", local - gap_n - mu / 2 * near, A2), 2 * eta),
        (Fact("F convex at w*", gap - mu / 2 * here, A2), 2 * eta),
        (Fact("mean of squares", near - here, "kernel"), mu * eta),
        (
            Fact(
                "drift",
                8 * (tau - 1) * eta**2 * B - spread,
                "",
                derived=Instance(drifted),
            ),
            eta * S,
        ),
    )
    return Certificate(
        claim,
        after,
        (1 - 2 * mu * eta) * here + eta**2 * V,
        ASSUMED,
        _domain(),
        uses=facts,
        statement="Delta^{i+1} <= (1 - 2 mu eta) Delta^i + eta^2 [R^2 + 16/7 (tau - 1)"
        " (R^2 + 2 tau delta^2)]",
    )


def base(claim: str) -> Certificate:
    """Return the base of Step 4."""
    start = atom("Delta^0")
    k, c, g, begin = free("k_ c_ g_ I_")
    one, two = free("d_ R_")
    (three,) = positive("m_")
    domain = Domain(
        "tau >= 1, S >= mu > 0, gamma >= 8S/mu - 1",
        {
            tau: 1 + k,
            mu: three,
            S: three * (1 + c),
            gamma: 8 * (1 + c) - 1 + g,
            delta2: one,
            R2: two,
            initial: begin,
            v: 4 * V / (3 * mu**2) + gamma * initial,
        },
        (k, c, g, begin, one, two, three),
    )
    known = Fact(START, initial - start, START, equality=True)
    return Certificate(
        claim,
        start,
        v / gamma,
        (START,),
        domain,
        uses=((known, 1),),
        statement="base: Delta^0 <= v/gamma, v = 4V/(3 mu^2) + gamma Delta^0",
    )


def next_one(claim: str) -> Certificate:
    """Return the step of Step 4."""
    here, after = atom("Delta^i"), atom("Delta^(i+1)")
    (q,) = free("q_")
    domain = _domain().extended({v: 4 * V / (3 * mu**2) + q}, (q,))
    one = Use(
        recursion(claim),
        at={
            "k_": tau - 1,
            "c_": S / mu - 1,
            "g_": gamma + 1 - 8 * S / mu,
            "i_": x - gamma,
            "j_": j,
            "d_": delta2,
            "R_": R2,
            "m_": mu,
        },
    )
    known = Fact(
        "recursion",
        (1 - 2 * mu * eta) * here + eta**2 * V - after,
        "",
        derived=Instance(one),
    )
    assumed = Fact("before", v / x - here, INDUCTION)
    return Certificate(
        claim,
        after,
        v / (x + 1),
        (*ASSUMED, INDUCTION),
        domain,
        uses=((known, 1), (assumed, 1 - 2 * mu * eta)),
        statement="Delta^i <= v/(gamma + i) implies the same for i + 1",
    )


def every_step(claim: str, end: Any) -> Induction:
    """Return the induction of Step 4, for a user with gamma, v and gamma >= tau.

    Args:
        claim: identifier of the claim.
        end: the number of steps.

    Returns:
        The derivation of v/(gamma + end) >= Delta^TEM.
    """
    index, step = free("i j'")
    shared = {
        "k_": tau - 1,
        "c_": S / mu - 1,
        "g_": gamma + 1 - 8 * S / mu,
        "d_": delta2,
        "R_": R2,
        "m_": mu,
    }
    return Induction(
        claim=v / (gamma + index) - atom("Delta^i"),
        index=index,
        end=end,
        base=Use(base(claim), {**shared, "I_": initial}),
        steps=(
            Use(
                next_one(claim),
                {
                    **shared,
                    "i_": index,
                    "j_": step,
                    "q_": v - 4 * V / (3 * mu**2),
                },
            ),
        ),
        moves={"Delta^i": ("Delta^0", "Delta^(i+1)", "Delta^TEM")},
        chosen=(step,),
        given=(tau - 1 - step, index - step),
        words="j' = i mod tau",
    )


def at_last(claim: str) -> Certificate:
    """Return the end of Step 4: the distance after i steps."""
    there = atom("Delta^TEM")
    k, c, g, i, begin = free("k_ c_ g_ i_ I_")
    one, two = free("d_ R_")
    (three,) = positive("m_")
    domain = Domain(
        "tau >= 1, S >= mu > 0, x = gamma + i, gamma >= 8S/mu - 1, gamma >= tau",
        {
            tau: 1 + k,
            mu: three,
            S: three * (1 + c),
            gamma: 8 * (1 + c) - 1 + g,
            x: gamma + i,
            delta2: one,
            R2: two,
            initial: begin,
            v: 4 * V / (3 * mu**2) + gamma * initial,
        },
        (k, c, g, i, begin, one, two, three),
        given=(gamma - tau,),
    )
    found = Fact("all steps", v / x - there, "", derived=every_step(claim, x - gamma))
    return Certificate(
        claim,
        there,
        v / x,
        (*ASSUMED, START),
        domain,
        uses=((found, 1),),
        statement="Delta^i <= v/(gamma + i), v = 4V/(3 mu^2) + gamma Delta^0",
    )


def distance(claim: str) -> tuple[Build, ...]:
    r"""Return the certificates.

    Steps 1-4: $E\|w^{i}-w^*\|^2\le v/(\gamma+i)$, both blocks together.
    """
    builders = (recursion, base, next_one, at_last)
    return (*drift(claim), *(partial(build, claim) for build in builders))
