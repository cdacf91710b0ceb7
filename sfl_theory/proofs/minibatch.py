"""MiniBatch-SFL with one local step in a round: one iteration, and its rate."""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    Function,
    Kind,
    Lin,
    Local,
    Rate,
    Side,
    Star,
    Vec,
    constant,
    gradient,
    iterate,
    norm2,
    part,
    summed,
    value_of,
    vec,
    weight,
)
from sfl_theory.proofs.joint import whole_centred, whole_mean, whole_update
from sfl_theory.proofs.local_steps import (
    Round,
    S,
    i,
    j,
    linear_both,
    n,
    now,
    sigma2,
    t,
)
from sfl_theory.proofs.notation import (
    combine,
    count,
    equal_paces,
    nonnegative,
    of,
    of_round,
    positive,
    rates,
    sign,
    steps,
    sum_over,
)

mu, R2, gamma = positive("mu"), nonnegative("R2"), 7 + nonnegative("g")
BEST = vec(Star(MEAN))
ONE = ratio(1)


def rated() -> Round:
    """Return a round with one local step and the rate ``2/(mu (gamma + t))``."""
    rate = Rate(2 / (mu * (gamma + of_round())))
    return Round(equal_paces(Kind.MINIBATCH, 1, rate))


def distance(r: Round, at: Number) -> Lin:
    """Return ``||x(at) - x*||^2``."""
    return norm2(iterate(r.run, at) - BEST)


def own_steps(r: Round) -> Theorem:
    """Return ``sum_n a_n sum_{i<1} ||p_i - x||^2 <= 0``: the local step starts at x."""
    g = stochastic(r.run, n, now, of(j))
    bound = sum_over(rules.bounded_gradient(r.run, R2, n, now, of(j)), steps(of(i)), j)
    uses: list[tuple[Theorem, Number]] = []
    for side in Side:
        away, own = part(side, r.away(of(i))), part(side, g)
        total = summed(steps(of(i)), j, own)
        each = rules.jensen(steps(of(i)), j, ONE, own)
        if side is Side.SERVER:
            each = combine([
                (rules.jensen(CLIENTS, n, weight(n), total), 1),
                (sum_over(each, CLIENTS, n, weight(n)), 1),
            ])
            total = summed(CLIENTS, n, total * weight(n))
        moved = away + total * r.eta
        zero = rules.local_update(r.run, n, now, of(i), side, moved - total * 2 * r.eta)
        uses += [(zero, -1), (each, r.eta**2)]
        other = sum_over(combine(squares=[(part(_other(side), g), 1)]), steps(of(i)), j)
        fits = combine([(bound, 1), (other, 1), (_blocks(g), 1)])
        if side is Side.SERVER:
            fits = sum_over(fits, CLIENTS, n, weight(n))
        uses.append((fits, r.eta**2 * of(i)))
    uses.append((rules.blocks(r.away(of(i)), r.away(of(i))), -1))
    return r.summed(combine(uses), 1, weight(n))


def _other(side: Side) -> Side:
    return Side.SERVER if side is Side.CLIENT else Side.CLIENT


def _blocks(g: Vec) -> Theorem:
    """Return ``sum_{j<i} ||g||^2 = sum_{j<i} (||g_c||^2 + ||g_s||^2)``."""
    return sum_over(rules.blocks(g, g), steps(of(i)), j)


def moved(r: Round) -> Theorem:
    """Return ``||x' - x*||^2 = ||x - x* - eta G||^2``."""
    here, after = r.x - BEST, r.next - BEST
    there = here - whole_mean(r, stochastic(r.run, n, now, of(i))) * r.eta
    target = norm2(there) - norm2(after)
    return combine([(whole_update(r, after + there), -1)], target=target)


def second_moment(r: Round) -> Theorem:
    """Return ``||G||^2 <= R2``."""
    g = stochastic(r.run, n, now, of(i))
    return combine([
        (rules.jensen(CLIENTS, n, weight(n), summed(steps(1), i, g)), 1),
        (sum_over(rules.jensen(steps(1), i, ONE, g), CLIENTS, n, weight(n)), 1),
        (r.summed(rules.bounded_gradient(r.run, R2, n, now, of(i)), 1, weight(n)), 1),
    ])


