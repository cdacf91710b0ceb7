r"""Adds up theorems on a run of SFL-V1 with noise in positions.

A step's gradient is $(p_i-p_{i+1})/\eta-\xi_i$, and its noise $\xi_i$ is orthogonal to all
that was there before it: to earlier points and noises, and to $p_i-\eta\nabla F(p_i)$,
which is $p_{i+1}+\eta\xi_i$, the next point without this noise. What a certificate says of
this is not looked at: what inequalities leave over beside a noise, when all that is later
has been eliminated, is of its past, and is one vector u with $\langle\xi_i,u\rangle=0$
(`sparse.cancelled`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived, unrolled
from sfl_theory.proofs.unrolled import atom_of, block, n
from sfl_theory.worst_case.assembly import ONE, ZERO, Name, Row
from sfl_theory.worst_case.positions import Amounts, Positions, negative
from sfl_theory.worst_case.quadratic import Quadratic
from sfl_theory.worst_case.sparse import cancelled

Drawn = tuple[int, int, k.Side | None]
"""Round, step and side of a noise."""
Time = tuple[int, int, int]
FIRST: Time = (-1, 0, 0)


@dataclass(frozen=True)
class Step:
    """A step of a block, or of its means.

    Attributes:
        noise: its noise.
        slope: its gradient.
        before: the point where it starts, as far as it is measured.
        after: the point where it ends; None if the block rests.
        eta: how far it goes.
    """

    noise: Name
    slope: Name
    before: Row
    after: Name | None
    eta: Fraction


def settled(
    form: Quadratic[Name], steps: Mapping[Drawn, Step], times: Mapping[Name, Time]
) -> tuple[Amounts, dict[Drawn, Row]]:
    """Return a form as squares and inner products of noises with their past.

    Args:
        form: in points, noises and what no step is made of; it is changed.
        steps: of the run.
        times: of other vectors, when they come to be; not named: last.

    Returns:
        The squares, and for each step what the noise stands beside.
    """
    when, clean = dict(times), dict[Name, Step]()
    for (t, i, _), step in steps.items():
        when |= {step.slope: (t, i, 1), step.noise: (t, i, 2)}
        if step.after is not None:
            free = f"{step.after} without noise"
            clean[free], when[free] = step, (t, i, 1)
            form.eliminate(step.after, {free: ONE, step.noise: -step.eta})

    def named(row: Mapping[Name, Fraction | int], now: Step | None = None) -> Row:
        found: Row = {}
        for name, c in row.items():
            step, parts = clean.get(name), Row({name: ONE})
            if step is not None and step.after is not None:
                parts = {step.after: ONE, step.noise: step.eta}
                if step is now:
                    parts = step.before | {step.slope: -step.eta}
            for part, share in parts.items():
                found[part] = found.get(part, ZERO) + c * share
        return found

    last = max(when.values(), default=FIRST)
    order = sorted(form.rows, key=lambda name: when.get(name, (last[0] + 1, 0, 0)))
    noises = {step.noise for step in steps.values()}
    squares, beside = cancelled(form, order[::-1], noises)
    rows = {
        drawn: named(beside.get(step.noise, {}), step) for drawn, step in steps.items()
    }
    return [(named(row), weight) for row, weight in squares], rows


class Noisy(Positions):
    """Theorems with multipliers, and what noise is orthogonal to, in positions."""

    orthogonal = True

    @cached_property
    def held(self) -> dict[tuple[str, Drawn], Row]:
        """What stands beside the definitions of steps, until all of it is known."""
        return defaultdict(dict)

    @cached_property
    def past(self) -> dict[Drawn, Row]:
        """What each noise is orthogonal to."""
        return defaultdict(dict)

    def _step(self, row: Row, t: int, i: int, side: k.Side | None) -> None:
        self.held["own", (t, i, side)] = row

    def _mean_step(self, row: Row, t: int, i: int, side: k.Side | None) -> None:
        self.held["mean", (t, i, side)] = row

    @cached_property
    def based(self) -> dict[Name, Row]:
        """Beside the mean of a noise: what all is measured from."""
        return {}

    def _based(self, base: Name) -> None:
        noises = {self.mean(self.sample(t, i, side)[1]) for t, i, side in self._places()}
        for xi, c in [*self.common.rows.get(base, {}).items()]:
            if xi in noises:
                self.common.add(base, xi, -c)
                self.based[xi] = {base: -c}
        super()._based(base)

    def _places(self) -> Iterator[Drawn]:
        """Yield the noises, a block's after the other's."""
        for side in self.sides:
            for t in range(self.rounds):
                for i in range(unrolled.longest(self.run)):
                    yield t, i, side

    def _own_squares(self) -> Amounts:
        steps = {}
        for t, i, side in self._places():
            slope, xi = self.sample(t, i, side)
            ends = [atom_of(block(side, self.p(t, j))) for j in (i, i + 1)]
            after = ends[1] if i < self._within(side) else None
            steps[t, i, side] = Step(
                xi, slope, {ends[0]: ONE}, after, self._rate(t, side)
            )
        best = k.gradient(k.Local(n), k.vec(k.Star(k.MEAN)))
        stars = {atom_of(block(side, best)): FIRST for side in self.sides}
        squares, rows = settled(negative(self.own), steps, stars)
        for drawn, row in rows.items():
            self.past[drawn].update(row)
            self._beside("own", drawn, steps[drawn], row)
        return squares

    def _common_squares(self) -> Amounts:
        steps = {}
        for t, i, side in self._places():
            slope, xi = map(self.mean, self.sample(t, i, side))
            made = unrolled.steps_of(self.run, side)
            first = self._mean_point(t, i, side) if i else self._model(t, side)
            last = self._mean_point(t, i + 1, side)
            last = self._model(t + 1, side) if i + 1 == made else last
            before, after = f"way to {first}", f"way to {last}" if i < made else None
            there: Row = {before: ONE} if before in self.vectors else {}
            steps[t, i, side] = Step(xi, slope, there, after, self._rate(t, side))
        starts = {f"way to {self._model(0, side)}": FIRST for side in self.sides}
        squares, rows = settled(negative(self.common), steps, starts)
        for drawn, known in rows.items():
            self._beside("mean", drawn, steps[drawn], known)
            row = known | self.based.get(steps[drawn].noise, {})
            self.linear(self.sample(*drawn)[1], row, ONE)
            self.past[drawn].update(row)
        return squares

    def _beside(self, kind: str, drawn: Drawn, step: Step, past: Row) -> None:
        """Enter a noise beside the definition of its step, whose gradient is past."""
        if step.after is not None and step.slope in past:
            row = self.held[kind, drawn]
            row[step.noise] = row.get(step.noise, ZERO) + past[step.slope]

    def added(self) -> Theorem:
        """Return the sum of what has been entered, which is the target."""
        for (kind, (t, i, side)), row in self.held.items():
            enter = super()._step if kind == "own" else super()._mean_step
            enter(row, t, i, side)
        drawn: dict[tuple[int, int], Row] = defaultdict(dict)
        for (t, i, _), row in self.past.items():
            drawn[t, i] |= row
        for (t, i), row in drawn.items():
            if row:
                u = self.vector(row)
                found = derived.unbiased(self.run, n, ratio(t), ratio(i), u)
                self.each.append((found, ONE))
        return super().added()
