"""Gradient descent, Lemma C.3 and Proposition 3.5: statements and proofs."""

from __future__ import annotations

from collections.abc import Callable

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived
from sfl_theory.proofs.notation import combine, nonnegative, point, positive, sum_over

F, ZERO = k.NamedFunction("phi"), ratio(0)
Above = Callable[[k.Function, Ratio, k.Vec, k.Vec], Theorem]


def lemma_c3(
    function: k.Function,
    S: Ratio,
    mu: Ratio,
    x: k.Vec,
    y: k.Vec,
    z: k.Vec,
    order: Theorem,
) -> Theorem:
    """Return a proof of Lemma C.3 from S >= mu, smoothness, convexity, Young."""
    young = combine(
        ((y - x) - (x - z), 1),
        target=k.norm2(y - x) * 2 + k.norm2(x - z) * 2 - k.norm2(y - z),
    )
    uses: list[tuple[Theorem, Ratio | int]] = [
        (derived.majorant(function, S, x, z), 1),
        (derived.convex(function, mu, x, y), 1),
        (young, mu / 4),
    ]
    return combine(*uses, (z - x, (S - mu) / 2), signs=[order])


def lemma_c3_proof() -> Theorem:
    """Return the lemma as stated."""
    S, mu, h = nonnegative("S"), nonnegative("mu"), k.NamedFunction("h")
    order = rules.assume(k.constant(S - mu))
    return lemma_c3(h, S, mu, point("x"), point("y"), point("z"), order)


def monotone(F: k.Function, mu: Ratio, x: k.Vec, y: k.Vec) -> Theorem:
    """Return ``<grad F(x) - grad F(y), x - y> >= mu ||x - y||^2``."""
    return combine(derived.convex(F, mu, x, y), derived.convex(F, mu, y, x))


def cocoercive(
    F: k.Function,
    S: Ratio,
    x: k.Vec,
    y: k.Vec,
    mu: Ratio = ZERO,
    above: Above = derived.majorant,
) -> Theorem:
    """Return ``||d||^2 <= S <d, x - y>`` for ``d = grad F(x) - grad F(y)``, F convex.

    The majorant from y at z = y + d/S lies above the tangent at x; the same with x and
    y exchanged.
    """
    d = k.gradient(F, x) - k.gradient(F, y)

    def one(p: k.Vec, q: k.Vec, apart: k.Vec) -> Theorem:
        z = q + apart * (1 / S)
        return combine(above(F, S, q, z), derived.convex(F, mu, p, z), (z - p, mu / 2))

    return combine((one(x, y, d), S), (one(y, x, -d), S))


def lipschitz(F: k.Function, S: Ratio, x: k.Vec, y: k.Vec, mu: Ratio = ZERO) -> Theorem:
    """Return ``||grad F(x) - grad F(y)||^2 <= S^2 ||x - y||^2`` for such an F."""
    d = k.gradient(F, x) - k.gradient(F, y)
    return combine(
        (cocoercive(F, S, x, y, mu), 2),
        ((x - y) * S - d, 1),
        target=k.norm2(x - y) * S**2 - k.norm2(d),
    )


def majorant_of_mean(S: Ratio, p: k.Vec, q: k.Vec) -> Theorem:
    """Return ``f(q) <= f(p) + <grad f(p), q - p> + S/2 ||q - p||^2`` from the F_n."""
    n = k.Client("n")
    return of_mean(derived.majorant(k.Local(n), S, p, q), n, p, q)


def smooth_mean(S: Ratio, p: k.Vec, q: k.Vec) -> Theorem:
    """Return the same where the gradients of the F_n are S-Lipschitz."""
    n = k.Client("n")
    return of_mean(rules.smooth(k.Local(n), S, p, q), n, p, q)


def convex_mean(mu: Ratio, p: k.Vec, q: k.Vec) -> Theorem:
    """Return ``f(q) >= f(p) + <grad f(p), q - p> + mu/2 ||q - p||^2`` from the F_n."""
    n = k.Client("n")
    return of_mean(derived.convex(k.Local(n), mu, p, q), n, p, q, -1)


def growth(mu: Ratio, p: k.Vec) -> Theorem:
    """Return ``f(p) - f* >= mu/2 ||p - x*||^2`` from mu-convex F_n."""
    best = k.vec(k.Star(k.MEAN))
    flat = rules.stationary(k.MEAN, p - best)
    return combine(convex_mean(mu, best, p), flat)


def of_mean(theorem: Theorem, n: k.Client, p: k.Vec, q: k.Vec, way: int = 1) -> Theorem:
    """Return an average of a bound on F_n(q), linear at p, to one on f.

    A bound above; with ``way = -1`` below.
    """
    own = k.gradient(k.Local(n), p) * k.weight(n)
    return combine(
        sum_over(theorem, k.CLIENTS, n, k.weight(n)),
        (rules.mean_value(p), way),
        (rules.mean_value(q), -way),
        (rules.mean_gradient(p, q - p), way),
        (rules.linear(k.CLIENTS, n, own, q - p), way),
    )


def value_gap(
    S: Ratio,
    p: k.Vec,
    above: Callable[[Ratio, k.Vec, k.Vec], Theorem] = majorant_of_mean,
) -> Theorem:
    """Return ``f(p) - f* <= S/2 ||p - x*||^2``; `above` is a quadratic above f."""
    best = k.vec(k.Star(k.MEAN))
    flat = rules.stationary(k.MEAN, p - best)
    return combine(above(S, best, p), (flat, -1))


def prop_35() -> Theorem:
    """Return its proof: smoothness from x*, where the gradient vanishes, by blocks."""
    S, away = positive("S"), point("x") - k.vec(k.Star(k.MEAN))
    return combine(value_gap(S, point("x")), (rules.blocks(away, away), -S / 2))
