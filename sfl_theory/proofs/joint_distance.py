r"""One round, both blocks together: how ``||x - x*||^2`` falls for convex clients.

For SFL-V1 and for SFL-V2 with server steps weighted by a_n, equal numbers of steps, any
rates. x* is any fixed point, no minimiser is assumed; nor is S >= mu, which follows.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import notation, visits
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.local_steps import G2, Round, S, i, j, m, n, now, t, whole_update
from sfl_theory.proofs.notation import combine, count, mean, of, rates, steps, sum_over

tau = count("tau")
BEST = k.vec(k.Star(k.MEAN))
ETA = rates("eta")
N = mean(n, 1)


def run(kind: k.Kind) -> k.Split:
    """Return the run in which both sides make tau steps at rates ``eta(t)``."""
    return notation.equal_paces(kind, tau, ETA)


def gap(r: Round) -> k.Lin:
    """Return ``f(x) - f(x*)``."""
    return k.value_of(k.MEAN, r.x) - k.value_of(k.MEAN, BEST)


def local_progress(r: Round, mu: Ratio, step: Ratio) -> Theorem:
    r"""Return Lemma C.3 at a local gradient.

    ``<grad F_n(p), x - x*> >= F_n(x) - F_n(x*) + mu/4 ||x - x*||^2 - S ||p - x||^2``.
    """
    p, F = r.point(step), k.Local(n)
    return combine(
        rules.smooth(F, S, p, r.x),
        rules.convex(F, mu, p, BEST),
        # smooth and convex from x to p: (S - mu) ||p - x||^2 >= 0
        rules.smooth(F, S, r.x, p),
        rules.convex(F, mu, r.x, p),
        ((BEST - p) - (p - r.x), mu / 4),
    )


def progress(r: Round, mu: Ratio) -> Theorem:
    """Return ``<G, x - x*> >= tau (f(x) - f* + mu/4 ||x - x*||^2) - S D``."""
    away, gp = r.x - BEST, r.local_gradient(of(i))
    return combine(
        r.summed(local_progress(r, mu, of(i)), tau, k.weight(n)),
        local.linear_both(r, gp, away, tau, k.weight(n)),
        local.whole_centred(r, away),
        (rules.mean_value(r.x), -tau),
        (rules.mean_value(BEST), tau),
    )


def second_moment(r: Round) -> Theorem:
    """Return ``||G||^2 <= tau^2 G2``, by Jensen over clients and steps."""
    g = stochastic(r.run, n, now, of(i))
    inside = rules.jensen(steps(tau), i, ratio(1), g)
    bound = rules.bounded_gradient(r.run, G2, n, now, of(i))
    clients = rules.jensen(k.CLIENTS, n, k.weight(n), k.summed(steps(tau), i, g))
    return combine(
        clients,
        sum_over(inside, k.CLIENTS, n, k.weight(n)),
        (r.summed(bound, tau, k.weight(n)), tau),
        target=k.constant(tau**2 * G2) - k.norm2(local.whole_mean(r, g)),
    )


def drift(r: Round) -> tuple[Theorem, Fraction]:
    """Return ``D <= c eta^2 tau^3 G2`` and c: 1/3 for SFL-V1, 1 for SFL-V2."""
    if not r.run.kind.visits:
        return local.bounded_drift(r, G2), Fraction(1, 3)
    return visited_drift(r), Fraction(1)


def visited_drift(r: Round) -> Theorem:
    """Return ``D <= eta^2 tau^3 G2`` for server steps weighted by a_n.

    A client's block has moved by its i earlier steps, the server's by the visits before
    (n, i), among them at most tau of each client.
    """
    eta, a = r.eta, k.weight(n)
    g, gc = stochastic(r.run, n, now, of(i)), stochastic(r.run, n, now, of(j))
    gm = k.part(k.Side.SERVER, stochastic(r.run, m, now, of(j)))
    own = k.part(k.Side.CLIENT, gc)
    away = r.away(of(i))
    _, o = visits.late()
    visited = k.summed(k.CLIENTS, m, k.summed(steps(tau), j, gm * o) * k.weight(m))
    each = [(k.Side.CLIENT, k.summed(steps(of(i)), j, own)), (k.Side.SERVER, visited)]
    moved = [
        combine(
            (rules.local_update(r.run, n, now, of(i), side, k.part(side, away)), -1),
            (rules.local_update(r.run, n, now, of(i), side, total), eta),
        )
        for side, total in each
    ]
    client = combine(
        moved[0], (local.size_of_sum(steps(of(i)), j, own, of(i), tau), eta**2)
    )
    server = combine(moved[1], (visits.server_gradients(gm), eta**2))
    spare = combine((k.part(k.Side.CLIENT, g), 1))
    bound = rules.bounded_gradient(r.run, G2, n, now, of(i))
    return combine(
        (r.summed(local.both_parts(away), tau, a), -1),
        r.summed(client, tau, a),
        r.summed(server, tau, a),
        (r.summed(local.both_parts(g), tau, a), eta**2 * tau**2),
        (r.summed(spare, tau, a), eta**2 * tau * (tau + 1) / 2),
        (r.summed(bound, tau, a), eta**2 * tau**2),
        target=k.constant(eta**2 * tau**3 * G2) - local.whole_drift(r),
    )


@cache
def one_round(kind: k.Kind, mu: Ratio) -> Theorem:
    """Return the recursion of one round, c = 1/3 or 1.

    ``D' <= (1 - eta tau mu/2) D - 2 eta tau (f(x) - f*) + eta^2 tau^2 G2
    + 2 c S eta^3 tau^3 G2`` for ``D = ||x - x*||^2``.
    """
    r = Round(run(kind))
    eta, before, after = r.eta, r.x - BEST, r.next - BEST
    G = local.whole_mean(r, stochastic(r.run, n, now, of(i)))
    bounded, c = drift(r)
    noise = eta**2 * tau**2 * G2 + 2 * c * S * eta**3 * tau**3 * G2
    keep = k.norm2(before) * (1 - eta * tau * mu / 2)
    return combine(
        (progress(r, mu), 2 * eta),
        (whole_update(r, before), -2),
        (whole_update(r, r.next - r.x), -1),
        (whole_update(r, G), eta),
        (second_moment(r), eta**2),
        (bounded, 2 * S * eta),
        target=keep + k.constant(noise) - gap(r) * (2 * eta * tau) - k.norm2(after),
    )


def weights_spread() -> Theorem:
    """Return ``N sum a_n^2 >= 1``, from ``sum (a_n - 1/N)^2 >= 0``."""
    one = rules.square(k.weight(n) - 1 / N)
    return combine((sum_over(one, k.CLIENTS, n), N))


# The rate of the whole vector, for eta(t) = 4/(mu tau (gamma + t)) ------------------


def fast(kind: k.Kind) -> k.Split:
    """Return the run at these rates."""
    return notation.equal_paces(kind, tau, fast_rate())


def fast_rate() -> k.Rate:
    """Return ``4/(mu tau (gamma + t))``."""
    return k.Rate(4 / (strong.mu * tau * (strong.gamma + notation.of_round())))


def distance_bound(split: k.Split, at: Ratio) -> k.Lin:
    """Return (69) for the whole vector, its constants as printed."""
    mu, gamma = strong.mu, strong.gamma
    noise = 16 * N * second(2) / mu**2
    noise = noise + 1536 * strong.S * second(1) / (mu**3 * (gamma + 1))
    start = k.norm2(k.iterate(split, 0) - BEST) * (gamma + 1)
    return (k.constant(noise) + start) * (1 / (gamma + at))


def second(power: int) -> Ratio:
    """Return ``sum_n a_n^power (2 sigma_n^2 + G2)``."""
    return mean(n, k.weight(n) ** power * (2 * local.sigma2(n) + G2))


@cache
def fast_round(kind: k.Kind) -> Theorem:
    """Return the recursion of one round at these rates, its gap left out."""
    mu = notation.nonnegative("mu")
    (variable,) = mu.free
    values: list[tuple[rules.Replaceable, rules.Replacement]] = [
        (strong.S_VARIABLE, strong.S),
        (k.RoundFamily("eta", Sort.POSITIVE), fast_rate()),
    ]
    if isinstance(variable, k.Var):
        values.append((variable, strong.mu))
    one = rules.instantiate(one_round(kind, mu), tuple(values), ())
    x = k.iterate(fast(kind), now)
    lowest = rules.lowest(k.MEAN, x)
    return combine(one, (lowest, 8 / (strong.mu * (strong.gamma + now))))


@cache
def rate(kind: k.Kind) -> Theorem:
    """Return the bound for every round, by induction."""
    split, zero = fast(kind), ratio(0)

    def claim(at: Ratio) -> k.Lin:
        return distance_bound(split, at) - k.norm2(k.iterate(split, at) - BEST)

    u, start = strong.gamma + now, k.iterate(split, 0) - BEST
    keep = 1 - 2 / u
    spare = 1 / (u + 1) - keep / u
    step = combine(
        fast_round(kind),
        (rules.assume(claim(now)), keep),
        (weights_spread(), 16 * G2 / strong.mu**2 * spare),
        (start, (strong.gamma + 1) * spare),
        target=claim(now + 1),
    )
    base = combine((start, 1 / strong.gamma), target=claim(zero))
    return rules.induct(base, step, t, claim(now))


# The mean gap of general convex clients at a constant rate ---------------------------


@cache
def mean_gap(kind: k.Kind) -> Theorem:
    """Return the mean of the rounds' gaps at a constant rate, any one.

    ``1/T sum (f(x) - f*) <= ||x0 - x*||^2/(2 eta tau T) + eta tau G2/2
    + c S eta^2 tau^2 G2``.
    """
    eta, T = notation.positive("eta"), count("T")
    family = k.RoundFamily("eta", Sort.POSITIVE)
    one = rules.instantiate(one_round(kind, ratio(0)), ((family, k.Rate(eta)),), ())
    split = notation.equal_paces(kind, tau, k.Rate(eta))
    fall = rules.telescope(t, k.norm2(k.iterate(split, now) - BEST), T)
    scale = 1 / (2 * eta * tau * T)
    last = k.iterate(split, T) - BEST
    rounds = sum_over(one, steps(T), t)
    return combine((rounds, scale), (fall, scale), (last, scale))


# General convex: the mean gap of the iterates of SFL-V1, a repair of (12) ------------

T, eta = count("T"), notation.positive("eta")
r = Round(notation.equal_paces(k.Kind.V1, tau, k.Rate(eta)))
alpha = eta * tau


def gap_progress() -> Theorem:
    """Return ``<G, x - x*> >= tau (f(x) - f*) - S/2 D``.

    Smoothness from the local point to x, convexity from it to x*.
    """
    p, away, gp = r.point(of(i)), r.x - BEST, r.local_gradient(of(i))
    one = combine(
        rules.smooth(k.Local(n), S, p, r.x), rules.convex(k.Local(n), ratio(0), p, BEST)
    )
    return combine(
        r.summed(one, tau, k.weight(n)),
        local.linear_both(r, gp, away, tau, k.weight(n)),
        local.whole_centred(r, away),
        (rules.mean_value(r.x), -tau),
        (rules.mean_value(BEST), tau),
    )


def gap_round() -> Theorem:
    """Return ``2 alpha gap <= ||x - x*||^2 - ||x' - x*||^2 + 7/6 alpha^2 G2``."""
    before, after, step = r.x - BEST, r.next - BEST, r.next - r.x
    small = rules.assume(k.constant(1 - 2 * S * alpha))
    G = local.whole_mean(r, stochastic(r.run, n, now, of(i)))
    cost = k.constant(Fraction(7, 6) * alpha**2 * G2)
    return combine(
        (gap_progress(), 2 * eta),
        (whole_update(r, before), -2),
        (whole_update(r, step), -1),
        (whole_update(r, G), eta),
        (second_moment(r), eta**2),
        (local.bounded_drift(r, G2), eta * S),
        (small, alpha**2 * G2 / 6),
        target=k.norm2(before) - k.norm2(after) + cost - gap(r) * (2 * alpha),
    )


def theorem() -> Theorem:
    """Return the mean over T rounds; the distances telescope."""
    c = 1 / (2 * alpha * T)
    fall = rules.telescope(t, k.norm2(r.x - BEST), T)
    last = k.iterate(r.run, T) - BEST
    return combine((sum_over(gap_round(), steps(T), t), c), (fall, c), (last, c))
