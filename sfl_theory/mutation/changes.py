"""Neighbours of a statement: one small change each, made on the terms.

A change keeps the left side and the hypotheses, or all but one of them, so that one
model that was evaluated once judges many neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from sfl_theory.evidence import Says
from sfl_theory.kernel import algebra
from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Built, Poly, Ratio, Rejected, Sort, Symbol, ratio
from sfl_theory.kernel.terms import subterms
from sfl_theory.proofs.export import Statement

HALF = Fraction(1, 2)
OPERATORS = (
    "constant halved",
    "term dropped",
    "exponent changed",
    "hypothesis dropped",
    "condition doubled",
    "binder changed",
)


@dataclass(frozen=True)
class Neighbour:
    """A statement that differs from a proved one by one change.

    Attributes:
        operator: one of ``OPERATORS``.
        change: what was changed, in words.
        whole: the proved statement.
        hypotheses: of the neighbour.
        left: its left side.
        summand: of the right side, that is multiplied by `factor`; None where
            `right_side` says what stands there.
        factor: what multiplies the summand.
        right_side: the right side, where a binder in it was changed.
    """

    operator: str
    change: str
    whole: Statement
    hypotheses: frozenset[h.Hypothesis]
    left: k.Lin
    summand: k.Lin | None = None
    factor: Ratio | None = None
    right_side: k.Lin | None = None

    @cached_property
    def right(self) -> k.Lin:
        """The right side."""
        if self.right_side is not None:
            return self.right_side
        if self.summand is None or self.factor is None:
            return self.whole.right
        return self.whole.right + self.summand * (self.factor - 1)

    @cached_property
    def more(self) -> k.Lin:
        """What right minus left side has more than in the whole statement."""
        more = self.whole.left - self.left
        if self.right_side is not None:
            return more + self.right_side - self.whole.right
        if self.summand is None or self.factor is None:
            return more
        return more + self.summand * (self.factor - 1)

    @property
    def statement(self) -> Statement:
        """The neighbour as a statement."""
        one = self.whole
        return Statement(one.id, self.hypotheses, self.left, self.right, one.equal)

    @property
    def changed(self) -> bool:
        """Whether one of its sides is another one."""
        other = self.summand is not None or (
            self.right_side is not None and self.right_side is not self.whole.right
        )
        return other or self.left is not self.whole.left

    @property
    def dropped(self) -> frozenset[h.Hypothesis]:
        """What was assumed and is no longer."""
        return self.whole.hypotheses - self.hypotheses

    @property
    def silent(self) -> bool:
        """Whether every model of the kernel meets what was dropped.

        Its samples and draws are independent; where gradients are bounded, noise has to
        be fair; and no curvature is both at most S and at least mu > S.
        """
        (gone,) = self.dropped or (None,)
        if isinstance(gone, h.Unbiased):
            return any(isinstance(one, h.BoundedGradients) for one in self.hypotheses)
        if isinstance(gone, h.Holds):
            return gone.form in _between(self.hypotheses)
        return isinstance(gone, h.Independent | h.Participation)


def neighbours(says: Says, name: str) -> Iterator[Neighbour]:
    """Yield the neighbours of a proved statement.

    Args:
        says: the statement as it was written.
        name: of the statement.

    Yields:
        Every summand of the right side halved, dropped, and with one power of a
        parameter more or less (not more of a number >= 1, which would be weaker);
        every hypothesis left out (that something minimises f stays where its point is
        named, which means nothing without it); every condition on parameters relaxed
        to twice (a step size doubled); sums with another range, index or weight.
    """
    whole = says.statement(name)
    given = (whole, whole.hypotheses, whole.left)
    for summand in says.right.summands:
        tex, value = summand.tex, summand.value
        yield Neighbour("constant halved", tex, *given, value, ratio(HALF))
        if len(says.right.summands) > 1:
            yield Neighbour("term dropped", tex, *given, value, ratio(0))
        for symbol in sorted(_factors(value), key=str):
            factor = k.symbol(symbol)
            larger = None if symbol.sort is Sort.COUNT else factor
            for sign, by in (("more", larger), ("less", _inverse(factor))):
                if by is not None:
                    words = f"one power of {symbol} {sign} in {tex}"
                    yield Neighbour("exponent changed", words, *given, value, by)
    inside = subterms(whole.left, whole.right)
    named = {one.function for one in inside if isinstance(one, k.Star)}
    for assumed in sorted(whole.hypotheses, key=str):
        body = assumed
        while isinstance(body, h.Every):
            body = body.body
        others = whole.hypotheses - {assumed}
        if not (isinstance(body, h.Minimiser) and body.function in named):
            words = f"without: {assumed}"
            yield Neighbour("hypothesis dropped", words, whole, others, whole.left)
        relaxed = _relaxed(assumed)
        if relaxed is not None:
            words, more = f"{relaxed} for {assumed}", others | {relaxed}
            yield Neighbour("condition doubled", words, whole, more, whole.left)
    yield from _binders(whole)


def _between(hypotheses: frozenset[h.Hypothesis]) -> Iterator[k.Lin]:
    """Yield S - mu for functions that are S-smooth and mu-strongly convex.

    It is >= 0 in every space but that of dimension 0.
    """
    smooth: list[h.Smooth | h.Majorised] = []
    convex: list[h.Convex] = []
    for one in hypotheses:
        body = one
        while isinstance(body, h.Every):
            body = body.body
        if isinstance(body, h.Smooth | h.Majorised):
            smooth.append(body)
        elif isinstance(body, h.Convex):
            convex.append(body)
    for above in smooth:
        for below in convex:
            if above.function == below.function:
                yield k.constant(above.constant - below.modulus)


def _factors(form: k.Lin) -> set[Symbol]:
    """Return the parameters that are factors of a form's coefficients."""
    found: set[Symbol] = set()
    for c in form.coefficients.values():
        below = (factor for factor, _ in c.denominator)
        for poly in (c.numerator, *below):
            found |= {s for s in poly.parts if isinstance(s, k.Var | k.Total)}
    return {s for s in found if not isinstance(s, k.Total) or not s.free}


