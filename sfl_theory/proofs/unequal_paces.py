"""One round of SFL-V1 for convex clients, unequal numbers of local steps.

The blocks of a move are means of gradients at different points. Steps that both sides
make are taken together; what the shorter side weighs more, at ``[p_i]_a``, and what the
longer side makes more, at ``[p_l]_b``, is compared with the gradient at the point whose
blocks these are. By cocoercivity it differs in a block by at most ``S/2`` times the way
of the other block. The distance may grow: ``delta S^2 alpha^2/4`` of it a round.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    Lin,
    Local,
    Side,
    Star,
    Vec,
    constant,
    gradient,
    inner,
    norm2,
    part,
    summed,
    value_of,
    vec,
    vec_at,
    weight,
)
from sfl_theory.proofs.convex_paces import (
    Paces,
    alpha,
    block_below,
    direction,
    moved,
    other,
    share,
    total,
    whole_move,
)
from sfl_theory.proofs.equal_steps import first_square, only_one
from sfl_theory.proofs.joint import both_parts
from sfl_theory.proofs.local_steps import (
    G2,
    Round,
    S,
    i,
    j,
    k,
    linear_both,
    n,
    now,
)
from sfl_theory.proofs.notation import combine, of, rates, steps, sum_over

F = Local(n)
BEST = vec(Star(MEAN))


def block(p: Paces, side: Side, step: Number) -> Vec:
    """Return a side's block of a stochastic gradient."""
    return part(side, stochastic(p.run, n, now, ratio(step)))


def bounded(p: Paces, side: Side, step: Number) -> Theorem:
    """Return that its second moment is at most G2."""
    g = stochastic(p.run, n, now, ratio(step))
    return block_below(
        side, g, rules.bounded_gradient(p.run, G2, n, now, ratio(step))
    )


def path(p: Paces, side: Side, upper: Number) -> Vec:
    """Return ``A_u = sum_{j<u} [g_j]_b``."""
    return summed(steps(upper), j, block(p, side, of(j)))


def squares(p: Paces, side: Side, upper: Number) -> Lin:
    """Return ``Q_u = sum_{j<u} ||[g_j]_b||^2``."""
    return summed(steps(upper), j, norm2(block(p, side, of(j))))


# The way from one step to a later one, summed over the earlier one -------------------


def next_step(p: Paces, side: Side, w: Vec) -> Theorem:
    """Return ``<A_i + g_i - A_{i+1}, w> >= 0`` (it vanishes)."""
    g, up = block(p, side, of(j)), of(i) + 1
    one = only_one(j, vec_at(g, {j: of(i) + of(j)}), w, 1)
    return combine(
        [
            (rules.linear(steps(up), j, g, w), -1),
            (rules.linear(steps(of(i)), j, g, w), 1),
            (rules.split(j, inner(g, w), of(i), ratio(1)), -1),
            (one, 1),
        ],
        target=inner(path(p, side, of(i)) + block(p, side, of(i)), w)
        - inner(path(p, side, up), w),
    )


def way_left(p: Paces, side: Side, end: Ratio, at: Ratio) -> Lin:
    """Return ``(L - i)^2 G2 - ||A_L - A_i||^2``."""
    way = path(p, side, end) - path(p, side, at)
    return constant((end - at) ** 2 * G2) - norm2(way)


def noise_left(p: Paces, side: Side, end: Ratio, at: Ratio) -> Lin:
    """Return ``(L - i) G2 - (Q_L - Q_i)``."""
    return (
        constant((end - at) * G2) - squares(p, side, end) + squares(p, side, at)
    )


def way_falls(p: Paces, side: Side, end: Ratio) -> Theorem:
    """Return ``way_left(i) - way_left(i+1) >= noise_left(i)`` for i < L.

    ``2 <A_L - A_i, g_i> <= Q_L - Q_i + (L - i) ||g_i||^2``, for the sum of
    ``||g_j - g_i||^2`` over j < L is at least that over j < i.
    """
    g, here = block(p, side, of(j)), block(p, side, of(i))
    rest = path(p, side, end) - path(p, side, of(i))
    after = path(p, side, end) - path(p, side, of(i) + 1)
    later = rules.assume(constant(end - of(i) - 1))
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


