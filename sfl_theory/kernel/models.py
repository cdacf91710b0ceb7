"""Models: exact evaluation of statements.

A model is data: functions, noise on finitely many points, weights, participation, the
order of visits, step sizes, parameters. In it the kernel evaluates both sides of a
statement over all outcomes, in exact fractions; `conditions` decides hypotheses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial, reduce
from itertools import product
from math import lcm, prod
from operator import add
from typing import Any, NamedTuple, cast

from . import terms as k
from .algebra import Exact, K, Poly, Ratio, Sort, V, ratio, require

MAX_OUTCOMES, MAX_RANGE = 65_536, 200_000
MAX_ROUNDS, MAX_STEPS = 20_000, 200_000
ZERO, ONE = Fraction(0), Fraction(1)
Vector = tuple[Fraction, ...]
Matrix = tuple[Vector, ...]
Random = list[Vector]


def dot(u: Vector, v: Vector) -> Fraction:
    """Return the inner product of two vectors."""
    products = [a * b for a, b in zip(u, v, strict=True) if a and b]
    return reduce(add, products) if products else ZERO


def plus(u: Vector, v: Vector, c: Fraction) -> Vector:
    """Return u + c v."""
    pairs = zip(u, v if c == 1 else [c * b if b else b for b in v], strict=True)
    return tuple([(a + b if a else b) if b else a for a, b in pairs]) if c else u


def each(function: Callable[..., V], *columns: Sequence[object]) -> list[V]:
    """Return a function's value in every outcome; for the same objects asked once."""
    rows = [*zip(*columns, strict=True)]
    keys = [tuple(map(id, row)) for row in rows]
    once = dict(zip(keys, rows, strict=True))
    found = {key: function(*row) for key, row in once.items()}
    return [found[key] for key in keys]


def added(u: Random, v: Random, c: Fraction | list[Fraction]) -> Random:
    """Return u + c v in every outcome."""
    return each(plus, u, v, c if isinstance(c, list) else [c] * len(u))


def known(table: Mapping[K, V], key: K) -> V:
    """Return what a model says of something; refuse if it says nothing."""
    require(key in table, "the model has no %s", key)
    return table[key]


@dataclass(frozen=True)
class Bend:
    """``weight * huber(slope . x - shift)``, quadratic within `width` of its kink."""

    weight: Fraction
    slope: Vector
    shift: Fraction
    width: Fraction


@dataclass(frozen=True)
class Shape:
    """``x.Ax/2 + b.x + sum of bends``: symmetric A, bends convex or concave."""

    hessian: Matrix
    linear: Vector
    bends: tuple[Bend, ...] = ()

    def value(self, x: Vector) -> Fraction:
        """Return F(x)."""
        out = dot(x, tuple(dot(row, x) for row in self.hessian)) / 2
        out += dot(self.linear, x)
        for bend in self.bends:
            u, w = abs(dot(bend.slope, x) - bend.shift), bend.width
            out += bend.weight * (u * u / 2 if u <= w else w * u - w * w / 2)
        return out

    def gradient(self, x: Vector) -> Vector:
        """Return grad F(x)."""
        out = plus(tuple([dot(row, x) for row in self.hessian]), self.linear, ONE)
        for bend in self.bends:
            u = min(bend.width, dot(bend.slope, x) - bend.shift)
            out = plus(out, bend.slope, bend.weight * max(-bend.width, u))
        return out


Outcome = tuple[Fraction, Vector, Vector]


@dataclass(frozen=True)
class NoiseLaw:
    """What a client's noise may be: probability, value, and value after another.

    The second value is taken if the client's draw before, in the same round, was not
    the first outcome: noise then depends on the past, with conditional mean 0.
    """

    outcomes: tuple[Outcome, ...]

    def fair(self) -> bool:
        """Return whether the conditional means are 0."""
        chances, *both = zip(*self.outcomes, strict=True)
        entries = [entry for values in both for entry in zip(*values, strict=True)]
        return not any(dot(chances, entry) for entry in entries)

    def second_moment(self) -> Fraction:
        """Return the larger of the two second moments."""
        chances, *both = zip(*self.outcomes, strict=True)
        return max(dot(chances, tuple(dot(v, v) for v in values)) for values in both)


