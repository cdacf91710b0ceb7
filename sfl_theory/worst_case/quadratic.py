"""Quadratic forms in named vectors, in fractions, and the elimination of vectors."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from fractions import Fraction
from typing import Generic, TypeVar

A = TypeVar("A", bound=Hashable)
ZERO = Fraction(0)


class Quadratic(Generic[A]):
    """``sum c_ab <a, b>`` over unordered pairs of vectors; changes while it is made."""

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

    def items(self) -> Iterator[tuple[A, A, Fraction]]:
        """Yield every pair once.

        Yields:
            Two vectors and their coefficient.
        """
        seen = set[A]()
        for a, row in self.rows.items():
            yield from ((a, b, c) for b, c in row.items() if b not in seen)
            seen.add(a)

    def take(self, a: A) -> dict[A, Fraction]:
        """Remove a vector.

        Args:
            a: the vector.

        Returns:
            What stood beside it: ``c_ab`` for each b.
        """
        row = self.rows.pop(a, {})
        for b in row:
            if b != a:
                del self.rows[b][a]
        return row

    def eliminate(self, a: A, by: Mapping[A, Fraction]) -> dict[A, Fraction]:
        """Replace a vector by a combination r of others.

        Args:
            a: the vector.
            by: the combination.

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
                for other, y in by.items():
                    self.add(b, other, own * x * y)
        for b, c in row.items():
            for other, x in by.items():
                self.add(b, other, c * x)
        return {b: c for b, c in w.items() if c}
