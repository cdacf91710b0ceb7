r"""SFL-V2's round, seen from half its way: the order of the visits is no matter.

Before a visit the server has made a part of the round's sum of gradients, and the rest
comes after it. Half the difference of part and rest, ``h = [p - x]_s - [x' - x]_s/2 =
-eta sum (o - 1/2) [g]_s``, o in {0, 1}, has weights 1/4 each, in any order: its square
is at most a quarter of the mean squared gradient, where ``[p - x]_s`` may have four
times as much. Late, x' is near x, and so h is how far the server's block is off.
"""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.local_steps import G2, Round, both_parts, i, j, m, n, now, young
from sfl_theory.proofs.notation import at_least, combine, of, steps, sum_over
from sfl_theory.proofs.strongly_convex import BEST, S, mu, tau
from sfl_theory.proofs.visited import Visited

RUN = notation.equal_paces(k.Kind.V2_WEIGHTED, tau, notation.rates("eta"))
R = Round(RUN)
CLIENT, SERVER = k.Side.CLIENT, k.Side.SERVER
eta, alpha = R.eta, R.eta * tau
before, after, step = R.x - BEST, R.next - BEST, R.next - R.x
away, client = R.away(of(i)), k.part(CLIENT, R.away(of(i)))
moved = k.part(SERVER, step)
HALF = ratio(1) / 2
half = k.part(SERVER, away) - moved * HALF
gp, xi = R.local_gradient(of(i)), R.noise(of(i))
M, Z = local.own_mean(R, gp), local.own_mean(R, xi)
beta, small = notation.positive("beta"), notation.positive("e")
"""Young's constants beside the round's way, and beside what vanishes."""
quarter = notation.nonnegative("q")
"""At least `size`."""


def summed(theorem: Theorem) -> Theorem:
    """Return the theorem summed over steps and clients, with weights a_n."""
    return R.summed(theorem, tau, k.weight(n))


def over(form: k.Lin) -> k.Lin:
    """Return a form summed likewise."""
    return R.over(form, tau, k.weight(n))


FAR = over(k.norm2(client) + k.norm2(half))
"""tau A: how far the points are off, the server's block seen from half the way."""


def halfway() -> Theorem:
    """Return ``||h||^2 <= eta^2 tau/4 sum_m a_m sum_j ||[g]_s||^2``."""
    d, binder = Visited(R), steps(tau)
    g = d.stochastic()
    inside = k.summed(binder, j, g * (d.o - HALF))
    V = k.summed(k.CLIENTS, m, inside * k.weight(m))

    def same(w: k.Vec) -> Theorem:
        """Return ``<h + eta V, w> = 0``."""
        return combine(
            derived.local_update(RUN, n, now, of(i), SERVER, w),
            (rules.update(RUN, SERVER, now, w), -HALF),
            target=k.inner(half + V * eta, w),
        )

    exact = derived.before_or_not(m, of(j), n, of(i), now)
    fewer = sum_over(combine((g, 1)), binder, j, d.o - d.o**2, [exact])
    own = combine(rules.jensen(binder, j, ratio(1), g * (d.o - HALF)), (fewer, tau))
    every = k.summed(k.CLIENTS, m, k.summed(binder, j, k.norm2(g)) * k.weight(m))
    return combine(
        (same(half), -1),
        (same(V), eta),
        (rules.jensen(k.CLIENTS, m, k.weight(m), inside), eta**2),
        (sum_over(own, k.CLIENTS, m, k.weight(m)), eta**2),
        target=every * (eta**2 * tau / 4) - k.norm2(half),
    )


def size() -> Ratio:
    """Return ``1/4 + (1 - 1/tau)(2 - 1/tau)/12``."""
    return ratio(1) / 4 + (1 - 1 / tau) * (2 - 1 / tau) / 12


