r"""SFL-V2's round, visits in any order: gradients change along the clients' mean way.

Each F_n is mu-convex and S-smooth, so its gradient changes along y by about (S + mu)/2
y, and by at most (S - mu)/2 times the length of y else. The mean of all local points'
ways, seen from half the round's way, weighs every gradient by at most 1/2, whatever the
order: its square is at most a quarter of ``(eta tau)^2 G2``. So of the drift, up to 1/2
where gradients may change against each other, late only ``1/4 + (1 - mu/S) R/80``
counts, R = (1 - 1/tau)(2 - 1/tau).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived, halfway, notation, visited
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.foundations import smooth_mean
from sfl_theory.proofs.halfway import (
    CLIENT,
    FAR,
    HALF,
    RUN,
    SERVER,
    M,
    R,
    Z,
    alpha,
    away,
    beta,
    client,
    eta,
    gp,
    half,
    moved,
    small,
    step,
    summed,
)
from sfl_theory.proofs.local_steps import G2, Round, both_parts, i, j, n, now, t
from sfl_theory.proofs.moves import FAMILY
from sfl_theory.proofs.notation import at_least, combine, of, steps, sum_over, variable
from sfl_theory.proofs.strongly_convex import S, mu, tau
from sfl_theory.proofs.successive_rounds import cleared

share = notation.nonnegative("c")
"""How much of the drift is seen along the mean way; beta is Young's beside the way."""
Y = local.own_mean(R, away)
"""tau times the mean way of the local points."""
STEEP, APART = (S + mu) / 2, (S - mu) / 2
"""What a gradient changes along a way, and at most aside."""


def aside(v: k.Vec) -> Theorem:
    """Return how a gradient changes along any v.

    ``<grad F_n(p) - grad F_n(x), v> <= STEEP <p - x, v> + APART/2 (||p - x||^2 +
    ||v||^2)``: at ``q = (p + x + v)/2`` F_n lies below the parabola at x and above that
    at p, at ``q - v`` below that at p and above that at x.
    """
    F, p, x = k.Local(n), R.point(of(i)), R.x
    q, other = (p + x + v) * HALF, (p + x - v) * HALF
    change = k.inner(gp - R.own_gradient(), v)
    bound = (k.norm2(away) + k.norm2(v)) * (APART / 2)
    return combine(
        rules.smooth(F, S, x, q),
        derived.convex(F, mu, p, q),
        rules.smooth(F, S, p, other),
        derived.convex(F, mu, x, other),
        target=k.inner(away, v) * STEEP + bound - change,
    )


@cache
def deviation() -> Theorem:
    """Return ``||M - tau g||^2 <= S STEEP ||Y||^2 + tau S APART D``, g = grad f(x)."""
    apart = M - R.gradient * tau
    v, own = apart * (1 / (tau * S)), R.own_gradient()

    def linear(u: k.Vec) -> Theorem:
        return local.linear_both(R, u, v, tau, k.weight(n))

    return combine(
        (summed(aside(v)), 2 * tau * S),
        (linear(gp), -2 * tau * S),
        (linear(own), 2 * tau * S),
        (rules.mean_gradient(R.x, v), 2 * tau**2 * S),
        (linear(away), 2 * tau * S * STEEP),
        (Y - v * tau, S * STEEP),
        target=k.norm2(Y) * (S * STEEP)
        + local.whole_drift(R) * (tau * S * APART)
        - k.norm2(apart),
    )


def stairs(form: k.Lin, total: Callable[[Ratio], Ratio]) -> Theorem:
    """Return ``sum_i w_i sum_{j<i} e_j = sum_j (total(tau) - total(j + 1)) e_j``.

    For ``total(v) = sum_{i<v} w_i``.
    """
    here, then = total(of(i)), total(of(i) + 1)

    def fewer(upper: Ratio) -> k.Lin:
        return form * (upper - total(of(j) + 1))

    return combine(
        (derived.telescope(i, k.summed(steps(of(i)), j, fewer(here)), tau), -1),
        sum_over(rules.split(j, fewer(then), of(i), ratio(1)), steps(tau), i),
    )


def server() -> Theorem:
    """Return ``||Y_s - tau/2 d_s||^2 <= tau sum_n a_n sum_i ||h||^2``, d = x' - x."""
    inside = k.summed(steps(tau), i, half)
    each = rules.jensen(steps(tau), i, ratio(1), half)
    return combine(
        rules.jensen(k.CLIENTS, n, k.weight(n), inside),
        sum_over(each, k.CLIENTS, n, k.weight(n)),
    )


