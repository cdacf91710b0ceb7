r"""One round, both blocks together: how ``||x - x*||^2`` falls for convex clients.

For SFL-V1 and for SFL-V2 with server steps weighted by a_n, equal numbers of steps, any
rates; everyone takes part, or client n with probability q_n: rho = sum a_n^2 (1/q_n -
1), kappa = sum a_n/q_n. x* is any fixed point, no minimiser is assumed; nor is S >= mu,
which follows.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived, notation, weighted_rounds
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import partial_visits as drawn
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.local_steps import G2, N, Round, S, i, n, now, own_mean, t
from sfl_theory.proofs.notation import combine, inverse_q, mean, of, steps, sum_over
from sfl_theory.proofs.visited import Visited
from sfl_theory.proofs.weighted_rounds import Weighted, client_sum

tau = notation.count("tau")
BEST = k.vec(k.Star(k.MEAN))
ETA = notation.rates("eta")
EVERYONE = k.Participants.EVERYONE
rho = mean(n, k.weight(n) ** 2 * (inverse_q(n) - 1))
kappa = mean(n, k.weight(n) * inverse_q(n))


def spread(run: k.Split) -> Ratio:
    """Return 1 + rho, by which draws enlarge the squared move; 1 without draws."""
    return 1 + rho if run.drawn else ratio(1)


def late_share(run: k.Split) -> Ratio:
    """Return c of the drift.

    1/3 for SFL-V1; 1 for SFL-V2, ``1/3 + kappa (1 + rho)`` where clients are drawn.
    """
    own = ratio(Fraction(1, 3))
    if not run.kind.visits:
        return own
    return own + kappa * (1 + rho) if run.drawn else ratio(1)


def gap(r: Round) -> k.Lin:
    """Return ``f(x) - f(x*)``."""
    return k.value_of(k.MEAN, r.x) - k.value_of(k.MEAN, BEST)


def gradients(r: Round) -> k.Vec:
    """Return the stochastic gradient of client n's step i."""
    return stochastic(r.run, n, now, of(i))


# A round of all clients --------------------------------------------------------------


def local_progress(r: Round, mu: Ratio, step: Ratio) -> Theorem:
    r"""Return Lemma C.3 at a local gradient.

    ``<grad F_n(p), x - x*> >= F_n(x) - F_n(x*) + mu/4 ||x - x*||^2 - S ||p - x||^2``.
    """
    p, F = r.point(step), k.Local(n)
    return combine(
        rules.smooth(F, S, p, r.x),
        derived.convex(F, mu, p, BEST),
        # smooth and convex from x to p: (S - mu) ||p - x||^2 >= 0
        rules.smooth(F, S, r.x, p),
        derived.convex(F, mu, r.x, p),
        ((BEST - p) - (p - r.x), mu / 4),
    )


def of_run(r: Round) -> Weighted:
    """Return the algorithm whose round it is."""
    return Weighted(r.run.kind, r.run.drawn)


def full_moment(r: Round) -> Theorem:
    """Return ``||G||^2 <= tau^2 G2``, all clients."""
    inside = k.summed(steps(tau), i, gradients(r))
    return combine(
        rules.jensen(k.CLIENTS, n, k.weight(n), inside),
        sum_over(client_sum(of_run(r)), k.CLIENTS, n, k.weight(n)),
        target=k.constant(tau**2 * G2) - k.norm2(own_mean(r, gradients(r))),
    )


def fallen(
    r: Round,
    after: k.Vec,
    G: k.Vec,
    update: Callable[[k.Vec], Theorem],
    earned: tuple[Theorem, Theorem, Theorem],
    mu: Ratio,
    noise: Ratio,
) -> Theorem:
    """Return ``D' <= (1 - eta tau mu/2) D - 2 eta tau (f(x) - f*) + noise``.

    Args:
        r: the round.
        after: the model to which it leads, ``x - eta G``.
        G: as it says.
        update: ``<after - x + eta G, w> = 0``.
        earned: progress, second moment of G, drift.
        mu: the modulus.
        noise: the rest.

    Returns:
        The recursion, for ``D = ||x - x*||^2``.
    """
    eta, before, (progress, moment, drift) = r.eta, r.x - BEST, earned
    keep = k.norm2(before) * (1 - eta * tau * mu / 2)
    return combine(
        (progress, 2 * eta),
        (update(before), -2),
        (update(after - r.x), -1),
        (update(G), eta),
        (moment, eta**2),
        (drift, 2 * S * eta),
        target=keep
        + k.constant(noise)
        - gap(r) * (2 * eta * tau)
        - k.norm2(after - BEST),
    )


