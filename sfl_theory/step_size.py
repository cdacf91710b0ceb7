"""The learning-rate rule under which a theorem claims its bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import sympy as sp

from sfl_theory import numeric, symbols
from sfl_theory.conditions import ANALYSED, Algorithm
from sfl_theory.constants import Constants
from sfl_theory.schedules import Schedule

EVERY_ROUND = 10**5
"""Up to here every round's learning rate is compared with a rule, then ever fewer."""

RATE_SLACK = 1e-9
"""Relative: what rounding may add to a rate that meets its rule."""


@dataclass(frozen=True)
class StepSize:
    r"""The learning-rate rule of a theorem, as printed.

    Attributes:
        client: $\eta^t$ on the client side (for "<=": the largest one admitted).
        server: the same on the server side.
        relation: "=", "<=", or "any": the bound holds at every rate, this one is taken
            where none is given.
        definitions: symbols used in it and what they stand for.
        per_step: t counts local steps, not rounds.
        constant: one learning rate for all rounds is meant.
    """

    client: sp.Expr
    server: sp.Expr
    relation: str
    definitions: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    per_step: bool = False
    constant: bool = False

    @property
    def same(self) -> bool:
        """Whether both sides have one learning rate."""
        return bool(self.client == self.server)

    @cached_property
    def words(self) -> str:
        """The rule in plain characters."""
        index = "i (local step)" if self.per_step else "t"
        sign = "<=" if self.relation == "<=" else "="
        rules = [str(rule).replace("**", "^") for rule in (self.client, self.server)]
        said = f"eta^{index} {sign} {rules[0]}"
        if not self.same:
            said += f" on the client side, {sign} {rules[1]} on the server side"
        return f"any, here {said}" if self.relation == "any" else said

    def latex(self) -> str:
        """Return the rule as LaTeX."""
        sign = r"\leq" if self.relation == "<=" else "="
        if self.same:
            return rf"\eta^t {sign} {symbols.latex(self.client)}"
        client, server = symbols.latex(self.client), symbols.latex(self.server)
        return (
            rf"\eta^t {sign} {client}\ \text{{(client side)}},\quad "
            rf"\eta^t {sign} {server}\ \text{{(server side)}}"
        )

    def schedule(self, constants: Constants) -> Schedule:
        """Return the learning rate: the printed one, or the largest admitted one.

        Args:
            constants: must hold what the rule uses.

        Returns:
            A schedule of rounds (of local steps if ``per_step``).

        Raises:
            ValueError: if a constant is missing; it is named.
        """
        sides = [
            numeric.compiled(rule, (symbols.t,), self.definitions, constants)
            for rule in (self.client, self.server)
        ]
        value = None
        if symbols.t not in self.client.free_symbols:
            value = float(sides[0](np.zeros(1))[0])
        ratio = self.ratio(constants)
        return Schedule(
            sides[0],
            sides[1],
            self._formulas,
            self.per_step,
            value if ratio is not None else None,
            1.0 if ratio is None else ratio,
        )

    def unmet(
        self,
        constants: Constants,
        schedule: Schedule,
        last: int,
        algorithm: Algorithm = ANALYSED,
    ) -> str:
        r"""Return where a learning rate breaks the rule, or "" where it does not.

        Both sides are compared; the server's only where it is a rate of its own and its
        steps carry no weights: else a schedule is the client's, $\eta^t$.

        Args:
            constants: where one is absent that the rule uses, nothing is compared.
            schedule: the learning rate.
            last: T: rounds (local steps) t < T are looked at, each up to
                ``EVERY_ROUND`` and about evenly in log t beyond.
            algorithm: what is run.

        Returns:
            Half a sentence.
        """
        uses = numeric.needed([self.client, self.server], self.definitions)
        if self.constant and schedule.value is None:
            return "the given rates change; a constant learning rate is needed"
        if self.relation == "any" or any(getattr(constants, c) is None for c in uses):
            return ""
        rule = self.schedule(constants)
        if schedule.per_step != rule.per_step:
            return "the given rates count " + (
                "steps" if schedule.per_step else "rounds"
            )
        if schedule.value is not None and self.relation != "=":
            last = 1 if rule.value is not None else last
        at = np.arange(min(last, EVERY_ROUND), dtype=np.float64)
        if last > EVERY_ROUND:
            beyond = np.geomspace(EVERY_ROUND, last - 1, 1000).round()
            at = np.concatenate([at, beyond])
        own = not np.array_equal(schedule.client(at), schedule.server(at))
        for side in ("client", "server")[: 1 + (own and not algorithm.weighted_server)]:
            given, wanted = (
                np.broadcast_to(np.asarray(getattr(one, side)(at)), at.shape)
                for one in (schedule, rule)
            )
            broken = given > wanted * (1 + RATE_SLACK)
            if self.relation == "=":
                broken |= given < wanted * (1 - RATE_SLACK)
            if broken.any():
                t = int(np.argmax(broken))
                sign = "not" if self.relation == "=" else "above"
                return (
                    f"the {side} side's rate {given[t]:.4g} at t = {at[t]:.0f} is "
                    f"{sign} {wanted[t]:.4g}"
                )
        return ""

    def ratio(self, constants: Constants) -> float | None:
        """Return the server's rate over the client's, or None if it depends on t."""
        if symbols.t in self._quotient.free_symbols:
            return None
        value = numeric.compiled(
            self._quotient, (symbols.t,), self.definitions, constants
        )
        return float(value(np.zeros(1))[0])

    @cached_property
    def _quotient(self) -> sp.Expr:
        return sp.simplify(self.server / self.client)

    @cached_property
    def _formulas(self) -> str:
        return str(self.client) if self.same else f"{self.client} | {self.server}"
