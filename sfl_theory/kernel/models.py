"""Models: exact evaluation of statements, and refutations.

A model is data: functions, noise on finitely many points, weights, participation, the
order of visits, step sizes, parameters. In it the kernel evaluates both sides of a
statement over all outcomes, in exact fractions, and decides each hypothesis by a
condition that implies it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from itertools import product
from math import prod
from typing import Any, NamedTuple, TypeVar, cast

from . import hypotheses as h
from . import terms as k
from .algebra import Built, Poly, Ratio, Sort, ratio, require

MAX_OUTCOMES = 65_536
MAX_CORNERS = 4_096
MAX_RANGE = 100_000
MAX_ROUNDS = 20_000
MAX_STEPS = 200_000

ZERO, ONE = Fraction(0), Fraction(1)
Vector = tuple[Fraction, ...]
Matrix = tuple[Vector, ...]
Random = list[Vector]
K = TypeVar("K")
V = TypeVar("V")


def _total(values: Iterable[Fraction]) -> Fraction:
    return sum(values, ZERO)


def _dot(u: Vector, v: Vector) -> Fraction:
    return _total(a * b for a, b in zip(u, v, strict=True) if a and b)


def _plus(u: Vector, v: Vector, c: Fraction) -> Vector:
    if c == 1:
        return tuple(a + b if b else a for a, b in zip(u, v, strict=True))
    return tuple(a + c * b if b else a for a, b in zip(u, v, strict=True)) if c else u


def known(table: Mapping[K, V], key: K) -> V:
    """Return what a model says of something; refuse if it says nothing."""
    require(key in table, "the model has no %s", key)
    return table[key]


def _positive_semidefinite(matrix: list[list[Fraction]]) -> bool:
    """Return whether a symmetric matrix is positive semidefinite, by elimination."""
    for p, row in enumerate(matrix):
        if row[p] < 0 or (row[p] == 0 and any(row[p:])):
            return False
        for lower in matrix[p + 1 :]:
            factor = lower[p] / row[p] if row[p] else ZERO
            lower[p:] = _plus(tuple(lower[p:]), tuple(row[p:]), -factor)
    return True


@dataclass(frozen=True)
class Bend:
    """``weight * huber(slope . x - shift)``, quadratic within `width` of its kink."""

    weight: Fraction
    slope: Vector
    shift: Fraction
    width: Fraction


@dataclass(frozen=True)
class Shape:
    """``x.Ax/2 + b.x + sum of bends``: symmetric A, bends of weight >= 0."""

    hessian: Matrix
    linear: Vector
    bends: tuple[Bend, ...] = ()

    def value(self, x: Vector) -> Fraction:
        """Return F(x)."""
        out = _dot(x, tuple(_dot(row, x) for row in self.hessian)) / 2
        out += _dot(self.linear, x)
        for bend in self.bends:
            u, w = abs(_dot(bend.slope, x) - bend.shift), bend.width
            out += bend.weight * (u * u / 2 if u <= w else w * u - w * w / 2)
        return out

    def gradient(self, x: Vector) -> Vector:
        """Return grad F(x)."""
        out = _plus(self.linear, tuple(_dot(row, x) for row in self.hessian), ONE)
        for bend in self.bends:
            u = min(bend.width, _dot(bend.slope, x) - bend.shift)
            out = _plus(out, bend.slope, bend.weight * max(-bend.width, u))
        return out

    def curvature(self, scale: int, bound: Fraction, bent: bool) -> bool:
        """Return whether ``bound I - scale H >= 0``, H with all bends or none."""
        rows = []
        for p, row in enumerate(self.hessian):
            new = [-scale * z for z in row]
            new[p] += bound
            for bend in self.bends if bent else ():
                c = scale * bend.weight * bend.slope[p]
                new = [z - c * slope for z, slope in zip(new, bend.slope, strict=True)]
            rows.append(new)
        return _positive_semidefinite(rows)

    def majorised(self, S: Fraction) -> bool:
        """Return whether H <= S everywhere; H is largest with all bends active."""
        return self.curvature(1, S, bent=True)

    def smooth(self, S: Fraction) -> bool:
        """Return whether -S <= H <= S everywhere."""
        return S >= 0 and self.majorised(S) and self.curvature(-1, S, bent=False)

    def convex(self, mu: Fraction) -> bool:
        """Return whether H >= mu everywhere; H is least with no bend active."""
        return self.curvature(-1, -mu, bent=False)

    def lowest_at(self, x: Vector) -> bool:
        """Return whether the function is convex and stationary at x."""
        return self.convex(ZERO) and not any(self.gradient(x))


Outcome = tuple[Fraction, Vector, Vector]


@dataclass(frozen=True)
class NoiseLaw:
    """What a client's noise may be: probability, value, value after a first draw != 0.

    The second value is taken if the client's draw before, in the same round, was not
    the first outcome: noise then depends on the past, with conditional mean 0.
    """

    outcomes: tuple[Outcome, ...]

    def lawful(self) -> bool:
        """Return whether the probabilities are positive and sum to 1."""
        chances = [p for p, _, _ in self.outcomes]
        return min(chances) > 0 and sum(chances) == 1

    def fair(self) -> bool:
        """Return whether the conditional means are 0."""
        chances, *both = zip(*self.outcomes, strict=True)
        entries = [entry for values in both for entry in zip(*values, strict=True)]
        return not any(_dot(chances, entry) for entry in entries)

    def second_moment(self) -> Fraction:
        """Return the larger of the two second moments."""
        chances, *both = zip(*self.outcomes, strict=True)
        return max(_dot(chances, tuple(_dot(v, v) for v in values)) for values in both)


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
        require(n >= 1 and size >= 1, "a model without clients or of dimension 0")
        require(0 <= self.client_size <= size, "a block larger than the whole")
        per_client = (self.weights, self.participation, self.noise)
        require(all(len(one) == n for one in per_client), "one entry for each client")
        require(min(self.weights) >= 0 and sum(self.weights) == 1, "weights")
        require(all(0 < q <= 1 for q in self.participation), "participation")
        require(all(law.lawful() for law in self.noise), "probabilities")
        for shape in (*self.functions, *self.named.values()):
            vectors = [shape.linear, *shape.hessian, *(b.slope for b in shape.bends)]
            sizes = {len(shape.hessian), *map(len, vectors)}
            require(sizes == {size}, "functions of another dimension")
            turned = tuple(zip(*shape.hessian, strict=True))
            require(shape.hessian == turned, "a Hessian is not symmetric")
            fits = all(bend.weight >= 0 and bend.width > 0 for bend in shape.bends)
            require(fits, "a bend is concave")
        vectors = [v for law in self.noise for o in law.outcomes for v in o[1:]]
        vectors += [*self.stars.values(), *(v for p in self.points.values() for v in p)]
        require(all(len(v) == size for v in vectors), "vectors of another dimension")
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
        own = {m: [i for client, i in self.order if client == m] for m, _ in self.order}
        fits = own.keys() <= set(range(n))
        fits &= all(steps == list(range(len(steps))) for steps in own.values())
        require(fits, "an order in which visits are foreign, repeated or exchanged")

    def values(self) -> dict[k.Variable, Any]:
        """Return what a substitution replaces: parameters and families over rounds."""
        out: dict[k.Variable, Any] = dict(self.rates.items())
        return out | {v: ratio(value) for v, value in self.numbers.items()}

    def whole(self) -> Shape:
        """Return f, the weighted mean of the clients' functions."""
        zero = linear = (ZERO,) * len(self.start)
        hessian = (zero,) * len(zero)
        bends = list[Bend]()
        for a, F in zip(self.weights, self.functions, strict=True):
            linear = _plus(linear, F.linear, a)
            rows = zip(hessian, F.hessian, strict=True)
            hessian = tuple(_plus(row, more, a) for row, more in rows)
            bends += (replace(bend, weight=a * bend.weight) for bend in F.bends)
        return Shape(hessian, linear, tuple(bends))


