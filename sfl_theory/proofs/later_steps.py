"""How far a block moves from one local step to a later one, under bounded gradients.

``||A_L - A_i||^2 <= (L - i)^2 G2`` for ``A_u = sum_{j<u} [g_j]_b``, summed over i. The
number of steps between, L - i, is no upper limit of a sum, so sums are taken by parts.
"""

from __future__ import annotations

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs.convex_paces import (
    Paces,
    block_below,
)
from sfl_theory.proofs.equal_steps import first_square, only_one
from sfl_theory.proofs.local_steps import (
    G2,
    i,
    j,
    n,
    now,
)
from sfl_theory.proofs.notation import (
    combine,
    of,
    steps,
    sum_over,
)


def block(p: Paces, side: k.Side, step: Number) -> k.Vec:
    """Return a side's block of a stochastic gradient."""
    return k.part(side, stochastic(p.run, n, now, ratio(step)))


def bounded(p: Paces, side: k.Side, step: Number) -> Theorem:
    """Return that its second moment is at most G2."""
    g = stochastic(p.run, n, now, ratio(step))
    return block_below(side, g, rules.bounded_gradient(p.run, G2, n, now, ratio(step)))


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
    one = only_one(j, k.vec_at(g, {j: of(i) + of(j)}), w, 1)
    return combine(
        [
            (rules.linear(steps(up), j, g, w), -1),
            (rules.linear(steps(of(i)), j, g, w), 1),
            (rules.split(j, k.inner(g, w), of(i), ratio(1)), -1),
            (one, 1),
        ],
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
        [
            (next_step(p, side, after + rest - here), 1),
            (rules.longer(j, g - here, of(i), end), 1),
            (rules.linear(steps(end), j, g, here), -2),
            (rules.linear(steps(of(i)), j, g, here), 2),
            (bounded(p, side, of(i)), end - of(i) - 1),
        ],
        target=target,
        signs=[later],
    )


def noise_falls(p: Paces, side: k.Side, end: Ratio) -> Theorem:
    """Return ``noise_left(i) - noise_left(i+1) >= 0``."""
    g = block(p, side, of(j))
    shifted = k.vec_at(g, {j: of(i) + of(j)})
    return combine(
        [
            (rules.split(j, k.norm2(g), of(i), ratio(1)), -1),
            (first_square(j, shifted), 1),
            (bounded(p, side, of(i)), 1),
        ],
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
    each = sum_over(bounded(p, side, low + of(j)), steps(more), j)

    def same(w: k.Vec) -> list[tuple[Theorem, Number]]:
        return [
            (rules.linear(steps(end), j, g, w), 1),
            (rules.linear(steps(low), j, g, w), -1),
            (rules.linear(steps(more), j, shifted, w), -1),
            (rules.split(j, k.inner(g, w), low, more), 1),
        ]

    square = rules.jensen(steps(more), j, ratio(1), shifted)
    first = combine(
        [
            *((one, -c) for one, c in same(way + tail)),
            (square, 1),
            (each, more),
        ],
        target=way_left(p, side, end, low),
    )
    second = combine(
        [(rules.split(j, k.norm2(g), low, more), -1), (each, 1)],
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
        [
            (rules.telescope(i, way * of(i), low), 1),
            (sum_over(way_falls(p, side, end), steps(low), i, of(i) + 1), 1),
            (first, low),
            (rules.telescope(i, noise * half, low), 1),
            (
                sum_over(noise_falls(p, side, end), steps(low), i, half + of(i) + 1),
                1,
            ),
            (second, low * (low + 1) / 2),
        ],
        target=k.summed(steps(low), i, way),
    )
