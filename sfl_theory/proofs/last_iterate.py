r"""General convex: the gap of the last model, after one round more in the analysis.

A round brings the model nearer to every y that is known before it,

.. math:: E\|x^{t+1}-y\|^2\le E\|x^t-y\|^2-2\theta(f(x^t)-f(y))+\epsilon_t,

:math:`\theta=\eta^t\tau`, :math:`\epsilon_t=c_1\theta^2G^2+Sc_d\theta^3G^2`. So with
weights :math:`c_s=b_{s+1}-b_s\ge0` the number
:math:`P_t=b_0\|x^t-x^*\|^2+\sum_{s<t}c_s\|x^t-x^s\|^2` changes by at most
:math:`-2\theta(b_{t+1}\phi_t-A_t)+b_{t+1}\epsilon_t`, :math:`\phi_t=f(x^t)-f^*`,
:math:`A_t=\sum_{s\le t}c_s\phi_s`. If :math:`b_t\rho_t=1`,
:math:`\rho_t=\eta^t+\dots+\eta^T`, the middle term is
:math:`2\tau(\rho_{t+1}A_t-\rho_tA_{t-1})` and telescopes; round T leaves
:math:`2\tau\phi_T`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Sort, ratio
from sfl_theory.kernel.rules import Replaceable, Theorem
from sfl_theory.kernel.terms import Lin, Rate, Variable, constant, norm2, number_at
from sfl_theory.proofs import derived
from sfl_theory.proofs import reference_models as ref
from sfl_theory.proofs.local_steps import G2, S, now, t
from sfl_theory.proofs.notation import Squares, Uses, combine, positive, steps, sum_over
from sfl_theory.proofs.reference_models import STEP, References, cost, gap, model, s
from sfl_theory.proofs.weighted_rounds import BEST, T, Weighted, eta, tau

# From the first round to the last one ------------------------------------------------


def before(a: Weighted, w: References, upper: Ratio) -> Lin:
    """Return ``A = sum_{s<upper} c_s (f(x_s) - f*)``."""
    return w.over(upper, gap(a, STEP))


def joined(w: References, at: Ratio, size: Theorem) -> Theorem:
    """Return ``sum_{s<at} c_s y + c_at y(at) - sum_{s<at+1} c_s y >= 0``."""
    return combine((rules.split(s, size.form * w.c(STEP), at, ratio(1)), -1))


def square(a: Weighted, at: Ratio) -> Theorem:
    """Return ``||x(at) - x(s)||^2 >= 0``."""
    return combine((model(a, at) - model(a, STEP), 1))


def nothing(w: References, form: Lin) -> Theorem:
    """Return ``sum_{s<0} c_s form = 0``."""
    return rules.split(s, form * w.c(STEP), ratio(0), ratio(0))


def with_rate(
    w: References, uses: Uses, squares: Squares, target: Lin, signs: Iterable[Theorem]
) -> Theorem:
    """Return a combination for the references' rate in place of eta(t)."""
    if w.rate is None:
        return combine(*uses, *squares, target=target, signs=signs)
    new = Rate(w.rate)
    by: dict[Variable, k.Replacement] = {ref.RATE: new}
    values: tuple[tuple[Replaceable, Rate], ...] = ((ref.RATE, new),)
    return combine(
        *[
            (rules.instantiate(theorem, values, ()), number_at(ratio(c), by))
            for theorem, c in uses
        ],
        *[(k.vec_at(u, by), number_at(ratio(c), by)) for u, c in squares],
        target=k.lin_at(target, by),
        signs=signs,
    )


@cache
def grown(a: Weighted, w: References) -> Theorem:
    """Return how P and A change in a round that is not the last one.

    ``P(t+1) + 2 tau (rho(t+1) A(t+1) - rho(t) A(t)) <= P(t) + b(t+1) cost``.
    """
    up, c, b = now + 1, w.c(now), w.share(now + 1)
    rho, later = w.left(now), w.left(now + 1)
    return with_rate(
        w,
        [
            (ref.one_round(a, w, up), 1),
            (w.telescoped(gap(a, now), up), 2 * eta * tau),
            (w.telescoped(constant(cost(a)), up), -1),
            (joined(w, now, square(a, now)), 1),
            (joined(w, now, ref.lowest(a, STEP)), 2 * tau * rho),
            (
                w.summed(ref.lowest(a, STEP), up),
                2 * tau * (rho - later - eta),
            ),
            (ref.lowest(a, now), 2 * tau * (eta * b - rho * c)),
        ],
        [],
        ref.away(a, w, now, now)
        - ref.away(a, w, up, up)
        - (before(a, w, up) * later - before(a, w, now) * rho) * (2 * tau)
        + constant(b * cost(a)),
        [w.sums, w.falls, w.positive],
    )


