r"""Terms of the kernel as LaTeX, as they stand: what is in a derivation.

`Writer` looks for what a person would write; here every atom is written by itself,
with letters for bound indices that are free in the formula, or gaps for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache, singledispatchmethod

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Poly, Ratio, Sort, Symbol, ratio
from sfl_theory.notation import written as w
from sfl_theory.notation.atoms import counts_rounds, pool
from sfl_theory.notation.spelling import Spelling, scaled
from sfl_theory.notation.written import Later, Number, Vector, Written

Bound = k.BoundClient | k.BoundNat
Letters = Mapping[Bound, str]
"""The letters of bound indices in a formula."""


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
        kind = pool(v, of_round)
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
        own.add((term.variable, counts_rounds(term)))
    return frozenset(own).union(*map(_bound, getattr(term, "parts", ())))


class Typeset(Spelling):
    """LaTeX of terms.

    Args:
        letters: of bound indices.
        refer: what stands for an inner term; None: its own LaTeX.
    """

    def __init__(
        self, letters: Letters, refer: Callable[[k.Term], str] | None = None
    ) -> None:
        super().__init__()
        self._letters = letters
        self._refer = refer
        self._numbers: dict[Ratio, Number] = {}
        self._symbols: dict[Symbol, Number] = {}
        self._powers_of: dict[tuple[Symbol, int], str] = {}

    def tex(self, term: object) -> str:
        """Return the LaTeX of a term, a number, a vector or a form."""
        if isinstance(term, k.Lin):
            return self.terms([*term.coefficients.items()])
        if isinstance(term, k.Term) and self._refer is not None:
            return self._refer(term)
        return super().tex(term)

    def number(self, value: Ratio) -> Number:
        """Return a number, made once."""
        if value not in self._numbers:
            self._numbers[value] = replace(self._content(value), given=value)
        return self._numbers[value]

    def _factors(self, poly: Poly) -> Iterable[tuple[Poly, int]]:
        return ((poly, 1),)

    def _sum(self, poly: Poly) -> Number:
        """Return a sum; there are some of a hundred thousand products."""
        texts = (self._signed_product(*one) for one in poly.products)
        return Written(Later(Ratio, lambda: ratio(poly)), _signed(texts), w.SUM)

    def _signed_product(self, c: Fraction, powers: Mapping[Symbol, int]) -> str:
        named = sorted(powers.items(), key=lambda one: _place(one[0]))
        factors = [self._power(*one) for one in named]
        head = [w.number(abs(c)).tex] if abs(c) != 1 or not factors else []
        return ("-" if c < 0 else "") + " ".join([*head, *factors])

    def _power(self, s: Symbol, power: int) -> str:
        if (s, power) not in self._powers_of:
            one = self._symbol(s)
            self._powers_of[s, power] = (one**power if power > 1 else one).tex
        return self._powers_of[s, power]

    def _symbol(self, s: Symbol) -> Number:
        if s not in self._symbols:
            if isinstance(s, k.Total):
                binding = w.ATOM if s.sort is Sort.COUNT else w.PRODUCT
                self._symbols[s] = Written(k.symbol(s), self.tex(s), binding)
            else:
                self._symbols[s] = super()._symbol(s)
        return self._symbols[s]

    def term(self, atom: k.Term, c: Ratio) -> str:
        """Return a multiple of an atom; of the unit, the number itself."""
        return str(self._multiple(atom, c).tex)

    def _multiple(self, atom: k.Term, c: Ratio) -> Written[Ratio] | Written[k.Lin]:
        number = self.number(c)
        if atom is k.UNIT:
            return number
        value = Later(k.Lin, lambda: k.Lin({atom: ratio(1)}))  # type: ignore[dict-item]
        return scaled(number, Written(value, self.tex(atom), w.PRODUCT))  # type: ignore[no-any-return]

    def vector(self, value: k.Vec) -> Vector:
        """Return a combination of vectors, term by term."""
        return Written(value, self.terms([*value.coefficients.items()]))

    def terms(self, terms: Terms) -> str:
        """Return a sum of multiples of atoms."""
        return _signed(self.term(atom, c) for atom, c in terms)

    @singledispatchmethod
    def atom(self, term: k.Term) -> str:
        """Return a term that is no combination."""
        return super().atom(term)

    @atom.register(k.BoundClient)
    @atom.register(k.BoundNat)
    def _letter(self, v: Bound) -> str:
        return self._letters[v]

    @atom.register
    def _(self, term: k.Value) -> str:
        at = Written(term.at, self.tex(term.at))
        return self.function(term.function)(at).tex

    @atom.register
    def _(self, term: k.Inner) -> str:
        left, right = (
            Written(k.vec(one), self.tex(one)) for one in (term.left, term.right)
        )
        return (w.norm2(left) if term.left is term.right else w.inner(left, right)).tex

    @atom.register(k.VecSum)
    @atom.register(k.LinSum)
    @atom.register(k.Total)
    def _(self, term: k.VecSum | k.LinSum | k.Total) -> str:
        if isinstance(term, k.Total) and term.sort is Sort.COUNT:
            return w.clients().tex
        body = self._multiple(term.body, ratio(term.weight))
        return self.over(term.binder, term.variable, body).tex

    # Hypotheses -----------------------------------------------------------------------

    @atom.register
    def _(self, term: h.Holds) -> str:
        left, right = map(self.terms, sides(term.form))
        return rf"{left} \le {right}"

    @atom.register
    def _(self, term: h.Hypothesis) -> str:
        return self.assumption(term).tex

    @atom.register
    def _(self, term: h.Variance) -> str:
        n = self.tex(term.client)
        return rf"\mathbb{{E}}\|\xi_{{{n}}}^{{t,i}}\|^2 \le {self.tex(term.bound)}"

    @atom.register
    def _(self, term: h.Every) -> str:
        v = self.tex(term.variable)
        body = self.tex(term.body)
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
            products = c.numerator.products
            parts = [ratio(Poly.product(v, powers)) * below for v, powers in products]
        for one in parts:
            negative = all(v < 0 for v in one.numerator.coefficients.values())
            (left if negative else right).append((atom, -one if negative else one))
    return left, right


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


@cache
def _place(symbol: Symbol) -> tuple[int, str]:
    """Return where a symbol stands in a product: numbers, then what has indices."""
    if isinstance(symbol, k.Total):
        return (0 if symbol.sort is Sort.COUNT else 3), str(symbol)
    return (0 if isinstance(symbol, k.Var) else 2), str(symbol)
