"""Every part of the ledger by name, as a statement and as the search reads it."""

from __future__ import annotations

from sfl_theory.evidence import parts_of
from sfl_theory.ledger import ledger
from sfl_theory.mutation.reading import Read, Subject
from sfl_theory.proofs.export import Statement

PARTS = {name: p for claim in ledger().claims() for name, p in parts_of(claim)}


def read_part(name: str) -> tuple[Statement, Read]:
    """Return a part's statement, and what the search reads of it."""
    one = PARTS[name].says.statement(name)
    return one, Read.of(Subject(one))
