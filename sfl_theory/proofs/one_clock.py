r"""SFL-V1 on one counter of iterations, each side averaged at its own period s.

At iteration j = sq + i side b of a client's model is i < s steps away from the side's
last mean, so that :math:`D_b\le i^2\eta_{sq}^2G_b^2` for its part of D, how far models
are apart. With weights :math:`\omega_j`, for which :math:`\omega_ji^2\eta_{sq}^2` is
at most a polynomial, :math:`\sum_{j<T}\omega_jD_b\le F_b(T)` for every T, in whole
periods or not. All else is a step of `mean_steps`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.kernel.terms import CLIENTS, Lin, Side, Vec, constant, norm2, part
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs.mean_steps import SINGLE, ZERO, Averaged, MeanStep, gap
from sfl_theory.proofs.minibatch_stepwise import (
    J,
    S,
    Walk,
    averaged,
    j,
    m,
    mu,
    n,
    of_mean,
    over,
)
from sfl_theory.proofs.notation import combine, count, nat, of, sign, steps, sum_over

PERIODS = {Side.CLIENT: count("tau"), Side.SERVER: count("tau_server")}
BLOCKS = {
    Side.CLIENT: notation.nonnegative("G2_c"),
    Side.SERVER: notation.nonnegative("G2_s"),
}
T = count("T")
q, i, r, since, always = nat("q"), nat("i"), nat("r"), nat("since"), nat("v")
until, R = nat("until"), of(r)
W = k.Point("w")
w = k.vec(W)
NONE = rules.square(ZERO)


def pairs() -> Theorem:
    """Return ``r (r - 1) >= 0`` for every natural number r."""
    claim = constant(R * (R - 1))
    after = combine((rules.assume(claim), 1), target=constant(R * (R + 1)))
    return rules.induct(combine(target=constant(0)), after, r, claim)


PAIRS = pairs()


class Clock(Walk):
    """The steps of a run on one counter; J is the iteration, the mean is x(J)."""

    @property
    def at(self) -> tuple[Ratio, Ratio]:
        """Return the iteration and its one step."""
        return J, ZERO

    def point(self, step: Number, client: k.Client = n) -> Vec:
        """Return a client's model before an iteration."""
        return k.local_point(self.run, client, step, 0)

    def middle(self, step: Number) -> Vec:
        """Return the mean model."""
        return k.iterate(self.run, step)

    def mean_step(self, w: Vec, way: int = 1) -> Theorem:
        """Return ``way <x(J + 1) - x(J) + sum a e, w> = 0``."""
        new = self.middle(J + 1) - self.middle(J) + averaged(self.moved(m), m)
        return combine(
            *((rules.update(self.run, side, J, w), way) for side in Side),
            (rules.blocks(new, w), way),
        )