def _inverse(number: Ratio) -> Ratio | None:
    (symbol,) = number.numerator.parts
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
    kept: algebra.Number = ratio(0)
    for value, powers in number.numerator.products:
        term = ratio(value)
        for symbol, power in powers.items():
            term = term * k.symbol(symbol) ** power
        kept = kept + (term if value > 0 else term * HALF)
    for factor, power in number.denominator:
        kept = kept / ratio(factor) ** power
    return h.Holds(k.constant(kept)) if kept != number else None


# binders


def _binders(whole: Statement) -> Iterator[Neighbour]:
    """Yield the statement with another sum in the place of one of its sums.

    Right: one step fewer; on both sides: the next step's index inside, clients weighted
    equally. Left: one step more. A sum inside another one, or inside a run, stays.
    """
    for on_left, side in ((True, whole.left), (False, whole.right)):
        for old in sorted(_sums(side), key=str):
            for words, new in _others(old, on_left):
                try:
                    changed = rewritten(side, old, new)
                except Rejected:
                    continue
                if not changed - side or not _comparable(changed):
                    continue
                text = f"{words} in {old}, {'left' if on_left else 'right'}"
                left, right = (changed, None) if on_left else (whole.left, changed)
                yield Neighbour(
                    "binder changed",
                    text,
                    whole,
                    whole.hypotheses,
                    left,
                    right_side=whole.right if right is None else right,
                )


def _comparable(form: k.Lin) -> bool:
    return not {k.CHANCE, k.CONDITIONAL} & form.free


def _sums(side: k.Lin) -> set[k.WeightedSum]:
    """Return the sums in a side that depend on no bound index and are in no run."""
    found: set[k.WeightedSum] = set()
    seen: set[object] = set()
    left: list[object] = [side]
    while left:
        one = left.pop()
        if not isinstance(one, Built) or one in seen or isinstance(one, k.Split):
            continue
        seen.add(one)
        bound = any(isinstance(v, k.BoundClient | k.BoundNat) for v in one.free)
        if isinstance(one, k.WeightedSum) and not bound:
            found.add(one)
        else:
            left += one.parts
    return found


def _others(old: k.WeightedSum, on_left: bool) -> Iterator[tuple[str, Any]]:
    """Yield sums that could be mistaken for this one, as numbers or combinations."""
    v, inside = old.opened()

    def again(binder: k.Binder, body: Any) -> Any:
        made = k.summed(binder, v, body)
        return k.number_of(made) if isinstance(old, k.Total) else made

    made: list[tuple[str, Callable[[], Any]]] = []
    if isinstance(old.binder, k.Steps):
        upper = ratio(old.binder.upper)
        more, words = (1, "a step more") if on_left else (-1, "a step fewer")
        other = upper + more
        made.append((words, lambda: again(k.Steps(k.natural(other)), inside)))
        later = {v: k.symbol(v) + 1}
        made.append(("the next index", lambda: again(old.binder, k.at(inside, later))))
    elif _weighted(old):
        equal = 1 / k.number_of(k.summed(k.CLIENTS, v, k.constant(1)))
        own = k.Weight(v)
        made.append((
            "equal weights",
            lambda: again(k.CLIENTS, rewritten(inside, own, equal)),
        ))
    for words, make in made:
        try:
            yield words, make()
        except Rejected:
            continue


def _weighted(old: k.WeightedSum) -> bool:
    return any(isinstance(s, k.Weight) for s in old.weight.parts)


def rewritten(term: Any, old: k.Term, new: Any) -> Any:
    """Return a term in normal form with a subterm replaced; sums' insides stay."""
    if term is old:
        return new
    if isinstance(term, Poly):
        out = ratio(0)
        for value, powers in term.products:
            piece = ratio(value)
            for s, power in powers.items():
                piece = piece * rewritten(s, old, new) ** power
            out = out + piece
        return out
    if isinstance(term, Ratio):
        out = rewritten(term.numerator, old, new)
        for factor, power in term.denominator:
            out = out / rewritten(factor, old, new) ** power
        return out
    if isinstance(term, k.Combination):
        made = (
            rewritten(atom, old, new) * rewritten(c, old, new)
            for atom, c in term.coefficients.items()
        )
        return sum(made, type(term)({}))
    inner = not isinstance(term, k.Closed | k.Split) and isinstance(term, k.Term)
    if not inner or old not in subterms(term):
        return k.lifted(term)
    return k.made(type(term), *(rewritten(p, old, new) for p in term.parts))