@cache
def one_round(kind: k.Kind, mu: Ratio, who: k.Participants = EVERYONE) -> Theorem:
    """Return the recursion of one round, c as in `late_share`.

    ``D' <= (1 - eta tau mu/2) D - 2 eta tau (f(x) - f*) + (1 + rho) eta^2 tau^2 G2
    + 2 c S eta^3 tau^3 G2`` for ``D = ||x - x*||^2``.
    """
    r = Round(notation.equal_paces(kind, tau, ETA, who))
    G, run, size = local.whole_mean(r, gradients(r)), r.run, r.eta**2 * tau**2 * G2
    a = of_run(r)
    progress = weighted_rounds.earned(a, local_progress(r, mu, of(i)), mu / 4)
    drift = visited_drift() if run.drawn and kind.visits else weighted_rounds.drift(a)
    earned = progress, weighted_rounds.second_moment(a), drift
    noise = size * (spread(run) + 2 * late_share(run) * S * r.eta * tau)
    update = partial(local.whole_update, r)
    return fallen(r, r.next, G, update, earned, mu, noise)


def weights_spread() -> Theorem:
    """Return ``N sum a_n^2 >= 1``, from ``sum (a_n - 1/N)^2 >= 0``."""
    one = rules.square(k.weight(n) - 1 / N)
    return combine((sum_over(one, k.CLIENTS, n), N))


# What full participation would make of a round with draws, SFL-V1 --------------------


def full(r: Round) -> k.Vec:
    """Return ``sum_n a_n p(n,t,tau)``, the next model if everyone took part."""
    return k.summed(k.CLIENTS, n, k.local_point(r.run, n, now, tau) * k.weight(n))


def full_update(r: Round, w: k.Vec) -> Theorem:
    """Return ``<full - x + eta G, w> = 0``."""
    each = k.local_point(r.run, n, now, tau) - r.x
    each = each + k.summed(steps(tau), i, gradients(r)) * r.eta
    one = local.walked(r.run, now, tau, w)
    whole = full(r) - r.x + own_mean(r, gradients(r)) * r.eta
    return combine(
        sum_over(one, k.CLIENTS, n, k.weight(n)),
        rules.linear(k.CLIENTS, n, each * k.weight(n), w),
        target=k.inner(whole, w),
    )


@cache
def full_round(mu: Ratio) -> Theorem:
    """Return the recursion of full participation in the drawn run, SFL-V1."""
    r = Round(notation.equal_paces(k.Kind.V1, tau, ETA, k.Participants.UPDATES))
    noise = r.eta**2 * tau**2 * G2 * (1 + Fraction(2, 3) * S * r.eta * tau)
    away, gp = r.x - BEST, r.local_gradient(of(i))
    progress = combine(
        r.summed(local_progress(r, mu, of(i)), tau, k.weight(n)),
        local.linear_both(r, gp, away, tau, k.weight(n)),
        local.whole_centred(r, away),
        (rules.mean_value(r.x), -tau),
        (rules.mean_value(BEST), tau),
    )
    earned = progress, full_moment(r), local.bounded_drift(r)
    G = own_mean(r, gradients(r))
    return fallen(r, full(r), G, partial(full_update, r), earned, mu, noise)


# A round of those who are drawn ------------------------------------------------------


def averaged_move(r: Round, side: k.Side, everyone: bool = False) -> Theorem:
    """Return ``||[x' - x]_b||^2 <= N (eta tau)^2 sum_n w_n^2/q_n G2``.

    For the printed SFL-V2, too; w_n is a_n, or 1 for its server.

    Args:
        r: the round.
        side: the block.
        everyone: of ``[x' - x + eta sum_n w_n sum_i g]_b``, with 1/q_n - 1 for 1/q_n.

    Returns:
        The theorem.
    """
    all_of_them = k.Split(r.run.kind, EVERYONE, r.run.client, r.run.server)
    own = rules.share(all_of_them, n, now, side)
    c = rules.share(r.run, n, now, side) - (own if everyone else 0)
    total = k.summed(steps(tau), i, gradients(r))
    inside, away = k.part(side, total), k.part(side, r.next - r.x)
    if everyone:
        away = away + k.summed(k.CLIENTS, n, inside * own) * r.eta
    block = local.block_below(side, total, client_sum(of_run(r)))
    bound = k.constant(mean(n, c**2) * N * (r.eta * tau) ** 2 * G2)
    return combine(
        (rules.update(r.run, side, now, away), -1),
        (rules.update(r.run, side, now, k.summed(k.CLIENTS, n, inside * c)), r.eta),
        (rules.jensen(k.CLIENTS, n, ratio(1), inside * c), r.eta**2),
        (sum_over(block, k.CLIENTS, n, c**2, [rules.square(c)]), r.eta**2 * N),
        (derived.expect(r.run, now, bound), -1),
    )


