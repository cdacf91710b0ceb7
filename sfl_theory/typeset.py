r"""Terms of the kernel as LaTeX: what stands in a derivation, where nobody wrote it.

What a person wrote has its LaTeX already (`sfl_theory.written`); a rule makes terms
that nobody wrote. They are typeset in the same notation, parameters as they were
written. A bound index has the first letter that is free in the formula (`Letters`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, singledispatchmethod
from math import lcm
from typing import TypeGuard

from sfl_theory import written as w
from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Poly, Ratio, Sort, Symbol, ratio
from sfl_theory.spelling import spelled
from sfl_theory.writer import assumption
from sfl_theory.written import PARAMETERS

Bound = k.BoundClient | k.BoundNat
Letters = Mapping[Bound, str]
"""The letters of bound indices in a formula."""
CLIENTS = ("n", "m", "l", "k", "n'", "m'", "l'", "k'")
STEPS = ("i", "j", "r", "u", "i'", "j'", "r'", "u'")
ROUNDS = ("t", "s", "t'", "s'")


def taken(*terms: object) -> frozenset[str]:
    """Return the names that occur free in some terms."""
    free = frozenset[object]().union(*(getattr(one, "free", ()) for one in terms))
    names = {str(getattr(v, "name", "")) for v in free}
    return frozenset(names | ({"t"} if k.ROUND in free else set()))


def letters(used: frozenset[str], *terms: object) -> dict[Bound, str]:
    """Return a letter for every index bound in some terms, unlike the names in use."""
    out: dict[Bound, str] = {}
    inside = frozenset[tuple[Bound, bool]]().union(*map(_bound, terms))
    if not inside:
        return out
    for v, of_round in sorted(inside, key=lambda one: (one[0].level, str(one[0]))):
        kind = ROUNDS if of_round else STEPS
        kind = CLIENTS if isinstance(v, k.BoundClient) else kind
        busy = used | set(out.values())
        name = next((c for c in kind if c not in busy), f"{kind[0]}_{v.level}")
        out.setdefault(v, name)
    return out


@cache
def _bound(term: object) -> frozenset[tuple[Bound, bool]]:
    """Return the indices bound inside, and whether they range over rounds."""
    if isinstance(term, tuple):
        return frozenset[tuple[Bound, bool]]().union(*map(_bound, term))
    own = set[tuple[Bound, bool]]()
    if isinstance(term, k.Closed):
        upper = getattr(term.binder, "upper", None)
        rounds = isinstance(term.binder, k.Naturals) or (
            upper is not None
            and any(getattr(v, "name", "") in ("T", "t") for v in upper.free)
        )
        own.add((term.variable, rounds))
    return frozenset(own).union(*map(_bound, getattr(term, "parts", ())))


@dataclass(frozen=True)
class Typeset:
    """LaTeX of terms.

    Attributes:
        letters: of bound indices.
        refer: what stands for an inner term; None: its own LaTeX.
    """

    letters: Letters
    refer: Callable[[k.Term], str] | None = None

    def tex(self, term: object) -> str:
        """Return the LaTeX of a term, a number, a vector or a form.

        Raises:
            TypeError: it is none of these.
        """
        if isinstance(term, Poly):
            term = ratio(term)
        if isinstance(term, Ratio):
            return self.number(term)
        if isinstance(term, k.Vec | k.Lin):
            return self.sum(term)
        if isinstance(term, k.Term):
            return self.atom(term)
        raise TypeError(f"{term!r} is no term")

    def _inner(self, term: k.Term) -> str:
        return self.refer(term) if self.refer is not None else self.atom(term)

    # Numbers and combinations ---------------------------------------------------------

    def number(self, value: Ratio) -> str:
        """Return a number; a fraction where it has a denominator."""
        if not value.denominator:
            return self._poly(value.numerator)
        top, scale = _whole(value.numerator)
        below = [self._power(*one) for one in value.denominator]
        below = ([str(scale)] if scale != 1 else []) + below
        sign, terms = self._leading(top)
        return rf"{sign}\frac{{{terms}}}{{{' '.join(below)}}}"

    def _leading(self, top: Poly) -> tuple[str, str]:
        """Return the sign before a fraction and its numerator."""
        products = top.products()
        if len(products) == 1 and products[0][0] < 0:
            return "-", self._poly(-top)
        return "", self._poly(top)

    def _poly(self, poly: Poly) -> str:
        out = ""
        for value, powers in poly.products():
            term = self._product(abs(value), dict(powers))
            sign = "-" if value < 0 else "+"
            out += f" {sign} {term}" if out else f"{'-' if value < 0 else ''}{term}"
        return out or "0"

    def _product(self, value: Fraction, powers: dict[Symbol, int]) -> str:
        named = sorted(powers.items(), key=lambda one: _place(one[0]))
        factors = [self._factor(symbol, power) for symbol, power in named]
        if named and named[-1][1] == 1 and _summed(named[-1][0]):
            factors[-1] = self._inner(named[-1][0])  # nothing follows its summand
        head = [w.number(value).tex] if value != 1 or not factors else []
        return " ".join([*head, *factors])

    def _factor(self, symbol: object, power: int) -> str:
        if not isinstance(symbol, k.Term):
            raise TypeError(f"{symbol!r} is no term")
        text = self._inner(symbol)
        if _summed(symbol) or (power > 1 and _scripted(symbol)):
            text = rf"\left({text}\right)"
        return text if power == 1 else f"{text}^{{{power}}}"

    def _power(self, poly: Poly, power: int) -> str:
        single = len(poly.coefficients) == 1
        if single:
            ((value, powers),) = poly.products()
            if value == 1 and len(powers) == 1:
                ((symbol, own),) = powers.items()
                return self._factor(symbol, own * power)
        text = self._poly(poly)
        text = text if single and power == 1 else rf"\left({text}\right)"
        return text if power == 1 else f"{text}^{{{power}}}"

    def term(self, atom: k.Term, c: Ratio) -> str:
        """Return a multiple of an atom; of the unit, the number itself."""
        if atom is k.UNIT:
            return self.number(c)
        several = len(c.numerator.coefficients) > 1
        text = self.number(c)
        if not c.denominator and (several or any(map(_summed, c.numerator.parts))):
            text = rf"\left({text}\right)"
        factor = {"1": "", "-1": "-"}.get(text, text + " ")
        return factor + self._inner(atom)

    def sum(self, combination: k.Vec | k.Lin) -> str:
        """Return a linear combination."""
        return self.terms([*combination.coefficients.items()])

    def terms(self, terms: Terms) -> str:
        """Return a sum of multiples of atoms."""
        return _signed(self.term(atom, c) for atom, c in terms)

    # Atoms ----------------------------------------------------------------------------

    @singledispatchmethod
    def atom(self, term: k.Term) -> str:
        """Return a term that is no combination.

        Raises:
            TypeError: there is no notation for it.
        """
        raise TypeError(f"no notation for {type(term).__name__}")

    @atom.register(k.BoundClient)
    @atom.register(k.BoundNat)
    def _(self, term: Bound) -> str:
        return self.letters[term]

    @atom.register
    def _(self, term: k.Argument) -> str:
        return "t"

    @atom.register(k.Client)
    @atom.register(k.Point)
    @atom.register(k.NamedFunction)
    def _(self, term: k.Client | k.Point | k.NamedFunction) -> str:
        return spelled(str(term.name))

    @atom.register
    def _(self, term: k.Var) -> str:
        return PARAMETERS.get(term) or spelled(str(term.name))

    @atom.register
    def _(self, term: k.PerClient) -> str:
        tex = PARAMETERS.get(term.family) or f"{spelled(term.family.name)}_{{n}}"
        return tex.replace("{n}", f"{{{self._inner(term.client)}}}")

    @atom.register
    def _(self, term: k.PerRound) -> str:
        tex = PARAMETERS.get(term.family) or f"{spelled(term.family.name)}^{{t}}"
        return tex.replace("{t}", f"{{{self.tex(term.round)}}}")

    @atom.register
    def _(self, term: k.Weight) -> str:
        return f"a_{{{self._inner(term.client)}}}"

    @atom.register
    def _(self, term: k.Odds) -> str:
        return rf"\left(\frac{{1}}{{q_{{{self._inner(term.client)}}}}} - 1\right)"

    @atom.register
    def _(self, term: k.Draw) -> str:
        return f"J_{{{self._inner(term.client)}}}^{{{self.tex(term.round)}}}"

    @atom.register
    def _(self, term: k.Before) -> str:
        first, second = (
            f"({self._inner(client)},{self.tex(step)})"
            for client, step in (
                (term.earlier, term.earlier_step),
                (term.later, term.later_step),
            )
        )
        return rf"1_{{{first} \prec {second}}}^{{{self.tex(term.round)}}}"

    @atom.register
    def _(self, term: k.Local) -> str:
        return f"F_{{{self._inner(term.client)}}}"

    @atom.register
    def _(self, term: k.Mean) -> str:
        return "f"

    @atom.register
    def _(self, term: k.Unit) -> str:
        return "1"

    @atom.register(k.Star)
    @atom.register(k.Iterate)
    @atom.register(k.LocalPoint)
    @atom.register(k.Noise)
    @atom.register(k.Gradient)
    def _(self, term: k.VecAtom) -> str:
        return self._vector(term)

    @atom.register
    def _(self, term: k.Part) -> str:
        side = term.side.value[0]
        return self._vector(term.vector, side) or (
            rf"\left[{self._inner(term.vector)}\right]_{side}"
        )

    def _vector(self, term: k.VecAtom, side: str = "") -> str:
        """Return a vector that has a symbol, or its block; "" if it has none."""
        below: tuple[str, ...] = (side,)
        if isinstance(term, k.Gradient):
            sub = f"_{side}" if side else ""
            function = self._inner(term.function)
            return rf"\nabla{sub} {function}\left({self.tex(term.at)}\right)"
        if isinstance(term, k.Star):
            of = "" if term.function is k.MEAN else self._inner(term.function)
            letter, above, below = "x", "*", (side, of)
        elif isinstance(term, k.Iterate):
            letter, above = "x", self.tex(term.round)
        elif isinstance(term, k.LocalPoint | k.Noise):
            letter = "x" if isinstance(term, k.LocalPoint) else r"\xi"
            above = f"{self.tex(term.round)},{self.tex(term.step)}"
            below = (side, self._inner(term.client))
        else:
            return ""
        return str(w.Name(letter, ",".join(filter(None, below)), above))

    @atom.register
    def _(self, term: k.Expected) -> str:
        vector = self.tex(term.vector)
        return rf"\mathbb{{E}}_{{{self.tex(term.round)}}}\left[{vector}\right]"

    @atom.register
    def _(self, term: k.Value) -> str:
        function = self._inner(term.function)
        return rf"\mathbb{{E}} {function}\left({self.tex(term.at)}\right)"

    @atom.register
    def _(self, term: k.Inner) -> str:
        if term.left is term.right:
            return rf"\mathbb{{E}}\left\|{self._inner(term.left)}\right\|^2"
        pair = f"{self._inner(term.left)}, {self._inner(term.right)}"
        return rf"\mathbb{{E}}\left\langle {pair}\right\rangle"

    @atom.register(k.VecSum)
    @atom.register(k.LinSum)
    @atom.register(k.Total)
    def _(self, term: k.VecSum | k.LinSum | k.Total) -> str:
        if isinstance(term, k.Total) and term.sort is Sort.COUNT:
            return "N"
        v = self._inner(term.variable)
        low, high = v, ""
        if isinstance(term.binder, k.Steps):
            last = ratio(term.binder.upper) - 1
            low, high = f"{v}=0", f"^{{{self.number(last)}}}"
        weight = ratio(term.weight)
        atom: k.Term = term.body
        return rf"\sum_{{{low}}}{high} {self.term(atom, weight)}"

    # Hypotheses -----------------------------------------------------------------------

    @atom.register
    def _(self, term: h.Holds) -> str:
        left, right = map(self.terms, sides(term.form))
        return rf"{left} \le {right}"

    @atom.register
    def _(self, term: h.Hypothesis) -> str:
        return assumption(term, self._function, self._number).tex

    def _function(self, function: k.Function) -> w.Function:
        return w.Function(function, self._inner(function))

    def _number(self, c: Ratio) -> w.Number:
        several = len(c.numerator.coefficients) > 1 and not c.denominator
        return w.Written(c, self.number(c), w.SUM if several else w.PRODUCT)

    @atom.register
    def _(self, term: h.Variance) -> str:
        n = self._inner(term.client)
        return rf"\mathbb{{E}}\|\xi_{{{n}}}^{{t,i}}\|^2 \le {self.number(term.bound)}"

    @atom.register
    def _(self, term: h.Every) -> str:
        v = self._inner(term.variable)
        body = self._inner(term.body)
        if isinstance(term.binder, k.Steps):
            return rf"{body}\ \text{{for }} {v} < {self.tex(term.binder.upper)}"
        return rf"{body}\ \text{{for every }} {v}"


Terms = list[tuple[k.Term, Ratio]]


def sides(form: k.Lin) -> tuple[Terms, Terms]:
    """Return the terms of ``right - left``: what is negative stands on the left.

    A number's monomials are terms of their own.
    """
    left, right = Terms(), Terms()
    for atom, c in form.coefficients.items():
        parts = [c]
        if atom is k.UNIT:
            below = Ratio(Poly.constant(1), c.denominator)
            products = c.numerator.products()
            parts = [ratio(Poly.product(v, powers)) * below for v, powers in products]
        for one in parts:
            negative = all(v < 0 for v in one.numerator.coefficients.values())
            (left if negative else right).append((atom, -one if negative else one))
    return left, right


def _whole(poly: Poly) -> tuple[Poly, int]:
    """Return the polynomial times the least common denominator, and that."""
    scale = lcm(*(value.denominator for value, _ in poly.products()))
    return poly.scaled(scale), scale


def _summed(symbol: object) -> TypeGuard[k.Total]:
    """Return whether a symbol is written as a sum."""
    return isinstance(symbol, k.Total) and symbol.sort is not Sort.COUNT


@cache
def _place(symbol: Symbol) -> tuple[int, str]:
    """Return where a symbol stands in a product: numbers, then what has indices."""
    if isinstance(symbol, k.Total):
        return (0 if symbol.sort is Sort.COUNT else 3), str(symbol)
    return (0 if isinstance(symbol, k.Var) else 2), str(symbol)


def _scripted(symbol: k.Term) -> bool:
    """Return whether a symbol's notation ends in a superscript."""
    if isinstance(symbol, k.Odds):
        return False
    if isinstance(symbol, k.Var):
        return "^" in PARAMETERS.get(symbol, "")
    if isinstance(symbol, k.PerClient):
        return "^" in PARAMETERS.get(symbol.family, "")
    return isinstance(symbol, k.PerRound | k.Draw | k.Before)


def shown(form: k.Lin) -> tuple[tuple[str, Terms], tuple[str, Terms]]:
    """Return the two sides of ``form >= 0``, each as LaTeX and as its terms.

    Every term has the letters that it alone needs.
    """
    used = taken(form)

    def one(terms: Terms) -> tuple[str, Terms]:
        texts = [Typeset(letters(used, atom, c)).term(atom, c) for atom, c in terms]
        return _signed(texts), terms

    left, right = map(one, sides(form))
    return left, right


def _signed(terms: Iterable[str]) -> str:
    """Return a sum of terms as written, which may begin with a minus."""
    out = ""
    for text in terms:
        out += text if not out else f" {text}" if text[0] == "-" else f" + {text}"
    return out or "0"