class Steps(Averaged):
    """Iterations at one constant rate."""

    def rate(self, at: Ratio) -> Ratio:
        """Return the rate of an iteration."""
        return notation.positive("eta")

    def falls(self, first: Ratio, later: Ratio) -> Theorem:
        """Return ``rate(first) >= rate(first + later)``."""
        return NONE

    def weight(self, at: Ratio) -> Ratio:
        """Return the weight of D at an iteration."""
        return ratio(1)

    def level(self, period: Ratio, first: Ratio) -> Theorem:
        """Return ``way - weight rate(first)^2 >= 0`` at iteration first + i."""
        return NONE

    def way(self, first: Ratio) -> Ratio:
        """Return the polynomial in i above ``weight rate(first)^2``."""
        return self.rate(first) ** 2

    def total(self, period: Ratio, upto: Ratio) -> Ratio:
        """Return F, without the bound on the block."""
        return self.rate(upto) ** 2 * upto * (period - 1) * (2 * period - 1) / 6

    def grows(self, period: Ratio) -> Theorem:
        """Return ``F(sq + r) - F(sq) >= sum_{i<r} i^2 way`` for r <= s."""
        return self._grows(period, self.rate(ratio(0)) ** 2, ratio(0))

    def _grows(self, period: Ratio, squares: Ratio, cubes: Ratio) -> Theorem:
        """Return it for ``way = squares + cubes i``."""
        s, first = period, period * of(q)
        other = (s - 1) ** 2 + R * (s - 1)
        share = squares / 6 * (2 * R * (s - 1) + R) + cubes / 4 * R * other
        more = squares / 3 + cubes / 4 * R
        factor = sign(share + more * R * (R - 1), (PAIRS, more))
        grown = self.total(s, first + R) - self.total(s, first)
        each = constant(of(i) ** 2 * self.way(first))
        return combine(
            (rules.assume(constant(s - R)), rules.number_of(factor.form)),
            target=constant(grown) - k.summed(steps(R), i, each),
            signs=[factor],
        )

    @property
    def walk(self) -> Clock:
        """The run's steps."""
        law = k.Rate(self.rate(notation.of_round()))
        paces = (k.Pace(k.natural(PERIODS[side]), law) for side in Side)
        run = k.Split(k.Kind.COUNTED, k.Participants.EVERYONE, *paces)

        def move(step: Ratio, client: k.Client = n) -> Vec:
            return stochastic(run, client, step, 0) * self.rate(step)

        return Clock(run, move)

    @property
    def made(self) -> Ratio:
        """T."""
        return T

    @property
    def last(self) -> Vec:
        """The mean model after T iterations."""
        return self.walk.middle(T)

    # How far the models are apart -----------------------------------------------------

    def mean_is(self, side: Side) -> Theorem:
        """Return ``<[x(v) - sum a p(v)]_b, w> = 0``: averaging keeps the mean."""
        walk, period = self.walk, PERIODS[side]
        first, S_ = period * of(q), steps(of(i))
        g = part(side, walk.move(first + of(since), m))
        one = walk.run, side, first + of(since), w
        path = k.inner(part(side, walk.middle(first + of(since))), w)
        own = rules.counted_update(walk.run, m, of(q), of(i), side, w)
        here = part(side, walk.point(first + of(i), m))
        found = combine(
            sum_over(rules.update(*one), S_, since),
            (derived.telescope(since, path, of(i)), -1),
            (sum_over(of_mean(g, w, m), S_, since), -1),
            rules.exchange(CLIENTS, m, S_, since, k.inner(g, w) * k.weight(m)),
            (over(rules.linear(S_, since, g, w), m), 1),
            (over(own, m), -1),
            (of_mean(here, w, m), -1),
        )
        mean = walk.middle(of(always)) - averaged(walk.point(of(always), m), m)
        claim = k.inner(part(side, mean), w)
        return rules.divided(found, q, i, period, always, claim)

    def path(self, side: Side) -> Theorem:
        """Return ``D_b <= i^2 rate(first)^2 G_b^2`` at iteration first + i."""
        walk, period, G2 = self.walk, PERIODS[side], BLOCKS[side]
        first, at = period * of(q), period * of(q) + of(i)
        rate, own = self.rate(first), self.rate(first + of(since))
        away = part(side, walk.point(at) - walk.middle(first))
        moves = part(side, walk.move(first + of(since), n))
        g = part(side, stochastic(walk.run, n, first + of(since), 0))
        bounded = h.BoundedBlock(walk.run, G2, side)
        one = combine(
            (rules.given(bounded, (n, first + of(since), ZERO)), own**2),
            (self.falls(first, of(since)), (rate + own) * G2),
            target=constant(rate**2 * G2) - norm2(g) * own**2,
        )
        total = k.summed(steps(of(i)), since, moves)
        moved = rules.counted_update(walk.run, n, of(q), of(i), side, away - total)
        each = combine(
            (moved, -1),
            rules.jensen(steps(of(i)), since, ratio(1), moves),
            (sum_over(one, steps(of(i)), since), of(i)),
            target=constant((of(i) * rate) ** 2 * G2) - norm2(away),
        )
        mean = part(side, walk.middle(at) - walk.middle(first))
        same = rules.instantiate(self.mean_is(side), ((always, at), (W, mean)), ())
        return combine(
            over(each),
            (of_mean(part(side, walk.point(at)), mean), -2),
            (same, -2),
            (mean, 1),
        )

    def apart(self, side: Side, at: Ratio) -> Lin:
        """Return ``weight D_b``."""
        away = part(side, self.walk.point(at) - self.walk.middle(at))
        return k.summed(CLIENTS, n, norm2(away) * k.weight(n)) * self.weight(at)

    def drift(self, side: Side) -> Theorem:
        """Return ``sum_{v<T} weight D_b <= F_b(T)``."""
        s, G2, first = PERIODS[side], BLOCKS[side], PERIODS[side] * of(q)

        def claim(upto: Ratio) -> Lin:
            whole = k.summed(steps(upto), always, self.apart(side, of(always)))
            return constant(self.total(s, upto) * G2) - whole

        one = combine(
            (self.path(side), self.weight(first + of(i))),
            (self.level(s, first), of(i) ** 2 * G2),
        )
        joined = combine(
            rules.assume(claim(first)),
            sum_over(one, steps(R), i),
            (self.grows(s), G2),
            (rules.split(always, self.apart(side, of(always)), first, R), -1),
            target=claim(first + R),
        )
        whole = rules.instantiate(joined, ((r, s),), ())
        whole = rules.cut(whole, combine(target=constant(0)))
        base = combine(target=claim(ratio(0)))
        periods = rules.induct(base, whole, q, claim(first))
        found = rules.cut(joined, periods)
        found = rules.divided(found, q, r, s, until, claim(of(until)))
        return rules.instantiate(found, ((until, T),), ())

    def whole(
        self, gained: Theorem, form: Callable[[Vec], Lin], apart: Ratio
    ) -> Theorem:
        """Return the sum of what T iterations gain; of weight D there is F."""
        return self.over_steps(gained, form(self.walk.middle(J)), apart)

    def over_steps(self, gained: Theorem, left: Lin, apart: Ratio) -> Theorem:
        """Return it for what is left before iteration J."""
        d = self.walk.apart(J)
        blocks = sum_over(over(rules.blocks(d, d)), steps(T), j, self.weight(J) * apart)
        return combine(
            sum_over(gained, steps(T), j),
            derived.telescope(j, left, T),
            *((self.drift(side), apart) for side in Side),
            (blocks, -1),
        )