@dataclass(frozen=True)
class Model:
    """Everything a statement may speak of; clients are numbered from 0."""

    client_size: int
    functions: tuple[Shape, ...]
    weights: Vector
    participation: Vector
    noise: tuple[NoiseLaw, ...]
    start: Vector
    order: tuple[tuple[int, int], ...]
    rounds: int
    numbers: Mapping[k.Var, Fraction]
    families: Mapping[k.ClientFamily, Vector]
    rates: Mapping[k.RoundFamily, k.Rate]
    named: Mapping[k.NamedFunction, Shape]
    points: Mapping[k.Point, tuple[Vector, ...]]
    stars: Mapping[k.Function, Vector]
    box: tuple[tuple[Fraction, Fraction], ...] = ()
    long: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no model: sizes differ, laws are none, sorts are not met."""
        size, n = len(self.start), len(self.functions)
        require(n >= 1 and size >= 1 and 0 <= self.client_size <= size, "sizes")
        kinds = {type(v) for star in self.stars for v in star.free}
        require(k.BoundClient not in kinds, "a star of a bound client")
        per_client = (self.weights, self.participation, self.noise)
        require(all(len(one) == n for one in per_client), "one entry for each client")
        require(min(self.weights) >= 0 and sum(self.weights) == 1, "weights")
        require(all(0 < q <= 1 for q in self.participation), "participation")
        vectors = [*self.stars.values(), *(v for p in self.points.values() for v in p)]
        for law in self.noise:
            chances = [p for p, _, _ in law.outcomes]
            require(min(chances) > 0 and sum(chances) == 1, "probabilities")
            vectors += [v for outcome in law.outcomes for v in outcome[1:]]
        for shape in (*self.functions, *self.named.values()):
            require(len(shape.hessian) == size, "functions of another dimension")
            vectors += [shape.linear, *shape.hessian, *(b.slope for b in shape.bends)]
        require(all(len(v) == size for v in vectors), "vectors of another dimension")
        for shape in (*self.functions, *self.named.values()):
            turned = tuple(zip(*shape.hessian, strict=True))
            require(shape.hessian == turned, "a Hessian is not symmetric")
            require(all(b.width > 0 for b in shape.bends), "a bend without a width")
        for var, value in self.numbers.items():
            require(_of_sort(value, var.sort), "%s = %s is not of its sort", var, value)
        for family, values in self.families.items():
            fits = all(_of_sort(value, family.sort) for value in values)
            require(len(values) == n and fits, "%s is not of its sort", family)
        for rounds, rate in self.rates.items():
            body = k.number_at(rate.body, self.values())
            zero = rounds.sort is Sort.NONNEGATIVE and body.nonnegative()
            require(zero or body.positive(), "%s is not of its sort", rounds)
            require(rate.free <= self.numbers.keys(), "%s is not known", rounds)

    def values(self) -> dict[k.Variable, Any]:
        """Return what a substitution replaces: parameters and families over rounds."""
        numbers: Any = {v: ratio(value) for v, value in self.numbers.items()}
        return {**numbers, **self.rates}

    def whole(self) -> Shape:
        """Return f, the weighted mean of the clients' functions."""
        zero = linear = (ZERO,) * len(self.start)
        hessian = (zero,) * len(zero)
        bends = list[Bend]()
        for a, F in zip(self.weights, self.functions, strict=True):
            linear = plus(linear, F.linear, a)
            rows = zip(hessian, F.hessian, strict=True)
            hessian = tuple(plus(row, more, a) for row, more in rows)
            bends += (replace(bend, weight=a * bend.weight) for bend in F.bends)
        return Shape(hessian, linear, tuple(bends))


def _of_sort(value: Fraction, sort: Sort) -> bool:
    least = 1 if sort is Sort.COUNT else 0
    whole = value.denominator == 1 or not sort.whole
    return value > 0 if sort is Sort.POSITIVE else value >= least and whole


