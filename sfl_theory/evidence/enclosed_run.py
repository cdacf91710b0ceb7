r"""The left side of a claim on a ``FederatedRun``, enclosed.

The recursion of ``moments`` has polynomials in the learning rate as coefficients. With
a learning rate that is a quotient of integers a round is a dozen products of integers:
moments are integers over $2^{\text{BITS}}$, rounded outward once a round.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from sfl_theory.evidence.federated import FederatedRun, Rate
from sfl_theory.evidence.interval import BITS, Interval
from sfl_theory.evidence.moments import (
    WEIGHTED,
    Moved,
    curved,
    measured,
    one_round,
    printed,
    resting,
    side_of,
)


def enclosed(run: FederatedRun, rounds: Collection[int]) -> dict[int, Interval]:
    """Enclose the left side of the claim at some rounds.

    Args:
        run: separable; its iterates must stay where pieces are parabolas.
        rounds: T, at least 1.

    Returns:
        T -> an interval that contains the metric.

    Raises:
        ValueError: if the run is not of that kind.
    """
    if not run.columns or not curved(run) or (run.per_step and run.tau > 1):
        raise ValueError("no enclosure for this kind of run")
    averaged = printed(run).metric.key in WEIGHTED
    result = {T: Interval.of(0) for T in rounds}
    for j, weight in enumerate(measured(run)):
        if weight and not resting(run, j):
            for T, value in _coordinate(run, j, {*rounds}, averaged).items():
                result[T] = result[T] + value * weight
    return result


def _coordinate(
    run: FederatedRun, j: int, rounds: set[int], averaged: bool
) -> dict[int, Interval]:
    r"""Enclose $\mathbb E(x_j^T-x_j^*)^2$, or $\frac1T\sum_{t<T}\eta^t$ of it.

    Returns:
        T -> enclosure.
    """
    rate, steps = side_of(run, j)
    table = _Table(one_round(run, j, [Polynomial.variable()] * steps, Fraction), rate)
    weighing = _Quotient(run.client_rate)
    scale = 1 << BITS
    m, s = Interval.of(run.offsets[j]), Interval.of(run.offsets[j] ** 2)
    low, high = (_down(m.low * scale), -_down(-m.high * scale))
    below, above = (_down(s.low * scale), -_down(-s.high * scale))
    sums, found = [0, 0], {}
    for t in range(max(rounds)):
        if averaged:
            u, w = weighing(t)
            sums[0] += below * u // w
            sums[1] -= -above * u // w
        (p0, p1, r0, r1, r2), unit = table(t)
        least, most = (low, high) if r1 >= 0 else (high, low)
        # r2 and s are not negative
        below, above = (
            max(0, (r0 * scale + r1 * least + r2 * below) // unit),
            -((-r0 * scale - r1 * most - r2 * above) // unit),
        )
        least, most = (low, high) if p1 >= 0 else (high, low)
        low = (p0 * scale + p1 * least) // unit
        high = -((-p0 * scale - p1 * most) // unit)
        if t + 1 in rounds:
            ends = [v / Fraction(t + 1) for v in sums] if averaged else [below, above]
            found[t + 1] = Interval(*(Fraction(end) / scale for end in ends))
    return found


def _down(value: Fraction) -> int:
    return value.numerator // value.denominator


@dataclass(frozen=True)
class Polynomial:
    """A polynomial in the learning rate with rational coefficients.

    Attributes:
        coefficients: of the powers 0, 1, ...
    """

    coefficients: tuple[Fraction, ...]

    @classmethod
    def variable(cls) -> Polynomial:
        """Return the learning rate itself."""
        return cls((Fraction(0), Fraction(1)))

    @classmethod
    def of(cls, value: Any) -> Polynomial:
        """Return a number as a constant."""
        return value if isinstance(value, Polynomial) else cls((Fraction(value),))

    def __add__(self, other: Any) -> Polynomial:
        u, v = self.coefficients, Polynomial.of(other).coefficients
        size = max(len(u), len(v))
        padded = ((*w, *(Fraction(0),) * (size - len(w))) for w in (u, v))
        return Polynomial(tuple(x + y for x, y in zip(*padded, strict=True)))

    __radd__ = __add__

    def __mul__(self, other: Any) -> Polynomial:
        u, v = self.coefficients, Polynomial.of(other).coefficients
        product_ = [Fraction(0)] * (len(u) + len(v) - 1)
        for i, x in enumerate(u):
            for k, y in enumerate(v):
                product_[i + k] += x * y
        return Polynomial(tuple(product_))

    __rmul__ = __mul__

    def __neg__(self) -> Polynomial:
        return self * -1

    def __sub__(self, other: Any) -> Polynomial:
        return self + -Polynomial.of(other)

    def __rsub__(self, other: Any) -> Polynomial:
        return -self + Polynomial.of(other)

    def __truediv__(self, other: Any) -> Polynomial:
        return self * Polynomial((Fraction(1) / other,))

    def __pow__(self, exponent: int) -> Polynomial:
        result: Polynomial = Polynomial.of(1)
        for _ in range(exponent):
            result = Polynomial.__mul__(result, self)
        return result


class _Quotient:
    """A learning rate as a quotient of integers."""

    def __init__(self, rate: Rate) -> None:
        parts = rate.scale, rate.offset, rate.growth
        unit = lcm(*(part.denominator for part in parts))
        self._above, self._offset, self._growth = (int(part * unit) for part in parts)

    def __call__(self, t: int) -> tuple[int, int]:
        """Return numerator and denominator of the rate."""
        return self._above, self._offset + self._growth * t


class _Table:
    """The coefficients of every round, as integers over one denominator."""

    def __init__(self, moved: Moved, rate: Rate) -> None:
        rows = [Polynomial.of(row).coefficients for row in moved.rows]
        self._degree = max(map(len, rows)) - 1
        self._unit = lcm(*(c.denominator for row in rows for c in row))
        self._rows = [[int(c * self._unit) for c in row] for row in rows]
        self._quotient, self._constant = _Quotient(rate), rate.constant
        self._known: tuple[list[int], int] | None = None

    def __call__(self, t: int) -> tuple[list[int], int]:
        """Return the five numerators and the denominator of round t."""
        if self._known is not None:
            return self._known
        (u, w), powers = self._quotient(t), range(self._degree + 1)
        terms = [u**i * w ** (self._degree - i) for i in powers]
        rows = [sum(map(int.__mul__, row, terms)) for row in self._rows]
        found = rows, self._unit * w**self._degree
        if self._constant:
            self._known = found
        return found
