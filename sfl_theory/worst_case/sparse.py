r"""A sparse positive definite form as few squares of few vectors, in exact numbers.

A form in positions of a run has entries near its diagonal only, and so have the factors
of $Q=LDL^\top+R$ if vectors are eliminated in a good order. L and D are short dyadic
numbers; the remainder R, as sparse as L, is diagonally dominant.

A noise is orthogonal to its past, so what stands beside these in the form is free. Last
steps are eliminated first: then all that is left beside a noise is its past. A Schur
complement only loses by a row that is not 0, so it is made 0, exactly.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from fractions import Fraction
from typing import TypeVar

from sfl_theory.worst_case.quadratic import Quadratic

A = TypeVar("A", bound=Hashable)
Squares = list[tuple[dict[A, int], Fraction]]
"""Whole multiples of vectors, and the weight of their sum's square."""
ZERO = Fraction(0)
SPARES = (24, 32, 40, 48, 56, 64, 80, 96, 120)
"""Of each diagonal element 2^-this is left for the remainder; tried one by one."""
FINER = 16
"""By so many bits factors are finer than that."""


def factored(form: Quadratic[A]) -> Squares[A]:
    """Return squares of which the sum is a positive definite form but for a remainder.

    Args:
        form: in fractions.

    Returns:
        The squares; the remainder of the vectors over their `sizes` is diagonally
        dominant.

    Raises:
        ValueError: the form is not seen to be positive definite.
    """
    squares, _ = cancelled(form)
    return squares


def cancelled(
    form: Quadratic[A], order: Sequence[A] = (), noises: Collection[A] = ()
) -> tuple[Squares[A], dict[A, dict[A, Fraction]]]:
    """Return a form as squares and as inner products of noises with their past.

    Args:
        form: in fractions, positive definite for some values of these products.
        order: of the vectors, the past of each after it; empty: few neighbours first.
        noises: those that are orthogonal to all that comes after them in the order.

    Returns:
        The squares, and for each noise what stands beside it in the rest of the form;
        what then remains of the vectors over their `sizes` is diagonally dominant.

    Raises:
        ValueError: the form is not seen to be positive definite.
    """
    size = sizes(form)
    for spare in SPARES:
        found = _tried(form, size, spare, order, noises)
        if found is not None:
            return found
    raise ValueError("what is left over is not positive definite")


def sizes(form: Quadratic[A]) -> dict[A, Fraction]:
    """Return the powers of two by which vectors become about equally large.

    Args:
        form: in fractions, with positive diagonal elements.

    Returns:
        For each vector about the root of its diagonal element.

    Raises:
        ValueError: a diagonal element is not positive.
    """
    if any(row.get(a, ZERO) <= 0 for a, row in form.rows.items() if row):
        raise ValueError("what is left over is not positive: a diagonal element")
    return {a: _root(row[a]) for a, row in form.rows.items() if row}


def _root(value: Fraction) -> Fraction:
    """Return a power of two near the root of a number."""
    bits = value.numerator.bit_length() - value.denominator.bit_length()
    return Fraction(2) ** (bits // 2)


def _tried(
    form: Quadratic[A],
    size: dict[A, Fraction],
    spare: int,
    order: Sequence[A],
    noises: Collection[A],
) -> tuple[Squares[A], dict[A, dict[A, Fraction]]] | None:
    """Return the squares, leaving a share of each diagonal element; None: too much."""
    bits, rest = spare + FINER, Quadratic[A]()
    unit, scale = 1 << 2 * bits, 1 << bits
    left: dict[A, dict[A, int]] = {a: {} for a in size}
    for a, b, value in form.items():
        even = value / (size[a] * size[b])
        rest.add(a, b, even)
        left[a][b] = left[b][a] = round(even * unit / (1 if a == b else 2))
    found: Squares[A] = []
    past: dict[A, list[A]] = {}
    turns = iter([a for a in order if a in left])
    while left:
        k = next(turns, None) or min(left, key=lambda a: len(left[a]))
        row = left.pop(k)
        pivot = row.pop(k) - (unit >> spare)
        if pivot <= 0:
            return None
        low = max(0, pivot.bit_length() - bits)
        pivot = pivot >> low << low
        if k in noises:
            past[k] = [*left]
            for b in row:
                del left[b][k]
            row = {}
        for b, c in row.items():
            del left[b][k]
            for other, d in row.items():
                left[b][other] = left[b].get(other, 0) - c * d // pivot
        amounts = {b: round(Fraction(c * scale, pivot)) for b, c in row.items()}
        square = {k: scale} | {b: c for b, c in amounts.items() if c}
        found.append((square, Fraction(pivot, unit * scale**2)))
    for square, weight in found:
        names = [*square]
        for i, a in enumerate(names):
            for b in names[: i + 1]:
                twice = 1 if a == b else 2
                rest.add(a, b, -weight * square[a] * square[b] * twice)
    beside: dict[A, dict[A, Fraction]] = {}
    for xi, earlier in past.items():
        free = {b: rest.rows[xi][b] for b in earlier if b in rest.rows[xi]}
        for b, even in free.items():
            rest.add(xi, b, -even)
        beside[xi] = {b: even * size[xi] * size[b] for b, even in free.items()}
    if not _dominant(rest):
        return None
    return [_whole(square, weight, size) for square, weight in found], beside


def _dominant(rest: Quadratic[A]) -> bool:
    """Return whether ``2 c_aa >= sum_b |c_ab|`` for every vector a."""
    return all(
        3 * row.get(a, ZERO) >= sum(map(abs, row.values()))
        for a, row in rest.rows.items()
    )


def _whole(
    square: dict[A, int], weight: Fraction, size: dict[A, Fraction]
) -> tuple[dict[A, int], Fraction]:
    """Return a square of vectors that are multiplied by powers of two, without them."""
    low = min(size[a] for a in square)
    return {a: int(c * size[a] / low) for a, c in square.items()}, weight * low**2
