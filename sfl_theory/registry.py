"""Finding a theorem by its number or its full identifier."""

from __future__ import annotations

from sfl_theory.papers import dachille2024, han2024, huang2023
from sfl_theory.statement import Theorem

_ALL = {
    item.key: item
    for item in (*han2024.THEOREMS, *huang2023.THEOREMS, *dachille2024.THEOREMS)
}
_SHORT = {item.number: item for item in han2024.THEOREMS}


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