def _of_sort(value: Fraction, sort: Sort) -> bool:
    least = 1 if sort is Sort.COUNT else 0
    whole = value.denominator == 1 or not sort.whole
    return value > 0 if sort is Sort.POSITIVE else value >= least and whole


@dataclass
class Evaluation:
    """Values of terms in a model; `at` holds the variables that sums range over."""

    model: Model
    at: dict[object, int] = field(default_factory=dict)
    outcome: int | None = None

    def __post_init__(self) -> None:
        self._f = self.model.whole()
        self.played = cache(partial(_play, self))
        self._iterates: dict[k.Run, list[Random]] = {}
        self._draws: dict[tuple[int, int, int], int] = {}
        self._totals: dict[k.Total, Fraction] = {}
        self._rates: dict[tuple[k.Rate, int], Fraction] = {}
        self._chances: list[Fraction] = [ONE]
        self._outcomes: list[tuple[int, ...]] = [()]

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

    # numbers

    def number(self, value: Ratio | Poly) -> Fraction:
        """Return the value of a number; of one with draws in the outcome `outcome`."""
        if isinstance(value, Ratio):
            out = self.number(value.numerator)
            for factor, power in value.denominator:
                out /= self.number(factor) ** power
            return out
        out = ZERO
        for c, powers in value.products():
            for symbol, power in powers.items():
                one = self._symbol(symbol)
                c *= one if power == 1 else one**power
            out += c
        return out

    def numbers(self, value: Ratio | Poly) -> list[Fraction]:
        """Return the value of a number in every outcome."""
        size = len(self._outcomes)
        if k.CHANCE not in value.free:
            return [self.number(value)] * size
        out = []
        for self.outcome in range(size):
            out.append(self.number(value))
        self.outcome = None
        return out

    def whole_number(self, value: Poly) -> int:
        """Return the value of an index."""
        out = self.number(value)
        require(out >= 0 and out.denominator == 1, "%s is no index", value)
        return int(out)

    def client(self, n: k.ClientIndex) -> int:
        """Return the number of a client."""
        require(n in self.at, "which client is %s?", n)
        return self.at[n]

    def _symbol(self, s: Any) -> Fraction:
        if s in self.at:
            return Fraction(self.at[s])
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
        if isinstance(s, k.Draw):
            require(self.outcome is not None, "%s has no one value", s)
            J = self.drawn(self.client(s.client), self.whole_number(s.round))
            return J[cast(int, self.outcome)]
        if isinstance(s, k.Before):
            one = (self.client(s.earlier), self.whole_number(s.earlier_step))
            two = (self.client(s.later), self.whole_number(s.later_step))
            order = self.model.order
            require(one in order and two in order, "the model has no such visit")
            return Fraction(order.index(one) < order.index(two))
        require(isinstance(s, k.Total), "the model has no %s", s)
        fixed = s.free.isdisjoint(self.at) and k.CHANCE not in s.free
        if not fixed or s not in self._totals:
            total = _total(self.number(s.weight) for _ in self.range(s))
            if not fixed:
                return total
            self._totals[s] = total
        return self._totals[s]

    def range(self, closed: k.Closed) -> Iterator[int]:
        """Yield each value of the bound variable, which it has meanwhile."""
        binder, v, size = closed.binder, closed.variable, len(self.model.weights)
        require(binder is not k.NATURALS, "a model cannot run through all naturals")
        if isinstance(binder, k.Steps):
            size = self.whole_number(binder.upper)
            require(size <= MAX_RANGE, "a sum of more than %s terms", MAX_RANGE)
        for value in range(size):
            self.at[v] = value
            yield value
        self.at.pop(v, None)

    # forms and vectors: one value for each outcome; a form's is a vector of length 1

    def form(self, lin: k.Lin) -> Fraction:
        """Return the value of a form."""
        return _dot(tuple(self._chances), tuple(self.values(lin)))

    def values(self, lin: k.Lin) -> list[Fraction]:
        """Return the value of a form in every outcome."""
        return [value for (value,) in self.vector(lin)]

    def vector(self, u: k.Vec | k.Lin) -> Random:
        """Return the values of a combination."""
        size = 1 if isinstance(u, k.Lin) else len(self.model.start)
        out = [(ZERO,) * size] * len(self._outcomes)
        for atom, c in u.coefficients.items():
            out = _scaled_sum(out, self._atom(atom), self.numbers(c))
        return out

    def conditional(self, places: set[int], values: list[Fraction]) -> list[Fraction]:
        """Return in every outcome the mean given what was drawn at these places."""
        keys = [tuple(o[q] for q in sorted(places)) for o in self._outcomes]
        chance, total = dict.fromkeys(keys, ZERO), dict.fromkeys(keys, ZERO)
        for key, p, value in zip(keys, self._chances, values, strict=True):
            chance[key] += p
            total[key] += p * value
        return [total[key] / chance[key] for key in keys]

    def function(self, function: k.Function) -> Shape:
        """Return the shape of a function."""
        if isinstance(function, k.Local):
            return self.model.functions[self.client(function.client)]
        if isinstance(function, k.Mean):
            return self._f
        return known(self.model.named, cast(k.NamedFunction, function))

    def _atom(self, atom: k.Term) -> Random:
        size = len(self._outcomes)
        if atom is k.UNIT:
            return [(ONE,)] * size
        if isinstance(atom, k.WeightedSum):
            inside = atom.inside()
            out = self.vector(type(inside)({}))
            for _ in self.range(atom):
                out = _added(out, self.vector(inside), ONE)
            return out
        if isinstance(atom, k.Inner):
            pairs = zip(self._atom(atom.left), self._atom(atom.right), strict=True)
            return [(_dot(u, v),) for u, v in pairs]
        if isinstance(atom, k.Value):
            shape = self.function(atom.function)
            return [(shape.value(x),) for x in self.vector(atom.at)]
        if isinstance(atom, k.Gradient):
            shape = self.function(atom.function)
            return [shape.gradient(x) for x in self.vector(atom.at)]
        if isinstance(atom, k.Point):
            values = known(self.model.points, atom)
            return [values[q % len(values)] for q in range(size)]
        if isinstance(atom, k.Star):
            return [known(self.model.stars, atom.function)] * size
        if isinstance(atom, k.Part):
            return self.block(atom.side, self._atom(atom.vector))
        if isinstance(atom, k.Iterate):
            return self.iterate(atom.run, self.whole_number(atom.round))
        if isinstance(atom, k.LocalPoint | k.Noise):
            t, i = self.whole_number(atom.round), self.whole_number(atom.step)
            n = self.client(atom.client)
            path = self.played(atom.run, t).points[n]
            if isinstance(atom, k.LocalPoint):
                return path[min(i, len(path) - 1)]
            return self.noise(n, t, i) if i < len(path) - 1 else self.vector(k.Vec({}))
        require(isinstance(atom, k.Expected), "the model has no %s", atom)
        mean = cast(k.Expected, atom)
        t, drawn, places = self.whole_number(mean.round), mean.run.drawn, self._draws
        past = {q for (_, s, i), q in places.items() if s < t and (i >= 0 or drawn)}
        columns = zip(*self.vector(mean.vector), strict=True)
        means = [self.conditional(past, list(column)) for column in columns]
        return list(zip(*means, strict=True))

    def block(self, side: k.Side, x: Random) -> Random:
        """Return the block of a vector, the other one set to 0."""
        size, all_of = self.model.client_size, len(self.model.start)
        if side is k.Side.CLIENT:
            return [y[:size] + (ZERO,) * (all_of - size) for y in x]
        return [(ZERO,) * size + y[size:] for y in x]

    # runs

    def noise(self, n: int, t: int, i: int) -> Random:
        """Return the noise of a step that is made."""
        law, place = self.model.noise[n].outcomes, self._draws.get((n, t, i))
        if len(law) == 1:
            return [law[0][1]] * len(self._outcomes)
        require(place is not None, "the model ends before round %s", t)
        now, last = cast(int, place), self._draws[n, t, i - 1] if i else None
        return [
            law[o[now]][2] if last is not None and o[last] else law[o[now]][1]
            for o in self._outcomes
        ]

    def drawn(self, n: int, t: int) -> list[Fraction]:
        """Return ``J_n(t) = I_n(t)/q_n``."""
        q = self.model.participation[n]
        if q == 1:
            return [ONE] * len(self._outcomes)
        require((n, t, -1) in self._draws, "the model ends before round %s", t)
        place = self._draws[n, t, -1]
        return [ZERO if o[place] else 1 / q for o in self._outcomes]

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
                path.append([_plus(y, shape.gradient(y), -rate) for y in path[s]])
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

    def ordered(self, run: k.Split) -> None:
        """Check that the model orders the visits of this run of SFL-V2, no more."""
        steps, clients = self.whole_number(run.server.steps), self.model.weights
        order, size = set(self.model.order), len(clients) * steps
        fits = len(order) == size
        fits = fits and order == set(product(range(len(clients)), range(steps)))
        require(fits, "the order is not of the run's visits")


