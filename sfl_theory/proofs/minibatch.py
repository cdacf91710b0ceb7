"""MiniBatch-SFL with one local step in a round: one iteration, and its rate."""

from __future__ import annotations

from functools import cache, partial

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived, foundations, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.local_steps import Round, S, i, j, n, now, sigma2, t
from sfl_theory.proofs.mean_steps import MeanStep
from sfl_theory.proofs.minibatch_stepwise import K, Walk, over
from sfl_theory.proofs.notation import combine, nonnegative, of, sign, variable

mu, R2, gamma = notation.positive("mu"), nonnegative("R2"), 7 + nonnegative("g")
BEST = k.vec(k.Star(k.MEAN))
ONE = ratio(1)


def rated() -> Round:
    """Return a round with one local step and the rate ``2/(mu (gamma + t))``."""
    rate = k.Rate(2 / (mu * (gamma + notation.of_round())))
    return Round(notation.equal_paces(k.Kind.MINIBATCH, 1, rate))


def distance(r: Round, at: Number) -> k.Lin:
    """Return ``||x(at) - x*||^2``."""
    return k.norm2(k.iterate(r.run, at) - BEST)


convex_mean = partial(foundations.convex_mean, mu)
growth = partial(foundations.growth, mu)


def along_block(
    convex: Theorem, function: k.Function, modulus: Ratio, p: k.Vec, q: k.Vec, by: k.Vec
) -> Theorem:
    """Return strong convexity from p to q where q - p is `by`, of one block."""
    rest, g = q - p - by, k.gradient(function, p)
    return combine(
        convex, rules.blocks(rest, g), (rules.blocks(rest, q - p + by), modulus / 2)
    )


@cache
def any_iteration() -> Theorem:
    """Return `iteration` at the rates eta(t): the only local step is at the model."""
    pace = k.Pace(k.natural(K), notation.rates("eta"))

    def move(step: Ratio, client: k.Client = n) -> k.Vec:
        return stochastic(run, client, now, step) * run.client.rate.at(now)

    run = k.Split(k.Kind.MINIBATCH, k.Participants.EVERYONE, pace, pace)
    walk = Walk(run, move)
    one = MeanStep(walk, pace.rate.at(now), rules.square(ratio(0)))
    step = combine(
        one.bounded_descent(R2, mu),
        (derived.lowest(k.MEAN, one.middle), 2 * one.h),
    )
    x, after = (k.iterate(run, at) for at in (now, now + 1))
    whole = combine(
        rules.instantiate(step, ((j, ratio(0)),), ()),
        (walk.same_start(), S * one.h),
        (walk.start_of_mean(walk.middle(0) + x - BEST * 2), mu * one.h - 1),
        walk.ends(walk.middle(K) + after - BEST * 2),
    )
    single = rules.instantiate(whole, ((variable(K), ratio(1)),), ())
    return rules.cut(single, combine(target=k.constant(0)))


def iteration(r: Round) -> Theorem:
    """Return ``||x' - x*||^2 <= (1 - mu eta) ||x - x*||^2 + eta^2 R2``."""
    family = k.RoundFamily("eta", Sort.POSITIVE)
    return rules.instantiate(any_iteration(), ((family, r.run.client.rate),), ())


@cache
def rate() -> Theorem:
    """Return ``||x(t) - x*||^2 <= (4 R2/mu^2 + gamma ||x(0) - x*||^2)/(gamma + t)``."""
    r, x = rated(), gamma + now

    def claim(at: Ratio) -> k.Lin:
        start = distance(r, 0) * gamma + k.constant(4 * R2 / mu**2)
        return start * (1 / (gamma + at)) - distance(r, at)

    spare = gamma * (x + 2) / (x**2 * (x + 1))
    step = combine(
        iteration(r),
        (rules.assume(claim(now)), 1 - 2 / x),
        (k.iterate(r.run, 0) - BEST, spare),
        target=claim(now + 1),
    )
    return rules.induct(combine(target=claim(ratio(0))), step, t, claim(now))


def fresh_noise(r: Round, side: k.Side | None) -> Theorem:
    """Return ``||sum_n a_n sum_{i<1} xi||^2 <= sum_n a_n^2 sigma_n^2``, of one side."""
    apart = derived.independent(r.run, n, i, k.weight(n), now, ONE, side)
    bound = derived.variance(r.run, sigma2(n), n, now, of(i))
    if side is not None:
        xi = r.noise(of(i))
        bound = local.block_below(side, xi, bound)
    return combine(apart, r.summed(bound, 1, k.weight(n) ** 2))


# One step of the whole model, from any local models ----------------------------------

