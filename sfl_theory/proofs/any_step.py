r"""Lower bounds for every constant step: what no choice of the step avoids.

Stochastic gradient descent is SFL-V1 with one local step. For functions with Hessian 1
its distance obeys :math:`v_{t+1}=(1-\eta)^2v_t+\eta^2\zeta`, noise of variance
:math:`\zeta`. Summed as it is, and summed with weights t, this bounds the mean of v
from below whatever :math:`\eta` is.
"""

from __future__ import annotations

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs.foundations import smooth_mean
from sfl_theory.proofs.joint import whole_centred, whole_mean, whole_update
from sfl_theory.proofs.local_steps import (
    Round,
    i,
    j,
    linear_both,
    n,
    now,
    t,
)
from sfl_theory.proofs.notation import combine, of, steps, sum_over
from sfl_theory.proofs.strongly_convex import BEST

Signed = int
"""1 or -1: an equality is proved as two inequalities."""


def move(r: Round, w: k.Vec) -> Theorem:
    """Return ``<p_i - x + eta sum_{j<i} g_j, w> = 0``."""
    g = stochastic(r.run, n, now, of(j))
    away = r.away(of(i)) + k.summed(steps(of(i)), j, g) * r.eta
    sides = [(rules.local_update(r.run, n, now, of(i), s, w), 1) for s in k.Side]
    return combine([(rules.blocks(away, w), 1), *sides], target=k.inner(away, w))


def nothing_before(r: Round, w: k.Vec, s: Signed) -> Theorem:
    """Return ``s sum_{j<i} <g_j, w> >= 0`` for i <= 0: the sum is empty.

    A sum below 0 is twice itself, so it vanishes; products are bounded by squares.
    """
    g, zero = stochastic(r.run, n, now, of(j)), ratio(0)
    each = sum_over(combine(squares=[(g + w * s, ratio(1) / 2)]), steps(of(i)), j)
    uses: list[tuple[Theorem, Number]] = [
        (each, 1),
        (rules.longer(j, g, of(i), zero), ratio(1) / 2),
        (rules.split(j, k.norm2(g), zero, zero), ratio(1) / 2),
    ]
    sign = rules.assume(k.constant(-of(i)))
    target = k.summed(steps(of(i)), j, k.inner(g, w)) * s
    return combine(uses, [(w, -of(i) / 2)], target, [sign])


def stays(r: Round, w: k.Vec, s: Signed) -> Theorem:
    """Return ``s <p_i - x, w> >= 0`` for i <= 0: the first local point is x."""
    g = stochastic(r.run, n, now, of(j))
    target = k.inner(r.away(of(i)), w) * s
    uses: list[tuple[Theorem, Number]] = [
        (move(r, w), s),
        (rules.linear(steps(of(i)), j, g, w), -s * r.eta),
        (nothing_before(r, w, -s), r.eta),
    ]
    return combine(uses, target=target)


def hessian_one(p: k.Vec, w: k.Vec, s: Signed) -> Theorem:
    """Return ``s (<grad F_n(p) - grad F_n(x*), w> - <p - x*, w>) >= 0``.

    F_n is 1-smooth and 1-convex, so its second-order expansions are exact.
    """
    F, one = k.Local(n), ratio(1)
    low, high = (rules.smooth, rules.convex) if s > 0 else (rules.convex, rules.smooth)
    uses: list[tuple[Theorem, Number]] = [
        (low(F, one, p, p + w), 1),
        (high(F, one, BEST, p + w), 1),
        (low(F, one, BEST, p), 1),
    ]
    apart = k.gradient(F, p) - k.gradient(F, BEST) - (p - BEST)
    return combine(uses, target=k.inner(apart, w) * s)


