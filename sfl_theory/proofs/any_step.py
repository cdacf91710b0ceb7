r"""Lower bounds for every constant step: what no choice of the step avoids.

Stochastic gradient descent is SFL-V1 with one local step. For functions with Hessian 1
its distance obeys :math:`v_{t+1}=(1-\eta)^2v_t+\eta^2\zeta`, noise of variance
:math:`\zeta`. Summed as it is, and summed with weights t, this bounds the mean of v
from below whatever :math:`\eta` is.
"""

from __future__ import annotations

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    Descent,
    Lin,
    Local,
    NamedFunction,
    Rate,
    Side,
    Star,
    Vec,
    constant,
    gradient,
    inner,
    iterate,
    norm2,
    summed,
    value_of,
    vec,
    weight,
)
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


def move(r: Round, w: Vec) -> Theorem:
    """Return ``<p_i - x + eta sum_{j<i} g_j, w> = 0``."""
    g = stochastic(r.run, n, now, of(j))
    away = r.away(of(i)) + summed(steps(of(i)), j, g) * r.eta
    sides = [(rules.local_update(r.run, n, now, of(i), s, w), 1) for s in Side]
    return combine([(rules.blocks(away, w), 1), *sides], target=inner(away, w))


def nothing_before(r: Round, w: Vec, s: Signed) -> Theorem:
    """Return ``s sum_{j<i} <g_j, w> >= 0`` for i <= 0: the sum is empty.

    A sum below 0 is twice itself, so it vanishes; products are bounded by squares.
    """
    g, zero = stochastic(r.run, n, now, of(j)), ratio(0)
    each = sum_over(combine(squares=[(g + w * s, ratio(1) / 2)]), steps(of(i)), j)
    uses: list[tuple[Theorem, Number]] = [
        (each, 1),
        (rules.longer(j, g, of(i), zero), ratio(1) / 2),
        (rules.split(j, norm2(g), zero, zero), ratio(1) / 2),
    ]
    sign = rules.assume(constant(-of(i)))
    target = summed(steps(of(i)), j, inner(g, w)) * s
    return combine(uses, [(w, -of(i) / 2)], target, [sign])


def stays(r: Round, w: Vec, s: Signed) -> Theorem:
    """Return ``s <p_i - x, w> >= 0`` for i <= 0: the first local point is x."""
    g = stochastic(r.run, n, now, of(j))
    target = inner(r.away(of(i)), w) * s
    uses: list[tuple[Theorem, Number]] = [
        (move(r, w), s),
        (rules.linear(steps(of(i)), j, g, w), -s * r.eta),
        (nothing_before(r, w, -s), r.eta),
    ]
    return combine(uses, target=target)


def hessian_one(p: Vec, w: Vec, s: Signed) -> Theorem:
    """Return ``s (<grad F_n(p) - grad F_n(x*), w> - <p - x*, w>) >= 0``.

    F_n is 1-smooth and 1-convex, so its second-order expansions are exact.
    """
    F, one = Local(n), ratio(1)
    low, high = (rules.smooth, rules.convex) if s > 0 else (rules.convex, rules.smooth)
    uses: list[tuple[Theorem, Number]] = [
        (low(F, one, p, p + w), 1),
        (high(F, one, BEST, p + w), 1),
        (low(F, one, BEST, p), 1),
    ]
    apart = gradient(F, p) - gradient(F, BEST) - (p - BEST)
    return combine(uses, target=inner(apart, w) * s)


def direction(r: Round, w: Vec, s: Signed) -> Theorem:
    """Return ``s (<D, w> - <x - x*, w>) >= 0``, D the mean local gradient."""
    p = r.point(of(i))
    each = combine([(hessian_one(p, w, s), 1), (stays(r, w, s), 1)])
    own = gradient(Local(n), BEST) * weight(n)
    D = whole_mean(r, r.local_gradient(of(i)))
    uses: list[tuple[Theorem, Number]] = [
        (r.summed(each, 1, weight(n)), 1),
        (linear_both(r, r.local_gradient(of(i)), w, 1, weight(n)), s),
        (rules.linear(CLIENTS, n, own, w), -s),
        (rules.mean_gradient(BEST, w), -s),
        (rules.stationary(MEAN, w), s),
    ]
    return combine(uses, target=inner(D - (r.x - BEST), w) * s)


def noise(r: Round) -> Vec:
    """Return ``sum_n a_n xi_n`` of the round."""
    return whole_mean(r, r.noise(of(i)))


