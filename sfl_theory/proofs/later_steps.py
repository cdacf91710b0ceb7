"""How a block moves in a round: from a step to a later one, noise and second moments.

``||A_L - A_i||^2 <= (L - i)^2 G2`` for ``A_u = sum_{j<u} [g_j]_b``, summed over i. The
number of steps between, L - i, is no upper limit of a sum, so sums are taken by parts.

The block's sums have weights ``a_n`` or none (SFL-V2's server); each lemma is stated
for any factor that does not depend on the step.
"""

from __future__ import annotations

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.convex_paces import Paces
from sfl_theory.proofs.local_steps import G2, N, Round, block_move, i, j, n, now, sigma2
from sfl_theory.proofs.notation import combine, of, steps, sum_over
from sfl_theory.proofs.visited import Visited


def block(p: Paces, side: k.Side, step: Number) -> k.Vec:
    """Return a side's block of a stochastic gradient."""
    return k.part(side, stochastic(p.run, n, now, ratio(step)))


def path(p: Paces, side: k.Side, upper: Number) -> k.Vec:
    """Return ``A_u = sum_{j<u} [g_j]_b``."""
    return k.summed(steps(upper), j, block(p, side, of(j)))


def squares(p: Paces, side: k.Side, upper: Number) -> k.Lin:
    """Return ``Q_u = sum_{j<u} ||[g_j]_b||^2``."""
    return k.summed(steps(upper), j, k.norm2(block(p, side, of(j))))


# The way from one step to a later one, summed over the earlier one -------------------


def next_step(p: Paces, side: k.Side, w: k.Vec) -> Theorem:
    """Return ``<A_i + g_i - A_{i+1}, w> >= 0`` (it vanishes)."""
    g, up = block(p, side, of(j)), of(i) + 1
    return combine(
        (rules.linear(steps(up), j, g, w), -1),
        rules.linear(steps(of(i)), j, g, w),
        (rules.split(j, k.inner(g, w), of(i), ratio(1)), -1),
        target=k.inner(path(p, side, of(i)) + block(p, side, of(i)), w)
        - k.inner(path(p, side, up), w),
    )


def way_left(p: Paces, side: k.Side, end: Ratio, at: Ratio) -> k.Lin:
    """Return ``(L - i)^2 G2 - ||A_L - A_i||^2``."""
    way = path(p, side, end) - path(p, side, at)
    return k.constant((end - at) ** 2 * G2) - k.norm2(way)


def noise_left(p: Paces, side: k.Side, end: Ratio, at: Ratio) -> k.Lin:
    """Return ``(L - i) G2 - (Q_L - Q_i)``."""
    return k.constant((end - at) * G2) - squares(p, side, end) + squares(p, side, at)


def way_falls(p: Paces, side: k.Side, end: Ratio) -> Theorem:
    """Return ``way_left(i) - way_left(i+1) >= noise_left(i)`` for i < L.

    ``2 <A_L - A_i, g_i> <= Q_L - Q_i + (L - i) ||g_i||^2``, for the sum of
    ``||g_j - g_i||^2`` over j < L is at least that over j < i.
    """
    g, here = block(p, side, of(j)), block(p, side, of(i))
    rest = path(p, side, end) - path(p, side, of(i))
    after = path(p, side, end) - path(p, side, of(i) + 1)
    later = rules.assume(k.constant(end - of(i) - 1))
    target = (
        way_left(p, side, end, of(i))
        - way_left(p, side, end, of(i) + 1)
        - noise_left(p, side, end, of(i))
    )
    return combine(
        next_step(p, side, after + rest - here),
        rules.longer(j, g - here, of(i), end),
        (rules.linear(steps(end), j, g, here), -2),
        (rules.linear(steps(of(i)), j, g, here), 2),
        (local.bounded_block(p.run, side, of(i)), end - of(i) - 1),
        target=target,
        signs=[later],
    )


