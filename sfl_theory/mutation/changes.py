"""Neighbours of a statement: one small change each, made on the terms.

A change keeps what is left and assumed, or all but one hypothesis, so that one model
that was evaluated once judges every neighbour.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.claims import Says
from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, Symbol, ratio
from sfl_theory.proofs.export import Statement

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Neighbour:
    """A statement that differs from a proved one by one change.

    Attributes:
        operator: the kind of change.
        change: what was changed, in words.
        statement: the neighbour.
        more: its right side minus the original one.
    """

    operator: str
    change: str
    statement: Statement
    more: k.Lin


def neighbours(says: Says, name: str) -> Iterator[Neighbour]:
    """Yield the neighbours of a proved statement.

    Args:
        says: the statement as it was written.
        name: of the statement.

    Yields:
        Every summand of the right side halved, dropped, and with one power of a
        parameter more or less (not more of a number >= 1, which would be weaker);
        every hypothesis left out; every condition on parameters relaxed to twice (a
        step size doubled).
    """
    whole = says.statement(name)
    for summand in says.right.summands:
        rest = whole.right - summand.value
        yield _right(whole, "constant halved", summand.tex, rest + summand.value * HALF)
        if len(says.right.summands) > 1:
            yield _right(whole, "term dropped", summand.tex, rest)
        for symbol in sorted(_factors(summand.value), key=str):
            factor = k.symbol(symbol)
            larger = None if symbol.sort is Sort.COUNT else factor
            for sign, value in (("more", larger), ("less", _inverse(factor))):
                if value is not None:
                    words = f"one power of {symbol} {sign} in {summand.tex}"
                    changed = rest + summand.value * value
                    yield _right(whole, "exponent changed", words, changed)
    for assumed in sorted(whole.hypotheses, key=str):
        others = whole.hypotheses - {assumed}
        dropped = Statement(whole.id, others, whole.left, whole.right, whole.equal)
        none = k.Lin({})
        yield Neighbour("hypothesis dropped", f"without: {assumed}", dropped, none)
        relaxed = _relaxed(assumed)
        if relaxed is not None:
            more = Statement(
                whole.id, others | {relaxed}, whole.left, whole.right, whole.equal
            )
            words = f"{relaxed} for {assumed}"
            yield Neighbour("condition doubled", words, more, none)


def _right(whole: Statement, operator: str, change: str, right: k.Lin) -> Neighbour:
    changed = Statement(whole.id, whole.hypotheses, whole.left, right, whole.equal)
    return Neighbour(operator, change, changed, right - whole.right)


def _factors(form: k.Lin) -> set[Symbol]:
    """Return the parameters that are factors of a form's coefficients."""
    found: set[Symbol] = set()
    for c in form.coefficients.values():
        below = (factor for factor, _ in c.denominator)
        for poly in (c.numerator, *below):
            found |= {s for s in poly.symbols() if isinstance(s, k.Var | k.Total)}
    return {s for s in found if not isinstance(s, k.Total) or not s.free}


def _inverse(number: Ratio) -> Ratio | None:
    (symbol,) = number.numerator.symbols()
    positive = symbol.sort in (Sort.POSITIVE, Sort.COUNT)
    return ratio(1) / number if positive else None


def _relaxed(assumed: h.Hypothesis) -> h.Hypothesis | None:
    """Return a condition ``1 - c x >= 0`` with c halved, under its quantifiers."""
    if isinstance(assumed, h.Every):
        v, body = assumed.opened()
        inner = _relaxed(body)
        return None if inner is None else h.every(assumed.binder, v, inner)
    if not isinstance(assumed, h.Holds):
        return None
    form = assumed.form
    if form.coefficients.keys() - {k.UNIT}:
        return None
    number = form.coefficients.get(k.UNIT, ratio(0))
    kept: Number = ratio(0)
    for value, powers in number.numerator.products():
        term = ratio(value)
        for symbol, power in powers.items():
            term = term * k.symbol(symbol) ** power
        kept = kept + (term if value > 0 else term * HALF)
    for factor, power in number.denominator:
        kept = kept / ratio(factor) ** power
    return h.Holds(k.constant(kept)) if kept != number else None
