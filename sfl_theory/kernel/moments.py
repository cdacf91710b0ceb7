"""Long random runs on separable quadratics: means and second moments, enclosed.

Where every Hessian is diagonal and nothing bends, a round moves each coordinate by
``x -> a x + b`` with random a, b that do not depend on x and are drawn anew in every
round, so that ``E x' = E[a] E x + E[b]`` and
``E x'^2 = E[a^2] E x^2 + 2 E[ab] E x + E[b^2]``. In the rate of the coordinate's side
these five means are polynomials, of twice the degree of the number of steps: they are
interpolated from rounds that the model plays at a few rates, so a round is what
`models` plays. The recursion is followed with integers that are rounded outwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import lcm

from . import terms as k
from .algebra import Poly, Rejected, ratio, require
from .hypotheses import Hypothesis
from .models import ONE, ZERO, Evaluation, Model, Vector, known, meeting, runs_of

MAX_ROUNDS = 1_000_000
UNIT = 1 << 128
"""Ends of intervals are multiples of 1/UNIT."""
Interval = tuple[int, int]
WHOLE: Interval = (UNIT, UNIT)
Means = tuple[Fraction, Fraction, Fraction, Fraction, Fraction]


def outwards(low: Fraction, high: Fraction) -> Interval:
    """Return an interval of multiples of 1/UNIT around an interval."""
    top, below = low.numerator * UNIT, high.numerator * UNIT
    return top // low.denominator, -(-below // high.denominator)


def times(c: Fraction, of: Interval) -> Interval:
    """Return an interval times a number, rounded outwards."""
    return scaled((c.numerator, c.denominator), of)


def plus(*parts: Interval) -> Interval:
    """Return a sum of intervals."""
    return sum(low for low, _ in parts), sum(high for _, high in parts)


def scaled(c: tuple[int, int], of: Interval) -> Interval:
    """Return an interval times c[0]/c[1], c[1] > 0, rounded outwards."""
    one, two = c[0] * of[0], c[0] * of[1]
    return min(one, two) // c[1], -(-max(one, two) // c[1])


@dataclass(frozen=True)
class Powers:
    """A polynomial in one number: integers over a common denominator."""

    tops: tuple[int, ...]
    below: int

    @staticmethod
    def over(coefficients: Sequence[Fraction]) -> Powers:
        """Return the polynomial with these coefficients, the constant first."""
        below = lcm(*(c.denominator for c in coefficients))
        return Powers(tuple(int(c * below) for c in coefficients), below)

    @staticmethod
    def of(poly: Poly) -> Powers:
        """Return a polynomial in the round alone.

        Raises:
            Rejected: another symbol occurs.
        """
        require(poly.symbols() <= {k.ROUND}, "%s has other parameters", poly)
        found = {powers.get(k.ROUND, 0): c for c, powers in poly.products()}
        return Powers.over([
            found.get(q, ZERO) for q in range(max(found, default=0) + 1)
        ])

    @staticmethod
    def through(nodes: list[Fraction], values: Sequence[Fraction]) -> Powers:
        """Return the polynomial through these points, by Newton's differences."""
        table = list(values)
        for order in range(1, len(nodes)):
            for q in range(len(nodes) - 1, order - 1, -1):
                table[q] = (table[q] - table[q - 1]) / (nodes[q] - nodes[q - order])
        out = [ZERO] * len(nodes)
        for value, node in zip(reversed(table), reversed(nodes), strict=True):
            shifted = [ZERO, *out[:-1]]
            out = [b - node * a for a, b in zip(out, shifted, strict=True)]
            out[0] += value
        while len(out) > 1 and not out[-1]:
            out.pop()
        return Powers.over(out)

    def at(self, r: Fraction) -> tuple[int, int]:
        """Return numerator and denominator of the value at r."""
        out, power = 0, 1
        for top in reversed(self.tops):
            out = out * r.numerator + top * power
            power *= r.denominator
        return out, self.below * (power // r.denominator)


@dataclass(frozen=True)
class Affine:
    """A vector ``scale * x(t) + shift``, coordinate by coordinate."""

    scale: Vector
    shift: Vector
    round: int | None

    def mapped(self, diagonal: Sequence[Fraction], linear: Vector) -> Affine:
        """Return the vector times a diagonal matrix, plus a vector."""
        scale = tuple(h * a for h, a in zip(diagonal, self.scale, strict=True))
        moved = (h * b for h, b in zip(diagonal, self.shift, strict=True))
        shift = tuple(b + c for b, c in zip(moved, linear, strict=True))
        return Affine(scale, shift, self.round)


class Enclosure:
    """Encloses forms that speak of one run's iterates in a model."""

    def __init__(self, e: Evaluation, run: k.Split) -> None:
        """Refuse a model whose coordinates are not independent recursions.

        Raises:
            Rejected: a function bends or mixes coordinates.
        """
        self.e, self.run, self.size = e, run, len(e.model.start)
        for F in e.model.functions:
            mixed = any(F.hessian[p][q] for p in range(self.size) for q in range(p))
            require(not F.bends and not mixed, "not a separable quadratic")
        self._means = cache(self._interpolated)
        self._rates = cache(self._closed_rate)
        first = [outwards(x, x) for x in e.model.start]
        squares = [outwards(x * x, x * x) for x in e.model.start]
        self._moments = [(first, squares)]

    def form(self, lin: k.Lin) -> Interval:
        """Return an interval that holds the value of a form."""
        parts = (
            times(self.e.number(c), self._atom(atom))
            for atom, c in lin.coefficients.items()
        )
        return plus((0, 0), *parts)

    def _atom(self, atom: k.LinAtom) -> Interval:
        if isinstance(atom, k.Inner):
            u, v = self._vector(k.vec(atom.left)), self._vector(k.vec(atom.right))
            return self._product(u, v)
        if isinstance(atom, k.Value):
            F, u = self.e.function(atom.function), self._vector(atom.at)
            halves = [F.hessian[p][p] / 2 for p in range(self.size)]
            return self._product(u, u.mapped(halves, F.linear))
        if isinstance(atom, k.LinSum):
            out = (0, 0)
            for _ in self.e.range(atom):
                of = self.e.number(atom.weight)
                out = plus(out, times(of, self._atom(atom.body)))
            return out
        return WHOLE

    def _vector(self, vector: k.Vec) -> Affine:
        scale = shift = (ZERO,) * self.size
        rounds: set[int | None] = set()
        for atom, c in vector.coefficients.items():
            one, factor = self._affine(atom), self.e.number(c)
            scale = _added(scale, one.scale, factor)
            shift = _added(shift, one.shift, factor)
            rounds |= {one.round} - {None}
        require(len(rounds) <= 1, "iterates of two rounds in one product")
        return Affine(scale, shift, next(iter(rounds), None))

    def _affine(self, atom: k.VecAtom) -> Affine:
        zero = (ZERO,) * self.size
        if isinstance(atom, k.Star):
            return Affine(zero, known(self.e.model.stars, atom.function), None)
        if isinstance(atom, k.Iterate):
            require(atom.run is self.run, "another run")
            return Affine((ONE,) * self.size, zero, self.e.whole_number(atom.round))
        if isinstance(atom, k.Part):
            own = [ONE * (self._side(p) is atom.side) for p in range(self.size)]
            return self._affine(atom.vector).mapped(own, zero)
        if not isinstance(atom, k.Gradient):
            raise Rejected(f"{atom} is not affine in an iterate")
        F, u = self.e.function(atom.function), self._vector(atom.at)
        return u.mapped([F.hessian[p][p] for p in range(self.size)], F.linear)

    def _side(self, p: int) -> k.Side:
        return k.Side.CLIENT if p < self.e.model.client_size else k.Side.SERVER

    def _product(self, u: Affine, v: Affine) -> Interval:
        """Return E<u, v>."""
        rounds = {u.round, v.round} - {None}
        require(len(rounds) <= 1, "iterates of two rounds in one product")
        out, t = (0, 0), next(iter(rounds), None)
        first, squares = self._at(t) if t is not None else self._at(0)
        for p in range(self.size):
            a, b, c, d = u.scale[p], u.shift[p], v.scale[p], v.shift[p]
            out = plus(
                out,
                times(a * c, squares[p]),
                times(a * d + b * c, first[p]),
                outwards(b * d, b * d),
            )
        return out

    # the recursion

    def _at(self, t: int) -> tuple[list[Interval], list[Interval]]:
        """Return first and second moments of x(t)."""
        require(t <= MAX_ROUNDS, "a run of more than %s rounds", MAX_ROUNDS)
        while len(self._moments) <= t:
            first, squares = self._moments[-1]
            rates = {side: self._rate(side, len(self._moments) - 1) for side in k.Side}
            now, then = list[Interval](), list[Interval]()
            for p in range(self.size):
                r = rates[self._side(p)]
                a, b, aa, ab, bb = (mean.at(r) for mean in self._means(p))
                now.append(plus(scaled(a, first[p]), scaled(b, WHOLE)))
                mixed = scaled((2 * ab[0], ab[1]), first[p])
                low, high = plus(scaled(aa, squares[p]), mixed, scaled(bb, WHOLE))
                then.append((max(low, 0), high))
            self._moments.append((now, then))
        return self._moments[t]

    def _closed_rate(self, side: k.Side) -> tuple[Powers, Powers]:
        """Return the rate of a side as a ratio of two polynomials of the round."""
        values = self.e.model.values()
        body = k.number_at(self.run.pace(side).rate.body, values)
        below = ratio(1)
        for factor, power in body.denominator:
            below = below * ratio(factor) ** power
        return Powers.of(body.numerator), Powers.of(below.poly())

    def _rate(self, side: k.Side, t: int) -> Fraction:
        top, below = self._rates(side)
        (a, b), (c, d) = top.at(Fraction(t)), below.at(Fraction(t))
        return Fraction(a * d, b * c)

    def _interpolated(self, p: int) -> list[Powers]:
        """Return E a, E b, E a^2, E ab, E b^2 of coordinate p as polynomials."""
        pace = self.run.pace(self._side(p))
        require(type(pace) is k.Pace, "rates of rounds are needed")
        steps = self.e.whole_number(pace.steps)
        clients = len(self.e.model.weights) if self.run.kind.visits else 1
        nodes = [Fraction(q) for q in range(2 * steps * clients + 1)]
        means = [self._one_round(p, r) for r in nodes]
        columns = zip(*means, strict=True)
        return [Powers.through(nodes, column) for column in columns]

    def _one_round(self, p: int, r: Fraction) -> Means:
        """Return the five means of a round at rate r, played from 0 and from 1."""
        paces = [self.run.pace(side).steps for side in k.Side]
        steps = max(map(self.e.whole_number, paces))
        rate = k.Rate(ratio(r))
        pace = [k.Pace(each, rate) for each in paces]
        run = k.Split(self.run.kind, self.run.participants, *pace)
        ends = list[Vector]()
        for x in (ZERO, ONE):
            model = replace(self.e.model, start=(x,) * self.size, rounds=1)
            e = Evaluation(model, self.e.at)
            e.prepare(steps, run.drawn)
            ends.append(tuple(y[p] for y in e.iterate(run, 1)))
        shifts = ends[0]
        scales = [y - b for y, b in zip(ends[1], shifts, strict=True)]
        pairs = list(zip(e._chances, scales, shifts, strict=True))
        return (
            sum((c * a for c, a, _ in pairs), ZERO),
            sum((c * b for c, _, b in pairs), ZERO),
            sum((c * a * a for c, a, _ in pairs), ZERO),
            sum((c * a * b for c, a, b in pairs), ZERO),
            sum((c * b * b for c, _, b in pairs), ZERO),
        )


def evaluated(
    model: Model, hypotheses: frozenset[Hypothesis], left: k.Lin, right: k.Lin
) -> tuple[Fraction, Fraction]:
    """Return both sides in a model that meets every hypothesis.

    In a long run they are the ends of the two enclosures that face each other.

    Raises:
        Rejected: `models.meeting` refuses the model, or the enclosures overlap.
    """
    e = meeting(model, hypotheses, left, right)
    if not model.long:
        return e.form(left), e.form(right)
    runs = runs_of(left, right, *hypotheses)
    (run,) = (one for one in runs if isinstance(one, k.Split))
    both = Enclosure(e, run)
    (low, high), (least, most) = both.form(left), both.form(right)
    require(low > most or high <= least, "the enclosures of the sides overlap")
    ends = (low, most) if low > most else (high, least)
    return Fraction(ends[0], UNIT), Fraction(ends[1], UNIT)


def _added(u: Vector, v: Vector, c: Fraction) -> Vector:
    return tuple(a + c * b for a, b in zip(u, v, strict=True))
