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
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import convex_paces, derived, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.convex_paces import Paces, alpha, direction, share, total
from sfl_theory.proofs.foundations import cocoercive
from sfl_theory.proofs.later_steps import path, ways
from sfl_theory.proofs.local_steps import G2, Round, S, beyond, i, n, now, other, t
from sfl_theory.proofs.notation import combine, count, of, rates, steps, sum_over

F = k.Local(n)
BEST = k.vec(k.Star(k.MEAN))


# Gradients at two points that differ in one block ------------------------------------


def other_block(side: k.Side, p: k.Vec, q: k.Vec) -> Theorem:
    """Return ``||[D]_b||^2 <= S^2/4 ||q - p||^2`` for points with the same block b."""
    D, w = k.gradient(F, q) - k.gradient(F, p), k.part(other(side), q - p)
    return combine(
        cocoercive(F, S, q, p, above=rules.smooth),
        (rules.blocks(D, q - p), -S),
        rules.blocks(D, D),
        (k.part(other(side), D) - w * (S / 2), 1),
        target=k.norm2(w) * (S**2 / 4) - k.norm2(k.part(side, D)),
    )


def progress(p: Paces, at: k.Vec) -> Theorem:
    """Return ``<grad F_n(p), x - x*> >= F_n(x) - F_n(x*) - S/2 ||p - x||^2``."""
    x = Round(p.run).x
    return combine(rules.smooth(F, S, at, x), derived.convex(F, ratio(0), at, BEST))


def stretch(p: Paces) -> Ratio:
    """Return ``(tau_min + k)/M``, M the mean of ``tau_min + k`` over k < d."""
    return 2 * (p.low + of(beyond)) / (2 * p.low + p.extra - 1)


INVERSE = rates("r").at(of(beyond))
"""``1/(tau_min + k)``: numbers under a sum have no denominators with its index."""


def inverse(p: Paces) -> tuple[Theorem, Theorem]:
    """Return both halves of ``r(k) (tau_min + k) = 1``."""
    one = INVERSE * late(p)
    return rules.assume(k.constant(1 - one)), rules.assume(k.constant(one - 1))


def shrink(p: Paces) -> Ratio:
    """Return the inverse of `stretch`."""
    return (2 * p.low + p.extra - 1) / 2 * INVERSE


def late(p: Paces) -> Ratio:
    """Return ``tau_min + k``, a step of the longer side alone."""
    return p.low + of(beyond)


def mixed(p: Paces) -> Theorem:
    """Return what ``[p_i]_a`` and ``[p_l]_b`` do, l = tau_min + k, b the longer side.

    ``<[grad F_n(p_i)]_a + [grad F_n(p_l)]_b, x - x*>`` is at least ``F_n(x) - F_n(x*)``
    less distances: of both from x, of each other, and ``S^2 alpha/8 ||x - x*||^2``,
    stretched by `stretch` in block a.
    """
    r, long, short = Round(p.run), p.longer, other(p.longer)
    P, Q, z = r.point(of(i)), r.point(late(p)), r.x - BEST
    R = k.part(short, P) + k.part(long, Q)
    gP, gQ, gR = (k.gradient(F, at) for at in (P, Q, R))
    c, wide = S**2 * alpha / 8, stretch(p)
    exact = inverse(p)
    left = rules.number_of(exact[0].form)
    uses: list[tuple[Theorem, Number]] = [
        (progress(p, R), 1),
        (rules.blocks(gR, z), -1),
        (local.both_parts(R - r.x), -S / 2),
    ]
    signs, squares_ = exact, list[tuple[k.Vec, Number]]()
    sides = ((short, P, gP, wide, shrink(p)), (long, Q, gQ, ratio(1), ratio(1)))
    for side, at, g, weight_, over in sides:
        u, e = k.part(side, z), k.part(side, g - gR)
        uses.append((other_block(side, R, at), over / (4 * c)))
        squares_.append((u + e * (over / (2 * c)), c * weight_))
        if side is short:
            # <z, e> is multiplied by stretch times shrink, which is 1
            squares_ += [(u + e, left / 4), (u - e, -left / 4)]
            squares_.append((e, over * left / (4 * c)))
    return combine(*uses, *squares_, signs=signs)


