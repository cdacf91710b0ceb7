"""Bounds of papers on split federated learning, symbolic and numeric."""

from sfl_theory import schedules
from sfl_theory.bound import Bound, Finding, Metric, Source, StepSize
from sfl_theory.constants import Constants
from sfl_theory.papers.baselines import TABLE_4, rate_table
from sfl_theory.registry import theorem, theorems
from sfl_theory.statement import Case, Theorem

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
    "rate_table",
    "schedules",
    "theorem",
    "theorems",
]
