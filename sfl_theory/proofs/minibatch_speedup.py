r"""Without bounded gradients: noise over N, drift of order 1/steps^2.

Of MiniBatch-SFL, whose clients' blocks are apart, and of FedAvg: SFL-V1 whose sides
step together, so whole models are.

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
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import CLIENTS, Local, constant, norm2, part, weight
from sfl_theory.proofs import derived
from sfl_theory.proofs import minibatch_stepwise as st
from sfl_theory.proofs.counted_steps import counted, distance_ends, value_ends
from sfl_theory.proofs.foundations import cocoercive, monotone
from sfl_theory.proofs.mean_steps import SINGLE, MeanStep, gap
from sfl_theory.proofs.minibatch_stepwise import RUN, J, K, S, T, h, mu, n, now, r, x
from sfl_theory.proofs.notation import combine, mean, sign, steps, sum_over

HALF = ratio(Fraction(1, 2))
APART = mean(n, weight(n) * (1 - weight(n)) * st.sigma2)
TWICE = combine(st.MADE, (rules.square(r), 2))


# One step of the mean model, and of the local models ----------------------------------

YOUNG = Fraction(3, 4)
"""Young's c for gradients that are taken at local models."""


@cache
def step_of(kind: k.Kind) -> MeanStep:
    """Return the step of MiniBatch-SFL, or of SFL-V1 whose sides step together."""
    walk = st.WALK if kind.shared else counted(RUN.client)
    return MeanStep(walk, h, st.small())


def contraction(one: MeanStep) -> Theorem:
    """Return ``||d - h a||^2 <= (1 - mu h) ||d||^2``, a how gradients differ.

    Of a the block in which local models are apart.
    """
    walk, d, a = one.walk, one.walk.apart(J), one.gradient - one.there
    rest, p = 2 * h - S * h**2, one.walk.point(J)
    same = (
        (rules.blocks(a, a), h**2),
        (rules.blocks(a, d), -2 * h),
        (walk.server_same(a), -2 * h),
        (part(st.SERVER, a), h**2),
    )
    return combine(
        *(() if walk.alone else same),
        (cocoercive(Local(n), S, p, one.middle, mu), h**2),
        (monotone(Local(n), mu, p, one.middle), rest),
        (d, mu * (rest - h)),
        target=norm2(d) * (1 - mu * h) - norm2(d - walk.own(a) * h),
        signs=[
            sign(rest, (st.small(), h)),
            sign(mu * (rest - h), (st.small(), mu * h)),
        ],
    )