def direction(r: Round, w: k.Vec, s: Signed) -> Theorem:
    """Return ``s (<D, w> - <x - x*, w>) >= 0``, D the mean local gradient."""
    p = r.point(of(i))
    each = combine([(hessian_one(p, w, s), 1), (stays(r, w, s), 1)])
    own = k.gradient(k.Local(n), BEST) * k.weight(n)
    D = whole_mean(r, r.local_gradient(of(i)))
    uses: list[tuple[Theorem, Number]] = [
        (r.summed(each, 1, k.weight(n)), 1),
        (linear_both(r, r.local_gradient(of(i)), w, 1, k.weight(n)), s),
        (rules.linear(k.CLIENTS, n, own, w), -s),
        (rules.mean_gradient(BEST, w), -s),
        (rules.stationary(k.MEAN, w), s),
    ]
    return combine(uses, target=k.inner(D - (r.x - BEST), w) * s)


def noise(r: Round) -> k.Vec:
    """Return ``sum_n a_n xi_n`` of the round."""
    return whole_mean(r, r.noise(of(i)))


def one_round(r: Round, s: Signed) -> Theorem:
    """Return ``s (v' - (1 - eta)^2 v - eta^2 ||Z||^2) >= 0``."""
    eta, Z, u, after = r.eta, noise(r), r.x - BEST, r.next - BEST
    w = after + u * (1 - eta) - Z * eta
    target = k.norm2(after) - k.norm2(u) * (1 - eta) ** 2 - k.norm2(Z) * eta**2
    uses: list[tuple[Theorem, Number]] = [
        (whole_update(r, w), s),
        (direction(r, w, -s), eta),
        (whole_centred(r, u), -2 * s * eta * (1 - eta)),
    ]
    return combine(uses, target=target * s)


def mean_distance(r: Round, T: Ratio) -> Theorem:
    """Return ``sum_{t<T} v_t >= 2T/5``: v_0 >= 1, ||Z_t||^2 = 4T, eta <= 2, T >= 2."""
    eta, variance = r.eta, 4 * T
    u = r.x - BEST
    v, after, Z = k.norm2(u), k.norm2(r.next - BEST), k.norm2(noise(r))
    exactly = {s: rules.assume((k.constant(variance) - Z) * -s) for s in (1, -1)}
    grows = combine(
        [(one_round(r, 1), 1), (exactly[1], eta**2)],
        [(u, eta**2)],
        after - v + v * (2 * eta) - k.constant(eta**2 * variance),
    )
    falls = combine(
        [(one_round(r, -1), 1), (exactly[-1], eta**2)],
        [(u, eta * (2 - eta))],
        v - after + k.constant(eta**2 * variance),
        [rules.assume(k.constant(2 - eta))],
    )
    start = k.norm2(k.iterate(r.run, 0) - BEST)
    total = k.summed(steps(T), t, v)
    plain = combine([
        (sum_over(grows, steps(T), t), 1),
        (rules.telescope(t, v, T), -1),
    ])
    weighted = combine([
        (sum_over(falls, steps(T), t, of(t) + 1), 1),
        (rules.telescope(t, v * of(t), T), 1),
    ])
    factor = 1 / (1 + 2 * eta * T)
    uses: list[tuple[Theorem, Number]] = [
        (plain, T * factor),
        (weighted, factor),
        (rules.assume(start - k.constant(1)), T * factor),
        (rules.assume(k.constant(T - 2)), T**2 * eta**2 * factor),
        (rules.square(eta * T - ratio(2) / 5), T * factor),
    ]
    return combine(uses, target=total - k.constant(2 * T / 5))


def gap_by_curvature(p: k.Vec) -> Theorem:
    """Return ``f(p) - f* >= ||p - x*||^2/2`` from 1-convex F_n."""
    u, own = p - BEST, k.gradient(k.Local(n), BEST) * k.weight(n)
    each = sum_over(
        rules.convex(k.Local(n), ratio(1), BEST, p), k.CLIENTS, n, k.weight(n)
    )
    uses: list[tuple[Theorem, Number]] = [
        (each, 1),
        (rules.mean_value(p), 1),
        (rules.mean_value(BEST), -1),
        (rules.linear(k.CLIENTS, n, own, u), -1),
        (rules.mean_gradient(BEST, u), -1),
        (rules.stationary(k.MEAN, u), 1),
    ]
    gap = k.value_of(k.MEAN, p) - k.value_of(k.MEAN, BEST)
    return combine(uses, target=gap - k.norm2(u) * (ratio(1) / 2))


