"""A measured curve never lies above a proved bound, whatever is run."""

from __future__ import annotations

import os

import numpy as np
import pytest

from bounds.comparison import Comparison, compare
from bounds.experiment import Experiment
from sfl_theory import theorem, theorems

CONFIGURATIONS = int(os.environ.get("SFL_CONFIGURATIONS", "200"))
"""Of the long test; 500 were run once, see ``docs/sharp-bounds.md``."""
PROVED = [
    (item.key, case.name, name)
    for item in theorems()
    if item.algorithm != "any"
    for case in item.cases.values()
    for name in case.versions
    if name != "printed"
]
"""That each of them is proved: ``tests/sfl_theory/test_best.py``."""


def compared(number: int) -> Comparison | None:
    """Return a random run beside a random proved bound; None: it cannot be run so."""
    rng = np.random.default_rng(number)
    key, case, version = PROVED[rng.integers(len(PROVED))]
    clients = int(rng.integers(2, 6))
    drawn = theorem(key).participation == "partial"
    weights = ["uniform", None, tuple(rng.dirichlet(np.ones(clients)))][rng.integers(3)]
    experiment = Experiment(
        problem="quadratic:random",
        clients=clients,
        tau=int(rng.integers(1, 5)),
        rounds=int(rng.integers(2, 40)),
        seeds=6,
        seed=number,
        weights=weights,
        participation=float(rng.choice([0.2, 0.5, 0.9])) if drawn else None,
        order=str(rng.choice(["interleaved", "client-sequential"])),
    )
    try:
        return compare(key, case, version, experiment)
    except ValueError:
        return None  # the bound's hypotheses exclude the choices


def broken(numbers: range) -> list[str]:
    """Return the runs whose curve lies above the bound that speaks of them."""
    found = [compared(number) for number in numbers]
    assert sum(one is not None for one in found) > len(numbers) / 2
    return [
        f"{one.theorem.key} {one.case} {one.bound.version}"
        for one in found
        if one is not None
        and one.verdict.word == "violated"
        and not one.measurement.departures
    ]


def test_no_curve_is_above_a_proved_bound() -> None:
    assert broken(range(4)) == []


@pytest.mark.long
def test_no_curve_of_many_is_above_a_proved_bound() -> None:
    assert broken(range(1000, 1000 + CONFIGURATIONS)) == []
