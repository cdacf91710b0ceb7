"""Which version of a bound a user gets who asks for one by name."""

from __future__ import annotations

from dataclasses import dataclass

from sfl_theory.bound import Bound
from sfl_theory.ledger import standing
from sfl_theory.statement import Case, Theorem


@dataclass(frozen=True)
class Choice:
    """A bound of a case and the version that it is.

    Attributes:
        version: one of the case's versions.
        bound: the bound in it.
        why: why it is not the version asked for; "" where it is.
    """

    version: str
    bound: Bound
    why: str = ""


def choose(item: Theorem, case: Case, version: str) -> Choice:
    """Return the bound of a case in a version.

    Args:
        item: the theorem.
        case: one of its cases.
        version: "printed", "repaired", "sharper", ... Where the printed bound is proved
            it is the repaired one too, and ``why`` says so.

    Returns:
        The choice.

    Raises:
        ValueError: if the case has no such version; one line names the versions that
            exist, case by case.
    """
    if version in case.versions:
        return Choice(version, case.bound(version))
    found = standing(item.key, case.name)
    if version == "repaired" and found is not None and found.status == "proved":
        words = f"the printed bound: it is {found.words}, so nothing is repaired"
        return Choice("printed", case.printed, words)
    there = "; ".join(f"{c.name}: {', '.join(c.versions)}" for c in item.cases.values())
    raise ValueError(
        f"{item.key} ({case.name}) has no version '{version}'; there are {there}"
    )
