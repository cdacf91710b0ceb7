r"""What was written as terms of the kernel, in the library's symbols.

A right side is written once (`notation.written`): the kernel decides its term, and
the expression made here by the same operations is what the library evaluates.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from fractions import Fraction

import sympy as sp

from sfl_theory import symbols
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio
from sfl_theory.notation.formulas import Form, Number, Written, called, form
from sfl_theory.notation.written import over

Symbols = Mapping[Number | Form, sp.Expr]
"""What stands in a statement -> its symbol, or what that is in symbols."""
Names = Mapping[Ratio | k.Lin, sp.Expr]
"""The same for the terms."""


def named(*known: Symbols) -> dict[Ratio | k.Lin, sp.Expr]:
    """Return the symbols of terms."""
    return {one.value: e for some in known for one, e in some.items()}


def expression(written: object, names: Names) -> sp.Expr:
    """Return a number or a form as it was written, in symbols.

    Args:
        written: a `Written` number or form; an exponent is an integer.
        names: the symbols; what has one is not taken apart.

    Returns:
        The expression.

    Raises:
        ValueError: if something without a symbol is left.
    """
    if isinstance(written, int | Fraction):
        return sp.Rational(written.numerator, written.denominator)
    if not isinstance(written, Written):
        raise ValueError(f"{type(written).__name__} is no number as it was written")
    known = names.get(written.value)
    if known is not None:
        return known
    if written.made is None:
        raise ValueError(f"{written.tex} has no symbol")
    operation, operands = written.made
    if any(isinstance(one, Written) and one.kind is k.Vec for one in operands):
        raise ValueError(f"{written.tex} has no symbol")
    if operation is Fraction:
        return sp.Rational(*operands)
    if operation is over:
        binder, body = operands
        summed = symbols.over_clients if binder == k.CLIENTS else symbols.over_rounds
        return summed(expression(body, names))
    values = [expression(one, names) for one in operands]
    return values[0] if operation in (form, called) else operation(*values)


def summands(right: Written[k.Lin]) -> tuple[Written[k.Lin], ...]:
    """Return the terms of a right side, products with sums of forms multiplied out."""
    operation, operands = right.made or (None, ())
    if operation is called:
        return summands(*operands)
    if operation is operator.add:
        return tuple(term for one in operands for term in summands(one))
    if operation in (operator.mul, operator.truediv):
        one, two = operands
        if issubclass(one.kind, k.Lin):
            return tuple(operation(term, two) for term in summands(one))
        return tuple(one * term for term in summands(two))
    return (right,)


def by_name(right: Form, names: Names, *said: str) -> dict[str, sp.Expr]:
    """Return the terms of a right side under their names, in symbols."""
    terms = (expression(term, names) for term in summands(right))
    return dict(zip(said, terms, strict=True))
