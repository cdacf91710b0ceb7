r"""SFL-V2 as printed, equal weights, general convex: how weighted distances fall.

The server moves N times as fast as the clients, so its squared distance counts 1/N:
``N ||x_c - x_c*||^2 + ||x_s - x_s*||^2`` falls by ``2 N eta tau`` times the gap. Any
order of the visits, any rates; x* is any fixed point.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.drawn_visits import Drawn, T, equal_weights, tau
from sfl_theory.proofs.joint_distance import BEST, gap, local_progress
from sfl_theory.proofs.local_steps import G2, N, S, i, n, now, t
from sfl_theory.proofs.notation import combine, mean, of, steps, sum_over
from sfl_theory.proofs.visits_convex import convex_drift, move

ZERO = ratio(0)
SERVER, CLIENT = k.Side.SERVER, k.Side.CLIENT


def counts(side: k.Side) -> Ratio:
    """Return by what a side's squared distance counts."""
    return N if side is CLIENT else ratio(1)


def distance(at: k.Vec) -> k.Lin:
    """Return the weighted squared distance of a model to x*."""
    away = at - BEST
    return sum((k.norm2(k.part(b, away)) * counts(b) for b in k.Side), k.constant(0))


def alike(one: Callable[[k.Vec], Theorem], u: k.Vec, v: k.Vec, J: Ratio) -> Theorem:
    """Return ``sum_n (N a_n - 1) J <u, v> >= 0``, for the weights are equal.

    Args:
        one: what is summed over clients, of a vector's square.
        u: a vector of client n.
        v: another one.
        J: a number of client n, not negative.

    Returns:
        The inequality.
    """
    few, many = equal_weights()
    excess = (N * k.weight(n) - 1) * J / 4
    return combine(
        sum_over(one(u + v), k.CLIENTS, n, excess, [many]),
        sum_over(one(u - v), k.CLIENTS, n, -excess, [few]),
    )


def pulled(d: Drawn, side: k.Side) -> Theorem:
    """Return ``<x' - x, [x - x*]_b> = -eta sum_n w_n J_n sum_i <grad F_n, ..>``."""
    r, w = d.round, k.part(side, d.round.x - BEST)
    share, both = d.of(side) * d.J, r.local_gradient(of(i)) + r.noise(of(i))
    return combine(
        (rules.update(d.run, side, now, w), -1),
        (local.linear_both(r, k.part(side, both), w, tau, share), r.eta),
        (d.all(derived.unbiased(d.run, n, now, of(i), w), share), r.eta),
    )


@cache
def one_round(who: k.Participants) -> Theorem:
    """Return ``D' <= D - 2 N eta tau (f(x) - f*) + cost`` for `distance` D."""
    d = Drawn(who)
    r, double = d.round, 2 * d.round.eta
    away, gp, F = r.x - BEST, r.local_gradient(of(i)), k.Local(n)
    own = k.value_of(F, r.x) - k.value_of(F, BEST)
    at_best, (few, _) = k.gradient(F, BEST), equal_weights()
    excess = N * k.weight(n) - 1
    tangent = derived.convex(F, ZERO, BEST, r.x)

    def every_step(u: k.Vec) -> Theorem:
        return sum_over(combine((u, 1)), steps(tau), i)

    def once(u: k.Vec) -> Theorem:
        return combine((u, 1))

    client = k.part(CLIENT, gp), k.part(CLIENT, away)
    return combine(
        *((move(d, side), counts(side)) for side in k.Side),
        *((pulled(d, side), 2 * counts(side)) for side in k.Side),
        (alike(every_step, *client, d.J), double),
        (d.all(rules.blocks(gp, away), d.J), -double),
        (d.all(local_progress(r, ZERO, of(i)), d.J), double),
        (convex_drift(d), double * S),
        (d.expect(k.summed(k.CLIENTS, n, own * d.J)), double * tau),
        (sum_over(tangent, k.CLIENTS, n, -excess, [few]), double * tau),
        (alike(once, at_best, -away, ratio(1)), double * tau),
        (rules.mean_value(r.x), -double * tau * N),
        (rules.mean_value(BEST), double * tau * N),
        target=distance(r.x)
        - distance(r.next)
        - gap(r) * (double * N * tau)
        + k.constant(cost(d)),
    )


def cost(d: Drawn) -> Ratio:
    """Return what second moments and drift of a round cost.

    ``(N (1 + rho) + N^2 + P) eta^2 tau^2 G2 + 8/3 N S Q^2 eta^3 tau^3 G2``, rho = sum
    a_n^2 (1/q_n - 1), P = sum (1/q_n - 1), Q = sum 1/q_n.
    """
    size = (d.round.eta * tau) ** 2 * G2
    rho = mean(n, k.weight(n) ** 2 * (d.inverse - 1))
    drift = Fraction(8, 3) * S * d.round.eta * tau * d.most**2 * N
    return size * (N * (1 + rho) + N**2 + d.odds + drift)


@cache
def mean_gap(who: k.Participants) -> Theorem:
    """Return the rounds' gaps, weighted with the rates, summed and divided by T."""
    r, c = Drawn(who).round, 1 / (2 * N * tau * T)
    fall = derived.telescope(t, distance(r.x), T)
    last = k.iterate(r.run, T) - BEST
    rest = [(k.part(b, last), c * counts(b)) for b in k.Side]
    return combine((sum_over(one_round(who), steps(T), t), c), (fall, c), *rest)
