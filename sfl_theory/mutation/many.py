"""Values of terms in many models at once, in float64; or in one, exactly.

The search tries thousands of models for a statement. What the kernel evaluates one by
one in fractions is evaluated here for a crowd of models that differ in their numbers
only: a number is an array (models, outcomes), a vector (models, outcomes, 2). Nothing
here decides anything: what looks like a refutation is asked of the kernel.

With arrays of fractions (one model) the same code says what a model's constants are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np

from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Poly, Ratio
from sfl_theory.mutation.crowd import (
    Array,
    Crowd,
    Index,
    NotEvaluatedError,
    Shape,
    paired,
)

MAX_OUTCOMES = 512
SOME = 4
"""Of a condition on more steps than these four are tried."""
LATE = (0, 1, 2, 3, 10, 1000)
"""Rounds at which a condition for all naturals is tried."""


@lru_cache(maxsize=100_000)
def _indices(term: Any) -> tuple[Any, ...]:
    """Return the indices on which a term's value depends."""
    bound = (k.BoundClient, k.BoundNat, k.Argument)
    return tuple(v for v in term.free if isinstance(v, bound))


@lru_cache(maxsize=100_000)
def _products(value: Poly) -> list[tuple[Fraction, float, list[tuple[Any, int]]]]:
    """Return the terms of a polynomial: coefficient, exact and rounded, and powers."""
    return [(c, float(c), list(powers.items())) for c, powers in value.products]


