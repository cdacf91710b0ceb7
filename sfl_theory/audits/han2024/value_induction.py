r"""Convex cases: from one round for the function value to T rounds.

At $\alpha=4/(\mu u)$, $u=\gamma+t$, a recursion of ``value_recursion`` is
$e_{t+1}\le(1-\frac pu)e_t+\frac{B_1}{u^2}+\frac{B_2}{u^3}$. Then $e_t\le w/u$ for every
t if $w\ge\frac1{p-1}(B_1+B_2/\gamma)$ and $w\ge\gamma e_0$, where
$e_0\le\frac1{2\mu}\|\nabla f(x^0)\|^2\le\frac{G^2}{2\mu}$, so that the initial distance
is not needed, or $e_0\le\frac S2I_{err}$.

For every round $e_t\le\frac{G^2}{2\mu}$, which is at most w/u as long as
$u\le\frac{2\mu w}{G^2}$. The recursion is needed later only, where $B_2/u$ is small
(``late``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from sfl_theory.audits.han2024 import two_periods_round as paired
from sfl_theory.audits.han2024 import value_recursion as one_round
from sfl_theory.audits.han2024.convex import (
    BOUNDED,
    CONVEX,
    G2,
    MINIMUM,
    SMOOTH,
    START,
    S,
    c1,
    cd,
    delta0,
    gamma,
    mu,
    t,
    tau,
)
from sfl_theory.audits.han2024.convex_round import UNBIASED
from sfl_theory.audits.han2024.equations.rates_descent import UNBIASED as NOISE
from sfl_theory.audits.han2024.value_recursion import NOW, THEN, dominated
from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    atom,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.derivation import INDUCTION, Instance, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.kernel import smooth_upper, value

w, level = positive("w level")
FIRST = gamma + t


@dataclass(frozen=True)
class Recursion:
    r"""One round at $\alpha=4/(\mu u)$.

    Attributes:
        one_round: builder of the certificate.
        at: its free variables at that rate, u not written out.
        power: p.
        first: $B_1$.
        second: $B_2$.
        level: of w in units of $SG^2/\mu^2$, where there is a late phase.
        values: the parameters of $B_1,B_2$ in free variables.
        free: these variables.
        names: what they are in the parameters.
        convex: the hypothesis of strong convexity.
        unbiased: the one that gradients are unbiased.
    """

    one_round: Callable[[str], Certificate]
    at: Callable[[Any], Mapping[str, Any]]
    power: int
    first: Any
    second: Any
    values: Mapping[Any, Any]
    free: tuple[Any, ...]
    names: Mapping[str, Any]
    convex: str
    unbiased: str
    level: Any = 8 * c1

    def fact(self, claim: str, u: Any) -> Fact:
        """Return one round as a fact."""
        expr = (1 - self.power / u) * NOW + self.first / u**2 + self.second / u**3
        use = Use(self.one_round(claim), self.at(u))
        return Fact("one round", expr - THEN, "", derived=Instance(use))

    @property
    def least(self) -> Any:
        r"""The least w of the induction from $u=\gamma$."""
        return (self.first + self.second / gamma) / (self.power - 1)


def shared() -> dict[str, Any]:
    """Return the free variables that every recursion has."""
    return {"m": mu, "s": S - mu, "G": G2}


a, b, h, r, q, G, x = free("a b h r q G x")

ONE_PERIOD = Recursion(
    one_round.one_period,
    lambda u: {
        **shared(), "e": 4 / (mu * tau * u), "k": tau - 1, "a": c1, "b": cd,
    },
    5,
    8 * S * c1 * G2 / mu**2,
    sp.Rational(128, 3) * S**2 * cd * G2 / mu**3,
    {tau: 1 + q, c1: a, cd: b},
    (q, a, b),
    {"q": tau - 1, "a": c1, "b": cd},
    CONVEX,
    UNBIASED,
)  # fmt: skip
TWO_PERIODS = Recursion(
    one_round.two_periods,
    lambda u: {
        **shared(), "theta_0": 4 / (mu * u), "a": paired.rho,
        "h": 1 / paired.ratio - 1,
    },
    4,
    8 * S * paired.SECOND * G2 / mu**2,
    (sp.Rational(128, 3) + 20 * (1 - paired.ratio) ** 2) * S**2 * G2 / mu**3,
    {paired.rho: r, paired.ratio: 1 / (1 + h)},
    (r, h),
    {"r": paired.rho, "h": 1 / paired.ratio - 1},
    paired.CONVEX,
    paired.UPDATE,
)  # fmt: skip
OF_BLOCKS = Recursion(
    one_round.of_blocks,
    lambda u: {**shared(), "e": 4 / (mu * u), "x": c1 - 1},
    5,
    16 * S * c1 * G2 / mu**2,
    sp.Rational(512, 3) * S**2 * G2 / mu**3,
    {c1: 1 + x},
    (x,),
    {"x": c1 - 1},
    CONVEX,
    NOISE,
)
MUCH_DRIFT = Recursion(
    ONE_PERIOD.one_round,
    ONE_PERIOD.at,
    ONE_PERIOD.power,
    ONE_PERIOD.first,
    ONE_PERIOD.second,
    {tau: 1 + q, c1: 1 + x, cd: 7 * c1 / (1 + h)},
    (q, x, h),
    {"q": tau - 1, "x": c1 - 1, "h": 7 * c1 / cd - 1},
    CONVEX,
    UNBIASED,
)
r"""``ONE_PERIOD`` for $c_1\ge1$, $0<c_d\le7c_1$."""


def _domain(words: str, values: Mapping[Any, Any], *more: Any) -> Domain:
    (m,), (s,) = positive("m"), free("s")
    known = {mu: m, S: m + s, gamma: 8 * S / mu - 1, G2: G}
    return Domain(f"S >= mu > 0, {words}", {**known, **values}, (m, s, G, *more))


def _small(claim: str, round_: Recursion, now: Any, length: Any) -> tuple[Fact, ...]:
    r"""Return the facts of $2\mu e\le\mathbb E\|\nabla f\|^2\le G^2$.

    The second: $\|\nabla f\|^2=\|\sum_na_n\nabla F_n\|^2\le\sum_na_n\|\nabla F_n\|^2$
    (Jensen), and $\|\nabla F_n\|^2\le\mathbb E\|g_n\|^2$ as $g_n$ is unbiased.
    """
    moment = atom("sum_n a_n E||g_n||^2")
    return (
        dominated(claim, round_.convex, now, length),
        Fact("||grad f||^2 <= sum a_n E||g_n||^2", moment - length, round_.unbiased),
        Fact("E||g_n||^2 <= G^2", G2 - moment, BOUNDED),
    )


def by_gradient(claim: str, round_: Recursion) -> Certificate:
    r"""Return $e_0\le w/\gamma$ for $w\ge\frac{\gamma G^2}{2\mu}$."""
    (u,) = free("u")
    start = atom("e_0")
    known = _small(claim, round_, start, atom("E||grad f(x^0)||^2"))
    return Certificate(
        claim,
        start,
        w / gamma,
        (round_.convex, round_.unbiased, BOUNDED),
        _domain("w >= gamma G^2/(2 mu)", {w: gamma * G2 / (2 * mu) + u}, u),
        uses=tuple((fact, 1 / (2 * mu)) for fact in known),
        statement="e_0 <= w/gamma by ||grad f(x^0)||^2 <= G^2",
    )


def by_distance(claim: str) -> Certificate:
    r"""Return $e_0\le w/\gamma$ for $w\ge\frac{\gamma S}2I_{err}$."""
    u, d = free("u d")
    start = atom("e_0")
    step, slope = vectors("x^0-x* grad_f(x*)")
    upper = smooth_upper("f", "x*", "x^0", step, slope, S, SMOOTH).expr
    upper = upper.xreplace({value("f", "x^0"): start, value("f", "x*"): sp.Integer(0)})
    return Certificate(
        claim,
        start,
        w / gamma,
        (SMOOTH, MINIMUM, START),
        _domain("w >= gamma S/2 I_err", {delta0: d, w: gamma * S / 2 * d + u}, u, d),
        uses=(
            (Fact("f smooth, x* -> x^0", upper, SMOOTH), 1),
            (Fact("grad f(x*) = 0", inner(slope, step), MINIMUM, equality=True), -1),
            (Fact("I_err", delta0 - norm2(step), START, equality=True), S / 2),
        ),
        statement="e_0 <= w/gamma by the initial distance",
    )


def step(claim: str, round_: Recursion) -> Certificate:
    r"""Return $e_t\le w/u\Rightarrow e_{t+1}\le w/(u+1)$, w as the recursion asks."""
    k, u = free("k u")
    values = {**round_.values, t: sp.Integer(0) + k, w: round_.least + u}
    return Certificate(
        claim,
        THEN,
        w / (FIRST + 1),
        (*_assumed(round_, claim), INDUCTION),
        _domain("t >= 0, w >= (B_1 + B_2/gamma)/(p-1)", values, *round_.free, k, u),
        uses=(
            (round_.fact(claim, FIRST), 1),
            (Fact("e_t <= w/u", w / FIRST - NOW, INDUCTION), 1 - round_.power / FIRST),
        ),
        statement="e_t <= w/u implies e_t+1 <= w/(u+1)",
    )


def early(claim: str, round_: Recursion) -> Certificate:
    r"""Return $e_{t+1}\le\frac{G^2}{2\mu}\le\frac w{u+1}$, where $\frac{G^2}{2\mu}$ is.

    $w=\text{level}\cdot SG^2/\mu^2$ and $u+1\le2\,\text{level}\,S/\mu$.
    """
    k, j = free("k j")
    values = {t: sp.Integer(0) + k, level: sp.Integer(0) + j}
    domain = _domain("u + 1 <= 2 level S/mu", values, k, j)
    known = _small(claim, round_, THEN, atom("E||grad f(x^t+1)||^2"))
    return Certificate(
        claim,
        THEN,
        level * S * G2 / (mu**2 * (FIRST + 1)),
        (round_.convex, round_.unbiased, BOUNDED),
        domain.extended(given=(2 * level * S / mu - FIRST - 1,)),
        uses=tuple((fact, 1 / (2 * mu)) for fact in known),
        statement="e_t+1 <= w/(u+1) by ||grad f(x^t+1)||^2 <= G^2",
    )


def late(claim: str, round_: Recursion) -> Certificate:
    r"""Return $e_t\le w/u\Rightarrow e_{t+1}\le w/(u+1)$ for late t.

    $w=\text{level}\cdot SG^2/\mu^2$ and $u+1\ge2\,\text{level}\,S/\mu$.
    """
    (k,) = free("k")
    values = {**round_.values, t: 2 * round_.level * S / mu + k - gamma - 1}
    bound = round_.level * S * G2 / mu**2
    return Certificate(
        claim,
        THEN,
        bound / (FIRST + 1),
        (*_assumed(round_, claim), INDUCTION),
        _domain("u + 1 >= 2 level S/mu", values, *round_.free, k),
        uses=(
            (round_.fact(claim, FIRST), 1),
            (Fact("e_t <= w/u", bound / FIRST - NOW, INDUCTION),
             1 - round_.power / FIRST),
        ),
        statement="e_t <= w/u implies e_t+1 <= w/(u+1), late t",
    )  # fmt: skip


def _assumed(round_: Recursion, claim: str) -> tuple[str, ...]:
    return round_.one_round(claim).hypotheses
