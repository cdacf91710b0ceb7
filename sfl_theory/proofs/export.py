"""From theorems to a file that the kernel replays."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Any, TypeVar, cast

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import models
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Poly, Ratio, Sort, ratio
from sfl_theory.kernel.models import Model, NoiseLaw
from sfl_theory.kernel.reader import TAGS
from sfl_theory.kernel.rules import Theorem

MOST_USES = 3
"""Combinations of at most so many theorems and squares are no steps of their own."""
Json = None | bool | int | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True)
class Statement:
    """What a claim says: ``hypotheses |- left <= right``, ``=`` where `equal`."""

    id: str
    hypotheses: frozenset[h.Hypothesis]
    left: k.Lin
    right: k.Lin
    equal: bool = False


Vector = tuple[Fraction, ...]
Shape = tuple[
    tuple[Vector, ...], Vector, tuple[tuple[Fraction, Vector, Fraction, Fraction], ...]
]


@dataclass(frozen=True)
class ModelData:
    """A model as plain data; what is left out is one client with nothing to do."""

    start: Vector
    numbers: dict[k.Var, Fraction]
    client_size: int = 1
    functions: tuple[Shape, ...] = ()
    weights: Vector = (Fraction(1),)
    participation: Vector = ()
    noise: tuple[tuple[tuple[Fraction, Vector, Vector], ...], ...] = ()
    order: tuple[tuple[int, int], ...] = ()
    rounds: int = 0
    families: dict[k.ClientFamily, Vector] = field(default_factory=dict)
    rates: dict[k.RoundFamily, k.Rate] = field(default_factory=dict)
    named: dict[k.NamedFunction, Shape] = field(default_factory=dict)
    points: dict[k.Point, tuple[Vector, ...]] = field(default_factory=dict)
    stars: dict[k.Function, Vector] = field(default_factory=dict)
    box: tuple[tuple[Fraction, Fraction], ...] = ()
    long: bool = False

    def complete(self) -> dict[str, object]:
        """Return every entry that the kernel asks for."""
        size, clients = len(self.start), len(self.weights)
        zero = (Fraction(0),) * size
        still = ((zero,) * size, zero, ())
        silent = ((Fraction(1), zero, zero),)
        return {
            "client_size": self.client_size,
            "functions": self.functions or (still,) * clients,
            "weights": self.weights,
            "participation": self.participation or (Fraction(1),) * clients,
            "noise": self.noise or (silent,) * clients,
            "start": self.start,
            "order": self.order,
            "rounds": self.rounds,
            "numbers": tuple(self.numbers.items()),
            "families": tuple(self.families.items()),
            "rates": tuple(self.rates.items()),
            "named": tuple(self.named.items()),
            "points": tuple(self.points.items()),
            "stars": tuple(self.stars.items()),
            "box": self.box,
            "long": self.long,
        }


def model_of(data: ModelData) -> Model:
    """Return the kernel's model; what the kernel reads from the file is the same."""
    parts: dict[str, Any] = data.complete()
    for key, value in parts.items():
        if key in ("functions", "noise"):
            parts[key] = tuple(map(_shape if key == "functions" else NoiseLaw, value))
    named = {name: _shape(one) for name, one in data.named.items()}
    kept = {
        key: getattr(data, key) for key in ("numbers", "families", "rates", "stars")
    }
    return Model(**{**parts, **kept, "points": data.points, "named": named})


def _shape(given: Shape) -> models.Shape:
    hessian, linear, bends = given
    return models.Shape(hessian, linear, tuple(models.Bend(*bend) for bend in bends))


def document(
    claims: Iterable[tuple[Statement, Theorem]],
    refutations: Iterable[tuple[Statement, ModelData]] = (),
    witnesses: Mapping[str, ModelData] | None = None,
) -> str:
    """Return the file in which these theorems and models decide these statements.

    A witness is a model that meets the hypotheses of the claim with that name.
    """
    encoder, models = Encoder(), witnesses or {}
    stated = [
        encoder.claim(statement, theorem, models.get(statement.id))
        for statement, theorem in claims
    ]
    stated += [encoder.refutation(one, model) for one, model in refutations]
    return encoder.document(stated)


class TermPlace(int):
    """Where a term stands in a file."""


class StepPlace(int):
    """Where a step stands in a file."""


Place = TypeVar("Place", bound=int)


@dataclass(frozen=True)
class Piece:
    """What an encoder has written since it was last asked, to be sent to another.

    Attributes:
        begins: how many terms and steps the encoder had before.
        terms: entries of the table of terms, after those.
        steps: entries of the table of steps, after those.
        claims: what it was asked for.
    """

    begins: tuple[int, int]
    terms: list[Json]
    steps: list[Json]
    claims: list[dict[str, Json]]


Uses = tuple[tuple[Theorem, Ratio], ...]
Squares = tuple[tuple[k.Vec, Ratio], ...]
Combined = tuple[Uses, Squares, k.Lin | None, tuple[Theorem, ...]]