def noise_falls(p: Paces, side: k.Side, end: Ratio) -> Theorem:
    """Return ``noise_left(i) - noise_left(i+1) >= 0``."""
    g = block(p, side, of(j))
    return combine(
        (rules.split(j, k.norm2(g), of(i), ratio(1)), -1),
        local.bounded_block(p.run, side, of(i)),
        target=noise_left(p, side, end, of(i)) - noise_left(p, side, end, of(i) + 1),
    )


def ends(p: Paces, side: k.Side, low: Ratio, more: Ratio) -> tuple[Theorem, Theorem]:
    """Return ``way_left(L, low) >= 0`` and ``noise_left(L, low) >= 0``, L = low + m."""
    end = low + more
    if not more:
        nothing = (left(p, side, end, low) for left in (way_left, noise_left))
        first, second = (combine(target=one) for one in nothing)
        return first, second
    g = block(p, side, of(j))
    shifted = k.vec_at(g, {j: low + of(j)})
    tail = k.summed(steps(more), j, shifted)
    way = path(p, side, end) - path(p, side, low)
    each = sum_over(local.bounded_block(p.run, side, low + of(j)), steps(more), j)

    def same(w: k.Vec) -> list[tuple[Theorem, Number]]:
        return [
            (rules.linear(steps(end), j, g, w), 1),
            (rules.linear(steps(low), j, g, w), -1),
            (rules.linear(steps(more), j, shifted, w), -1),
            (rules.split(j, k.inner(g, w), low, more), 1),
        ]

    square = rules.jensen(steps(more), j, ratio(1), shifted)
    first = combine(
        *((one, -c) for one, c in same(way + tail)),
        square,
        (each, more),
        target=way_left(p, side, end, low),
    )
    second = combine(
        (rules.split(j, k.norm2(g), low, more), -1),
        each,
        target=noise_left(p, side, end, low),
    )
    return first, second


def ways(p: Paces, side: k.Side, low: Ratio, more: Ratio) -> Theorem:
    """Return ``sum_{i<low} ||A_L - A_i||^2 <= G2 sum_{i<low} (L - i)^2``, L = low + m.

    Summed by parts twice, with i and with i (i + 1)/2.
    """
    end = low + more
    first, second = ends(p, side, low, more)
    half = of(i) * (of(i) + 1) / 2
    way, noise = (left(p, side, end, of(i)) for left in (way_left, noise_left))
    return combine(
        derived.telescope(i, way * of(i), low),
        sum_over(way_falls(p, side, end), steps(low), i, of(i) + 1),
        (first, low),
        derived.telescope(i, noise * half, low),
        sum_over(noise_falls(p, side, end), steps(low), i, half + of(i) + 1),
        (second, low * (low + 1) / 2),
        target=k.summed(steps(low), i, way),
    )


# Steps of one round for a block: squares, second moments, drift and noise ------------

BEST = k.vec(k.Star(k.MEAN))


def total(upper: Number, factor: Number, each: k.Vec) -> k.Vec:
    """Return ``sum_n factor sum_{i<upper} each``."""
    return k.summed(k.CLIENTS, n, k.summed(steps(upper), i, each) * factor)


def square_of_step(r: Round, side: k.Side, factor: Number) -> Theorem:
    """Return (55): the square multiplied out, Cauchy-Schwarz over clients and steps.

    ``||x - x* - eta M||^2 <= ||x - x*||^2 + eta^2 tau N sum w^2 sum_i ||gp||^2
    - 2 eta sum w sum_i <x - x*, gp>``.
    """
    upper, w, eta = r.steps(side), ratio(factor), r.eta
    gp, away = k.part(side, r.local_gradient(of(i))), k.part(side, r.x - BEST)
    inside = k.summed(steps(upper), i, gp)
    each = rules.jensen(steps(upper), i, ratio(1), gp)
    return combine(
        (rules.jensen(k.CLIENTS, n, ratio(1), inside * w), eta**2),
        (sum_over(each, k.CLIENTS, n, w**2 * N), eta**2),
        (local.linear_both(r, gp, away, upper, w), 2 * eta),
    )


