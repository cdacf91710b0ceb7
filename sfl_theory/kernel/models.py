"""Models: exact evaluation of statements, and refutations.

A model is data: functions, noise on finitely many points, weights, participation, the
order of visits, step sizes, parameters. In it the kernel evaluates both sides of a
statement over all outcomes, in exact fractions, and decides each hypothesis by a
condition that implies it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod
from typing import Literal

from . import hypotheses as h
from . import terms as k
from .algebra import Poly, Ratio, Rejected, Sort, Symbol, ratio, require

MAX_OUTCOMES = 65_536
MAX_CORNERS = 4_096
MAX_RANGE = 100_000
MAX_ROUNDS = 20_000

Vector = tuple[Fraction, ...]
Matrix = tuple[Vector, ...]
Random = list[Vector]


def _dot(u: Vector, v: Vector) -> Fraction:
    return sum((a * b for a, b in zip(u, v, strict=True) if a and b), Fraction(0))


def _plus(u: Vector, v: Vector, c: Fraction) -> Vector:
    if c == 1:
        return tuple(a + b if b else a for a, b in zip(u, v, strict=True))
    return tuple(a + c * b if b else a for a, b in zip(u, v, strict=True)) if c else u


def _positive_semidefinite(matrix: Matrix) -> bool:
    """Return whether a symmetric matrix is positive semidefinite, by elimination."""
    rows = [list(row) for row in matrix]
    for p, row in enumerate(rows):
        if row[p] < 0 or (row[p] == 0 and any(row[p:])):
            return False
        for lower in rows[p + 1 :]:
            factor = lower[p] / row[p] if row[p] else Fraction(0)
            for q in range(p, len(row)):
                lower[q] -= factor * row[q]
    return True


@dataclass(frozen=True)
class Bend:
    """``weight * huber(slope . x - shift)``, quadratic within `width` of its kink."""

    weight: Fraction
    slope: Vector
    shift: Fraction
    width: Fraction

    def argument(self, x: Vector) -> Fraction:
        """Return the argument of the Huber function."""
        return _dot(self.slope, x) - self.shift


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
            u, w = abs(bend.argument(x)), bend.width
            out += bend.weight * (u * u / 2 if u <= w else w * u - w * w / 2)
        return out

    def gradient(self, x: Vector) -> Vector:
        """Return grad F(x)."""
        out = _plus(self.linear, tuple(_dot(row, x) for row in self.hessian), ONE)
        for bend in self.bends:
            u = max(-bend.width, min(bend.width, bend.argument(x)))
            out = _plus(out, bend.slope, bend.weight * u)
        return out

    def curvature(self, scale: int, bound: Fraction, bent: bool) -> bool:
        """Return whether ``bound I - scale H >= 0``, H with all bends or none."""
        size = range(len(self.linear))
        rows = []
        for p in size:
            row = [-scale * self.hessian[p][q] for q in size]
            row[p] += bound
            for bend in self.bends if bent else ():
                for q in size:
                    row[q] -= scale * bend.weight * bend.slope[p] * bend.slope[q]
            rows.append(tuple(row))
        return _positive_semidefinite(tuple(rows))

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
        return self.convex(Fraction(0)) and not any(self.gradient(x))


ONE = Fraction(1)


Outcome = tuple[Fraction, Vector, Vector]


def _mean(outcomes: tuple[Outcome, ...], which: Literal[1, 2]) -> Vector:
    out = tuple(Fraction(0) for _ in outcomes[0][1])
    for outcome in outcomes:
        out = _plus(out, outcome[which], outcome[0])
    return out


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
        means = (_mean(self.outcomes, which) for which in (1, 2))
        return not any(map(any, means))

    def second_moment(self) -> Fraction:
        """Return the larger of the two second moments."""
        return max(
            sum((p * _dot(v, v) for p, v, _ in self.outcomes), Fraction(0)),
            sum((p * _dot(v, v) for p, _, v in self.outcomes), Fraction(0)),
        )


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
        """Refuse what is no model.

        Raises:
            Rejected: sizes differ, weights or laws are no such, sorts are not met.
        """
        size, n = len(self.start), len(self.functions)
        require(n >= 1 and size >= 1, "a model without clients or of dimension 0")
        require(0 <= self.client_size <= size, "a block larger than the whole")
        per_client = (self.weights, self.participation, self.noise)
        require(all(len(one) == n for one in per_client), "one entry for each client")
        require(min(self.weights) >= 0 and sum(self.weights) == 1, "weights")
        require(all(0 < q <= 1 for q in self.participation), "participation")
        require(all(law.lawful() for law in self.noise), "probabilities")
        for shape in (*self.functions, *self.named.values()):
            sizes = {len(shape.linear), len(shape.hessian), *map(len, shape.hessian)}
            sizes |= {len(bend.slope) for bend in shape.bends}
            require(sizes == {size}, "functions of another dimension")
            same = all(
                shape.hessian[p][q] == shape.hessian[q][p]
                for p in range(size)
                for q in range(p)
            )
            require(same, "a Hessian is not symmetric")
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
            fits = body.positive() or (
                rounds.sort is Sort.NONNEGATIVE and body.nonnegative()
            )
            require(fits, "%s is not of its sort", rounds)
            require(rate.free <= self.numbers.keys(), "%s is not known", rounds)
        own = [[i for m, i in self.order if m == client] for client in range(n)]
        whole = sum(map(len, own)) == len(self.order)
        fits = whole and all(steps == list(range(len(steps))) for steps in own)
        require(fits, "an order in which visits are foreign, repeated or exchanged")

    def values(self) -> dict[k.Variable, k.Replacement]:
        """Return what a substitution replaces: parameters and families over rounds."""
        out: dict[k.Variable, k.Replacement] = dict(self.rates.items())
        out.update({v: ratio(value) for v, value in self.numbers.items()})
        return out

    def whole(self) -> Shape:
        """Return f, the weighted mean of the clients' functions."""
        size = range(len(self.start))
        pairs = list(zip(self.weights, self.functions, strict=True))
        hessian = tuple(
            tuple(
                sum((a * F.hessian[p][q] for a, F in pairs), Fraction(0)) for q in size
            )
            for p in size
        )
        linear = tuple(
            sum((a * F.linear[p] for a, F in pairs), Fraction(0)) for p in size
        )
        bends = tuple(
            Bend(a * bend.weight, bend.slope, bend.shift, bend.width)
            for a, F in pairs
            for bend in F.bends
        )
        return Shape(hessian, linear, bends)