def _flat(
    uses: Uses, squares: Squares, target: k.Lin | None, signs: tuple[Theorem, ...]
) -> Combined:
    """Return the arguments of a combination without short combinations inside."""
    kept = list[tuple[Theorem, Ratio]]()
    for theorem, factor in uses:
        inside = _parts(theorem, factor)
        if inside:
            kept += inside[0]
            squares += inside[1]
        elif theorem.form or theorem.hypotheses:
            kept.append((theorem, factor))
    return tuple(kept), squares, target, signs


def _parts(theorem: Theorem, factor: Ratio) -> tuple[Uses, Squares] | None:
    """Return what a short combination times a factor adds up, None for any other.

    It has to be the sum exactly, and no factor may need a sign theorem or be random.
    """
    name, arguments = theorem.call or ("", ())
    if name != "combine" or k.CHANCE in factor.free:
        return None
    uses, squares, *_ = _flat(*cast(Combined, arguments))
    if len(uses) + len(squares) > MOST_USES:
        return None
    forms = [one.form * c for one, c in uses] + [k.norm2(u) * c for u, c in squares]
    uses = tuple((one, c * factor) for one, c in uses)
    squares = tuple((u, c * factor) for u, c in squares)
    fits = not k.Lin({}).plus(forms) - theorem.form
    fits &= all(one.equal or c.nonnegative() for one, c in uses)
    fits &= all(c.nonnegative() for _, c in squares)
    return (uses, squares) if fits else None


def _once(
    entry: Json, places: dict[str, Place], table: list[Json], place: type[Place]
) -> Place:
    """Return where an entry stands in a table; at the end if it was not there."""
    text = json.dumps(entry)
    if text not in places:
        places[text] = place(len(table))
        table.append(entry)
    return places[text]


