r"""One counter of steps whose rate falls at each: the distance after T rounds.

Step s = Kt + j + 1 has the rate :math:`\eta_s=\frac c{\mu x}`, :math:`x=\gamma+s-1`,
assumed as :math:`\mu x\eta_s=c`: sums over steps have no denominators that depend on
the step. Stochastic gradients are bounded, so that D, how far the clients' models are
apart before step j of a round, is at most :math:`(j\eta G)^2`, :math:`\eta` the rate of
the round's first step, where :math:`x=y`. With :math:`W=(x-1)\cdots(x-p+1)\le y^2P(j)`
the squared distance of the mean model times :math:`W(x-p)` grows in a step by at most

.. math:: \frac{c^2}{\mu^2}\Big(\frac W{x-1}\sum_na_n^2\sigma_n^2
    +\text{slope}\,G^2j^2P(j)\Big).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.kernel.terms import Lin, Vec, constant, norm2
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs import minibatch_stepwise as st
from sfl_theory.proofs.foundations import majorant_of_mean, smooth_mean
from sfl_theory.proofs.mean_steps import RATE, SINGLE, Averaged, MeanStep, distance, gap
from sfl_theory.proofs.minibatch_stepwise import J, K, S, T, Walk, mu, n, now, over
from sfl_theory.proofs.notation import combine, nat, of, sign, steps, sum_over

Above = Callable[[Ratio, Vec, Vec], Theorem]
gamma = 8 + notation.nonnegative("g")
G2 = notation.nonnegative("G2")
SMOOTH = rules.assume(constant(gamma - 8 * S / mu))
LONG = rules.assume(constant(gamma - K))
y = gamma + K * now
x = y + J
o, before = nat("o"), nat("before")
EARLY = of(before)


# The rate -----------------------------------------------------------------------------


def eta(at: Number) -> Ratio:
    """Return the rate of a step; steps count from 1."""
    return k.symbol(k.PerRound(k.RoundFamily("eta", Sort.POSITIVE), k.natural(at)))


def rate(at: Number) -> Ratio:
    """Return the rate of step `at` of round t."""
    return eta(K * now + at + 1)


def at_step(condition: Callable[[Ratio], Ratio], s: Ratio) -> Theorem:
    """Return ``condition(s) >= 0``, assumed for all natural numbers s >= 1.

    By induction over ``o condition(o) >= 0``, which says nothing at 0.
    """

    def claim(at: Ratio) -> Lin:
        return constant(at * condition(at))

    after = combine((rules.assume(constant(condition(of(o) + 1))), of(o) + 1))
    always = rules.induct(combine(target=claim(ratio(0))), after, o, claim(of(o)))
    there = rules.instantiate(always, ((o, s),), ())
    return combine((there, 1 / s), target=constant(condition(s)))


def counted(pace: k.AnyPace) -> Walk:
    """Return the local steps of SFL-V1 whose sides step together."""
    run = k.Split(k.Kind.V1, k.Participants.EVERYONE, pace, pace)

    def move(step: Ratio, client: k.Client = n) -> Vec:
        own = pace.outside(now) * pace.inside(now, step)
        return stochastic(run, client, now, step) * own

    return Walk(run, move)


FALLING = k.Stepwise(k.natural(K), k.Rate(eta(notation.of_round() + 1)))


# How far the models are apart ---------------------------------------------------------


def apart(walk: Walk, first: Ratio, own: Ratio, falls: Theorem) -> Theorem:
    """Return ``D <= (J first)^2 G^2`` before step J of a round.

    Args:
        walk: the run's local steps.
        first: the rate of the round's first step.
        own: that of step `before`.
        falls: ``first - own >= 0``.

    Returns:
        The bound.
    """
    run, g = walk.run, stochastic(walk.run, n, now, EARLY)

    away = walk.point(J) - k.iterate(run, now)
    mean_ = walk.middle(J) - k.iterate(run, now)
    total = k.summed(steps(J), before, walk.move(EARLY, n))
    seen = away - total
    one = combine(
        (derived.bounded_gradient(run, G2, n, now, EARLY), own**2),
        (falls, (first + own) * G2),
        target=constant(first**2 * G2) - norm2(g) * own**2,
    )
    each = combine(
        *((derived.local_update(run, n, now, J, side, seen), -1) for side in k.Side),
        (rules.blocks(away + total, seen), -1),
        rules.jensen(steps(J), before, ratio(1), g * own),
        (sum_over(one, steps(J), before), J),
        target=constant(J**2 * first**2 * G2) - norm2(away),
    )
    whole = combine(over(each), (st.of_mean(walk.point(J), mean_), -2), (mean_, 1))
    return rules.cut(whole, st.STARTED)


# What the potential grows by ----------------------------------------------------------


@dataclass(frozen=True)
class Falling:
    """Rates ``c/(mu x)``, with what they make of a step.

    Attributes:
        scale: c, 2 or 4.
        power: p, how fast what is there first is forgotten.
        young: Young's number of `MeanStep.descent`.
    """

    scale: int
    power: int
    young: Fraction

    @property
    def walk(self) -> Walk:
        """The local steps."""
        return counted(FALLING)

    @property
    def most(self) -> Fraction:
        """The largest S eta: as x >= 8 S/mu."""
        return Fraction(self.scale, 8)

    def exact(self, at: Ratio, way: int) -> Theorem:
        """Return ``way (mu x eta - c) >= 0`` at a step of the round."""
        return at_step(
            lambda s: way * (mu * (gamma - 1 + s) * eta(s) - self.scale),
            K * now + at + 1,
        )

    def falls(self) -> Theorem:
        """Return ``eta <= eta_first`` at step `before` of the round."""
        first, own = rate(0), rate(EARLY)
        return combine(
            (self.exact(ratio(0), 1), 1 / (mu * y)),
            (self.exact(EARLY, -1), 1 / (mu * y)),
            target=constant(first - own),
        )

    def small(self) -> Theorem:
        """Return ``S eta <= c/8``."""
        h = rate(J)
        return combine(
            (self.exact(J, -1), Fraction(1, 8)),
            (SMOOTH, mu * h / 8),
            target=constant(self.most - S * h),
        )

    @property
    def step(self) -> MeanStep:
        """The step of the mean model."""
        return MeanStep(self.walk, rate(J), self.small())

    def below(self, at: Ratio, first: int) -> Ratio:
        """Return ``(at - first)...(at - p)``."""
        return prod((at - q for q in range(first, self.power + 1)), start=ratio(1))

    @property
    def wide(self) -> Ratio:
        """W."""
        return prod((x - q for q in range(1, self.power)), start=ratio(1))

    @property
    def shape(self) -> Ratio:
        """P(j): ``W <= y^2 P``."""
        return {
            3: 1 + 3 * J / gamma,
            4: y + 7 * J,
            5: y**2 + 4 * J * y + 11 * J * K,
        }[self.power]

    def level(self) -> Theorem:
        """Return ``W eta_first^2 <= c^2/mu^2 P``."""
        first = rate(0)
        inside = combine(LONG, st.MADE, target=constant(y - 1 - J))
        left = {3: J, 4: J * (4 * y + J), 5: J * K * (5 * y + J)}[self.power]
        late = J * (6 * y**2 + 4 * J * y + J**2) if self.power == 5 else ratio(0)
        over_y = combine(
            (inside, left),
            (st.MADE, late),
            target=constant(y**2 * self.shape - self.wide),
        )
        fast = (self.scale + mu * y * first) / mu**2 * self.shape
        return combine(
            (self.exact(ratio(0), -1), fast),
            (over_y, first**2),
            target=constant(
                Fraction(self.scale**2) / mu**2 * self.shape - self.wide * first**2
            ),
        )

    @property
    def _more(self) -> Ratio:
        """D's factor in a step over S eta."""
        return 1 + (1 + 1 / self.young) * S * rate(J)

    @property
    def slope(self) -> Ratio:
        """What x times D's factor in a step is at most."""
        return self.scale * S / mu * (1 + (1 + 1 / self.young) * self.most)

    @property
    def noise(self) -> Ratio:
        """The factor of the noise of the mean."""
        return ratio(1)

    def form(self, u: Vec) -> Lin:
        """Return what is followed, of a model."""
        return norm2(u - st.BEST)

    def descended(self) -> tuple[Theorem, Theorem]:
        """Return what a step makes of the form, and that the form is >= 0."""
        return self.step.descent(self.young), combine((self.step.middle - st.BEST, 1))

    def kept(self) -> Theorem:
        """Return ``W (x (1 - the form's factor in a step) - p) >= 0``."""
        h, lost = rate(J), 1 + self.young
        return sign(
            self.wide * (x * mu * h * (2 - lost * S * h) - self.power),
            (self.exact(J, 1), 2 * self.wide),
            (self.exact(J, -1), lost * S * h * self.wide),
            (self.small(), self.scale * lost * self.wide),
        )

    def late(self) -> tuple[Ratio, Theorem]:
        """Return x W times D's factor in a step, and that it is at most W slope."""
        wide = self.wide * S / mu
        near = mu * x * rate(J) * wide * self._more
        return near, sign(
            self.slope * self.wide - near,
            (self.exact(J, -1), wide * self._more),
            (self.small(), wide * self.scale * (1 + 1 / self.young)),
        )

    def ends(self) -> tuple[Theorem, Theorem]:
        """Return that the form is no larger at the mean model as a round starts.

        And no larger for the model after it than at the last mean model.
        """
        return distance_ends(self.walk)

    def grown(self) -> Theorem:
        """Return what a step adds to the potential at most."""
        h, c, walk, first = rate(J), self.scale, self.walk, rate(0)
        cost, single = Fraction(c**2) / mu**2, self.wide / (x - 1)
        noisy = combine(
            (self.exact(J, -1), single / mu**2 * (c + mu * x * h)),
            target=constant(cost * single - x * self.wide * h**2),
        )
        drift = self.slope * G2 * J**2
        (step, least), kept, (near, late) = self.descended(), self.kept(), self.late()
        return combine(
            (step, x * self.wide),
            (apart(walk, first, rate(EARLY), self.falls()), near),
            (late, G2 * J**2 * first**2),
            (self.level(), drift),
            (noisy, SINGLE * self.noise),
            (least, rules.number_of(kept.form)),
            target=self.form(walk.middle(J)) * self.below(x, 1)
            + constant(cost * (SINGLE * self.noise * single + drift * self.shape))
            - self.form(walk.middle(J + 1)) * self.below(x + 1, 1),
            signs=[kept],
        )

    def one_round(self) -> Theorem:
        """Return what the potential grows by in a round."""
        start, end = self.ends()
        middle = self.form(self.walk.middle(J))
        return combine(
            sum_over(self.grown(), steps(K), st.j),
            derived.telescope(st.j, middle * self.below(x, 1), K),
            (start, self.below(y, 1)),
            (end, self.below(y + K, 1)),
        )

    def after(self) -> Theorem:
        """Return the form after T rounds."""
        away = self.form(k.iterate(self.walk.run, now)) * self.below(y, 1)
        whole = combine(
            sum_over(self.one_round(), steps(T), st.t),
            derived.telescope(st.t, away, T),
        )
        return combine((whole, 1 / self.below(gamma + K * T, 1)))