def _of_sort(value: Fraction, sort: Sort) -> bool:
    least = {Sort.COUNT: 1}.get(sort, 0)
    if sort is Sort.POSITIVE:
        return value > 0
    return value >= least and (value.denominator == 1 or not sort.whole)


@dataclass
class Evaluation:
    """Values of terms in a model; `at` holds the variables that sums range over."""

    model: Model
    at: dict[object, int] = field(default_factory=dict)
    outcome: int | None = None

    def __post_init__(self) -> None:
        """Start with the one outcome of a model without draws."""
        self._f = self.model.whole()
        self._rounds: dict[tuple[k.Split, int], _Round] = {}
        self._iterates: dict[k.Run, list[Random]] = {}
        self._draws: dict[tuple[int, int, int], int] = {}
        self._totals: dict[k.Total, Fraction] = {}
        self._chances: list[Fraction] = [Fraction(1)]
        self._outcomes: list[tuple[int, ...]] = [()]

    def prepare(self, steps: int, partial: bool) -> None:
        """Enumerate the outcomes of rounds with this many local steps.

        Raises:
            Rejected: there are too many.
        """
        choices: list[list[Fraction]] = []
        for t, n in product(range(self.model.rounds), range(len(self.model.weights))):
            q = self.model.participation[n]
            if partial and q < 1:
                self._draws[n, t, -1] = len(choices)
                choices.append([q, 1 - q])
            law = self.model.noise[n].outcomes
            if len(law) > 1:
                for i in range(steps):
                    self._draws[n, t, i] = len(choices)
                    choices.append([p for p, _, _ in law])
        require(prod(map(len, choices)) <= MAX_OUTCOMES, "too many outcomes")
        self._outcomes = list(product(*(range(len(c)) for c in choices)))
        self._chances = [
            prod(
                (c[o] for c, o in zip(choices, outcome, strict=True)), start=Fraction(1)
            )
            for outcome in self._outcomes
        ]

    # numbers

    def number(self, value: Ratio | Poly) -> Fraction:
        """Return the value of a number; of one with draws in the outcome `outcome`."""
        top = value.numerator if isinstance(value, Ratio) else value
        out = Fraction(0)
        for c, powers in top.products():
            for symbol, power in powers.items():
                one = self._symbol(symbol)
                c *= one if power == 1 else one**power
            out += c
        if isinstance(value, Ratio):
            for factor, power in value.denominator:
                out /= self.number(factor) ** power
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
        """Return the value of an index.

        Raises:
            Rejected: it is not natural.
        """
        out = self.number(value)
        require(out >= 0 and out.denominator == 1, "%s is no index", value)
        return int(out)

    def client(self, n: k.ClientIndex) -> int:
        """Return the number of a client.

        Raises:
            Rejected: the model does not say which.
        """
        require(n in self.at, "which client is %s?", n)
        return self.at[n]

    def _symbol(self, s: Symbol) -> Fraction:
        if s in self.at:
            return Fraction(self.at[s])
        if isinstance(s, k.Var):
            require(s in self.model.numbers, "the model has no %s", s)
            return self.model.numbers[s]
        if isinstance(s, k.Weight):
            return self.model.weights[self.client(s.client)]
        if isinstance(s, k.Odds):
            return 1 / self.model.participation[self.client(s.client)] - 1
        if isinstance(s, k.PerClient):
            require(s.family in self.model.families, "the model has no %s", s.family)
            return self.model.families[s.family][self.client(s.client)]
        if isinstance(s, k.PerRound):
            require(s.family in self.model.rates, "the model has no %s", s.family)
            return self.rate(self.model.rates[s.family], self.whole_number(s.round))
        if isinstance(s, k.Draw):
            n, t = self.client(s.client), self.whole_number(s.round)
            outcome = self.outcome
            if outcome is None:
                raise Rejected(f"{s} has no one value")
            return self.drawn(n, t)[outcome]
        if isinstance(s, k.Before):
            one = (self.client(s.earlier), self.whole_number(s.earlier_step))
            two = (self.client(s.later), self.whole_number(s.later_step))
            order = self.model.order
            require(one in order and two in order, "the model has no such visit")
            return Fraction(order.index(one) < order.index(two))
        if isinstance(s, k.Total):
            fixed = s.free.isdisjoint(self.at) and k.CHANCE not in s.free
            if fixed and s in self._totals:
                return self._totals[s]
            v = k.fresh(s.binder)
            body = k.renamed(s.weight, k.bound(s.binder, s.level), v)
            values = (self.number(body) for _ in self._range(s.binder, v))
            total = sum(values, Fraction(0))
            if fixed:
                self._totals[s] = total
            return total
        raise Rejected(f"the model has no {s}")

    def _range(self, binder: k.Quantifier, v: k.Client | k.Var) -> Iterator[int]:
        if isinstance(binder, k.Naturals):
            raise Rejected("a model cannot run through all naturals")
        size = len(self.model.weights)
        if isinstance(binder, k.Steps):
            size = self.whole_number(binder.upper)
            require(size <= MAX_RANGE, "a sum of more than %s terms", MAX_RANGE)
        for value in range(size):
            self.at[v] = value
            yield value
        self.at.pop(v, None)

    # forms

    def form(self, lin: k.Lin) -> Fraction:
        """Return the value of a form."""
        return self._mean(self.values(lin))

    def given_draws(self, lin: k.Lin) -> list[Fraction]:
        """Return the values of a form given each outcome of all draws."""
        places = {q for (_, _, i), q in self._draws.items() if i < 0}
        return self._conditional(places, self.values(lin))

    def _conditional(self, places: set[int], values: list[Fraction]) -> list[Fraction]:
        """Return in every outcome the mean given what was drawn at these places."""
        keys = [tuple(o[q] for q in sorted(places)) for o in self._outcomes]
        chance: dict[tuple[int, ...], Fraction] = {}
        total: dict[tuple[int, ...], Fraction] = {}
        for key, p, value in zip(keys, self._chances, values, strict=True):
            chance[key] = chance.get(key, Fraction(0)) + p
            total[key] = total.get(key, Fraction(0)) + p * value
        return [total[key] / chance[key] for key in keys]

    def values(self, lin: k.Lin) -> list[Fraction]:
        """Return the value of a form in every outcome."""
        out = [Fraction(0)] * len(self._outcomes)
        for atom, c in lin.coefficients.items():
            pairs = zip(out, self.numbers(c), self._atom(atom), strict=True)
            out = [value + b * z for value, b, z in pairs]
        return out

    def _atom(self, atom: k.LinAtom) -> list[Fraction]:
        if isinstance(atom, k.Inner):
            pairs = zip(self._vector(atom.left), self._vector(atom.right), strict=True)
            return [_dot(u, v) for u, v in pairs]
        if isinstance(atom, k.Value):
            shape = self.function(atom.function)
            return [shape.value(x) for x in self.vector(atom.at)]
        out = [Fraction(isinstance(atom, k.Unit))] * len(self._outcomes)
        if isinstance(atom, k.LinSum):
            v, of, body = k.opened_number(atom)
            for _ in self._range(atom.binder, v):
                sums = zip(out, self.numbers(of), self._atom(body), strict=True)
                out = [value + c * z for value, c, z in sums]
        return out

    def _mean(self, values: list[Fraction]) -> Fraction:
        pairs = zip(self._chances, values, strict=True)
        return sum((p * value for p, value in pairs), Fraction(0))

    def function(self, function: k.Function) -> Shape:
        """Return the shape of a function.

        Raises:
            Rejected: the model does not have it.
        """
        if isinstance(function, k.Local):
            return self.model.functions[self.client(function.client)]
        if isinstance(function, k.Mean):
            return self._f
        require(function in self.model.named, "the model has no %s", function)
        return self.model.named[function]

    # vectors, one value for each outcome

    def vector(self, vector: k.Vec) -> Random:
        """Return the values of a vector."""
        out = self._constant((Fraction(0),) * len(self.model.start))
        for atom, c in vector.coefficients.items():
            out = _scaled_sum(out, self._vector(atom), self.numbers(c))
        return out

    def _constant(self, value: Vector) -> Random:
        return [value] * len(self._outcomes)

    def _vector(self, atom: k.VecAtom) -> Random:
        if isinstance(atom, k.Point):
            require(atom in self.model.points, "the model has no %s", atom)
            values = self.model.points[atom]
            return [values[q % len(values)] for q in range(len(self._outcomes))]
        if isinstance(atom, k.Star):
            return self._constant(self._star(atom.function))
        if isinstance(atom, k.Gradient):
            shape = self.function(atom.function)
            return [shape.gradient(x) for x in self.vector(atom.at)]
        if isinstance(atom, k.Iterate):
            return self.iterate(atom.run, self.whole_number(atom.round))
        if isinstance(atom, k.LocalPoint | k.Noise):
            t, i = self.whole_number(atom.round), self.whole_number(atom.step)
            n, played = self.client(atom.client), self.played(atom.run, t)
            if isinstance(atom, k.Noise):
                return self.noise(n, t, i) if i < played.steps else self._zero()
            return played.points[n][min(i, played.steps)]
        if isinstance(atom, k.Part):
            return [self._block(atom.side, x) for x in self._vector(atom.vector)]
        if isinstance(atom, k.Expected):
            t, inside = self.whole_number(atom.round), self.vector(atom.vector)
            places = {
                place
                for (_, s, i), place in self._draws.items()
                if s < t and (i >= 0 or atom.run.drawn)
            }
            columns = zip(*inside, strict=True)
            means = [self._conditional(places, list(column)) for column in columns]
            return list(zip(*means, strict=True))
        v, of, body = k.opened_vector(atom)
        out: Random = self._zero()
        for _ in self._range(atom.binder, v):
            out = _scaled_sum(out, self._vector(body), self.numbers(of))
        return out

    def _zero(self) -> Random:
        return self._constant((Fraction(0),) * len(self.model.start))

    def _star(self, function: k.Function) -> Vector:
        require(function in self.model.stars, "the model has no %s*", function)
        return self.model.stars[function]

    def _block(self, side: k.Side, x: Vector) -> Vector:
        kept = range(self.model.client_size)
        if side is k.Side.SERVER:
            kept = range(self.model.client_size, len(x))
        return tuple(z if q in kept else Fraction(0) for q, z in enumerate(x))

    # runs

    def noise(self, n: int, t: int, i: int) -> Random:
        """Return the noise of a step that is made."""
        law = self.model.noise[n].outcomes
        if len(law) == 1:
            return self._constant(law[0][1])
        require((n, t, i) in self._draws, "the model ends before round %s", t)
        place = self._draws[n, t, i]
        last = self._draws[n, t, i - 1] if i else None
        return [
            law[o[place]][2] if last is not None and o[last] else law[o[place]][1]
            for o in self._outcomes
        ]

    def drawn(self, n: int, t: int) -> list[Fraction]:
        """Return ``J_n(t) = I_n(t)/q_n``."""
        q = self.model.participation[n]
        if q == 1:
            return [Fraction(1)] * len(self._outcomes)
        require((n, t, -1) in self._draws, "the model ends before round %s", t)
        place = self._draws[n, t, -1]
        return [Fraction(0) if o[place] else 1 / q for o in self._outcomes]

    def iterate(self, run: k.Run, t: int) -> Random:
        """Return ``x(t)`` of a run.

        Raises:
            Rejected: the run depends on what a sum ranges over.
        """
        model = self.model
        given = {*model.numbers, *model.rates, *model.named, *model.families}
        require(run.free <= given, "%s depends on a bound variable", run)
        require(t <= MAX_ROUNDS, "a run of more than %s rounds", MAX_ROUNDS)
        known = self._iterates.setdefault(run, [self._constant(self.model.start)])
        for s in range(len(known) - 1, t):
            if isinstance(run, k.Descent):
                shape, rate = self.function(run.function), self.rate(run.rate, s)
                known.append([_plus(y, shape.gradient(y), -rate) for y in known[s]])
            else:
                known.append(self.played(run, s).after)
        return known[t]

    def rate(self, rate: k.Rate, t: int) -> Fraction:
        """Return the rate of a round."""
        outer = self.at.get(k.ROUND)
        self.at[k.ROUND] = t
        value = self.number(rate.body)
        self.at.pop(k.ROUND)
        if outer is not None:
            self.at[k.ROUND] = outer
        return value

    def ordered(self, run: k.Split) -> None:
        """Check that the model orders the visits of this run of SFL-V2, no more."""
        steps, clients = self.whole_number(run.server.steps), self.model.weights
        visits = {(n, i) for n in range(len(clients)) for i in range(steps)}
        require(set(self.model.order) == visits, "the order is not of the run's visits")

    def played(self, run: k.Split, t: int) -> _Round:
        """Return what happened in a round."""
        if (run, t) not in self._rounds:
            self._rounds[run, t] = _play(self, run, t)
        return self._rounds[run, t]