class Encoder:
    """Writes every term and every theorem once."""

    def __init__(self) -> None:
        self.terms: list[Json] = []
        self.steps: list[Json] = []
        self._places: dict[str, TermPlace] = {}
        self._made: dict[str, StepPlace] = {}
        self._known: dict[object, TermPlace] = {}
        self._theorems: dict[object, StepPlace] = {}
        self._sent = 0, 0

    def piece(self, claims: list[dict[str, Json]]) -> Piece:
        """Return what is new since the last piece, and claims in its terms."""
        begins, self._sent = self._sent, (len(self.terms), len(self.steps))
        terms, steps = begins
        return Piece(begins, self.terms[terms:], self.steps[steps:], claims)

    def joined(self, pieces: Iterable[Piece]) -> dict[str, dict[str, Json]]:
        """Take over all that another encoder sent.

        Args:
            pieces: of one encoder, in any order.

        Returns:
            The claims by id, in the terms of this encoder.
        """
        terms: list[Json] = []
        steps: list[Json] = []
        claims: dict[str, dict[str, Json]] = {}

        def here(given: Json) -> Json:
            if isinstance(given, TermPlace):
                return terms[given]
            if isinstance(given, StepPlace):
                return steps[given]
            if isinstance(given, list):
                return [here(one) for one in given]
            if isinstance(given, dict):
                return {key: here(one) for key, one in given.items()}
            return given

        for piece in sorted(pieces, key=lambda one: one.begins):
            for entry in piece.terms:
                terms += [self._term(here(entry))]
            for step in piece.steps:
                steps += [self._step(here(step))]
            for claim in piece.claims:
                claims[str(claim["id"])] = {
                    key: here(one) for key, one in claim.items()
                }
        return claims

    def _term(self, entry: Json) -> TermPlace:
        return _once(entry, self._places, self.terms, TermPlace)

    def _step(self, step: Json) -> StepPlace:
        return _once(step, self._made, self.steps, StepPlace)

    def claim(
        self, statement: Statement, theorem: Theorem, model: ModelData | None = None
    ) -> dict[str, Json]:
        """Return a claim of the file that a theorem proves."""
        proved = {**self._stated(statement), "theorem": self.theorem(theorem)}
        return {**proved, "model": self._model(model)} if model else proved

    def refutation(self, statement: Statement, model: ModelData) -> dict[str, Json]:
        """Return a claim of the file that a model refutes."""
        return {**self._stated(statement), "model": self._model(model)}

    def document(self, claims: Sequence[dict[str, Json]]) -> str:
        """Return the file of these claims."""
        tables = {"terms": self.terms, "steps": self.steps, "claims": claims}
        return json.dumps(tables, separators=(",", ":"))

    def _model(self, model: ModelData) -> Json:
        return {key: self._data(value) for key, value in model.complete().items()}

    def _stated(self, statement: Statement) -> dict[str, Json]:
        assumed = sorted(statement.hypotheses, key=str)
        return {
            "id": statement.id,
            "hypotheses": [self.place(one) for one in assumed],
            "left": self.place(statement.left),
            "right": self.place(statement.right),
            **({"equal": True} if statement.equal else {}),
        }

    def _data(self, value: object) -> Json:
        if isinstance(value, tuple):
            return [self._data(item) for item in value]
        if isinstance(value, int):
            return value
        return str(value) if isinstance(value, Fraction) else self.place(value)

    def theorem(self, theorem: Theorem) -> StepPlace:
        """Return the step that makes a theorem; its premises come before it.

        What was made in two ways is made once.

        Raises:
            ValueError: no rule made it.
        """
        says = (theorem.form, theorem.hypotheses, theorem.equal)
        if says not in self._theorems:
            if theorem.call is None:
                raise ValueError(f"no rule made {theorem}")
            name, arguments = theorem.call
            if name == "combine":
                arguments = _flat(*cast(Combined, arguments))
            step: Json = [name, *map(self.argument, arguments)]
            if says not in self._theorems:
                self._theorems[says] = self._step(step)
        return self._theorems[says]

    def argument(self, value: object) -> Json:
        """Return an argument of a rule."""
        if value is None or isinstance(value, int):
            return value
        if isinstance(value, Theorem):
            return self.theorem(value)
        if isinstance(value, Enum):
            return str(value.value)
        if isinstance(value, tuple):
            return [self.argument(item) for item in value]
        return self.place(value)

    def place(self, term: object) -> TermPlace:
        """Return the place of a term in the table."""
        if term not in self._known:
            self._known[term] = self._term(self._entry(term))
        return self._known[term]

    def _entry(self, term: object) -> Json:
        if isinstance(term, Ratio):
            return self._number(term)
        if isinstance(term, Poly):
            return self._number(ratio(term))
        if isinstance(term, k.Vec):
            return self._vector(term)
        if isinstance(term, k.Lin):
            return self._form(term)
        if isinstance(term, k.Closed):
            return self._closed(term)
        if isinstance(term, k.Rate):
            t = self._named(k.NATURALS, "t", term.body)
            body = k.number_at(term.body, {k.ROUND: k.symbol(_nat(t))})
            return ["rate", self.place(t), self.place(body)]
        if isinstance(term, k.Term):
            return [TAGS[type(term)], *map(self._part, term.parts)]
        raise ValueError(f"{term!r} is no term")

    def _part(self, part: object) -> Json:
        if isinstance(part, str | int):
            return part
        if isinstance(part, Enum):
            return str(part.value)
        if isinstance(part, k.VecAtom):
            return self.place(k.vec(part))
        return self.place(part)

    def _number(self, number: Ratio) -> Json:
        if not number.parts[1:] and not number.numerator.parts:
            return ["fraction", str(number)]
        terms: list[Json] = []
        for value, powers in number.numerator.products:
            factors: list[Json] = [[self.place(s), e] for s, e in powers.items()]
            terms.append([str(value), factors])
        below: list[Json] = [[self.place(f), e] for f, e in number.denominator]
        return ["number", terms, below]

    def _vector(self, vector: k.Vec) -> Json:
        items = list(vector.coefficients.items())
        single = len(items) == 1 and items[0][1] == ratio(1)
        if single and not isinstance(items[0][0], k.Point):
            return self._entry(items[0][0])
        parts: list[Json] = []
        for atom, c in items:
            one = atom if isinstance(atom, k.Point) else k.vec(atom)
            parts.append([self.place(one), self.place(c)])
        return ["vector", parts]

    def _form(self, form: k.Lin) -> Json:
        items = list(form.coefficients.items())
        if len(items) == 1 and items[0][0] is k.UNIT:
            return ["constant", self.place(items[0][1])]
        if len(items) == 1 and items[0][1] == ratio(1):
            return self._entry(items[0][0])
        parts: list[Json] = []
        for atom, c in items:
            one = self.place(k.Lin({atom: ratio(1)}))
            parts.append([one, self.place(c)])
        return ["form", parts]

    def _closed(self, term: k.Closed) -> Json:
        inside = term.inside()
        hint = f"{'n' if isinstance(term.binder, k.Clients) else 'i'}{term.level}"
        v = self._named(term.binder, hint, inside)
        body = k.renamed(inside, term.variable, v)
        tag = CLOSED[type(term)]
        body = k.number_of(body) if isinstance(term, k.Total) else body
        return [tag, self.place(term.binder), self.place(v), self.place(body)]

    def _named(
        self, binder: k.Quantifier, hint: str, *bodies: object
    ) -> k.Client | k.Var:
        free = {v for body in bodies for v in getattr(body, "free", ())}
        used = {getattr(v, "name", None) for v in free}
        while hint in used:
            hint += "_"
        if isinstance(binder, k.Clients):
            return k.Client(hint)
        return k.Var(hint, Sort.NATURAL)


def _nat(v: k.Client | k.Var) -> k.Var:
    if not isinstance(v, k.Var):
        raise ValueError(f"{v} is no number")
    return v


CLOSED: dict[type[k.Term], str] = {
    k.Total: "total",
    k.VecSum: "vector_sum",
    k.LinSum: "form_sum",
    h.Every: "every",
}
