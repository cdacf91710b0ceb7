"""A bound: named terms that add up, and what they bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike, NDArray

from sfl_theory import numeric, symbols
from sfl_theory.conditions import ANALYSED, Algorithm, Condition
from sfl_theory.constants import Constants
from sfl_theory.schedules import Schedule
from sfl_theory.step_size import StepSize

if TYPE_CHECKING:
    from sfl_theory.tuning import Tuned

LARGEST_ROUND = 2**53
"""Up to here every integer is a float64."""


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

    parts: Mapping[str, sp.Expr]
    metric: Metric
    step_size: StepSize | None
    conditions: tuple[Condition, ...]
    source: Source
    definitions: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
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
    def expr(self) -> sp.Expr:
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

    def exponent(self) -> sp.Expr:
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
