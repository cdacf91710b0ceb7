r"""A bound: named terms that add up, what they bound, and under which step sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike, NDArray

from sfl_theory import numeric, symbols
from sfl_theory.conditions import ANALYSED, Algorithm, Condition
from sfl_theory.constants import Constants
from sfl_theory.schedules import Schedule

if TYPE_CHECKING:
    from sfl_theory.tuning import Tuned

LARGEST_ROUND = 2**53
"""Up to here every integer is a float64."""

EVERY_ROUND = 10**5
"""Up to here every round's learning rate is compared with a rule, then ever fewer."""

RATE_SLACK = 1e-9
"""Relative: what rounding may add to a rate that meets its rule."""


@dataclass(frozen=True)
class Metric:
    r"""What stands on the left of the inequality.

    Attributes:
        key: name for programs.
        latex: the formula.
        words: the formula in plain characters.
        first_round: smallest T for which it is defined.
        axis: the formula in one line, for the axis of a picture; empty: ``latex``.
        quantity: what it is, or is a mean of: "gap" ($f-f^*$), "gradient"
            ($\|\nabla f\|^2$), "client" or "server" (squared distance of that block).
        mean: in plain characters what is left of a mean over rounds weighted by the
            learning rates if these are constant and divided out; empty: no such mean.
    """

    key: str
    latex: str
    words: str
    first_round: int = 0
    axis: str = ""
    quantity: str = "gap"
    mean: str = ""

    @property
    def weighted(self) -> bool:
        """Whether it is a mean over rounds with the learning rates as weights."""
        return bool(self.mean)


OBJECTIVE_GAP = Metric("objective_gap", r"\mathbb{E} f(x^T) - f^*", "E f(x^T) - f*")
WEIGHTED_GRADIENT = Metric(
    "weighted_gradient",
    r"\frac{1}{T} \sum_{t=0}^{T-1} \eta^t\, \mathbb{E}\|\nabla f(x^t)\|^2",
    "(1/T) sum_{t<T} eta^t E||grad f(x^t)||^2",
    first_round=1,
    axis=r"T^{-1}\,\Sigma_{t<T}\;\eta^t\,\mathbb{E}\|\nabla f(x^t)\|^2",
    quantity="gradient",
    mean="(1/T) sum_{t<T} E||grad f(x^t)||^2",
)
WEIGHTED_GAP = Metric(
    "weighted_gap",
    r"\frac{1}{T} \sum_{t=0}^{T-1} \eta^t\, \left(\mathbb{E} f(x^t) - f^*\right)",
    "(1/T) sum_{t<T} eta^t (E f(x^t) - f*)",
    first_round=1,
    axis=r"T^{-1}\,\Sigma_{t<T}\;\eta^t\,(\mathbb{E} f(x^t) - f^*)",
    mean="(1/T) sum_{t<T} (E f(x^t) - f*)",
)
CLIENT_DISTANCE = Metric(
    "client_distance",
    r"\mathbb{E}\|x_c^T - x_c^*\|^2",
    "E||x_c^T - x_c*||^2",
    quantity="client",
)
SERVER_DISTANCE = Metric(
    "server_distance",
    r"\mathbb{E}\|x_s^T - x_s^*\|^2",
    "E||x_s^T - x_s*||^2",
    quantity="server",
)


@dataclass(frozen=True)
class Source:
    """Where a statement stands.

    Attributes:
        paper: key of the paper.
        statement: its number there.
        equation: equation number(s).
    """

    paper: str
    statement: str
    equation: str

    def __str__(self) -> str:
        return f"{self.paper}, {self.statement}, {self.equation}"


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

    client: Any
    server: Any
    relation: str
    definitions: Mapping[Any, Any] = field(default_factory=dict)
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
    def _quotient(self) -> Any:
        return sp.simplify(self.server / self.client)

    @cached_property
    def _formulas(self) -> str:
        return str(self.client) if self.same else f"{self.client} | {self.server}"


