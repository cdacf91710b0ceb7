r"""The distance to the optimum after T rounds of MiniBatch-SFL.

:math:`\Phi=(x-1)(x-2)\Delta+A_jD` with :math:`A_j=\frac{4S}\mu(\gamma+Kt+K)(K-j)` grows
by at most :math:`4V/\mu^2` in a step.
"""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import (
    Lin,
    constant,
    iterate,
    norm2,
)
from sfl_theory.proofs.local_steps import S, m, now, t
from sfl_theory.proofs.minibatch import BEST, R2, gamma, mu
from sfl_theory.proofs.minibatch_steps import (
    LEFT,
    RUN,
    B,
    J,
    K,
    apart,
    clock,
    descent,
    distance,
    drift,
    ends,
    from_7,
    j,
    middle,
    of_all,
    over,
    point,
    r,
    same_start,
    spread,
    starts,
)
from sfl_theory.proofs.notation import (
    combine,
    count,
    sign,
    steps,
    sum_over,
)

X = gamma + K * now + K
V = R2 + (K - 1) * B * 8 / 7


def potential(step_: Ratio) -> Lin:
    """Return ``Phi``."""
    x = clock(step_)
    return distance(step_) * ((x - 1) * (x - 2)) + spread(step_) * (
        4 * S / mu * X * (K - step_)
    )


@cache
def small() -> Theorem:
    """Return ``4S/mu X r <= 8/7 (K - 1) x^2``."""
    x = clock(J)
    smooth = rules.assume(constant(gamma - 8 * S / mu + 1))
    long = rules.assume(constant(gamma - K))

    def positive(c: Ratio) -> Theorem:
        return sign(c * r, (LEFT, c))

    ratio_ = combine([(smooth, ratio(1) / 8)], target=constant(gamma / 7 - S / mu))
    return combine(
        [
            (ratio_, 4 * X * r),
            (long, gamma * r * 4 / 7),
            (LEFT, 4 * gamma * (K * now + 2 * J) / 7),
            (LEFT, 8 * x * (x - gamma) / 7),
        ],
        target=constant((K - 1) * x**2 * 8 / 7 - 4 * S / mu * X * r),
        signs=[positive(4 * X), positive(gamma * 4 / 7)],
    )


@cache
def grown() -> Theorem:
    """Return ``Phi' <= Phi + 4V/mu^2``."""
    x = clock(J)
    later = 4 * S / mu * X * r
    spare = 2 * S / mu * (r + 2 + X * (J + 1) / K) + later * 4 / x
    most = 4 * V / mu**2
    return combine(
        [
            (from_7(descent()), x * (x - 1)),
            (from_7(drift()), later),
            (small(), 4 * B / (mu**2 * x**2)),
            (over(combine(squares=[(apart(J), 1)])), spare),
        ],
        target=potential(J) + constant(most) - potential(J + 1),
        signs=[
            sign(later, (LEFT, 4 * S / mu * X)),
            sign(spare, (LEFT, 2 * S / mu + 16 * S * X / (mu * x))),
        ],
    )


@cache
def one_round() -> Theorem:
    """Return what ``(x-1)(x-2) ||x(t) - x*||^2`` grows by in a round."""
    zero, x, after = ratio(0), iterate(RUN, now), iterate(RUN, now + 1)
    whole = combine([
        (sum_over(grown(), steps(K), j), 1),
        (rules.telescope(j, potential(J), K), 1),
    ])
    seen = point(zero, m) - x
    first, last = middle(zero) + x - BEST * 2, middle(K) + after - BEST * 2
    x0, x1 = clock(0), clock(K)
    return combine([
        (whole, 1),
        (same_start(), 4 * S / mu * X * K),
        (of_all(starts(m, first), m, seen, first), -(x0 - 1) * (x0 - 2)),
        (ends(last), (x1 - 1) * (x1 - 2)),
    ])


@cache
def rounds() -> Theorem:
    """Return ``||x(T) - x*||^2 <= (4V/mu^2 + gamma ||x(0) - x*||^2)/(gamma + KT)``."""
    T = count("T")
    end = gamma + K * T

    def level(at: Ratio) -> Lin:
        x = gamma + K * at
        return norm2(iterate(RUN, at) - BEST) * ((x - 1) * (x - 2))

    whole = combine([
        (sum_over(one_round(), steps(T), t), 1),
        (rules.telescope(t, level(now), T), 1),
    ])
    start = iterate(RUN, 0) - BEST
    share = 1 / ((end - 1) * (end - 2))
    target = (norm2(start) * gamma + constant(4 * V / mu**2)) * (1 / end)
    spare = gamma / end - (gamma - 1) * (gamma - 2) * share
    return combine(
        [(whole, share)],
        [(start, spare)],
        target=target - norm2(iterate(RUN, T) - BEST),
    )
