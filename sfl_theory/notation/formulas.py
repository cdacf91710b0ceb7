r"""What is written: a term of the kernel and its LaTeX, made by the same operation.

A `Written` thing holds a term (a number, a vector or an expected number) and the LaTeX
of how it was written, in the writer's order: the formula that a reader sees is the one
that the kernel decides. What is written is not trusted: the kernel sees the term only.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Generic, TypeVar, cast, overload

from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio

Value = TypeVar("Value", bound=Ratio | k.Vec | k.Lin)
Other = TypeVar("Other", bound=Ratio | k.Vec | k.Lin)
SUM, PRODUCT, ATOM = range(3)
NUMERIC = re.compile(r"\\frac\{\d+\}\{\d+\}")


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
class Later(Generic[Value]):
    """A term that is made when it is asked for; `kind` is its type."""

    kind: type[Value]
    make: Callable[[], Value]


Made = tuple[Callable[..., Any], tuple[Any, ...]]
"""An operation and its operands, written things and exact numbers."""


@dataclass(frozen=True, eq=False)
class Written(Generic[Value]):
    """A term and its LaTeX.

    Attributes:
        given: the kernel's term, or how to make it.
        tex: as it was written.
        binding: how tightly its outermost operation binds: where brackets are needed.
        name: the parts of its symbol, for a vector that has one.
        terms: what it was written as the sum of, where it is one.
        made: by which operation, and of what; None for a symbol.
    """

    given: Value | Later[Value]
    tex: str
    binding: int = ATOM
    name: Name | None = None
    terms: tuple[Written[Value], ...] = ()
    made: Made | None = None

    @cached_property
    def value(self) -> Value:
        """The kernel's term, made when it is first asked for."""
        return self.given.make() if isinstance(self.given, Later) else self.given

    @property
    def kind(self) -> type[Value]:
        """The type of the term."""
        given = self.given
        return given.kind if isinstance(given, Later) else type(given)

    def _all(self) -> tuple[object, ...]:
        return self.value, self.tex, self.binding, self.name, self.terms

    def __eq__(self, other: object) -> bool:
        """Return whether term and LaTeX are the same."""
        return isinstance(other, Written) and self._all() == other._all()

    def __hash__(self) -> int:
        return hash((self.tex, self.binding))

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
        tex, made = self.tex + sign + two.tex, (operator.add, (self, two))
        return Written(_sum(self, two), tex, SUM, None, terms, made)

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
        made = operator.sub, (self, two)
        return Written(_sum(self, -two), tex, SUM, None, terms, made)

    def __rsub__(self, other: Exact) -> Written[Value]:
        return self._like(other) - self

    def __neg__(self) -> Written[Value]:
        value, tex = _product(self, number(-1)), f"-{self.inside(PRODUCT)}"
        return Written(value, tex, SUM, made=(operator.neg, (self,)))

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
        first, second = self.inside(PRODUCT), two.inside(PRODUCT)
        mixed = first[-1:].isdigit() and NUMERIC.match(second)  # 64 4/3 is no product
        dot = r"\cdot " if mixed or second[:1].isdigit() else ""
        tex = f"{first} {dot}{second}"
        made = operator.mul, (self, two)
        if issubclass(two.kind, Ratio):
            terms = tuple(term * cast(Number, two) for term in self.terms)
            return Written(_product(self, two), tex, PRODUCT, None, terms, made)
        if not issubclass(self.kind, Ratio):
            raise TypeError("one factor has to be a number")
        more = tuple(cast(Number, self) * term for term in two.terms)
        return Written(_product(two, self), tex, PRODUCT, None, more, made)

    def __rmul__(self, other: Exact) -> Written[Value]:
        return number(other) * self

    def __truediv__(self, other: Number | Exact) -> Written[Value]:
        two = number(other)
        tex = rf"\frac{{{self.tex}}}{{{two.tex}}}"
        inverse: Number = Written(Later(Ratio, lambda: 1 / two.value), "")
        terms = tuple(term / two for term in self.terms)
        made = operator.truediv, (self, two)
        return Written(_product(self, inverse), tex, PRODUCT, None, terms, made)

    def __rtruediv__(self: Number, other: Exact) -> Number:
        return number(other) / self

    def __pow__(self: Number, power: int) -> Number:
        base = self.inside(ATOM)
        closed = base.startswith(r"\left(") and base.endswith(r"\right)")
        if "^" in base and not closed:
            base = rf"\left({base}\right)"
        value = Later(Ratio, lambda: self.value**power)
        return Written(value, f"{base}^{{{power}}}", made=(operator.pow, (self, power)))

    def _like(self, other: Written[Any] | Exact) -> Written[Value]:
        """Return a summand in the kind of this one: numbers become forms."""
        out: Written[Any] = (
            number(other) if isinstance(other, int | Fraction) else other
        )
        if issubclass(self.kind, k.Lin) and issubclass(out.kind, Ratio):
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
    return issubclass(one.kind, Ratio) and issubclass(two.kind, k.Lin)


