"""Bounds beside measurements: compare, judge, draw."""

from bounds.comparison import Comparison, compare
from bounds.experiment import Experiment
from bounds.measurement import Measurement, measure
from bounds.verdict import Band, Verdict, judge

__all__ = [
    "Band",
    "Comparison",
    "Experiment",
    "Measurement",
    "Verdict",
    "compare",
    "judge",
    "measure",
]
