r"""General convex: rates that fall linearly to the last round need no logarithm.

With :math:`\eta^t=e\frac{T+1-t}{T+1}` the rates from round t on add up to
:math:`\rho_t=\frac{e(T+1-t)(T+2-t)}{2(T+1)}`. Sums over rounds have no denominators
that depend on the round, so :math:`k^t` stands for :math:`\frac1{T+2-t}`.
"""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import constant, number_at
from sfl_theory.proofs.last_iterate import inverse, last_gap
from sfl_theory.proofs.local_steps import G2, S, now, t
from sfl_theory.proofs.notation import combine, positive, steps, sum_over
from sfl_theory.proofs.reference_models import References, model
from sfl_theory.proofs.weighted_rounds import BEST, T, Weighted, eta, tau

e = positive("eta0")
"""The rate of the first round is e."""
MADE = rules.assume(constant(T - 1 - now))
LONG = combine(MADE, target=constant(T + 1 - now))
k1, k2 = inverse(now + 1), inverse(now + 2)
LAST = number_at(eta, {t: T})
"""The rate of round T."""


def holds(c: Ratio) -> Theorem:
    """Return ``c >= 0``, assumed."""
    return rules.assume(constant(c))


SLOW = holds(e * (T + 1 - now) - (T + 1) * eta)
FAST = holds((T + 1) * eta - e * (T + 1 - now))
FIRST, SECOND = holds(1 - (T + 1 - now) * k1), holds(1 - (T - now) * k2)
"""The rates of rounds before T are what was said, and so are k(t+1) and k(t+2)."""


def share(at: Ratio) -> Ratio:
    """Return ``b(t) = 1/rho(t)``."""
    return 2 * (T + 1) / e * inverse(at) * inverse(at + 1)


def rises(at: Ratio) -> Theorem:
    """Return ``b(t) <= b(t + 1)``."""
    more = holds(inverse(at + 2) - inverse(at))
    return combine((more, 2 * (T + 1) / e * inverse(at + 1)))


def falls() -> Theorem:
    """Return ``rho(t) (b(t+1) - b(t)) <= eta(t) b(t+1)``."""
    near = holds((T + 2 - now) * inverse(now) - (T - now) * k2)
    return combine(
        (FAST, share(now + 1) / (T + 1)), (near, (T + 1 - now) * k1), signs=[LONG]
    )


def at_most_rounds() -> Theorem:
    """Return ``sum_{t<T} k(t+2) <= T``."""
    below_one = combine(SECOND, (MADE, k2), target=constant(1 - k2))
    return sum_over(below_one, steps(T), t)


def left(at: Ratio) -> Ratio:
    """Return ``rho(t)``."""
    return e * (T + 1 - at) * (T + 2 - at) / (2 * (T + 1))


def long_enough() -> Theorem:
    """Return ``eta(T) b(T) >= 1``."""
    k0, k_ = inverse(T), inverse(T + 1)
    return combine(
        (holds(k_ - 1), 2 * (T + 1) * LAST * k0 / e),
        (holds(2 * k0 - 1), (T + 1) * LAST / e),
        (holds((T + 1) * LAST - e), 1 / e),
    )


@cache
def linear_decay() -> References:
    """Return the references for these rates."""
    size = e * (T + 2 - now) / (2 * (T + 1))
    longer = combine((LONG, e / (2 * (T + 1))), target=constant(size))
    return References(
        share=share,
        left=left,
        rises=rises,
        sums=combine((SLOW, 1 / (T + 1))),
        falls=falls(),
        positive=combine((LONG, size), signs=[longer]),
        ends=(holds(e - (T + 1) * LAST), long_enough()),
    )


def once(power: int) -> Theorem:
    """Return ``b(t+1) eta^2 <= 2e/(T+1) (1 + k2)``, or of eta^3 and the rate."""
    b, size = share(now + 1), 2 * e / (T + 1)
    square = combine(
        (holds(e - (T + 1) * k1 * eta), 2 * k2 * eta / e),
        (SLOW, 2 * k2 / (T + 1)),
        (SECOND, size),
        target=constant(size * (1 + k2) - b * eta**2),
    )
    if power == 2:
        return square
    return combine(
        (square, eta),
        (SLOW, size * (1 + k2) / (T + 1)),
        (SECOND, size * e / (T + 1)),
        target=constant(size * e / (T + 1) * (T + 2 - now + k2) - b * eta**3),
    )


def at_last(power: int) -> Theorem:
    """Return ``b(T) eta(T)^2 <= e/(T+1)``, or of eta(T)^3 and the rate e/(T+1)."""
    b, size = share(T), e / (T + 1)
    small = holds(e - (T + 1) * LAST)
    square = combine(
        (holds(1 - inverse(T + 1)), 2 * (T + 1) / e * inverse(T) * LAST**2),
        (holds(1 - 2 * inverse(T)), (T + 1) / e * LAST**2),
        (small, LAST / e + 1 / (T + 1)),
        target=constant(size - b * LAST**2),
    )
    if power == 2:
        return square
    return combine((square, LAST), (small, size / (T + 1)))


def at_start() -> Theorem:
    """Return ``b(0) <= 2/(e (T + 2))``."""
    k0, k_ = inverse(ratio(0)), inverse(ratio(1))
    return combine(
        (holds(1 - (T + 1) * k_), 2 / e * k0),
        (holds(1 - (T + 2) * k0), 2 / (e * (T + 2))),
        target=constant(2 / (e * (T + 2)) - share(ratio(0))),
    )


def last_gap_at_falling_rates(a: Weighted) -> Theorem:
    """Return the gap of x(T), H = sum_{t<T} k(t+2).

    ``f(x(T)) - f* <= I/(e tau (T + 2)) + c1 tau e G2 (T + 1/2 + H)/(T + 1)
    + S cd tau^2 e^2 G2/2 (T^2 + 5T + 1 + 2H)/(T + 1)^2``.
    """
    start = at_start()
    powers = ((2, a.c1 * tau / 2 * G2), (3, S * a.cd * tau**2 / 2 * G2))
    return combine(
        (last_gap(a, linear_decay()), 1 / (2 * tau)),
        *((sum_over(once(power), steps(T), t), c) for power, c in powers),
        *((at_last(power), c) for power, c in powers),
        (model(a, ratio(0)) - BEST, rules.number_of(start.form) / (2 * tau)),
        signs=[start],
    )
