r"""Affine recurrences $x_{t+1}=A_tx_t+b_t$, all t at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def course(linear: Array, constant: Array, start: Array) -> Array:
    r"""Return $x_0,\dots,x_T$ of $x_{t+1}=A_tx_t+b_t$.

    Two steps are one of the same kind, $A_{t+1}A_tx+A_{t+1}b_t+b_{t+1}$: every other
    $x_t$ obeys a recurrence half as long, the rest is one step from there.

    Args:
        linear: A, shape (k, k, T).
        constant: b, shape (k, T).
        start: $x_0$, shape (k,).

    Returns:
        Shape (k, T + 1); float64, in another order of rounding than step by step.
    """
    last = constant.shape[1]
    if not last:
        return start[:, None]
    first, then = linear[..., 0 : last - 1 : 2], linear[..., 1::2]
    even = course(
        np.einsum("ijt,jkt->ikt", then, first),
        _step(then, constant[:, 0 : last - 1 : 2]) + constant[:, 1::2],
        start,
    )
    found = np.empty((len(start), last + 1))
    found[:, ::2] = even[:, : last // 2 + 1]
    odd = (last + 1) // 2
    found[:, 1::2] = _step(linear[..., ::2], even[:, :odd]) + constant[:, ::2]
    return found


def _step(linear: Array, x: Array) -> Array:
    return np.asarray(np.einsum("ijt,jt->it", linear, x))
