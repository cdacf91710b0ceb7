r"""Assumptions 3.1-3.4, C.1, C.2: federations that meet them, and what implies what.

Bounded gradients: $F_n(x)=\varphi(x)+\langle b_n,x\rangle$ with
$\varphi(x)=\sqrt{1+\|x\|^2}$, $\sum_na_nb_n=0$, $\|b_n\|^2\le\beta$, and gradients
$\nabla F_n+\xi$ with $\mathbb E\xi=0$, $\mathbb E\|\xi\|^2\le\sigma_n^2$, in any
dimension, for any weights. Then $f=\varphi$, minimised at 0, and all of 3.1-3.4, C.1
and C.2 (mu = 0) hold on $\mathbb R^d$ with $S=1$, $G^2=2+2\beta+\sigma_n^2$,
$\epsilon^2=\beta$. Below $s=\sqrt{1+\|x\|^2}$, $r=\sqrt{1+\|y\|^2}$ and
$D=rs-1-\langle x,y\rangle=\frac{\|rx-sy\|^2+(r-s)^2}{2rs}\ge0$.

Strong convexity: $F_n(x)=\frac S2\|x\|^2-\langle b_n,x\rangle$ on the ball of radius R
with $\|b_n-\xi\|\le SR$, which no local step with $\eta\le1/S$ leaves.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    Vector,
    atom,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.kernel import KERNEL, Family, bounded, jensen
from sfl_theory.evidence.local_sgd import unbiased

EXAMPLE = "the federation phi + <b_n, .>"
QUADRATIC = "the federation S/2 ||.||^2 - <b_n, .>"
SMOOTH = "Assumption 3.1, gradients S-Lipschitz (24)"
BOUNDED = "Assumption 3.3"
UNBIASED = "Assumption 3.2 (5)"

r, s, S, mu, R2, eta = positive("r s S mu R2 eta")
G2, beta, sigma2 = positive("G2 beta sigma2")
X, Y, B_N, XI, UNIT = vectors("x y b_n xi e")
SQUARES = (
    (X * r - Y * s, 1 / (2 * r * s)),
    (UNIT * (r - s), 1 / (2 * r * s)),
)
"""The gap $D$ as squares; e is any unit vector."""


def _points() -> tuple[tuple[tuple[Fact, Any], ...], Domain]:
    """Return ||x||^2 = s^2 - 1, ||y||^2 = r^2 - 1, ||e|| = 1 and r, s >= 1."""
    k, j = free("k j")
    facts = (
        Fact("s^2 = 1 + ||x||^2", s**2 - 1 - norm2(X), EXAMPLE, equality=True),
        Fact("r^2 = 1 + ||y||^2", r**2 - 1 - norm2(Y), EXAMPLE, equality=True),
        Fact("unit vector", norm2(UNIT) - 1, EXAMPLE, equality=True),
    )
    domain = Domain("all x, y; s, r >= 1", {s: 1 + k, r: 1 + j}, (k, j))
    return tuple((fact, sp.Integer(1)) for fact in facts), domain


def _on_example(
    claim: str,
    left: Any,
    right: Any,
    gap: Any,
    squares: tuple[tuple[Vector, Any], ...],
    statement: str,
) -> Certificate:
    r"""Return left <= right as gap * D + squares; the facts' factors are read off."""
    facts, domain = _points()
    every = (*((v, w * gap) for v, w in SQUARES), *squares)
    rest = sp.expand(right - left - sum(w * norm2(v) for v, w in every))
    uses = []
    for (fact, _), vector in zip(facts, (X, Y, UNIT), strict=True):
        sign = -1 if vector is not UNIT else 1
        coefficient = rest.coeff(norm2(vector), 1)
        uses.append((fact, sp.factor(sign * coefficient)))
    return Certificate(
        claim,
        left,
        right,
        (EXAMPLE,),
        domain,
        uses=tuple(uses),
        squares=every,
        statement=statement,
    )


def convex(claim: str) -> Certificate:
    r"""Return (30) with mu = 0: $r-s-\langle x/s,y-x\rangle=D/s$; b_n cancels."""
    lower = s + inner(X * (1 / s), Y - X) + inner(B_N, Y)
    return _on_example(
        claim, lower, r + inner(B_N, Y), 1 / s, (),
        "F_n(y) >= F_n(x) + <gradF_n(x), y - x> for all x, y (both less <b_n, .>)",
    )  # fmt: skip


def smooth(claim: str) -> Certificate:
    r"""Return (4): the gap is $D(1-\frac1s)+\frac12(r-s)^2$, S = 1."""
    half = sp.Rational(1, 2)
    upper = s + inner(X * (1 / s), Y - X) + half * norm2(Y - X)
    return _on_example(
        claim, r, upper, 1 - 1 / s, ((UNIT * (r - s), half),),
        "F_n(y) <= F_n(x) + <gradF_n(x), y - x> + 1/2 ||y - x||^2 for all x, y",
    )  # fmt: skip


