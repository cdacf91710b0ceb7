r"""SFL-V1 on one counter of iterations, each side averaged at its own period s.

Iteration j has the rate :math:`\eta_j`. What side b of a client's model is away from
the mean x(j) is a path of less than s steps since the side's last mean, so that
:math:`D\le\eta_j^2L`, :math:`L=\sum_bc_b^2(s_b-1)^2G_b^2`, if :math:`c_b\eta_j` is at
least the rate of the iteration of that mean. All else is a step of `mean_steps`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import prod

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.kernel.terms import CLIENTS, Lin, Side, Vec, constant, norm2, part
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs.mean_steps import SINGLE, ZERO, MeanStep, gap
from sfl_theory.proofs.minibatch_stepwise import (
    BEST,
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
T, G2 = count("T"), notation.nonnegative("G2")
q, i, since, always = nat("q"), nat("i"), nat("since"), nat("v")
W = k.Point("w")
w = k.vec(W)
NONE = rules.square(ZERO)


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


class Steps:
    """Iterations at one constant rate."""

    most = Fraction(1)
    """The largest S eta that is assumed."""
    modulus: Ratio | None = ZERO

    def rate(self, at: Ratio) -> Ratio:
        """Return the rate of an iteration."""
        return notation.positive("eta")

    def falls(self, first: Ratio, later: Ratio) -> Theorem:
        """Return ``rate(first) >= rate(first + later)``."""
        return NONE

    def factor(self, period: Ratio) -> Ratio:
        """Return c of a period."""
        return ratio(1)

    def slow(self, first: Ratio, period: Ratio) -> Theorem:
        """Return ``c rate(first + i) >= rate(first)``, i less than the period."""
        return NONE

    def small(self) -> Theorem:
        """Return ``S rate(J) <= most``."""
        return rules.assume(constant(self.most - S * self.rate(J)))

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
    def step(self) -> MeanStep:
        """The step of the mean model."""
        return MeanStep(self.walk, self.rate(J), self.small(), self.modulus)

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

    def block(self, side: Side) -> Theorem:
        """Return ``||[g_n(j)]_b||^2 <= G^2`` at iteration `since` after the last mean."""
        at = PERIODS[side] * of(q) + of(since)
        g = stochastic(self.walk.run, n, at, 0)
        other = part(Side.SERVER if side is Side.CLIENT else Side.CLIENT, g)
        joint = derived.bounded_gradient(self.walk.run, G2, n, at, ZERO)
        return combine(joint, rules.blocks(g, g), (other, 1))

    def level(self, side: Side) -> Ratio:
        """Return ``c^2 (s - 1)^2 G^2``."""
        return (self.factor(PERIODS[side]) * (PERIODS[side] - 1)) ** 2 * G2

    def away(self, side: Side) -> Theorem:
        """Return ``sum a ||[p - x]_b||^2 <= rate^2 level`` at iteration J."""
        walk, period = self.walk, PERIODS[side]
        first, at = period * of(q), period * of(q) + of(i)
        rate, last, own = map(self.rate, (first, at, first + of(since)))
        short = rules.assume(constant(period - 1 - of(i)))
        away = part(side, walk.point(at) - walk.middle(first))
        moves = part(side, walk.move(first + of(since), n))
        g = part(side, stochastic(walk.run, n, first + of(since), 0))
        one = combine(
            (self.block(side), own**2),
            (self.falls(first, of(since)), (rate + own) * G2),
            target=constant(rate**2 * G2) - norm2(g) * own**2,
        )
        total = k.summed(steps(of(i)), since, moves)
        moved = rules.counted_update(walk.run, n, of(q), of(i), side, away - total)
        near = self.factor(period) * last
        path = combine(
            (moved, -1),
            rules.jensen(steps(of(i)), since, ratio(1), moves),
            (sum_over(one, steps(of(i)), since), of(i)),
            (short, (period - 1 + of(i)) * rate**2 * G2),
            (self.slow(first, period), (near + rate) * (period - 1) ** 2 * G2),
            target=constant(last**2 * self.level(side)) - norm2(away),
        )
        mean = walk.middle(at) - walk.middle(first)
        mean = part(side, mean)
        same = rules.instantiate(self.mean_is(side), ((always, at), (W, mean)), ())
        found = combine(
            over(path),
            (of_mean(part(side, walk.point(at)), mean), -2),
            (same, -2),
            (mean, 1),
        )
        return rules.divided(found, q, i, period, j, self.apart(side, J))

    def apart(self, side: Side, at: Ratio) -> Lin:
        """Return ``rate^2 level - sum a ||[p - x]_b||^2``."""
        away = part(side, self.walk.point(at) - self.walk.middle(at))
        whole = k.summed(CLIENTS, n, norm2(away) * k.weight(n))
        return constant(self.rate(at) ** 2 * self.level(side)) - whole

    def drift(self) -> Theorem:
        """Return ``D <= rate^2 L``."""
        d = self.walk.apart(J)
        return combine(*map(self.away, Side), (over(rules.blocks(d, d)), -1))

    @property
    def spread(self) -> Ratio:
        """L."""
        return sum(map(self.level, Side), ratio(0))

    # At a constant rate: means over T iterations --------------------------------------

    def over_steps(self, gained: Theorem, form: Callable[[Vec], Lin]) -> Theorem:
        """Return the sum of what T iterations gain, at most the first form."""
        path = derived.telescope(j, form(self.walk.middle(J)), T)
        return combine(sum_over(gained, steps(T), j), path)

    def average_gap(self) -> Theorem:
        r"""Return the mean gap at any rate, convex functions.

        At most :math:`\frac{\Delta^0}{2\eta T}+\frac\eta2G^2+\frac{S\eta^2}2L`.
        """
        eta, last = self.rate(J), self.walk.middle(T) - BEST
        one = MeanStep(self.walk, eta, NONE, ZERO)
        gained = combine(one.bounded_descent(G2), (self.drift(), S * eta))
        whole, share = self.over_steps(gained, distance), 1 / (2 * eta * T)
        return combine((whole, share), (last, share))

    def average_gap_divided(self) -> Theorem:
        r"""Return the same with the noise of the mean, for :math:`S\eta\le\frac14`.

        At most :math:`\frac{\Delta^0}{\eta T}+\eta\sum_na_n^2\sigma_n^2
        +\frac32S\eta^2L`.
        """
        one, eta, last = self.step, self.rate(J), self.walk.middle(T) - BEST
        far = S * eta**2 * (1 + 2 * S * eta) * eta
        gained = combine(
            one.toward_best(1, ZERO),
            (self.drift(), far / eta**2),
            (one.small, 2 * S * eta**3 * self.spread),
            (derived.lowest(k.MEAN, one.middle), eta - 4 * S * eta**2),
            target=distance(one.middle)
            - distance(self.walk.middle(J + 1))
            - gap(one.middle) * eta
            + constant(eta**2 * (SINGLE + Fraction(3, 2) * S * eta * self.spread)),
            signs=[sign(eta - 4 * S * eta**2, (one.small, 4 * eta))],
        )
        whole, share = self.over_steps(gained, distance), 1 / (eta * T)
        return combine((whole, share), (last, share))

    def average_gradient(self) -> Theorem:
        r"""Return the mean squared gradient, for :math:`S\eta\le1`.

        At most :math:`\frac{2(f^0-f^*)}{\eta T}+S\eta\sum_na_n^2\sigma_n^2
        +S^2\eta^2L`.
        """
        one, eta = self.step, self.rate(J)
        gained = combine(one.value_descent(0), (self.drift(), S**2 * eta / 2))
        whole, share = self.over_steps(gained, gap), 2 / (eta * T)
        last = derived.lowest(k.MEAN, self.walk.middle(T))
        return combine((whole, share), (last, share))


def distance(u: Vec) -> Lin:
    """Return the squared distance to the minimiser."""
    return norm2(u - BEST)


# Rates that fall: the last gap --------------------------------------------------------


gamma = 8 + notation.nonnegative("g")
SMOOTH = rules.assume(constant(gamma - 8 * S / mu))


class Falling(Steps):
    r"""Rates with :math:`\mu x\eta=4`, :math:`x=\gamma+j`, which is assumed for all j.

    The gap times :math:`(x-1)(x-2)(x-3)(x-4)` grows in an iteration by at most
    :math:`\frac8{\mu^2}S(x-2)(x-3)\sum_na_n^2\sigma_n^2+\frac{32}{\mu^3}S^2
    (x-\frac92)L`.
    """

    most = Fraction(1, 2)
    modulus = mu

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

    def factor(self, period: Ratio) -> Ratio:
        """Return ``1 + (s - 1)/gamma``."""
        return 1 + (period - 1) / gamma

    def slow(self, first: Ratio, period: Ratio) -> Theorem:
        """Return ``c rate(first + i) >= rate(first)``, i less than the period."""
        last, x = self.rate(first + of(i)), gamma + first
        return sign(
            self.factor(period) * last - self.rate(first),
            (self.exact(first, -1), 1 / (mu * x)),
            (self.exact(first + of(i), 1), 1 / (mu * x)),
            (rules.assume(constant(period - 1 - of(i))), last / x),
        )

    def small(self) -> Theorem:
        """Return ``S rate(J) <= 1/2``."""
        eta = self.rate(J)
        at = (self.exact(J, -1), Fraction(1, 8)), (SMOOTH, mu * eta / 8)
        return sign(self.most - S * eta, *at)

    def grown(self) -> Theorem:
        """Return what an iteration adds to the potential at most."""
        x, eta, one = gamma + J, self.rate(J), self.step
        wide, y, L = (x - 1) * (x - 2) * (x - 3), mu * x * eta, self.spread
        noise, drift = 8 * S / mu**2 * SINGLE, 32 * S**2 / mu**3 * L
        return combine(
            (one.value_descent(0), x * wide),
            (one.steep(), x * wide * eta / 2),
            (self.drift(), x * wide * S**2 * eta / 2),
            (derived.lowest(k.MEAN, one.middle), wide * (y - 4)),
            (self.exact(J, -1), wide / x * (4 + y) * noise / 16),
            (self.exact(J, -1), wide / x**2 * (16 + 4 * y + y**2) * drift / 64),
            target=gap(one.middle) * (wide * (x - 4))
            + constant((x - 2) * (x - 3) * noise + (x - Fraction(9, 2)) * drift)
            - gap(self.walk.middle(J + 1)) * (x * wide),
            signs=[sign(wide * (y - 4), (self.exact(J, 1), wide))],
        )

    def last_gap(self) -> Theorem:
        """Return the gap after T iterations."""
        x, end = (prod((at - s for s in range(1, 5)), start=ratio(1)) for at in
                  (gamma + J, gamma + T))  # fmt: skip
        path = derived.telescope(j, gap(self.walk.middle(J)) * x, T)
        return combine((sum_over(self.grown(), steps(T), j), 1 / end), (path, 1 / end))
