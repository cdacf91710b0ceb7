"""The ledger's proofs, made once for all tests."""

from __future__ import annotations

import os

from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import ledger
from sfl_theory.proofs.export import Statement

PROOFS: dict[str, tuple[Statement, Theorem]] = {
    statement.id: (statement, prove()) for statement, prove in ledger.proofs()
}
SHORTER = [pair for name, pair in PROOFS.items() if "longer-client" not in name]


def many(few: int) -> int:
    """Return how many random cases a long test tries.

    ``SFL_KERNEL_CASES=10000`` in the environment asks for so many; else it is few, so
    that the long tests of this folder take about two minutes.
    """
    return int(os.environ.get("SFL_KERNEL_CASES", few))