def noise_falls(p: Paces, side: Side, end: Ratio) -> Theorem:
    """Return ``noise_left(i) - noise_left(i+1) >= 0``."""
    g = block(p, side, of(j))
    shifted = vec_at(g, {j: of(i) + of(j)})
    return combine(
        [
            (rules.split(j, norm2(g), of(i), ratio(1)), -1),
            (first_square(j, shifted), 1),
            (bounded(p, side, of(i)), 1),
        ],
        target=noise_left(p, side, end, of(i))
        - noise_left(p, side, end, of(i) + 1),
    )


def ends(p: Paces, side: Side, low: Ratio, more: Ratio) -> tuple[Theorem, Theorem]:
    """Return ``way_left(L, low) >= 0`` and ``noise_left(L, low) >= 0``, L = low + m."""
    end = low + more
    if not more:
        return tuple(
            combine(target=left(p, side, end, low)) for left in (way_left, noise_left)
        )
    g = block(p, side, of(j))
    shifted = vec_at(g, {j: low + of(j)})
    tail = summed(steps(more), j, shifted)
    way = path(p, side, end) - path(p, side, low)
    each = sum_over(bounded(p, side, low + of(j)), steps(more), j)

    def same(w: Vec) -> list[tuple[Theorem, Number]]:
        return [
            (rules.linear(steps(end), j, g, w), 1),
            (rules.linear(steps(low), j, g, w), -1),
            (rules.linear(steps(more), j, shifted, w), -1),
            (rules.split(j, inner(g, w), low, more), 1),
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
        [(rules.split(j, norm2(g), low, more), -1), (each, 1)],
        target=noise_left(p, side, end, low),
    )
    return first, second


def ways(p: Paces, side: Side, low: Ratio, more: Ratio) -> Theorem:
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
                sum_over(
                    noise_falls(p, side, end), steps(low), i, half + of(i) + 1
                ),
                1,
            ),
            (second, low * (low + 1) / 2),
        ],
        target=summed(steps(low), i, way),
    )



# Gradients at two points that differ in one block ------------------------------------


def cocoercive(p: Vec, q: Vec) -> Theorem:
    """Return ``<D, q - p> >= ||D||^2/S`` for ``D = grad F_n(q) - grad F_n(p)``.

    Convexity from p to ``y = q - D/S``, smoothness from q to y; and the other way.
    """
    D = gradient(F, q) - gradient(F, p)
    y, z = q - D * (1 / S), p + D * (1 / S)
    return combine(
        [
            (rules.smooth(F, S, q, y), 1),
            (rules.convex(F, ratio(0), p, y), 1),
            (rules.smooth(F, S, p, z), 1),
            (rules.convex(F, ratio(0), q, z), 1),
        ],
        target=inner(D, q - p) - norm2(D) * (1 / S),
    )


def other_block(side: Side, p: Vec, q: Vec) -> Theorem:
    """Return ``||[D]_b||^2 <= S^2/4 ||q - p||^2`` for points with the same block b."""
    D, w = gradient(F, q) - gradient(F, p), part(other(side), q - p)
    return combine(
        [
            (cocoercive(p, q), S),
            (rules.blocks(D, q - p), -S),
            (rules.blocks(D, D), 1),
        ],
        [(part(other(side), D) - w * (S / 2), 1)],
        target=norm2(w) * (S**2 / 4) - norm2(part(side, D)),
    )


def progress(p: Paces, at: Vec) -> Theorem:
    """Return ``<grad F_n(p), x - x*> >= F_n(x) - F_n(x*) - S/2 ||p - x||^2``."""
    x = Round(p.run).x
    return combine([
        (rules.smooth(F, S, at, x), 1),
        (rules.convex(F, ratio(0), at, BEST), 1),
    ])


def stretch(p: Paces) -> Ratio:
    """Return ``(tau_min + k)/M``, M the mean of ``tau_min + k`` over k < d."""
    return 2 * (p.low + of(k)) / (2 * p.low + p.extra - 1)


INVERSE = rates("r").at(of(k))
"""``1/(tau_min + k)``: numbers under a sum have no denominators with its index."""


def inverse(p: Paces) -> tuple[Theorem, Theorem]:
    """Return both halves of ``r(k) (tau_min + k) = 1``."""
    one = INVERSE * late(p)
    return rules.assume(constant(1 - one)), rules.assume(constant(one - 1))


def shrink(p: Paces) -> Ratio:
    """Return the inverse of `stretch`."""
    return (2 * p.low + p.extra - 1) / 2 * INVERSE