def own_mean() -> Theorem:
    """Return ``||Y_c - tau/2 d_c||^2 <= eta^2 tau sum a_n sum_i o_i^2 ||[g_i]_c||^2``.

    For ``o_i = tau/2 - 1 - i``.
    """
    early, g = (k.part(CLIENT, stochastic(RUN, n, now, of(v))) for v in (j, i))
    off = tau * HALF - 1 - of(i)
    inside = k.summed(steps(tau), i, g * off)
    U = k.summed(k.CLIENTS, n, inside * k.weight(n))
    way = local.own_mean(R, client) - k.part(CLIENT, step) * (tau * HALF)

    def linear(u: k.Vec, w: k.Vec) -> Theorem:
        return local.linear_both(R, u, w, tau, k.weight(n))

    def same(w: k.Vec) -> Theorem:
        """Return ``<way + eta U, w> = 0``."""
        one = combine(
            derived.local_update(RUN, n, now, of(i), CLIENT, w),
            (rules.linear(steps(of(i)), j, early, w), -eta),
        )
        turned = stairs(k.inner(early, w), lambda v: v)
        return combine(
            linear(client, w),
            summed(one),
            (sum_over(turned, k.CLIENTS, n, k.weight(n)), eta),
            (rules.update(RUN, CLIENT, now, w), -tau * HALF),
            (linear(g, w), eta * tau * HALF),
            (linear(g * off, w), eta),
            target=k.inner(way + U * eta, w),
        )

    each = rules.jensen(steps(tau), i, ratio(1), g * off)
    return combine(
        (same(way), -1),
        (same(U), eta),
        (rules.jensen(k.CLIENTS, n, k.weight(n), inside), eta**2),
        (sum_over(each, k.CLIENTS, n, k.weight(n)), eta**2),
        target=halfway.over(k.norm2(g * off)) * (eta**2 * tau) - k.norm2(way),
    )


def own_drift() -> Theorem:
    """Return ``sum_i ||c_i||^2 <= eta^2 sum_i w_i ||[g_i]_c||^2`` for a client's block.

    For ``w_i = (tau^2 - tau - i^2 - i)/2``.
    """
    g = k.part(CLIENT, stochastic(RUN, n, now, of(j)))
    return combine(
        sum_over(local.own_steps(R, CLIENT, of(i), of(i)), steps(tau), i),
        (stairs(k.norm2(g), lambda v: v * (v - 1) / 2), eta**2),
    )


def near() -> Theorem:
    """Return ``STEEP ||Y - tau/2 d||^2 + tau APART FAR <= eta^2 tau^4 S late G2``.

    Times S. The server's gradients count tau^2/4 in both, the clients' o^2 and w:
    together at most ``S tau^2/4 + (S - mu)/8 r^4/tau^2``, r = tau - 1 - i.
    """
    g, later = stochastic(RUN, n, now, of(i)), tau - 1 - of(i)
    bounded = combine(both_parts(g), derived.bounded_gradient(RUN, G2, n, now, of(i)))
    own, rest = (k.part(side, g) for side in (CLIENT, SERVER))
    first = combine(bounded, (rest, 1), target=k.constant(G2) - k.norm2(own))
    off, size = Y - step * (tau * HALF), eta**2 * tau * S

    def each(theorem: Theorem, factor: Ratio, sign: Theorem) -> Theorem:
        every = sum_over(theorem, steps(tau), i, factor, [sign])
        return sum_over(every, k.CLIENTS, n, k.weight(n))

    v, left, positive = of(i), tau - later**2 / tau, combine((own, 1))
    fourths = k.constant(v**5 / 5 - v**4 / 2 + v**3 / 3 - v / 30)
    along = strong.excess / 4 + mu * (1 + of(i))
    return combine(
        (both_parts(off), -S * STEEP),
        (server(), S * STEEP),
        (summed(halfway.halfway()), tau * S**2),
        (own_mean(), S * STEEP),
        (sum_over(own_drift(), k.CLIENTS, n, k.weight(n)), tau * S * APART),
        (each(positive, left**2, rules.square(left)), size * strong.excess / 8),
        (each(positive, later * along, at_least(later)), size),
        (summed(bounded), size * S * tau**2 / 4),
        (
            each(first, later**4 / tau**2, rules.square(later**2)),
            size * strong.excess / 8,
        ),
        (derived.telescope(i, fourths * G2, tau), -size * strong.excess / (8 * tau**2)),
        target=k.constant(size * tau**3 * S * late() * G2)
        - k.norm2(off) * (S * STEEP)
        - FAR * (tau * S * APART),
    )


def late(excess: Ratio = strong.excess) -> Ratio:
    """Return ``1/4 + (1 - mu/S) R/80``, S = mu + excess, R = (1 - 1/tau)(2 - 1/tau)."""
    lost = excess / (mu + excess) * (1 - 1 / tau) * (2 - 1 / tau)
    return ratio(1) / 4 + lost / 80


def of_way() -> Ratio:
    """Return ``(c + c^2/d)/4``: how much the round's own way counts."""
    return (share + share**2 / beta) / 4


