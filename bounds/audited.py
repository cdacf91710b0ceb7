"""What the ledger says of a case of a theorem, replayed now."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bounds.informative import mean_rate
from sfl_theory import Bound, Theorem
from sfl_theory.evidence.expected_run import course, crossing
from sfl_theory.evidence.instance import Finding
from sfl_theory.evidence.moments import printed
from sfl_theory.evidence.standing import Standing, standing
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
        repair: status of what is proved in its place, or None where there is nothing.
        instance: both sides on the mildest instance that refutes it, or None.
        course: the instance round by round, or None where it has no rounds.
    """

    printed: Standing
    repair: str | None
    instance: Finding | None
    course: Course | None

    def of(self, case: Case, bound: Bound) -> Standing:
        """Return the standing of one version of the case's bound.

        Args:
            case: of the theorem.
            bound: one of its versions.

        Returns:
            The printed statement's, or that of what is proved in its place; the scope
            is then what the paper does not assume.
        """
        if bound.version == "printed":
            return self.printed
        beyond = [c for c in bound.conditions if c not in case.printed.conditions]
        scope = f"for {'; '.join(beyond)}" if beyond else ""
        return Standing(self.printed.claim, self.repair or "unproved", scope, "")


def audited(item: Theorem, case: str) -> Audited | None:
    """Replay what the ledger holds for a case.

    Args:
        item: the theorem.
        case: name of its case.

    Returns:
        What it earns now, or None where the ledger has no entry.
    """
    from sfl_theory.audits import LEDGER

    known = standing(item.key, case)
    if known is None:
        return None
    entry = LEDGER.entry(known.claim)
    outcome = entry.outcome
    shown = next(
        (one for one in outcome.findings if one.run is not None or len(one.curve) > 1),
        None,
    )
    return Audited(
        Standing(known.claim, outcome.status, entry.scope, entry.cause),
        None if entry.repair is None else entry.repair.status,
        shown,
        None if shown is None else _course(shown),
    )


def _course(finding: Finding) -> Course | None:
    """Return the course of a finding that is a run, else of its own curve."""
    if finding.run is not None:
        rounds, left, right = course(finding.run)
        schedule = finding.run.schedule
        unit = mean_rate(printed(finding.run).metric, rounds, schedule)
        return Course(rounds, left / unit, right / unit, crossing(finding.run))
    if len(finding.curve) < 2:
        return None
    rounds, left, right = (np.array(c) for c in zip(*finding.curve, strict=True))
    return Course(rounds, left, right, int(rounds[np.argmax(left > right)]))
