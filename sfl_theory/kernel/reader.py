"""From JSON to typed objects: the only way into the kernel for what comes from outside.

A file is ``{"terms": [...], "steps": [...], "claims": [...]}``. A term is
``[constructor, argument, ...]`` and is referred to by its place in the table; a step is
``[rule, argument, ...]``. Each argument is read as the one type that the constructor or
the rule declares. Sums are written with a named variable and closed here, so a file
cannot contain a bound index.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from enum import Enum
from fractions import Fraction
from functools import lru_cache, partial
from types import NoneType
from typing import Any, Literal, cast

from . import algebra
from . import hypotheses as h
from . import terms as k
from .algebra import MAX_EXPONENT, Poly, Ratio, Rejected, Sort, Symbol, require
from .models import Bend, Model, NoiseLaw, Outcome, Shape
from .rules import Theorem, conforms, taken_apart

MAX_CHARACTERS = 64_000_000
MAX_ENTRIES = 400_000
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}", re.ASCII)
_FRACTION = re.compile(r"-?[0-9]{1,400}(/[0-9]{1,400})?", re.ASCII)

Exponent = Literal["exponent"]
_PLAIN_VALUES: dict[object, Callable[[Any], object]] = {
    str: lambda value: type(value) is str and _NAME.fullmatch(value),
    bool: lambda value: type(value) is bool,
    int: lambda value: type(value) is int and 0 <= value <= MAX_ENTRIES,
    Exponent: lambda value: type(value) is int and 1 <= value <= MAX_EXPONENT,
}
Json = None | bool | int | str | list["Json"] | dict[str, "Json"]


def load(text: str) -> Json:
    """Return the JSON value of a text without floats, long integers, repeated keys."""
    require(len(text) <= MAX_CHARACTERS, "the file is too long")

    def no_float(literal: str) -> Json:
        raise Rejected(f"{literal} is no exact number")

    def small(literal: str) -> int:
        require(len(literal) <= 12, "an integer is too long")
        return int(literal)

    def no_repetition(pairs: list[tuple[str, Json]]) -> Json:
        distinct(key for key, _ in pairs)
        return dict(pairs)

    value: Json = json.loads(
        text,
        parse_float=no_float,
        parse_constant=no_float,
        parse_int=small,
        object_pairs_hook=no_repetition,
    )
    return value


def distinct(values: Iterable[Hashable]) -> None:
    """Check that nothing is repeated."""
    seen = set()
    for value in values:
        require(value not in seen, "%s is repeated", value)
        seen.add(value)


def items(value: Json) -> list[Json]:
    """Return a JSON list that is not too long."""
    require(type(value) is list, "a list was expected")
    found = cast(list[Json], value)
    require(len(found) <= MAX_ENTRIES, "a list is too long")
    return found


def record(value: Json, keys: tuple[str, ...]) -> list[Json]:
    """Return the values of a JSON object with exactly these keys, in their order."""
    found = cast(dict[str, Json], value)
    fits = type(value) is dict and set(found) == set(keys)
    require(fits, "an object with the keys %s was expected", ", ".join(keys))
    return [found[key] for key in keys]


class Table:
    """The terms and theorems read so far, to which later entries refer."""

    def __init__(self) -> None:
        self.terms: list[object] = []
        self.theorems: list[Theorem] = []

    def add(self, entry: Json) -> None:
        """Read one term and append it."""
        tag, *given = items(entry)
        require(type(tag) is str and tag in CONSTRUCTORS, "no constructor %s", tag)
        build, kinds = CONSTRUCTORS[str(tag)]
        self.terms.append(build(*self.arguments(given, kinds)))

    def arguments(self, given: list[Json], kinds: Iterable[object]) -> list[Any]:
        """Return arguments, each of its declared type."""
        kinds = tuple(kinds)
        require(len(given) == len(kinds), "%s arguments for %s", len(given), len(kinds))
        return [self.read(*pair) for pair in zip(given, kinds, strict=True)]

    def read(self, value: Json, kind: Any) -> Any:
        """Return a value as one type, or refuse it."""
        if kind in _PLAIN_VALUES:
            require(_PLAIN_VALUES[kind](value), "%r is no %s", value, kind)
            return value
        if type(value) is int:
            table: list[Any] = self.theorems if kind is Theorem else self.terms
            require(0 <= value < len(table), "%r refers to nothing", value)
            fits = conforms(table[value], kind)
            require(fits, "%s is not of type %s", table[value], kind)
            return table[value]
        origin, args = taken_apart(kind)
        if kind is Fraction:
            require(type(value) is str, "%r is no fraction", value)
            return _fraction(cast(str, value))
        if origin is tuple:
            given = items(value)
            several = args[1:] == (Ellipsis,)
            kinds = args[:1] * len(given) if several else args
            return tuple(self.arguments(given, kinds))
        if origin is Mapping:
            pair: Any = tuple.__class_getitem__(args)
            pairs = self.read(value, tuple[pair, ...])
            distinct(key for key, _ in pairs)
            return dict(pairs)
        if kind is NoiseLaw:
            return NoiseLaw(self.read(value, tuple[Outcome, ...]))
        if kind in (Shape, Bend):
            return kind(*self.arguments(items(value), k.hints(kind).values()))
        if value is None:
            require(NoneType in args, "an argument is missing")
            return None
        kind = args[0] if NoneType in args else kind
        enum = isinstance(kind, type) and issubclass(kind, Enum)
        known = {member.value: member for member in kind} if enum else {}
        require(type(value) is str and value in known, "no %s %r", kind, value)
        return known[value]


@lru_cache(maxsize=10_000)
def _fraction(value: str) -> Fraction:
    require(_FRACTION.fullmatch(value), "%r is no fraction", value)
    top, _, below = value.partition("/")
    require(below == "" or int(below) > 0, "%s divides by zero", value)
    out = Fraction(int(top), int(below or 1))
    require(str(out) == value, "%s is not in lowest terms", value)
    return out


def _number(
    terms: tuple[tuple[Fraction, tuple[tuple[Symbol | Ratio, int], ...]], ...],
    below: tuple[tuple[Ratio, int], ...],
) -> Ratio:
    distinct(frozenset(powers) for _, powers in terms)
    parts = list[Ratio]()
    for value, powers in terms:
        require(value, "a coefficient is zero")
        distinct(factor for factor, _ in powers)
        symbols = {one: power for one, power in powers if isinstance(one, Symbol)}
        term = Ratio(Poly.product(value, symbols))
        for factor, power in powers:
            if isinstance(factor, Ratio):
                term = term * factor**power
        parts.append(term)
    out = algebra.added(parts)
    for divisor, power in below:
        out = out / divisor**power
    return out


def _combination(kind: Any, terms: tuple[tuple[Any, Ratio], ...]) -> Any:
    distinct(one for one, _ in terms)
    require(all(c for _, c in terms), "a coefficient is zero")
    return kind.weighted((k.lifted(one), c) for one, c in terms)


def _rate(argument: k.Var, body: Ratio) -> k.Rate:
    require(argument.sort is Sort.NATURAL, "a rate depends on a natural number")
    return k.Rate(k.number_at(body, {argument: k.symbol(k.ROUND)}))


def model_of(value: Json, table: Table) -> Model:
    """Return the model that a JSON object describes."""
    kinds = k.hints(Model)
    return Model(*table.arguments(record(value, tuple(kinds)), kinds.values()))


Constructor = tuple[Callable[..., object], tuple[object, ...]]
_READ_AS = {Poly: Ratio, k.ClientIndex: k.Client | k.Numbered, k.VecAtom: k.Vec}
_ADDEND = tuple[Fraction, tuple[tuple[Symbol | Ratio, Exponent], ...]]
_VECTORS = tuple[tuple[k.Point | k.Vec, Ratio], ...]


def _constructor(kind: Any) -> Constructor:
    """Return what makes a term of its fields, vectors and forms as combinations."""
    types = k.hints(kind)
    made = issubclass(kind, k.VecAtom | k.LinAtom) and not issubclass(kind, k.Variable)
    kinds = tuple(_READ_AS.get(types[name], types[name]) for name in kind.fields)
    return partial(k.made, kind) if made else kind, kinds


_PLAIN: tuple[tuple[type[k.Term], ...], ...] = (
    (k.Client, k.Var, k.ClientFamily, k.RoundFamily, k.NamedFunction, k.Point),
    (k.Numbered, k.Weight, k.Odds, k.Draw, k.Share, k.Before, k.PerClient, k.PerRound),
    (k.Clients, k.Steps, k.Naturals, k.Local, k.Mean),
    (k.Descent, k.Pace, k.Stepwise, k.Split),
    (k.Star, k.Gradient, k.Iterate, k.LocalPoint, k.Noise, k.Part, k.Expected),
    (k.Inner, k.Value),
    (h.Holds, h.Smooth, h.Majorised, h.Convex, h.Minimiser, h.Heterogeneity),
    (h.Unbiased, h.Independent, h.Variance, h.BoundedGradients, h.BoundedBlock),
    (h.Participation,),
)
TAGS = {
    kind: re.sub("(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
    for kinds in _PLAIN
    for kind in kinds
} | {k.NamedFunction: "function", k.PerClient: "of_client", k.PerRound: "of_round"}
CONSTRUCTORS: dict[str, Constructor] = {
    **{tag: _constructor(kind) for kind, tag in TAGS.items()},
    "number": (_number, (tuple[_ADDEND, ...], tuple[tuple[Ratio, Exponent], ...])),
    "fraction": (algebra.ratio, (Fraction,)),
    "total": (
        lambda binder, v, number: k.number_of(k.summed(binder, v, k.constant(number))),
        (k.Binder, k.Bindable, Ratio),
    ),
    "rate": (_rate, (k.Var, Ratio)),
    "vector": (partial(_combination, k.Vec), (_VECTORS,)),
    "vector_sum": (k.summed, (k.Binder, k.Bindable, k.Vec)),
    "form": (partial(_combination, k.Lin), (tuple[tuple[k.Lin, Ratio], ...],)),
    "constant": (k.constant, (Ratio,)),
    "form_sum": (k.summed, (k.Binder, k.Bindable, k.Lin)),
    "every": (h.every, (k.Quantifier, k.Bindable, h.Hypothesis)),
}
