r"""``huang2023``: Lemma 4 as printed, for every $\gamma>0$.

With $\tau=EM$, $u_n=w_{c,n}-\bar w_c$, $D_j=\sum_np_nE\|u_n\|^2$ after j local steps
of a round, $x=\gamma+i$, $\eta=2/(\mu x)$ and $B=R^2+2\tau\delta^2$:
$D_j\le3j\eta^2B$.

1. One step, half of the contraction kept:
   $D_{j+1}\le(1-\mu\eta+\frac1{2\tau})D_j+\eta^2B$, and $\mu\eta=2/x$.
2. Where the rate is so large that (1) loses too much, the gradients themselves bound
   the drift: $\mu D\le\sum_np_nE\langle u_n,\nabla f_n(w_n)-\nabla f_n(\bar w)\rangle
   \le\sqrt D(R+\delta)$, so $D\le\frac2{\mu^2}(R^2+\delta^2)=\frac{x^2}2\eta^2
   (R^2+\delta^2)$.
3. $j=0\to1$: by (2) where $x_0\le\frac75$, else $D_1\le\eta_0^2R^2\le3\eta_1^2R^2$.
4. $j\to j+1$, $j\ge1$: by (1); where $x\le2$ the factor is at most $\frac1{2\tau}$.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import sympy as sp

from sfl_theory.audits.huang2023.drift import DRIFTING, B, one_step, start_of_round
from sfl_theory.audits.huang2023.notation import (
    A2,
    A4,
    A5,
    R2,
    UPDATE,
    Build,
    delta2,
    eta,
    j,
    x,
)
from sfl_theory.evidence.certificate import Certificate, Fact, atom
from sfl_theory.evidence.derivation import INDUCTION, Cases, Instance, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.induction import Induction
from sfl_theory.symbols import mu, tau

NOW, AFTER = atom("D_j"), atom("D_(j+1)")
LATER = 2 / (mu * (x + 1))
SPLIT = sp.Rational(7, 5)
LEVEL = "D_j <= 3 j eta^2 (R^2 + 2 tau delta^2)"


def _domain(
    words: str, values: dict[Any, Any], own: tuple[Any, ...], *given: Any
) -> Domain:
    """Return delta^2, R^2 >= 0, mu > 0, eta = 2/(mu x), and what is added."""
    one, two = free("d_ R_")
    (three,) = positive("m_")
    return Domain(
        f"{words}, eta = 2/(mu x)",
        {delta2: one, R2: two, mu: three, **values, eta: 2 / (mu * x)},
        (*own, one, two, three),
        given,
    )


def contracting(claim: str) -> Certificate:
    r"""Return (1), half of the contraction kept, at any rate."""
    loose = one_step(claim)
    *kept, (known, _) = loose.uses
    uses = tuple(
        (fact, eta**2 if fact.hypothesis == A4 else multiplier)
        for fact, multiplier in kept
    )
    return replace(
        loose,
        right=(1 + 1 / (2 * tau) - mu * eta) * NOW + eta**2 * B,
        uses=(*uses, (known, mu * eta)),
        statement="D_{j+1} <= (1 + 1/(2 tau) - mu eta) D_j + eta^2 "
        "(2 tau delta^2 + R^2)",
    )


def bounded_by_gradients(claim: str) -> Certificate:
    r"""Return (2): strong convexity against bounded gradients, at any rate."""
    there, monotone, diverge = atom("D"), atom("P"), atom("Q")
    one, two = free("d_ R_")
    (three,) = positive("m_")
    convex = Fact(
        "P = sum p E<w_n - wbar, grad f_n(w_n) - grad f_n(wbar)> >= mu D",
        monotone - mu * there,
        A2,
    )
    # P + Q = sum p E<w_n - wbar, grad f_n(w_n)>, as sum p (w_n - wbar) = 0
    slopes, size = atom("sum p E||grad f_n(w_n)||^2"), atom("sum p E||g_n||^2")
    young = Fact(
        "P + Q = sum p E<w_n - wbar, grad f_n(w_n)>, Young with mu/4",
        mu / 4 * there + slopes / mu - monotone - diverge,
        "square",
    )
    unbiased = Fact("||grad f_n||^2 <= E||g_n||^2, unbiased", size - slopes, UPDATE)
    gradients = Fact("E||g_n||^2 <= R^2", R2 - size, A4)
    apart = Fact(
        "Q = sum p E<w_n - wbar, grad f_n(wbar) - grad F(wbar)>, Young with mu/4",
        mu / 4 * there + delta2 / mu + diverge,
        A5,
    )
    return Certificate(
        claim,
        there,
        2 * (R2 + delta2) / mu**2,
        DRIFTING,
        Domain(
            "mu > 0, R^2, delta^2 >= 0",
            {delta2: one, R2: two, mu: three},
            (one, two, three),
        ),
        uses=(
            *((fact, 2 / mu) for fact in (convex, young, apart)),
            *((fact, 2 / mu**2) for fact in (unbiased, gradients)),
        ),
        statement="sum p E||w_n - wbar||^2 <= 2 (R^2 + delta^2)/mu^2",
    )


def _contracted(claim: str) -> Fact:
    at = {"k_": tau - 1, "h_": sp.Integer(0), "d_": delta2, "R_": R2, "m_": mu,
          "e_": eta}  # fmt: skip
    proved = (1 + 1 / (2 * tau) - mu * eta) * NOW + eta**2 * B - AFTER
    use = Use(contracting(claim), at)
    return Fact("step", proved, "", derived=Instance(use))


def _next(
    claim: str, domain: Domain, uses: tuple[tuple[Fact, Any], ...], words: str
) -> Certificate:
    return Certificate(
        claim,
        AFTER,
        3 * (j + 1) * LATER**2 * B,
        (*DRIFTING, INDUCTION),
        domain,
        uses=uses,
        statement=f"{LEVEL} implies the same for j + 1, {words}",
    )


def _before() -> Fact:
    return Fact("before", 3 * j * eta**2 * B - NOW, INDUCTION)


def first_slow(claim: str) -> Certificate:
    r"""Return the first step where $x_0\ge\frac75$."""
    k, b = free("k_ b_")
    values = {j: sp.Integer(0), tau: 1 + k, x: SPLIT + b}
    domain = _domain("j = 0, x >= 7/5, tau >= 1", values, (k, b))
    known = Fact("D_j >= 0", NOW, "square")
    uses = (
        (_contracted(claim), sp.Integer(1)),
        (known, mu * eta),
        (_before(), 1 + 1 / (2 * tau)),
    )
    return _next(claim, domain, uses, "j = 0, x >= 7/5")


def first_fast(claim: str) -> Certificate:
    r"""Return the first step where $x_0\le\frac75$: by (2) alone."""
    k, b = free("k_ b_")
    values = {j: sp.Integer(0), tau: 1 + k, x: SPLIT / (1 + b)}
    domain = _domain("j = 0, 0 < x <= 7/5, tau >= 1", values, (k, b))
    found = Use(
        bounded_by_gradients(claim),
        {"d_": delta2, "R_": R2, "m_": mu},
        atoms={"D": AFTER},
    )
    met = Fact(
        "gradients bound the drift",
        2 * (R2 + delta2) / mu**2 - AFTER,
        "",
        derived=Instance(found),
    )
    return _next(claim, domain, ((met, sp.Integer(1)),), "j = 0, x <= 7/5")


def _later(words: str, given: Any) -> Domain:
    i, m, y = free("i_ m_j y_")
    values = {j: 1 + i, tau: 3 + i + m, x: 1 + i + y}
    return _domain(f"1 <= j <= tau - 2, x >= j, {words}", values, (i, m, y), given)


def later_slow(claim: str) -> Certificate:
    r"""Return a later step where $x\ge2$, with half of the contraction."""
    step = _contracted(claim)
    left = 1 + 1 / (2 * tau) - mu * eta
    uses = ((step, sp.Integer(1)), (_before(), left))
    return _next(claim, _later("x >= 2", 1 - 2 / x), uses, "j >= 1, x >= 2")


def later_fast(claim: str) -> Certificate:
    r"""Return a later step where $x\le2$: of $D_j$ only $\frac1{2\tau}$ is left."""
    step = _contracted(claim)
    uses = (
        (step, sp.Integer(1)),
        (Fact("D_j >= 0", NOW, "square"), mu * eta - 1),
        (_before(), 1 / (2 * tau)),
    )
    return _next(claim, _later("x <= 2", 2 / x - 1), uses, "j >= 1, x <= 2")


def within_a_round(claim: str) -> Certificate:
    r"""Return $D_j\le3j\eta^2B$, the induction."""
    now = atom("D_j'")
    i, m = free("i_ m_j")
    (index,) = free("j'")
    y = positive("y_")[0]
    domain = _domain(
        "j <= tau - 1, x = x_0 + j, x_0 = gamma + i_0 > 0",
        {j: i, tau: 1 + i + m, x: i + y},
        (i, m, y),
    )
    start, then = x - j, x - j + index
    shared = {"d_": delta2, "R_": R2, "m_": mu}
    first = Cases(
        start - SPLIT,
        Use(first_slow(claim), {**shared, "k_": tau - 1, "b_": start - SPLIT}),
        Use(first_fast(claim), {**shared, "k_": tau - 1, "b_": SPLIT / start - 1}),
    )
    at = {**shared, "i_": index - 1, "m_j": tau - 2 - index, "y_": start}
    later = Cases(1 - 2 / then, Use(later_slow(claim), at), Use(later_fast(claim), at))
    chain = Induction(
        claim=3 * index * (2 / (mu * then)) ** 2 * B - atom("D_j"),
        index=index,
        end=j,
        base=Use(start_of_round(claim), {}),
        steps=(first, later),
        moves={"D_j": ("D_0", "D_(j+1)", "D_j'")},
    )
    bound = 3 * j * eta**2 * B - now
    return Certificate(
        claim,
        now,
        3 * j * eta**2 * B,
        DRIFTING,
        domain,
        uses=((Fact(LEVEL, bound, "", derived=chain), sp.Integer(1)),),
        statement=f"{LEVEL}, any gamma > 0",
    )


def as_printed(claim: str) -> Certificate:
    r"""Return Lemma 4: $j\le\tau-1$."""
    every = within_a_round(claim)
    use = Use(every, {str(v): v for v in every.domain.free})
    return replace(
        every,
        right=3 * tau * R2 * eta**2 + 6 * tau**2 * eta**2 * delta2,
        uses=((Fact(LEVEL, every.conclusion, "", derived=Instance(use)), 1),),
        statement="sum p_n E||w_{c,n} - mean||^2 <= 3 EM R^2 eta^2 + "
        "6 E^2 M^2 eta^2 delta^2, any gamma > 0",
    )


def drift(claim: str) -> tuple[Build, ...]:
    """Return the certificates: (2) and Lemma 4, which replays the others."""
    return partial(bounded_by_gradients, claim), partial(as_printed, claim)
