r"""From the kernel's forms to LaTeX: what no paper has written, as a proof's steps.

A form in normal form has its squares multiplied out: ``||x||^2 - 2<x, y> + ||y||^2``.
`Writer` looks for what a person would write, squares, gaps ``f(x) - f*`` and sums of
them, and rebuilds the form from such pieces with the notation of `written`.
The kernel's own arithmetic decides what is left beside a piece, so a formula is the
term that it stands for: `Written.value` differs from it by nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Poly, Ratio, Rejected, ratio
from sfl_theory.notation import written as w
from sfl_theory.notation.atoms import Names
from sfl_theory.notation.spelling import (
    Spelling,
    exchanged,
    in_inverse_chances,
    rank,
    scaled,
    total,
)
from sfl_theory.notation.written import Form, Vector
from sfl_theory.papers import PAPERS

ZERO = w.form(0)
AHEAD = 6
"""So many pieces of a form are tried with what then follows."""


@cache
def of_paper(paper: str) -> Writer:
    """Return what writes terms with a paper's parameters, its setting's first.

    Args:
        paper: its package; of another name, all parameters are spelled by rule.
    """
    if paper not in PAPERS:
        return Writer()
    package = f"sfl_theory.papers.{paper}"
    sections = import_module(package).SECTIONS
    modules = (import_module(f"{package}.{name}") for name in ("setting", *sections))
    return Writer(Names(modules))


@dataclass(frozen=True)
class Piece:
    """A factor and what it multiplies; `definite` bodies may change sides.

    Attributes:
        factor: a number.
        body: squares, values, gaps, sums of them; a product otherwise.
        definite: whether a reader expects the body on the side where it is positive.
    """

    factor: Ratio
    body: Form
    definite: bool = True

    @property
    def value(self) -> k.Lin:
        """The piece as a term."""
        return self.body.value * self.factor

    @property
    def negative(self) -> bool:
        """Whether the factor prints with a minus sign."""
        values = [value for value, _ in self.factor.numerator.products]
        return sum(value < 0 for value in values) * 2 > len(values)


class Writer(Spelling):
    """Writes forms and hypotheses of one paper, see `Spelling`."""

    def form(self, value: k.Lin) -> Form:
        """Return a form as the sum of its pieces."""
        parts = [scaled(self.number(p.factor), p.body) for p in self.pieces(value)]
        return total(parts, ZERO)

    def pieces(self, value: k.Lin) -> list[Piece]:
        """Return what a form is the sum of: squares, gaps, products, numbers.

        Args:
            value: the form.

        Returns:
            Pieces whose values add up to it.
        """
        return self._beside(value)._pieces(value)

    def _pieces(self, value: k.Lin) -> list[Piece]:
        out: list[Piece] = []
        rest = value
        while (found := self._best(rest)) is not None:
            out.append(found)
            rest = rest - found.value
        for atom, c in rest.coefficients.items():
            if atom is not k.UNIT:
                out.append(Piece(c, *self._plain(atom)))
        return [*out, *self._numbers(rest.coefficients.get(k.UNIT, ratio(0)))]

    def _numbers(self, value: Ratio) -> Iterator[Piece]:
        if any(len(factor.coefficients) > 1 for factor, _ in value.denominator):
            yield Piece(value, w.form(1))
            return
        shown = in_inverse_chances(value) or value
        below = Ratio(Poly({(): 1}), value.denominator)
        for c, powers in sorted(shown.numerator.products, key=rank, reverse=True):
            part = exchanged(ratio(Poly.product(c, powers)), False)
            yield Piece(part * below, w.form(1))

    def _best(self, rest: k.Lin) -> Piece | None:
        """Return the piece that shortens what is left most; None: none does.

        One that only keeps its length is taken if the next one then shortens it.
        """
        scored = self._scored(rest)
        if len(scored) == 1 and scored[0][0] > 0:
            return scored[0][1]
        ahead: list[tuple[int, bool, int, int, Piece]] = []
        for gain, one in scored[:AHEAD]:
            later = self._scored(rest - one.value)
            total = gain + (later[0][0] if later else 0)
            ahead.append((-total, not one.definite, -gain, len(ahead), one))
        best = min(ahead, default=None, key=lambda item: item[:-1])
        return best[4] if best is not None and best[0] < 0 else None

    def _scored(self, rest: k.Lin) -> list[tuple[int, Piece]]:
        size = len(rest.coefficients)
        found = []
        for piece in self._candidates(rest):
            gain = size - len((rest - piece.value).coefficients) - 1
            if gain >= 0:
                found.append((gain, piece))
        found.sort(key=lambda item: (-item[0], not item[1].definite, item[1].body.tex))
        return found

    def _candidates(self, rest: k.Lin) -> Iterator[Piece]:
        """Yield pieces that may be in a form: completed squares, gaps, products."""
        atoms = rest.coefficients
        crosses: dict[k.VecAtom, list[tuple[k.VecAtom, Ratio]]] = {}
        for atom, c in atoms.items():
            if isinstance(atom, k.Inner) and atom.left is not atom.right:
                crosses.setdefault(atom.left, []).append((atom.right, c))
                crosses.setdefault(atom.right, []).append((atom.left, c))
            if isinstance(atom, k.Value) and not _least(atom):
                least = k.Value(atom.function, k.vec(k.Star(atom.function)))
                if least in atoms:
                    gap = self.function(atom.function).gap(self.vector(atom.at))
                    yield Piece(c, gap)
        for u, others in crosses.items():
            square = atoms.get(k.Inner(u, u))
            if square is not None:
                yield from self._completed(u, square, others)
            if len(others) > 1:
                yield from self._product_with(u, others)
        yield from self._sums(rest)

    def _completed(
        self, u: k.VecAtom, c: Ratio, others: Sequence[tuple[k.VecAtom, Ratio]]
    ) -> Iterator[Piece]:
        value = k.vec(u)
        for v, cross in others:
            half = _quotient(cross, 2 * c)
            if half is None:
                return
            value = value + k.vec(v) * half
        yield Piece(c, w.norm2(self.vector(value)))

    def _product_with(
        self, u: k.VecAtom, others: Sequence[tuple[k.VecAtom, Ratio]]
    ) -> Iterator[Piece]:
        for _, lead in others:
            shares = [(v, _quotient(c, lead)) for v, c in others]
            known = [k.vec(v) * c for v, c in shares if c is not None]
            if len(known) == len(others):
                whole = sum(known[1:], known[0])
                body = w.inner(self._atom_of(u), self.vector(whole))
                yield Piece(lead, body, False)
                return

    def _atom_of(self, u: k.VecAtom) -> Vector:
        return self.vector(k.vec(u))

    def _sums(self, rest: k.Lin) -> Iterator[Piece]:
        """Yield sums, over the ranges that occur, of what may be in their insides."""
        groups: dict[object, list[k.LinSum]] = {}
        for atom in rest.coefficients:
            if isinstance(atom, k.LinSum):
                groups.setdefault(atom.binder, []).append(atom)
        for binder, sums in groups.items():
            v, opened = self._opened(*sums)
            insides = opened if len(sums) > 1 else [opened]
            whole = k.Lin({})
            for one, inside in zip(sums, insides, strict=True):
                whole = whole + inside * rest.coefficients[one]
            inner = self._within(v)
            inner_rest = whole + _outside(rest, v)
            for piece in inner._candidates(inner_rest):
                if v not in piece.body.value.free:
                    continue
                outer, own = _split(piece.factor, v)
                body = scaled(inner.number(own), piece.body)
                try:
                    yield Piece(outer, self.over(binder, v, body), piece.definite)
                except Rejected:
                    continue

    def _plain(self, atom: k.LinAtom) -> tuple[Form, bool]:
        if isinstance(atom, k.Inner):
            if atom.left is atom.right:
                return w.norm2(self._atom_of(atom.left)), True
            left, right = self._atom_of(atom.left), self._atom_of(atom.right)
            return w.inner(left, right), False
        if isinstance(atom, k.Value):
            if _least(atom):
                tex = f"{self.function(atom.function).tex}^*"
                return w.Written(k.Lin({atom: ratio(1)}), tex), True
            return self.function(atom.function)(self.vector(atom.at)), True
        if isinstance(atom, k.LinSum):
            v, inside = self._opened(atom)
            inner = self._within(v)
            parts = inner.pieces(inside)
            scaled_ = [scaled(inner.number(p.factor), p.body) for p in parts]
            body = total(scaled_, ZERO)
            return self.over(atom.binder, v, body), all(p.definite for p in parts)
        return w.Written(k.Lin({atom: ratio(1)}), str(atom)), True

    # hypotheses

    def assumed(self, one: h.Hypothesis) -> w.Assumed:
        """Return a hypothesis as written."""
        if isinstance(one, h.Every):
            v, body = self._opened(one)
            inner = self._within(v)
            if isinstance(one.binder, k.Clients):
                return w.every_client(v, inner.assumed(body))
            letter = w.Written(k.symbol(v), v.name)
            if isinstance(one.binder, k.Steps):
                limit = self.number(ratio(one.binder.upper))
                return w.every_round(letter, limit, inner.assumed(body))
            return w.every_natural(letter, inner.assumed(body))
        if isinstance(one, h.Holds):
            low, high = self.sides(one.form)
            return w.Assumed(one, rf"{low.tex} \le {high.tex}")
        return self.assumption(one)

    def sides(self, form: k.Lin, equal: bool = False) -> tuple[Form, Form]:
        """Return two sides of which the second one minus the first is a form.

        Args:
            form: the form.
            equal: what has a minus may stand on the left, products too.

        Returns:
            What is negative in the form, and the others.
        """
        left: list[Form] = []
        right: list[Form] = []
        pieces = self.pieces(form)
        single = not any(p.definite and p.negative for p in pieces)
        for p in pieces:
            moves = p.negative and (p.definite or (equal and single))
            c = -p.factor if moves else p.factor
            (left if moves else right).append(scaled(self.number(c), p.body))

        return total(left, ZERO), total(right, ZERO)


def _quotient(one: Ratio, two: Ratio) -> Ratio | None:
    """Return a quotient that is a polynomial, or None."""
    top = one.numerator.divided(two.numerator)
    if top is None:
        return None
    out = ratio(top)
    for factor, power in two.denominator:
        out = out * ratio(factor) ** power
    for factor, power in one.denominator:
        out = out / ratio(factor) ** power
    return None if out.denominator else out


def _least(atom: k.Value) -> bool:
    return atom.at == k.vec(k.Star(atom.function))


def _outside(rest: k.Lin, v: Any) -> k.Lin:
    """Return what of a form may have come out of its sums: values at minimisers."""
    own: dict[k.LinAtom, Ratio] = {
        atom: c
        for atom, c in rest.coefficients.items()
        if isinstance(atom, k.Value) and _least(atom)
    }
    return k.Lin(own)


def _split(c: Ratio, v: Any) -> tuple[Ratio, Ratio]:
    """Return a factor as one without a variable times one with it."""
    if v not in c.free:
        return c, ratio(1)
    products = c.numerator.products
    if len(products) != 1 or any(v in f.free for f, _ in c.denominator):
        return ratio(1), c
    value, powers = products[0]
    own = {s: p for s, p in powers.items() if v in s.free}
    other = {s: p for s, p in powers.items() if s not in own}
    below = Ratio(Poly({(): 1}), c.denominator)
    return ratio(Poly.product(value, other)) * below, ratio(Poly.product(1, own))