@dataclass
class Evaluation:
    """Values of terms in a model; `at` holds the variables that sums range over.

    Forms and vectors have a value for each outcome; a form's is a vector of length 1.
    Numbers have one value: no statement speaks of a draw.
    """

    model: Model
    at: dict[object, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._f = self.model.whole()
        self.at |= {k.Numbered(p): p for p in range(len(self.model.weights))}
        self.played = cache(partial(_play, self))
        self._iterates: dict[k.Run, list[Random]] = {}
        self._draws: dict[tuple[int, int, int], int] = {}
        self._totals: dict[k.Total, Fraction] = {}
        self._rates: dict[tuple[k.Rate, int], Fraction] = {}
        self._chances: list[Fraction] = [ONE]
        self._outcomes: list[tuple[int, ...]] = [()]
        self._terms = 0

    def prepare(self, steps: int, partial: bool) -> None:
        """Enumerate the outcomes of rounds with this many local steps."""
        require(steps <= MAX_STEPS, "a round of more than %s steps", MAX_STEPS)
        choices: list[list[Fraction]] = []
        for t, n in product(range(self.model.rounds), range(len(self.model.weights))):
            q, law = self.model.participation[n], self.model.noise[n].outcomes
            if partial and q < 1:
                self._draws[n, t, -1] = len(choices)
                choices.append([q, 1 - q])
            for i in range(steps) if len(law) > 1 else ():
                self._draws[n, t, i] = len(choices)
                choices.append([p for p, _, _ in law])
            require(2 ** len(choices) <= MAX_OUTCOMES, "too many outcomes")
        require(prod(map(len, choices)) <= MAX_OUTCOMES, "too many outcomes")
        self._outcomes = list(product(*(range(len(c)) for c in choices)))
        self._chances = [prod(chances, start=ONE) for chances in product(*choices)]

    def number(self, value: Ratio | Poly) -> Fraction:
        """Return the value of a number."""
        return Fraction(*self._quotient(value))

    def _quotient(self, value: Ratio | Poly) -> tuple[int, int]:
        """Return the value of a number as numerator and denominator."""
        top, below, value = 0, 1, ratio(value)
        for c, powers in value.numerator.products:
            n, d = c.numerator, c.denominator
            for symbol, power in powers.items():
                one = self._symbol(symbol)
                n, d = n * one.numerator**power, d * one.denominator**power
            both = lcm(below, d)
            top, below = top * (both // below) + n * (both // d), both
        for factor, power in value.denominator:
            n, d = self._quotient(factor)
            top, below = top * d**power, below * n**power
        return top, below

    def whole_number(self, value: Poly) -> int:
        """Return the value of an index."""
        top, below = self._quotient(value)
        require(below == 1 and top >= 0, "%s is no index", value)
        return top

    def client(self, n: k.ClientIndex) -> int:
        """Return the number of a client."""
        return known(self.at, n)

    def _symbol(self, s: Any) -> Exact:
        if s in self.at:
            return self.at[s]
        if isinstance(s, k.Var):
            return known(self.model.numbers, s)
        if isinstance(s, k.Weight):
            return self.model.weights[self.client(s.client)]
        if isinstance(s, k.Odds):
            return 1 / self.model.participation[self.client(s.client)] - 1
        if isinstance(s, k.PerClient):
            return known(self.model.families, s.family)[self.client(s.client)]
        if isinstance(s, k.PerRound):
            rate = known(self.model.rates, s.family)
            return self.rate(rate, self.whole_number(s.round))
        if isinstance(s, k.Before):
            one = (self.client(s.earlier), self.whole_number(s.earlier_step))
            two = (self.client(s.later), self.whole_number(s.later_step))
            order = self.model.order
            require(one in order and two in order, "the model has no such visit")
            return int(order.index(one) < order.index(two))
        require(isinstance(s, k.Total), "the model has no %s", s)
        if s not in self._totals or not s.free.isdisjoint(self.at):
            self._totals[s] = sum((self.number(s.weight) for _ in self.range(s)), ZERO)
        return self._totals[s]

    def range(self, closed: k.Closed) -> Iterator[int]:
        """Yield each value of the bound variable, which it has meanwhile."""
        binder, v, size = closed.binder, closed.variable, len(self.model.weights)
        require(binder is not k.NATURALS, "a model cannot run through all naturals")
        if isinstance(binder, k.Steps):
            size = self.whole_number(binder.upper)
        self._terms += size
        require(self._terms <= MAX_RANGE, "sums of more than %s terms", MAX_RANGE)
        for value in range(size):
            self.at[v] = value
            yield value
        self.at.pop(v, None)

    def form(self, lin: k.Lin) -> Fraction:
        """Return the value of a form."""
        return dot(tuple(self._chances), tuple(z for (z,) in self.vector(lin)))

    def vector(self, u: k.Vec | k.Lin) -> Random:
        """Return the values of a combination."""
        size = 1 if isinstance(u, k.Lin) else len(self.model.start)
        out = [(ZERO,) * size] * len(self._outcomes)
        for atom, c in u.coefficients.items():
            out = added(out, self._atom(atom), self.number(c))
        return out

    def function(self, function: k.Function) -> Shape:
        """Return the shape of a function."""
        if isinstance(function, k.Local):
            return self.model.functions[self.client(function.client)]
        if isinstance(function, k.Mean):
            return self._f
        return known(self.model.named, cast(k.NamedFunction, function))

    def _atom(self, atom: Any) -> Random:
        size = len(self._outcomes)
        if atom is k.UNIT:
            return [(ONE,)] * size
        if isinstance(atom, k.WeightedSum):
            inside = atom.inside()
            out = self.vector(type(inside)({}))
            for _ in self.range(atom):
                out = added(out, self.vector(inside), ONE)
            return out
        if isinstance(atom, k.Inner):
            left = self._atom(atom.left)
            right = left if atom.right is atom.left else self._atom(atom.right)
            return each(lambda u, v: (dot(u, v),), left, right)
        if isinstance(atom, k.Value | k.Gradient):
            F, points = self.function(atom.function), self.vector(atom.at)
            if isinstance(atom, k.Gradient):
                return each(F.gradient, points)
            return each(lambda x: (F.value(x),), points)
        if isinstance(atom, k.Point):
            values = known(self.model.points, atom)
            return [values[q % len(values)] for q in range(size)]
        if isinstance(atom, k.Star):
            return [known(self.model.stars, atom.function)] * size
        if isinstance(atom, k.Part):
            return self.block(atom.side, self._atom(atom.vector))
        if isinstance(atom, k.Iterate):
            return self.iterate(atom.run, self.whole_number(atom.round))
        require(isinstance(atom, k.OfStep), "the model has no %s", atom)
        t, i = self.whole_number(atom.round), self.whole_number(atom.step)
        n = self.client(atom.client)
        path = self.played(atom.run, t).points[n]
        if isinstance(atom, k.LocalPoint):
            return path[min(i, len(path) - 1)]
        return self.noise(n, t, i) if i < len(path) - 1 else self.vector(k.Vec({}))

    def block(self, side: k.Side, x: Random) -> Random:
        """Return the block of a vector, the other one set to 0."""
        size, all_of = self.model.client_size, len(self.model.start)
        if side is k.Side.CLIENT:
            return each(lambda y: y[:size] + (ZERO,) * (all_of - size), x)
        return each(lambda y: (ZERO,) * size + y[size:], x)

    def noise(self, n: int, t: int, i: int) -> Random:
        """Return the noise of a step that is made."""
        law = self.model.noise[n].outcomes
        if len(law) == 1:
            return [law[0][1]] * len(self._outcomes)
        now, last = (known(self._draws, (n, t, max(j, 0))) for j in (i, i - 1))
        return [
            law[o[now]][2] if i and o[last] else law[o[now]][1] for o in self._outcomes
        ]

    def drawn(self, n: int, t: int) -> list[Fraction]:
        """Return ``J_n(t) = I_n(t)/q_n``."""
        q = self.model.participation[n]
        if q == 1:
            return [ONE] * len(self._outcomes)
        place, J = known(self._draws, (n, t, -1)), 1 / q
        return [ZERO if o[place] else J for o in self._outcomes]

    def iterate(self, run: k.Run, t: int) -> Random:
        """Return ``x(t)`` of a run, which must not depend on a bound variable."""
        model = self.model
        given = {*model.numbers, *model.rates, *model.named, *model.families}
        require(run.free <= given, "%s depends on a bound variable", run)
        require(t <= MAX_ROUNDS, "a run of more than %s rounds", MAX_ROUNDS)
        path = self._iterates.setdefault(run, [[model.start] * len(self._outcomes)])
        for s in range(len(path) - 1, t):
            if isinstance(run, k.Descent):
                shape, rate = self.function(run.function), self.rate(run.rate, s)
                path.append(added(path[s], each(shape.gradient, path[s]), -rate))
            else:
                path.append(self.played(run, s).after)
        return path[t]

    def rate(self, rate: k.Rate, t: int) -> Fraction:
        """Return the rate of a round."""
        if (rate, t) not in self._rates:
            outer, self.at = self.at, {**self.at, k.ROUND: t}
            self._rates[rate, t] = self.number(rate.body)
            self.at = outer
        return self._rates[rate, t]

    def rates(self, run: k.Split, side: k.Side, t: int) -> list[Fraction]:
        """Return the learning rate of each step that a side makes in round t."""
        made, pace = self.whole_number(run.steps(side)), run.pace(side)
        stepwise = isinstance(pace, k.Stepwise)
        return [
            self.rate(pace.rate, t * made + i if stepwise else t) for i in range(made)
        ]

    def ordered(self, run: k.Split) -> None:
        """Check that the model orders this run's visits, each client's as its steps."""
        steps, order = self.whole_number(run.server.steps), self.model.order
        fits = len(order) == len(self.model.weights) * steps
        visits = product(range(len(self.model.weights)), range(steps if fits else 0))
        fits &= sorted(order, key=lambda visit: visit[0]) == [*visits]
        require(fits, "the order is not of the visits")


class Round(NamedTuple):
    """The local points of each client, steps 0 to the last, and the next iterate."""

    points: list[list[Random]]
    after: Random


def _play(e: Evaluation, run: k.Split, t: int) -> Round:
    """Return one round of the algorithm, as `terms.Split` says."""
    shared_server, x = run.kind.shared, e.iterate(run, t)
    steps = max(e.whole_number(run.steps(side)) for side in k.Side)
    clients = range(len(e.model.weights))
    made = (t + 1) * steps * len(clients)
    require(made <= MAX_STEPS, "a run of more than %s local steps", MAX_STEPS)
    rate = {side: e.rates(run, side, t) for side in k.Side}
    visits = [(n, i) for i in range(steps) for n in clients]
    if run.kind.visits:
        e.ordered(run)
        visits = list(e.model.order)
    own = {side for side in k.Side if side is k.Side.CLIENT or not shared_server}
    draws = [e.drawn(n, t) if run.drawn else [ONE] * len(x) for n in clients]
    shares = [each(a.__mul__, J) for a, J in zip(e.model.weights, draws, strict=True)]
    moving = draws if run.kind is k.Kind.V2 else shares
    if run.participants is k.Participants.MEAN:
        whole = each(lambda *parts: sum(parts, ZERO) or ONE, *shares)
        moving = [each(lambda part, sum_: part / sum_, s, whole) for s in shares]
    points: list[list[Random]] = [[x] for _ in clients]
    for side in k.Side if run.kind is k.Kind.COUNTED and t else ():
        for n in clients if t % e.whole_number(run.pace(side).steps) else ():
            away = added(e.played(run, t - 1).points[n][1], points[n][0], -ONE)
            points[n][0] = added(points[n][0], e.block(side, away), ONE)
    shared = seen = e.block(k.Side.SERVER, x)
    for n, i in visits:
        here = points[n][i]
        if shared_server:
            seen = shared if run.kind.visits or n == 0 else seen
            here = points[n][i] = added(e.block(k.Side.CLIENT, here), seen, ONE)
        g = each(e.model.functions[n].gradient, here)
        g = added(g, e.noise(n, t, i), ONE)
        for side in own:
            if i < len(rate[side]):
                here = added(here, e.block(side, g), -rate[side][i])
        points[n].append(here)
        if shared_server:
            speed = each((-rate[k.Side.SERVER][i]).__mul__, moving[n])
            shared = added(shared, e.block(k.Side.SERVER, g), speed)
    out = e.vector(k.Vec({}))
    for n in clients:
        out = added(out, points[n][-1], shares[n])
    if run.participants is not k.Participants.MODELS:
        absent = each(lambda *taken: ONE - sum(taken), *shares)
        out = added(out, x, absent)
    if shared_server:
        out = added(e.block(k.Side.CLIENT, out), shared, ONE)
        for path in points:
            path[-1] = added(e.block(k.Side.CLIENT, path[-1]), shared, ONE)
    return Round(points, out)