def own_way(p: Paces, side: k.Side, rests: bool) -> Theorem:
    """Return ``||[p_l - p_i]_b||^2 = eta_b^2 ||A_l - A_i||^2``, l = tau_min + k."""
    r, end = Round(p.run), late(p)
    made = p.low if rests else end
    rule = derived.resting if rests else derived.local_update
    way = k.part(side, r.point(end) - r.point(of(i)))
    paths = path(p, side, made) - path(p, side, of(i))
    eta = p.eta(side)

    def same(w: k.Vec, factor: Number) -> list[tuple[Theorem, Number]]:
        early = derived.local_update(p.run, n, now, of(i), side, w)
        return [(rule(p.run, n, now, end, side, w), factor), (early, -ratio(factor))]

    return combine(
        *same(way, -1), *same(paths, eta), target=k.norm2(paths) * eta**2 - k.norm2(way)
    )


def fitted(p: Paces) -> Theorem:
    """Return ``r(k) sum_{i<low} (l - i)^2`` below a polynomial, for r(k) l = 1.

    ``r l^2 = l`` and ``r <= 1/tau_min``.
    """
    low, end = p.low, late(p)
    below, above = inverse(p)
    ways_ = rules.number_of(k.summed(steps(low), i, k.constant((end - of(i)) ** 2)))
    rest = (low - 1) * (2 * low - 1) / 6
    return combine(
        (below, low * end + rest),
        (above, low * (low - 1)),
        target=k.constant(low * end - low * (low - 1) + rest - INVERSE * ways_),
    )


@cache
def paired(p: Paces) -> Theorem:
    """Return `mixed` summed over i < tau_min, the ways bounded.

    r(k) has cancelled, so it may be ``1/(tau_min + k)`` itself; what `inverse` assumes
    is then ``0 >= 0``, which is dropped as both cases of a sign.
    """
    low, long, short = p.low, p.longer, other(p.longer)
    far, wide = 1 / (2 * alpha), shrink(p)
    eta_s, eta_l = p.eta(short), p.eta(long)
    found = combine(
        sum_over(mixed(p), steps(low), i),
        (sum_over(own_way(p, short, True), steps(low), i), far),
        (ways(p, short, low, ratio(0)), far * eta_s**2),
        (sum_over(own_way(p, long, False), steps(low), i), far * wide),
        (ways(p, long, low, of(beyond)), far * wide * eta_l**2),
        (fitted(p), far * eta_l**2 * G2 * (2 * low + p.extra - 1) / 2),
    )
    family = k.RoundFamily("r", Sort.POSITIVE)
    exact = rules.instantiate(
        found, ((family, k.Rate(1 / (low + notation.of_round()))),), ()
    )
    return rules.cases(exact, exact, ratio(0))


@cache
def client_progress(p: Paces) -> Theorem:
    """Return what ``sum_b 1/tau_b sum_i <[gp_i]_b, x - x*>`` of a client is at least.

    ``F_n(x) - F_n(x*) - S alpha^2 G2/3 - delta (S^2 alpha/8 ||x - x*||^2
    + 5/8 alpha G2)``.
    """
    r, low, high = Round(p.run), p.low, p.high
    long, short, z = p.longer, other(p.longer), r.x - BEST
    gap = k.value_of(F, r.x) - k.value_of(F, BEST)
    joint, each = 1 / high, 1 / (low * high)
    P, gP = r.point(of(i)), r.local_gradient(of(i))
    inside = k.inner(k.part(long, gP), z)
    uses: list[tuple[Theorem, Number]] = [
        # steps of both sides, and pairs of a step of each
        (sum_over(progress(p, P), steps(low), i), joint),
        (sum_over(rules.blocks(gP, z), steps(low), i), -joint),
        (rules.split(i, inside, low, p.extra), joint),
        (sum_over(local.both_parts(P - r.x), steps(low), i), -joint * S / 2),
        (sum_over(paired(p), steps(p.extra), beyond), each),
        # how far they are from x
        (
            sum_over(
                local.block_move(Round(p.run), short, of(i), of(i)), steps(low), i
            ),
            S / (2 * low),
        ),
        (
            sum_over(local.block_move(Round(p.run), long, of(i), of(i)), steps(low), i),
            joint * S / 2,
        ),
        (
            sum_over(
                local.block_move(Round(p.run), long, late(p), late(p)),
                steps(p.extra),
                beyond,
            ),
            joint * S / 2,
        ),
        (rules.blocks(z, z), p.unequal * S**2 * alpha / 8),
    ]
    left = k.Lin({})
    for side in k.Side:
        own = k.inner(k.part(side, gP), z)
        left = left + k.summed(steps(p.made(side)), i, own) * (1 / p.made(side))
    cost = S * alpha**2 * G2 / 3 + p.unequal * Fraction(5, 8) * alpha * G2
    grown = k.norm2(z) * (p.unequal * S**2 * alpha / 8)
    return combine(*uses, target=left - gap + grown + k.constant(cost))


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
    gap = k.value_of(k.MEAN, r.x) - k.value_of(k.MEAN, BEST)
    uses: list[tuple[Theorem, Number]] = [
        (rules.blocks(z, step), -2),
        (rules.blocks(step, step), -1),
        (convex_paces.whole_move(p), 1),
        (sum_over(client_progress(p), k.CLIENTS, n, k.weight(n)), 2 * alpha),
        (rules.mean_value(r.x), -2 * alpha),
        (rules.mean_value(BEST), 2 * alpha),
    ]
    for side in k.Side:
        eta, made = p.eta(side), p.made(side)
        G = total(p, side, stochastic(p.run, n, now, of(i)), share(p))
        gp = k.part(side, r.local_gradient(of(i)))
        uses += [
            (rules.update(p.run, side, now, z), -2),
            (rules.update(p.run, side, now, k.part(side, step)), -1),
            (rules.update(p.run, side, now, G), eta),
            (local.linear_both(r, gp, z, made, k.weight(n)), 2 * eta),
        ]
        uses += [(one, 2 * eta * c) for one, c in direction(p, side, z)]
    target = k.norm2(z) * (1 + growth(p)) - k.norm2(after) + k.constant(cost(p))
    return combine(*uses, target=target - gap * (2 * alpha))


