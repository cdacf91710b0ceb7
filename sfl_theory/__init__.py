"""Bounds of papers on split federated learning, symbolic and numeric.

Names are imported when they are first used: an audit needs no symbolic algebra.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfl_theory import schedules as schedules
    from sfl_theory.bound import Bound, Finding, Metric, Source, StepSize
    from sfl_theory.constants import Constants
    from sfl_theory.papers.baselines import TABLE_4, rate_table
    from sfl_theory.registry import theorem, theorems
    from sfl_theory.statement import Case, Theorem

_HOMES = {
    "Bound": "bound",
    "Case": "statement",
    "Constants": "constants",
    "Finding": "bound",
    "Metric": "bound",
    "Source": "bound",
    "StepSize": "bound",
    "TABLE_4": "papers.baselines",
    "Theorem": "statement",
    "rate_table": "papers.baselines",
    "theorem": "registry",
    "theorems": "registry",
}

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


def __getattr__(name: str) -> Any:
    """Import a public name from its module on first use.

    Args:
        name: the attribute asked for.

    Returns:
        The object.

    Raises:
        AttributeError: if the package has no such name.
    """
    if name == "schedules":
        return import_module("sfl_theory.schedules")
    if name not in _HOMES:
        raise AttributeError(f"module 'sfl_theory' has no attribute '{name}'")
    return getattr(import_module(f"sfl_theory.{_HOMES[name]}"), name)
