r"""Slopes per seed and Student's intervals over seeds.

Arms that share a seed share partition, initial model and draws, so their difference is
taken seed by seed, and what the seed adds to both cancels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

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
    half = float(stats.t.ppf(0.5 + level / 2, found.size - 1) * stats.sem(found))
    return Interval(mean, mean - half, mean + half, found.size)