def _sum(one: Written[Any], two: Written[Any]) -> Later[Any]:
    return Later(one.kind, lambda: one.value + two.value)


def _product(one: Written[Any], two: Written[Any]) -> Later[Any]:
    return Later(one.kind, lambda: one.value * two.value)


def number(value: Number | Exact) -> Number:
    """Return a number as written."""
    if isinstance(value, Written):
        return value
    if isinstance(value, Fraction) and value.denominator != 1:
        sign, binding = ("-", SUM) if value < 0 else ("", PRODUCT)
        tex = rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"
    else:
        tex, binding = str(value), ATOM if value >= 0 else SUM
    made = Fraction, (value,)
    return Written(Later(Ratio, lambda: ratio(value)), tex, binding, made=made)


def form(value: Number | Exact) -> Form:
    """Return a number as a form."""
    one = number(value)
    terms = tuple(map(form, one.terms))
    constant = Later(k.Lin, lambda: k.constant(one.value))
    return Written(constant, one.tex, one.binding, None, terms, (form, (one,)))


Side = Form | Number | Exact
"""What may stand on a side of an inequality."""
Terms = Mapping[str, Side]
"""A side as a sum of terms, by name."""


def as_form(side: Side) -> Form:
    """Return a side of an inequality as a form."""
    if isinstance(side, int | Fraction) or issubclass(side.kind, Ratio):
        return form(side)
    return replace(side, name=None)


def called(value: Written[Value], tex: str) -> Written[Value]:
    """Return a number or form that a paper has a symbol for."""
    made = called, (value,)
    return replace(value, tex=tex, binding=ATOM, name=None, terms=(), made=made)


def definitions(*written: object) -> list[str]:
    r"""Return what the symbols that were `called` so stand for, as equations in LaTeX.

    Symbols of definitions are defined after them. Another letter for a parameter is no
    definition unless the parameter is written, too (:math:`\tau_{\min} = \tau`); none
    are a parameter written as what makes it larger than another one
    (:math:`S = \mu + (S - \mu)`) and a formula that a parameter stands for (a
    maximum, which assumptions define).
    """
    out, left = list[tuple[str, str]](), list(written)
    letters, others = set[str](), set[tuple[str, str]]()
    while left:
        one = left.pop(0)
        if not isinstance(one, Written):
            continue
        if one.made is None:
            letters.add(one.tex)
            continue
        operation, operands = one.made
        if operation is called:
            (value,) = operands
            named = one.tex, value.tex
            if value.made is None:
                others.add(named)
            if value.tex and one.tex not in value.tex and " " not in one.tex:
                out.append(named)
        left += (x for x in operands if operation is not called or x.made)
    said = (one for one in out if one not in others or one[1] in letters)
    return [f"{name} = {value}" for name, value in dict.fromkeys(said)]
