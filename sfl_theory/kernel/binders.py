"""Terms, binders, linear combinations, sums and substitution: what all terms share.

A `Vec` is a linear combination of vectors, a `Lin` one of the numbers ``<u, v>``,
``F(u)`` and 1 whose value is its expectation; a coefficient may be random by a draw and
is inside that expectation. Binders are closed canonically: the level of a sum exceeds
the levels inside, so closed terms that differ in bound names are the same object.
"""

from __future__ import annotations

import typing
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import count
from math import lcm, prod
from typing import Any, ClassVar, Self, TypeVar, cast, dataclass_transform
from weakref import WeakValueDictionary

from . import algebra
from .algebra import WHOLE, Built, Number, Poly, Ratio, Sort, Symbol, ratio, require

CHANCE, CONDITIONAL = "a draw occurs", "a conditional expectation occurs"
"""Marks: what `free` has besides variables."""
_TERMS: WeakValueDictionary[tuple[object, ...], Any] = WeakValueDictionary()
_ages = count()
hints = cache(typing.get_type_hints)
Index = Poly
"""The type of a field that is a natural number by its sorts."""


class Interned(type):
    """Hash-consing: equal arguments give the same object, so equality is identity."""

    def __call__(cls, *args: Any) -> Any:
        """Return the one object with these arguments."""
        key = (cls, *cast(type[Term], cls).normal(args))
        found = _TERMS.get(key)
        if found is None:
            found = _TERMS[key] = type.__call__(*key)
        return found


