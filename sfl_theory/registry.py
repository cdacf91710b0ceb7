"""Finding a theorem by its number or its full identifier."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from sfl_theory.papers import PAPERS
from sfl_theory.statement import Case, Theorem


@cache
def _of(paper: str) -> dict[str, Theorem]:
    """Return a paper's theorems; its module is imported when one is asked for."""
    own: tuple[Theorem, ...] = import_module(
        f"sfl_theory.papers.{paper}.bounds"
    ).THEOREMS
    return {item.key: item for item in own}


def theorems() -> tuple[Theorem, ...]:
    """Return every numbered statement that has a bound, paper by paper."""
    return tuple(item for paper in PAPERS for item in _of(paper).values())


def theorem(identifier: str) -> Theorem:
    """Return a theorem or proposition.

    Args:
        identifier: "3.7" (numbers alone mean ``han2024``) or "huang2023/thm-1".

    Returns:
        The theorem.

    Raises:
        ValueError: if there is none of that name; the message lists the valid ones.
    """
    paper = identifier.partition("/")[0] if "/" in identifier else PAPERS[0]
    own = _of(paper) if paper in PAPERS else {}
    for item in own.values():
        if identifier == item.key or (identifier == item.number and paper == PAPERS[0]):
            return item
    short = [item.number for item in _of(PAPERS[0]).values()]
    valid = ", ".join([*short, *(item.key for item in theorems())])
    raise ValueError(f"unknown theorem '{identifier}'; valid are: {valid}")


def case_of(claim: str) -> Case | None:
    """Return the case that a claim of the ledger is, by its id; None for others."""
    paper = claim.partition("/")[0]
    own = _of(paper) if paper in PAPERS else {}
    if claim in own:
        cases = own[claim].cases
        return next(iter(cases.values())) if len(cases) == 1 else None
    key, _, name = claim.rpartition("/")
    return own[key].cases.get(name) if key in own else None