def one_round(r: Round, s: Signed) -> Theorem:
    """Return ``s (v' - (1 - eta)^2 v - eta^2 ||Z||^2) >= 0``."""
    eta, Z, u, after = r.eta, noise(r), r.x - BEST, r.next - BEST
    w = after + u * (1 - eta) - Z * eta
    target = norm2(after) - norm2(u) * (1 - eta) ** 2 - norm2(Z) * eta**2
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
    v, after, Z = norm2(u), norm2(r.next - BEST), norm2(noise(r))
    exactly = {s: rules.assume((constant(variance) - Z) * -s) for s in (1, -1)}
    grows = combine(
        [(one_round(r, 1), 1), (exactly[1], eta**2)],
        [(u, eta**2)],
        after - v + v * (2 * eta) - constant(eta**2 * variance),
    )
    falls = combine(
        [(one_round(r, -1), 1), (exactly[-1], eta**2)],
        [(u, eta * (2 - eta))],
        v - after + constant(eta**2 * variance),
        [rules.assume(constant(2 - eta))],
    )
    start = norm2(iterate(r.run, 0) - BEST)
    total = summed(steps(T), t, v)
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
        (rules.assume(start - constant(1)), T * factor),
        (rules.assume(constant(T - 2)), T**2 * eta**2 * factor),
        (rules.square(eta * T - ratio(2) / 5), T * factor),
    ]
    return combine(uses, target=total - constant(2 * T / 5))


def gap_by_curvature(p: Vec) -> Theorem:
    """Return ``f(p) - f* >= ||p - x*||^2/2`` from 1-convex F_n."""
    u, own = p - BEST, gradient(Local(n), BEST) * weight(n)
    each = sum_over(rules.convex(Local(n), ratio(1), BEST, p), CLIENTS, n, weight(n))
    uses: list[tuple[Theorem, Number]] = [
        (each, 1),
        (rules.mean_value(p), 1),
        (rules.mean_value(BEST), -1),
        (rules.linear(CLIENTS, n, own, u), -1),
        (rules.mean_gradient(BEST, u), -1),
        (rules.stationary(MEAN, u), 1),
    ]
    gap = value_of(MEAN, p) - value_of(MEAN, BEST)
    return combine(uses, target=gap - norm2(u) * (ratio(1) / 2))


def gradient_by_curvature(p: Vec) -> Theorem:
    """Return ``||grad f(p)||^2 >= ||p - x*||^2`` from 1-convex F_n."""
    g, u, own = gradient(MEAN, p), p - BEST, gradient(Local(n), p) * weight(n)
    each = sum_over(rules.convex(Local(n), ratio(1), p, BEST), CLIENTS, n, weight(n))
    uses: list[tuple[Theorem, Number]] = [
        (each, 2),
        (rules.mean_value(p), -2),
        (rules.mean_value(BEST), 2),
        (rules.linear(CLIENTS, n, own, u), 2),
        (rules.mean_gradient(p, u), 2),
        (gap_by_curvature(p), 2),
    ]
    return combine(uses, [(g - u, 1)], target=norm2(g) - norm2(u))


def mean_metric(r: Round, T: Ratio, row: Lin, squared: bool) -> Theorem:
    """Return ``row <= 25/T sum_t metric``, row at most 5 v_0 or 5 (f(x0) - f*).

    The metric is the gap, or `squared` the squared gradient; v_0 = 1.
    """
    metric = norm2(r.gradient) if squared else value_of(MEAN, r.x)
    metric = metric if squared else metric - value_of(MEAN, BEST)
    start = iterate(r.run, 0)
    each = (gradient_by_curvature if squared else gap_by_curvature)(r.x)
    small = rules.assume(constant(1) - norm2(start - BEST))
    uses: list[tuple[Theorem, Number]] = [
        (sum_over(each, steps(T), t), 25 / T),
        (mean_distance(r, T), (25 if squared else ratio(25) / 2) / T),
        (small, ratio(5) / 2 if squared else 5),
    ]
    if squared:
        flat = rules.stationary(MEAN, start - BEST)
        rise = smooth_mean(ratio(1), BEST, start)
        uses += [(combine([(rise, 1), (flat, -1)]), 5)]
    return combine(uses, target=summed(steps(T), t, metric) * (25 / T) - row)


def short_step(F: NamedFunction, mu: Ratio, eta: Ratio) -> Theorem:
    """Return ``F(x1) - F* >= mu/4 ||x0 - x*||^2`` for eta <= 1/(4 mu), Hessian mu."""
    run, best = Descent(F, Rate(eta)), vec(Star(F))
    x, y = iterate(run, 0), iterate(run, 1)
    g, u, v = gradient(F, x), x - best, y - best
    flat, half = gradient(F, best), ratio(1) / 2
    uses: list[tuple[Theorem, Number]] = [
        (rules.convex(F, mu, best, y), 1),
        (rules.stationary(F, v), 1),
        (rules.descend(run, ratio(0), v + u - g * eta), mu / 2),
        (rules.lipschitz(F, mu, x, best), eta * half),
        (rules.stationary(F, g), -eta),
        (rules.stationary(F, flat), eta * half),
    ]
    squares: list[tuple[Vec, Number]] = [
        (g - u * mu, eta * half),
        (g, mu * eta**2 / 2),
        (u, mu * (1 - 4 * mu * eta) / 4),
    ]
    target = value_of(F, y) - value_of(F, best) - norm2(u) * (mu / 4)
    return combine(uses, squares, target, [rules.assume(constant(1 - 4 * mu * eta))])