@cache
def drift(kind: k.Kind) -> Theorem:
    """Return ``r D' <= (r + 1/2)(1 - mu h) D + h^2 (r APART + (r + 2 r^2) delta^2)``.

    The mean of the clients' moves is subtracted, and with it the mean of their noises.
    Noise is orthogonal to a client's step seen from the mean of the clients' gradients:
    to what each has seen alone.
    """
    one = step_of(kind)
    walk, d, g, total = one.walk, one.walk.apart(J), one.gradient, one.total
    run, own, differs = walk.run, walk.own, one.there - one.total
    cost, kept = (r + 2 * r**2) * h**2, (r + HALF) * (1 - mu * h)
    seen, off = d - own(g - st.averaged(g)) * h, own(st.averaged(g) - total)
    blocks = ((rules.blocks(differs, differs), cost), (part(st.SERVER, differs), cost))
    from_f = combine(
        (contraction(one), r + HALF),
        (derived.heterogeneity(st.delta2, n, one.middle), cost),
        *(() if walk.alone else blocks),
        (d - own(g - one.there) * h + own(differs) * (2 * r * h), HALF),
        target=norm2(d) * kept
        + constant(cost * st.delta2)
        - norm2(d - own(g - total) * h) * r,
        signs=[sign(r + HALF, (st.MADE, 1)), sign(cost, (TWICE, h**2))],
    )
    moved, all_ = walk.moved(), st.averaged(walk.moved())
    new, after = d - own(moved) + own(all_), walk.apart(J + 1)
    square = combine(
        walk.step(n, after + new, -1),
        walk.mean_step(after + new, 1),
        (rules.blocks(moved if walk.alone else all_, after + new), -1),
        target=norm2(new) - norm2(after),
    )
    noise = k.noise(run, n, now, J)
    xi, side = own(noise), None if walk.alone else st.CLIENT
    zbar, weights = st.averaged(xi), weight(n) * (1 - weight(n))
    each = derived.variance(run, st.sigma2, n, now, J)
    if not walk.alone:
        each = combine(each, rules.blocks(noise, noise), (part(st.SERVER, noise), 1))
    return combine(
        (st.over(square), r),
        st.over(from_f),
        (st.of_mean(seen, off), 2 * r * h),
        (off, r * h**2),
        (st.over(derived.unbiased(run, n, now, J, own(seen))), 2 * r * h),
        (st.of_mean(seen, zbar), 2 * r * h),
        (st.of_mean(xi, zbar), -2 * r * h**2),
        (derived.of_steps(run, n, now, J, J, side), r * h**2),
        (
            sum_over(each, CLIENTS, n, weights, [rules.weight_below_one(n)]),
            r * h**2,
        ),
        target=walk.spread(J) * kept
        + constant((r * APART + (r + 2 * r**2) * st.delta2) * h**2)
        - walk.spread(J + 1) * r,
        signs=[sign(r * h**2, (st.MADE, h**2)), st.MADE],
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
        kind: whose steps they are.
    """

    form: Callable[[Ratio], k.Lin]
    least: Theorem
    step: Theorem
    kept: Theorem
    slope: Ratio
    more: Fraction
    apart: Ratio
    noise: Number
    kind: k.Kind = k.Kind.MINIBATCH

    @property
    def walk(self) -> st.Walk:
        """The run's steps."""
        return step_of(self.kind).walk

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
            (drift(self.kind), c * x * (x - 1)),
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
def distance(kind: k.Kind = k.Kind.MINIBATCH) -> Theorem:
    r"""Return the distance after n = KT steps.

    :math:`E=\gamma+n`: at most :math:`(\gamma-1)(\gamma-2)(\gamma-3)\Delta^0`,
    :math:`\frac4{\mu^2}n(\gamma-2+\frac{n-1}2)` times the noise of the mean and
    :math:`\frac{40S}{3\mu^3}n(K-1)` times :math:`\sum a_n(1-a_n)\sigma_n^2
    +\frac{4K+1}3\delta^2`, over :math:`(E-1)(E-2)(E-3)`.
    """
    step = step_of(kind)
    before = k.iterate(step.walk.run, now)
    one = Followed(
        step.walk.distance,
        combine((step.middle - st.BEST, 1)),
        step.descent(YOUNG),
        contracted(ratio(2), 1 + ratio(YOUNG)),
        2 * S / mu * (x - 1) * (x - 2),
        1 + 1 / YOUNG,
        Fraction(20, 3) * S / mu,
        1,
        kind,
    )
    ends = distance_ends(step.walk)
    return over_rounds(one.one_round(*ends), norm2(before - st.BEST))


@cache
def simple() -> Theorem:
    r"""Return the distance over :math:`E=\gamma+n`, from :math:`8S/\mu\le\gamma+1`.

    At most :math:`\gamma\Delta^0`, :math:`\frac4{\mu^2}` times the noise of the mean
    and :math:`\frac{176}{49\mu^2}(K-1)` times :math:`\sum a_n\sigma_n^2
    +(2K+1)\delta^2`.
    """
    low, steps_, end = st.gamma, K * T, st.gamma + K * T
    late = (end - 1) * (end - 2) * (end - 3)
    start, last = (k.iterate(RUN, at) - st.BEST for at in (ratio(0), T))
    level = mean(n, weight(n) * st.sigma2) + (2 * K + 1) * st.delta2
    noise = 4 / mu**2 * (SINGLE + Fraction(44, 49) * (K - 1) * level)
    apart = APART + (4 * K + 1) / 3 * st.delta2
    factor = Fraction(5, 3) * steps_ / (mu**2 * late)
    positive = sum_over(
        rules.weight_below_one(n), CLIENTS, n, weight(n) * st.sigma2 * factor
    )
    more = combine(target=constant(K - 1))
    return combine(
        distance(),
        (st.SMOOTH, factor * (K - 1) * apart),
        (start, low / end - (low - 1) * (low - 2) * (low - 3) / late),
        target=(norm2(start) * low + constant(noise)) * (1 / end) - norm2(last),
        signs=[combine((positive, K - 1), signs=[more])],
    )


# The gap itself -----------------------------------------------------------------------

KEPT = Fraction(7, 10)
"""Of the gradient at the mean model, in the mean of the local models' gradients."""


@cache
def value_descent() -> Theorem:
    """Return what a step makes of the gap at the mean model.

    ``gap' <= (1 - mu h (17/10 - 7/10 S h)) gap + 5/3 S^2 h D + S h^2/2 SINGLE``.
    """
    step = step_of(k.Kind.MINIBATCH)
    share = step.share(KEPT)
    return combine(
        step.value_descent(KEPT),
        (step.steep(), share),
        (st.over(combine((st.apart(J), 1))), Fraction(7, 6) * S**3 * h**2),
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
        derived.lowest(k.MEAN, st.middle(J)),
        value_descent(),
        contracted(1 + ratio(KEPT), ratio(KEPT)),
        Fraction(10, 3) * S**2 / mu * (x - 1) * (x - 2),
        Fraction(0),
        Fraction(20, 3) * S**2 / mu,
        S / 2,
    )
    start, end = value_ends(st.WALK)
    return over_rounds(one.one_round(start, end), gap(before))
