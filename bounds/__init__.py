"""Bounds beside measurements: compare, judge, draw.

``bounds.compare`` is the command; ``bounds.comparison.compare`` does the same from
Python.
"""

from bounds.comparison import Comparison
from bounds.experiment import Experiment
from bounds.measurement import Measurement, measure
from bounds.verdict import Band, Verdict, judge

__all__ = [
    "Band",
    "Comparison",
    "Experiment",
    "Measurement",
    "Verdict",
    "judge",
    "measure",
]
