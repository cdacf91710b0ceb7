r"""One step of the mean of the clients' models, and means over steps at one rate.

The step is `minibatch_stepwise.Walk`'s, of MiniBatch-SFL or of SFL-V1 whose sides step
together, or `one_clock.Clock`'s. :math:`\Delta` is the mean's squared distance, D how
far the models are apart, SINGLE the variance of the mean of the clients' noises, h the
rate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Exact, Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import CLIENTS, Local, Vec, constant, norm2, weight
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs import foundations as found
from sfl_theory.proofs.minibatch_stepwise import (
    BEST,
    J,
    S,
    Walk,
    averaged,
    mu,
    n,
    of_mean,
    over,
    sigma2,
)
from sfl_theory.proofs.notation import combine, mean, sign, sum_over

ZERO = ratio(0)
SINGLE = mean(n, weight(n) ** 2 * sigma2)


def gap(at: Vec) -> k.Lin:
    """Return ``f(at) - f*``."""
    return k.value_of(k.MEAN, at) - k.value_of(k.MEAN, BEST)


@dataclass(frozen=True)
class MeanStep:
    """Step j of round t.

    Attributes:
        walk: the run's local steps.
        h: the rate of the step.
        small: ``c - S h >= 0`` for a number c.
        modulus: mu, 0 for functions that are convex; clients' functions are majorised.
            None where they need not be convex, their gradients are Lipschitz.
    """

    walk: Walk
    h: Ratio
    small: Theorem
    modulus: Ratio | None = mu

    @property
    def gradient(self) -> Vec:
        """A client's gradient at its model."""
        return k.gradient(Local(n), self.walk.point(J))

    @property
    def there(self) -> Vec:
        """Its gradient at the mean model."""
        return k.gradient(Local(n), self.middle)

    @property
    def middle(self) -> Vec:
        """The mean of the clients' models."""
        return self.walk.middle(J)

    @property
    def total(self) -> Vec:
        """The gradient of f at the mean model."""
        return k.gradient(k.MEAN, self.middle)

    def fresh(self, known: Vec) -> Theorem:
        """Return ``<sum a xi, known> = 0`` for what is known before the step."""
        at = self.walk.run, n, *self.walk.at
        xi, each = k.noise(*at), derived.unbiased(*at, known)
        return combine(over(each), of_mean(xi, known))

    def noise(self) -> Theorem:
        """Return ``||sum a xi||^2 <= SINGLE``."""
        run, (round_, step) = self.walk.run, self.walk.at
        each = derived.variance(run, sigma2, n, round_, step)
        return combine(
            (derived.of_steps(run, n, round_, step, step), -1),
            sum_over(each, CLIENTS, n, weight(n) ** 2),
        )

    def _apart(self) -> Theorem:
        """Return ``||sum a grad F_n(p_n) - grad f||^2 <= S^2 D``."""
        g, there, point = self.gradient, self.there, self.walk.point(J)
        G, Gw = averaged(g), averaged(there)
        if self.modulus is None:
            each = derived.lipschitz(Local(n), S, point, self.middle)
        else:
            each = found.lipschitz(Local(n), S, point, self.middle, self.modulus)
        return combine(
            rules.jensen(CLIENTS, n, weight(n), g - there),
            rules.mean_gradient(self.middle, G * 2 - self.total - Gw),
            over(each),
        )

    def _toward(self, mu: Ratio) -> Theorem:
        """Return ``2h (gap - S/2 D) + mu h Delta <= 2h <sum a g, wbar - x*>``.

        The noise may be left out of g.
        """
        h, y, point = self.h, self.middle - BEST, self.walk.point(J)
        each = combine(
            derived.majorant(Local(n), S, point, self.middle),
            derived.convex(Local(n), mu, point, BEST),
        )
        return combine(
            (over(each), 2 * h),
            (of_mean(self.gradient, y), 2 * h),
            (rules.mean_value(self.middle), -2 * h),
            (rules.mean_value(BEST), 2 * h),
            (rules.jensen(CLIENTS, n, weight(n), point - BEST), mu * h),
        )

    def square(self) -> Theorem:
        """Return ``Delta' <= ||wbar - x* - sum a e||^2``."""
        walk, after = self.walk, self.walk.middle(J + 1) - BEST
        new = self.middle - BEST - averaged(walk.moved())
        return combine(
            walk.mean_step(after + new, -1), target=norm2(new) - norm2(after)
        )

    def toward_best(self, young: Exact, mu: Ratio) -> Theorem:
        """Return ``Delta' <= (1 - mu h) Delta - left gap + D's + h^2 SINGLE``.

        left is ``2h (1 - (1 + c) S h)``, D's factor ``S h (1 + (1 + 1/c) S h)``.

        Args:
            young: c.
            mu: the modulus.

        Returns:
            The bound.
        """
        walk, h, wbar, total = self.walk, self.h, self.middle, self.total
        y, G = wbar - BEST, averaged(self.gradient)
        below = wbar - total * (1 / S)
        near, far = (1 + 1 / Fraction(young)) * h**2, 2 * (1 + young) * S * h**2
        return combine(
            self.square(),
            (self.fresh(y - G * h), 2 * h),
            (self.noise(), h**2),
            self._toward(mu),
            (self._apart(), near),
            (found.majorant_of_mean(S, wbar, below), far),
            (derived.lowest(k.MEAN, below), far),
            (G - total * (1 + young), h**2 / young),
            target=walk.distance(J) * (1 - mu * h)
            - gap(wbar) * (2 * h - far)
            + walk.spread(J) * (S * h + near * S**2)
            + constant(SINGLE * h**2)
            - walk.distance(J + 1),
        )

    def descent(self, young: Exact) -> Theorem:
        """Return ``Delta' <= (1 - mu h (2 - (1 + c) S h)) Delta + ... D + h^2 SINGLE``.

        For (1 + c) S h <= 1. D has the factor ``S h (1 + (1 + 1/c) S h)``.

        Args:
            young: c.

        Returns:
            The bound.
        """
        left = 2 * self.h - 2 * (1 + young) * S * self.h**2
        return combine(
            self.toward_best(young, mu),
            (found.growth(mu, self.middle), left),
            signs=[sign(left, (self.small, 2 * (1 + young) * self.h))],
        )

    def bounded_descent(self, G2: Ratio, mu: Ratio = ZERO) -> Theorem:
        """Return ``Delta' <= (1 - mu h) Delta - 2h gap + S h D + h^2 G^2``."""
        run, h, y = self.walk.run, self.h, self.middle - BEST
        g = rules.stochastic(run, n, *self.walk.at)
        each = derived.bounded_gradient(run, G2, n, *self.walk.at)
        return combine(
            self.square(),
            (self.fresh(y), 2 * h),
            self._toward(mu),
            (rules.jensen(CLIENTS, n, weight(n), g), h**2),
            (over(each), h**2),
        )

    def near(self, kept: Exact) -> Ratio:
        """Return the factor of ``S^2 D`` in `value_descent`."""
        share = Fraction(kept) / (1 - kept)
        return self.h / 2 + self.h / 2 * (1 - S * self.h) * share

    def share(self, kept: Exact) -> Ratio:
        """Return the factor of the squared gradient in `value_descent`."""
        return self.h / 2 + self.h / 2 * (1 - S * self.h) * kept

    def value_descent(self, kept: Exact) -> Theorem:
        """Return ``gap' <= gap - share ||grad f||^2 + near S^2 D + S h^2/2 SINGLE``.

        Args:
            kept: of the gradient at the mean model, in the mean of the gradients.

        Returns:
            The bound, for S h <= 1.
        """
        walk, h, wbar, total = self.walk, self.h, self.middle, self.total
        G, after, e = averaged(self.gradient), walk.middle(J + 1), walk.moved()
        moved, rest = after - wbar, h / 2 * (1 - S * h)
        lipschitz = self.modulus is None
        above = found.smooth_mean if lipschitz else found.majorant_of_mean
        lost = 1 - Fraction(kept)
        return combine(
            above(S, wbar, after),
            walk.mean_step(total, -1),
            (walk.mean_step(moved - averaged(e), -1), S / 2),
            (self.fresh(total - G * (S * h)), h),
            (self.noise(), S * h**2 / 2),
            (self._apart(), self.near(kept)),
            (G - total * kept, rest / lost),
            target=gap(wbar)
            - norm2(total) * self.share(kept)
            + walk.spread(J) * (self.near(kept) * S**2)
            + constant(SINGLE * S * h**2 / 2)
            - gap(after),
            signs=[
                sign(rest / lost, (self.small, h / 2 / lost)),
                sign(self.near(kept), (self.small, h / 2 * kept / lost)),
            ],
        )

    def steep(self) -> Theorem:
        """Return ``||grad f||^2 >= 2 mu gap`` at the mean model."""
        wbar, total = self.middle, self.total
        return combine(
            (found.convex_mean(mu, wbar, BEST), 2 * mu),
            (total + (BEST - wbar) * mu, 1),
            target=norm2(total) - gap(wbar) * (2 * mu),
        )


