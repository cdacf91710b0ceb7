"""Column generation among many pairs ends where its last turn was solved to the end."""

from __future__ import annotations

from fractions import Fraction as Q

import pytest

from sfl_theory.worst_case import columns
from sfl_theory.worst_case.assumptions import formulated
from sfl_theory.worst_case.setting import Setting


def test_a_paused_turn_that_gains_little_is_no_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is rough: its value may be above an earlier one and far above the worst."""
    steps, tolerance = (Q(1, 2),) * 5, 2e-5
    program = formulated(
        Setting("sfl-v1", 5, steps, steps, Q(1), Q(1, 10), G2=Q(1), start="gradients")
    )
    monkeypatch.setattr(columns, "MANY", 0)
    monkeypatch.setattr(columns, "ALL_AT_ONCE", 50)
    found = columns.searched(program, tolerance)
    assert len(found.constraints) < len(program.pairs)
    assert found.solution.status != "paused"
    assert found.solution.residual < tolerance