def _added(u: Random, v: Random, c: Fraction) -> Random:
    return [_plus(a, b, c) for a, b in zip(u, v, strict=True)]


def _scaled_sum(u: Random, v: Random, c: list[Fraction]) -> Random:
    return [_plus(a, b, z) for a, b, z in zip(u, v, c, strict=True)]


def _rate_of(e: Evaluation, pace: k.AnyPace, t: int, i: int) -> Fraction:
    """Return the learning rate of step i of round t."""
    stepwise = isinstance(pace, k.Stepwise)
    return e.rate(pace.rate, t * e.whole_number(pace.steps) + i if stepwise else t)


@dataclass(frozen=True)
class _Round:
    """The local points of each client, steps 0 to `steps`, and the next iterate."""

    points: list[list[Random]]
    steps: int
    after: Random


def _play(e: Evaluation, run: k.Split, t: int) -> _Round:
    """Return one round of the algorithm, as `terms.Split` says."""
    x = e.iterate(run, t)
    pace = {side: e.whole_number(run.pace(side).steps) for side in k.Side}
    steps, clients = max(pace.values()), range(len(e.model.weights))
    visits = [(n, i) for i in range(steps) for n in clients]
    if run.kind.visits:
        e.ordered(run)
        visits = list(e.model.order)
    sides = {side for side in k.Side if side is k.Side.CLIENT or not run.kind.shared}
    points: list[list[Random]] = [[x] for _ in clients]
    draws, shares = list[list[Fraction]](), list[list[Fraction]]()
    for n in clients:
        J = e.drawn(n, t) if run.drawn else [ONE] * len(x)
        draws.append(J)
        shares.append([e.model.weights[n] * z for z in J])
    shared = seen = [e._block(k.Side.SERVER, y) for y in x]
    for n, i in visits:
        here = points[n][i]
        if run.kind.shared:
            seen = shared if run.kind.visits or n == 0 else seen
            own_side = [e._block(k.Side.CLIENT, y) for y in here]
            here = points[n][i] = _added(own_side, seen, ONE)
        g = [e.model.functions[n].gradient(y) for y in here]
        g = _added(g, e.noise(n, t, i), ONE)
        rate = {side: _rate_of(e, run.pace(side), t, i) for side in k.Side}
        after = here
        for side in sides:
            if i < pace[side]:
                after = _added(after, [e._block(side, y) for y in g], -rate[side])
        points[n].append(after)
        if run.kind.shared:
            factor = draws[n] if run.kind is k.Kind.V2 else shares[n]
            moved = [e._block(k.Side.SERVER, y) for y in g]
            speed = [-rate[k.Side.SERVER] * z for z in factor]
            shared = _scaled_sum(shared, moved, speed)
    models = run.participants is k.Participants.MODELS
    out = e._zero() if models else x
    for n in clients:
        last = points[n][-1] if models else _added(points[n][-1], x, -ONE)
        out = _scaled_sum(out, last, shares[n])
    if run.kind.shared:
        client = [e._block(k.Side.CLIENT, y) for y in out]
        out = _added(client, shared, ONE)
        for path in points:
            ends = [e._block(k.Side.CLIENT, y) for y in path[-1]]
            path[-1] = _added(ends, shared, ONE)
    return _Round(points, steps, out)


