"""Bounds of papers on split federated learning, symbolic and numeric.

Names are imported when they are first used: an audit needs no symbolic algebra.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfl_theory import lazy

if TYPE_CHECKING:
    from sfl_theory import schedules as schedules
    from sfl_theory.bound import Bound, Finding, Metric, Source
    from sfl_theory.constants import Constants
    from sfl_theory.ledger import claim, claims
    from sfl_theory.papers.baselines import TABLE_4, rate_table
    from sfl_theory.registry import theorem, theorems
    from sfl_theory.statement import Case, Theorem
    from sfl_theory.step_size import StepSize

__all__ = [
    "TABLE_4",
    "Bound",
    "Case",
    "Constants",
    "Finding",
    "Metric",
    "Source",
    "StepSize",
    "Theorem",
    "claim",
    "claims",
    "rate_table",
    "schedules",
    "theorem",
    "theorems",
]

__getattr__ = lazy.names(
    __name__,
    {
        "bound": "Bound Finding Metric Source",
        "constants": "Constants",
        "ledger": "claim claims",
        "papers.baselines": "TABLE_4 rate_table",
        "schedules": "",
        "registry": "theorem theorems",
        "statement": "Case Theorem",
        "step_size": "StepSize",
    },
)