def _added(u: Random, v: Random, c: Fraction) -> Random:
    return [_plus(a, b, c) for a, b in zip(u, v, strict=True)]


def _scaled_sum(u: Random, v: Random, c: list[Fraction]) -> Random:
    return [_plus(a, b, z) for a, b, z in zip(u, v, c, strict=True)]


def _rate_of(e: Evaluation, pace: k.AnyPace, t: int, i: int) -> Fraction:
    """Return the learning rate of step i of round t."""
    stepwise = isinstance(pace, k.Stepwise)
    return e.rate(pace.rate, t * e.whole_number(pace.steps) + i if stepwise else t)


class Round(NamedTuple):
    """The local points of each client, steps 0 to the last, and the next iterate."""

    points: list[list[Random]]
    after: Random


def _play(e: Evaluation, run: k.Split, t: int) -> Round:
    """Return one round of the algorithm, as `terms.Split` says."""
    shared_server = run.kind.shared
    pace = {side: e.whole_number(run.pace(side).steps) for side in k.Side}
    steps, clients = max(pace.values()), range(len(e.model.weights))
    made = (t + 1) * steps * len(clients)
    require(made <= MAX_STEPS, "a run of more than %s local steps", MAX_STEPS)
    x = e.iterate(run, t)
    visits = [(n, i) for i in range(steps) for n in clients]
    if run.kind.visits:
        e.ordered(run)
        visits = list(e.model.order)
    rate = {
        side: [_rate_of(e, run.pace(side), t, i) for i in range(pace[side])]
        for side in k.Side
    }
    own = {side for side in k.Side if side is k.Side.CLIENT or not shared_server}
    draws = [e.drawn(n, t) if run.drawn else [ONE] * len(x) for n in clients]
    shares = [[a * z for z in J] for a, J in zip(e.model.weights, draws, strict=True)]
    points: list[list[Random]] = [[x] for _ in clients]
    shared = seen = e.block(k.Side.SERVER, x)
    for n, i in visits:
        here = points[n][i]
        if shared_server:
            seen = shared if run.kind.visits or n == 0 else seen
            here = points[n][i] = _added(e.block(k.Side.CLIENT, here), seen, ONE)
        g = [e.model.functions[n].gradient(y) for y in here]
        g = _added(g, e.noise(n, t, i), ONE)
        for side in own:
            if i < pace[side]:
                here = _added(here, e.block(side, g), -rate[side][i])
        points[n].append(here)
        if shared_server:
            factor = draws[n] if run.kind is k.Kind.V2 else shares[n]
            speed = [-rate[k.Side.SERVER][i] * z for z in factor]
            shared = _scaled_sum(shared, e.block(k.Side.SERVER, g), speed)
    models = run.participants is k.Participants.MODELS
    out = e.vector(k.Vec({})) if models else x
    for n in clients:
        last = points[n][-1] if models else _added(points[n][-1], x, -ONE)
        out = _scaled_sum(out, last, shares[n])
    if shared_server:
        out = _added(e.block(k.Side.CLIENT, out), shared, ONE)
        for path in points:
            path[-1] = _added(e.block(k.Side.CLIENT, path[-1]), shared, ONE)
    return Round(points, out)