def convex_mean(p: Vec, q: Vec) -> Theorem:
    """Return ``f(q) >= f(p) + <grad f(p), q - p> + mu/2 ||q - p||^2`` from the F_n."""
    each = sum_over(rules.convex(Local(n), mu, p, q), CLIENTS, n, weight(n))
    own, away = gradient(Local(n), p) * weight(n), q - p
    return combine([
        (each, 1),
        (rules.mean_value(q), 1),
        (rules.mean_value(p), -1),
        (rules.mean_gradient(p, away), -1),
        (rules.linear(CLIENTS, n, own, away), -1),
    ])


def along_block(
    convex: Theorem, function: Function, modulus: Ratio, p: Vec, q: Vec, by: Vec
) -> Theorem:
    """Return strong convexity from p to q where q - p is `by`, of one block."""
    rest, g = q - p - by, gradient(function, p)
    return combine([
        (convex, 1),
        (rules.blocks(rest, g), 1),
        (rules.blocks(rest, q - p + by), modulus / 2),
    ])


def growth(p: Vec) -> Theorem:
    """Return ``f(p) - f* >= mu/2 ||p - x*||^2`` from mu-convex F_n."""
    flat = rules.stationary(MEAN, p - BEST)
    return combine([(convex_mean(BEST, p), 1), (flat, 1)])


def toward(r: Round) -> Theorem:
    """Return ``E<G, x - x*> >= f(x) - f* >= mu/2 ||x - x*||^2``."""
    here, p = r.x - BEST, r.point(of(i))
    own = r.local_gradient(of(i))
    one = combine([
        (rules.convex(Local(n), mu, p, BEST), 1),
        (rules.majorant(Local(n), S, p, r.x), 1),
        (combine(squares=[(p - BEST, 1)]), mu / 2),
    ])
    return combine([
        (r.summed(one, 1, weight(n)), 1),
        (linear_both(r, own, here, ONE, weight(n)), 1),
        (whole_centred(r, here), 1),
        (own_steps(r), S / 2),
        (rules.mean_value(r.x), -1),
        (rules.mean_value(BEST), 1),
        (growth(r.x), 1),
    ])


def iteration(r: Round) -> Theorem:
    """Return ``||x' - x*||^2 <= (1 - mu eta) ||x - x*||^2 + eta^2 R2``."""
    right = distance(r, now) * (1 - mu * r.eta) + constant(r.eta**2 * R2)
    return combine(
        [(moved(r), 1), (toward(r), 2 * r.eta), (second_moment(r), r.eta**2)],
        target=right - distance(r, now + 1),
    )


@cache
def rate() -> Theorem:
    """Return ``||x(t) - x*||^2 <= (4 R2/mu^2 + gamma ||x(0) - x*||^2)/(gamma + t)``."""
    r, x = rated(), gamma + now

    def claim(at: Ratio) -> Lin:
        start = distance(r, 0) * gamma + constant(4 * R2 / mu**2)
        return start * (1 / (gamma + at)) - distance(r, at)

    spare = gamma * (x + 2) / (x**2 * (x + 1))
    step = combine(
        [(iteration(r), 1), (rules.assume(claim(now)), 1 - 2 / x)],
        [(iterate(r.run, 0) - BEST, spare)],
        target=claim(now + 1),
    )
    return rules.induct(combine(target=claim(ratio(0))), step, t, claim(now))


def fresh_noise(r: Round, side: Side | None) -> Theorem:
    """Return ``||sum_n a_n sum_{i<1} xi||^2 <= sum_n a_n^2 sigma_n^2``, of one side."""
    apart = rules.independent(r.run, n, i, weight(n), now, ONE, side)
    bound = rules.variance(r.run, sigma2(n), n, now, of(i))
    if side is not None:
        xi = r.noise(of(i))
        other = combine(squares=[(part(_other(side), xi), 1)])
        bound = combine([(bound, 1), (rules.blocks(xi, xi), 1), (other, 1)])
    return combine([(apart, -1), (r.summed(bound, 1, weight(n) ** 2), 1)])


# One step of the whole model, from any local models ----------------------------------

ETA = rates("eta").at(now)
ETA_SMALL = rules.assume(constant(1 / (4 * S) - ETA))