def lipschitz(claim: str) -> Certificate:
    r"""Return (24): gap $2D(1-\frac1{rs})+(r-s)^2+(\frac1s-\frac1r)^2$, S = 1."""
    one = sp.Integer(1)
    return _on_example(
        claim, norm2(X * (1 / s) - Y * (1 / r)), norm2(X - Y), 2 * (1 - 1 / (r * s)),
        ((UNIT * (r - s), one), (UNIT * (1 / s - 1 / r), one)),
        "||gradF_n(x) - gradF_n(y)|| <= ||x - y|| for all x, y",
    )  # fmt: skip


def noise(claim: str) -> Certificate:
    r"""Return (5)-(6): the stochastic gradient less its mean is $\xi$."""
    (v,) = free("v")
    gradient = X * (1 / s) + B_N
    k = free("k")[0]
    return Certificate(
        claim,
        norm2(gradient + XI - gradient),
        sigma2,
        (EXAMPLE,),
        Domain("sigma_n^2 >= 0, s >= 1", {sigma2: v, s: 1 + k}, (v, k)),
        uses=((Fact("E||xi||^2", sigma2 - norm2(XI), EXAMPLE), 1),),
        statement="E g_n = gradF_n as E xi = 0, and E||g_n - gradF_n||^2 <= sigma_n^2",
    )


def bounded_gradients(claim: str) -> Certificate:
    r"""Return (7) with $G^2=2+2\beta+\sigma_n^2$: $\|x/s\|^2=1-1/s^2\le1$."""
    v, b, k = free("v b k")
    gradient, two = X * (1 / s), sp.Integer(2)
    domain = Domain(
        "sigma_n^2, beta >= 0, s >= 1", {sigma2: v, beta: b, s: 1 + k}, (v, b, k)
    )
    return Certificate(
        claim,
        norm2(gradient + B_N + XI),
        2 + 2 * beta + sigma2,
        (EXAMPLE,),
        domain,
        uses=(
            (unbiased(X, XI, EXAMPLE), -two / s),
            (unbiased(B_N, XI, EXAMPLE), -two),
            (Fact("E||xi||^2", sigma2 - norm2(XI), EXAMPLE), 1),
            (Fact("||b_n||^2", beta - norm2(B_N), EXAMPLE), two),
            (Fact("s^2", s**2 - 1 - norm2(X), EXAMPLE, equality=True), two / s**2),
        ),
        squares=((gradient - B_N, sp.Integer(1)),),
        statement="E||g_n(x)||^2 <= 2 + 2 beta + sigma_n^2 for all x",
    )


def divergence(claim: str) -> Certificate:
    r"""Return (8) with $\epsilon^2=\beta$: $\nabla F_n-\nabla f=b_n$."""
    b, k = free("b k")
    gradient = X * (1 / s)
    return Certificate(
        claim,
        norm2(gradient + B_N - gradient),
        beta,
        (EXAMPLE,),
        Domain("beta >= 0, s >= 1", {beta: b, s: 1 + k}, (b, k)),
        uses=((Fact("||b_n||^2", beta - norm2(B_N), EXAMPLE), 1),),
        statement="||gradF_n(x) - gradf(x)||^2 <= beta for all x",
    )


def minimised(claim: str) -> Certificate:
    r"""Return $f(x)\ge f(0)$: $s\ge1$."""
    k = free("k")[0]
    domain = Domain("s >= 1", {s: 1 + k}, (k,))
    return Certificate(claim, sp.Integer(1), s, (), domain, statement="f(0) <= f(x)")


def strongly_convex(claim: str) -> tuple[Certificate, ...]:
    r"""Return (30), (4), (24), (8) for $\frac S2\|x\|^2-\langle b_n,x\rangle$, mu = S.

    The first two are one identity, read in both directions.

    Args:
        claim: identifier of the claim.

    Returns:
        The certificates.
    """
    y, b = positive("y")[0], free("b")[0]
    domain = Domain("S > 0, beta >= 0", {S: y, beta: b}, (y, b))
    mean = Vector({"mean b": 1})
    value_y = S / 2 * norm2(Y) - inner(B_N, Y)
    model = S / 2 * norm2(X) - inner(B_N, X) + inner(X * S - B_N, Y - X)
    model += S / 2 * norm2(Y - X)
    spread = Fact("||b_n - mean||^2", beta - norm2(B_N - mean), QUADRATIC)
    gradient = X * S - B_N
    return (
        Certificate(claim, value_y, model, (), domain, statement="(4) and (25)"),
        Certificate(claim, model, value_y, (), domain, statement="(30), mu = S"),
        Certificate(
            claim, norm2(gradient - (Y * S - B_N)), S**2 * norm2(X - Y), (), domain,
            statement="(24)",
        ),
        Certificate(
            claim, norm2(gradient - (X * S - mean)), beta, (QUADRATIC,), domain,
            ((spread, 1),), statement="(8) and (29)",
        ),
    )  # fmt: skip


