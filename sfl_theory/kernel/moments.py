"""Long random runs on separable quadratics: means and second moments, enclosed.

Where every Hessian is diagonal and nothing bends, a round moves each coordinate by
``x -> a x + b`` with random a, b that do not depend on x and are drawn anew in every
round, so that ``E x' = E[a] E x + E[b]`` and
``E x'^2 = E[a^2] E x^2 + 2 E[ab] E x + E[b^2]``. These five means are polynomials in
the rate of the coordinate's side: a round is played once, with symbols for coordinates
and rate. The recursion is followed with intervals of integers, rounded outwards.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, cast

from . import terms as k
from .algebra import Exact, Ratio, Sort, ratio, require
from .conditions import meeting
from .hypotheses import Hypothesis
from .models import ZERO, Evaluation, Model, Random, Shape

MAX_ROUNDS = 1_000_000
UNIT = 1 << 128
"""Ends of intervals are multiples of 1/UNIT."""
Interval = tuple[int, int]
WHOLE: Interval = (UNIT, UNIT)
RATE = k.Var("$rate", Sort.NONNEGATIVE)
_AFFINE = k.WeightedSum | k.Inner | k.Value | k.Gradient | k.Star | k.Part | k.Iterate


def plus(*parts: Interval) -> Interval:
    """Return a sum of intervals."""
    return sum([low for low, _ in parts]), sum([high for _, high in parts])


def times(a: Interval, b: Interval) -> Interval:
    """Return a product of intervals, rounded outwards."""
    ends = (a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])
    return min(ends) // UNIT, -(-max(ends) // UNIT)


def around(value: Exact) -> Interval:
    """Return an interval that holds a number."""
    top, below = value.numerator * UNIT, value.denominator
    return top // below, -(-top // below)


Powers = tuple[Interval, ...]
"""A polynomial in the rate: intervals that hold its coefficients."""


def powers_of(number: Ratio) -> Powers:
    """Return a polynomial in `RATE` alone."""
    poly = number.poly()
    require(set(poly.parts) <= {RATE}, "%s has other symbols", poly)
    found = {powers.get(RATE, 0): c for c, powers in poly.products}
    return tuple(around(found.get(q, ZERO)) for q in range(max(found, default=0) + 1))


@lru_cache(maxsize=64)
def value_at(rate: Interval, powers: Powers) -> Interval:
    """Return an interval that holds a polynomial at every rate >= 0 of an interval."""
    require(rate[0] >= 0, "a rate is negative")
    low = high = 0
    for least, most in reversed(powers):
        low = low * rate[low < 0] // UNIT + least
        high = -(-high * rate[high > 0] // UNIT) + most
    return low, high


class AnyRate(Evaluation):
    """A round in which the learning rate is a symbol."""

    def rate(self, rate: k.Rate, t: int) -> Any:
        """Return the symbol."""
        return k.symbol(RATE)


class Enclosure(Evaluation):
    """Encloses forms that speak of one run's iterates in a model.

    Values are polynomials in the coordinates of one iterate, whose round is noted.
    """

    def __init__(self, e: Evaluation, run: k.Split) -> None:
        super().__init__(e.model, e.at)
        for F in self.model.functions:
            _separable(F)
        paces = run.client, run.server
        fits = all(type(p) is k.Pace for p in paces) and run.kind is not k.Kind.COUNTED
        require(fits, "rates of rounds are needed")
        self.run, self._rounds = run, set[int]()
        names = (f"${p}" for p in range(len(self.model.start)))
        self._x = [k.Var(name, Sort.NONNEGATIVE) for name in names]
        self._symbols = tuple(map(k.symbol, self._x))
        self._means = self._of_a_round(max(self.whole_number(p.steps) for p in paces))
        start = self.model.start
        first, squares = ([around(x**d) for x in start] for d in (1, 2))
        self._moments = [(first, squares)]

    def function(self, function: k.Function) -> Shape:
        """Return a function of the statement; a named one is none of the clients'."""
        return _separable(super().function(function))

    def iterate(self, run: k.Run, t: int) -> Any:
        """Return the symbols of the coordinates."""
        require(run is self.run, "another run")
        self._rounds.add(t)
        return [self._symbols]

    def _atom(self, atom: Any) -> Random:
        fits = isinstance(atom, _AFFINE)
        require(fits or atom is k.UNIT, "%s is not affine in an iterate", atom)
        return super()._atom(atom)

    def enclosed(self, lin: k.Lin) -> Interval:
        """Return an interval that holds the value of a form."""
        items = lin.coefficients.items()
        terms = ((around(self.number(c)), self._enclosed(atom)) for atom, c in items)
        return plus(*(times(c, value) for c, value in terms))

    def _enclosed(self, atom: k.LinAtom) -> Interval:
        if isinstance(atom, k.LinSum):
            inside = atom.inside()
            return plus(*(self.enclosed(inside) for _ in self.range(atom)))
        self._rounds.clear()
        ((value,),) = self._atom(atom)
        require(len(self._rounds) <= 1, "iterates of two rounds in one product")
        moments, out = self._at(max(self._rounds, default=0)), (0, 0)
        for c, powers in ratio(value).poly().products:
            power = sum(powers.values())
            require(len(powers) < 2 and power <= 2, "%s is no second moment", atom)
            of = [moments[power - 1][self._x.index(cast(k.Var, x))] for x in powers]
            out = plus(out, times(around(c), of[0] if of else WHOLE))
        return out

    def _at(self, t: int) -> tuple[list[Interval], list[Interval]]:
        """Return first and second moments of x(t)."""
        require(t <= MAX_ROUNDS, "a run of more than %s rounds", MAX_ROUNDS)
        client, size = self.model.client_size, len(self._x)
        while len(self._moments) <= t:
            s, (first, squares) = len(self._moments) - 1, self._moments[-1]
            now, then = [(0, 0)] * size, [(0, 0)] * size
            for p, means in enumerate(self._means):
                if not any(squares[p]) and not any(map(any, means[-1])):
                    continue  # E x^2 = E b^2 = 0: the coordinate stays 0
                rate = self.rate(self.run.pace([*k.Side][p >= client]).rate, s)
                a, b, aa, ab, bb = map(partial(value_at, around(rate)), means)
                now[p] = plus(times(a, first[p]), b)
                mixed = times(plus(ab, ab), first[p])
                low, high = plus(times(aa, squares[p]), mixed, bb)
                then[p] = max(low, 0), high
            self._moments.append((now, then))
        return self._moments[t]

    def _of_a_round(self, steps: int) -> list[list[Powers]]:
        """Return E a, E b, E a^2, E ab, E b^2 of every coordinate, x -> a x + b."""
        start: Any = self._symbols
        e = AnyRate(replace(self.model, start=start, rounds=1), self.at)
        e.prepare(steps, self.run.drawn)
        after: Any = e.iterate(self.run, 1)
        out = []
        for p, x in enumerate(self._x):
            means = [ratio(0)] * 5
            for chance, y in zip(e._chances, after, strict=True):
                b = k.number_at(ratio(y[p]), {x: ratio(0)})
                a = k.number_at(ratio(y[p]), {x: ratio(1)}) - b
                affine = not a * self._symbols[p] + b - y[p]
                require(affine, "a round is not affine")
                terms = (a, b, a * a, a * b, b * b)
                means = [m + z * chance for m, z in zip(means, terms, strict=True)]
            out.append(list(map(powers_of, means)))
        return out


def _separable(F: Shape) -> Shape:
    """Return a function of which all is in the Hessian's diagonal and the slope."""
    mixed = any(z for p, row in enumerate(F.hessian) for z in row[:p])
    require(not F.bends and not mixed, "not a separable quadratic")
    return F


def evaluated(
    model: Model, hypotheses: frozenset[Hypothesis], left: k.Lin, right: k.Lin
) -> tuple[Fraction, Fraction]:
    """Return both sides in a model that meets the hypotheses, as `Claim.sides`."""
    e = meeting(model, hypotheses, left, right)
    if not model.long:
        return e.form(left), e.form(right)
    runs = k.runs_of(left, right, *hypotheses)
    (run,) = (one for one in runs if isinstance(one, k.Split))
    both = Enclosure(e, run)
    (low, high), (least, most) = both.enclosed(left), both.enclosed(right)
    require(low > most or high <= least, "the enclosures of the sides overlap")
    ends = (low, most) if low > most else (high, least)
    return Fraction(ends[0], UNIT), Fraction(ends[1], UNIT)
