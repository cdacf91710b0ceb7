r"""One round where clients are drawn, both blocks together: ``||x - x*||^2``.

As `joint_distance`, for SFL-V1 and for SFL-V2 with server steps weighted by a_n; equal
numbers of steps, any rates. rho = sum a_n^2 (1/q_n - 1), kappa = sum a_n/q_n.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import joint_distance, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import partial_visits as drawn
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.block_steps import moved
from sfl_theory.proofs.joint_distance import BEST, fast_rate, gap, local_progress
from sfl_theory.proofs.joint_distance import progress as own_progress
from sfl_theory.proofs.local_steps import G2, N, Round, S, i, n, now, own_mean, t
from sfl_theory.proofs.notation import combine, inverse_q, mean, of, steps, sum_over
from sfl_theory.proofs.visits import server_move

tau = notation.count("tau")
ETA = notation.rates("eta")
UPDATES = k.Participants.UPDATES
rho = mean(n, k.weight(n) ** 2 * (inverse_q(n) - 1))
kappa = mean(n, k.weight(n) * inverse_q(n))


def run(kind: k.Kind) -> k.Split:
    """Return the run in which both sides make tau steps at rates ``eta(t)``."""
    return notation.equal_paces(kind, tau, ETA, UPDATES)


def late_share(kind: k.Kind) -> Ratio:
    """Return c of the drift, 1/3 for SFL-V1, ``1/3 + kappa (1 + rho)`` for SFL-V2."""
    own = ratio(Fraction(1, 3))
    return own + kappa * (1 + rho) if kind.visits else own


def gradients(r: Round) -> k.Vec:
    """Return the stochastic gradient of client n's step i."""
    return stochastic(r.run, n, now, of(i))


def own_sum(r: Round) -> Theorem:
    """Return ``||sum_i g||^2 <= tau^2 G2`` for client n."""
    bound = rules.bounded_gradient(r.run, G2, n, now, of(i))
    return combine(
        rules.jensen(steps(tau), i, ratio(1), gradients(r)),
        (sum_over(bound, steps(tau), i), tau),
    )


def full_moment(r: Round) -> Theorem:
    """Return ``||G||^2 <= tau^2 G2``, all clients."""
    inside = k.summed(steps(tau), i, gradients(r))
    return combine(
        rules.jensen(k.CLIENTS, n, k.weight(n), inside),
        sum_over(own_sum(r), k.CLIENTS, n, k.weight(n)),
        target=k.constant(tau**2 * G2) - k.norm2(own_mean(r, gradients(r))),
    )


# What full participation would make of the same round, SFL-V1 ------------------------


def full(r: Round) -> k.Vec:
    """Return ``sum_n a_n p(n,t,tau)``, the next model if everyone took part."""
    return k.summed(k.CLIENTS, n, k.local_point(r.run, n, now, tau) * k.weight(n))


def full_update(r: Round, w: k.Vec) -> Theorem:
    """Return ``<full - x + eta G, w> = 0``."""
    each = k.local_point(r.run, n, now, tau) - r.x
    each = each + k.summed(steps(tau), i, gradients(r)) * r.eta
    sides = [
        (rules.local_update(r.run, n, now, tau, side, w), ratio(1)) for side in k.Side
    ]
    one = combine(rules.blocks(each, w), *sides, target=k.inner(each, w))
    whole = full(r) - r.x + own_mean(r, gradients(r)) * r.eta
    return combine(
        sum_over(one, k.CLIENTS, n, k.weight(n)),
        rules.linear(k.CLIENTS, n, each * k.weight(n), w),
        target=k.inner(whole, w),
    )


@cache
def full_round(mu: Ratio) -> Theorem:
    """Return the recursion of full participation in the drawn run, SFL-V1."""
    r = Round(run(k.Kind.V1))
    eta, before, after = r.eta, r.x - BEST, full(r) - BEST
    G = own_mean(r, gradients(r))
    noise = eta**2 * tau**2 * G2 + Fraction(2, 3) * S * eta**3 * tau**3 * G2
    keep = k.norm2(before) * (1 - eta * tau * mu / 2)
    return combine(
        (own_progress(r, mu), 2 * eta),
        (full_update(r, before), -2),
        (full_update(r, full(r) - r.x), -1),
        (full_update(r, G), eta),
        (full_moment(r), eta**2),
        (local.bounded_drift(r, G2), 2 * S * eta),
        target=keep + k.constant(noise) - gap(r) * (2 * eta * tau) - k.norm2(after),
    )


# A round of those who are drawn ------------------------------------------------------


