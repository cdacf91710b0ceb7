"""Quadratic forms in named vectors, in fractions: elimination and sums of squares."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np

A = TypeVar("A", bound=Hashable)
Linear = Mapping[A, Fraction]
Matrix = Sequence[Sequence[Fraction]]
Split = tuple[Fraction, dict[int, Fraction]]
ZERO = Fraction(0)


class Quadratic(Generic[A]):
    """``sum c_ab <a, b>`` over unordered pairs of vectors; mutable while it is made."""

    def __init__(self) -> None:
        self.rows: dict[A, dict[A, Fraction]] = {}

    def add(self, a: A, b: A, c: Fraction) -> None:
        """Add ``c <a, b>``."""
        for one, other in {(a, b), (b, a)}:
            row = self.rows.setdefault(one, {})
            total = row.get(other, ZERO) + c
            if total:
                row[other] = total
            else:
                row.pop(other, None)

    def product(self, u: Linear[A], v: Linear[A], c: Fraction) -> None:
        """Add ``c <u, v>`` for combinations u and v."""
        for a, x in u.items():
            for b, y in v.items():
                self.add(a, b, c * x * y)

    def row(self, a: A) -> dict[A, Fraction]:
        """Return what stands beside a vector: ``c_ab`` for each b."""
        return self.rows.get(a, {})

    def items(self) -> Iterator[tuple[A, A, Fraction]]:
        """Yield every pair once."""
        seen = set[A]()
        for a, row in self.rows.items():
            seen.add(a)
            yield from ((a, b, c) for b, c in row.items() if b is a or b not in seen)

    def take(self, a: A) -> dict[A, Fraction]:
        """Remove a vector, and return what stood beside it."""
        row = self.rows.pop(a, {})
        for b in row:
            if b != a:
                del self.rows[b][a]
        return row

    def eliminate(self, a: A, by: Linear[A]) -> dict[A, Fraction]:
        """Replace a vector by a combination r of others.

        Args:
            a: the vector.
            by: what it equals.

        Returns:
            w with ``form - <a - r, w>`` = the form after the replacement.
        """
        row = self.take(a)
        own = row.pop(a, ZERO)
        w = dict(row)
        if own:
            w[a] = own
            for b, x in by.items():
                w[b] = w.get(b, ZERO) + own * x
            self.product(by, by, own)
        for b, c in row.items():
            for other, x in by.items():
                self.add(b, other, c * x)
        return {b: c for b, c in w.items() if c}

    def matrix(self, names: Sequence[A]) -> list[list[Fraction]]:
        """Return the symmetric matrix of the form in these vectors."""
        return [
            [self.row(a).get(b, ZERO) / (1 if a == b else 2) for b in names]
            for a in names
        ]


def sum_of_squares(matrix: Matrix, bits: int = 50) -> list[Split]:
    """Return weights and linear forms whose squares add up to a matrix.

    A rounded Cholesky factor of the matrix less half its smallest eigenvalue, and what
    is left, which is diagonally dominant: ``|r| (v_i +- v_j)^2``. A matrix that is only
    just, or not positive definite is factored exactly.

    Args:
        matrix: symmetric.
        bits: of the factor's entries, relative to the largest.

    Returns:
        Pairs (weight, coefficients by index).

    Raises:
        ValueError: the matrix is not positive semidefinite.
    """
    used = [i for i, row in enumerate(matrix) if any(row)]
    small = [[matrix[i][j] for j in used] for i in used]
    found = _rounded(small, bits) or _exact(small)
    return [(w, {used[i]: c for i, c in v.items()}) for w, v in found]


def _rounded(matrix: Matrix, bits: int) -> list[Split] | None:
    size = len(matrix)
    if not size:
        return []
    floats = np.array([[float(c) for c in row] for row in matrix])
    scale = 1 / np.sqrt(np.maximum(np.diagonal(floats), 1e-300))
    scale = 2.0 ** np.round(np.log2(scale))
    balanced = floats * scale[:, None] * scale[None, :]
    least = float(np.linalg.eigvalsh(balanced)[0])
    if least < 1e-12 * size:
        return None
    try:
        factor = np.linalg.cholesky(balanced - least / 2 * np.eye(size))
    except np.linalg.LinAlgError:
        return None
    unit = 2**bits
    whole = [[round(float(c) * unit) for c in row] for row in factor]
    grow = [Fraction(float(s)) for s in scale]
    dense: list[Split] = []
    for k in range(size):
        form = {i: Fraction(whole[i][k]) / grow[i] for i in range(k, size) if whole[i][k]}
        dense.append((Fraction(1, unit**2), form))
    rest = [[ZERO] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1):
            dot = sum(x * y for x, y in zip(whole[i][: j + 1], whole[j], strict=False))
            same = Fraction(dot, unit**2) / (grow[i] * grow[j])
            rest[i][j] = rest[j][i] = matrix[i][j] - same
    short = _dominant(rest, grow)
    return None if short is None else dense + short


def _dominant(rest: Matrix, grow: Sequence[Fraction]) -> list[Split] | None:
    """Return the squares of a matrix that is diagonally dominant after scaling."""
    size = len(rest)
    left = [rest[i][i] * grow[i] ** 2 for i in range(size)]
    squares: list[Split] = []
    for i in range(size):
        for j in range(i):
            c = rest[i][j] * grow[i] * grow[j]
            if c:
                sign = 1 if c > 0 else -1
                squares.append((abs(c), {i: 1 / grow[i], j: sign / grow[j]}))
                left[i] -= abs(c)
                left[j] -= abs(c)
    if min(left) < 0:
        return None
    return squares + [(c, {i: 1 / grow[i]}) for i, c in enumerate(left) if c]


def _exact(matrix: Matrix) -> list[Split]:
    """Return the squares of ``L D L^T``, without rounding."""
    size = len(matrix)
    rest = [list(row) for row in matrix]
    squares: list[Split] = []
    for k in range(size):
        pivot = rest[k][k]
        if pivot < 0 or (not pivot and any(rest[k][k:])):
            raise ValueError("what is left over is not positive semidefinite")
        if not pivot:
            continue
        form = {i: rest[i][k] / pivot for i in range(k, size) if rest[i][k]}
        squares.append((pivot, form))
        for i in form:
            for j in form:
                rest[i][j] -= pivot * form[i] * form[j]
    return squares