def late(p: Paces) -> Ratio:
    """Return ``tau_min + k``, a step of the longer side alone."""
    return p.low + of(k)


def mixed(p: Paces) -> Theorem:
    """Return what ``[p_i]_a`` and ``[p_l]_b`` do, l = tau_min + k, b the longer side.

    ``<[grad F_n(p_i)]_a + [grad F_n(p_l)]_b, x - x*>`` is at least ``F_n(x) - F_n(x*)``
    less distances: of both from x, of each other, and ``S^2 alpha/8 ||x - x*||^2``,
    stretched by `stretch` in block a.
    """
    r, long, short = Round(p.run), p.longer, other(p.longer)
    P, Q, z = r.point(of(i)), r.point(late(p)), r.x - BEST
    R = part(short, P) + part(long, Q)
    gP, gQ, gR = (gradient(F, at) for at in (P, Q, R))
    c, wide = S**2 * alpha / 8, stretch(p)
    exact = inverse(p)
    left = rules.number_of(exact[0].form)
    uses: list[tuple[Theorem, Number]] = [
        (progress(p, R), 1),
        (rules.blocks(gR, z), -1),
        (both_parts(R - r.x), -S / 2),
    ]
    signs, squares_ = exact, list[tuple[Vec, Number]]()
    sides = ((short, P, gP, wide, shrink(p)), (long, Q, gQ, ratio(1), ratio(1)))
    for side, at, g, weight_, over in sides:
        u, e = part(side, z), part(side, g - gR)
        uses.append((other_block(side, R, at), over / (4 * c)))
        squares_.append((u + e * (over / (2 * c)), c * weight_))
        if side is short:
            # <z, e> is multiplied by stretch times shrink, which is 1
            squares_ += [(u + e, left / 4), (u - e, -left / 4)]
            squares_.append((e, over * left / (4 * c)))
    return combine(uses, squares_, signs=signs)


def own_way(p: Paces, side: Side, rests: bool) -> Theorem:
    """Return ``||[p_l - p_i]_b||^2 = eta_b^2 ||A_l - A_i||^2``, l = tau_min + k."""
    r, end = Round(p.run), late(p)
    made = p.low if rests else end
    rule = rules.resting if rests else rules.local_update
    way = part(side, r.point(end) - r.point(of(i)))
    paths = path(p, side, made) - path(p, side, of(i))
    eta = p.eta(side)

    def same(w: Vec, factor: Number) -> list[tuple[Theorem, Number]]:
        early = rules.local_update(p.run, n, now, of(i), side, w)
        return [
            (rule(p.run, n, now, end, side, w), factor),
            (early, -ratio(factor)),
        ]

    return combine(
        [*same(way, -1), *same(paths, eta)],
        target=norm2(paths) * eta**2 - norm2(way),
    )


def from_start(p: Paces, side: Side, at: Ratio) -> Theorem:
    """Return ``||[p_i - x]_b||^2 <= eta_b^2 i^2 G2``."""
    each = sum_over(bounded(p, side, of(j)), steps(at), j)
    return combine([
        (moved(p, side, at, at, False), 1),
        (each, p.eta(side) ** 2 * at),
    ])


def pairs(theorem: Theorem, p: Paces, factor: Number = 1) -> Theorem:
    """Return the sum over i < tau_min, then over k < d."""
    inside = sum_over(theorem, steps(p.low), i)
    return sum_over(inside, steps(p.extra), k, factor)


def fitted(p: Paces) -> Theorem:
    """Return ``r(k) sum_{i<low} (l - i)^2`` below a polynomial, for r(k) l = 1.

    ``r l^2 = l`` and ``r <= 1/tau_min``.
    """
    low, end = p.low, late(p)
    below, above = inverse(p)
    ways_ = rules.number_of(summed(steps(low), i, constant((end - of(i)) ** 2)))
    rest = (low - 1) * (2 * low - 1) / 6
    return combine(
        [(below, low * end + rest), (above, low * (low - 1))],
        target=constant(low * end - low * (low - 1) + rest - INVERSE * ways_),
    )