def gradient_by_curvature(p: k.Vec) -> Theorem:
    """Return ``||grad f(p)||^2 >= ||p - x*||^2`` from 1-convex F_n."""
    g, u, own = k.gradient(k.MEAN, p), p - BEST, k.gradient(k.Local(n), p) * k.weight(n)
    each = sum_over(
        rules.convex(k.Local(n), ratio(1), p, BEST), k.CLIENTS, n, k.weight(n)
    )
    uses: list[tuple[Theorem, Number]] = [
        (each, 2),
        (rules.mean_value(p), -2),
        (rules.mean_value(BEST), 2),
        (rules.linear(k.CLIENTS, n, own, u), 2),
        (rules.mean_gradient(p, u), 2),
        (gap_by_curvature(p), 2),
    ]
    return combine(uses, [(g - u, 1)], target=k.norm2(g) - k.norm2(u))


def mean_metric(r: Round, T: Ratio, row: k.Lin, squared: bool) -> Theorem:
    """Return ``row <= 25/T sum_t metric``, row at most 5 v_0 or 5 (f(x0) - f*).

    The metric is the gap, or `squared` the squared gradient; v_0 = 1.
    """
    metric = k.norm2(r.gradient) if squared else k.value_of(k.MEAN, r.x)
    metric = metric if squared else metric - k.value_of(k.MEAN, BEST)
    start = k.iterate(r.run, 0)
    each = (gradient_by_curvature if squared else gap_by_curvature)(r.x)
    small = rules.assume(k.constant(1) - k.norm2(start - BEST))
    uses: list[tuple[Theorem, Number]] = [
        (sum_over(each, steps(T), t), 25 / T),
        (mean_distance(r, T), (25 if squared else ratio(25) / 2) / T),
        (small, ratio(5) / 2 if squared else 5),
    ]
    if squared:
        flat = rules.stationary(k.MEAN, start - BEST)
        rise = smooth_mean(ratio(1), BEST, start)
        uses += [(combine([(rise, 1), (flat, -1)]), 5)]
    return combine(uses, target=k.summed(steps(T), t, metric) * (25 / T) - row)


def short_step(F: k.NamedFunction, mu: Ratio, eta: Ratio) -> Theorem:
    """Return ``F(x1) - F* >= mu/4 ||x0 - x*||^2`` for eta <= 1/(4 mu), Hessian mu."""
    run, best = k.Descent(F, k.Rate(eta)), k.vec(k.Star(F))
    x, y = k.iterate(run, 0), k.iterate(run, 1)
    g, u, v = k.gradient(F, x), x - best, y - best
    flat, half = k.gradient(F, best), ratio(1) / 2
    uses: list[tuple[Theorem, Number]] = [
        (rules.convex(F, mu, best, y), 1),
        (rules.stationary(F, v), 1),
        (rules.descend(run, ratio(0), v + u - g * eta), mu / 2),
        (rules.lipschitz(F, mu, x, best), eta * half),
        (rules.stationary(F, g), -eta),
        (rules.stationary(F, flat), eta * half),
    ]
    squares: list[tuple[k.Vec, Number]] = [
        (g - u * mu, eta * half),
        (g, mu * eta**2 / 2),
        (u, mu * (1 - 4 * mu * eta) / 4),
    ]
    target = k.value_of(F, y) - k.value_of(F, best) - k.norm2(u) * (mu / 4)
    return combine(uses, squares, target, [rules.assume(k.constant(1 - 4 * mu * eta))])
