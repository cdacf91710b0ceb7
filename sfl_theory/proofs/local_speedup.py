r"""FedAvg without bounded gradients: noise over N, drift of order 1/steps^2.

As `minibatch_speedup`, for SFL-V1 whose sides step together: whole models are apart.
Noise is known to be orthogonal only to sums of what each client has seen alone, so
beside it a client's step is seen from the mean of the clients' gradients, not from the
gradient of f at the mean model.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import CLIENTS, Local, constant, norm2, weight
from sfl_theory.proofs import derived, noises, unrolled
from sfl_theory.proofs import minibatch_stepwise as st
from sfl_theory.proofs.counted_steps import counted
from sfl_theory.proofs.foundations import cocoercive, monotone
from sfl_theory.proofs.mean_steps import MeanStep
from sfl_theory.proofs.minibatch_speedup import (
    APART,
    HALF,
    TWICE,
    YOUNG,
    Followed,
    contracted,
    over_rounds,
)
from sfl_theory.proofs.minibatch_stepwise import J, K, S, h, mu, n, now, over, r, x
from sfl_theory.proofs.notation import combine, sign, sum_over

WALK = counted(k.Kind.V1, st.RUN.client)
STEP = MeanStep(WALK, h, st.small())
d, g, there, total = WALK.apart(J), STEP.gradient, STEP.there, STEP.total
xi = k.noise(WALK.run, n, now, J)
SEEN = d - g * h + st.averaged(g) * h
"""A model after its step without noise, seen from the mean of all."""
COST = (r + 2 * r**2) * h**2


def contraction() -> Theorem:
    """Return ``||d - h a||^2 <= (1 - mu h) ||d||^2``, a how gradients differ."""
    a, rest = g - there, 2 * h - S * h**2
    return combine(
        (cocoercive(Local(n), S, WALK.point(J), STEP.middle, mu), h**2),
        (monotone(Local(n), mu, WALK.point(J), STEP.middle), rest),
        (d, mu * (rest - h)),
        target=norm2(d) * (1 - mu * h) - norm2(d - a * h),
        signs=[
            sign(rest, (st.small(), h)),
            sign(mu * (rest - h), (st.small(), mu * h)),
        ],
    )


def from_mean() -> Theorem:
    """Return ``r sum a ||d - h (g - mean g)||^2 <= (r + 1/2)(1 - mu h) D + ...``.

    What is added is ``h^2 (r + 2 r^2) delta^2``.
    """
    seen = d - g * h + total * h
    one = combine(
        (contraction(), r + HALF),
        (derived.heterogeneity(st.delta2, n, STEP.middle), COST),
        (d - (g - there) * h + (there - total) * (2 * r * h), HALF),
        target=norm2(d) * ((r + HALF) * (1 - mu * h))
        + constant(COST * st.delta2)
        - norm2(seen) * r,
        signs=[sign(r + HALF, (st.MADE, 1)), sign(COST, (TWICE, h**2))],
    )
    off = st.averaged(g) - total
    return combine(
        over(one),
        (st.of_mean(SEEN, off), 2 * r * h),
        (off, r * h**2),
        target=WALK.spread(J) * ((r + HALF) * (1 - mu * h))
        + constant(COST * st.delta2)
        - k.summed(CLIENTS, n, norm2(SEEN) * weight(n)) * r,
        signs=[sign(r * h**2, (st.MADE, h**2))],
    )


@cache
def drift() -> Theorem:
    """Return what a step makes of D, as `minibatch_speedup.drift` says."""
    run, own, all_ = WALK.run, WALK.moved(), st.averaged(WALK.moved())
    new, after = d - own + all_, WALK.apart(J + 1)
    square = combine(
        WALK.step(n, after + new, -1),
        (rules.blocks(own, after + new), -1),
        WALK.mean_step(after + new, 1),
        target=norm2(new) - norm2(after),
    )
    zbar = st.averaged(xi)
    weights, below = weight(n) * (1 - weight(n)), rules.weight_below_one(n)
    each = derived.variance(run, st.sigma2, n, now, J)
    return combine(
        (over(square), r),
        from_mean(),
        (over(unrolled.centred(run, n, now, J, SEEN)), 2 * r * h),
        (st.of_mean(SEEN, zbar), 2 * r * h),
        (st.of_mean(xi, zbar), -2 * r * h**2),
        (noises.of_steps(run, n, now, J, J), r * h**2),
        (sum_over(each, CLIENTS, n, weights, [below]), r * h**2),
        target=WALK.spread(J) * ((r + HALF) * (1 - mu * h))
        + constant((r * APART + (r + 2 * r**2) * st.delta2) * h**2)
        - WALK.spread(J + 1) * r,
        signs=[sign(r * h**2, (st.MADE, h**2)), st.MADE],
    )


@cache
def distance() -> Theorem:
    """Return `minibatch_speedup.distance` for FedAvg."""
    before, after = (k.iterate(WALK.run, at) for at in (now, now + 1))
    one = Followed(
        WALK.distance,
        combine((STEP.middle - st.BEST, 1)),
        STEP.descent(YOUNG),
        contracted(ratio(2), 1 + ratio(YOUNG)),
        2 * S / mu * (x - 1) * (x - 2),
        1 + 1 / YOUNG,
        Fraction(20, 3) * S / mu,
        1,
        WALK,
        drift(),
    )
    start = WALK.start_of_mean(WALK.middle(ratio(0)) + before - st.BEST * 2)
    end = WALK.ends(WALK.middle(K) + after - st.BEST * 2)
    return over_rounds(
        one.one_round(combine((start, -1)), end), norm2(before - st.BEST)
    )
