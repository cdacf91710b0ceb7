"""Which proved statements say exactly what a bound of the library says.

A bound is made from its statements and named with them (`Case.proved`), so its standing
is never more than what the kernel proved. That both say the same, symbol by symbol,
left side, learning rates and hypotheses too, is read in the tests.
"""

from __future__ import annotations

from functools import cache

from sfl_theory.bound import Bound
from sfl_theory.claims import Part, decide, parts_of
from sfl_theory.ledger import ledger
from sfl_theory.registry import theorem
from sfl_theory.statement import Theorem


def backing(item: Theorem, bound: Bound) -> tuple[tuple[str, Part], ...]:
    """Return the proofs that say what a bound says, with their names.

    Args:
        item: the theorem that the bound belongs to.
        bound: one of its versions.

    Returns:
        One part, or two by which side makes more steps; empty where nothing backs it.
    """
    return _backing(item.key, bound)


@cache
def _backing(key: str, bound: Bound) -> tuple[tuple[str, Part], ...]:
    for case in theorem(key).cases.values():
        own, parts = case.variants.get(bound.version, (None, ()))
        if own == bound:
            return tuple((_names(key)[id(part)], part) for part in parts)
    return ()


@cache
def _names(key: str) -> dict[int, str]:
    """Return the name of each part, by identity; a theorem's own where it shares it."""
    claims = ledger().claims(key.partition("/")[0])
    named = [(name, id(part)) for one in claims for name, part in parts_of(one)]
    own = [pair for pair in named if pair[0].startswith(key)]
    return {part: name for name, part in reversed([*own, *named])}


def proved(item: Theorem, bound: Bound) -> bool:
    """Return whether the kernel proves, now, what a bound says."""
    return _proved(item.key, bound)


@cache
def _proved(key: str, bound: Bound) -> bool:
    parts = _backing(key, bound)
    return bool(parts) and all(_decided(name, part) for name, part in parts)


@cache
def _decided(name: str, part: Part) -> bool:
    return decide(part, name).status == "proved"