# Rounds, at the client's rates eta(t) ------------------------------------------------

T = count("T")
ETA = rates("eta")
LIMIT = notation.positive("grown")
"""What the products of all ``1 + growth`` are at most."""
DECAY = rates("h")
"""``h(t)``: at most one over the product of the growths before round t."""


def moves(p: Paces) -> k.Rate:
    """Return the moves ``alpha(t) = eta(t) tau``."""
    return k.Rate(ETA.body * p.made(k.Side.CLIENT))


def grown(p: Paces) -> Ratio:
    """Return the growth of round t at these rates."""
    return p.unequal * S**2 * moves(p).at(now) ** 2 / 4


def decay(p: Paces) -> tuple[Theorem, Theorem, Theorem]:
    """Return ``(1 + growth) h' <= h``, ``h' <= 1`` and ``1 <= L h'``, ``h' = h(t+1)``.

    For ``h(t) = exp(-sum_{r<t} growth(r))`` and L the exponential of the whole sum they
    hold by ``1 + x <= e^x``.
    """
    h, after = DECAY.at(now), DECAY.at(now + 1)
    return (
        rules.assume(k.constant(h - (1 + grown(p)) * after)),
        rules.assume(k.constant(1 - after)),
        rules.assume(k.constant(LIMIT * after - 1)),
    )


@cache
def mean_gap(p: Paces) -> Theorem:
    """Return the sum over rounds, each multiplied by ``L h(t + 1)``.

    ``1/T sum eta (f(x) - f*) <= L/(2 tau T) (I + sum cost)``.
    """
    family = k.RoundFamily("alpha", Sort.POSITIVE)
    one = rules.instantiate(approach(p), ((family, moves(p)),), ())
    run = p.at(moves(p))
    r, alpha_ = Round(run), moves(p).at(now)
    z, first, last = (k.iterate(run, at) - BEST for at in (now, ratio(0), T))
    falls, below, limit = decay(p)
    h, after = DECAY.at(now), DECAY.at(now + 1)
    spent = number_at_moves(cost(p), moves(p))
    each = combine(
        (one, LIMIT * after),
        (derived.lowest(k.MEAN, r.x), 2 * alpha_ * (LIMIT * after - 1)),
        (below, LIMIT * spent),
        (z, LIMIT * (h - (1 + grown(p)) * after)),
        signs=[falls, limit],
    )
    start = rules.assume(k.constant(1 - DECAY.at(ratio(0))))
    c = 1 / (2 * p.made(k.Side.CLIENT) * T)
    fall = derived.telescope(t, k.norm2(z) * (LIMIT * h), T)
    return combine(
        (sum_over(each, steps(T), t), c),
        (fall, c),
        (last, c * LIMIT * DECAY.at(T)),
        (first, c * LIMIT * (1 - DECAY.at(ratio(0)))),
        signs=[start],
    )


def number_at_moves(number: Ratio, rate: k.Rate) -> Ratio:
    """Return a number for these moves alpha(t)."""
    return k.number_at(number, {k.RoundFamily("alpha", Sort.POSITIVE): rate})
