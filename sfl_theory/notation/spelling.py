r"""Numbers and vectors of the kernel in LaTeX: products, binders, what is in them.

What is written here is made with the notation of `written` from the term,
so its value is the term.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import gcd, lcm, prod
from typing import Any, Self, cast

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ONE, Poly, Ratio, Sort, Symbol, added, ratio
from sfl_theory.notation import written as w
from sfl_theory.notation.atoms import Notation, counts_rounds, pool
from sfl_theory.notation.formulas import Later
from sfl_theory.notation.written import Number, Value, Vector, Written

FACTORED = 150
"""So long a polynomial may be for its factors to be looked for."""
INVERSE = k.ClientFamily("1/q", Sort.POSITIVE)
"""Stands for the inverse chances of clients while a number is written."""


class Spelling(Notation):
    """Writes terms of one paper.

    Args:
        spelling: LaTeX by parameters' names, see `Names`; others are spelled by rule.
        model: letter of a run's models.
    """

    def __init__(
        self, spelling: Mapping[str, str] | None = None, model: str = "x"
    ) -> None:
        self._spelling = {} if spelling is None else spelling
        self._model = model
        self._taken: tuple[str, ...] = ()

    def tex(self, term: object) -> str:
        """Return the LaTeX of a client, a number, a vector or a function.

        Raises:
            TypeError: it is none of these.
        """
        if isinstance(term, Ratio | Poly):
            return self.number(ratio(term)).tex
        if isinstance(term, k.Vec):
            return self.vector(term).tex
        if not isinstance(term, k.Term):
            raise TypeError(f"{term!r} is no term")
        return self.atom(term)

    # numbers

    def number(self, value: Ratio) -> Number:
        """Return a number: its content in front, one fraction.

        Returns:
            It as written.
        """
        inverse = in_inverse_chances(value)
        if inverse is not None:
            shown = self._content(inverse)
            return w.Written(value, shown.tex, shown.binding)
        return self._content(value)

    def _content(self, value: Ratio) -> Number:
        products = value.numerator.products
        if not products:
            return w.number(0)
        common = dict(products[0][1])
        for _, powers in products[1:]:
            common = {s: min(p, powers.get(s, 0)) for s, p in common.items()}
        common = {s: p for s, p in common.items() if p}
        coefficients = [c for c, _ in products]
        top = gcd(*(c.numerator for c in coefficients))
        low = lcm(*(c.denominator for c in coefficients))
        sign = -1 if all(c < 0 for c in coefficients) else 1
        factors = self._powers(common)
        if len(products) > 1:
            whole = Poly({
                monomial: c
                for part in (
                    Poly.product(sign * c / Fraction(top, low), _less(powers, common))
                    for c, powers in products
                )
                for monomial, c in part.coefficients.items()
            })
            for poly, power in self._factors(whole):
                factor = self._sum(poly)
                factors.append(factor**power if power > 1 else factor)
        sums = [one for one in factors if _late(one)]
        front = [one for one in factors if not _late(one)]
        below = [w.number(low)] if low != 1 else []
        for poly, power in value.denominator:
            for one, times in self._factors(poly):
                divisor = self._sum(one)
                times *= power
                below.append(divisor**times if times > 1 else divisor)
        if top != 1 or not front:
            front = [w.number(top), *front]
        head = _times(front) / _times(below) if below else _times(front)
        out = _times([*([] if head.tex == "1" and sums else [head]), *sums])
        return -out if sign < 0 else out

    def _factors(self, poly: Poly) -> Iterable[tuple[Poly, int]]:
        """Return sums, and powers of them, that a polynomial is the product of."""
        return _factored(poly)

    def _sum(self, poly: Poly) -> Number:
        """Return a polynomial as the sum of its products."""
        products = sorted(poly.products, key=rank, reverse=True)
        return total([self._product(*one) for one in products], w.number(0))

    def _product(self, c: Fraction, powers: Mapping[Symbol, int]) -> Number:
        factors = self._powers(powers)
        size = abs(c)
        if size != 1 or not factors:
            factors = [w.number(size), *factors]
        out = _times(factors)
        return -out if c < 0 else out

    def _powers(self, powers: Mapping[Symbol, int]) -> list[Number]:
        made = [(self._symbol(s), power) for s, power in powers.items()]
        made.sort(key=lambda one: (_late(one[0]), one[0].tex.lstrip("\\")))
        return [one**power if power > 1 else one for one, power in made]

    def _symbol(self, s: Symbol) -> Number:
        if isinstance(s, k.Total):
            if s.sort is Sort.COUNT:
                return w.clients()
            v, inside = self._opened(s)
            with_ = self._within(v)
            return with_.over(s.binder, v, with_.number(k.number_of(inside)))
        if isinstance(s, k.PerClient) and s.family is INVERSE:
            tex = rf"\frac{{1}}{{q_{{{self.tex(s.client)}}}}}"
            return w.Written(k.symbol(s), tex, w.PRODUCT)
        known = isinstance(s, k.Term)
        return w.Written(k.symbol(s), self.tex(s) if known else str(s))

    def index(self, at: Poly) -> str:
        """Return a round or step."""
        return self.number(ratio(at)).tex

    # binders

    def _opened(self, *closed: Any) -> tuple[Any, Any]:
        """Return a variable with a letter of its own, and the insides with it."""
        first = closed[0]
        free = {getattr(v, "name", "") for one in closed for v in one.free}
        used = {*self._taken, *free}
        letters = pool(first.variable, any(map(counts_rounds, closed)))
        letter = next(one for one in letters if one not in used)
        if isinstance(first.binder, k.Clients):
            v: Any = k.Client(letter)
        else:
            v = k.Var(letter, Sort.NATURAL)
        insides = [k.renamed(one.inside(), one.variable, v) for one in closed]
        return v, insides[0] if len(insides) == 1 else insides

    def _within(self, v: k.Client | k.Var) -> Self:
        known = cast(dict[str, str], self._spelling)
        out = type(self)(ChainMap({v.name: v.name}, known), self._model)
        out._taken = (*self._taken, v.name)
        return out

    def _beside(self, term: k.Lin) -> Self:
        """Return one that takes no letter for a bound variable that is free here."""
        free = {getattr(v, "name", "") for v in term.free}
        out = type(self)(self._spelling, self._model)
        out._taken = (*self._taken, *sorted(free - {*self._taken, ""}))
        return out

    def over(self, binder: Any, v: Any, body: Written[Any]) -> Written[Any]:
        """Return a sum over a binder."""
        if isinstance(binder, k.Clients):
            return w.over(binder, v, self._letter(v), body)
        last = self.number(ratio(binder.upper) - 1).tex
        return w.over(binder, v, f"{self._letter(v)}=0}}^{{{last}", body)

    def _letter(self, v: Any) -> str:
        return str(v.name)

    # vectors

    def vector(self, value: k.Vec) -> Vector:
        """Return a combination of vectors; a gradient and its noise are one letter.

        Returns:
            It as written.
        """
        parts: list[Vector] = []
        left = dict(value.coefficients)
        while left:
            atom, c = next(iter(left.items()))
            together = [one for one in left if left[one] == c and _alike(one, atom)]
            for one in together:
                del left[one]
            body = self._joined(together)
            parts.append(scaled(self.number(c), body))
        parts.sort(key=lambda one: one.tex.startswith("-"))
        zero: Vector = w.Written(value, "0")
        return total(parts, zero)

    def _joined(self, atoms: Sequence[k.VecAtom]) -> Vector:
        """Return a sum of atoms: sums over one range as one sum, a gradient as g."""
        if isinstance(atoms[0], k.VecSum):
            v, insides = self._opened(*atoms)
            whole = insides if len(atoms) == 1 else sum(insides[1:], insides[0])
            inner = self._within(v)
            return inner.over(atoms[0].binder, v, inner.vector(whole))
        made = [self._atom(one) for one in atoms]
        step = {_step(one): one for one in atoms}
        if len(atoms) == 2 and len(step) == 1 and None not in step:
            noise = next(one for one in atoms if isinstance(_bare(one), k.Noise))
            bare: Any = _bare(noise)
            who, at = self.tex(bare.client), self.index(bare.round)
            name = w.Name("g", who, f"{at},{self.index(bare.step)}")
            if isinstance(noise, k.Part):
                name = w.Name("g", f"{noise.side.value[0]},{who}", name.above)
            value = made[0].value + made[1].value
            return w.Written(value, str(name), w.ATOM, name)
        return total(made, w.Written(k.Vec({}), "0"))

    # hypotheses

    def assumption(self, one: h.Hypothesis) -> w.Assumed:
        """Return a hypothesis that is no inequality and for no index, as written.

        Raises:
            TypeError: it is none that is known.
        """
        if isinstance(one, h.Smooth):
            return w.smooth(self.function(one.function), self.number(one.constant))
        if isinstance(one, h.Majorised):
            return w.majorised(self.function(one.function), self.number(one.constant))
        if isinstance(one, h.Convex):
            return w.convex(self.function(one.function), self.number(one.modulus))
        if isinstance(one, h.Minimiser):
            return w.minimiser(self.function(one.function))
        if isinstance(one, h.Heterogeneity):
            return w.heterogeneity(self.number(one.bound))
        if not isinstance(one, h.OfRun):
            raise TypeError(f"{one} is no hypothesis that is known")
        run = w.Run(one.run, str(one.run), self._model)
        if isinstance(one, h.Variance) and isinstance(one.client, k.Client):
            return w.variance(run, one.client, self.number(one.bound))
        if isinstance(one, h.BoundedBlock):
            return w.bounded_block(run, self.number(one.bound), one.side)
        if isinstance(one, h.BoundedGradients):
            return w.bounded_gradients(run, self.number(one.bound))
        if isinstance(one, h.Unbiased):
            return w.unbiased(run)
        if isinstance(one, h.Independent):
            return w.independent(run)
        return w.participation(run)


def in_inverse_chances(value: Ratio) -> Ratio | None:
    """Return a number in 1/q_n in the place of 1/q_n - 1, if it is shorter so."""
    changed = exchanged(value, True)
    shorter = len(changed.numerator.coefficients) < len(value.numerator.coefficients)
    return changed if shorter else None


def exchanged(value: Ratio, inverse: bool) -> Ratio:
    """Return a number with 1/q_n for 1/q_n - 1 in its numerator, or the other way."""
    terms = (
        prod((_exchanged(s, inverse) ** p for s, p in powers.items()), start=ratio(c))
        for c, powers in value.numerator.products
    )
    return added(terms) * Ratio(Poly({(): 1}), value.denominator)


def _exchanged(s: Symbol, inverse: bool) -> Ratio:
    if isinstance(s, k.Odds) and inverse:
        return k.symbol(k.PerClient(INVERSE, s.client)) - 1
    if isinstance(s, k.PerClient) and s.family is INVERSE and not inverse:
        return k.symbol(k.Odds(s.client)) + 1
    if isinstance(s, k.Total) and s.binder is k.CLIENTS:
        v, inside = s.opened()
        body = k.constant(exchanged(k.number_of(inside), inverse))
        return k.number_of(k.summed(k.CLIENTS, v, body))
    return k.symbol(s)


@cache
def _factored(poly: Poly) -> tuple[tuple[Poly, int], ...]:
    """Return sums, and powers of them, that a polynomial is the product of.

    sympy finds them, up to a number that one of them takes; that their product is the
    polynomial is checked here. None has a symbol that occurs once, as ``c s``: of two
    factors one would be a number.
    """
    powers_of = [powers for _, powers in poly.products]
    occurs = ([one for one in powers_of if s in one] for s in poly.parts)
    prime = any(found == [{s: 1}] for s, found in zip(poly.parts, occurs, strict=True))
    if prime or not 2 < len(poly.coefficients) <= FACTORED:
        return ((poly, 1),)
    symbols = list(poly.parts)
    import sympy as sp

    letters = sp.symbols(f"x:{len(symbols)}")
    terms = {
        tuple(powers.get(s, 0) for s in symbols): sp.Rational(
            c.numerator, c.denominator
        )
        for c, powers in poly.products
    }
    content, found = sp.factor_list(sp.Poly(terms, *letters))
    out: list[tuple[Poly, int]] = []
    for factor, power in found:
        made = Poly({})
        for exponents, c in factor.terms():
            powers = dict(zip(symbols, exponents, strict=True))
            made = made + Poly.product(Fraction(int(c.p), int(c.q)), powers)
        out.append((made, power))
    once = next((j for j, (_, power) in enumerate(out) if power == 1), None)
    if once is not None:
        size = Fraction(int(content.p), int(content.q))
        out[once] = (out[once][0].scaled(size), 1)
    whole = len(out) > 1 or out[0][1] > 1
    product = prod(((ratio(one) ** p).numerator for one, p in out), start=ONE)
    return tuple(out) if whole and product == poly else ((poly, 1),)


def rank(product: tuple[Fraction, Mapping[Symbol, int]]) -> tuple[object, ...]:
    """Return how early a product stands in a sum: positive, of high degree."""
    c, powers = product
    return c > 0, sum(powers.values()), sorted(map(str, powers), reverse=True)


def _less(powers: Mapping[Symbol, int], common: Mapping[Symbol, int]) -> dict[Any, int]:
    left = {s: p - common.get(s, 0) for s, p in powers.items()}
    return {s: p for s, p in left.items() if p}


def _late(one: Number) -> bool:
    """Return whether a number is written with a sum, or a reference to one."""
    return r"\sum" in one.tex or r"\ref" in one.tex


def _times(factors: Sequence[Number]) -> Number:
    out = factors[0]
    for one in factors[1:]:
        out = out * one
    return out


def total(parts: Sequence[Written[Value]], zero: Written[Value]) -> Written[Value]:
    """Return a sum of what is written, a minus as a difference; zero: an empty one."""
    if not parts:
        return zero
    parts = sorted(parts, key=lambda one: one.tex.startswith("-"))
    if len(parts) == 1:
        return parts[0]
    signed = (
        f"- {one.tex[1:]}" if one.tex.startswith("-") else f"+ {one.tex}"
        for one in parts[1:]
    )
    tex = " ".join([parts[0].tex, *signed])

    def whole() -> Any:
        values: list[Any] = [one.value for one in parts]
        if issubclass(parts[0].kind, Ratio):
            return added(values)
        return values[0].plus(values[1:])

    return w.Written(Later(parts[0].kind, whole), tex, w.SUM)


def scaled(c: Number, body: Written[Any]) -> Any:
    """Return a multiple: no factor 1, a minus in front, fractions at the head."""
    if c.value == ratio(1):
        return body
    if c.value == ratio(-1):
        return -body
    if body.tex == "1":
        return w.Written(body.value * c.value, c.tex, c.binding)
    if _late(c):
        c = w.bracket(c)
    if c.tex.startswith("-") and c.binding == w.SUM:
        size = w.Written(-c.value, c.tex[1:], w.PRODUCT)
        return -(size * body)
    return c * body


def _bare(atom: k.VecAtom) -> k.VecAtom:
    return atom.vector if isinstance(atom, k.Part) else atom


def _step(atom: k.VecAtom) -> object:
    """Return run, client, round, step and block of a gradient at a local point."""
    side = atom.side if isinstance(atom, k.Part) else None
    one = _bare(atom)
    if isinstance(one, k.Noise):
        return side, one.run, one.client, one.round, one.step
    if isinstance(one, k.Gradient) and isinstance(one.function, k.Local):
        at = list(one.at.coefficients.items())
        if len(at) == 1 and isinstance(at[0][0], k.LocalPoint) and at[0][1] == ratio(1):
            p = at[0][0]
            if p.client is one.function.client:
                return side, p.run, p.client, p.round, p.step
    return None


def _alike(one: k.VecAtom, two: k.VecAtom) -> bool:
    """Return whether two atoms with one factor are printed together."""
    if one is two:
        return True
    if isinstance(one, k.VecSum) and isinstance(two, k.VecSum):
        return one.binder is two.binder and one.weight == two.weight
    return _step(one) is not None and _step(one) == _step(two)