# Hypotheses ------------------------------------------------------------------------


def holds(e: Evaluation, assumed: h.Hypothesis) -> bool:
    """Return True only if the hypothesis is true in the model."""
    if isinstance(assumed, h.Every):
        if assumed.binder is k.NATURALS:
            return _always(e, assumed.body)
        return all([holds(e, assumed.body) for _ in e.range(assumed)])
    return CONDITIONS[type(assumed)](e, assumed)


CONDITIONS: dict[type[h.Hypothesis], Callable[[Evaluation, Any], bool]] = {
    h.Holds: lambda e, one: e.form(one.form) >= 0,
    h.Smooth: lambda e, one: e.function(one.function).smooth(e.number(one.constant)),
    h.Majorised: lambda e, one: e.function(one.function).majorised(
        e.number(one.constant)
    ),
    h.Convex: lambda e, one: e.function(one.function).convex(e.number(one.modulus)),
    h.Minimiser: lambda e, one: e.function(one.function).lowest_at(
        known(e.model.stars, one.function)
    ),
    h.Heterogeneity: lambda e, one: (
        (largest := spread(e)) is not None and largest <= e.number(one.bound)
    ),
    h.Variance: lambda e, one: (
        e.model.noise[e.client(one.client)].second_moment() <= e.number(one.bound)
    ),
    h.BoundedGradients: lambda e, one: all(
        _bounded(e, one.run, n, e.number(one.bound)) for n in range(len(e.model.noise))
    ),
    h.Unbiased: lambda e, one: all(law.fair() for law in e.model.noise),
    # noises and draws are enumerated as independent, draws with their chances
    h.Independent: lambda e, one: True,
    h.Participation: lambda e, one: True,
}