# Hypotheses ------------------------------------------------------------------------


def holds(e: Evaluation, assumed: h.Hypothesis) -> bool:
    """Return True only if the hypothesis is true in the model."""
    if isinstance(assumed, h.Every):
        v, body = h.opened_hypothesis(assumed)
        if isinstance(assumed.binder, k.Naturals):
            return _always(e, body)
        return all([holds(e, body) for _ in e._range(assumed.binder, v)])
    if isinstance(assumed, h.Holds):
        return e.form(assumed.form) >= 0
    if isinstance(assumed, h.Smooth):
        return e.function(assumed.function).smooth(e.number(assumed.constant))
    if isinstance(assumed, h.Majorised):
        return e.function(assumed.function).majorised(e.number(assumed.constant))
    if isinstance(assumed, h.Convex):
        return e.function(assumed.function).convex(e.number(assumed.modulus))
    if isinstance(assumed, h.Minimiser):
        star = e._star(assumed.function)
        return e.function(assumed.function).lowest_at(star)
    if isinstance(assumed, h.Heterogeneity):
        largest = spread(e)
        return largest is not None and largest <= e.number(assumed.bound)
    if isinstance(assumed, h.Variance):
        law = e.model.noise[e.client(assumed.client)]
        return law.second_moment() <= e.number(assumed.bound)
    if isinstance(assumed, h.BoundedGradients):
        bound = e.number(assumed.bound)
        return all(
            _bounded(e, assumed.run, n, bound) for n in range(len(e.model.weights))
        )
    if isinstance(assumed, h.Unbiased):
        return all(law.fair() for law in e.model.noise)
    # noises and draws are enumerated as independent, draws with their chances
    return isinstance(assumed, h.Independent | h.Participation)


