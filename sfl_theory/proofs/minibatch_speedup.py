r"""MiniBatch-SFL without bounded gradients: noise over N, drift of order 1/steps^2.

The learning rate falls at every step, :math:`\eta=\frac2{\mu x}`,
:math:`x=\gamma+Kt+j`. :math:`\Delta` is the squared distance of the mean model
:math:`\bar w`, :math:`D=\sum_na_n\|p_n-\bar w\|^2` how far the local models are apart,
r = K - 1 - j how many steps of the round are left. A step grows
:math:`(x-1)(x-2)\big((x-3)\Delta+\frac{20S}{3\mu}(K-j)D\big)` by at most
:math:`4/\mu^2` times

.. math:: (x-2)\sum_na_n^2\sigma_n^2+\frac{20S}{3\mu}
    \Big(r\sum_na_n(1-a_n)\sigma_n^2+(r+2r^2)\delta^2\Big).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import CLIENTS, Local, constant, norm2, part, weight
from sfl_theory.proofs import derived
from sfl_theory.proofs import minibatch_stepwise as st
from sfl_theory.proofs.counted_steps import value_ends
from sfl_theory.proofs.foundations import cocoercive, monotone
from sfl_theory.proofs.mean_steps import SINGLE, MeanStep, gap
from sfl_theory.proofs.minibatch_stepwise import RUN, J, K, S, T, h, mu, n, now, r, x
from sfl_theory.proofs.notation import combine, mean, sign, steps, sum_over

HALF = ratio(Fraction(1, 2))
APART = mean(n, weight(n) * (1 - weight(n)) * st.sigma2)
LEVEL = APART + (4 * K + 1) / 3 * st.delta2
"""Noise and heterogeneity that drive the local models of a round apart."""
TWICE = combine(st.MADE, (rules.square(r), 2))


# One step of the mean model, and of the local models ----------------------------------

g, wbar, d = (
    k.gradient(Local(n), st.point(J)),
    st.middle(J),
    st.apart(J),
)
there, total = k.gradient(Local(n), wbar), k.gradient(k.MEAN, wbar)


YOUNG = Fraction(3, 4)
"""Young's c for gradients that are taken at local models."""


STEP = MeanStep(st.WALK, h, st.small())


@cache
def descent() -> Theorem:
    """Return ``Delta' <= (1 - mu h (2 - 7/4 S h)) Delta + ... D + h^2 SINGLE``.

    D has the factor ``S h (1 + 7/3 S h)``.
    """
    return STEP.descent(YOUNG)


def contraction() -> Theorem:
    """Return ``||d - h a_c||^2 <= (1 - mu h) ||d||^2``, a how gradients differ."""
    a = g - there
    rest, near = 2 * h - S * h**2, part(st.CLIENT, a)
    return combine(
        (rules.blocks(a, a), h**2),
        (rules.blocks(a, d), -2 * h),
        (st.WALK.server_same(a), -2 * h),
        (cocoercive(Local(n), S, st.point(J), wbar, mu), h**2),
        (monotone(Local(n), mu, st.point(J), wbar), rest),
        (part(st.SERVER, a), h**2),
        (d, mu * (rest - h)),
        target=norm2(d) * (1 - mu * h) - norm2(d - near * h),
        signs=[
            sign(rest, (st.small(), h)),
            sign(mu * (rest - h), (st.small(), mu * h)),
        ],
    )