@cache
def one_round(kind: k.Kind, mu: Ratio) -> Theorem:
    """Return the recursion of one round, c as in `late_share`.

    ``D' <= (1 - eta tau mu/2) D - 2 eta tau (f(x) - f*) + (1 + rho) eta^2 tau^2 G2
    + 2 c S eta^3 tau^3 G2`` for ``D = ||x - x*||^2``.
    """
    r = Round(run(kind))
    eta, before, after = r.eta, r.x - BEST, r.next - BEST
    G = local.whole_mean(r, gradients(r))
    progress, moment, drift = (
        (visited_progress(mu), visited_moment(), visited_drift())
        if kind.visits
        else (met_progress(r, mu), met_moment(r), local.bounded_drift(r, G2))
    )
    second = (1 + rho) * eta**2 * tau**2 * G2
    noise = second + 2 * late_share(kind) * S * eta**3 * tau**3 * G2
    keep = k.norm2(before) * (1 - eta * tau * mu / 2)
    return combine(
        (progress, 2 * eta),
        (local.whole_update(r, before), -2),
        (local.whole_update(r, r.next - r.x), -1),
        (local.whole_update(r, G), eta),
        (moment, eta**2),
        (drift, 2 * S * eta),
        target=keep + k.constant(noise) - gap(r) * (2 * eta * tau) - k.norm2(after),
    )


def met_progress(r: Round, mu: Ratio) -> Theorem:
    """Return ``<G_J, x - x*> >= tau (f(x) - f* + mu/4 ||x - x*||^2) - S D``, SFL-V1."""
    G = local.whole_mean(r, gradients(r))
    means = rules.expect(r.run, now, k.inner(G, r.x - BEST))
    return combine(own_progress(r, mu), means)


def met_moment(r: Round) -> Theorem:
    """Return ``||G_J||^2 <= (1 + rho) tau^2 G2``, SFL-V1."""
    spread = k.weight(n) ** 2 * (inverse_q(n) - 1)
    means = rules.expect(r.run, now, k.norm2(local.whole_mean(r, gradients(r))))
    return combine(
        (means, -1), full_moment(r), sum_over(own_sum(r), k.CLIENTS, n, spread)
    )


def averaged_move(r: Round, side: k.Side) -> Theorem:
    """Return ``||[x' - x]_b||^2 <= N (eta tau)^2 sum_n w_n^2/q_n G2``.

    For the printed SFL-V2, too; w_n is a_n, or 1 for its server.
    """
    share = rules.share(r.run, n, now, side)
    total = k.summed(steps(tau), i, gradients(r))
    inside = k.part(side, total)
    block = local.block_below(side, total, own_sum(r))
    bound = k.constant(mean(n, share**2) * N * (r.eta * tau) ** 2 * G2)
    return combine(
        (moved(r, side), -1),
        (rules.jensen(k.CLIENTS, n, ratio(1), inside * share), r.eta**2),
        (sum_over(block, k.CLIENTS, n, share**2), r.eta**2 * N),
        (rules.expect(r.run, now, bound), -1),
    )


# SFL-V2 with weighted server steps ---------------------------------------------------


def visited_progress(mu: Ratio) -> Theorem:
    """Return the same for SFL-V2, D with draws as weights."""
    r, share = drawn.r, drawn.share()
    away, gp = r.x - BEST, r.local_gradient(of(i))
    F = (
        k.value_of(k.Local(n), r.x)
        - k.value_of(k.Local(n), BEST)
        + k.norm2(away) * (mu / 4)
    )
    return combine(
        r.summed(local_progress(r, mu, of(i)), tau, share),
        local.linear_both(r, gp, away, tau, share),
        drawn.centred(away),
        (rules.expect(r.run, now, k.summed(k.CLIENTS, n, F * share)), tau),
        (rules.mean_value(r.x), -tau),
        (rules.mean_value(BEST), tau),
    )


def visited_moment() -> Theorem:
    """Return ``||G_J||^2 <= (1 + rho) tau^2 G2``, SFL-V2."""
    r, share, W = drawn.r, drawn.share(), drawn.W
    inside = k.summed(steps(tau), i, gradients(r))
    return combine(
        rules.jensen(k.CLIENTS, n, share, inside),
        (sum_over(own_sum(r), k.CLIENTS, n, share), W),
        (rules.expect(r.run, now, k.constant(W**2 * tau**2 * G2)), -1),
    )