def _always(e: Evaluation, body: h.Hypothesis) -> bool:
    """Return whether a restriction holds for all naturals, by the sorts alone."""
    if not isinstance(body, h.Holds) or body.form.coefficients.keys() - {k.UNIT}:
        return False
    form = k.lin_at(body.form, e.model.values())
    return form.coefficients.get(k.UNIT, ratio(0)).nonnegative()


def spread(e: Evaluation) -> Fraction | None:
    """Return a bound on ||grad F_n - grad f||^2, or None if the Hessians differ.

    The difference is constant plus slopes times numbers in [-width, width]; a convex
    function of these numbers is largest in a corner.
    """
    f, largest = e._f, Fraction(0)
    for F in e.model.functions:
        if F.hessian != f.hessian:
            return None
        sizes: dict[tuple[Vector, Fraction, Fraction], Fraction] = {}
        for sign, shape in ((1, F), (-1, f)):
            for bend in shape.bends:
                key = (bend.slope, bend.shift, bend.width)
                sizes[key] = sizes.get(key, Fraction(0)) + sign * bend.weight
        base = _plus(F.linear, f.linear, -ONE)
        arms = [tuple(c * key[2] * z for z in key[0]) for key, c in sizes.items() if c]
        largest = max(largest, _largest(base, arms))
    return largest