def _always(e: Evaluation, body: h.Hypothesis) -> bool:
    """Return whether a restriction holds for all naturals, by the sorts alone."""
    if not isinstance(body, h.Holds) or body.form.expects:
        return False
    return k.number_of(k.lin_at(body.form, e.model.values())).nonnegative()


def spread(e: Evaluation) -> Fraction | None:
    """Return a bound on ||grad F_n - grad f||^2, or None if the Hessians differ.

    The difference is constant plus slopes times numbers in [-width, width]; a convex
    function of these numbers is largest in a corner.
    """
    f, largest = e._f, ZERO
    for F in e.model.functions:
        if F.hessian != f.hessian:
            return None
        sizes: dict[Bend, Fraction] = {}
        for sign, shape in ((ONE, F), (-ONE, f)):
            for bend in shape.bends:
                key = replace(bend, weight=ONE)
                sizes[key] = sizes.get(key, ZERO) + sign * bend.weight
        arms = [tuple(c * b.width * z for z in b.slope) for b, c in sizes.items() if c]
        largest = max(largest, _largest(_plus(F.linear, f.linear, -ONE), arms))
    return largest


def _largest(base: Vector, arms: list[Vector]) -> Fraction:
    require(2 ** len(arms) <= MAX_CORNERS, "too many corners")
    out = ZERO
    for signs in product((-ONE, ONE), repeat=len(arms)):
        corner = base
        for sign, arm in zip(signs, arms, strict=True):
            corner = _plus(corner, arm, sign)
        out = max(out, _dot(corner, corner))
    return out