def gradient_less_noise(r: Round, side: k.Side) -> Theorem:
    """Return ``||gp||^2 = ||g||^2 - ||xi||^2`` for a block of one step."""
    gp = k.part(side, r.local_gradient(of(i)))
    return combine((derived.unbiased(r.run, n, now, of(i), gp), 2))


def gradient_by_noise(r: Round, side: k.Side) -> Theorem:
    """Return ``||gp||^2 <= ||xi||^2 + ||g||^2`` for a block of one step."""
    return combine(gradient_less_noise(r, side), (k.part(side, r.noise(of(i))), 2))


def moments(r: Round, side: k.Side) -> Theorem:
    """Return ``||xi_b||^2 + ||g_b||^2 <= sigma_n^2 + G2`` for one step."""
    xi, g = r.noise(of(i)), stochastic(r.run, n, now, of(i))
    return combine(
        local.block_at_most(side, xi),
        local.block_at_most(side, g),
        derived.variance(r.run, sigma2(n), n, now, of(i)),
        derived.bounded_gradient(r.run, G2, n, now, of(i)),
    )


def own_drift(r: Round, side: k.Side) -> Theorem:
    """Return ``||[p_i - x]_b||^2 <= eta^2 i^2 G2`` for a side that makes own steps."""
    return block_move(r, side, of(i), of(i))


def visited_drift(r: Round) -> Theorem:
    """Return ``||[p_i - x]_s||^2 <= eta^2 N^2 tau^2 G2`` for SFL-V2's server."""
    return Visited(r).bounded_way()


def noise_of_sum(r: Round, side: k.Side, factor: Ratio) -> Theorem:
    """Return ``||sum_n w xi_b||^2 <= N sum_n w^2 sigma_n^2`` for one step."""
    xi = r.noise(of(i))
    bound = combine(
        local.block_at_most(side, xi), derived.variance(r.run, sigma2(n), n, now, of(i))
    )
    return combine(
        rules.jensen(k.CLIENTS, n, ratio(1), k.part(side, xi) * factor),
        sum_over(bound, k.CLIENTS, n, factor**2 * N),
    )


def noise_steps(r: Round, side: k.Side, factor: Ratio) -> Theorem:
    """Return ``||sum_i z_i||^2 <= tau sum_i ||z_i||^2``, ``z_i = sum_n w xi_i``."""
    each = k.part(side, r.noise(of(i)))
    z = k.summed(k.CLIENTS, n, each * factor)
    return rules.jensen(steps(r.steps(side)), i, ratio(1), z)


def kept_cross_term(r: Round, side: k.Side, factor: Ratio) -> Theorem:
    """Return (54) with its cross term: Z is centred at x, 2<M, Z> <= ||M||^2 + ||Z||^2.

    ``||x' - x*||^2 <= ||x - x* - eta M||^2 + eta^2 ||M||^2 + 2 eta^2 ||Z||^2``.
    """
    upper, eta = r.steps(side), r.eta
    away = k.part(side, r.x - BEST)
    after, step = k.part(side, r.next - BEST), k.part(side, r.next - r.x)
    M = total(upper, factor, k.part(side, r.local_gradient(of(i))))
    Z = total(upper, factor, k.part(side, r.noise(of(i))))
    each = derived.unbiased(r.run, n, now, of(i), away)
    centred = [
        (local.linear_both(r, k.part(side, r.noise(of(i))), away, upper, factor), 1),
        (r.summed(each, upper, factor), 1),
    ]
    target = (
        k.norm2(away - M * eta)
        + k.norm2(M) * eta**2
        + k.norm2(Z) * (2 * eta**2)
        - k.norm2(after)
    )
    return combine(
        (rules.update(r.run, side, now, away), -2),
        (rules.update(r.run, side, now, step), -1),
        (rules.update(r.run, side, now, M + Z), eta),
        *[(theorem, 2 * eta * c) for theorem, c in centred],
        (M - Z, eta**2),
        target=target,
    )