def visited_drift() -> Theorem:
    """Return ``D <= c eta^2 tau^3 G2``; W^3 <= kappa W^2."""
    r, share, W = drawn.r, drawn.share(), drawn.W
    size = r.eta**2 * tau**3 * G2
    bounded = k.constant(size * (W / 3 + kappa * W**2))
    given = combine(
        (r.summed(local.both_parts(r.away(of(i))), tau, share), -1),
        r.summed(local.block_move(r, k.Side.CLIENT, of(i), of(i)), tau, share),
        r.summed(Visited(r).bounded_way(), tau, share),
        (drawn.at_most_kappa(), size * W**2),
        target=bounded - drawn.drawn_sum(k.norm2(r.away(of(i)))),
    )
    return combine(given, (derived.expect(r.run, now, bounded), -1))


# The rate of the whole vector, for eta(t) = 4/(mu tau (gamma + t)) ------------------


def fast(kind: k.Kind, who: k.Participants) -> k.Split:
    """Return the run at these rates."""
    rate = k.Rate(4 / (strong.mu * tau * (strong.gamma + notation.of_round())))
    return notation.equal_paces(kind, tau, rate, who)


def constants(run: k.Split) -> Ratio:
    """Return ``16 (1 + rho) G2/mu^2 + 132 c S G2/(mu^3 (gamma + 1))``."""
    mu, gamma = strong.mu, strong.gamma
    noise = 16 * spread(run) * G2 / mu**2
    return noise + 132 * late_share(run) * strong.S * G2 / (mu**3 * (gamma + 1))


def printed_constants(run: k.Split) -> Ratio:
    """Return those of (69), (130) and (135)."""
    mu, gamma, a = strong.mu, strong.gamma, k.weight(n)
    own = 2 * local.sigma2(n) + G2
    second = own + G2 * inverse_q(n) if run.drawn else own
    late = 1536 * strong.S * mean(n, a * own) / (mu**3 * (gamma + 1))
    return 16 * N * mean(n, a**2 * second) / mu**2 + late


def distance_bound(run: k.Split, at: Ratio, noise: Ratio) -> k.Lin:
    """Return ``(noise + (gamma + 1) ||x(0) - x*||^2)/(gamma + at)``."""
    start = k.norm2(k.iterate(run, 0) - BEST) * (strong.gamma + 1)
    return (k.constant(noise) + start) * (1 / (strong.gamma + at))


def fast_round(kind: k.Kind, who: k.Participants = EVERYONE) -> Theorem:
    """Return `one_round` at these rates."""
    run, mu = fast(kind, who), k.Var("mu", Sort.NONNEGATIVE)
    values: list[tuple[rules.Replaceable, rules.Replacement]] = [
        (strong.S_VARIABLE, strong.S),
        (k.RoundFamily("eta", Sort.POSITIVE), run.client.rate),
        (mu, strong.mu),
    ]
    return rules.instantiate(one_round(kind, of(mu), who), tuple(values), ())


@cache
def rate(kind: k.Kind, who: k.Participants = EVERYONE) -> Theorem:
    """Return the bound for every round, by induction, its noise as in `constants`."""
    run, one = fast(kind, who), fast_round(kind, who)
    u, x0 = strong.gamma + now, k.iterate(run, 0) - BEST
    lowest = derived.lowest(k.MEAN, k.iterate(run, now))

    def claim(at: Ratio) -> k.Lin:
        bound = distance_bound(run, at, constants(run))
        return bound - k.norm2(k.iterate(run, at) - BEST)

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


@cache
def printed_rate(kind: k.Kind, who: k.Participants) -> Theorem:
    """Return (69), (130) and (135) for the whole vector."""
    run, u = fast(kind, who), strong.gamma + now
    return combine(
        rate(kind, who),
        (weights_spread(), 16 * G2 / (strong.mu**2 * u)),
        target=distance_bound(run, now, printed_constants(run))
        - k.norm2(k.iterate(run, now) - BEST),
    )


# General convex: the mean gap at a constant rate -------------------------------------

T, eta = notation.count("T"), notation.positive("eta")
alpha = eta * tau


@cache
def mean_gap(kind: k.Kind, who: k.Participants) -> Theorem:
    """Return the mean of the rounds' gaps at a constant rate, any one.

    ``1/T sum (f(x) - f*) <= ||x0 - x*||^2/(2 eta tau T) + (1 + rho) eta tau G2/2
    + c S eta^2 tau^2 G2``.
    """
    own, family = one_round(kind, ratio(0), who), k.RoundFamily("eta", Sort.POSITIVE)
    one = rules.instantiate(own, ((family, k.Rate(eta)),), ())
    run = notation.equal_paces(kind, tau, k.Rate(eta), who)
    return local.nearer(one, Round(run), T, 1 / (2 * alpha * T))
