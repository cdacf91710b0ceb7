"""Theorems and their cases: what a paper states, under one identifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from sfl_theory.bound import Bound, Metric
from sfl_theory.conditions import ANALYSED, Algorithm
from sfl_theory.constants import Constants
from sfl_theory.schedules import Schedule

if TYPE_CHECKING:
    from sfl_theory.best import Best
    from sfl_theory.evidence import Part

Proved = Mapping[str, tuple[Bound, tuple["Part", ...]]]
"""Name of a bound -> the bound, and the proved statements that say it."""
CASES = ("strongly_convex", "general_convex", "non_convex")

VERSIONS = {
    "printed": "as the paper prints it, misprints and all",
    "repaired": "the nearest true bound, proved under the assumptions it lists",
    "sharper": "a smaller right side, proved under the assumptions it lists",
    "any_periods": "proved for any tau, tau_server: server rate times tau/tau_server",
    "no_bounded_gradients": "without bounded gradients; noise divided by N tau",
    "printed_rates": "without Assumption 3.3 at the paper's rates, tau_server = tau",
    "bounded_gradients": "for every learning rate, under Assumption 3.3",
    "linear_speedup": "noise divided by N tau, drift with one more power of the rate",
    "first_gap": "linear_speedup, the first gap in place of the first distance",
    "last_iterate": "the gap of the last model at a constant learning rate",
    "equal_weights": "as printed, algorithm and all, proved for equal weights",
    "last_model": "noise falls like 1/T, drift like 1/T^2, first gap like 1/T^4",
    "root_noise": "noise and drift with the root of S/mu in place of one S/mu",
    "root_noise_drawn": "root_noise of theorem 3.9 where clients are drawn",
    "root_noise_unbounded": "root_noise without Assumption 3.3, at smaller rates",
    "without_noise": "noise-free: at tau = 1 what a parabola does; drift kappa^2/T^2",
    "small_drift": "noise-free: drift as of two opposed parabolas, kappa/T^2",
    "by_distance": "noise like kappa^.5/(N tau T), drift kappa^1.5/T^2, gap 1/T^7",
    "any_order": "noise-free, visits in any order: drift kappa^1.5/T^2, gap 1/T^7",
    "full_participation": "theorem 3.7's last_model, for q_n = 1",
    "last_model_any_periods": "last_model for any periods, each side at its own rate",
}
"""What the versions of a bound are; which of them a case has: ``Case.versions``."""


@dataclass(frozen=True)
class Case:
    """One case of a theorem with its bound as printed and what is proved instead.

    Attributes:
        theorem: identifier of the theorem it belongs to.
        name: one of ``CASES``.
        printed: the bound with the paper's own constants, misprints and all.
        proved: makes what is proved instead, by name, when it is first asked for:
            "repaired", the nearest, and others, see ``VERSIONS``; each bound with the
            statements that it is made from. "printed", too, where that is proved.
    """

    theorem: str
    name: str
    printed: Bound
    proved: Callable[[], Proved] = dict

    @cached_property
    def variants(self) -> Proved:
        """What is proved instead, by name, and by which statements.

        Raises:
            ValueError: if ``VERSIONS`` does not say what a name is.
        """
        made = self.proved()
        if unknown := made.keys() - VERSIONS.keys():
            names = ", ".join(sorted(unknown))
            raise ValueError(f"VERSIONS does not say what {names} is")
        return MappingProxyType({
            name: (replace(bound, version=name), parts)
            for name, (bound, parts) in made.items()
        })

    @property
    def repaired(self) -> Bound | None:
        """The nearest bound that is proved, or None while there is none."""
        return self.bound("repaired") if "repaired" in self.variants else None

    def __hash__(self) -> int:
        return hash((self.theorem, self.name))

    @property
    def versions(self) -> tuple[str, ...]:
        """The names that ``bound`` takes here, in the order of ``VERSIONS``."""
        there = {"printed", *self.variants}
        return tuple(name for name in VERSIONS if name in there)

    def bound(self, version: str = "printed") -> Bound:
        """Return the bound in one of its versions.

        Args:
            version: one of ``versions``.

        Returns:
            The bound.

        Raises:
            ValueError: for another version, or while no repaired bound is known.
        """
        if version == "printed":
            return self.printed
        if version in self.variants:
            return self.variants[version][0]
        if version != "repaired":
            names = ", ".join(self.versions)
            raise ValueError(
                f"{self.theorem} ({self.name}): version must be one of {names}, "
                f"got '{version}'"
            )
        raise ValueError(
            f"{self.theorem} ({self.name}) has no repaired bound: see "
            "'python -m bounds.audit' for what is known of it; use the printed one"
        )

    def best(
        self,
        constants: Constants,
        rounds: ArrayLike,
        schedule: Schedule | None = None,
        algorithm: Algorithm = ANALYSED,
        metric: Metric | None = None,
    ) -> Best:
        """Return, round by round, the smallest proved bound that applies.

        Args:
            constants: of the problem and the setting.
            rounds: integers T, shape (m,).
            schedule: the learning rate of the run; None: each bound's own, or one
                constant rate for all where the left side is weighted by it.
            algorithm: what is run.
            metric: what is to be bounded; None: what the printed bound bounds, or,
                where nothing is proved on that, what the repaired one does.

        Returns:
            ``values`` and ``versions``, one per round (`sfl_theory.best`).
        """
        from sfl_theory.best import best

        return best(self, constants, rounds, schedule, algorithm, metric)


@dataclass(frozen=True)
class Theorem:
    """A numbered statement of a paper.

    Attributes:
        key: identifier, for instance "han2024/thm-3.7".
        number: its number in the paper.
        title: what it is about.
        algorithm: "fedavg", "sfl-v1", "sfl-v2", "minibatch-sfl", or "any".
        participation: "full" or "partial".
        cases: case name -> case.
        assumptions: case name -> numbers of the paper's assumptions.
    """

    key: str
    number: str
    title: str
    algorithm: str
    participation: str
    cases: Mapping[str, Case]
    assumptions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cases", MappingProxyType(dict(self.cases)))

    @property
    def paper(self) -> str:
        """Key of the paper."""
        return self.key.split("/")[0]

    def case(self, name: str | None = None) -> Case:
        """Return one case.

        Args:
            name: its name; may be omitted where the theorem has one case only.

        Returns:
            The case.

        Raises:
            ValueError: if there is no such case or the name is needed and missing;
                the message lists the valid names.
        """
        valid = ", ".join(self.cases)
        if name is None:
            if len(self.cases) == 1:
                return next(iter(self.cases.values()))
            raise ValueError(f"{self.key} has several cases, name one of: {valid}")
        if name not in self.cases:
            raise ValueError(f"{self.key} has no case '{name}'; valid are: {valid}")
        return self.cases[name]


def one_case(
    title: str, algorithm: str, case: Case, participation: str = "full"
) -> Theorem:
    """Return a theorem that has one case; its number is the last part of its key."""
    number = case.theorem.rpartition("-")[2]
    cases = {case.name: case}
    return Theorem(case.theorem, number, title, algorithm, participation, cases)