# Rates that fall: the last gap --------------------------------------------------------


gamma = 8 + notation.nonnegative("g")
SMOOTH = rules.assume(constant(gamma - 8 * S / mu))


class Falling(Steps):
    r"""Rates with :math:`\mu x\eta=4`, :math:`x=\gamma+j`, which is assumed for all j.

    The gap times :math:`(x-1)W`, W = (x-2)(x-3)(x-4), grows in an iteration by at most
    :math:`\frac8{\mu^2}S(x-2)(x-3)\sum_na_n^2\sigma_n^2+\frac2\mu S^2\omega D`,
    :math:`\omega=(x-1)(x-2)(x-3)\le y^2(y+7i)` for x = y + i, i < s <= gamma.
    """

    def rate(self, at: Ratio) -> Ratio:
        """Return the rate of an iteration."""
        family = k.RoundFamily("eta", Sort.POSITIVE)
        return k.symbol(k.PerRound(family, k.natural(at)))

    def exact(self, at: Ratio, way: int) -> Theorem:
        """Return ``way (mu x eta - 4) >= 0`` at an iteration."""

        def says(v: Ratio) -> Lin:
            return constant(way * (mu * (gamma + v) * self.rate(v) - 4))

        every = h.every(k.NATURALS, always, h.Holds(says(of(always))))
        return rules.specialise(rules.assume(says(at)), every, at)

    def falls(self, first: Ratio, later: Ratio) -> Theorem:
        """Return ``rate(first) >= rate(first + later)``."""
        own, share = self.rate(first + later), 1 / (mu * (gamma + first))
        return sign(
            self.rate(first) - own,
            (self.exact(first, 1), share),
            (self.exact(first + later, -1), share),
        )

    def small(self) -> Theorem:
        """Return ``S rate(J) <= 1/2``."""
        eta = self.rate(J)
        at = (self.exact(J, -1), Fraction(1, 8)), (SMOOTH, mu * eta / 8)
        return sign(Fraction(1, 2) - S * eta, *at)

    @property
    def step(self) -> MeanStep:
        """The step of the mean model."""
        return MeanStep(self.walk, self.rate(J), self.small())

    def weight(self, at: Ratio) -> Ratio:
        """Return omega."""
        x = gamma + at
        return (x - 1) * (x - 2) * (x - 3)

    def way(self, first: Ratio) -> Ratio:
        """Return the polynomial in i above ``weight rate(first)^2``."""
        return 16 / mu**2 * (gamma + first + 7 * of(i))

    def level(self, period: Ratio, first: Ratio) -> Theorem:
        """Return ``way - weight rate(first)^2 >= 0`` at iteration first + i."""
        at, y, eta = of(i), gamma + first, self.rate(first)
        made = rules.assume(constant(period - 1 - at))
        long = rules.assume(constant(gamma - period))
        inside = combine(long, made, target=constant(y - 1 - at))
        wide = self.weight(first + at)
        over_y = sign(y**2 * (y + 7 * at) - wide, (inside, at * (4 * y + at)))
        return sign(
            self.way(first) - wide * eta**2,
            (self.exact(first, -1), (4 + mu * y * eta) / mu**2 * (y + 7 * at)),
            (over_y, eta**2),
        )

    def total(self, period: Ratio, upto: Ratio) -> Ratio:
        """Return F, without the bound on the block."""
        late = (2 * period - 1) / 6 * (gamma + upto / 2)
        late = late + Fraction(7, 4) * period * (period - 1)
        return 16 / mu**2 * upto * (period - 1) * late

    def grows(self, period: Ratio) -> Theorem:
        """Return ``F(sq + r) - F(sq) >= sum_{i<r} i^2 way`` for r <= s."""
        y = gamma + period * of(q)
        return self._grows(period, 16 / mu**2 * y, 7 * 16 / mu**2)

    def grown(self) -> Theorem:
        """Return what an iteration adds to the potential at most, with D."""
        x, eta, one = gamma + J, self.rate(J), self.step
        wide, y, noise = self.weight(J), mu * x * eta, 8 * S / mu**2 * SINGLE
        less, most = (self.exact(J, way) for way in (-1, 1))
        return combine(
            (one.value_descent(0), x * wide),
            (one.steep(), x * wide * eta / 2),
            (self.positive(), wide * S**2 / (2 * mu) * (4 - y)),
            (derived.lowest(k.MEAN, one.middle), wide * (y - 4)),
            (less, wide / x * (4 + y) * noise / 16),
            target=gap(one.middle) * (wide * (x - 4))
            + constant((x - 2) * (x - 3) * noise)
            + self.walk.spread(J) * (2 * S**2 / mu * wide)
            - gap(self.walk.middle(J + 1)) * (x * wide),
            signs=[sign(wide * (y - 4), (most, wide)), sign(4 - y, less)],
        )

    def last_gap(self) -> Theorem:
        """Return the gap after T iterations."""
        x, end = (self.weight(at) * (gamma + at - 4) for at in (J, T))
        left = gap(self.walk.middle(J)) * x
        return combine((self.over_steps(self.grown(), left, 2 * S**2 / mu), 1 / end))