def visited_drift() -> Theorem:
    """Return ``D <= c eta^2 tau^3 G2``; W^3 <= kappa W^2."""
    r, share, W = drawn.r, drawn.share(), drawn.W
    size = r.eta**2 * tau**3 * G2
    bounded = k.constant(size * (W / 3 + kappa * W**2))
    given = combine(
        (r.summed(local.both_parts(r.away(of(i))), tau, share), -1),
        r.summed(local.block_move(r, k.Side.CLIENT, of(i), of(i)), tau, share),
        r.summed(server_move(r, of(i), drawn.share), tau, share),
        (drawn.at_most_kappa(), size * W**2),
        target=bounded - drawn.drawn_sum(k.norm2(r.away(of(i)))),
    )
    return combine(given, (rules.expect(r.run, now, bounded), -1))


# The rate of the whole vector, for eta(t) = 4/(mu tau (gamma + t)) -------------------


def fast(kind: k.Kind) -> k.Split:
    """Return the run at these rates."""
    return notation.equal_paces(kind, tau, fast_rate(), UPDATES)


def constants(kind: k.Kind) -> Ratio:
    """Return ``16 (1 + rho) G2/mu^2 + 132 c S G2/(mu^3 (gamma + 1))``."""
    mu, gamma = strong.mu, strong.gamma
    noise = 16 * (1 + rho) * G2 / mu**2
    return noise + 132 * late_share(kind) * strong.S * G2 / (mu**3 * (gamma + 1))


def printed_constants() -> Ratio:
    """Return those of (130) and (135)."""
    mu, gamma, a = strong.mu, strong.gamma, k.weight(n)
    second = 2 * local.sigma2(n) + G2
    noise = 16 * N * mean(n, a**2 * (second + G2 * inverse_q(n))) / mu**2
    late_ = 1536 * strong.S * mean(n, a * second)
    return noise + late_ / (mu**3 * (gamma + 1))


def distance_bound(kind: k.Kind, at: Ratio, noise: Ratio) -> k.Lin:
    """Return ``(noise + (gamma + 1) ||x(0) - x*||^2)/(gamma + at)``."""
    start = k.norm2(k.iterate(fast(kind), 0) - BEST) * (strong.gamma + 1)
    return (k.constant(noise) + start) * (1 / (strong.gamma + at))


@cache
def rate(kind: k.Kind) -> Theorem:
    """Return the bound for every round, by induction, its noise as in `constants`."""
    split, mu = fast(kind), notation.nonnegative("mu")
    (variable,) = mu.free
    values: list[tuple[rules.Replaceable, rules.Replacement]] = [
        (strong.S_VARIABLE, strong.S),
        (k.RoundFamily("eta", Sort.POSITIVE), fast_rate()),
    ]
    if isinstance(variable, k.Var):
        values.append((variable, strong.mu))
    one = rules.instantiate(one_round(kind, mu), tuple(values), ())
    u, x0 = strong.gamma + now, k.iterate(split, 0) - BEST
    lowest = rules.lowest(k.MEAN, k.iterate(split, now))

    def claim(at: Ratio) -> k.Lin:
        bound = distance_bound(kind, at, constants(kind))
        return bound - k.norm2(k.iterate(split, at) - BEST)

    keep = 1 - 2 / u
    spare = 1 / (u + 1) - keep / u
    step = combine(
        one,
        (lowest, 8 / (strong.mu * u)),
        (rules.assume(claim(now)), keep),
        (x0, (strong.gamma + 1) * spare),
        target=claim(now + 1),
    )
    base = combine((x0, 1 / strong.gamma), target=claim(ratio(0)))
    return rules.induct(base, step, t, claim(now))


def printed_rate() -> Theorem:
    """Return (130) and (135) for the whole vector, SFL-V1."""
    u, x = strong.gamma + now, k.iterate(fast(k.Kind.V1), now) - BEST
    return combine(
        rate(k.Kind.V1),
        (joint_distance.weights_spread(), 16 * G2 / (strong.mu**2 * u)),
        target=distance_bound(k.Kind.V1, now, printed_constants()) - k.norm2(x),
    )


@cache
def mean_gap(kind: k.Kind) -> Theorem:
    """Return the mean of the rounds' gaps at a constant rate, any one.

    ``1/T sum (f(x) - f*) <= ||x0 - x*||^2/(2 eta tau T) + (1 + rho) eta tau G2/2
    + c S eta^2 tau^2 G2``.
    """
    eta, T = notation.positive("eta"), notation.count("T")
    family = k.RoundFamily("eta", Sort.POSITIVE)
    one = rules.instantiate(one_round(kind, ratio(0)), ((family, k.Rate(eta)),), ())
    split = notation.equal_paces(kind, tau, k.Rate(eta), UPDATES)
    fall = rules.telescope(t, k.norm2(k.iterate(split, now) - BEST), T)
    scale: Number = 1 / (2 * eta * tau * T)
    last = k.iterate(split, T) - BEST
    rounds = sum_over(one, steps(T), t)
    return combine((rounds, scale), (fall, scale), (last, scale))
