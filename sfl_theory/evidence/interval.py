r"""Rational intervals: every result encloses the exact value.

Ends are fractions. ``Interval.rounded`` moves them outward to a multiple of
$2^{-\text{bits}}$, which keeps long runs from growing; roots are enclosed by integer
square and cube roots. Nothing here rounds inward and nothing is a float.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from sfl_theory import symbols

Number = int | Fraction
BITS = 160


@dataclass(frozen=True)
class Interval:
    """All reals from ``low`` to ``high``.

    Attributes:
        low: lower end.
        high: upper end.
    """

    low: Fraction
    high: Fraction

    @classmethod
    def of(cls, value: Number | Interval) -> Interval:
        """Return the value as an interval."""
        if isinstance(value, Interval):
            return value
        return cls(Fraction(value), Fraction(value))

    @property
    def exact(self) -> bool:
        """Whether it is a single number."""
        return self.low == self.high

    def __add__(self, other: Number | Interval) -> Interval:
        o = Interval.of(other)
        return Interval(self.low + o.low, self.high + o.high)

    __radd__ = __add__

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __sub__(self, other: Number | Interval) -> Interval:
        return self + -Interval.of(other)

    def __rsub__(self, other: Number | Interval) -> Interval:
        return Interval.of(other) - self

    def __mul__(self, other: Number | Interval) -> Interval:
        o = Interval.of(other)
        ends = [x * y for x in (self.low, self.high) for y in (o.low, o.high)]
        return Interval(min(ends), max(ends))

    __rmul__ = __mul__

    def __truediv__(self, other: Number | Interval) -> Interval:
        o = Interval.of(other)
        if o.low <= 0 <= o.high:
            raise ZeroDivisionError("division by an interval that contains 0")
        return self * Interval(1 / o.high, 1 / o.low)

    def __rtruediv__(self, other: Number | Interval) -> Interval:
        return Interval.of(other) / self

    def squared(self) -> Interval:
        """Return the square, which is never negative."""
        ends = self.low**2, self.high**2
        low = Fraction(0) if self.low <= 0 <= self.high else min(ends)
        return Interval(low, max(ends))

    def power(self, exponent: int) -> Interval:
        """Return an integer power."""
        if exponent < 0:
            return 1 / self.power(-exponent)
        result = Interval.of(1)
        for _ in range(exponent // 2):
            result = result * self.squared()
        return result * self if exponent % 2 else result

    def root(self, degree: int) -> Interval:
        """Return the root of a non-negative interval.

        Raises:
            ValueError: if it reaches below 0.
        """
        if self.low < 0:
            raise ValueError("root of a negative number")
        return Interval(_root_below(self.low, degree), _root_above(self.high, degree))

    def rounded(self, bits: int = BITS) -> Interval:
        """Return a slightly larger interval with ends on a grid of 2^-bits."""
        scale = 1 << bits
        low = (self.low.numerator * scale) // self.low.denominator
        high = -((-self.high.numerator * scale) // self.high.denominator)
        return Interval(Fraction(low, scale), Fraction(high, scale))

    def __str__(self) -> str:
        if self.exact:
            exact = str(self.low)
            return exact if len(exact) < 24 else f"{float(self.low):.10g}"
        return f"[{float(self.low):.10g}, {float(self.high):.10g}]"


def _root_below(value: Fraction, degree: int) -> Fraction:
    scale = 1 << BITS
    scaled = value.numerator * scale**degree // value.denominator
    return Fraction(int(sp.integer_nthroot(scaled, degree)[0]), scale)


def _root_above(value: Fraction, degree: int) -> Fraction:
    below = _root_below(value, degree)
    return below if below**degree == value else below + Fraction(1, 1 << BITS)


def evaluate(
    expr: Any,
    values: Mapping[Any, Number | Interval],
    clients: Mapping[Any, tuple[Number, ...]],
    rates: tuple[Number, ...] = (),
) -> Interval:
    """Enclose a formula of ``sfl_theory`` at rational values.

    Args:
        expr: built from symbols, sums over clients and over rounds, min, max, roots.
        values: scalar symbol -> value.
        clients: per-client symbol -> one value per client.
        rates: learning rates of the rounds 0..T-1, for sums over them.

    Returns:
        An interval that contains the exact value.

    Raises:
        ValueError: if the formula has a part that is not understood.
    """
    if expr.is_Rational:
        return Interval.of(Fraction(int(expr.p), int(expr.q)))
    if expr in values:
        return Interval.of(values[expr])
    parts = expr.args
    if expr.is_Add or expr.is_Mul:
        result = evaluate(parts[0], values, clients, rates)
        for part in parts[1:]:
            other = evaluate(part, values, clients, rates)
            result = result + other if expr.is_Add else result * other
        return result
    if expr.is_Pow and parts[1].is_Rational:
        base = evaluate(parts[0], values, clients, rates)
        numerator, denominator = int(parts[1].p), int(parts[1].q)
        base = base if denominator == 1 else base.root(denominator)
        return base.power(numerator)
    if isinstance(expr, sp.Min | sp.Max):
        found = [evaluate(part, values, clients, rates) for part in parts]
        choose = min if isinstance(expr, sp.Min) else max
        return Interval(choose(f.low for f in found), choose(f.high for f in found))
    if isinstance(expr, sp.Sum) and expr.limits[0][0] == symbols.n:
        return _sum_over_clients(expr.function, values, clients, rates)
    if isinstance(expr, sp.Sum):
        return _sum_over_rounds(expr.function, values, clients, rates)
    raise ValueError(f"'{expr}' has no exact value: give it or extend the evaluation")


def _sum_over_clients(
    summand: Any,
    values: Mapping[Any, Number | Interval],
    clients: Mapping[Any, tuple[Number, ...]],
    rates: tuple[Number, ...],
) -> Interval:
    count = len(next(iter(clients.values())))
    result = Interval.of(0)
    for k in range(count):
        here = {base[symbols.n]: column[k] for base, column in clients.items()}
        result = result + evaluate(summand, {**values, **here}, clients, rates)
    return result


def _sum_over_rounds(
    summand: Any,
    values: Mapping[Any, Number | Interval],
    clients: Mapping[Any, tuple[Number, ...]],
    rates: tuple[Number, ...],
) -> Interval:
    result = Interval.of(0)
    rate = symbols.eta(symbols.t)
    for eta in rates:
        result = result + evaluate(summand, {**values, rate: eta}, clients, rates)
    return result
