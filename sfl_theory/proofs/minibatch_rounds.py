r"""The distance to the optimum after T rounds of MiniBatch-SFL.

With :math:`c(x)=(x-1)(x-2)(x-3)(x-4)` and :math:`P(x)=x^3-10x^2+35x-50`,
:math:`c\Delta+\frac{4S}\mu(K-j)(x-1)(x-2)(x-3)D-P\frac{4V}{3\mu^2}` does not grow.
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

V = R2 + (K - 1) * B


def falling(x: Ratio) -> Ratio:
    """Return ``c(x)``, for which ``c(x+1) (1 - 4/x) = c(x)``."""
    return (x - 1) * (x - 2) * (x - 3) * (x - 4)


def noisy(x: Ratio) -> Ratio:
    """Return ``P(x) <= c(x)/x``, for which ``P(x+1) - P(x) >= 3 c(x+1)/x^2``."""
    return x**3 - 10 * x**2 + 35 * x - 50


def weighted(d: Lin, x: Ratio) -> Lin:
    """Return ``c(x) Delta - P(x) 4V/(3 mu^2)``."""
    return d * falling(x) - constant(noisy(x) * 4 * V / (3 * mu**2))


def potential(step_: Ratio) -> Lin:
    """Return ``Phi``."""
    x = clock(step_)
    near = 4 * S / mu * (K - step_) * (x - 1) * (x - 2) * (x - 3)
    return weighted(distance(step_), x) + spread(step_) * near


@cache
def small() -> Theorem:
    """Return ``4S/mu r <= (K - 1)(x - 3)``."""
    x = clock(J)
    smooth = rules.assume(constant(gamma - 8 * S / mu + 1))
    ratio_ = combine([(smooth, ratio(1) / 8)], target=constant(gamma / 7 - S / mu))
    return combine(
        [
            (ratio_, 4 * r),
            (LEFT, 4 * (x - gamma) / 7 + 3 * (x - 7) / 7),
        ],
        target=constant((K - 1) * (x - 3) - 4 * S / mu * r),
        signs=[sign(4 * r, (LEFT, 4))],
    )


def spare() -> Theorem:
    """Return that what is left of D is not negative, times 2K."""
    x = clock(J)
    number = (x - 3) * (J + 1) + r * (2 * K - 3)
    return combine(
        [(rules.square(r - 1), 2), (LEFT, 3 + 2 * J)], target=constant(number)
    )


@cache
def grown() -> Theorem:
    """Return ``Phi' <= Phi``."""
    x = clock(J)
    low, rate_ = (x - 1) * (x - 2), 4 / (mu**2 * x**2)
    later = 4 * S / mu * r * x * low
    left = 2 * S / mu * low / K
    kept = ((x - 3) * (J + 1) + r * (2 * K - 3)) * left
    return combine(
        [
            (from_7(descent()), x * low * (x - 3)),
            (from_7(drift()), later),
            (small(), rate_ * B * x * low),
            (over(combine(squares=[(apart(J), 1)])), kept),
        ],
        target=potential(J) - potential(J + 1),
        signs=[
            sign(later, (LEFT, 4 * S / mu * x * low)),
            sign(kept, (spare(), left)),
        ],
    )


@cache
def one_round() -> Theorem:
    """Return that ``c ||x(t) - x*||^2 - P 4V/(3 mu^2)`` does not grow in a round."""
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
        (same_start(), 4 * S / mu * K * (x0 - 1) * (x0 - 2) * (x0 - 3)),
        (of_all(starts(m, first), m, seen, first), -falling(x0)),
        (ends(last), falling(x1)),
    ])


@cache
def rounds() -> Theorem:
    """Return ``||x(T) - x*||^2 <= (4V/(3mu^2) + gamma ||x(0) - x*||^2)/(gamma+KT)``."""
    T = count("T")
    end = gamma + K * T

    def level(at: Ratio) -> Lin:
        return weighted(norm2(iterate(RUN, at) - BEST), gamma + K * at)

    whole = combine([
        (sum_over(one_round(), steps(T), t), 1),
        (rules.telescope(t, level(now), T), 1),
    ])
    start = iterate(RUN, 0) - BEST
    share = 1 / falling(end)
    target = (norm2(start) * gamma + constant(4 * V / (3 * mu**2))) * (1 / end)
    return combine(
        [(whole, share)],
        [(start, gamma / end - falling(gamma) * share)],
        target=target - norm2(iterate(RUN, T) - BEST),
    )
