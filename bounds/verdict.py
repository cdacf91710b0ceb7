r"""From seeds to a confidence band, from band and bound to a verdict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

LEVEL = 0.95
ROUNDING = 1e-12
"""Relative error that sums of a few thousand float64 numbers may have."""


@dataclass(frozen=True)
class Band:
    """Mean over seeds with a simultaneous confidence band over the rounds shown.

    Student's t interval at every round, at level ``1 - (1 - level)/m`` for m rounds
    (Bonferroni), so that the whole curve is covered with probability ``level``: a
    verdict that looks at all rounds then errs with probability 1 - level at most.

    Attributes:
        rounds: T, shape (m,).
        mean: over seeds, shape (m,).
        low: lower end, shape (m,); minus infinity with a single seed.
        high: upper end, shape (m,); infinity with a single seed.
        seeds: number of seeds.
        level: of the whole band.
    """

    rounds: NDArray[np.int64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    seeds: int
    level: float = LEVEL

    @classmethod
    def of(
        cls,
        rounds: NDArray[np.int64],
        values: NDArray[np.float64],
        deterministic: bool = False,
        level: float = LEVEL,
    ) -> Band:
        """Return the band of per-seed curves.

        Args:
            rounds: T, shape (m,).
            values: one curve per seed, shape (m, R).
            deterministic: nothing is random, so a single seed is the expectation.
            level: probability that the whole curve is covered.

        Returns:
            The band.
        """
        mean, seeds = values.mean(axis=1), values.shape[1]
        if deterministic:
            return cls(rounds, mean, mean, mean, seeds, level)
        if seeds == 1:
            wide = np.full(mean.shape, np.inf)
            return cls(rounds, mean, -wide, wide, seeds, level)
        error = values.std(axis=1, ddof=1) / np.sqrt(seeds)
        quantile = stdtrit(seeds - 1, 1 - (1 - level) / (2 * len(rounds)))
        return cls(
            rounds, mean, mean - quantile * error, mean + quantile * error, seeds, level
        )


@dataclass(frozen=True)
class Verdict:
    """What a measured band says about a bound.

    Attributes:
        word: "violated" if the band lies above the bound at some round, "holds" if it
            lies on or below it at every round, else "inconclusive"; a difference that
            rounding may have made decides nothing.
        first_violation: first such round, or None.
        tightness: bound over measured mean at the last round; None if the mean is
            not positive or the ratio no float64.
    """

    word: str
    first_violation: int | None
    tightness: float | None


def judge(band: Band, bound: NDArray[np.float64], resolution: float = 0.0) -> Verdict:
    """Return the verdict on a bound.

    The band is widened by what rounding alone can do, so that an exact run that meets
    its bound with equality is not called a violation: by ``resolution`` and by
    ``ROUNDING`` times the mean.

    Args:
        band: of the measured metric.
        bound: at the same rounds, shape (m,).
        resolution: absolute error of the metric, and of the bound, by rounding.

    Returns:
        The verdict.

    Raises:
        ValueError: if the shapes differ or the bound is not a number everywhere.
    """
    if bound.shape != band.mean.shape:
        raise ValueError(
            f"the bound has shape {bound.shape}, the measurement {band.mean.shape}"
        )
    if np.isnan(bound).any():
        raise ValueError("the bound is not a number at some round")
    slack = 0.0 if resolution == 0 else resolution + ROUNDING * np.abs(band.mean)
    above = band.low - slack > bound
    word = "inconclusive"
    if above.any():
        word = "violated"
    elif np.all(band.high + slack <= bound):
        word = "holds"
    return Verdict(
        word,
        int(band.rounds[np.argmax(above)]) if above.any() else None,
        ratio(bound[-1], band.mean[-1]),
    )


def ratio(bound: float, measured: float) -> float | None:
    """Return bound over measured, or None where that is no finite number.

    Args:
        bound: at one round.
        measured: mean at the same round.

    Returns:
        The ratio.
    """
    with np.errstate(over="ignore"):
        value = float(np.float64(bound) / measured) if measured > 0 else np.inf
    return value if np.isfinite(value) else None


@dataclass(frozen=True)
class Rate:
    """Measured slope of log(metric) against log(T) on the tail.

    Attributes:
        measured: mean of the seeds' least-squares slopes; None if the metric is not
            positive on the tail.
        low: lower end of its confidence interval over seeds (level 0.95), or None.
        high: upper end, or None.
        first: first round of the tail.
    """

    measured: float | None
    low: float | None
    high: float | None
    first: int


def rate(
    rounds: NDArray[np.int64],
    values: NDArray[np.float64],
    deterministic: bool = False,
) -> Rate:
    """Return the slope over the last three quarters of the rounds.

    Args:
        rounds: T, shape (m,).
        values: one curve per seed, shape (m, R).
        deterministic: nothing is random: the interval has length zero.

    Returns:
        Slope and interval.
    """
    tail = rounds >= max(1, rounds[-1] // 4)
    first = int(rounds[tail][0])
    if tail.sum() < 3 or not np.all(values[tail] > 0):
        return Rate(None, None, None, first)
    x = np.log(rounds[tail])
    x = x - x.mean()
    slopes = x @ np.log(values[tail]) / (x @ x)
    center = float(slopes.mean())
    if deterministic:
        return Rate(center, center, center, first)
    if slopes.size == 1:
        return Rate(center, None, None, first)
    error = slopes.std(ddof=1) / np.sqrt(slopes.size)
    half = stdtrit(slopes.size - 1, 0.5 + LEVEL / 2) * error
    return Rate(center, float(center - half), float(center + half), first)
