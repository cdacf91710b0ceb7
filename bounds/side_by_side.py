"""What the comparisons of one case share: runs, lines, words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bounds.comparison import Comparison

LITTLE, NOTHING = 0.1, 5e-4
"""Shares of the gap: of a run that trains next to nothing, and of one that does not."""


def by_case(comparisons: Sequence[Comparison]) -> dict[str, list[Comparison]]:
    """Return the comparisons case by case, in their order."""
    found: dict[str, list[Comparison]] = {}
    for one in comparisons:
        found.setdefault(one.case, []).append(one)
    return found


def by_run(comparisons: Sequence[Comparison]) -> list[list[Comparison]]:
    """Return the comparisons by the training that they share."""
    return _grouped(comparisons, _one_run)


def by_curve(comparisons: Sequence[Comparison]) -> list[list[Comparison]]:
    """Return the comparisons by the training and the metric that they share."""
    return _grouped(comparisons, _one_curve)


def by_line(comparisons: Sequence[Comparison]) -> list[list[Comparison]]:
    """Return the comparisons by the line that their bounds make beside one curve."""
    return _grouped(comparisons, _one_line)


def progress_words(closed: float) -> str:
    """Say how much of the gap a run closed.

    Args:
        closed: share of the gap at the start.

    Returns:
        A phrase.
    """
    if closed < -NOTHING:
        return f"the gap grew to {1 - closed:.1%} of f(x^0) - f*"
    if closed < NOTHING:
        return "the run closed nothing of the gap f(x^0) - f*"
    text = f"the run closed {closed:.1%} of the gap; {1 - closed:.1%} of it is left"
    if closed < LITTLE:
        text += ": at these step sizes it trains next to nothing"
    return text


def _one_run(one: Comparison, other: Comparison) -> bool:
    return one.measurement.same_run(other.measurement)


def _one_curve(one: Comparison, other: Comparison) -> bool:
    same = one.measurement.metric == other.measurement.metric
    return same and _one_run(one, other)


def _one_line(one: Comparison, other: Comparison) -> bool:
    return _one_curve(one, other) and np.allclose(
        one.values, other.values, rtol=1e-9, atol=0
    )


def _grouped(
    comparisons: Sequence[Comparison], alike: Callable[[Comparison, Comparison], bool]
) -> list[list[Comparison]]:
    found: list[list[Comparison]] = []
    for one in comparisons:
        group = next((group for group in found if alike(group[0], one)), None)
        if group is None:
            found.append([one])
        else:
            group.append(one)
    return found