@dataclass(frozen=True)
class Finding:
    """A relation that every correct bound has and this printed one has not.

    The test suite recomputes the relation and fails if the finding is wrong or
    missing, so the list is neither too short nor too long.

    Attributes:
        relation: "loss_scale", "parameter_scale", "full_participation", ...
        words: what fails, in a sentence.
    """

    relation: str
    words: str


def total(terms: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the sum of terms, added in their order."""
    values = iter(terms.values())
    found = next(values).copy()
    for value in values:
        found += value
    return found


@dataclass(frozen=True)
class Bound:
    r"""An upper bound as a sum of named terms.

    Attributes:
        parts: name of the term -> formula; the terms add up to the bound.
        metric: what is bounded.
        step_size: the learning-rate rule under which it is claimed, or None.
        conditions: the hypotheses; the learning-rate rule is one more. Plain words
            become one that no constant can break.
        source: where it stands.
        definitions: symbols used in the formulas and what they stand for.
        version: "printed" or "repaired" (or a name of the user's).
        findings: relations that it fails.
        notes: how unclear print is read.
    """

    parts: Mapping[str, Any]
    metric: Metric
    step_size: StepSize | None
    conditions: tuple[Condition, ...]
    source: Source
    definitions: Mapping[Any, Any] = field(default_factory=dict)
    version: str = "printed"
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("parts", "definitions"):
            frozen = MappingProxyType(dict(getattr(self, name)))
            object.__setattr__(self, name, frozen)
        stated = (
            one if isinstance(one, Condition) else Condition(str(one))
            for one in self.conditions
        )
        object.__setattr__(self, "conditions", tuple(stated))

    def __hash__(self) -> int:
        return hash((self.source, self.version, self.expr))

    @cached_property
    def expr(self) -> Any:
        """The bound as one sympy expression."""
        return sp.Add(*self.parts.values())

    def latex(self) -> str:
        """Return metric, sign and terms as LaTeX, in the order of the paper."""
        right = " + ".join(symbols.latex(part) for part in self.parts.values())
        return rf"{self.metric.latex} \leq {right}"

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """Names of the constants that an evaluation uses (the schedule's aside)."""
        return numeric.needed([*self.parts.values()], self.definitions)

    @property
    def sums_learning_rates(self) -> bool:
        r"""Whether the bound contains a sum over $\eta^t$."""
        return any(part.has(symbols.eta) for part in self.parts.values())

    def assumes(self, kind: type[Condition]) -> bool:
        """Return whether a kind of condition is among the hypotheses."""
        return any(isinstance(one, kind) for one in self.conditions)

    def unmet(
        self,
        constants: Constants,
        rounds: ArrayLike = 1,
        schedule: Schedule | None = None,
        algorithm: Algorithm = ANALYSED,
    ) -> tuple[str, ...]:
        """Return which hypotheses are not met, and why, a phrase for each.

        Args:
            constants: those that are absent break nothing but bounded gradients.
            rounds: T, for the learning rate.
            schedule: the learning rate; None: the bound's own.
            algorithm: what is run.

        Returns:
            "HYPOTHESIS: what is outside it", empty where all are met.
        """
        found = [(str(one), one.unmet(constants, algorithm)) for one in self.conditions]
        if schedule is not None and self.step_size is not None:
            last = int(np.max(np.asarray(rounds)))
            if self.step_size.per_step:
                last *= constants.tau or 1
            why = self.step_size.unmet(constants, schedule, last, algorithm)
            found.append((f"learning rate {self.step_size.words}", why))
        return tuple(f"{name}: {why}" for name, why in found if why)

    def terms(
        self,
        constants: Constants,
        rounds: ArrayLike,
        schedule: Schedule | None = None,
        algorithm: Algorithm = ANALYSED,
    ) -> dict[str, NDArray[np.float64]]:
        r"""Return the value of every term at every round.

        Args:
            constants: must hold ``needs``.
            rounds: integers T, at least ``metric.first_round``, shape (m,).
            schedule: $\eta^t$ where the bound sums over it; None: the theorem's own.
            algorithm: what is run.

        Returns:
            Term name -> float64 array of shape (m,); the arrays add up to
            ``evaluate`` (bit for bit, added in this order).

        Raises:
            ValueError: if a constant is missing (it is named), a round is not an
                admissible integer, or a hypothesis is not met (it is named).
        """
        found = self.formula(constants, rounds, schedule)
        for words in self.unmet(constants, rounds, schedule, algorithm):
            raise ValueError(f"{self.source}: outside its hypothesis {words}")
        return found

    def formula(
        self,
        constants: Constants,
        rounds: ArrayLike,
        schedule: Schedule | None = None,
    ) -> dict[str, NDArray[np.float64]]:
        r"""Return what ``terms`` returns, hypotheses met or not.

        For a run beside a bound that does not speak of it, where ``unmet`` says so.

        Args:
            constants: must hold ``needs``.
            rounds: integers T, at least ``metric.first_round``, shape (m,).
            schedule: $\eta^t$ where the bound sums over it; None: the theorem's own.

        Returns:
            Term name -> float64 array of shape (m,).

        Raises:
            ValueError: if a constant is missing (it is named) or a round is not an
                admissible integer.
        """
        wanted = self._rounds(rounds)
        if schedule is None and self.sums_learning_rates:
            if self.step_size is None:
                raise ValueError(f"{self.source}: a learning-rate schedule is needed")
            schedule = self.step_size.schedule(constants)
        return {
            name: numeric.evaluate(part, self.definitions, constants, wanted, schedule)
            for name, part in self.parts.items()
        }

    def evaluate(
        self,
        constants: Constants,
        rounds: ArrayLike,
        schedule: Schedule | None = None,
        algorithm: Algorithm = ANALYSED,
    ) -> NDArray[np.float64]:
        """Return the bound at every round, shape (m,).

        Args:
            constants: must hold ``needs``.
            rounds: integers T, at least ``metric.first_round``, shape (m,).
            schedule: learning rates where the bound sums over them; None: the
                theorem's own.
            algorithm: what is run.

        Returns:
            float64 array of shape (m,).
        """
        return total(self.terms(constants, rounds, schedule, algorithm))

    def tuned(
        self, constants: Constants, T: int, algorithm: Algorithm = ANALYSED
    ) -> Tuned:
        """Return the bound at its best learning rate for T rounds, with its orders.

        Args:
            constants: must hold what bound and rule use, and meet the hypotheses.
            T: number of rounds, at least 1.
            algorithm: what is run.

        Returns:
            Rate, value and orders (`sfl_theory.tuning`).
        """
        from sfl_theory.tuning import tuned

        return tuned(self, constants, T, algorithm)

    def exponent(self) -> Any:
        r"""Return $p$ such that the bound is of order $T^p$ (constant rate in sums).

        It is the largest over the terms of $\lim_{T\to\infty}
        \frac{T}{h}\frac{dh}{dT}$, computed symbolically.
        """
        return max(
            numeric.growth(part, self.definitions) for part in self.parts.values()
        )

    def _rounds(self, rounds: ArrayLike) -> NDArray[np.int64]:
        given = np.atleast_1d(np.asarray(rounds))
        if given.size == 0 or given.ndim != 1:
            raise ValueError("rounds must be a non-empty list of integers")
        if not np.issubdtype(given.dtype, np.integer):
            given = given.astype(np.float64)
            if not np.all(np.isfinite(given)) or np.any(given != np.floor(given)):
                raise ValueError("rounds must be integers")
        first = self.metric.first_round
        if np.any(given < first):
            raise ValueError(f"rounds must be at least {first}, got {given.min()}")
        if np.any(given > LARGEST_ROUND):
            raise ValueError(f"rounds must be at most 2^53, got {given.max()}")
        return given.astype(np.int64)
