r"""Adds up theorems on a run of SFL-V1 with noise in positions.

A step's gradient is $(p_i-p_{i+1})/\eta-\xi_i$. What a certificate says of the past to
which noise is orthogonal is not looked at: it is found anew (`past`), for clients'
deviations from means first, then for means. So a noise is tested with one short vector.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived, unrolled
from sfl_theory.proofs.unrolled import atom_of, block, n
from sfl_theory.worst_case.assembly import ONE, ZERO, Name, Row
from sfl_theory.worst_case.deviations import enter, squared
from sfl_theory.worst_case.past import FIRST, Step, Time, settled
from sfl_theory.worst_case.positions import Positions, negative

Drawn = tuple[int, int, k.Side | None]
"""Round, step and side of a noise."""
Rows = dict[Drawn, Row]


class Noisy(Positions):
    """Theorems with multipliers, and what noise is orthogonal to, in positions."""

    orthogonal = True

    @cached_property
    def own_steps(self) -> Rows:
        """What stands beside the definitions of clients' steps, until all is known."""
        return {}

    @cached_property
    def mean_steps(self) -> Rows:
        """The like for means."""
        return {}

    @cached_property
    def past(self) -> Rows:
        """What each noise is orthogonal to."""
        return defaultdict(dict)

    def _step(self, row: Row, t: int, i: int, side: k.Side | None) -> None:
        self.own_steps[t, i, side] = row

    def _mean_step(self, row: Row, t: int, i: int, side: k.Side | None) -> None:
        self.mean_steps[t, i, side] = row

    def _drawn(self) -> Iterator[Drawn]:
        """Yield the noises, a block's after the other's."""
        for side in self.sides:
            for t in range(self.rounds):
                for i in range(unrolled.longest(self.run)):
                    yield t, i, side

    def _based(self, base: Name) -> None:
        """Let noise stand beside what all is measured from: that is of its past."""
        for drawn in self._drawn():
            xi = self.sample(*drawn)[1]
            if c := self.common.rows.get(base, {}).get(self.mean(xi)):
                self._orthogonal(drawn, {base: -c})
        super()._based(base)

    def _own_squares(self) -> None:
        steps: dict[Name, tuple[Drawn, Step]] = {}
        for t, i, side in self._drawn():
            slope, xi = self.sample(t, i, side)
            ends = [atom_of(block(side, self.p(t, j))) for j in (i, i + 1)]
            after = ends[1] if i < self._within(side) else None
            eta = self._rate(t, side)
            steps[xi] = (
                (t, i, side),
                Step((t, i), xi, slope, {ends[0]: ONE}, after, eta),
            )
        best = k.gradient(k.Local(n), k.vec(k.Star(k.MEAN)))
        stars: dict[Name, Time] = {
            atom_of(block(side, best)): FIRST for side in self.sides
        }
        each = (step for _, step in steps.values())
        found = settled(negative(self.own), each, stars)
        for step, row in found.past:
            drawn, _ = steps[step.noise]
            _beside(self.own_steps, drawn, step, row)
            self.past[drawn].update(row)
        enter(self, found.squares, found.form, found.made)

    def _common_squares(self) -> None:
        steps: dict[Name, tuple[Drawn, Step]] = {}
        for t, i, side in self._drawn():
            slope, xi = map(self.mean, self.sample(t, i, side))
            made, eta = unrolled.steps_of(self.run, side), self._rate(t, side)
            ends = [
                self._mean_point(t, i, side) if i else self._model(t, side),
                self._mean_point(t, i + 1, side)
                if i + 1 < made
                else self._model(t + 1, side),
            ]
            before, after = (f"way to {end}" for end in ends)
            there: Row = {before: ONE} if before in self.vectors else {}
            step = Step((t, i), xi, slope, there, after if i < made else None, eta)
            steps[xi] = (t, i, side), step
        starts: dict[Name, Time] = {
            f"way to {self._model(0, side)}": FIRST for side in self.sides
        }
        each = (step for _, step in steps.values())
        found = settled(negative(self.common), each, starts)
        for step, row in found.past:
            drawn, _ = steps[step.noise]
            _beside(self.mean_steps, drawn, step, row)
            self._orthogonal(drawn, row)
        mine = {
            name: self.vector(found.made.get(name, {name: ONE}))
            for name in found.form.rows
        }
        self.uses += squared(found.squares, mine, found.form)

    def _orthogonal(self, drawn: Drawn, row: Row) -> None:
        """Enter what clients share and the mean of a noise is orthogonal to."""
        _, xi = self.sample(*drawn)
        for name, c in row.items():
            self.common.add(self.mean(xi), name, c)
        self.linear(xi, row, ONE)
        self.past[drawn].update(row)

    def added(self) -> Theorem:
        """Return the sum of what has been entered, which is the target."""
        for (t, i, side), row in self.own_steps.items():
            super()._step(row, t, i, side)
        for (t, i, side), row in self.mean_steps.items():
            super()._mean_step(row, t, i, side)
        drawn: dict[tuple[int, int], Row] = defaultdict(dict)
        for (t, i, _), row in self.past.items():
            drawn[t, i] |= row
        for (t, i), row in drawn.items():
            if row:
                u = self.vector(row)
                found = derived.unbiased(self.run, n, ratio(t), ratio(i), u)
                self.each.append((found, ONE))
        return super().added()


def _beside(rows: Rows, drawn: Drawn, step: Step, past: Row) -> None:
    """Enter a noise beside the definition of its step, whose gradient is past."""
    if step.after is not None and step.slope in past:
        row = rows[drawn]
        row[step.noise] = row.get(step.noise, ZERO) + past[step.slope]
