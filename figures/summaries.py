"""A curve as observed, and the one number per seed that sentences speak of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Observed:
    """A curve as run folders hold it.

    Attributes:
        rounds: of the evaluations after the first round on, shape (k,).
        values: shape (seeds, k); accuracies in percent.
        losses: test losses of the same runs, shape (seeds, k), beside accuracies: by
            them runs are told apart whose accuracies agree by chance; else None.
    """

    rounds: Array
    values: Array
    losses: Array | None = None

    @property
    def finer(self) -> Observed:
        """The runs by their losses, where there are any."""
        return self if self.losses is None else Observed(self.rounds, self.losses)


def final(curve: Observed) -> Array:
    """Return the mean over the last tenth of the evaluations, at least three."""
    last = max(3, ceil(curve.rounds.size / 10))
    return curve.values[:, -last:].mean(axis=1)


def best(curve: Observed) -> Array:
    """Return the best of the evaluations, as the table of a paper may hold it."""
    return curve.values.max(axis=1)


def early(curve: Observed) -> Array:
    """Return the mean over the first half of the rounds: larger where it is faster."""
    half = curve.rounds <= curve.rounds[-1] / 2
    return curve.values[:, half].mean(axis=1)


def unsteadiness(curve: Observed) -> Array:
    """Return the standard deviation of the steps from evaluation to evaluation.

    Only the second half of the rounds counts; a steady rise adds nothing.

    Args:
        curve: over the rounds.

    Returns:
        Shape (seeds,).
    """
    late = curve.rounds >= curve.rounds[-1] / 2
    return np.diff(curve.values[:, late], axis=1).std(axis=1, ddof=1)


def log_mean(curve: Observed) -> Array:
    """Return the logarithm of the mean over the rounds."""
    return np.log(curve.values.mean(axis=1))


SUMMARIES: Mapping[str, Callable[[Observed], Array]] = {
    "final": final,
    "best": best,
    "early": early,
    "unsteadiness": unsteadiness,
    "log_mean": log_mean,
}
