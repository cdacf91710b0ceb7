"""From JSON to typed objects: the only way into the kernel for what comes from outside.

A file is ``{"terms": [...], "steps": [...], "claims": [...]}``. A term is
``[constructor, argument, ...]`` and is referred to by its place in the table; a step is
``[rule, argument, ...]``. Each argument is read as the one type that the constructor or
the rule declares, so arity, keys, names, exponents, references and repetitions are
checked before a rule sees anything. Sums are written with a named variable and closed
here, so a file cannot contain a bound index.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable
from enum import Enum
from fractions import Fraction
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from . import hypotheses as h
from . import terms as k
from .algebra import MAX_EXPONENT, Ratio, Rejected, Sort, ratio, require
from .models import Bend, Model, NoiseLaw, Shape
from .rules import Theorem, conforms

MAX_CHARACTERS = 64_000_000
MAX_ENTRIES = 400_000
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}", re.ASCII)
_FRACTION = re.compile(r"-?[0-9]{1,400}(/[0-9]{1,400})?", re.ASCII)

Name = Literal["name"]
Exponent = Literal["exponent"]
Index = k.Client | k.Var
Factor = (
    k.Var | k.Weight | k.Odds | k.Before | k.Draw | k.PerClient | k.PerRound | Ratio
)
Vector = k.Point | k.Vec
Hypothesis = (
    h.Holds
    | h.Smooth
    | h.Majorised
    | h.Convex
    | h.Minimiser
    | h.Heterogeneity
    | h.Unbiased
    | h.Independent
    | h.Variance
    | h.BoundedGradients
    | h.Participation
    | h.Every
)
_Vector = tuple[Fraction, ...]
_Shape = tuple[
    tuple[_Vector, ...],
    _Vector,
    tuple[tuple[Fraction, _Vector, Fraction, Fraction], ...],
]
MODEL: dict[str, object] = {
    "client_size": int,
    "functions": tuple[_Shape, ...],
    "weights": _Vector,
    "participation": _Vector,
    "noise": tuple[tuple[tuple[Fraction, _Vector, _Vector], ...], ...],
    "start": _Vector,
    "order": tuple[tuple[int, int], ...],
    "rounds": int,
    "numbers": tuple[tuple[k.Var, Fraction], ...],
    "families": tuple[tuple[k.ClientFamily, _Vector], ...],
    "rates": tuple[tuple[k.RoundFamily, k.Rate], ...],
    "named": tuple[tuple[k.NamedFunction, _Shape], ...],
    "points": tuple[tuple[k.Point, tuple[_Vector, ...]], ...],
    "stars": tuple[tuple[k.Function, _Vector], ...],
    "box": tuple[tuple[Fraction, Fraction], ...],
}
Json = None | bool | int | str | list["Json"] | dict[str, "Json"]


def load(text: str) -> Json:
    """Return the JSON value of a text.

    Raises:
        Rejected: it is too long, or has floats, long integers or repeated keys.
    """
    require(len(text) <= MAX_CHARACTERS, "the file is too long")

    def no_float(literal: str) -> Json:
        raise Rejected(f"{literal} is no exact number")

    def small(literal: str) -> int:
        require(len(literal) <= 12, "an integer is too long")
        return int(literal)

    def no_repetition(pairs: list[tuple[str, Json]]) -> Json:
        out = dict(pairs)
        require(len(out) == len(pairs), "a key is repeated")
        return out

    value: Json = json.loads(
        text,
        parse_float=no_float,
        parse_constant=no_float,
        parse_int=small,
        object_pairs_hook=no_repetition,
    )
    return value


def items(value: Json) -> list[Json]:
    """Return a JSON list.

    Raises:
        Rejected: it is none, or too long.
    """
    if type(value) is not list:
        raise Rejected("a list was expected")
    require(len(value) <= MAX_ENTRIES, "a list is too long")
    return value


def record(value: Json, keys: tuple[str, ...]) -> list[Json]:
    """Return the values of a JSON object with exactly these keys, in their order.

    Raises:
        Rejected: it is no object, or has other keys.
    """
    if type(value) is not dict or set(value) != set(keys):
        raise Rejected(f"an object with the keys {', '.join(keys)} was expected")
    return [value[key] for key in keys]


def name_of(value: Json) -> str:
    """Return a name: a letter, then letters, digits and underscores.

    Raises:
        Rejected: it is none.
    """
    if type(value) is not str or not _NAME.fullmatch(value):
        raise Rejected(f"{value!r} is no name")
    return value


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

    def arguments(self, given: list[Json], kinds: tuple[object, ...]) -> list[object]:
        """Return arguments, each of its declared type.

        Raises:
            Rejected: there are more or fewer, or one is of another type.
        """
        require(len(given) == len(kinds), "%s arguments for %s", len(given), len(kinds))
        return [
            self.read(value, kind) for value, kind in zip(given, kinds, strict=True)
        ]

    def read(self, value: Json, kind: object) -> object:
        """Return a value as one type.

        Raises:
            Rejected: it is not of that type.
        """
        if kind is Name:
            return name_of(value)
        if kind is Exponent:
            fits = type(value) is int and 1 <= value <= MAX_EXPONENT
            require(fits, "%r is no exponent", value)
            return value
        if kind is Fraction:
            return _fraction(value)
        if kind is int:
            fits = type(value) is int and 0 <= value <= MAX_ENTRIES
            require(fits, "%r is no natural number", value)
            return value
        if isinstance(kind, type) and issubclass(kind, Enum):
            known = {member.value: member for member in kind}
            require(type(value) is str and value in known, "no %s %r", kind, value)
            return known[value]
        if get_origin(kind) is tuple:
            return self._tuple(value, get_args(kind))
        if value is None:
            optional = get_origin(kind) in (Union, UnionType)
            require(optional and NoneType in get_args(kind), "an argument is missing")
            return None
        rest = tuple(one for one in get_args(kind) if one is not NoneType)
        if len(rest) == 1 and isinstance(rest[0], type) and issubclass(rest[0], Enum):
            return self.read(value, rest[0])
        return self._reference(value, kind)

    def _tuple(self, value: Json, kinds: tuple[object, ...]) -> tuple[object, ...]:
        if len(kinds) == 2 and kinds[1] is Ellipsis:
            return tuple(self.read(item, kinds[0]) for item in items(value))
        return tuple(self.arguments(items(value), kinds))

    def _reference(self, value: Json, kind: object) -> object:
        known = self.theorems if kind is Theorem else self.terms
        if type(value) is not int or not 0 <= value < len(known):
            raise Rejected(f"{value!r} refers to nothing")
        found = known[value]
        require(conforms(found, kind), "%s is not of type %s", found, kind)
        return found


def distinct(values: Iterable[Hashable]) -> None:
    """Check that nothing is repeated.

    Raises:
        Rejected: something is.
    """
    seen = set()
    for value in values:
        require(value not in seen, "%s is repeated", value)
        seen.add(value)


def _fraction(value: Json) -> Fraction:
    if type(value) is not str or not _FRACTION.fullmatch(value):
        raise Rejected(f"{value!r} is no fraction")
    top, _, below = value.partition("/")
    require(below == "" or int(below) > 0, "%s divides by zero", value)
    out = Fraction(int(top), int(below or 1))
    require(str(out) == value, "%s is not in lowest terms", value)
    return out


def _number(
    terms: tuple[tuple[Fraction, tuple[tuple[Factor, int], ...]], ...],
    below: tuple[tuple[Ratio, int], ...],
) -> Ratio:
    distinct(frozenset(powers) for _, powers in terms)
    out = ratio(0)
    for value, powers in terms:
        require(value, "a coefficient is zero")
        distinct(factor for factor, _ in powers)
        term = ratio(value)
        for factor, power in powers:
            number = factor if isinstance(factor, Ratio) else k.symbol(factor)
            term = term * number**power
        out = out + term
    for divisor, power in below:
        out = out / divisor**power
    return out


def _vector(terms: tuple[tuple[Vector, Ratio], ...]) -> k.Vec:
    distinct(vector for vector, _ in terms)
    out = k.Vec({})
    for vector, c in terms:
        require(c, "a coefficient is zero")
        out = out + (k.vec(vector) if isinstance(vector, k.Point) else vector) * c
    return out


def _form(terms: tuple[tuple[k.Lin, Ratio], ...]) -> k.Lin:
    distinct(form for form, _ in terms)
    out = k.Lin({})
    for form, c in terms:
        require(c, "a coefficient is zero")
        out = out + form * c
    return out


def _rate(argument: k.Var, body: Ratio) -> k.Rate:
    require(argument.sort is Sort.NATURAL, "a rate depends on a natural number")
    return k.Rate(k.number_at(body, {argument: k.symbol(k.ROUND)}))


def _split(
    kind: k.Kind, who: k.Participants, steps: Ratio, rate: k.Rate, *server: Any
) -> k.Split:
    paces = [k.Pace(k.natural(n), eta) for n, eta in ((steps, rate), server)]
    return k.Split(kind, who, *paces)


def model_of(value: Json, table: Table) -> Model:
    """Return the model that a JSON object describes."""
    given = record(value, tuple(MODEL))
    parts: dict[str, Any] = dict(
        zip(MODEL, table.arguments(given, tuple(MODEL.values())), strict=True)
    )
    for key in ("numbers", "families", "rates", "named", "points", "stars"):
        distinct(name for name, _ in parts[key])
        parts[key] = dict(parts[key])
    parts["functions"] = tuple(map(_shape, parts["functions"]))
    parts["named"] = {name: _shape(one) for name, one in parts["named"].items()}
    parts["noise"] = tuple(map(NoiseLaw, parts["noise"]))
    return Model(**parts)


def _shape(given: tuple[Any, Any, Any]) -> Shape:
    hessian, linear, bends = given
    return Shape(hessian, linear, tuple(Bend(*bend) for bend in bends))


def _total(binder: k.Binder, v: Index, number: Ratio) -> Ratio:
    form = k.summed(binder, v, k.constant(number))
    return form.coefficients.get(k.UNIT, ratio(0))


def _before(m: k.Client, j: Ratio, n: k.Client, i: Ratio, t: Ratio) -> k.Before:
    return k.Before(m, k.natural(j), n, k.natural(i), k.natural(t))


Constructor = tuple[Callable[..., object], tuple[object, ...]]
_POWERS = tuple[tuple[Factor, Exponent], ...]
CONSTRUCTORS: dict[str, Constructor] = {
    # variables
    "client": (k.Client, (Name,)),
    "var": (k.Var, (Name, Sort)),
    "client_family": (k.ClientFamily, (Name, Sort)),
    "round_family": (k.RoundFamily, (Name, Sort)),
    "function": (k.NamedFunction, (Name,)),
    "point": (k.Point, (Name,)),
    # numbers
    "weight": (k.Weight, (k.Client,)),
    "odds": (k.Odds, (k.Client,)),
    "draw": (
        lambda run, n, t: k.Draw(run, n, k.natural(t)),
        (k.Split, k.Client, Ratio),
    ),
    "before": (_before, (k.Client, Ratio, k.Client, Ratio, Ratio)),
    "of_client": (k.PerClient, (k.ClientFamily, k.Client)),
    "of_round": (
        lambda family, t: k.PerRound(family, k.natural(t)),
        (k.RoundFamily, Ratio),
    ),
    "number": (
        _number,
        (tuple[tuple[Fraction, _POWERS], ...], tuple[tuple[Ratio, Exponent], ...]),
    ),
    "total": (_total, (k.Binder, Index, Ratio)),
    # binders, functions, runs
    "clients": (lambda: k.CLIENTS, ()),
    "steps": (lambda upper: k.Steps(k.natural(upper)), (Ratio,)),
    "naturals": (lambda: k.NATURALS, ()),
    "local": (k.Local, (k.Client,)),
    "mean": (lambda: k.MEAN, ()),
    "rate": (_rate, (k.Var, Ratio)),
    "descent": (k.Descent, (k.Function, k.Rate)),
    "split": (_split, (k.Kind, k.Participants, Ratio, k.Rate, Ratio, k.Rate)),
    # vectors
    "vector": (_vector, (tuple[tuple[Vector, Ratio], ...],)),
    "star": (lambda function: k.vec(k.Star(function)), (k.Function,)),
    "gradient": (k.gradient, (k.Function, k.Vec)),
    "iterate": (k.iterate, (k.Run, Ratio)),
    "local_point": (k.local_point, (k.Split, k.Client, Ratio, Ratio)),
    "noise": (k.noise, (k.Split, k.Client, Ratio, Ratio)),
    "part": (k.part, (k.Side, k.Vec)),
    "expected": (k.expected, (k.Split, Ratio, k.Vec)),
    "vector_sum": (k.summed, (k.Binder, Index, k.Vec)),
    # forms
    "form": (_form, (tuple[tuple[k.Lin, Ratio], ...],)),
    "constant": (k.constant, (Ratio,)),
    "inner": (k.inner, (k.Vec, k.Vec)),
    "value": (k.value_of, (k.Function, k.Vec)),
    "form_sum": (k.summed, (k.Binder, Index, k.Lin)),
    # hypotheses
    "holds": (h.Holds, (k.Lin,)),
    "smooth": (h.Smooth, (k.Function, Ratio)),
    "majorised": (h.Majorised, (k.Function, Ratio)),
    "convex": (h.Convex, (k.Function, Ratio)),
    "minimiser": (h.Minimiser, (k.Function,)),
    "heterogeneity": (h.Heterogeneity, (Ratio,)),
    "unbiased": (h.Unbiased, (k.Split,)),
    "independent": (h.Independent, (k.Split,)),
    "variance": (h.Variance, (k.Split, k.Client, Ratio)),
    "bounded_gradients": (h.BoundedGradients, (k.Split, Ratio)),
    "participation": (h.Participation, (k.Split,)),
    "every": (h.every, (k.Quantifier, Index, Hypothesis)),
}
