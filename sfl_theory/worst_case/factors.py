"""Triangular factors of matrices that are nearly singular, with numpy alone."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfl_theory.worst_case.blocks import Array

BASE, WIDE = 48, 192
REGULAR = (1e-16, 1e-14, 1e-12, 1e-10)
"""What is added to a diagonal of ones, per row."""


@dataclass(frozen=True)
class Factor:
    """A lower triangular matrix L, with the inverses of its diagonal blocks.

    Attributes:
        lower: L.
        inverses: (first row, row after the last, inverse) of every block.
    """

    lower: Array
    inverses: tuple[tuple[int, int, Array], ...]

    @classmethod
    def of(cls, matrix: Array) -> Factor:
        """Return the Cholesky factor of a matrix of unit diagonal, moved if need be.

        Raises:
            LinAlgError: if it is indefinite beyond rounding.
        """
        lower, size = _root(matrix), len(matrix)
        ends = ((a, min(a + WIDE, size)) for a in range(0, size, WIDE))
        return cls(
            lower, tuple((a, b, lower_inverse(lower[a:b, a:b])) for a, b in ends)
        )

    def forward(self, right: Array) -> Array:
        """Return x with L x = right."""
        x = right.copy()
        for a, b, inverse in self.inverses:
            x[a:b] = inverse @ (x[a:b] - self.lower[a:b, :a] @ x[:a])
        return x

    def backward(self, right: Array) -> Array:
        """Return x with L' x = right."""
        x = right.copy()
        for a, b, inverse in reversed(self.inverses):
            x[a:b] = inverse.T @ (x[a:b] - self.lower[b:, a:b].T @ x[b:])
        return x


def _root(matrix: Array) -> Array:
    """Return the Cholesky factor of a matrix of unit diagonal, moved if need be.

    Raises:
        LinAlgError: if it is indefinite beyond rounding.
    """
    for moved in REGULAR:
        shifted = matrix.copy()
        shifted[np.diag_indices_from(shifted)] += moved * len(matrix)
        with suppress(np.linalg.LinAlgError):
            return np.asarray(np.linalg.cholesky(shifted), dtype=np.float64)
    raise np.linalg.LinAlgError("indefinite")


def whitener(matrix: Array) -> Array:
    """Return W with W' W the inverse of a matrix of unit diagonal, moved if need be.

    Args:
        matrix: positive semidefinite up to rounding.

    Returns:
        Lower triangular.
    """
    return lower_inverse(_root(matrix))


def lower_inverse(lower: NDArray[np.floating]) -> Array:
    """Return the inverse of a lower triangular matrix, by halves.

    Args:
        lower: the matrix.

    Returns:
        Its inverse.
    """
    if len(lower) <= BASE:
        return np.asarray(np.linalg.inv(lower))
    k = len(lower) // 2
    found = np.zeros_like(lower)
    found[:k, :k] = lower_inverse(lower[:k, :k])
    found[k:, k:] = lower_inverse(lower[k:, k:])
    found[k:, :k] = -found[k:, k:] @ (lower[k:, :k] @ found[:k, :k])
    return found


def even_part(matrix: Array) -> Array:
    """Return the symmetric part of a matrix.

    Args:
        matrix: square.

    Returns:
        Half of it and its transpose.
    """
    return (matrix + matrix.T) / 2
