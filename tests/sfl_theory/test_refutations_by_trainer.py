"""Every refutation by a run of an algorithm is a run of the ordinary trainer too."""

from __future__ import annotations

import re

import numpy as np
import pytest
from by_trainer import RUNS

from sfl_theory.audits import LEDGER
from sfl_theory.evidence.claim import Refutation

CONFIDENCE = 4.0
"""Half width of the interval in standard errors."""

NO_RUN = {
    "compares formulas or numbers": frozenset({
        "han2024/eq-67",
        *(
            f"han2024/step-3.{k}/{side}"
            for k in (6, 8)
            for side in ("client", "server")
        ),
        "han2024/step-3.9/non_convex",
        "huang2023/cond-eta",
        "dachille2024/table-3/v1-below-v2",
        "dachille2024/table-4/v2-early-cut",
        "dachille2024/tables/gap-widens",
        "dachille2024/tables/v2-more-pronounced",
    }),
    "speaks of every step size at once": frozenset({
        "han2024/table-2/fl-16",
        "han2024/table-3/sgd/general_convex",
        "han2024/table-3/sgd/non_convex",
    }),
    "needs q_n = 0, which the trainer refuses": frozenset({
        "han2024/eq-3/unbiased/q-zero"
    }),
    "speaks of a function or a sample's loss at given points": frozenset({
        "han2024/app-C.3/smoothness",
        "han2024/app-E.1/sum-of-gradients",
        "huang2023/eq-13/4",
        "huang2023/eq-13/5",
        "huang2023/eq-15/sign",
        "huang2023/eq-33",
        "huang2023/eq-33/1",
    }),
    "speaks of gradients at given local models": frozenset({
        "huang2023/eq-12/local",
        "huang2023/gradient-point",
    }),
}
"""Refuted claims that are not about a run, and why."""

ELSEWHERE = (
    # Tables 1-4 of han2024, its conditions, what its text reads off bounds: formulas
    r"han2024/(table-\d+|cond-3\.\d|cond/non_convex|text/[^/]+)/.*",
    # its learning rates and how it merges the bounds of two blocks: formulas
    r"han2024/app-[D-G]\.1(\.\d)?/(first-rate|merge|merged-rate)",
    # single equations inside the proofs of han2024: test_equations_*.py
    r"han2024/eq-(?!(3|67|78|127|171|73/middle|136/middle)(/|$)).*",
)


def refuted():
    return [c for c in LEDGER.claims() if isinstance(c.evidence, Refutation)]


def instances(claim):
    return (claim.evidence.instance, *claim.evidence.further)


CASES = [
    pytest.param(claim.id, k, id=f"{claim.id}#{k}")
    for claim in refuted()
    if claim.id in RUNS
    for k in range(len(instances(claim)))
]


@pytest.mark.parametrize(("identifier", "k"), CASES)
def test_the_trainer_gives_the_left_side(identifier: str, k: int) -> None:
    found = instances(LEDGER.claim(identifier))[k]()
    trained = RUNS[identifier][k]()
    low, high, bound = (float(x) for x in (found.left.low, found.left.high,
                                           found.right.high))  # fmt: skip
    values, p = trained.values, trained.probability
    if p is None and np.ptp(values) <= 1e-12 * np.abs(values).max():
        p = np.full(values.size, 1 / values.size)
    if p is not None:
        mean, tolerance = float(values @ p), 1e-10 * max(abs(low), abs(high))
        assert low - tolerance <= mean <= high + tolerance
        assert mean > bound
        return
    mean, error = values.mean(), values.std(ddof=1) / np.sqrt(values.size)
    assert mean - CONFIDENCE * error <= high
    assert low <= mean + CONFIDENCE * error
    assert mean - CONFIDENCE * error > bound


def test_every_refutation_by_a_run_is_trained() -> None:
    """A refuted claim has a row in ``RUNS``, or stands in ``NO_RUN`` with a reason."""
    exempt = frozenset().union(*NO_RUN.values())
    refutations = {claim.id: claim for claim in refuted()}
    missing = [
        key
        for key in refutations
        if key not in RUNS
        and key not in exempt
        and not any(re.fullmatch(pattern, key) for pattern in ELSEWHERE)
    ]
    assert not missing, f"train these, or say in NO_RUN why not: {missing}"
    assert not exempt & set(RUNS)
    entered = {claim.id for claim in LEDGER.claims()}
    stale = (exempt | set(RUNS)) & entered - set(refutations)
    assert not stale, f"not refuted any more, take them out: {sorted(stale)}"
    for key in set(RUNS) & entered:
        assert len(RUNS[key]) == len(instances(refutations[key])), key
