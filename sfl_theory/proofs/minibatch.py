"""MiniBatch-SFL with one local step in a round: one iteration, and its rate."""

from __future__ import annotations

from functools import cache, partial

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived, foundations, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.foundations import Above
from sfl_theory.proofs.local_steps import Round, S, i, j, n, now, other, sigma2, t
from sfl_theory.proofs.minibatch_stepwise import over
from sfl_theory.proofs.notation import combine, nonnegative, of, sign, steps, sum_over

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


def own_steps(r: Round) -> Theorem:
    """Return ``sum_n a_n sum_{i<1} ||p_i - x||^2 <= 0``: the local step starts at x."""
    g = stochastic(r.run, n, now, of(j))
    bound = sum_over(
        derived.bounded_gradient(r.run, R2, n, now, of(j)), steps(of(i)), j
    )
    uses: list[tuple[Theorem, Number]] = []
    for side in k.Side:
        away, own = k.part(side, r.away(of(i))), k.part(side, g)
        total = k.summed(steps(of(i)), j, own)
        each = rules.jensen(steps(of(i)), j, ONE, own)
        if side is k.Side.SERVER:
            each = combine(
                rules.jensen(k.CLIENTS, n, k.weight(n), total),
                sum_over(each, k.CLIENTS, n, k.weight(n)),
            )
            total = k.summed(k.CLIENTS, n, total * k.weight(n))
        moved = away + total * r.eta
        zero = derived.local_update(
            r.run, n, now, of(i), side, moved - total * 2 * r.eta
        )
        uses += [(zero, -1), (each, r.eta**2)]
        rest = sum_over(combine((k.part(other(side), g), 1)), steps(of(i)), j)
        fits = combine(bound, rest, _blocks(g))
        if side is k.Side.SERVER:
            fits = sum_over(fits, k.CLIENTS, n, k.weight(n))
        uses.append((fits, r.eta**2 * of(i)))
    uses.append((rules.blocks(r.away(of(i)), r.away(of(i))), -1))
    return r.summed(combine(*uses), 1, k.weight(n))


def _blocks(g: k.Vec) -> Theorem:
    """Return ``sum_{j<i} ||g||^2 = sum_{j<i} (||g_c||^2 + ||g_s||^2)``."""
    return sum_over(rules.blocks(g, g), steps(of(i)), j)


def moved(r: Round) -> Theorem:
    """Return ``||x' - x*||^2 = ||x - x* - eta G||^2``."""
    here, after = r.x - BEST, r.next - BEST
    there = here - local.whole_mean(r, stochastic(r.run, n, now, of(i))) * r.eta
    target = k.norm2(there) - k.norm2(after)
    return combine((local.whole_update(r, after + there), -1), target=target)


def second_moment(r: Round) -> Theorem:
    """Return ``||G||^2 <= R2``."""
    g = stochastic(r.run, n, now, of(i))
    return combine(
        rules.jensen(k.CLIENTS, n, k.weight(n), k.summed(steps(1), i, g)),
        sum_over(rules.jensen(steps(1), i, ONE, g), k.CLIENTS, n, k.weight(n)),
        r.summed(derived.bounded_gradient(r.run, R2, n, now, of(i)), 1, k.weight(n)),
    )


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


def toward(r: Round) -> Theorem:
    """Return ``E<G, x - x*> >= f(x) - f* >= mu/2 ||x - x*||^2``."""
    here, p = r.x - BEST, r.point(of(i))
    own = r.local_gradient(of(i))
    one = combine(
        derived.convex(k.Local(n), mu, p, BEST),
        derived.majorant(k.Local(n), S, p, r.x),
        (combine((p - BEST, 1)), mu / 2),
    )
    return combine(
        r.summed(one, 1, k.weight(n)),
        local.linear_both(r, own, here, ONE, k.weight(n)),
        local.whole_centred(r, here),
        (own_steps(r), S / 2),
        (rules.mean_value(r.x), -1),
        rules.mean_value(BEST),
        growth(r.x),
    )


def iteration(r: Round) -> Theorem:
    """Return ``||x' - x*||^2 <= (1 - mu eta) ||x - x*||^2 + eta^2 R2``."""
    right = distance(r, now) * (1 - mu * r.eta) + k.constant(r.eta**2 * R2)
    return combine(
        moved(r),
        (toward(r), 2 * r.eta),
        (second_moment(r), r.eta**2),
        target=right - distance(r, now + 1),
    )


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


def self_bounding(
    p: k.Vec, low: Ratio, side: k.Side | None = None, above: Above = derived.majorant
) -> Theorem:
    """Return ``||grad F_n(p)||^2 <= 2S (F_n(p) - low)``, or of a block of it.

    It is assumed that low is at most F_n after a step of 1/S. `above` is the rule that
    bounds F_n from above.
    """
    g = k.gradient(k.Local(n), p)
    below = p - (g if side is None else k.part(side, g)) * (1 / S)
    least = rules.assume(k.value_of(k.Local(n), below) - k.constant(low))
    return combine((above(k.Local(n), S, p, below), 2 * S), (least, 2 * S))


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


def whole_step(p: k.Vec, low: Ratio, above: Above = derived.majorant) -> Theorem:
    """Return ``||w - x* - eta g||^2 <= (1 - mu eta)||w - x*||^2 + 2V + 6S eta^2 C``.

    w and g are the means of local models p and of the gradients there, V the mean of
    ``||w - p||^2``, C = f* - sum_n a_n low (Li et al., ICLR 2020, Lemma 1).
    """
    g, w = k.gradient(k.Local(n), p), _middle(p)
    d, u, own = w - BEST, w - p, k.gradient(k.Local(n), w)
    young = combine((u + g * ETA, 1 / ETA))
    back = combine(
        derived.convex(k.Local(n), mu, w, p),
        (self_bounding(w, low, None, above), ETA / 2),
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
        (over(self_bounding(p, low, None, above)), 2 * ETA**2),
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