@cache
def client_progress(p: Paces) -> Theorem:
    """Return what ``sum_b 1/tau_b sum_i <[gp_i]_b, x - x*>`` of a client is at least.

    ``F_n(x) - F_n(x*) - S alpha^2 G2/3 - delta (S^2 alpha/8 ||x - x*||^2
    + 5/8 alpha G2)``.
    """
    r, low, high = Round(p.run), p.low, p.high
    long, short, z = p.longer, other(p.longer), r.x - BEST
    gap = value_of(F, r.x) - value_of(F, BEST)
    joint, each = 1 / high, 1 / (low * high)
    P, gP = r.point(of(i)), r.local_gradient(of(i))
    inside = inner(part(long, gP), z)
    far = 2 / (S**2 * alpha) * (S**2 / 4)
    short_way, long_way = (
        ways(p, short, low, ratio(0)),
        ways(p, long, low, of(k)),
    )
    eta_s, eta_l = p.eta(short), p.eta(long)
    size = each * far * eta_l**2 * G2
    wide = shrink(p)
    uses: list[tuple[Theorem, Number]] = [
        # steps of both sides, and pairs of a step of each
        (sum_over(progress(p, P), steps(low), i), joint),
        (sum_over(rules.blocks(gP, z), steps(low), i), -joint),
        (rules.split(i, inside, low, p.extra), joint),
        (sum_over(both_parts(P - r.x), steps(low), i), -joint * S / 2),
        (pairs(mixed(p), p), each),
        # how far they are from x
        (sum_over(from_start(p, short, of(i)), steps(low), i), S / (2 * low)),
        (sum_over(from_start(p, long, of(i)), steps(low), i), joint * S / 2),
        (
            sum_over(from_start(p, long, late(p)), steps(p.extra), k),
            joint * S / 2,
        ),
        # and from each other
        (pairs(own_way(p, short, True), p), each * far),
        (sum_over(short_way, steps(p.extra), k), each * far * eta_s**2),
        (pairs(own_way(p, long, False), p, wide), each * far),
        (sum_over(long_way, steps(p.extra), k, wide), each * far * eta_l**2),
        (sum_over(fitted(p), steps(p.extra), k, (2 * low + p.extra - 1) / 2), size),
        (rules.blocks(z, z), p.unequal * S**2 * alpha / 8),
    ]
    left = Lin({})
    for side in Side:
        own = inner(part(side, gP), z)
        left = left + summed(steps(p.made(side)), i, own) * (1 / p.made(side))
    cost = S * alpha**2 * G2 / 3 + p.unequal * Fraction(5, 8) * alpha * G2
    grown = norm2(z) * (p.unequal * S**2 * alpha / 8)
    return combine(uses, target=left - gap + grown + constant(cost))


def growth(p: Paces) -> Ratio:
    """Return by what share the distance may grow, ``delta S^2 alpha^2/4``."""
    return p.unequal * S**2 * alpha**2 / 4


def cost(p: Paces) -> Ratio:
    """Return ``(c1 + 5/4 delta) alpha^2 G2 + 2/3 S alpha^3 G2``."""
    second = p.c1 + Fraction(5, 4) * p.unequal
    return second * alpha**2 * G2 + Fraction(2, 3) * S * alpha**3 * G2


@cache
def approach(p: Paces) -> Theorem:
    """Return ``||x' - x*||^2 <= (1 + growth) ||x - x*||^2 - 2 alpha gap + cost``."""
    r = Round(p.run)
    z, after, step = r.x - BEST, r.next - BEST, r.next - r.x
    gap = value_of(MEAN, r.x) - value_of(MEAN, BEST)
    uses: list[tuple[Theorem, Number]] = [
        (rules.blocks(z, step), -2),
        (rules.blocks(step, step), -1),
        (whole_move(p), 1),
        (sum_over(client_progress(p), CLIENTS, n, weight(n)), 2 * alpha),
        (rules.mean_value(r.x), -2 * alpha),
        (rules.mean_value(BEST), 2 * alpha),
    ]
    for side in Side:
        eta, made = p.eta(side), p.made(side)
        G = total(p, side, stochastic(p.run, n, now, of(i)), share(p))
        gp = part(side, r.local_gradient(of(i)))
        uses += [
            (rules.update(p.run, side, now, z), -2),
            (rules.update(p.run, side, now, part(side, step)), -1),
            (rules.update(p.run, side, now, G), eta),
            (linear_both(r, gp, z, made, weight(n)), 2 * eta),
        ]
        uses += [(one, 2 * eta * c) for one, c in direction(p, side, z)]
    target = norm2(z) * (1 + growth(p)) - norm2(after) + constant(cost(p))
    return combine(uses, target=target - gap * (2 * alpha))
