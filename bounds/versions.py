"""Which versions of a bound a comparison shows."""

from __future__ import annotations

from collections.abc import Sequence

from sfl_theory import Bound, Case, Theorem
from sfl_theory.best import choose
from sfl_theory.conditions import EqualPeriods

ANY_PERIODS = "any_periods"
STORY = ("printed", "repaired", "sharper")
DRAWN = ("best", "certified", "round by round", "round_by_round")
"""Lines that are no version of a bound."""
SHORT = {"story": STORY, "both": ("printed", "repaired")}


def versions(
    item: Theorem, cases: Sequence[Case], version: str, one_period: bool = True
) -> tuple[dict[str, list[Bound]], list[str]]:
    """Return the bounds asked for, case by case.

    "story" and "both" show those of their versions that a case has; for unequal periods
    a bound on equal ones gives way to "any_periods" where there is that. Where the
    printed bound is proved it is its own repaired bound: "repaired" returns it.

    Args:
        item: the theorem.
        cases: of it.
        version: "story", "both", or the name of a version.
        one_period: whether both sides aggregate after as many steps.

    Returns:
        Case -> bounds, and what a reader must know of the choice.

    Raises:
        ValueError: if a case lacks the version; the message names those there are.
    """
    found: dict[str, list[Bound]] = {}
    notes = []
    for case in cases:
        if version in SHORT:
            names = [name for name in SHORT[version] if name in case.versions]
            bounds = [case.bound(name) for name in names]
            if not one_period and ANY_PERIODS in case.versions:
                bounds = [
                    case.bound(ANY_PERIODS) if bound.assumes(EqualPeriods) else bound
                    for bound in bounds
                ]
            found[case.name] = bounds
        elif version in DRAWN:
            raise ValueError(f"'{version}' is drawn by 'story', beside the others")
        else:
            choice = choose(item, case, version)
            found[case.name] = [choice.bound]
            if choice.why:
                notes.append(f"{case.name}: {choice.why}")
    return found, notes
