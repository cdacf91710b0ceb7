r"""What is written: a term of the kernel and its LaTeX, made by the same operation.

A `Written` thing holds a term (a number, a vector or an expected number) and the LaTeX
of how it was written, in the writer's order: the formula that a reader sees is the one
that the kernel decides. What is written is not trusted: the kernel sees the term only.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar, cast, overload

from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio

Value = TypeVar("Value", bound=Ratio | k.Vec | k.Lin)
Other = TypeVar("Other", bound=Ratio | k.Vec | k.Lin)
SUM, PRODUCT, ATOM = range(3)


@dataclass(frozen=True)
class Name:
    """The parts of a vector's symbol: letter, subscript, superscript."""

    letter: str
    below: str = ""
    above: str = ""

    def __str__(self) -> str:
        below = f"_{{{self.below}}}" if self.below else ""
        return self.letter + below + (f"^{{{self.above}}}" if self.above else "")


@dataclass(frozen=True)
class Written(Generic[Value]):
    """A term and its LaTeX.

    Attributes:
        value: the kernel's term.
        tex: as it was written.
        binding: how tightly its outermost operation binds: where brackets are needed.
        name: the parts of its symbol, for a vector that has one.
        terms: what it was written as the sum of, where it is one.
    """

    value: Value
    tex: str
    binding: int = ATOM
    name: Name | None = None
    terms: tuple[Written[Value], ...] = ()

    @property
    def summands(self) -> tuple[Written[Value], ...]:
        """What was written as a sum, term by term; else the whole."""
        return self.terms or (self,)

    @overload
    def __add__(self: Number, other: Form) -> Form: ...
    @overload
    def __add__(self: Form, other: Number) -> Form: ...
    @overload
    def __add__(self, other: Written[Value] | Exact) -> Written[Value]: ...
    def __add__(self, other: Written[Any] | Exact) -> Written[Any]:
        """Return a sum; a number beside a form becomes one."""
        if isinstance(other, Written) and _beside(self, other):
            return as_form(cast(Number, self)) + other
        two = self._like(other)
        sign = " " if two.tex.startswith("-") else " + "
        terms = (*self.summands, *two.summands)
        return Written(_sum(self, two), self.tex + sign + two.tex, SUM, None, terms)

    def __radd__(self, other: Exact) -> Written[Value]:
        return self._like(other) + self

    @overload
    def __sub__(self: Number, other: Form) -> Form: ...
    @overload
    def __sub__(self: Form, other: Number) -> Form: ...
    @overload
    def __sub__(self, other: Written[Value] | Exact) -> Written[Value]: ...
    def __sub__(self, other: Written[Any] | Exact) -> Written[Any]:
        """Return a difference; a number beside a form becomes one."""
        if isinstance(other, Written) and _beside(self, other):
            return as_form(cast(Number, self)) - other
        two = self._like(other)
        tex = f"{self.tex} - {two.inside(PRODUCT)}"
        terms = (*self.summands, *(-term for term in two.summands))
        return Written(_sum(self, -two), tex, SUM, None, terms)

    def __rsub__(self, other: Exact) -> Written[Value]:
        return self._like(other) - self

    def __neg__(self) -> Written[Value]:
        return Written(_product(self, number(-1)), f"-{self.inside(PRODUCT)}", SUM)

    @overload
    def __mul__(self, other: Number | Exact) -> Written[Value]: ...
    @overload
    def __mul__(self: Number, other: Written[Other]) -> Written[Other]: ...
    def __mul__(self, other: Written[Other] | Exact) -> object:
        """Return a product; one factor is a number.

        Raises:
            TypeError: none is.
        """
        two: Written[Other] | Number = (
            number(other) if isinstance(other, int | Fraction) else other
        )
        dot = r"\cdot " if two.inside(PRODUCT)[:1].isdigit() else ""
        tex = f"{self.inside(PRODUCT)} {dot}{two.inside(PRODUCT)}"
        if isinstance(two.value, Ratio):
            terms = tuple(term * cast(Number, two) for term in self.terms)
            return Written(_product(self, two), tex, PRODUCT, None, terms)
        if not isinstance(self.value, Ratio):
            raise TypeError("one factor has to be a number")
        more = tuple(cast(Number, self) * term for term in two.terms)
        return Written(_product(two, self), tex, PRODUCT, None, more)

    def __rmul__(self, other: Exact) -> Written[Value]:
        return number(other) * self

    def __truediv__(self, other: Number | Exact) -> Written[Value]:
        two = number(other)
        tex = rf"\frac{{{self.tex}}}{{{two.tex}}}"
        inverse = Written(1 / two.value, "")
        terms = tuple(term / two for term in self.terms)
        return Written(_product(self, inverse), tex, PRODUCT, None, terms)

    def __rtruediv__(self: Number, other: Exact) -> Number:
        return number(other) / self

    def __pow__(self: Number, power: int) -> Number:
        base = self.inside(ATOM)
        if "^" in base and not base.startswith(r"\left("):
            base = rf"\left({base}\right)"
        return Written(self.value**power, f"{base}^{{{power}}}")

    def _like(self, other: Written[Any] | Exact) -> Written[Value]:
        """Return a summand in the kind of this one: numbers become forms."""
        out: Written[Any] = (
            number(other) if isinstance(other, int | Fraction) else other
        )
        if isinstance(self.value, k.Lin) and isinstance(out.value, Ratio):
            out = as_form(out)
        return out

    def inside(self, binding: int) -> str:
        """Return the LaTeX for a place that binds so tightly."""
        return self.tex if self.binding >= binding else rf"\left({self.tex}\right)"


Exact = int | Fraction
Number = Written[Ratio]
Vector = Written[k.Vec]
Form = Written[k.Lin]


def _beside(one: Written[Any], two: Written[Any]) -> bool:
    """Return whether a number stands beside a form."""
    return isinstance(one.value, Ratio) and isinstance(two.value, k.Lin)


def _sum(one: Written[Value], two: Written[Value]) -> Value:
    kind: Any = one.value
    return cast(Value, kind + two.value)


def _product(one: Written[Value], two: Written[Any]) -> Value:
    kind: Any = one.value
    return cast(Value, kind * two.value)


def number(value: Number | Exact) -> Number:
    """Return a number as written."""
    if isinstance(value, Written):
        return value
    if isinstance(value, Fraction) and value.denominator != 1:
        tex = rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
        return Written(ratio(value), tex, PRODUCT)
    return Written(ratio(value), str(value), ATOM if value >= 0 else SUM)


def form(value: Number | Exact) -> Form:
    """Return a number as a form."""
    one = number(value)
    terms = tuple(map(form, one.terms))
    return Written(k.constant(one.value), one.tex, one.binding, None, terms)


Side = Form | Number | Exact
"""What may stand on a side of an inequality."""


def as_form(side: Side) -> Form:
    """Return a side of an inequality as a form."""
    if isinstance(side, int | Fraction):
        return form(side)
    value = side.value
    if isinstance(value, Ratio):
        terms = tuple(as_form(term) for term in side.terms)
        return Written(k.constant(value), side.tex, side.binding, None, terms)
    return Written(value, side.tex, side.binding, None, cast(Form, side).terms)
