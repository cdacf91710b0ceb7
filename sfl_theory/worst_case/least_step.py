r"""The best step by which linear inequalities hold: a convex quadratic program.

.. math:: \min_d\ \tfrac12d^\top Pd-c^\top d\quad\text{such that}\quad Jd\le b,

by Mehrotra's predictor and corrector; dense, for up to some thousand unknowns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfl_theory.worst_case.factors import Factor

Array = NDArray[np.float64]

STEPS = 60
GAP, OPEN, UNEVEN = 1e-7, 1e-12, 1e-7
"""Accuracy: of the value, of the inequalities in their units, of the slope."""
NARROW, LEVEL, STRONG = 1e-3, 1e-4, 1e3
"""Least slack at first, its product with a weight, the largest weight."""
LOW = 0.1
"""Of the accuracy of the value: lower ones cost digits of the slope."""
HOPELESS = 1e20
"""Mean of slack times multiplier from which on there is no point inside."""
MET, SHORT = 0.1, 0.1
"""Inequalities that hold up to this part of the mean product of slack and multiplier
let no step raise it, so that none runs in circles; the least such step."""
INSIDE = 0.995
"""Of the way to where a slack or a multiplier vanishes."""


class NoStepError(ArithmeticError):
    """The inequalities cannot be met, as far as the method sees."""


def least_step(
    slopes: Array, bounds: Array, wanted: Array, curved: Array, near: Array
) -> tuple[Array, Array]:
    r"""Return d and the multipliers of the inequalities.

    Args:
        slopes: J, shape (m, n).
        bounds: b, shape (m,).
        wanted: c, shape (n,).
        curved: P, positive definite, shape (n, n).
        near: what the multipliers may be near, shape (m,).

    Returns:
        The step, shape (n,), by which the inequalities hold up to rounding, and the
        multipliers, shape (m,).

    Raises:
        NoStepError: no accuracy was reached.
    """
    count, unknowns = slopes.shape
    step, slack = np.zeros(unknowns), np.maximum(bounds, NARROW)
    weights = np.maximum(LEVEL / slack, np.minimum(near, STRONG))
    steep, met = max(1.0, float(np.abs(wanted).max(initial=0.0))), False
    for _ in range(STEPS):
        stationary = curved @ step - wanted + slopes.T @ weights
        open_ = slopes @ step + slack - bounds
        total = float(slack @ weights)
        off = float(np.abs(open_).max(initial=0.0))
        uneven = float(np.abs(stationary).max(initial=0.0)) / steep
        met = total < GAP and off < OPEN
        if met and uneven < UNEVEN:
            return step, weights
        level = total / count
        if not level < HOPELESS:
            break
        solve = _newton(slopes, slack, weights, curved, stationary, open_)
        _, ds, dw = solve(slack * weights)
        first = min(_length(slack, ds), _length(weights, dw))
        ahead = float((slack + first * ds) @ (weights + first * dw)) / count
        aim = max((ahead / level) ** 3 * level, LOW * GAP / count)
        move, ds, dw = solve(slack * weights + ds * dw - aim)
        most = min(_length(slack, ds), _length(weights, dw))
        if off < MET * level:
            most = min(most, _lowest(slack, weights, ds, dw))
        step, slack, weights = (
            step + most * move,
            slack + most * ds,
            weights + most * dw,
        )
    if met:
        return step, weights
    raise NoStepError("the linearised constraints were not met")


def _newton(
    slopes: Array,
    slack: Array,
    weights: Array,
    curved: Array,
    stationary: Array,
    open_: Array,
) -> Callable[[Array], tuple[Array, Array, Array]]:
    """Return Newton's step as a function of what slack times weights is above its aim.

    Raises:
        NoStepError: the matrix is singular.
    """
    ratio = weights / slack
    tall = slopes * np.sqrt(ratio)[:, None]
    matrix = tall.T @ tall + curved
    even = 1 / np.sqrt(matrix.diagonal())
    matrix *= even[:, None]
    matrix *= even
    try:
        factor = Factor.of(matrix)
    except np.linalg.LinAlgError:
        raise NoStepError("the step's matrix is singular") from None

    def solve(above: Array) -> tuple[Array, Array, Array]:
        right = -stationary - slopes.T @ (ratio * open_ - above / slack)
        move = factor.backward(factor.forward(right * even)) * even
        ds = -open_ - slopes @ move
        return move, ds, (-above - weights * ds) / slack

    return solve


def _lowest(slack: Array, weights: Array, ds: Array, dw: Array) -> float:
    """Return the way to where the sum of the products is least, at least SHORT."""
    falls, bends = float(slack @ dw + weights @ ds), float(ds @ dw)
    return max(-falls / (2 * bends), SHORT) if bends > 0 else 1.0


def _length(of: Array, change: Array) -> float:
    """Return how far one can go, at most 1, and stay positive."""
    falling = change < 0
    return float(np.min(-INSIDE * of[falling] / change[falling], initial=1.0))
