"""Small federations at random, with constants as tight as their functions allow.

What a statement calls S, mu, sigma2, eps2, G2 gets the exact value that the sampled
functions and noise have, or at times a smaller one, so that a hypothesis fails: such
models break neighbours that left it out. Rates are pushed against the statement's own
conditions.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Rejected, Sort, ratio
from sfl_theory.kernel.conditions import holds, spread
from sfl_theory.kernel.models import Evaluation, Model, NoiseLaw
from sfl_theory.kernel.terms import subterms
from sfl_theory.models.federation import coin, huber, parabola, still
from sfl_theory.proofs.export import ModelData, Shape, Statement, Vector, model_of

MAX_BITS = 5
"""Random bits of noise in a model."""
ZERO, ONE = Fraction(0), Fraction(1)
FINE = (Fraction(2), Fraction(4, 3), Fraction(10, 9), Fraction(30, 29))
"""Factors by which a rate is pushed against the conditions."""


class Sampler:
    """Makes models for one statement."""

    def __init__(self, statement: Statement, rng: random.Random) -> None:
        self.rng = rng
        sides = (statement.left, statement.right)
        self.free = {v for side in sides for v in side.free}
        self.free |= {v for one in statement.hypotheses for v in one.free}
        inside = subterms(*sides, *statement.hypotheses)
        self.splits = [one for one in inside if isinstance(one, k.Split)]
        self.stars = {
            one.function for one in inside if isinstance(one, k.Star | h.Minimiser)
        }
        self.kinds = {type(_opened(one)) for one in statement.hypotheses}
        self.conditions = [one for one in statement.hypotheses if _numeric(one)]
        self.tied = dict(map(_constant, statement.hypotheses))

    def model(self) -> Model | None:
        """Return a model, or None where the dice fell badly."""
        rng = self.rng
        clients = rng.choice([1, 1, 2, 2, 2, 3])
        self.unit = Fraction(rng.choice([1, 1, 1, 8, 64]), rng.choice([1, 1, 1, 8, 64]))
        self.length = Fraction(rng.choice([1, 1, 16]), rng.choice([1, 1, 16]))
        self.long = rng.random() < 0.3
        shapes, constants = self._functions(clients)
        weights = self._weights(clients)
        noisy = bool(self.splits) and not self.long and rng.random() < 0.6
        numbers = {v: self._number(v) for v in self.free if isinstance(v, k.Var)}
        bits = MAX_BITS // max(1, self._steps(numbers))
        laws = tuple(self._law(noisy and n < bits) for n in range(clients))
        second = tuple(NoiseLaw(law).second_moment() for law in laws)
        data = ModelData(
            start=self._vector(),
            numbers=numbers,
            functions=shapes,
            weights=weights,
            participation=tuple(self._chance(n) for n in range(clients)),
            noise=laws,
            rounds=max(1, min(2, self._rounds(numbers))),
            families={
                v: second if v.name.startswith("sigma") else self._family(clients)
                for v in self.free
                if isinstance(v, k.ClientFamily)
            },
            rates={
                v: k.Rate(ratio(Fraction(1, 64)))
                for v in self.free
                if isinstance(v, k.RoundFamily)
            },
            named={
                v: self._functions(1)[0][0]
                for v in self.free
                if isinstance(v, k.NamedFunction)
            },
            points={
                v: tuple(self._vector() for _ in range(rng.choice([1, 1, 2])))
                for v in self.free
                if isinstance(v, k.Point)
            },
        )
        constants |= {h.BoundedGradients: self._steepest(data, second)}
        self._tie(data, constants)
        if not self._push(data):
            return None
        data = replace(data, order=self._order(data), stars=self._stars(data))
        try:
            return model_of(data)
        except Rejected:
            return None

    # parts

    def _vector(self) -> Vector:
        ends = (self.rng.randint(-2, 2), self.rng.randint(-2, 2))
        return (ends[0] * self.length, ends[1] * self.length)

    def _steps(self, numbers: Mapping[k.Var, Fraction]) -> int:
        """Return how many noises of a client a model may have to enumerate."""
        names = {v.name: int(value) for v, value in numbers.items()}
        tau = max(names.get("tau", 1), names.get("tau_server", 1)) + names.get("d", 0)
        return tau * max(1, self._rounds(numbers))

    def _rounds(self, numbers: Mapping[k.Var, Fraction]) -> int:
        names = {v.name: int(value) for v, value in numbers.items()}
        return max(names.get("T", 1), names.get("t", 0) + 1)

    def _weights(self, clients: int) -> Vector:
        raw = [self.rng.choice([1, 1, 2, 9]) for _ in range(clients)]
        return tuple(Fraction(one, sum(raw)) for one in raw)

    def _chance(self, n: int) -> Fraction:
        drawn = n < 2 and not self.long and any(run.drawn for run in self.splits)
        return self.rng.choice([ONE, Fraction(1, 2), Fraction(1, 4)]) if drawn else ONE

    def _law(self, noisy: bool) -> tuple[tuple[Fraction, Vector, Vector], ...]:
        return coin(*self._vector()) if noisy and self.rng.random() < 0.8 else still(2)

    def _number(self, v: k.Var) -> Fraction:
        if v.sort is Sort.NATURAL:
            return Fraction(self.rng.choice([0, 0, 0, 1]))
        if v.sort is Sort.COUNT:
            return Fraction(self.rng.choice([1, 4, 12] if self.long else [1, 1, 2]))
        some = [Fraction(1, 64), Fraction(1, 4), ONE, Fraction(4), Fraction(64)]
        return self.rng.choice(some + [ZERO] * (v.sort is Sort.NONNEGATIVE))

    def _family(self, clients: int) -> Vector:
        return tuple(Fraction(self.rng.choice([0, 1, 4])) for _ in range(clients))

    def _functions(
        self, clients: int
    ) -> tuple[tuple[Shape, ...], dict[type[h.Hypothesis], Fraction]]:
        """Return functions and the exact constants that they have."""
        rng, same = self.rng, h.Heterogeneity in self.kinds
        bounded = h.BoundedGradients in self.kinds and rng.random() < 0.7
        convex = h.Convex in self.kinds
        high = self.unit
        low = high * rng.choice([1, 1, 0] if convex else [1, 0, 0, -1])
        shapes, tops, lows = [], [], []
        for _ in range(clients):
            top = high if same else high * rng.choice([1, 2, 4]) / 4
            centre = self._vector()
            if bounded:
                side = (ONE, ZERO) if rng.random() < 0.5 else (ZERO, ONE)
                width = self.length / rng.choice([1, 4])
                shapes.append(huber(side, centre[0], width, top))
                lows.append(ZERO)
            else:
                bottom = low if same else min(low, top)
                shape = parabola(1, centre)
                rows = ((top, ZERO), (ZERO, bottom))
                if rng.random() < 0.5:
                    rows = ((bottom, ZERO), (ZERO, top))
                linear = tuple(-row[p] * centre[p] for p, row in enumerate(rows))
                shapes.append((rows, linear, shape[2]))
                lows.append(bottom)
            tops.append(top)
        lowest, highest = min(lows), max(tops)
        constants: dict[type[h.Hypothesis], Fraction] = {
            h.Smooth: max(highest, -lowest),
            h.Majorised: highest,
            h.Convex: max(lowest, ZERO),
        }
        return tuple(shapes), constants

    def _steepest(self, data: ModelData, second: Vector) -> Fraction:
        out = ZERO
        for (_, linear, bends), noise in zip(data.functions, second, strict=True):
            arms = [abs(w * width) for w, _, _, width in bends]
            length = sum((z * z for z in linear), ZERO)
            out = max(out, length + sum((a * a for a in arms), ZERO) + noise)
        return out

    def _tie(
        self, data: ModelData, constants: Mapping[type[h.Hypothesis], Fraction]
    ) -> None:
        """Give constants of hypotheses their values; at times one too small."""
        spoilt = self.rng.choice([None, None, *self.tied])
        e = None
        for kind, bound in self.tied.items():
            value = constants.get(kind)
            if kind is h.Heterogeneity:
                e = Evaluation(model_of(replace(data, numbers={})))
                value = spread(e)
            if value is None or bound is None:
                continue
            if kind is spoilt:
                value = value / self.rng.choice([2, 8, 64])
            _assign(data.numbers, bound, value)
        if h.Variance is spoilt:
            for family, values in data.families.items():
                data.families[family] = tuple(v / 4 for v in values)

    def _push(self, data: ModelData) -> bool:
        """Return whether rates were found that lie at the conditions' edge."""
        if not self.conditions:
            return True
        loose = [v for v in data.numbers if v.name.startswith(("eta", "alpha"))]
        if not data.rates and not loose:
            return True
        target = 1 / (4096 * max(self.unit, 1 / self.unit))

        def met(rate: Fraction) -> bool:
            rates = {v: k.Rate(ratio(rate)) for v in data.rates}
            numbers = data.numbers | dict.fromkeys(loose, rate)
            now = replace(data, rates=rates, numbers=numbers)
            try:
                e = Evaluation(model_of(now))
                return all(holds(e, one) for one in self.conditions)
            except Rejected:
                return False

        if not met(target):
            return False
        for factor in FINE:
            while target < 64 and met(target * factor):
                target *= factor
        if self.rng.random() < 0.25:
            target *= self.rng.choice([Fraction(1, 4), Fraction(3, 2), Fraction(2)])
        data.rates.update(dict.fromkeys(data.rates, k.Rate(ratio(target))))
        data.numbers.update(dict.fromkeys(loose, target))
        return True

    def _order(self, data: ModelData) -> tuple[tuple[int, int], ...]:
        if not any(run.kind.visits for run in self.splits):
            return ()
        e = Evaluation(model_of(data))
        steps = max(e.whole_number(run.server.steps) for run in self.splits)
        visits = [n for n in range(len(data.weights)) for _ in range(steps)]
        self.rng.shuffle(visits)
        seen = dict.fromkeys(visits, 0)
        order = []
        for n in visits:
            order.append((n, seen[n]))
            seen[n] += 1
        return tuple(order)

    def _stars(self, data: ModelData) -> dict[k.Function, Vector]:
        whole = model_of(data).whole()
        stars: dict[k.Function, Vector] = {}
        for function in self.stars:
            hessian, linear = whole.hessian, whole.linear
            if isinstance(function, k.NamedFunction):
                hessian, linear, _ = data.named[function]
            curved = hessian[0][0] and hessian[1][1]
            at = self._vector()
            if curved and not whole.bends:
                at = (-linear[0] / hessian[0][0], -linear[1] / hessian[1][1])
            elif whole.bends:
                at = _flat(whole.gradient, at)
            stars[function] = at
        return stars