@cache
def drift() -> Theorem:
    """Return ``r D' <= (r + 1/2)(1 - mu h) D + h^2 (r APART + (r + 2 r^2) delta^2)``.

    The mean of the clients' moves is subtracted, and with it the mean of their noises.
    """
    f, after = part(st.CLIENT, total), st.apart(J + 1)
    own, all_ = (
        part(st.CLIENT, st.move(J)),
        part(
            st.CLIENT,
            st.averaged(st.move(J)),
        ),
    )
    new = d - own + all_
    both = after + new
    square = combine(
        st.step(n, both, -1),
        st.mean_step(both, 1),
        (
            rules.blocks(st.averaged(st.move(J)), both),
            -1,
        ),
        target=norm2(new) - norm2(after),
    )
    e, z = (
        part(st.CLIENT, there - total),
        part(st.CLIENT, st.xi),
    )
    seen = d - part(st.CLIENT, g) * h + f * h
    noisy = seen - z * h
    mean_g = part(st.CLIENT, st.averaged(g) - total)
    differs = there - total
    one = combine(
        (contraction(), r + HALF),
        (
            derived.heterogeneity(st.delta2, n, wbar),
            (r + 2 * r**2) * h**2,
        ),
        (rules.blocks(differs, differs), (r + 2 * r**2) * h**2),
        (d - part(st.CLIENT, g - there) * h + e * (2 * r * h), HALF),
        (part(st.SERVER, differs), (r + 2 * r**2) * h**2),
        target=norm2(d) * ((r + HALF) * (1 - mu * h))
        + constant((r + 2 * r**2) * h**2 * st.delta2)
        - norm2(seen) * r,
        signs=[
            sign(r + HALF, (st.MADE, 1)),
            sign((r + 2 * r**2) * h**2, (TWICE, h**2)),
        ],
    )
    weights = weight(n) * (1 - weight(n))
    below = rules.weight_below_one(n)
    single = combine(
        derived.variance(RUN, st.sigma2, n, now, J),
        rules.blocks(st.xi, st.xi),
        (part(st.SERVER, st.xi), 1),
    )
    right = st.spread(J) * ((r + HALF) * (1 - mu * h))
    cost = (r * APART + (r + 2 * r**2) * st.delta2) * h**2
    return combine(
        (st.over(square), r),
        st.over(one),
        (
            st.over(derived.unbiased(RUN, n, now, J, part(st.CLIENT, seen))),
            2 * r * h,
        ),
        (st.fresh(mean_g), 2 * r * h**2),
        (st.uncorrelated(st.CLIENT, -1), r * h**2),
        (sum_over(single, CLIENTS, n, weights, [below]), r * h**2),
        (st.of_mean(noisy, all_ - f * h), 2 * r),
        (mean_g, r * h**2),
        target=right + constant(cost) - st.spread(J + 1) * r,
        signs=[
            sign(r * h**2, (st.MADE, h**2)),
            st.MADE,
        ],
    )


# Rounds -------------------------------------------------------------------------------


def scaled(at: Ratio, form: k.Lin) -> k.Lin:
    """Return ``(x - 1)(x - 2)(x - 3)`` times a form."""
    return form * ((at - 1) * (at - 2) * (at - 3))


def positive_apart() -> Theorem:
    """Return ``r APART >= 0``."""
    one = rules.weight_below_one(n)
    total_ = sum_over(one, CLIENTS, n, weight(n) * st.sigma2)
    return combine((total_, r), signs=[st.MADE])


def single_step() -> Theorem:
    """Return ``x (x - 1) u^2 <= 1``."""
    return combine((st.exact(-1), 1 + x * U), target=constant(1 - x * (x - 1) * U**2))


def contracted(whole: Ratio, lost: Ratio) -> Theorem:
    """Return ``(x - 1)(x - 2)(x mu h (whole - lost S h) - 3) >= 0``.

    For ``14 whole - 4 lost >= 21``.
    """
    wide = (x - 1) * (x - 2)
    return sign(
        wide * (x * mu * h * (whole - lost * S * h) - 3),
        (st.exact(1), 2 * whole * wide),
        (st.exact(-1), 2 * lost * S * h * wide),
        (st.small(), 2 * lost * wide),
    )


U = st.inverse(K * now + J)


@dataclass(frozen=True)
class Followed:
    """What is followed from step to step, beside how far the local models are apart.

    Attributes:
        form: it, as a form of the step.
        least: that it is not negative.
        step: what a step makes of it: a share is kept, `drift`, noise.
        kept: ``(x - 1)(x - 2)`` times x times what the share lacks to 1, less 3.
        slope, more: ``(x - 1)(x - 2)`` x times the factor of D in a step is
            ``slope x u (1 + more S h)``.
        apart: what D weighs in the potential, for every step that is left.
        noise: the factor of ``h^2 SINGLE``.
        walk, drift: the run's steps, and what one of them makes of D.
    """

    form: Callable[[Ratio], k.Lin]
    least: Theorem
    step: Theorem
    kept: Theorem
    slope: Ratio
    more: Fraction
    apart: Ratio
    noise: Number
    walk: st.Walk = st.WALK
    drift: Theorem = field(default_factory=drift)

    def potential(self, step_: Ratio) -> k.Lin:
        """Return `scaled` of it and ``apart (K - j)(x - 1)(x - 2) D``."""
        at = st.gamma + K * now + step_
        near = self.apart * (K - step_) * (at - 1) * (at - 2)
        return scaled(at, self.form(step_)) + self.walk.spread(step_) * near

    def grown(self) -> Theorem:
        """Return what a step adds to the potential at most.

        ``4/mu^2 (noise (x - 2) SINGLE + apart (r APART + (r + 2 r^2) delta^2))``.
        """
        c, cost, wide = self.apart, 4 / mu**2, (x - 1) * (x - 2)
        late = 2 * c * (x - 1) * (r + HALF)
        half = combine((st.MADE, 2 * c * (x - 1)), target=constant(late))
        spare = combine(
            (st.exact(-1), self.slope * (1 + self.more * S * h)),
            (st.small(), self.slope * self.more),
            (st.exact(1), late),
            signs=[half],
        )
        later = sign(c * x * (x - 1), (combine(target=constant(c * x * (x - 1))), 1))
        drift_cost = c * cost * (r * APART + (r + 2 * r**2) * st.delta2)
        noise = self.noise * cost * SINGLE * (x - 2)
        return combine(
            (self.step, x * wide),
            (self.drift, c * x * (x - 1)),
            (single_step(), noise),
            (single_step(), c * cost * r * APART),
            (single_step(), c * cost * (r + 2 * r**2) * st.delta2),
            (st.over(combine((self.walk.apart(J), 1))), rules.number_of(spare.form)),
            (self.least, rules.number_of(self.kept.form)),
            target=self.potential(J)
            + constant(noise + drift_cost)
            - self.potential(J + 1),
            signs=[spare, self.kept, positive_apart(), TWICE, later],
        )

    def one_round(self, start: Theorem, end: Theorem) -> Theorem:
        """Return what `scaled` of it grows by in a round.

        Args:
            start: that it is no larger at the first local step than before the round.
            end: that it is no larger after the round than at the last local step.

        Returns:
            The bound.
        """
        low, high = st.gamma + K * now, st.gamma + K * (now + 1)
        return combine(
            sum_over(self.grown(), steps(K), st.j),
            derived.telescope(st.j, self.potential(J), K),
            (self.walk.same_start(), self.apart * K * (low - 1) * (low - 2)),
            (start, (low - 1) * (low - 2) * (low - 3)),
            (end, (high - 1) * (high - 2) * (high - 3)),
        )