def _bounded(e: Evaluation, run: k.Split, n: int, bound: Fraction) -> bool:
    """Return whether ``E||g||^2 <= bound`` wherever client n may be.

    Without a quadratic part the gradient is bounded everywhere. Otherwise every local
    point has to lie in the model's box, which `_invariant` verifies; there the gradient
    is largest in a corner, and noise adds at most its second moment.
    """
    F, noise = e.model.functions[n], e.model.noise[n].second_moment()
    if not e.model.noise[n].fair():
        return False
    if not any(map(any, F.hessian)):
        arms = [tuple(b.weight * b.width * z for z in b.slope) for b in F.bends]
        return _largest(F.linear, arms) + noise <= bound
    if not e.model.box or F.bends or not _invariant(e, run):
        return False
    corners = [F.gradient(corner) for corner in product(*e.model.box)]
    return max(_dot(g, g) for g in corners) + noise <= bound


def _invariant(e: Evaluation, run: k.Split) -> bool:
    """Return whether no step of any client leaves the box.

    For a quadratic, x - rate g(x) is affine in x and, between x and the point with the
    largest rate, convex in the rate: corners, largest rates and all noise values
    suffice. A mean of points of a box lies in it. Rates have to be largest in round 0.

    Draws multiply a move by J_n <= 1/q_n, so with rate/q_n every step of a shared
    server, and the one step of a block that clients average, stays inside:
    x + sum a_n J_n (p_n - x) is the mean of the points x - J_n rate g_n. Several steps
    that are averaged may overshoot, which is refused unless the block rests.
    """
    box, clients = e.model.box, range(len(e.model.weights))
    drawn = run.drawn and min(e.model.participation) < 1
    models = run.participants is k.Participants.MODELS
    if (
        2 ** len(box) > MAX_CORNERS
        or (drawn and models)
        or any(F.bends for F in e.model.functions)
    ):
        return False
    reached = [e.model.start]
    for side in k.Side:
        pace = run.pace(side)
        rate = _largest_rate(e, pace.rate)
        alone = run.kind.shared and side is k.Side.SERVER
        (block,) = e.block(side, [(ONE,) * len(box)])
        rests = all(low == high for (low, high), z in zip(box, block, strict=True) if z)
        once = e.whole_number(pace.steps) <= 1
        if rate is None or (drawn and not (alone or rests or once)):
            return False
        for n, corner in product(clients, product(*box)):
            largest = rate / e.model.participation[n] if drawn else rate
            for value in {v for o in e.model.noise[n].outcomes for v in o[1:]}:
                g = _plus(e.model.functions[n].gradient(corner), value, ONE)
                reached.append(_plus(corner, e.block(side, [g])[0], -largest))
    pairs = (zip(box, point, strict=True) for point in reached)
    return all(low <= z <= high for pair in pairs for (low, high), z in pair)