# At a constant rate: means over all steps ---------------------------------------------

RATE, G2 = notation.positive("eta"), notation.nonnegative("G2")
FREE = rules.square(ZERO)
"""That says nothing of the rate."""


def distance(at: Vec) -> k.Lin:
    """Return the squared distance to the minimiser."""
    return norm2(at - BEST)


class Averaged(ABC):
    """The n steps of a run at the rate eta; F is what they are apart in all."""

    @property
    @abstractmethod
    def walk(self) -> Walk:
        """The steps."""

    @property
    @abstractmethod
    def made(self) -> Ratio:
        """The number n of steps."""

    @property
    @abstractmethod
    def last(self) -> Vec:
        """The model after them."""

    @abstractmethod
    def whole(
        self, gained: Theorem, form: Callable[[Vec], k.Lin], apart: Ratio
    ) -> Theorem:
        """Return the sum of what all steps gain, at most the first form.

        Args:
            gained: by a step, at most what it takes from the form of the mean model.
            form: of a model.
            apart: the factor of D in what is gained.

        Returns:
            The theorem, F for D.
        """

    def one(self, small: Theorem, modulus: Ratio | None = ZERO) -> MeanStep:
        """Return the step of the mean model."""
        return MeanStep(self.walk, RATE, small, modulus)

    def at_most(self, most: Fraction) -> Theorem:
        """Return ``S eta <= most``, an assumption."""
        return rules.assume(constant(most - S * RATE))

    def average_gap(self) -> Theorem:
        r"""Return the mean gap at any rate.

        At most :math:`\frac{\Delta^0}{2\eta n}+\frac\eta2G^2+\frac S{2n}F`.
        """
        one, share = self.one(FREE), 1 / (2 * RATE * self.made)
        whole = self.whole(one.bounded_descent(G2), distance, S * RATE)
        return combine((whole, share), (self.last - BEST, share))

    def average_gap_divided(self) -> Theorem:
        r"""Return the same with the noise of the mean, for :math:`S\eta\le\frac14`.

        At most :math:`\frac{\Delta^0}{\eta n}+\eta\sum_na_n^2\sigma_n^2
        +\frac{3S}{2n}F`.
        """
        one = self.one(self.at_most(Fraction(1, 4)))
        apart, share = Fraction(3, 2) * S * RATE, 1 / (RATE * self.made)
        less = sign(RATE - 4 * S * RATE**2, (one.small, 4 * RATE))
        fewer = sign(apart - S * RATE * (1 + 2 * S * RATE), (one.small, 2 * S * RATE))
        gained = combine(
            one.toward_best(1, ZERO),
            (derived.lowest(k.MEAN, one.middle), RATE - 4 * S * RATE**2),
            (self.positive(), rules.number_of(fewer.form)),
            signs=[less, fewer],
        )
        whole = self.whole(gained, distance, apart)
        return combine((whole, share), (self.last - BEST, share))

    def average_gradient(self) -> Theorem:
        r"""Return the mean squared gradient, for :math:`S\eta\le1`.

        At most :math:`\frac{2(f^0-f^*)}{\eta n}+S\eta\sum_na_n^2\sigma_n^2
        +\frac{S^2}nF`.
        """
        one, share = self.one(self.at_most(Fraction(1)), None), 2 / (RATE * self.made)
        whole = self.whole(one.value_descent(0), gap, S**2 * RATE / 2)
        return combine((whole, share), (derived.lowest(k.MEAN, self.last), share))

    def positive(self) -> Theorem:
        """Return ``D >= 0``."""
        return over(combine((self.walk.apart(J), 1)))
