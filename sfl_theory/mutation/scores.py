"""By how much a model seems to break a neighbour, in float64."""

from __future__ import annotations

import numpy as np

from sfl_theory.mutation.changes import Neighbour
from sfl_theory.mutation.crowd import Array
from sfl_theory.mutation.many import Many
from sfl_theory.proofs.export import Statement

HOPE = -0.5
"""Models have children where the left side is a third of the right one at least."""
EQUAL = -1e-3
"""Sides that are closer are equal because little happens in the model."""
NOISE = 1e-10
"""Sides that are so small, relative to their terms, are rounding errors."""

Side = tuple[Array, Array]
"""Value of a side, and the sum of its terms' sizes."""


def scored(
    whole: Statement,
    changed: bool,
    low: Side,
    high: Side,
    sides: tuple[Side, Side],
    moved: Array | None,
) -> tuple[Array, Array]:
    """Return by how much a neighbour is broken, from -1 to 1, and left minus right.

    It is left minus right relative to their sizes; and relative to what the change
    takes from the right side and what was between the sides before it, if this is less:
    before and after a short step distances are nearly equal, which says how short the
    step is and no more. Where no side is changed, it is relative to what half of the
    rounds did.
    What is lost in the rounding of the terms has the score -1.

    Args:
        whole: the statement that was changed.
        changed: whether one of its sides was.
        low: the neighbour's left side.
        high: its right side.
        sides: of the whole statement.
        moved: by how much they differ from what they are after half the rounds, if no
            side was changed.
    """
    gap, size = low[0] - high[0], np.abs(low[0]) + np.abs(high[0])
    terms, room = low[1] + high[1], sides[1][0] - sides[0][0]
    part = np.abs(gap + room) + np.abs(room)
    gap = np.abs(gap) if whole.equal else gap
    seen = np.abs(gap) > NOISE * terms
    score = gap / np.where(seen, size, 1)
    if changed and not whole.equal:
        seen &= part > NOISE * terms
        score = np.minimum(score, gap / np.where(seen, part, 1))
    elif not whole.equal and moved is not None:
        lost = (score < 0) & (score > EQUAL) & (moved == 0)
        score = np.where(lost, HOPE, score)
        short = gap / np.where(seen, np.abs(gap) + moved, 1)
        score = np.where(moved > 0, np.minimum(score, short), score)
    return np.where(seen, score, -1), gap


def sides_of(
    e: Many, one: Neighbour, scales: bool, left: Side, right: Side
) -> tuple[Side, Side]:
    """Return both sides of a neighbour, in the best units.

    Args:
        e: the models.
        one: the neighbour.
        scales: whether the factor of its summand has a unit.
        left: side of the whole statement.
        right: side of it.
    """
    if one.left is not one.whole.left:
        left = e.form(one.left)
    if one.summand is not None and one.factor is not None:
        summand = e.form(one.summand)
        more = summand[0] * (e.number(one.factor) - 1)
        if scales:
            most = np.abs(left[0]) + right[1]
            more = np.where(summand[0] < -NOISE * most, -2 * most, -summand[0])
        right = right[0] + more, right[1] + np.abs(more)
    elif one.right_side is not None and one.right_side is not one.whole.right:
        right = e.form(one.right_side)
    return left, right
