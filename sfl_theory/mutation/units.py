"""Other units of length and of function values, and what else a statement leaves free.

A theorem holds in metres and in feet. Where a change multiplies a summand by a number
that has a unit, other units make the summand as small as one likes and leave the rest
as it was: the change breaks the statement if leaving the summand out does. Which
parameters change with the units is not said anywhere; it is what keeps every sum in the
statement a sum of like things: a system of linear equations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import lcm
from typing import Any

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Poly, Ratio, ratio
from sfl_theory.mutation.changes import Neighbour
from sfl_theory.proofs import export
from sfl_theory.proofs.export import ModelData, Statement

LENGTH, VALUE = "length", "value"
Unit = dict[Any, Fraction]
"""Powers of the units of length, of values and of parameters."""
Scales = dict[Any, int]
"""For length, values and parameters the power of a number with which they grow."""


def plus(one: Unit, two: Unit, times: Fraction | int = 1) -> Unit:
    """Return the unit of a product with a power."""
    out = dict(one)
    for key, power in two.items():
        out[key] = out.get(key, Fraction(0)) + power * times
    return {key: power for key, power in out.items() if power}


def _power(length: int, value: int) -> Unit:
    return plus({}, {LENGTH: Fraction(length), VALUE: Fraction(value)})


X, SLOPE, CURVE, WORTH = _power(1, 0), _power(-1, 1), _power(-2, 1), _power(0, 1)
PACE, SQUARE = _power(2, -1), _power(-2, 2)


class Units:
    """The units of terms, and the equations between those of parameters."""

    def __init__(self) -> None:
        self.equations: set[frozenset[tuple[Any, Fraction]]] = set()
        self._known: dict[Any, Unit] = {}

    def same(self, one: Unit, two: Unit) -> None:
        """Demand that two units are the same."""
        apart = plus(one, two, -1)
        if apart:
            self.equations.add(frozenset(apart.items()))

    def each(self, number: Ratio, unit: Unit) -> None:
        """Demand a unit of a number; 0 has any."""
        if number:
            self.same(self.of(number), unit)

    def of(self, term: Any) -> Unit:
        """Return the unit of a number, a form or a vector."""
        if term not in self._known:
            self._known[term] = self._of(term)
        return self._known[term]

    def _all(self, parts: Iterable[Unit]) -> Unit:
        first: Unit | None = None
        for one in parts:
            if first is None:
                first = one
            else:
                self.same(first, one)
        return first or {}

    def _of(self, term: Any) -> Unit:
        if isinstance(term, Poly):
            return self._all(
                self._product(powers.items()) for _, powers in term.products
            )
        if isinstance(term, Ratio):
            below = self._product(term.denominator)
            return plus(self.of(term.numerator), below, -1)
        if isinstance(term, k.Combination):
            terms = term.coefficients.items()
            return self._all(plus(self.of(atom), self.of(c)) for atom, c in terms)
        if isinstance(term, k.Total):
            return self.of(term.weight)
        if isinstance(term, k.WeightedSum):
            return plus(self.of(term.weight), self.of(term.body))
        if isinstance(term, k.Inner):
            return plus(self.of(term.left), self.of(term.right))
        if isinstance(term, k.Value):
            self.same(self.of(term.at), X)
            return WORTH
        if isinstance(term, k.Gradient):
            self.same(self.of(term.at), X)
            return SLOPE
        if isinstance(term, k.Part | k.Expected):
            return self.of(term.vector)
        if isinstance(term, k.Noise):
            return SLOPE
        if isinstance(term, k.VecAtom):
            return X
        if isinstance(term, k.PerClient | k.PerRound):
            return {term.family: Fraction(1)}
        whole = not isinstance(term, k.Var) or term.sort.whole
        return {} if whole else {term: Fraction(1)}

    def _product(self, powers: Iterable[tuple[Any, int]]) -> Unit:
        out: Unit = {}
        for symbol, power in powers:
            out = plus(out, self.of(symbol), power)
        return out

    def read(self, one: h.Hypothesis) -> None:
        """Demand that a hypothesis means the same in all units."""
        while isinstance(one, h.Every):
            one = one.body
        if isinstance(one, h.Holds):
            self.of(one.form)
        elif isinstance(one, h.Smooth | h.Majorised):
            self.each(one.constant, CURVE)
        elif isinstance(one, h.Convex):
            self.each(one.modulus, CURVE)
        elif isinstance(one, h.Heterogeneity | h.Variance | h.BoundedGradients):
            self.each(one.bound, SQUARE)

    def play(self, run: k.Run) -> None:
        """Demand that a step is a step in all units."""
        paces = [run] if isinstance(run, k.Descent) else [*map(run.pace, k.Side)]
        for pace in paces:
            self.each(pace.rate.body, PACE)


def scales(one: Statement) -> list[Scales]:
    """Return which changes of units leave a statement what it is, a basis of them."""
    units = Units()
    left, right = units.of(one.left), units.of(one.right)
    if one.left and one.right:
        units.same(left, right)
    for assumed in one.hypotheses:
        units.read(assumed)
    for run in k.runs_of(one.left, one.right, *one.hypotheses):
        units.play(run)
    free = {v for part in (one.left, one.right, *one.hypotheses) for v in part.free}
    reals = {v for v in free if isinstance(v, k.Var) and not v.sort.whole}
    families = {v for v in free if isinstance(v, k.Family)}
    unknown = [LENGTH, VALUE, *sorted(reals | families, key=str)]
    return _kernel(unknown, [dict(equation) for equation in units.equations])


def _kernel(unknown: Sequence[Any], equations: list[Unit]) -> list[Scales]:
    """Return whole numbers that solve linear equations, a basis."""
    solved: dict[Any, Unit] = {}
    for equation in equations:
        rest = dict(equation)
        for key, by in solved.items():
            if key in rest:
                rest = plus({a: c for a, c in rest.items() if a != key}, by, rest[key])
        if not rest:
            continue
        key = max(rest, key=str)
        lead = rest.pop(key)
        own = {a: -c / lead for a, c in rest.items()}
        for other, by in solved.items():
            if key in by:
                c = by[key]
                solved[other] = plus({a: x for a, x in by.items() if a != key}, own, c)
        solved[key] = own
    out = []
    for free in unknown:
        if free in solved:
            continue
        found = {free: Fraction(1)}
        found |= {key: by[free] for key, by in solved.items() if free in by}
        below = lcm(*(value.denominator for value in found.values()))
        out.append({key: int(value * below) for key, value in found.items()})
    return out


def power(factor: Ratio, by: Scales) -> Fraction:
    """Return with which power of the units a number grows."""
    return sum(
        (c * by.get(key, 0) for key, c in Units().of(factor).items()), Fraction(0)
    )


def with_units(around: Sequence[Neighbour]) -> dict[int, Scales]:
    """Return where a summand is multiplied by a number with a unit, and the units.

    Such a neighbour is true in all units or in none, so it follows from nothing unless
    the summand may be left out.

    Args:
        around: the neighbours of one statement.
    """
    every = scales(around[0].whole) if around else []
    out = {}
    for place, one in enumerate(around):
        if one.factor is not None and one.factor.free:
            factor = one.factor
            fits = [by for by in every if power(factor, by)]
            if fits:
                out[place] = min(fits, key=lambda by: abs(power(factor, by)))
    return out


def scaled(data: ModelData, by: Scales, base: Fraction) -> ModelData:
    """Return a model in other units.

    Args:
        data: the model.
        by: one of `scales`.
        base: the number whose powers change it.
    """

    def grown(unit: Unit) -> Fraction:
        exponent = sum((c * by.get(key, 0) for key, c in unit.items()), Fraction(0))
        return base ** int(exponent)

    def times(unit: Unit) -> Callable[[export.Vector], export.Vector]:
        return lambda x: tuple(grown(unit) * entry for entry in x)

    length, curve = grown(X), grown(CURVE)

    def shape(F: export.Shape) -> export.Shape:
        hessian, linear, bends = F
        return (
            tuple(map(times(CURVE), hessian)),
            times(SLOPE)(linear),
            tuple((w * curve, u, c * length, r * length) for w, u, c, r in bends),
        )

    def own(v: Any) -> Fraction:
        return base ** by.get(v, 0)

    return replace(
        data,
        start=times(X)(data.start),
        numbers={v: x * own(v) for v, x in data.numbers.items()},
        functions=tuple(map(shape, data.functions)),
        noise=tuple(
            tuple((p, times(SLOPE)(x), times(SLOPE)(y)) for p, x, y in law)
            for law in data.noise
        ),
        families={f: tuple(x * own(f) for x in xs) for f, xs in data.families.items()},
        rates={r: k.Rate(x.body * ratio(own(r))) for r, x in data.rates.items()},
        named={v: shape(F) for v, F in data.named.items()},
        points={v: tuple(map(times(X), xs)) for v, xs in data.points.items()},
        stars={f: times(X)(x) for f, x in data.stars.items()},
        box=tuple((a * length, b * length) for a, b in data.box),
    )