@cache
def drift() -> Theorem:
    """Return ``c ||M - tau g||^2 <= tau^2 S^2 ((c + d) eta^2 tau^2 late G2 + ...)``.

    With c = share and d = beta; the rest is `of_way` of ``||x' - x||^2``.
    """
    apart, by = M - R.gradient * tau, HALF * share / beta
    off = Y - step * (tau * HALF)
    size = (share + beta) * eta**2 * tau**2 * late() * G2
    # Young's inequality beside half the round's way: of every point, then of the mean
    young = (half - moved * by, beta)
    point = combine((both_parts(away), -share), young, (client, beta))
    return combine(
        (deviation(), share),
        (near(), share + beta),
        (summed(point), tau * S * APART),
        (off - step * (tau * by), beta * S * STEEP),
        (k.part(CLIENT, step), tau**2 * S * APART * of_way()),
        (both_parts(step), tau**2 * S * APART * of_way()),
        target=k.constant(size * tau**2 * S**2)
        + k.norm2(step) * (tau**2 * S**2 * of_way())
        - k.norm2(apart) * share,
    )


@cache
def descent(noisy: bool = True) -> Theorem:
    """Return what f loses in a round, g = grad f(x); e is Young's beside the noise.

    ``f(x') <= f(x) - alpha/2 ||g||^2 + alpha^3 S^2/2 ((1 - c)/2 + (c + d) late) G2 +
    C alpha^2/tau (1 + 1/e) spread`` for ``C = S/2 (1 + S alpha of_way)``, where
    ``2 alpha C (1 + e) <= 1`` and c <= 1: of c the drift is seen along the mean way.
    """
    g, G = R.gradient, M + Z
    C = S / 2 * (1 + alpha * S * of_way())
    room, rest = 1 - 2 * alpha * C * (1 + small), 1 - share
    added = alpha**3 * S**2 / 2 * (rest / 2 + (share + beta) * late()) * G2
    added = added + C * alpha**2 / tau * (1 + 1 / small) * halfway.spread(noisy)
    plain = combine(
        (strong.with_smoothness(local.whole_deviation(R)), 1),
        (visited.bounded_drift(R), tau * S**2),
    )
    return combine(
        (smooth_mean(S, R.x, R.next), 1),
        (local.whole_update(R, (G * eta - step) * C - g), 1),
        (local.whole_centred(R, g), eta),
        (plain, eta / (2 * tau) * rest),
        (drift(), eta / (2 * tau)),
        (M * small - Z, C * eta**2 / small),
        (M, room * eta / (2 * tau)),
        (halfway.noise(noisy), C * eta**2 * (1 + 1 / small)),
        target=R.fall + k.constant(added) - k.norm2(g) * (alpha / 2),
        signs=[at_least(room), at_least(rest)],
    )


# At eta = 4/(mu tau s), s = gamma + t ------------------------------------------------

FALLING = Round(strong.run(k.Kind.V2_WEIGHTED))
kappa, s = S / mu, strong.gamma + now
EARLY = 7 * kappa / s
"""At most 1: all of the drift is seen from the model, then less."""


def falling() -> Theorem:
    """Return `descent` at the rates, where noise counts as with Young's 3/4 before."""
    values = (
        (FAMILY, FALLING.run.client.rate),
        (variable(share), 1 - EARLY),
        (variable(beta), EARLY / 7),
        (variable(small), 3 * s / (28 * kappa)),
    )
    return cleared(rules.instantiate(descent(), values, ()))


def factors() -> tuple[Ratio, Ratio, Ratio]:
    """Return A, B and C: ``phi' <= (1 - 4/s) phi + A/s^2 + B/s^3 + C/s^4``."""
    unit = S**2 * G2 / mu**3
    noise = ratio(56) / 3 * S * strong.s_a2 / (tau * mu**2)
    return noise, 32 * late() * unit, 16 * kappa * (7 - 12 * late()) * unit


def one_round() -> Theorem:
    """Return how the gap falls in a round."""
    A, B, C = factors()
    right = strong.gap(FALLING, now) * (1 - 4 / s)
    right = right + k.constant(A / s**2 + B / s**3 + C / s**4)
    return combine(
        falling(),
        (strong.gradient_domination(FALLING.x), 2 / (mu * s)),
        target=right - strong.gap(FALLING, now + 1),
    )


def falls(at: Ratio) -> Ratio:
    """Return ``(at - 1)(at - 2)(at - 3)(at - 4)``, over which 1 - 4/s is a quotient."""
    return (at - 1) * (at - 2) * (at - 3) * (at - 4)


def claim(at: Ratio) -> k.Lin:
    """Return the bound of the gap, less the gap: what is added at 0 falls, too."""
    u, v = 1 / (strong.gamma + at), 1 / strong.gamma
    P = falls(strong.gamma) / falls(strong.gamma + at)
    A, B, C = factors()
    added = A / 3 * (u - P * v) + B / 2 * (u**2 - P * v**2) + C * (u**3 - P * v**3)
    start = strong.gap(FALLING, ratio(0)) * P
    return start + k.constant(added) - strong.gap(FALLING, at)


def rate() -> Theorem:
    """Return that the gap is at most the bound after every number t of rounds."""
    known = rules.assume(claim(now))
    later = combine(one_round(), (known, 1 - 4 / s), target=claim(now + 1))
    return rules.induct(combine(target=claim(ratio(0))), later, t, claim(now))
