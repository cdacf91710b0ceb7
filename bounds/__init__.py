"""Bounds beside measurements: compare, judge, draw, audit.

``bounds.compare`` and ``bounds.audit`` are the commands;
``bounds.comparison.compare`` does from Python what the first one does. Names are
imported when they are first used, so the audit does not wait for the trainer.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bounds.comparison import Comparison
    from bounds.experiment import Experiment
    from bounds.measurement import Measurement, measure
    from bounds.verdict import Band, Verdict, judge

_HOMES = {
    "Band": "verdict",
    "Comparison": "comparison",
    "Experiment": "experiment",
    "Measurement": "measurement",
    "Verdict": "verdict",
    "judge": "verdict",
    "measure": "measurement",
}

__all__ = [
    "Band",
    "Comparison",
    "Experiment",
    "Measurement",
    "Verdict",
    "judge",
    "measure",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its module on first use.

    Args:
        name: the attribute asked for.

    Returns:
        The object.

    Raises:
        AttributeError: if the package has no such name.
    """
    if name not in _HOMES:
        raise AttributeError(f"module 'bounds' has no attribute '{name}'")
    return getattr(import_module(f"bounds.{_HOMES[name]}"), name)