def _flat(gradient: Callable[[Vector], Vector], start: Vector) -> Vector:
    """Return a point on a coarse grid where a gradient vanishes, if there is one."""
    grid = [Fraction(p, 2) for p in range(-8, 9)]
    for point in ((p, q) for p in grid for q in grid):
        if not any(gradient(point)):
            return point
    return start


def _opened(one: h.Hypothesis) -> h.Hypothesis:
    while isinstance(one, h.Every):
        one = one.body
    return one


def _numeric(one: h.Hypothesis) -> bool:
    body = _opened(one)
    return isinstance(body, h.Holds) and not body.form.coefficients.keys() - {k.UNIT}


def _constant(one: h.Hypothesis) -> tuple[type[h.Hypothesis], Ratio | None]:
    """Return the kind of a hypothesis and the constant that it names."""
    body = _opened(one)
    numbers = [part for part in body.parts if isinstance(part, Ratio)]
    return type(body), numbers[0] if numbers else None


def _assign(numbers: dict[k.Var, Fraction], bound: Ratio, value: Fraction) -> None:
    """Give a parameter the value that makes a bound equal to it, where one can."""
    own = [v for v in bound.numerator.symbols() if isinstance(v, k.Var)]
    if len(own) == 1 and bound == k.symbol(own[0]):
        if value > 0 or own[0].sort is Sort.NONNEGATIVE:
            numbers[own[0]] = max(value, ZERO)
    elif len(own) == 2:  # S = mu + s
        first, second = sorted(own, key=lambda v: v.sort is Sort.NONNEGATIVE)
        if second.sort is Sort.NONNEGATIVE and value >= numbers[first]:
            numbers[second] = value - numbers[first]