def steps_stay(claim: str) -> tuple[Certificate, ...]:
    r"""Return that a local step stays in the ball, where gradients are bounded.

    $x-\eta(Sx-c)=(1-\eta S)x+\eta S\frac cS$ with $c=b_n-\xi$, $\|c\|\le SR$; averages
    of points of a ball lie in it. $\|Sx-c\|^2\le4S^2R^2$.

    Args:
        claim: identifier of the claim.

    Returns:
        The certificates.
    """
    rho, h = free("rho h")
    (y,) = positive("y")
    target = Vector({"(b_n-xi)/S": sp.Integer(1)})
    share = eta * S
    domain = Domain(
        "S > 0, 0 < eta <= 1/S", {S: y, R2: rho, eta: 1 / (y * (1 + h))}, (rho, h, y)
    )
    inside = Fact("x in the ball", R2 - norm2(X), QUADRATIC)
    aim = Fact("||b_n - xi|| <= S R", R2 - norm2(target), QUADRATIC)
    one, two = sp.Integer(1), sp.Integer(2)
    models = Family("local models; weights a_n", one)
    return (
        Certificate(
            claim, norm2(X - (X - target) * share), R2, (QUADRATIC,), domain,
            ((inside, 1 - share), (aim, share)),
            ((X - target, share * (1 - share)),),
            "||x - eta g_n(x)||^2 <= R^2",
        ),
        Certificate(
            claim, norm2((X - target) * S), 4 * S**2 * R2, (QUADRATIC,), domain,
            ((inside, two * S**2), (aim, two * S**2)),
            ((X + target, one * S**2),),
            "||g_n(x)||^2 <= 4 S^2 R^2, (7) on the ball",
        ),
        Certificate(
            claim, models.norm2_of_sum, R2, (KERNEL, QUADRATIC), domain,
            ((jensen(models), one), (bounded(models, R2, QUADRATIC), one)),
            statement="||sum_n a_n x_n||^2 <= R^2",
        ),
    )  # fmt: skip


# What implies what


def mean_is_smooth(claim: str) -> Certificate:
    r"""Return "f is S-smooth if every $F_n$ is", as (24), for any weights."""
    (y,) = positive("y")
    family = Family("gradF_n(x) - gradF_n(y); weights a_n", sp.Integer(1))
    distance = atom("||x-y||^2")
    return Certificate(
        claim,
        family.norm2_of_sum,
        S**2 * distance,
        (KERNEL, SMOOTH),
        Domain("S > 0", {S: y}, (y,)),
        uses=(
            (jensen(family), 1),
            (bounded(family, S**2 * distance, SMOOTH), 1),
        ),
        statement="||gradf(x) - gradf(y)||^2 <= S^2 ||x - y||^2",
    )


def variance_follows(claim: str) -> Certificate:
    r"""Return (6) with $\sigma_n^2=G^2$ from (5) and (7): variance <= second moment."""
    (g,) = positive("g")
    gradient = Vector({"gradF_n": sp.Integer(1)})
    second = Fact("(7)", G2 - norm2(gradient + XI), BOUNDED)
    return Certificate(
        claim,
        norm2(XI),
        G2,
        (BOUNDED, UNBIASED),
        Domain("G^2 > 0", {G2: g}, (g,)),
        uses=((second, 1), (unbiased(gradient, XI, UNBIASED), 2)),
        squares=((gradient, sp.Integer(1)),),
        statement="E||g_n - gradF_n||^2 <= G^2",
    )


def divergence_follows(claim: str) -> Certificate:
    r"""Return (8) with $\epsilon^2=4G^2$ from (7): $\|u-v\|^2\le2\|u\|^2+2\|v\|^2$."""
    (g,) = positive("g")
    own, mean = vectors("gradF_n gradf")
    family = Family("gradF_n; weights a_n", sp.Integer(1))
    two = sp.Integer(2)
    named = Fact("gradf = sum a_n gradF_n", family.norm2_of_sum - norm2(mean), "(1)",
                 equality=True)  # fmt: skip
    return Certificate(
        claim,
        norm2(own - mean),
        4 * G2,
        (BOUNDED, KERNEL, "(1)"),
        Domain("G^2 > 0", {G2: g}, (g,)),
        uses=(
            (Fact("(7) and Jensen, client n", G2 - norm2(own), BOUNDED), two),
            (named, two),
            (jensen(family), two),
            (bounded(family, G2, BOUNDED), two),
        ),
        squares=((own + mean, sp.Integer(1)),),
        statement="||gradF_n - gradf||^2 <= 4 G^2",
    )
