r"""Slopes per seed and Student's intervals over seeds.

Arms that share a seed share partition, initial model and draws, so their difference is
taken seed by seed, and what the seed adds to both cancels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean over seeds with its confidence interval.

    Attributes:
        mean: over seeds.
        low: lower end.
        high: upper end.
        seeds: number of seeds.
    """

    mean: float
    low: float
    high: float
    seeds: int

    @property
    def sign(self) -> int:
        """The sign the interval shows: 1, -1, or 0 where it holds zero."""
        return int(self.low > 0) - int(self.high < 0)


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its standard error; Student's t has one degree less.

    Attributes:
        mean: over seeds.
        error: its standard error; 0: it is known.
        seeds: number of seeds.
    """

    mean: float
    error: float
    seeds: int

    def interval(self, level: float) -> Interval:
        """Return the two-sided interval at a level of confidence."""
        half = quantile(0.5 + level / 2, self.seeds) * self.error if self.error else 0.0
        return Interval(self.mean, self.mean - half, self.mean + half, self.seeds)

    def above(self, least: float) -> float:
        """Return the p value of "the expectation is at most ``least``"."""
        if not self.error:
            return float(self.mean <= least)
        return _tail((self.mean - least) / self.error, self.seeds)

    def below(self, most: float) -> float:
        """Return the p value of "the expectation is more than ``most``"."""
        if not self.error:
            return float(self.mean > most)
        return _tail((most - self.mean) / self.error, self.seeds)


def quantile(share: float, seeds: int) -> float:
    """Return a quantile of Student's t over seeds."""
    return float(quantiles(share, np.array(seeds)))


def quantiles(share: float, seeds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a quantile, share > 0, of Student's t over each number of seeds."""
    from scipy.special import stdtrit  # takes time, for which only who judges waits

    return np.asarray(stdtrit(seeds - 1, share))


def _tail(ratio: float, seeds: int) -> float:
    from scipy.special import stdtr

    return float(stdtr(seeds - 1, -ratio))


def slopes(x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    r"""Return the least-squares slope of every row, $\sum(x-\bar x)y/\sum(x-\bar x)^2$.

    Args:
        x: shape (k,), not all equal.
        y: one row per seed, shape (R, k).

    Returns:
        Shape (R,).

    Raises:
        ValueError: if the shapes do not fit, all x agree or a value is not finite.
    """
    at, rows = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if at.ndim != 1 or rows.ndim != 2 or rows.shape[1] != at.size:
        raise ValueError(f"expected rows of {at.size} values, got {rows.shape}")
    centred = at - at.mean()
    if not (np.isfinite(rows).all() and centred.any()):
        raise ValueError("expected finite values at two different x at least")
    return rows @ centred / (centred @ centred)


def interval(values: ArrayLike, level: float = LEVEL) -> Interval:
    """Return Student's t interval of the expectation.

    Args:
        values: one per seed, shape (R,).
        level: of confidence.

    Returns:
        The interval.

    Raises:
        ValueError: if there are fewer than two finite values.
    """
    found = np.asarray(values, np.float64)
    if found.ndim != 1 or found.size < 2 or not np.isfinite(found).all():
        raise ValueError(f"expected two or more finite values, got {found}")
    mean = float(found.mean())
    error = float(found.std(ddof=1) / np.sqrt(found.size))
    return Estimate(mean, error, found.size).interval(level)