class FallingGap(Falling):
    """The gap itself, for c = p = 4. Young's number is not used."""

    @property
    def slope(self) -> Ratio:
        """What x times D's factor in a step is."""
        return self.scale * S**2 / (2 * mu)

    @property
    def noise(self) -> Ratio:
        """The factor of the noise of the mean."""
        return S / 2

    def form(self, u: Vec) -> Lin:
        """Return the gap."""
        return gap(u)

    def descended(self) -> tuple[Theorem, Theorem]:
        """Return ``gap' <= (1 - mu h) gap + S^2 h/2 D + S h^2/2 SINGLE``."""
        step = combine(self.step.value_descent(0), (self.step.steep(), rate(J) / 2))
        return step, derived.lowest(k.MEAN, self.step.middle)

    def kept(self) -> Theorem:
        """Return ``W (mu x eta - p) >= 0``."""
        wide = self.wide
        target = wide * (x * mu * rate(J) - self.power)
        return sign(target, (self.exact(J, 1), wide))

    def late(self) -> tuple[Ratio, Theorem]:
        """Return x W times D's factor in a step, and that it is at most W slope."""
        wide = self.wide * S**2 / (2 * mu)
        near = mu * x * rate(J) * wide
        return near, sign(self.slope * self.wide - near, (self.exact(J, -1), wide))

    def ends(self) -> tuple[Theorem, Theorem]:
        """Return the same of the gap."""
        return value_ends(self.walk)