@dataclass_transform(eq_default=False, frozen_default=True)
class Term(Built, metaclass=Interned):
    """A frozen, interned record of its fields; an `Index` is made of any number."""

    fields: ClassVar[tuple[str, ...]]
    indices: ClassVar[tuple[int, ...]]
    shown: ClassVar[str] = ""

    def __init_subclass__(cls, **constants: object) -> None:
        super().__init_subclass__(**constants)
        kinds = fields(cast(Any, dataclass(frozen=True, eq=False)(cls)))
        cls.fields = tuple(field.name for field in kinds)
        cls.indices = tuple(i for i, f in enumerate(kinds) if f.type == "Index")

    @classmethod
    def normal(cls, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments that stand for these."""
        for i in cls.indices:
            if type(args[i]) is not Poly:
                args = (*args[:i], ratio(args[i]).poly(), *args[i + 1 :])
        return args

    def __post_init__(self) -> None:
        own = vars(self)
        own["parts"] = tuple(own[name] for name in self.fields)
        for i in self.indices:
            natural(cast(Poly, self.parts[i]))
        kinds = hints(type(self))
        for name, part in zip(self.fields, self.parts, strict=True):
            fits = kinds[name] is str or isinstance(part, kinds[name])
            require(fits, "%r is no %s", part, kinds[name])
        built = [part for part in self.parts if isinstance(part, Built)]
        own["free"] = self._free(frozenset().union(*(part.free for part in built)))
        own["depth"] = max([own.get("level", 0), *(part.depth for part in built)])
        own["size"] = sum([part.size for part in built], 1)
        require(own["size"] <= algebra.MAX_SIZE, "a term is too long")
        self._check()
        own["age"] = next(_ages)
        if isinstance(self, Symbol):
            algebra.SYMBOLS.append(self)
            own["serial"] = -len(algebra.SYMBOLS)

    def _free(self, inner: frozenset[object]) -> frozenset[object]:
        return inner

    def _check(self) -> None:
        """Refuse what is no term of this class; set what its fields decide."""

    def replaced(self, by: Substitution) -> Any:
        """Return this term, in which variables occur, with them replaced."""
        return made(type(self), *(at(part, by) for part in self.parts))

    def __str__(self) -> str:
        return self.shown.format_map(vars(self))


class VecAtom(Term):
    """A vector that is no combination of others."""


class LinAtom(Term):
    """A number of which the expectation is meant."""


class Variable(Term, shown="{name}", becomes=()):
    """What a theorem speaks of in general, or a binder ranges over."""

    becomes: ClassVar[Any]

    def _free(self, inner: frozenset[object]) -> frozenset[object]:
        return inner | {self}

    def replaced(self, by: Substitution) -> Any:
        """Return what replaces this variable, if it is what it may become."""
        new, fits = by[self], isinstance(by[self], self.becomes)
        require(fits, "%s cannot become %s", self, new)
        return new


class ClientIndex(Term):
    """A client, free or bound."""


class Client(Variable, ClientIndex, becomes=ClientIndex):
    """Any of the N clients."""

    name: str


class BoundClient(Variable, ClientIndex, shown="n{level}", becomes=ClientIndex):
    """The client that the sum of this level ranges over."""

    level: int


class Var(Variable, Symbol, becomes=Ratio):
    """A parameter: a number of its sort."""

    name: str
    sort: Sort


class BoundNat(Variable, Symbol, shown="i{level}", sort=Sort.NATURAL, becomes=Ratio):
    """The step or round that the binder of this level ranges over."""

    level: int


class Weight(Term, Symbol, shown="a[{client}]", sort=Sort.NONNEGATIVE):
    """``a_n``: at least 0, their sum is 1."""

    client: ClientIndex


class Clients(Term, shown="clients"):
    """Ranges over all clients."""


class Steps(Term, shown=" < {upper}"):
    """Ranges over the naturals below ``upper``."""

    upper: Index


class Naturals(Term, shown="naturals"):
    """Ranges over all naturals; binds hypotheses only, there is no such sum."""


CLIENTS, NATURALS = Clients(), Naturals()
Binder = Clients | Steps
Quantifier = Clients | Steps | Naturals
Bindable = Client | Var


def bound(binder: Quantifier, level: int) -> BoundClient | BoundNat:
    """Return the variable that a binder of this level binds."""
    return BoundClient(level) if isinstance(binder, Clients) else BoundNat(level)


def fresh(binder: Quantifier) -> Any:
    """Return a variable of the binder's kind that no one else can name."""
    name: Any = object()
    return Client(name) if isinstance(binder, Clients) else Var(name, Sort.NATURAL)


def bindable(binder: Quantifier, v: Bindable) -> None:
    """Check that a variable is of the binder's kind and not in its upper limit."""
    if isinstance(binder, Clients):
        fits = isinstance(v, Client)
    else:
        fits = isinstance(v, Var) and v.sort is Sort.NATURAL
    require(fits and v not in binder.free, "%s cannot range over %s", v, binder)


def bind(binder: Quantifier, v: Bindable, *parts: Any) -> tuple[Any, ...]:
    """Return binder, level and the parts with v bound: a closed term's fields."""
    level = max(part.depth for part in parts) + 1
    to = bound(binder, level)
    return binder, level, *(renamed(part, v, to) for part in parts)


class Closed(Term):
    """A term in which the variable of its binder and level is bound."""

    binder: Quantifier
    level: int

    @property
    def variable(self) -> BoundClient | BoundNat:
        """The variable that is bound."""
        return bound(self.binder, self.level)

    def _free(self, inner: frozenset[object]) -> frozenset[object]:
        fits = self.variable not in self.binder.free
        require(fits, "a range depends on its own variable")
        return inner - {self.variable}

    def index(self) -> str:
        """Return the bound variable and its range, for people."""
        if isinstance(self.binder, Naturals):
            return f"natural {self.variable}"
        return f"{self.variable}{self.binder if self.binder is not CLIENTS else ''}"

    def inside(self) -> Any:
        """Return what stands after the binder, with the bound variable."""
        return vars(self)["body"]

    @abstractmethod
    def again(self, binder: Any, v: Bindable, inside: Any) -> Any:
        """Return the like of this term, in normal form."""

    def opened(self) -> tuple[Any, Any]:
        """Return a fresh variable, and the inside with it."""
        v = fresh(self.binder)
        return v, renamed(self.inside(), self.variable, v)

    def replaced(self, by: Substitution) -> Any:
        """Return this term with variables replaced; a fresh one is bound meanwhile."""
        v, inside = self.opened()
        return self.again(at(self.binder, by), v, at(inside, by))


class WeightedSum(Closed):
    """``sum weight * body``; the weight is a product of powers of symbols."""

    binder: Binder
    weight: Poly
    body: ClassVar[Any]

    def _check(self) -> None:
        fits = list(self.weight.coefficients.values()) == [1]
        require(fits and isinstance(self.binder, Binder), "a sum not in normal form")

    def inside(self) -> Any:
        """Return the summand, a combination."""
        return lifted(self.body) * ratio(self.weight)

    def again(self, binder: Any, v: Bindable, inside: Any) -> Any:
        """Return the sum."""
        return summed(binder, v, inside)

    def __str__(self) -> str:
        weight = "" if self.weight == algebra.ONE else f"{self.weight}*"
        return f"sum_{{{self.index()}}}[{weight}{self.body}]"


class VecSum(WeightedSum, VecAtom):
    """A sum of vectors that depend on the bound variable."""

    body: VecAtom  # type: ignore[misc]


class LinSum(WeightedSum, LinAtom):
    """A sum of expected numbers that depend on the bound variable."""

    body: LinAtom  # type: ignore[misc]


class Unit(LinAtom, shown="1"):
    """The number 1."""


UNIT = Unit()


class Total(WeightedSum, Symbol, body=UNIT):
    """A sum of weights, as a number."""

    def _check(self) -> None:
        """N >= 1; positive terms over clients have a positive sum; else >= 0."""
        super()._check()
        parts, sort = self.weight.parts, Sort.NONNEGATIVE
        if self.binder is CLIENTS and all(s.sort.positive for s in parts):
            sort = Sort.POSITIVE if parts else Sort.COUNT
        vars(self)["sort"] = sort

    def again(self, binder: Any, v: Bindable, inside: Any) -> Any:
        """Return the sum as a number."""
        return number_of(summed(binder, v, inside))

    def __str__(self) -> str:
        text = f"sum_{{{self.index()}}}[{self.weight}]"
        return "N" if self.sort is Sort.COUNT else text


def products(pairs: list[tuple[Ratio, Ratio]]) -> Ratio:
    """Return a sum of products of two; of numbers without symbols in integers."""
    top, below = 0, 1
    if len(pairs) == 1 and pairs[0][1].plain == (1, 1):
        return pairs[0][0]
    for a, b in pairs:
        if a.plain is None or b.plain is None:
            return algebra.added([a * b for a, b in pairs])
        n, d = a.plain[0] * b.plain[0], a.plain[1] * b.plain[1]
        if d != below:
            both = lcm(d, below)
            n, top, below = n * (both // d), top * (both // below), both
        top += n
    return Ratio(Poly({(): Fraction(top, below) if below > 1 else top}))


A = TypeVar("A", bound=Term)


class Combination(algebra.Sum[A, Ratio]):
    """A linear combination of atoms with ratios as coefficients."""

    of: ClassVar[type[Term]]

    def plus(self, others: Iterable[Self]) -> Self:
        """Return this sum and others, all of them added up."""
        return self.weighted((one, WHOLE) for one in (self, *others))

    @classmethod
    def weighted(cls, parts: Iterable[tuple[Self, Ratio]]) -> Self:
        """Return the sum of combinations times numbers."""
        out: dict[A, list[tuple[Ratio, Ratio]]] = {}
        for one, factor in parts:
            require(type(one) is cls, "things of two kinds cannot be added")
            for key, c in one.coefficients.items():
                out.setdefault(key, []).append((c, factor))
        return cls({key: products(pairs) for key, pairs in out.items()})

    def __mul__(self, factor: Number) -> Self:
        return self.weighted([(self, ratio(factor))])

    __rmul__ = __mul__

    @cached_property
    def parts(self) -> tuple[object, ...]:
        """The atoms and their coefficients."""
        items = self.coefficients.items()
        fits = all(isinstance(a, self.of) and type(c) is Ratio for a, c in items)
        require(fits, "that is no combination of %s", self.of)
        return (*self.coefficients, *self.coefficients.values())

    def __str__(self) -> str:
        shown = []
        for atom, c in self.coefficients.items():
            text, several = str(c), len(c.numerator.coefficients) > 1
            minus = not several and text[0] == "-"
            text = f"({text})" if several and not c.denominator else text[minus:]
            name = "" if atom is UNIT else str(atom)
            factor = "" if name and text == "1" else f"{text}*" if name else text
            shown.append((minus, factor + name))
        return algebra.signed(shown)


class Vec(Combination[VecAtom]):
    """A linear combination of vectors."""

    of = VecAtom


class Lin(Combination[LinAtom]):
    """A linear combination of expected numbers."""

    of = LinAtom

    @property
    def expects(self) -> bool:
        """Whether it is more than a number: expected values occur."""
        return bool(self.coefficients.keys() - {UNIT})


def natural(value: Number | Poly) -> Poly:
    """Return a number as an index."""
    poly = ratio(value).poly()
    require(poly.natural(), "%s is not a natural number by its sorts", poly)
    return poly


def number_of(form: Lin) -> Ratio:
    """Return the number that a form without expected values is."""
    require(not form.expects, "%s is no number: it has expected values", form)
    return form.coefficients.get(UNIT, ratio(0))


def lifted(term: Any) -> Any:
    """Return a symbol as a number, a vector or an expected number as a combination."""
    if isinstance(term, Symbol):
        return Ratio(Poly.product(1, {term: 1}))
    if isinstance(term, VecAtom):
        return Vec({term: WHOLE})
    return Lin({term: WHOLE}) if isinstance(term, LinAtom) else term


def made(kind: Callable[..., Any], *parts: Any) -> Any:
    """Return the term of a kind with these parts in normal form, lifted."""
    return lifted(getattr(kind, "made", kind)(*parts))


C = TypeVar("C", Vec, Lin)


def summed(binder: Binder, v: Bindable, form: C) -> C:
    """Return ``sum_v form(v)``, in normal form.

    What a coefficient has that does not depend on v goes before the sum; an atom
    without v is multiplied by the total of its weight. No denominator may depend on v.
    A range of no or one step is no sum.
    """
    bindable(binder, v)
    if isinstance(binder, Steps) and binder.upper in (algebra.ZERO, algebra.ONE):
        return cast(C, at(form, {v: ratio(0)}) * ratio(binder.upper))
    kind, out = type(form), list[C]()
    make: Any = VecSum if isinstance(form, Vec) else LinSum
    for atom, c in form.coefficients.items():
        fits = all(v not in factor.free for factor, _ in c.denominator)
        require(fits, "a denominator depends on %s", v)
        below = Ratio(algebra.ONE, c.denominator)
        inner = {s for s in c.numerator.parts if v in s.free}
        for own, others in c.numerator.grouped(inner):
            inside, outside = Poly.product(1, own), ratio(others) * below
            if v in atom.free:
                out.append(kind({make(*bind(binder, v, inside, atom)): outside}))
            else:
                out.append(kind({atom: outside * total(binder, v, inside)}))
    return kind({}).plus(out)


def total(binder: Binder, v: Bindable, product: Poly) -> Ratio:
    """Return ``sum_v product``: 1 for weights, a `Total`, or Faulhaber for 0 <= i < u.

    ``sum i = u(u-1)/2``, ``sum i^2 = u(u-1)(2u-1)/6``, ``sum i^3 = u^2(u-1)^2/4``.
    """
    ((_, powers),) = product.products
    if isinstance(binder, Clients):
        if powers == {Weight(cast(Client, v)): 1}:
            return ratio(1)
    elif powers.keys() <= {v} and (power := sum(powers.values())) < 4:
        u = ratio(binder.upper)
        if not power:
            return u
        half = u * (u - 1) / 2
        return (half, half * (2 * u - 1) / 3, half**2)[power - 1]
    return cast(Ratio, lifted(Total(*bind(binder, v, product))))


Substitution = Mapping[Variable, Any]


def renamed(term: Any, old: Variable, new: Variable) -> Any:
    """Return the term with a variable renamed to one that does not occur."""
    if not isinstance(term, Built) or old not in term.free:
        return term
    to = partial(renamed, old=old, new=new)
    if isinstance(term, Poly):
        return term.renamed({s: to(s) for s in term.parts})
    if isinstance(term, Ratio):
        return Ratio(to(term.numerator), [(to(f), p) for f, p in term.denominator])
    if isinstance(term, Combination):
        return type(term)({to(a): to(c) for a, c in term.coefficients.items()})
    return new if term is old else type(term)(*map(to, term.parts))


def at(term: Any, by: Substitution) -> Any:
    """Return anything with variables replaced, without capture, in normal form."""
    if not isinstance(term, Built) or term.free.isdisjoint(by):
        return ratio(term) if isinstance(term, Poly) else lifted(term)
    if isinstance(term, Poly):
        new = {s: at(s, by) for s in term.parts if not s.free.isdisjoint(by)}
        return algebra.added(
            prod((new[s] ** power for s, power in own.items()), start=ratio(others))
            for own, others in term.grouped(new)
        )
    if isinstance(term, Ratio):
        out = at(term.numerator, by)
        for factor, power in term.denominator:
            out = out / at(factor, by) ** power
        return out
    if isinstance(term, Combination):
        items = term.coefficients.items()
        return type(term).weighted((at(atom, by), at(c, by)) for atom, c in items)
    return cast(Term, term).replaced(by)
