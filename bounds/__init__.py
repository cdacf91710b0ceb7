"""Bounds beside measurements: compare, judge, draw, audit.

``bounds.compare`` and ``bounds.audit`` are the commands;
``bounds.comparison.compare`` does from Python what the first one does. Names are
imported when they are first used, so the audit does not wait for the trainer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfl_theory import lazy

if TYPE_CHECKING:
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

__getattr__ = lazy.names(
    __name__,
    {
        "comparison": "Comparison",
        "experiment": "Experiment",
        "measurement": "Measurement measure",
        "verdict": "Band Verdict judge",
    },
)