@cache
def last_gap(a: Weighted, w: References) -> Theorem:
    """Return the gap of x(T).

    ``2 tau (f(x(T)) - f*) <= b(0) ||x(0) - x*||^2 + sum_{t<T} b(t+1) cost(t)
    + b(T) cost(T)``.
    """
    zero = ratio(0)
    end: dict[Variable, k.Replacement] = {t: T}
    b, rate = w.share(T), number_at(eta, end)
    last_cost = constant(number_at(cost(a), end))
    rho = before(a, w, now) * w.left(now)
    rounds = constant(w.share(now + 1) * cost(a))
    return with_rate(
        w,
        [
            (sum_over(grown(a, w), steps(T), t), 1),
            (derived.telescope(t, ref.away(a, w, now, now), T), 1),
            (derived.telescope(t, rho, T), 2 * tau),
            (nothing(w, norm2(model(a, zero) - model(a, STEP))), 1),
            (nothing(w, gap(a, STEP)), 2 * tau * w.left(zero)),
            (
                rules.instantiate(ref.one_round(a, w, now), ((t, T),), ()),
                1,
            ),
            (w.telescoped(gap(a, T), T), 2 * rate * tau),
            (w.telescoped(last_cost, T), -1),
            (w.summed(square(a, T + 1), T), 1),
            (
                w.summed(ref.lowest(a, STEP), T),
                2 * tau * (w.left(T) - rate),
            ),
            (ref.lowest(a, T), 2 * tau * (rate * b - 1)),
        ],
        [(model(a, T + 1) - BEST, w.share(zero))],
        norm2(model(a, zero) - BEST) * w.share(zero)
        + k.summed(steps(T), t, rounds)
        + last_cost * b
        - gap(a, T) * (2 * tau),
        w.ends,
    )


# Constant rates ----------------------------------------------------------------------

e = positive("eta")


def inverse(at: Ratio) -> Ratio:
    """Return ``k(t)``, for ``1/(T + 1 - t)``."""
    return k.symbol(k.PerRound(k.RoundFamily("k", Sort.POSITIVE), k.natural(at)))


@cache
def constant_rate() -> References:
    """Return the references for the rate e in every round: ``b(t) = k(t)/e``."""
    made = rules.assume(constant(T - 1 - now))
    share, later = (T + 1 - now) * inverse(now), (T - now) * inverse(now + 1)
    none = combine(target=constant(0))
    return References(
        share=lambda at: inverse(at) / e,
        left=lambda at: e * (T + 1 - at),
        rises=lambda at: combine((
            rules.assume(constant(inverse(at + 1) - inverse(at))),
            1 / e,
        )),
        sums=none,
        falls=rules.assume(constant(share - later)),
        positive=combine((made, e), target=constant(e * (T + 1 - now))),
        ends=(none, rules.assume(constant(inverse(T) - 1))),
        rate=e,
    )


def last_gap_at_constant_rate(a: Weighted) -> Theorem:
    """Return the gap of x(T) at the rate e in every round.

    ``f(x(T)) - f* <= I/(2 e tau (T + 1)) + (c1 e tau G2/2 + S cd e^2 tau^2 G2/2)
    (1 + sum_{t<T} k(t+1))``.
    """
    small = 1 - (T + 1) * inverse(ratio(0))
    first, once = (rules.assume(constant(c)) for c in (small, 1 - inverse(T)))
    by: dict[Variable, k.Replacement] = {ref.RATE: Rate(e)}
    start = k.vec_at(model(a, ratio(0)) - BEST, by)
    size = number_at(cost(a), by) / (2 * e * tau)
    return combine(
        (last_gap(a, constant_rate()), 1 / (2 * tau)),
        (once, size),
        (start, small / (2 * e * tau * (T + 1))),
        signs=[first],
    )


# Rates that fall linearly to the last round need no logarithm -------------------------
#
# With eta(t) = e0 (T+1-t)/(T+1) the rates from round t on add up to rho(t) =
# e0 (T+1-t)(T+2-t)/(2(T+1)). Sums over rounds have no denominators that depend on the
# round, so k(t) stands for 1/(T+2-t).