def distance_ends(walk: Walk) -> tuple[Theorem, Theorem]:
    """Return what `Falling.ends` says, of the squared distance."""
    before, after = (k.iterate(walk.run, at) for at in (now, now + 1))
    start = walk.start_of_mean(walk.middle(ratio(0)) + before - st.BEST * 2)
    return combine((start, -1)), walk.ends(walk.middle(K) + after - st.BEST * 2)


def value_ends(walk: Walk, above: Above = majorant_of_mean) -> tuple[Theorem, Theorem]:
    """Return what `Falling.ends` says, of the value of f.

    Args:
        walk: the local steps.
        above: a quadratic above f.

    Returns:
        Both ends of a round.
    """
    before, after = (k.iterate(walk.run, at) for at in (now, now + 1))
    start, last = walk.middle(ratio(0)), walk.middle(K)
    return (
        no_higher(before, start, walk.start_of_mean, 1, above),
        no_higher(last, after, walk.ends, -1, above),
    )


def no_higher(
    p: Vec, q: Vec, same: Callable[[Vec], Theorem], way: int, above: Above
) -> Theorem:
    """Return ``f(q) <= f(p)`` where ``way <q - p, w> = 0`` for every w."""
    return combine(
        above(S, p, q),
        (same(k.gradient(k.MEAN, p)), -way),
        (same(q - p), -way * S / 2),
    )


# A constant rate: all steps of T rounds -----------------------------------------------
# D is at most (j eta G)^2 before step j of a round, F at most
# (K - 1)(2K - 1)/6 eta^2 G^2 n, n = KT.


class Rounds(Averaged):
    """T rounds of K steps."""

    walk = counted(k.Pace(k.natural(K), k.Rate(RATE)))
    made = K * T
    last = k.iterate(walk.run, T)

    def whole(
        self, gained: Theorem, form: Callable[[Vec], Lin], apart: Ratio
    ) -> Theorem:
        """Return the sum of what all steps gain; a round's ends raise no form."""
        walk, x = self.walk, k.iterate(self.walk.run, now)
        near = distance_ends(walk)
        ends = near if form is distance else value_ends(walk, smooth_mean)
        round_ = combine(
            sum_over(combine(gained, (self.drift(), apart)), steps(K), st.j),
            derived.telescope(st.j, form(walk.middle(J)), K),
            *ends,
        )
        return combine(
            sum_over(round_, steps(T), st.t), derived.telescope(st.t, form(x), T)
        )

    def drift(self) -> Theorem:
        """Return ``D <= (J eta G)^2``."""
        return apart(self.walk, RATE, RATE, combine(target=constant(0)))