RATE = k.Var("eta", Sort.POSITIVE)
ETA = of(RATE)
ETA_SMALL = rules.assume(k.constant(1 / (4 * S) - ETA))


def at_rate(theorem: Theorem, rate: Ratio) -> Theorem:
    """Return a theorem on any rate for one of a step."""
    return rules.instantiate(theorem, ((RATE, rate),), ())


def self_bounding(p: k.Vec, low: Ratio, side: k.Side | None = None) -> Theorem:
    """Return ``||grad F_n(p)||^2 <= 2S (F_n(p) - low)``, or of a block of it.

    It is assumed that low is at most F_n after a step of 1/S.
    """
    g = k.gradient(k.Local(n), p)
    below = p - (g if side is None else k.part(side, g)) * (1 / S)
    least = rules.assume(k.value_of(k.Local(n), below) - k.constant(low))
    return combine((derived.majorant(k.Local(n), S, p, below), 2 * S), (least, 2 * S))


def first_bound(p: k.Vec, low: Ratio, side: k.Side, at_best: k.Vec) -> Theorem:
    """Return the first inequality of (32), p the local models, at_best (w_c*, w_s)."""
    g = k.part(side, k.gradient(k.Local(n), p))
    middle = _middle(p)
    d, u = k.part(side, middle - BEST), k.part(side, middle - p)
    by = k.part(side, BEST - p)
    convex = derived.convex(k.Local(n), mu, p, at_best)
    near = along_block(convex, k.Local(n), mu, p, at_best, by)
    young = combine((u + g * ETA, 1 / ETA))
    return combine(
        (rules.jensen(k.CLIENTS, n, k.weight(n), g), ETA**2),
        (over(self_bounding(p, low, side)), ETA**2),
        (over(young), ETA),
        (over(near), 2 * ETA),
        (rules.linear(k.CLIENTS, n, g * k.weight(n), d), 2 * ETA),
    )


def second_bound(p: k.Vec, low: Ratio, side: k.Side) -> Theorem:
    """Return the second inequality of (32)."""
    return combine(
        (over(self_bounding(p, low, side)), ETA**2),
        (rules.jensen(k.CLIENTS, n, k.weight(n), k.part(side, p - BEST)), mu * ETA),
    )


def _middle(p: k.Vec) -> k.Vec:
    return k.summed(k.CLIENTS, n, p * k.weight(n))


def whole_step(p: k.Vec, low: Ratio) -> Theorem:
    """Return ``||w - x* - eta g||^2 <= (1 - mu eta)||w - x*||^2 + 2V + 6S eta^2 C``.

    w and g are the means of local models p and of the gradients there, V the mean of
    ``||w - p||^2``, C = f* - sum_n a_n low (Li et al., ICLR 2020, Lemma 1).
    """
    g, w = k.gradient(k.Local(n), p), _middle(p)
    d, u, own = w - BEST, w - p, k.gradient(k.Local(n), w)
    young = combine((u + g * ETA, 1 / ETA))
    back = combine(
        derived.convex(k.Local(n), mu, w, p),
        (self_bounding(w, low), ETA / 2),
        (own * ETA - u, 1 / (2 * ETA)),
        (u, mu / 2),
    )
    c = 2 * ETA * (1 - 2 * S * ETA)
    gap = combine(
        rules.mean_value(BEST),
        over(rules.assume(k.value_of(k.Local(n), BEST) - k.constant(low))),
    )
    signs = [
        sign(c, (ETA_SMALL, 8 * S * ETA)),
        sign(c * (1 - S * ETA), (ETA_SMALL, 8 * S * ETA)),
    ]
    return combine(
        (rules.jensen(k.CLIENTS, n, k.weight(n), g), ETA**2),
        (over(self_bounding(p, low)), 2 * ETA**2),
        (over(young), ETA),
        (over(derived.convex(k.Local(n), mu, p, BEST)), 2 * ETA),
        (rules.linear(k.CLIENTS, n, g * k.weight(n), d), 2 * ETA),
        (rules.jensen(k.CLIENTS, n, k.weight(n), p - BEST), mu * ETA),
        (over(back), c),
        (derived.lowest(k.MEAN, w), c * (1 - S * ETA)),
        (rules.mean_value(w), c * (S * ETA - 1)),
        (rules.mean_value(BEST), 2 * ETA),
        (gap, 4 * S**2 * ETA**3),
        (over(combine((u, 1))), 2 * S * ETA),
        signs=signs,
    )


def last(theorem: Theorem) -> Theorem:
    """Return a theorem on round t for the count T of rounds."""
    return rules.instantiate(theorem, ((t, notation.count("T")),), ())
