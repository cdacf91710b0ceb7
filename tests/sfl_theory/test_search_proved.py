"""No member of its class is found that violates a proved inequality.

Statements are evaluated on runs of the ordinary trainer and on random functions, not
through their certificates. Every search is shown able to fail.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from search import SETTINGS
from search_dachille2024 import DACHILLE2024
from search_han2024_foundations import FOUNDATIONS
from search_han2024_lemmas import LEMMAS
from search_han2024_theorems import THEOREMS
from search_huang2023 import HUANG2023
from search_numbers import searches

from sfl_theory.audits import LEDGER
from sfl_theory.evidence.claim import Proof

STATED = {**LEMMAS, **THEOREMS, **FOUNDATIONS, **HUANG2023, **DACHILLE2024}
"""Claim, or claim#repair, -> its search. One line per statement."""

ELSEWHERE = (
    # single equations inside the proofs of han2024: test_equations_*.py
    r"han2024/eq-(?!(3|67|78|127)(/|#|$)).*",
)


def proofs():
    for claim in LEDGER.claims():
        if isinstance(claim.evidence, Proof):
            yield claim.id, claim.evidence
        if claim.repair is not None and isinstance(claim.repair.evidence, Proof):
            yield f"{claim.id}#repair", claim.repair.evidence


def elsewhere(name: str) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in ELSEWHERE)


SEARCHES = STATED | searches(proofs(), lambda k: k in STATED or elsewhere(k))


@pytest.mark.parametrize("name", SEARCHES)
def test_nothing_violates_the_statement(name: str) -> None:
    search = SEARCHES[name]

    @settings(max_examples=search.examples, **SETTINGS)
    @given(found=search.strategy())
    def run(found) -> None:
        for sides in found:
            assert not sides.violated(), sides

    run()


@pytest.mark.parametrize("name", SEARCHES)
def test_the_search_can_fail(name: str) -> None:
    """With the right side divided by ``slack`` the same search finds a violation."""
    search = SEARCHES[name]
    assert 1 < search.slack < float("inf")
    assert search.violation(search.slack)


def test_every_proved_inequality_is_searched() -> None:
    """Add a missing one to a table of ``search_*.py``, or to ``ELSEWHERE``."""
    proved = [name for name, _ in proofs()]
    missing = [k for k in proved if k not in SEARCHES and not elsewhere(k)]
    assert not missing, f"proved, but nothing searches for violations: {missing}"
    entered = {claim.id for claim in LEDGER.claims()}
    stale = {k for k in STATED if k.split("#")[0] in entered} - set(proved)
    assert not stale, f"not proved any more, take them out: {sorted(stale)}"