def _largest(base: Vector, arms: list[Vector]) -> Fraction:
    require(2 ** len(arms) <= MAX_CORNERS, "too many corners")
    out = Fraction(0)
    for signs in product((-1, 1), repeat=len(arms)):
        corner = base
        for sign, arm in zip(signs, arms, strict=True):
            corner = _plus(corner, arm, Fraction(sign))
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
    inside = [
        low <= z <= high for (low, high), z in zip(box, e.model.start, strict=True)
    ]
    drawn = run.drawn and min(e.model.participation) < 1
    models = run.participants is k.Participants.MODELS
    if not all(inside) or 2 ** len(box) > MAX_CORNERS or (drawn and models):
        return False
    for side in k.Side:
        pace = run.pace(side)
        rate = _largest_rate(e, pace.rate)
        alone = run.kind.shared and side is k.Side.SERVER
        block = e._block(side, (ONE,) * len(box))
        rests = all(low == high for (low, high), z in zip(box, block, strict=True) if z)
        if rate is None:
            return False
        if drawn and not (alone or rests or e.whole_number(pace.steps) <= 1):
            return False
        for n, corner in product(clients, product(*box)):
            F, law = e.model.functions[n], e.model.noise[n].outcomes
            largest = rate / e.model.participation[n] if drawn else rate
            if F.bends:
                return False
            for value in {v for outcome in law for v in outcome[1:]}:
                g = e._block(side, _plus(F.gradient(corner), value, ONE))
                there = _plus(corner, g, -largest)
                if any(
                    not low <= z <= high
                    for (low, high), z in zip(box, there, strict=True)
                ):
                    return False
    return True