def over_rounds(one: Theorem, away: k.Lin) -> Theorem:
    """Return a distance after T rounds from what `scaled` of it grows by in one."""
    end = st.gamma + K * T
    whole = combine(
        sum_over(one, steps(T), st.t),
        derived.telescope(st.t, scaled(st.gamma + K * now, away), T),
    )
    return combine((whole, 1 / ((end - 1) * (end - 2) * (end - 3))))


@cache
def distance() -> Theorem:
    r"""Return the distance after n = KT steps.

    :math:`E=\gamma+n`: at most :math:`(\gamma-1)(\gamma-2)(\gamma-3)\Delta^0`,
    :math:`\frac4{\mu^2}n(\gamma-2+\frac{n-1}2)` times the noise of the mean and
    :math:`\frac{40S}{3\mu^3}n(K-1)` times `LEVEL`, over :math:`(E-1)(E-2)(E-3)`.
    """
    before, after = k.iterate(RUN, now), k.iterate(RUN, now + 1)
    one = Followed(
        st.from_best,
        combine((wbar - st.BEST, 1)),
        descent(),
        contracted(ratio(2), 1 + ratio(YOUNG)),
        2 * S / mu * (x - 1) * (x - 2),
        1 + 1 / YOUNG,
        Fraction(20, 3) * S / mu,
        1,
    )
    start = combine((st.start_of_mean(st.middle(ratio(0)) + before - st.BEST * 2), -1))
    end = st.ends(st.middle(K) + after - st.BEST * 2)
    return over_rounds(one.one_round(start, end), norm2(before - st.BEST))


# The gap itself -----------------------------------------------------------------------

KEPT = Fraction(7, 10)
"""Of the gradient at the mean model, in the mean of the local models' gradients."""


@cache
def value_descent() -> Theorem:
    """Return what a step makes of the gap at the mean model.

    ``gap' <= (1 - mu h (17/10 - 7/10 S h)) gap + 5/3 S^2 h D + S h^2/2 SINGLE``.
    """
    share = STEP.share(KEPT)
    return combine(
        STEP.value_descent(KEPT),
        (STEP.steep(), share),
        (st.over(combine((d, 1))), Fraction(7, 6) * S**3 * h**2),
        signs=[sign(share, (st.small(), h / 2 * KEPT))],
    )


@cache
def gap_after() -> Theorem:
    r"""Return the gap after n = KT steps.

    As `distance`, with the gap for the squared distance, :math:`\frac S2` times the
    noise and S times the drift.
    """
    before = k.iterate(RUN, now)
    one = Followed(
        lambda step: gap(st.middle(step)),
        derived.lowest(k.MEAN, wbar),
        value_descent(),
        contracted(1 + ratio(KEPT), ratio(KEPT)),
        Fraction(10, 3) * S**2 / mu * (x - 1) * (x - 2),
        Fraction(0),
        Fraction(20, 3) * S**2 / mu,
        S / 2,
    )
    start, end = value_ends(st.WALK)
    return over_rounds(one.one_round(start, end), gap(before))
