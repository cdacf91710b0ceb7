r"""From which round on a bound says more than was known before.

A bound above $f(x^0)-f^*$ promises less than not training at all; so does one above
what the assumptions give at any point, as $f-f^*\le\frac{G^2}{2\mu}$ does. The least of
these is the *floor*, and a bound is informative from the first T at which it lies
below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfl_theory import Bound, Constants, Metric, numeric, symbols
from sfl_theory.bound import LARGEST_ROUND, total
from sfl_theory.schedules import Schedule

LAST = 10**12
"""The search ends here."""

EXHAUSTIVE = 2**14
"""Up to here every round is looked at; beyond, a bisection finds the first one."""

LAST_SUMMED = 10**6
"""The search ends here where a sum over learning rates has no closed form."""


@dataclass(frozen=True)
class Floor:
    r"""What is known of a left side before any theorem.

    Attributes:
        value: in the unit of the unweighted quantity: $f-f^*$, $\|\nabla f\|^2$ or a
            squared distance.
        words: where it comes from.
    """

    value: float
    words: str


@dataclass(frozen=True)
class Informative:
    """From which round on a bound is informative.

    Attributes:
        first: the round, or None.
        words: the round, "never", or until where it is not.
    """

    first: int | None
    words: str


def floor(bound: Bound, constants: Constants) -> Floor | None:
    r"""Return the least that is known of a bound's left side without the bound.

    - $f-f^*$: $f(x^0)-f^*$; $\frac S2\|x^0-x^*\|^2$; with bounded gradients and strong
      convexity $\frac{G^2}{2\mu}$ at every point.
    - $\|\nabla f\|^2$: $2S(f(x^0)-f^*)\ge\|\nabla f(x^0)\|^2$; with bounded gradients
      $G^2$.
    - squared distance of a block: its initial value; with bounded gradients and strong
      convexity $\frac{G^2}{\mu^2}$.

    Args:
        bound: its metric and what it assumes decide which of these apply.
        constants: of the problem; what is absent gives nothing.

    Returns:
        The smallest of them, or None where none is known.
    """
    S, mu, gap = constants.S, constants.mu, constants.initial_gap
    G2 = {"G2": constants.G2, "R2": constants.R2}
    bounded = next((G2[name] for name in G2 if name in bound.needs), None)
    known: list[tuple[float | None, str]] = []
    key = bound.metric.quantity
    if key == "gap":
        known = [
            (gap, "f(x^0) - f*"),
            (_times(0.5, S, constants.initial_distance2), "S/2 ||x^0 - x*||^2"),
            (_times(0.5, bounded, _inverse(mu)), "G^2/(2 mu), at every point"),
        ]
    elif key == "gradient":
        known = [
            (_times(2, S, gap), "2 S (f(x^0) - f*) >= ||grad f(x^0)||^2"),
            (bounded, "G^2, at every point"),
        ]
    else:
        start = getattr(constants, f"initial_distance2_{key}", None)
        known = [
            (start, f"||x_{key[0]}^0 - x_{key[0]}*||^2"),
            (_times(1, bounded, _inverse(mu), _inverse(mu)), "G^2/mu^2"),
        ]
    found = [Floor(value, words) for value, words in known if value is not None]
    return min(found, key=lambda one: one.value, default=None)


def mean_rate(
    metric: Metric, rounds: NDArray[np.int64], schedule: Schedule
) -> NDArray[np.float64]:
    r"""Return $\frac1T\sum_{t<T}\eta^t$ where the metric is weighted by it, else ones.

    A weighted mean divided by this is a mean of gaps or of squared gradients, which can
    be drawn and compared beside others.

    Args:
        metric: of a bound.
        rounds: T, at least 1, shape (m,).
        schedule: the learning rate.

    Returns:
        The unit of the metric, shape (m,).
    """
    if not metric.weighted:
        return np.ones(rounds.shape)
    return np.asarray(schedule.accumulate(lambda eta: eta, rounds) / rounds)


def mean_floor(floors: Sequence[Floor | None]) -> Floor | None:
    """Return the mean of what is known of several runs, or None if one lacks it."""
    known = [one for one in floors if one is not None]
    if len(known) < len(floors):
        return None
    words = " or ".join(dict.fromkeys(one.words for one in known))
    return Floor(float(np.mean([one.value for one in known])), words)


def informative(
    bound: Bound,
    constants: Sequence[Constants],
    schedule: Schedule,
    known: Floor | None,
) -> Informative:
    r"""Return the first round at which a bound lies below the floor.

    Every T up to ``EXHAUSTIVE`` is evaluated. Beyond, the sums of powers of T that
    bounds are made of cross a constant once, so doubling and bisection find the first
    T exactly, up to ``LAST``.

    Args:
        bound: under test.
        constants: that it needs, of one problem; of several, whose bounds are averaged.
        schedule: learning rates for its sums.
        known: the floor.

    Returns:
        The round, or why there is none.
    """
    if known is None:
        return Informative(None, "no floor is known")
    if known.value == 0:
        return Informative(None, "never: the run starts at the minimum")
    if {"distance2_client", "distance2_server"} & {*bound.needs}:
        return Informative(None, "-")
    closed = schedule.value is not None or not (
        bound.sums_learning_rates or bound.metric.weighted
    )
    last = LAST if closed else LAST_SUMMED

    def below(rounds: NDArray[np.int64]) -> NDArray[np.bool_]:
        with np.errstate(over="ignore"):
            values = [total(bound.formula(one, rounds, schedule)) for one in constants]
            unit = mean_rate(bound.metric, rounds, schedule)
            return np.mean(values, axis=0) < known.value * unit

    every = np.arange(1, min(EXHAUSTIVE, last) + 1)
    found = below(every)
    if found.any():
        first = int(every[np.argmax(found)])
        return Informative(first, f"T = {first}")
    high = next((T for T in _doubled(last) if below(np.array([T]))[0]), None)
    if high is None:
        limits = [_limit(bound, one, schedule) for one in constants if closed]
        if closed and np.mean(limits) >= known.value:
            return Informative(None, "never")
        return Informative(None, f"not before T = {last:.0e}".replace("e+", "e"))
    low = max(high // 2, EXHAUSTIVE)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if below(np.array([middle]))[0] else (middle, high)
    return Informative(high, f"T = {high:.2e}".replace("e+", "e"))


def _limit(bound: Bound, constants: Constants, schedule: Schedule) -> float:
    r"""Return the limit of a bound as T grows, over the mean learning rate.

    It is what the terms of order $T^0$ tend to, read at the largest T, unless a term
    grows.
    """
    last = np.array([LARGEST_ROUND])
    unit = mean_rate(bound.metric, last, schedule)[0]
    limit = 0.0
    steps = {symbols.tau: constants.tau, symbols.tau_server: constants.tau_server}
    periods = {symbol: value for symbol, value in steps.items() if value}
    for name, term in bound.formula(constants, last, schedule).items():
        order = numeric.growth(bound.parts[name].subs(periods), bound.definitions)
        if order > 0:
            return np.inf
        limit += float(term[0]) / unit if order == 0 else 0.0
    return limit


def _doubled(last: int) -> Iterator[int]:
    T = EXHAUSTIVE
    while last > T:
        T = min(2 * T, last)
        yield T


def _times(factor: float, *values: float | None) -> float | None:
    product = factor
    for value in values:
        if value is None:
            return None
        product *= value
    return product


def _inverse(value: float | None) -> float | None:
    return 1 / value if value else None