e0 = positive("eta0")
"""The rate of the first round."""
MADE = rules.assume(constant(T - 1 - now))
LONG = combine(MADE, target=constant(T + 1 - now))
k1, k2 = inverse(now + 1), inverse(now + 2)
LAST = number_at(eta, {t: T})
"""The rate of round T."""


def holds(c: Ratio) -> Theorem:
    """Return ``c >= 0``, assumed."""
    return rules.assume(constant(c))


SLOW = holds(e0 * (T + 1 - now) - (T + 1) * eta)
FAST = holds((T + 1) * eta - e0 * (T + 1 - now))
FIRST, SECOND = holds(1 - (T + 1 - now) * k1), holds(1 - (T - now) * k2)
"""The rates of rounds before T are what was said, and so are k(t+1) and k(t+2)."""


def share(at: Ratio) -> Ratio:
    """Return ``b(t) = 1/rho(t)``."""
    return 2 * (T + 1) / e0 * inverse(at) * inverse(at + 1)


def rises(at: Ratio) -> Theorem:
    """Return ``b(t) <= b(t + 1)``."""
    more = holds(inverse(at + 2) - inverse(at))
    return combine((more, 2 * (T + 1) / e0 * inverse(at + 1)))


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
    return e0 * (T + 1 - at) * (T + 2 - at) / (2 * (T + 1))


def long_enough() -> Theorem:
    """Return ``eta(T) b(T) >= 1``."""
    k0, k_ = inverse(T), inverse(T + 1)
    return combine(
        (holds(k_ - 1), 2 * (T + 1) * LAST * k0 / e0),
        (holds(2 * k0 - 1), (T + 1) * LAST / e0),
        (holds((T + 1) * LAST - e0), 1 / e0),
    )


@cache
def linear_decay() -> References:
    """Return the references for these rates."""
    size = e0 * (T + 2 - now) / (2 * (T + 1))
    longer = combine((LONG, e0 / (2 * (T + 1))), target=constant(size))
    return References(
        share=share,
        left=left,
        rises=rises,
        sums=combine((SLOW, 1 / (T + 1))),
        falls=falls(),
        positive=combine((LONG, size), signs=[longer]),
        ends=(holds(e0 - (T + 1) * LAST), long_enough()),
    )


def once(power: int) -> Theorem:
    """Return ``b(t+1) eta^2 <= 2e/(T+1) (1 + k2)``, or of eta^3 and the rate."""
    b, size = share(now + 1), 2 * e0 / (T + 1)
    square = combine(
        (holds(e0 - (T + 1) * k1 * eta), 2 * k2 * eta / e0),
        (SLOW, 2 * k2 / (T + 1)),
        (SECOND, size),
        target=constant(size * (1 + k2) - b * eta**2),
    )
    if power == 2:
        return square
    return combine(
        (square, eta),
        (SLOW, size * (1 + k2) / (T + 1)),
        (SECOND, size * e0 / (T + 1)),
        target=constant(size * e0 / (T + 1) * (T + 2 - now + k2) - b * eta**3),
    )


def at_last(power: int) -> Theorem:
    """Return ``b(T) eta(T)^2 <= e0/(T+1)``, or of eta(T)^3 and the rate e0/(T+1)."""
    b, size = share(T), e0 / (T + 1)
    small = holds(e0 - (T + 1) * LAST)
    square = combine(
        (holds(1 - inverse(T + 1)), 2 * (T + 1) / e0 * inverse(T) * LAST**2),
        (holds(1 - 2 * inverse(T)), (T + 1) / e0 * LAST**2),
        (small, LAST / e0 + 1 / (T + 1)),
        target=constant(size - b * LAST**2),
    )
    if power == 2:
        return square
    return combine((square, LAST), (small, size / (T + 1)))


def at_start() -> Theorem:
    """Return ``b(0) <= 2/(e0 (T + 2))``."""
    k0, k_ = inverse(ratio(0)), inverse(ratio(1))
    return combine(
        (holds(1 - (T + 1) * k_), 2 / e0 * k0),
        (holds(1 - (T + 2) * k0), 2 / (e0 * (T + 2))),
        target=constant(2 / (e0 * (T + 2)) - share(ratio(0))),
    )


def last_gap_at_falling_rates(a: Weighted) -> Theorem:
    """Return the gap of x(T), H = sum_{t<T} k(t+2).

    ``f(x(T)) - f* <= I/(e0 tau (T + 2)) + c1 tau e0 G2 (T + 1/2 + H)/(T + 1)
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
