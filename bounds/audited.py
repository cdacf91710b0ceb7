"""What the ledger says of a case of a theorem, replayed now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bounds.informative import mean_rate
from sfl_theory import Bound, Theorem
from sfl_theory.best import proved
from sfl_theory.ledger import Finding, Standing, ledger
from sfl_theory.models.moments import course, crossing, printed
from sfl_theory.statement import Case

REPLAY = "python -m bounds.audit --claim"


@dataclass(frozen=True)
class Course:
    """Both sides of a printed bound on an instance that breaks it, round by round.

    Attributes:
        rounds: T, shape (m,).
        left: expectation of what the bound speaks of, over the mean learning rate
            where it is weighted by it, shape (m,).
        right: the printed bound, in the same unit, shape (m,).
        crossing: first T at which the left side is larger.
    """

    rounds: NDArray[np.int64]
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    crossing: int


@dataclass(frozen=True)
class Audited:
    """A case of a theorem with its evidence replayed.

    Attributes:
        printed: standing of the printed statement.
        proved: version asked about -> whether the kernel proves its own statement.
        instance: both sides on the mildest instance that refutes it, or None.
        course: the instance round by round, or None where it has no rounds.
    """

    printed: Standing
    proved: Mapping[str, bool]
    instance: Finding | None
    course: Course | None

    def of(self, case: Case, bound: Bound) -> Standing:
        """Return the standing of one version of the case's bound.

        Args:
            case: of the theorem.
            bound: one of its versions, asked about.

        Returns:
            The printed statement's; of another version whether its own statement is
            proved, the scope being what the paper does not assume.
        """
        if bound.version == "printed":
            return self.printed
        beyond = [str(c) for c in bound.conditions if c not in case.printed.conditions]
        scope = f"for {'; '.join(beyond)}" if beyond else ""
        name = bound.version
        known = name in case.versions and case.bound(name) == bound
        status = "proved" if known and self.proved[name] else "unproved"
        return Standing(self.printed.claim, status, scope, "")


def audited(
    item: Theorem, case: str, versions: Iterable[str] | None = None
) -> Audited | None:
    """Replay what the ledger holds for a case.

    Args:
        item: the theorem.
        case: name of its case.
        versions: the versions of its bound to ask about; None: all of them.

    Returns:
        What it earns now, or None where the ledger has no entry.
    """
    claim = ledger().of_case(item.key, case)
    if claim is None:
        return None
    entry = ledger().entry(claim.id)
    shown = next(iter(entry.outcome.findings), None)
    asked = item.case(case).versions if versions is None else versions
    return Audited(
        entry.standing,
        {name: proved(item, item.case(case).bound(name)) for name in asked},
        shown,
        None if shown is None else followed(shown),
    )


def followed(finding: Finding) -> Course:
    """Return the course of a finding that breaks a printed bound."""
    run = finding.run
    rounds, left, right = course(run)
    unit = mean_rate(printed(run).metric, rounds, run.schedule)
    return Course(rounds, left / unit, right / unit, crossing(run))
