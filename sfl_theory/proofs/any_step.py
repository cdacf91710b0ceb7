r"""Step sizes: what conditions imply, and what no constant step avoids.

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
from sfl_theory.proofs import derived
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.foundations import convex_mean, growth, smooth_mean
from sfl_theory.proofs.local_steps import Round, i, j, n, now, t, whole_mean
from sfl_theory.proofs.notation import combine, mean, of, sign, steps, sum_over
from sfl_theory.proofs.strongly_convex import BEST


def at_most(left: Ratio, right: Number) -> Theorem:
    """Return ``left <= right`` by sorts."""
    return combine(target=k.constant(ratio(right) - left))


def late(rate: Ratio, S: Ratio, tau: Ratio, far: Ratio, X: Ratio, mu: Ratio) -> Theorem:
    """Return ``6 S^2 tau^2 rate^2 <= 1`` for rate = 4/(tau X), X >= 10 S.

    `far` = t - 1 - 2S/mu >= 0 is assumed and X - 10 S = mu far.
    """
    uses = [(rules.assume(k.constant(far)), mu * (X + 10 * S) / X**2)]
    return sign(1 - 6 * S**2 * tau**2 * rate**2, *uses)


def smaller(
    rate: Ratio, S: Ratio, own: Ratio, largest: Ratio, c: int
) -> tuple[Theorem, Ratio]:
    """Return ``1 - c u >= 0`` and u = S own rate, own <= largest, rate <= 1/(c S ..).

    The rate's condition and own <= largest are assumed.
    """
    known = rules.assume(k.constant(1 / (c * S * largest) - rate))
    u = S * own * rate
    uses: list[tuple[Theorem, Number]] = [(known, c * S * largest)]
    if own != largest:
        uses.append((rules.assume(k.constant(largest - own)), c * S * rate))
    return sign(1 - c * u, *uses), u


def linear_condition(found: tuple[Theorem, Ratio], c: int, right: Ratio) -> Theorem:
    """Return ``c u <= right`` where ``times u <= 1``, times >= c/right."""
    known, u = found
    return sign(right - c * u, (known, right))


def square_condition(
    found: tuple[Theorem, Ratio], c: int, times: Number, right: Ratio
) -> Theorem:
    """Return ``times u^2 <= right`` where ``c u <= 1`` and c^2 >= times/right."""
    known, u = found
    return sign(right - ratio(times) * u**2, (known, right * (1 + c * u)))


def half_left(product: Ratio) -> Theorem:
    """Return ``1/2 <= 1 - product/2`` where product <= 1 is assumed."""
    half = ratio(1) / 2
    return sign(half - product / 2, (rules.assume(k.constant(1 - product)), half))


def floor(run: k.Split, S: Ratio, mu: Ratio, v: Ratio) -> Theorem:
    """Return ``f(x(t+1)) - f* >= mu/4 eta^2 v sum_n a_n^2``, one local step a round.

    x(t+1) - x* = u - eta Z - eta D: u is fixed by x(t), Z the noise's mean and D the
    difference of gradients at p(n,t,0) and x(t), which is 0.
    """
    r, now = Round(run), of(t)
    eta, best = r.eta, k.vec(k.Star(k.MEAN))
    gx, gp, xi = r.own_gradient(), r.local_gradient(of(i)), r.noise(of(i))
    u = r.x - best - whole_mean(r, gx) * eta
    Z, D = whole_mean(r, xi), whole_mean(r, gp - gx)
    after = r.next - best
    free = sum_over(
        sum_over(derived.unbiased(run, n, now, of(i), u), steps(1), i),
        k.CLIENTS,
        n,
        k.weight(n),
    )
    inside = k.summed(steps(1), i, xi)
    crossed: list[tuple[Theorem, Number]] = [
        (free, 1),
        (rules.linear(k.CLIENTS, n, inside * k.weight(n), u), 1),
        (sum_over(rules.linear(steps(1), i, xi, u), k.CLIENTS, n, k.weight(n)), 1),
    ]
    no_cross = combine(*crossed, target=k.inner(Z, u))
    shift = u - Z * eta
    moved: list[tuple[Theorem, Number]] = [
        (local.whole_update(r, after), 1),
        (local.whole_update(r, shift - D * eta), 1),
    ]
    exact = combine(*moved, target=k.norm2(after) - k.norm2(shift - D * eta))
    near = combine(
        rules.jensen(k.CLIENTS, n, k.weight(n), k.summed(steps(1), i, gp - gx)),
        sum_over(
            combine(
                rules.jensen(steps(1), i, ratio(1), gp - gx),
                sum_over(first_gradient_stays(run, S), steps(1), i),
            ),
            k.CLIENTS,
            n,
            k.weight(n),
        ),
    )
    loud = rules.assume(k.norm2(xi) - k.constant(v))
    spread = combine(
        (derived.independent(run, n, i, k.weight(n), now, ratio(1), None), -1),
        sum_over(sum_over(loud, steps(1), i), k.CLIENTS, n, k.weight(n) ** 2),
    )
    half = ratio(1) / 2
    far = combine(
        exact,
        (no_cross, -eta),
        (near, eta**2),
        (spread, eta**2 / 2),
        (shift * half - D * eta, 2),
        (u, half),
    )
    bound = mu * eta**2 * v * mean(n, k.weight(n) ** 2) / 4
    gap = k.value_of(k.MEAN, r.next) - k.value_of(k.MEAN, best)
    return combine(
        growth(mu, k.iterate(run, now + 1)),
        (far, mu / 2),
        target=gap - k.constant(bound),
    )


def first_gradient_stays(run: k.Split, S: Ratio) -> Theorem:
    """Return ``||grad F_n(p(n,t,i)) - grad F_n(x(t))||^2 <= 0`` for i <= 0."""
    r, at = Round(run), of(i)
    g = stochastic(run, n, of(t), of(j))
    sizes = sum_over(combine((g, 1)), steps(at), j)
    nothing = combine((sizes, -at), signs=[rules.assume(k.constant(-at))])
    scale = S**2 * r.eta**2
    return combine(
        derived.lipschitz(k.Local(n), S, r.point(at), r.x),
        (local.whole_moved(r), -(S**2)),
        (rules.jensen(steps(at), j, ratio(1), g), scale),
        (nothing, scale),
    )


# Lower bounds for every constant step: what no choice of the step avoids -------------

Signed = int
"""1 or -1: an equality is proved as two inequalities."""


def nothing_before(r: Round, w: k.Vec, s: Signed) -> Theorem:
    """Return ``s sum_{j<i} <g_j, w> >= 0`` for i <= 0: the sum is empty.

    A sum below 0 is twice itself, so it vanishes; products are bounded by squares.
    """
    g, zero = stochastic(r.run, n, now, of(j)), ratio(0)
    each = sum_over(combine((g + w * s, ratio(1) / 2)), steps(of(i)), j)
    uses: list[tuple[Theorem, Number]] = [
        (each, 1),
        (rules.longer(j, g, of(i), zero), ratio(1) / 2),
        (rules.split(j, k.norm2(g), zero, zero), ratio(1) / 2),
    ]
    sign = rules.assume(k.constant(-of(i)))
    target = k.summed(steps(of(i)), j, k.inner(g, w)) * s
    return combine(*uses, (w, -of(i) / 2), target=target, signs=[sign])


def stays(r: Round, w: k.Vec, s: Signed) -> Theorem:
    """Return ``s <p_i - x, w> >= 0`` for i <= 0: the first local point is x."""
    g = stochastic(r.run, n, now, of(j))
    target = k.inner(r.away(of(i)), w) * s
    uses: list[tuple[Theorem, Number]] = [
        (local.walked(r.run, now, of(i), w), s),
        (rules.linear(steps(of(i)), j, g, w), -s * r.eta),
        (nothing_before(r, w, -s), r.eta),
    ]
    return combine(*uses, target=target)


def hessian_one(p: k.Vec, w: k.Vec, s: Signed) -> Theorem:
    """Return ``s (<grad F_n(p) - grad F_n(x*), w> - <p - x*, w>) >= 0``.

    F_n is 1-smooth and 1-convex, so its second-order expansions are exact.
    """
    F, one = k.Local(n), ratio(1)
    low, high = (
        (rules.smooth, derived.convex) if s > 0 else (derived.convex, rules.smooth)
    )
    uses: list[tuple[Theorem, Number]] = [
        (low(F, one, p, p + w), 1),
        (high(F, one, BEST, p + w), 1),
        (low(F, one, BEST, p), 1),
    ]
    apart = k.gradient(F, p) - k.gradient(F, BEST) - (p - BEST)
    return combine(*uses, target=k.inner(apart, w) * s)


def direction(r: Round, w: k.Vec, s: Signed) -> Theorem:
    """Return ``s (<D, w> - <x - x*, w>) >= 0``, D the mean local gradient."""
    p = r.point(of(i))
    each = combine(hessian_one(p, w, s), stays(r, w, s))
    own = k.gradient(k.Local(n), BEST) * k.weight(n)
    D = whole_mean(r, r.local_gradient(of(i)))
    uses: list[tuple[Theorem, Number]] = [
        (r.summed(each, 1, k.weight(n)), 1),
        (local.linear_both(r, r.local_gradient(of(i)), w, 1, k.weight(n)), s),
        (rules.linear(k.CLIENTS, n, own, w), -s),
        (rules.mean_gradient(BEST, w), -s),
        (rules.stationary(k.MEAN, w), s),
    ]
    return combine(*uses, target=k.inner(D - (r.x - BEST), w) * s)


def noise(r: Round) -> k.Vec:
    """Return ``sum_n a_n xi_n`` of the round."""
    return whole_mean(r, r.noise(of(i)))


def one_round(r: Round, s: Signed) -> Theorem:
    """Return ``s (v' - (1 - eta)^2 v - eta^2 ||Z||^2) >= 0``."""
    eta, Z, u, after = r.eta, noise(r), r.x - BEST, r.next - BEST
    w = after + u * (1 - eta) - Z * eta
    target = k.norm2(after) - k.norm2(u) * (1 - eta) ** 2 - k.norm2(Z) * eta**2
    uses: list[tuple[Theorem, Number]] = [
        (local.whole_update(r, w), s),
        (direction(r, w, -s), eta),
        (local.whole_centred(r, u), -2 * s * eta * (1 - eta)),
    ]
    return combine(*uses, target=target * s)


def mean_distance(r: Round, T: Ratio) -> Theorem:
    """Return ``sum_{t<T} v_t >= 2T/5``: v_0 >= 1, ||Z_t||^2 = 4T, eta <= 2, T >= 2."""
    eta, variance = r.eta, 4 * T
    u = r.x - BEST
    v, after, Z = k.norm2(u), k.norm2(r.next - BEST), k.norm2(noise(r))
    exactly = {s: rules.assume((k.constant(variance) - Z) * -s) for s in (1, -1)}
    grows = combine(
        one_round(r, 1),
        (exactly[1], eta**2),
        (u, eta**2),
        target=after - v + v * (2 * eta) - k.constant(eta**2 * variance),
    )
    falls = combine(
        one_round(r, -1),
        (exactly[-1], eta**2),
        (u, eta * (2 - eta)),
        target=v - after + k.constant(eta**2 * variance),
        signs=[rules.assume(k.constant(2 - eta))],
    )
    start = k.norm2(k.iterate(r.run, 0) - BEST)
    total = k.summed(steps(T), t, v)
    plain = combine(sum_over(grows, steps(T), t), (derived.telescope(t, v, T), -1))
    weighted = combine(
        sum_over(falls, steps(T), t, of(t) + 1), derived.telescope(t, v * of(t), T)
    )
    factor = 1 / (1 + 2 * eta * T)
    uses: list[tuple[Theorem, Number]] = [
        (plain, T * factor),
        (weighted, factor),
        (rules.assume(start - k.constant(1)), T * factor),
        (rules.assume(k.constant(T - 2)), T**2 * eta**2 * factor),
        (rules.square(eta * T - ratio(2) / 5), T * factor),
    ]
    return combine(*uses, target=total - k.constant(2 * T / 5))


def gradient_by_curvature(p: k.Vec) -> Theorem:
    """Return ``||grad f(p)||^2 >= ||p - x*||^2`` from 1-convex F_n."""
    g, one = k.gradient(k.MEAN, p), ratio(1)
    return combine(
        (convex_mean(one, p, BEST), 2), (growth(one, p), 2), (g - (p - BEST), 1)
    )


def mean_metric(r: Round, T: Ratio, row: k.Lin, squared: bool) -> Theorem:
    """Return ``row <= 25/T sum_t metric``, row at most 5 v_0 or 5 (f(x0) - f*).

    The metric is the gap, or `squared` the squared gradient; v_0 = 1.
    """
    metric = k.norm2(r.gradient) if squared else k.value_of(k.MEAN, r.x)
    metric = metric if squared else metric - k.value_of(k.MEAN, BEST)
    start = k.iterate(r.run, 0)
    each = gradient_by_curvature(r.x) if squared else growth(ratio(1), r.x)
    small = rules.assume(k.constant(1) - k.norm2(start - BEST))
    uses: list[tuple[Theorem, Number]] = [
        (sum_over(each, steps(T), t), 25 / T),
        (mean_distance(r, T), (25 if squared else ratio(25) / 2) / T),
        (small, ratio(5) / 2 if squared else 5),
    ]
    if squared:
        flat = rules.stationary(k.MEAN, start - BEST)
        rise = smooth_mean(ratio(1), BEST, start)
        uses += [(combine(rise, (flat, -1)), 5)]
    return combine(*uses, target=k.summed(steps(T), t, metric) * (25 / T) - row)


def short_step(F: k.NamedFunction, mu: Ratio, eta: Ratio) -> Theorem:
    """Return ``F(x1) - F* >= mu/4 ||x0 - x*||^2`` for eta <= 1/(4 mu), Hessian mu."""
    run, best = k.Descent(F, k.Rate(eta)), k.vec(k.Star(F))
    x, y = k.iterate(run, 0), k.iterate(run, 1)
    g, u, v = k.gradient(F, x), x - best, y - best
    flat, half = k.gradient(F, best), ratio(1) / 2
    uses: list[tuple[Theorem, Number]] = [
        (derived.convex(F, mu, best, y), 1),
        (rules.stationary(F, v), 1),
        (rules.descend(run, ratio(0), v + u - g * eta), mu / 2),
        (derived.lipschitz(F, mu, x, best), eta * half),
        (rules.stationary(F, g), -eta),
        (rules.stationary(F, flat), eta * half),
    ]
    squares: list[tuple[k.Vec, Number]] = [
        (g - u * mu, eta * half),
        (g, mu * eta**2 / 2),
        (u, mu * (1 - 4 * mu * eta) / 4),
    ]
    target = k.value_of(F, y) - k.value_of(F, best) - k.norm2(u) * (mu / 4)
    return combine(
        *uses,
        *squares,
        target=target,
        signs=[rules.assume(k.constant(1 - 4 * mu * eta))],
    )