@dataclass
class Many:
    """Values of terms in a crowd; `at` holds the variables that sums range over."""

    crowd: Crowd
    at: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.mean = self.crowd.mean()
        self._memo: dict[Any, tuple[tuple[Any, ...], dict[Any, Any]]] = {}
        self._rounds: dict[Any, Any] = {}
        self.needs: dict[Any, Array] = {}
        self.visited: dict[Any, list[Array]] = {}
        self._bits: dict[tuple[int, int, int], int] = {}
        self._signs: Array = np.zeros((1, 0), dtype=int)
        one = Fraction(1) if self.crowd.exact else 1.0
        size = len(self.crowd.start)
        self.ones = np.full((size, 1), one, dtype=object if self.crowd.exact else float)
        self.none = 0 * self.ones
        self.chances = self.ones
        self.slots = 1

    def _still(self, x: Array) -> Array:
        """Return a vector that no noise moves, (models, 1, 2), for every slot."""
        if self.slots == 1:
            return x
        out = self._empty()
        out[:, :1] = x
        return out

    def _empty(self) -> Array:
        """Return a vector with all slots, 0, models next to each other in memory."""
        return np.zeros((self.slots, 2, len(self.crowd.start))).transpose(2, 0, 1)

    def prepare(self, steps: int, drawn: bool) -> None:
        """Enumerate the outcomes of rounds with so many local steps.

        Raises:
            NotEvaluatedError: there are too many.
        """
        chances: list[Array] = []
        own = self.crowd
        for t, n in product(range(own.rounds), range(len(own.weights))):
            q, noise = own.participation[n], own.noise[n]
            if drawn and q is not None:
                self._bits[n, t, -1] = len(chances)
                chances.append(q)
            for i in range(steps) if noise is not None and noise[1] else ():
                self._bits[n, t, i] = len(chances)
                chances.append(self.ones / 2)
        if 2 ** len(chances) > MAX_OUTCOMES:
            raise NotEvaluatedError("too many outcomes")
        every = list(product((0, 1), repeat=len(chances)))
        self._signs = np.array(every, dtype=int).reshape(len(every), len(chances))
        out = np.repeat(self.ones, len(every), axis=1)
        for place, p in enumerate(chances):
            second = self._signs[:, place] == 1
            out = out * np.where(second[None], 1 - p, p)
        self.chances = out

    def at_sizes(self, wholes: dict[k.Var, int]) -> Many:
        """Return the same, other rounds of the same runs."""
        other = copy(self)
        other.crowd, other._memo = replace(self.crowd, wholes=wholes), {}
        return other

    # numbers

    def put(self, v: k.Var | k.ClientFamily, value: Array | list[Array]) -> None:
        """Change a parameter that no run contains."""
        table: dict[Any, Any] = (
            self.crowd.numbers if isinstance(v, k.Var) else self.crowd.families
        )
        table[v] = value
        for term in [term for term in self._memo if v in term.free]:
            del self._memo[term]
        runs = {key if isinstance(key, k.Term) else key[0] for key in self._rounds}
        if any(v in run.free for run in runs):
            self._rounds, self._memo, self.visited = {}, {}, {}

    def whole(self, value: Poly) -> Any:
        """Return the value of an index."""
        out: Any = 0
        for c, _, powers in _products(value):
            term = c
            for s, power in powers:
                term = term * self._index(s) ** power
            out = out + term
        return int(out)

    def _index(self, s: Any) -> Any:
        if s in self.at:
            return self.at[s]
        if s in self.crowd.wholes:
            return self.crowd.wholes[s]
        if isinstance(s, k.Total):
            return sum(self.whole(s.weight) for _ in self.range(s)) * self._like(s)
        raise NotEvaluatedError(f"{s} is no index")

    def number(self, value: Ratio | Poly) -> Array:
        """Return the value of a number, (models, outcomes) or (models, 1)."""
        found: Array = self._kept(value, self._number)
        return found

    def _kept(self, term: Any, make: Callable[[Any], Any]) -> Any:
        kept = self._memo.get(term)
        if kept is None:
            kept = self._memo[term] = _indices(term), {}
        indices, values = kept
        key = tuple([self.at.get(v) for v in indices])
        found = values.get(key)
        if found is None:
            found = values[key] = make(term)
        return found

    def constant(self, c: Fraction) -> Fraction | float:
        """Return a number, a float unless all is exact."""
        return c if self.crowd.exact else float(c)

    def _number(self, value: Ratio | Poly) -> Array:
        if isinstance(value, Ratio):
            top = self.number(value.numerator)
            for factor, power in value.denominator:
                top = top / self.number(factor) ** power
            return top
        exact = self.crowd.exact
        out: Any = self.none
        for c, rough, powers in _products(value):
            term: Any = c if exact else rough
            for s, power in powers:
                one = self._kept(s, self._symbol)
                term = term * (one if power == 1 else one**power)
            out = out + term
        found: Array = out
        return found

    def _symbol(self, s: Any) -> Any:
        own = self.crowd
        if s in self.at:
            return self.at[s] * self.ones
        if isinstance(s, k.Var):
            if s in own.wholes:
                return own.wholes[s] * self.ones
            if s in own.numbers:
                return own.numbers[s]
        if isinstance(s, k.Weight):
            return own.weights[self.at[s.client]]
        if isinstance(s, k.Odds):
            q = own.participation[self.at[s.client]]
            return 0 * self.ones if q is None else 1 / q - 1
        if isinstance(s, k.PerClient) and s.family in own.families:
            return own.families[s.family][self.at[s.client]]
        if isinstance(s, k.PerRound) and s.family in own.rates:
            return own.rates[s.family](self.whole(s.round))
        if isinstance(s, k.Draw):
            return self.drawn(self.at[s.client], self.whole(s.round))
        if isinstance(s, k.Before):
            one = (self.at[s.earlier], self.whole(s.earlier_step))
            two = (self.at[s.later], self.whole(s.later_step))
            return (own.order.index(one) < own.order.index(two)) * self.ones
        if isinstance(s, k.Total):
            return self.summed(s, lambda: self.number(s.weight), 0 * self.ones)
        raise NotEvaluatedError(f"no crowd has {s}")

    def summed(self, over: k.Closed, each: Callable[[], Array], zero: Array) -> Array:
        """Return the sum of what something is for each value of a bound variable."""
        return sum((each() for _ in self.range(over)), zero) * self._like(over)

    def _like(self, over: k.Closed) -> int:
        """Return how many values of a bound variable are like each one of `range`."""
        return self.crowd.copies if over.binder is k.CLIENTS else 1

    def range(self, closed: k.Closed) -> Iterator[Any]:
        """Yield each value of the bound variable, which it has meanwhile."""
        size, v = len(self.crowd.weights), closed.variable
        values: Any = range(size)
        if isinstance(closed.binder, k.Steps):
            values = range(self.whole(closed.binder.upper))
        elif closed.binder is k.NATURALS:
            values = LATE
        for value in values:
            self.at[v] = value
            yield value
        self.at.pop(v, None)

    def some(self, closed: k.Closed) -> Iterator[int]:
        """Yield the first, middle and last value of a bound variable, as `range`."""
        upper = 0
        if isinstance(closed.binder, k.Steps):
            upper = self.whole(closed.binder.upper)
        if upper <= SOME:
            yield from self.range(closed)
            return
        for value in (0, 1, upper // 2, upper - 1):
            self.at[closed.variable] = value
            yield value
        self.at.pop(closed.variable, None)

    # forms and vectors

    def form(self, lin: k.Lin) -> tuple[Array, Array]:
        """Return the value of a form and the sum of its terms' sizes, (models, 1)."""
        found: tuple[Array, Array] = self._kept(lin, self._form)
        return found

    def _form(self, lin: k.Lin) -> tuple[Array, Array]:
        out = size = self.none
        for atom, c in lin.coefficients.items():
            value = self._mean(self.atom(atom) * self.number(c))
            out, size = out + value, size + np.abs(value)
        return out, size

    def _mean(self, values: Array) -> Array:
        if values.shape[-1] == 1:
            return values
        found: Array = (values * self.chances).sum(-1, keepdims=True)
        return found

    def vector(self, u: k.Vec) -> Array:
        """Return the values of a vector, (models, outcomes, 2)."""
        out = 0 * self.crowd.start[:, None]
        for atom, c in u.coefficients.items():
            out = out + self.atom(atom) * self.number(c)[..., None]
        return out

    def function(self, function: k.Function) -> Shape:
        """Return the shape of a function."""
        if isinstance(function, k.Local):
            n: int = self.at[function.client]
            return self.crowd.functions[n]
        return self.mean if function is k.MEAN else self.crowd.named[function]  # type: ignore[index]

    def atom(self, atom: Any) -> Array:
        """Return the value of what a form or a vector is a combination of."""
        found: Array = self._kept(atom, self._value)
        return found

    def _value(self, atom: Any) -> Array:
        if atom is k.UNIT:
            return self.ones
        if isinstance(atom, k.WeightedSum):
            vectors = isinstance(atom, k.VecSum)
            empty = self.crowd.start[:, None] if vectors else self.ones
            return self.summed(atom, partial(self._weighed, atom, vectors), 0 * empty)
        if isinstance(atom, k.Inner):
            out = (self.atom(atom.left) * self.atom(atom.right)).sum(-1)
            found: Array = out.sum(-1, keepdims=True) if self.slots > 1 else out
            return found
        if isinstance(atom, k.Value):
            F, at = self.function(atom.function), self.vector(atom.at)
            return self._worth(F, at) if self.slots > 1 else F.value(at)
        if isinstance(atom, k.Gradient):
            F = self.function(atom.function)
            return self._gradient(F, self.vector(atom.at))
        if isinstance(atom, k.Point):
            return self._still(self.crowd.points[atom])
        if isinstance(atom, k.Star):
            if atom.function not in self.crowd.stars:
                raise NotEvaluatedError(f"no crowd has {atom}")
            return self._still(self.crowd.stars[atom.function])
        if isinstance(atom, k.Part):
            return self.block(atom.side, self.atom(atom.vector))
        if isinstance(atom, k.Iterate):
            return self.iterate(atom.run, self.whole(atom.round))
        if isinstance(atom, k.LocalPoint | k.Noise):
            n, t = self.at[atom.client], self.whole(atom.round)
            i, path = self.whole(atom.step), self.played(atom.run, t)[0][n]
            if isinstance(atom, k.LocalPoint):
                here: Array = path[min(i, len(path) - 1)]
                return here
            made = i < len(path) - 1
            return self.noise(n, t, i) if made else 0 * self.crowd.start[:, None]
        if isinstance(atom, k.Expected):
            return self._expected(atom)
        raise NotEvaluatedError(f"no crowd has {atom}")

    def _weighed(self, atom: k.WeightedSum, vectors: bool) -> Array:
        c = self.number(atom.weight)
        found: Array = self.atom(atom.body) * (c[..., None] if vectors else c)
        return found

    def _worth(self, F: Shape, x: Array) -> Array:
        """Return E F(x) for a parabola that mixes no coordinates."""
        out = F.curvature * (x * x).sum(-2) / 2 + F.linear * x[..., 0, :]
        found: Array = out.sum(-1, keepdims=True)
        return found

    def _gradient(self, F: Shape, x: Array) -> Array:
        if self.slots == 1:
            return F.gradient(x)
        found: Array = F.curvature[:, None] * x
        found[..., :1, :] += F.linear[:, None]
        return found + F.mixed[:, None] * x[..., ::-1] if F.mixed.any() else found

    def _expected(self, atom: k.Expected) -> Array:
        t = self.whole(atom.round)
        past = [
            place
            for (_, s, i), place in self._bits.items()
            if s < t and (i >= 0 or atom.run.drawn)
        ]
        values = np.broadcast_to(
            self.vector(atom.vector), (*self.chances.shape, 2)
        ).copy()
        keys: dict[tuple[int, ...], list[int]] = {}
        for place, row in enumerate(self._signs):
            keys.setdefault(tuple(row[past]), []).append(place)
        for places in keys.values():
            p = self.chances[:, places, None]
            mean = (values[:, places] * p).sum(1) / p.sum(1)
            values[:, places] = mean[:, None]
        return values

    def block(self, side: k.Side, x: Array) -> Array:
        """Return the block of a vector, the other one set to 0."""
        out = x.copy(order="K")
        out[..., 1 if side is k.Side.CLIENT else 0] = 0 * self.ones[0, 0]
        return out

    # runs, as the kernel plays them

    def noise(self, n: int, t: Any, i: int) -> Array:
        """Return the noise of a step that is made.

        Raises:
            NotEvaluatedError: the models end before it.
        """
        law = self.crowd.noise[n]
        if law is None:
            return 0 * self.crowd.start[:, None]
        value, coin = law
        if not coin:
            return value[:, None]
        if (n, t, i) not in self._bits:
            raise NotEvaluatedError("the models end before this round")
        sign = 1 - 2 * self._signs[:, self._bits[n, t, i]]
        found: Array = value[:, None] * sign[None, :, None]
        return found

    def drawn(self, n: int, t: Any) -> Array:
        """Return J_n(t).

        Raises:
            NotEvaluatedError: the models end before it.
        """
        q = self.crowd.participation[n]
        if q is None:
            return self.ones
        if (n, t, -1) not in self._bits:
            raise NotEvaluatedError("the models end before this round")
        return (1 - self._signs[:, self._bits[n, t, -1]])[None] / q

    def rate(self, rate: k.Rate, t: Index) -> Array:
        """Return the rate of a round."""
        outer, self.at = self.at, {k.ROUND: t}
        value = self.number(rate.body)
        self.at = outer
        return value

    def iterate(self, run: k.Run, t: Any) -> Array:
        """Return x(t)."""
        path = self._rounds.setdefault(run, [self._still(self.crowd.start[:, None])])
        for s in range(len(path) - 1, t):
            if isinstance(run, k.Descent):
                F, step = self.function(run.function), self.rate(run.rate, s)
                path.append(path[s] - self._gradient(F, path[s]) * step[..., None])
            else:
                path.append(self.played(run, s)[1])
        return path[t]  # type: ignore[no-any-return]

    def played(self, run: k.Split, t: int) -> tuple[list[list[Array]], Array]:
        """Return the local points of each client, and the next iterate."""
        key = (run, t)
        if key not in self._rounds:
            self._rounds[key] = self.play(run, t)
        return self._rounds[key]  # type: ignore[no-any-return]

    def play(self, run: k.Split, t: Any) -> tuple[list[list[Array]], Array]:
        """Play one round.

        Returns:
            The local points of each client, and the next iterate.
        """
        shared_server, own_crowd = run.kind.shared, self.crowd
        pace = {side: self.whole(run.pace(side).steps) for side in k.Side}
        steps = max(self.whole(run.steps(side)) for side in k.Side)
        clients, counted = range(len(own_crowd.weights)), run.kind is k.Kind.COUNTED
        x = self.iterate(run, t)
        visits = [(n, i) for i in range(steps) for n in clients]
        visits = list(own_crowd.order) if run.kind.visits else visits

        def speed(side: k.Side, i: int) -> Array:
            one = run.pace(side)
            late = t * pace[side] + i if isinstance(one, k.Stepwise) else t
            return self.rate(one.rate, late)

        still = 0 * self.ones[..., 0]

        def pace_at(i: int, side: k.Side) -> Array:
            alone = side is k.Side.CLIENT or not shared_server
            return speed(side, i)[..., 0] if alone and i < pace[side] else still

        speeds = [
            paired(*np.broadcast_arrays(*(pace_at(i, side) for side in k.Side)))
            for i in range(steps)
        ]
        draws = [self.drawn(n, t) if run.drawn else self.ones for n in clients]
        shares = [a * J for a, J in zip(own_crowd.weights, draws, strict=True)]
        points: list[list[Array]] = [[x] for _ in clients]
        for side in k.Side if counted and t else ():
            for n in clients if t % pace[side] else ():
                away = self.played(run, t - 1)[0][n][1] - x
                points[n][0] = points[n][0] + self.block(side, away)
        shared = seen = self.block(k.Side.SERVER, x)
        for n, i in visits:
            here = points[n][i]
            if shared_server:
                seen = shared if run.kind.visits or n == 0 else seen
                here = points[n][i] = self.block(k.Side.CLIENT, here) + seen
            g = self._gradient(own_crowd.functions[n], here) + self.noise(n, t, i)
            points[n].append(here - g * speeds[i][..., None, :])
            if shared_server:
                factor = draws[n] if run.kind is k.Kind.V2 else shares[n]
                moved = (speed(k.Side.SERVER, i) * factor)[..., None]
                shared = shared - self.block(k.Side.SERVER, g) * moved
        models = run.participants is k.Participants.MODELS
        out = 0 * x if models else x
        for n in clients:
            last = points[n][-1] if models else points[n][-1] - x
            out = out + last * shares[n][..., None]
        if shared_server:
            out = self.block(k.Side.CLIENT, out) + shared
            for path in points:
                path[-1] = self.block(k.Side.CLIENT, path[-1]) + shared
        return points, out
