"""Finding a theorem by its number or its full identifier."""

from __future__ import annotations

from importlib import import_module

from sfl_theory.papers import PAPERS
from sfl_theory.statement import Case, Theorem

_ALL: dict[str, Theorem] = {
    item.key: item
    for paper in PAPERS
    for item in import_module(f"sfl_theory.papers.{paper}.bounds").THEOREMS
}
_SHORT = {item.number: item for item in _ALL.values() if item.paper == PAPERS[0]}


def theorems() -> tuple[Theorem, ...]:
    """Return every numbered statement that has a bound, paper by paper."""
    return tuple(_ALL.values())


def theorem(identifier: str) -> Theorem:
    """Return a theorem or proposition.

    Args:
        identifier: "3.7" (numbers alone mean ``han2024``) or "huang2023/thm-1".

    Returns:
        The theorem.

    Raises:
        ValueError: if there is none of that name; the message lists the valid ones.
    """
    found = _SHORT.get(identifier) or _ALL.get(identifier)
    if found is None:
        valid = ", ".join([*_SHORT, *(key for key in _ALL)])
        raise ValueError(f"unknown theorem '{identifier}'; valid are: {valid}")
    return found


def case_of(claim: str) -> Case | None:
    """Return the case that a claim of the ledger is, by its id; None for others."""
    if claim in _ALL:
        cases = _ALL[claim].cases
        return next(iter(cases.values())) if len(cases) == 1 else None
    key, _, name = claim.rpartition("/")
    return _ALL[key].cases.get(name) if key in _ALL else None