@cache
def near() -> Theorem:
    """Return ``FAR <= eta^2 tau^3 q G2``.

    Half of what a client's own steps ``sum_{j<i} ||[g]_c||^2`` add is below i G2, the
    other half below all tau of them, beside which the server's quarter finds room.
    """
    g = stochastic(RUN, n, now, of(j))
    own, rest = (k.part(side, g) for side in (CLIENT, SERVER))
    bounded = combine(both_parts(g), derived.bounded_gradient(RUN, G2, n, now, of(j)))
    first = combine(bounded, (rest, 1), target=k.constant(G2) - k.norm2(own))
    client_ = combine(
        local.own_steps(R, CLIENT, of(i), of(i)),
        (sum_over(first, steps(of(i)), j), eta**2 * of(i) / 2),
        (rules.longer(j, own, of(i), tau), eta**2 * of(i) / 2),
    )
    every = sum_over(
        sum_over(combine((own, 1)), steps(tau), j), k.CLIENTS, n, k.weight(n)
    )
    all_of_it = sum_over(sum_over(bounded, steps(tau), j), k.CLIENTS, n, k.weight(n))
    return combine(
        summed(client_),
        summed(halfway()),
        (every, eta**2 * tau / 4),
        (all_of_it, eta**2 * tau**2 / 4),
        (at_least(quarter - size()), eta**2 * tau**3 * G2),
        target=k.constant(eta**2 * tau**3 * quarter * G2) - FAR,
    )


def spread(noisy: bool) -> Ratio:
    """Return ``sum a_n^2 sigma_n^2``, or 0 where there is no noise."""
    return strong.s_a2 if noisy else ratio(0)


def noise(noisy: bool) -> Theorem:
    """Return ``||Z||^2 <= tau spread``."""
    return local.whole_noise(R) if noisy else local.no_noise(R)


def from_start() -> Theorem:
    """Return ``||p - x||^2 <= (1 + b)(||c||^2 + ||h||^2) + (1 + 1/b)/4 ||d_s||^2``.

    c is the client's block of p - x, d is x' - x, b is beta.
    """
    return combine(
        (both_parts(away), -1),
        (young(half, moved * HALF, beta), 1),
        (client, beta),
        target=bounded(0, 1) - k.norm2(away),
    )


def from_end() -> Theorem:
    """Return the same for ``||p - x'||^2``, with ``||d_c||^2 + ||d_s||^2/4``."""
    own = k.part(CLIENT, step)
    return combine(
        (both_parts(away - step), -1),
        (young(client, -own, beta), 1),
        (young(half, -moved * HALF, beta), 1),
        target=bounded(4, 1) - k.norm2(away - step),
    )


def bounded(of_client: int, of_server: int) -> k.Lin:
    """Return the right side, with quarters of the blocks of d."""
    own = k.norm2(k.part(CLIENT, step)) * of_client + k.norm2(moved) * of_server
    both = k.norm2(client) + k.norm2(half)
    return both * (1 + beta) + own * ((1 + 1 / beta) / 4)


def distance(noisy: bool) -> Theorem:
    """Return how ``E = ||x - x*||^2`` falls, for ``alpha S (1 + 1/beta) + e <= 1``.

    ``E' + 2 alpha (f(x') - f*) <= (1 - 3/4 mu alpha) E + alpha^3 (S + 3 mu)(1 + beta)
    q G2 + alpha^2 spread/(tau e)``, alpha = eta tau. Smoothness and convexity at the
    points p: ``f(x') - f*`` is at most ``<U, x' - x*>`` and the mean of ``S/2 ||x' -
    p||^2 - mu/2 ||p - x*||^2``, U the mean gradient.
    """
    F, p = k.Local(n), R.point(of(i))
    room = 1 - alpha * S * (1 + 1 / beta) - small
    one = combine(
        rules.smooth(F, S, p, R.next),
        derived.convex(F, mu, p, BEST),
    )
    gap = k.value_of(k.MEAN, R.next) - k.value_of(k.MEAN, BEST)
    left = k.norm2(before) * (1 - alpha * mu * 3 / 4)
    added = alpha**3 * (S + 3 * mu) * (1 + beta) * quarter * G2
    added = added + alpha**2 / tau * spread(noisy) / small
    return combine(
        (summed(one), 2 * eta),
        (rules.mean_value(R.next), -2 * alpha),
        (rules.mean_value(BEST), 2 * alpha),
        (local.linear_both(R, gp, after, tau, k.weight(n)), 2 * eta),
        (local.whole_update(R, after), -2),
        (local.whole_centred(R, before), 2 * eta),
        (step * small + Z * eta, 1 / small),
        (noise(noisy), eta**2 / small),
        (summed(from_end()), eta * S),
        (summed(from_start()), 3 * eta * mu),
        (summed(combine((before * (ratio(1) / 4) + away, 1))), 4 * eta * mu),
        (near(), eta * (S + 3 * mu) * (1 + beta)),
        (step, room),
        (both_parts(step), 1 - small - room),
        (moved, (1 + 1 / beta) * alpha * strong.excess * 3 / 4),
        target=left + k.constant(added) - k.norm2(after) - gap * (2 * alpha),
        signs=[at_least(room)],
    )
