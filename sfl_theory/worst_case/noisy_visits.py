r"""Adds up theorems on SFL-V2 with noise in positions.

A visit's gradient is $(p-p')/\eta-\xi$. What a certificate says of the past to which
noise is orthogonal is not looked at: it is found anew (`past`). Of visits of others in
this round the kernel knows points, gradients and noises to be past, not yet where they
lead a client's block, so ends of steps of this round are written by these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs.by_number import Visit, client, m, number, renamed
from sfl_theory.proofs.unrolled import atom_of, block, tested
from sfl_theory.worst_case.assembly import ONE, ZERO, Name, Row
from sfl_theory.worst_case.certificate import Square
from sfl_theory.worst_case.deviations import squared
from sfl_theory.worst_case.past import FIRST, Step, Time, settled
from sfl_theory.worst_case.positions import negative
from sfl_theory.worst_case.single_clients import STAR
from sfl_theory.worst_case.visited import Visited

Drawn = tuple[int, int, int]
"""Client, round and step of a noise."""


@dataclass(frozen=True)
class Moved:
    """A visit's step of a block.

    Attributes:
        drawn: its noise.
        side: the block.
        ends: where it leads from, and where to.
        row: what stands beside the lemma.
        lemma: in any round ``<p' - p + eta (grad F_q(p) + xi), w> = 0``.
        eta: how far.
    """

    drawn: Drawn
    side: k.Side | None
    ends: tuple[Name, Name]
    row: Row
    lemma: Theorem
    eta: Fraction


class NoisyVisits(Visited):
    """Theorems with multipliers, and what noise is orthogonal to, in positions."""

    orthogonal = True

    @cached_property
    def moved(self) -> dict[Name, Moved]:
        """The steps by their gradients."""
        return {}

    def _step(
        self,
        visit: Visit,
        s: int,
        side: k.Side | None,
        ends: tuple[Name, Name],
        lemma: Theorem,
        eta: Fraction,
    ) -> None:
        slope, xi = self._slope(visit, s, side), self._noise(visit, s, side)
        by = {ends[0]: 1 / eta, ends[1]: -1 / eta, xi: -ONE}
        row, (q, i) = self.form.eliminate(slope, by), visit
        self.moved[slope] = Moved((q, s, i), side, ends, row, lemma, eta)

    def _squares(self, squares: Iterable[Square]) -> None:
        """Enter squares that are found for what is left over, and what is unbiased."""
        steps = [self._known(slope, one) for slope, one in self.moved.items()]
        found = settled(
            negative(self.form),
            steps,
            self._times(),
            lambda one, now: one.time[0] == now.time[0],
        )
        mine = {
            name: self.vector(found.made.get(name, {name: ONE}))
            for name in found.form.rows
        }
        self.uses += squared(found.squares, mine, found.form)
        past: dict[Drawn, Row] = defaultdict(dict)
        for step, row in found.past:
            past[self.moved[step.slope].drawn].update(row)
            for slope in self.moved.keys() & row.keys():
                beside = self.moved[slope].row
                beside[step.noise] = beside.get(step.noise, ZERO) + row[slope]
        for one in self.moved.values():
            if one.row:
                _, s, _ = one.drawn
                by = self.vector(one.row) * (-1 / one.eta)
                self.uses.append((tested(one.lemma, s, by), ONE))
        for drawn, row in past.items():
            self.uses += [(one, ONE) for one in self._unbiased(drawn, row)]

    def _known(self, slope: Name, one: Moved) -> Step:
        q, s, i = one.drawn
        xi = self._noise((q, i), s, one.side)
        before: Row = {one.ends[0]: ONE, self.bases[one.side]: -ONE}
        time = (s, self.visits.index((q, i)))
        return Step(time, xi, slope, before, f"way to {one.ends[1]}", one.eta)

    def _times(self) -> dict[Name, Time]:
        """Return when gradients come to be that no step is made of, and x(0)."""
        found: dict[Name, Time] = {}
        for side in self.sides:
            found[f"way to {atom_of(block(side, k.iterate(self.run, 0)))}"] = FIRST
            for F in map(k.Local, map(client, self.numbers.clients)):
                found[self._gradient(F, STAR, side)] = FIRST
                for s in range(self.rounds + 1):
                    x = k.iterate(self.run, s)
                    found[self._gradient(F, x, side)] = (s, -1, 0)
        return found

    def _unbiased(self, drawn: Drawn, row: Row) -> list[Theorem]:
        """Return ``<xi, u> >= 0`` for u of its past, for each other client's visits."""
        (q, s, i), others = drawn, dict[int, Row]()
        own: Row = {}
        last: dict[int, int] = {}
        for name, c in row.items():
            who = q
            for one in k.subterms(self.vector({name: ONE})):
                if isinstance(one, k.OfStep) and ratio(one.round) == ratio(s):
                    who = number(one.client)
                    last[who] = max(last.get(who, 0), int(str(one.step)))
            (own if who == q else others.setdefault(who, {}))[name] = c
        found = [self.numbers.apart((q, i), s, self.vector(own))] if own else []
        for p, part in others.items():
            u = renamed(self.vector(part), {client(p): m})
            found.append(self.numbers.orthogonal((q, i), (p, last[p]), s, u))
        return found

    def _noise(self, visit: Visit, s: int, side: k.Side | None) -> Name:
        q, i = visit
        return atom_of(block(side, k.noise(self.run, client(q), s, i)))
