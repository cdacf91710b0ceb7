r"""The least step by which linear inequalities hold: a small quadratic program.

.. math:: \min_d\ \tfrac12\|d-c\|^2\quad\text{such that}\quad Jd\le b,

by Mehrotra's predictor and corrector; dense, for up to some thousand unknowns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEPS, ACCURACY = 60, 1e-13
PRICE = 1e4
"""What squares of the step count beside slack times multiplier, which is not 0."""
HOPELESS = 1e20
"""Mean of slack times multiplier from which on there is no point inside."""
INSIDE = 0.995
"""Of the way to where a slack or a multiplier vanishes."""


class NoStepError(ArithmeticError):
    """The inequalities cannot be met, as far as the method sees."""


def least_step(slopes: Array, bounds: Array, wanted: Array) -> Array:
    r"""Return d.

    Args:
        slopes: J, shape (m, n).
        bounds: b, shape (m,).
        wanted: c, shape (n,).

    Returns:
        The step, shape (n,); the inequalities hold up to rounding.

    Raises:
        NoStepError: no accuracy was reached.
    """
    count, unknowns = slopes.shape
    step, slack = np.zeros(unknowns), np.maximum(bounds, 1e-3)
    weights = np.full(count, 1e-3)
    for _ in range(STEPS):
        stationary = PRICE * (step - wanted) + slopes.T @ weights
        open_ = slopes @ step + slack - bounds
        level = float(slack @ weights) / count
        off = float(np.abs(open_).max(initial=0.0))
        if max(level / max(1.0, float(weights.max(initial=0.0))), off) < ACCURACY:
            return step
        if level > HOPELESS:
            break
        solve = _newton(slopes, slack, weights, stationary, open_)
        _, ds, dw = solve(slack * weights)
        first = min(_length(slack, ds), _length(weights, dw))
        ahead = float((slack + first * ds) @ (weights + first * dw)) / count
        aim = (ahead / level) ** 3 * level
        move, ds, dw = solve(slack * weights + ds * dw - aim)
        most = min(_length(slack, ds), _length(weights, dw))
        step, slack, weights = (
            step + most * move,
            slack + most * ds,
            weights + most * dw,
        )
    raise NoStepError("the linearised constraints were not met")


def _newton(
    slopes: Array,
    slack: Array,
    weights: Array,
    stationary: Array,
    open_: Array,
) -> Callable[[Array], tuple[Array, Array, Array]]:
    """Return Newton's step as a function of what slack times weights is above its aim.

    Raises:
        NoStepError: the matrix is singular.
    """
    ratio = weights / slack
    matrix = (slopes.T * ratio) @ slopes
    matrix[np.diag_indices_from(matrix)] += PRICE
    try:
        inverse = np.linalg.inv(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        raise NoStepError("the step's matrix is singular") from None

    def solve(above: Array) -> tuple[Array, Array, Array]:
        right = -stationary - slopes.T @ (ratio * open_ - above / slack)
        move = inverse.T @ (inverse @ right)
        ds = -open_ - slopes @ move
        return move, ds, (-above - weights * ds) / slack

    return solve


def _length(of: Array, change: Array) -> float:
    """Return how far one can go, at most 1, and stay positive."""
    falling = change < 0
    return float(np.min(-INSIDE * of[falling] / change[falling], initial=1.0))