def _largest_rate(e: Evaluation, rate: k.Rate) -> Fraction | None:
    """Return the rate of round 0 if 0 <= rate(t) <= rate(0) for all t by the sorts."""
    values = e.model.values()
    t = k.symbol(k.Var(k.fresh(k.NATURALS).name, Sort.NATURAL))
    body = k.number_at(rate.at(t), values)
    first = k.number_at(rate.at(ratio(0)), values)
    if not body.nonnegative() or not (first - body).nonnegative():
        return None
    return e.number(first)


def meeting(
    model: Model, hypotheses: frozenset[h.Hypothesis], left: k.Lin, right: k.Lin
) -> Evaluation:
    """Return the model ready to evaluate both sides; it meets every hypothesis.

    Raises:
        Rejected: a hypothesis is not shown to hold, or the model lacks something, or
            says something that the statement does not mention.
    """
    e = prepared(model, subterms(left, right, *hypotheses))
    for assumed in hypotheses:
        require(holds(e, assumed), "the model does not meet: %s", assumed)
    return e


def prepared(model: Model, inside: set[k.Term]) -> Evaluation:
    """Return the model ready to evaluate a statement with these terms.

    Raises:
        Rejected: it says what they do not mention, or orders other visits.
    """
    e = Evaluation(model)
    splits = [one for one in inside if isinstance(one, k.Split)]
    _nothing_else(model, inside)
    for run in splits:
        if run.kind.visits:
            e.ordered(run)
    made = [e.whole_number(run.pace(side).steps) for run in splits for side in k.Side]
    partial = any(run.drawn for run in splits)
    e.prepare(max(made, default=0), partial)
    return e


def _nothing_else(model: Model, inside: set[k.Term]) -> None:
    """Check that the model says only what a statement with these terms mentions."""
    asked = {one.function for one in inside if isinstance(one, k.Star | h.Minimiser)}
    names: list[object] = [*model.numbers, *model.families, *model.rates]
    names += [*model.named, *model.points]
    for name in names:
        require(name in inside, "the statement does not mention %s", name)
    for function in model.stars:
        require(function in asked, "the statement does not mention %s*", function)
    visits = any(isinstance(one, k.Split) and one.kind.visits for one in inside)
    require(visits or not model.order, "an order of visits, and nobody visits")


def subterms(*parts: object) -> set[k.Term]:
    """Return all terms that occur in some, coefficients and exponents' bases too."""
    seen: set[k.Term] = set()
    left: list[object] = list(parts)
    while left:
        one = left.pop()
        if isinstance(one, k.Combination):
            left += [*one.coefficients, *one.coefficients.values()]
        elif isinstance(one, Ratio):
            left += [one.numerator, *(factor for factor, _ in one.denominator)]
        elif isinstance(one, Poly):
            left += one.symbols()
        elif isinstance(one, k.Term) and one not in seen:
            seen.add(one)
            left += one.parts
    return seen


def runs_of(*parts: object) -> set[k.Run]:
    """Return the runs of algorithms in some terms."""
    return {one for one in subterms(*parts) if isinstance(one, k.Descent | k.Split)}
