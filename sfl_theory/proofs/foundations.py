"""Gradient descent, Lemma C.3 and Proposition 3.5: statements and proofs."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.hypotheses import (
    Convex,
    Holds,
    Majorised,
    Minimiser,
    Smooth,
    every,
)
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs.export import Statement
from sfl_theory.proofs.notation import (
    combine,
    count,
    nat,
    nonnegative,
    of,
    point,
    positive,
    sum_over,
)

F = k.NamedFunction("phi")
HALF = Fraction(1, 2)


def gradient_descent_statement() -> Statement:
    """Return ``F(x^T) - F* <= S ||x^0 - x*||^2 / (2T)`` for steps 1/S, T >= 1."""
    S, T = positive("S"), count("T")
    run, best = k.Descent(F, k.Rate(1 / S)), k.vec(k.Star(F))
    left = k.value_of(F, k.iterate(run, T)) - k.value_of(F, best)
    right = k.norm2(k.iterate(run, 0) - best) * (S / (2 * T))
    assumed = frozenset({Smooth(F, S), Convex(F, ratio(0)), Minimiser(F)})
    return Statement("readme/gradient-descent", assumed, left, right)


def gradient_descent() -> Theorem:
    """Return its proof: ``t (F(x^t) - F*) + S/2 ||x^t - x*||^2`` does not grow."""
    S, t = positive("S"), nat("t")
    run, best = k.Descent(F, k.Rate(1 / S)), k.vec(k.Star(F))

    def energy(r: Ratio) -> k.Lin:
        gap = k.value_of(F, k.iterate(run, r)) - k.value_of(F, best)
        first, now = k.iterate(run, 0) - best, k.iterate(run, r) - best
        return (k.norm2(first) - k.norm2(now)) * (S / 2) - gap * r

    x, y, now = k.iterate(run, of(t)), k.iterate(run, of(t) + 1), of(t)
    zero = ratio(0)
    step = combine(
        [
            (rules.assume(energy(now)), 1),
            (rules.smooth(F, S, x, y), now + 1),
            (rules.convex(F, zero, x, best), 1),
            (rules.descend(run, now, y - x), -S * (now + 1)),
            (rules.descend(run, now, x - best), -S),
        ],
        [(y - x, now * S / 2)],
        target=energy(now + 1),
    )
    always = rules.induct(combine(target=energy(zero)), step, t, energy(now))
    T = count("T")
    last = rules.instantiate(always, ((t, T),), ())
    return combine([(last, 1 / T)], [(k.iterate(run, T) - best, S / (2 * T))])


def lemma_c3_statement() -> Statement:
    """Return Lemma C.3 for S >= mu; smoothness is the one-sided Assumption 3.1."""
    S, mu, h = nonnegative("S"), nonnegative("mu"), k.NamedFunction("h")
    x, y, z = point("x"), point("y"), point("z")
    left = (
        k.value_of(h, z)
        - k.value_of(h, y)
        + k.norm2(y - z) * (mu / 4)
        - k.norm2(z - x) * S
    )
    right = k.inner(k.gradient(h, x), z - y)
    assumed = {Majorised(h, S), Convex(h, mu), Holds(k.constant(S - mu))}
    return Statement("han2024/lemma-C.3", frozenset(assumed), left, right)


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
        squares=[((y - x) - (x - z), 1)],
        target=k.norm2(y - x) * 2 + k.norm2(x - z) * 2 - k.norm2(y - z),
    )
    uses: list[tuple[Theorem, Ratio | int]] = [
        (rules.majorant(function, S, x, z), 1),
        (rules.convex(function, mu, x, y), 1),
        (young, mu / 4),
    ]
    return combine(uses, [(z - x, (S - mu) / 2)], signs=[order])


def lemma_c3_proof() -> Theorem:
    """Return the lemma as stated."""
    S, mu, h = nonnegative("S"), nonnegative("mu"), k.NamedFunction("h")
    order = rules.assume(k.constant(S - mu))
    return lemma_c3(h, S, mu, point("x"), point("y"), point("z"), order)


def prop_35_statement() -> Statement:
    """Return ``f(x) - f* <= S/2 (||x_s - x_s*||^2 + ||x_c - x_c*||^2)``, (9)."""
    S, n, away = positive("S"), k.Client("n"), point("x") - k.vec(k.Star(k.MEAN))
    left = k.value_of(k.MEAN, point("x")) - k.value_of(k.MEAN, k.vec(k.Star(k.MEAN)))
    both = k.norm2(k.part(k.Side.SERVER, away)) + k.norm2(k.part(k.Side.CLIENT, away))
    assumed = {every(k.CLIENTS, n, Majorised(k.Local(n), S)), Minimiser(k.MEAN)}
    return Statement("han2024/prop-3.5", frozenset(assumed), left, both * (S / 2))


def majorant_of_mean(S: Ratio, p: k.Vec, q: k.Vec) -> Theorem:
    """Return ``f(q) <= f(p) + <grad f(p), q - p> + S/2 ||q - p||^2`` from the F_n."""
    n = k.Client("n")
    return of_mean(rules.majorant(k.Local(n), S, p, q), n, p, q)


def smooth_mean(S: Ratio, p: k.Vec, q: k.Vec) -> Theorem:
    """Return the same where the gradients of the F_n are S-Lipschitz."""
    n = k.Client("n")
    return of_mean(rules.smooth(k.Local(n), S, p, q), n, p, q)


def of_mean(theorem: Theorem, n: k.Client, p: k.Vec, q: k.Vec) -> Theorem:
    """Return an average of an upper bound on F_n(q), linear at p, to one on f."""
    own = k.gradient(k.Local(n), p) * k.weight(n)
    return combine([
        (sum_over(theorem, k.CLIENTS, n, k.weight(n)), 1),
        (rules.mean_value(p), 1),
        (rules.mean_value(q), -1),
        (rules.mean_gradient(p, q - p), 1),
        (rules.linear(k.CLIENTS, n, own, q - p), 1),
    ])


def value_gap(S: Ratio, p: k.Vec) -> Theorem:
    """Return ``f(p) - f* <= S/2 ||p - x*||^2``."""
    best = k.vec(k.Star(k.MEAN))
    flat = rules.stationary(k.MEAN, p - best)
    return combine([(majorant_of_mean(S, best, p), 1), (flat, -1)])


def prop_35() -> Theorem:
    """Return its proof: smoothness from x*, where the gradient vanishes, by blocks."""
    S, away = positive("S"), point("x") - k.vec(k.Star(k.MEAN))
    return combine([(value_gap(S, point("x")), 1), (rules.blocks(away, away), -S / 2)])