def _largest_rate(e: Evaluation, rate: k.Rate) -> Fraction | None:
    """Return the rate of round 0 if 0 <= rate(t) <= rate(0) for all t by the sorts."""
    values, t = e.model.values(), k.symbol(k.fresh(k.NATURALS))
    body, first = (k.number_at(rate.at(s), values) for s in (t, ratio(0)))
    falls = body.nonnegative() and (first - body).nonnegative()
    return e.number(first) if falls else None


def meeting(
    model: Model, hypotheses: frozenset[h.Hypothesis], left: k.Lin, right: k.Lin
) -> Evaluation:
    """Return the model ready to evaluate both sides; it meets every hypothesis."""
    e = prepared(model, subterms(left, right, *hypotheses))
    for assumed in hypotheses:
        require(holds(e, assumed), "the model does not meet: %s", assumed)
    return e


def prepared(model: Model, inside: set[k.Term]) -> Evaluation:
    """Return the model ready to evaluate a statement with these terms, and no others.

    It says only what the statement mentions, and orders the visits of its run.
    """
    asked = {one.function for one in inside if isinstance(one, k.Star | h.Minimiser)}
    tables = (model.numbers, model.families, model.rates, model.named, model.points)
    for name in (name for table in tables for name in table):
        require(name in inside, "the statement does not mention %s", name)
    for function in model.stars:
        require(function in asked, "the statement does not mention %s*", function)
    e, splits = Evaluation(model), [one for one in inside if isinstance(one, k.Split)]
    visited = [run for run in splits if run.kind.visits]
    require(visited or not model.order, "an order of visits, and nobody visits")
    for run in visited:
        e.ordered(run)
    made = [e.whole_number(run.pace(side).steps) for run in splits for side in k.Side]
    e.prepare(max(made, default=0), any(run.drawn for run in splits))
    return e


def subterms(*parts: object) -> set[k.Term]:
    """Return all terms that occur in some, coefficients and exponents' bases too."""
    seen: set[Built] = set()
    left: list[object] = list(parts)
    while left:
        one = left.pop()
        if isinstance(one, Built) and one not in seen:
            seen.add(one)
            left += one.parts
    return {one for one in seen if isinstance(one, k.Term)}


def runs_of(*parts: object) -> set[k.Run]:
    """Return the runs of algorithms in some terms."""
    return {one for one in subterms(*parts) if isinstance(one, k.Descent | k.Split)}