def over(theorem: Theorem) -> Theorem:
    """Return the mean over clients."""
    return sum_over(theorem, CLIENTS, n, weight(n))


def self_bounding(p: Vec, low: Ratio, side: Side | None = None) -> Theorem:
    """Return ``||grad F_n(p)||^2 <= 2S (F_n(p) - low)``, or of a block of it.

    It is assumed that low is at most F_n after a step of 1/S.
    """
    g = gradient(Local(n), p)
    below = p - (g if side is None else part(side, g)) * (1 / S)
    least = rules.assume(value_of(Local(n), below) - constant(low))
    return combine([(rules.majorant(Local(n), S, p, below), 2 * S), (least, 2 * S)])


def first_bound(p: Vec, low: Ratio, side: Side, at_best: Vec) -> Theorem:
    """Return the first inequality of (32), p the local models, at_best (w_c*, w_s)."""
    g = part(side, gradient(Local(n), p))
    middle = _middle(p)
    d, u = part(side, middle - BEST), part(side, middle - p)
    by = part(side, BEST - p)
    convex = rules.convex(Local(n), mu, p, at_best)
    near = along_block(convex, Local(n), mu, p, at_best, by)
    young = combine(squares=[(u + g * ETA, 1 / ETA)])
    return combine([
        (rules.jensen(CLIENTS, n, weight(n), g), ETA**2),
        (over(self_bounding(p, low, side)), ETA**2),
        (over(young), ETA),
        (over(near), 2 * ETA),
        (rules.linear(CLIENTS, n, g * weight(n), d), 2 * ETA),
    ])


def second_bound(p: Vec, low: Ratio, side: Side) -> Theorem:
    """Return the second inequality of (32)."""
    return combine([
        (over(self_bounding(p, low, side)), ETA**2),
        (rules.jensen(CLIENTS, n, weight(n), part(side, p - BEST)), mu * ETA),
    ])


def _middle(p: Vec) -> Vec:
    return summed(CLIENTS, n, p * weight(n))


def whole_step(p: Vec, low: Ratio) -> Theorem:
    """Return ``||w - x* - eta g||^2 <= (1 - mu eta)||w - x*||^2 + 2V + 6S eta^2 C``.

    w and g are the means of local models p and of the gradients there, V the mean of
    ``||w - p||^2``, C = f* - sum_n a_n low (Li et al., ICLR 2020, Lemma 1).
    """
    g, w = gradient(Local(n), p), _middle(p)
    d, u, own = w - BEST, w - p, gradient(Local(n), w)
    young = combine(squares=[(u + g * ETA, 1 / ETA)])
    back = combine(
        [
            (rules.convex(Local(n), mu, w, p), 1),
            (self_bounding(w, low), ETA / 2),
        ],
        [(own * ETA - u, 1 / (2 * ETA)), (u, mu / 2)],
    )
    c = 2 * ETA * (1 - 2 * S * ETA)
    gap = combine([
        (rules.mean_value(BEST), 1),
        (over(rules.assume(value_of(Local(n), BEST) - constant(low))), 1),
    ])
    signs = [
        sign(c, (ETA_SMALL, 8 * S * ETA)),
        sign(c * (1 - S * ETA), (ETA_SMALL, 8 * S * ETA)),
    ]
    return combine(
        [
            (rules.jensen(CLIENTS, n, weight(n), g), ETA**2),
            (over(self_bounding(p, low)), 2 * ETA**2),
            (over(young), ETA),
            (over(rules.convex(Local(n), mu, p, BEST)), 2 * ETA),
            (rules.linear(CLIENTS, n, g * weight(n), d), 2 * ETA),
            (rules.jensen(CLIENTS, n, weight(n), p - BEST), mu * ETA),
            (over(back), c),
            (rules.lowest(MEAN, w), c * (1 - S * ETA)),
            (rules.mean_value(w), c * (S * ETA - 1)),
            (rules.mean_value(BEST), 2 * ETA),
            (gap, 4 * S**2 * ETA**3),
            (over(combine(squares=[(u, 1)])), 2 * S * ETA),
        ],
        signs=signs,
    )


def last(theorem: Theorem) -> Theorem:
    """Return a theorem on round t for the count T of rounds."""
    return rules.instantiate(theorem, ((t, count("T")),), ())
