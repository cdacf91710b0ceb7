"""What the ledger says of a theorem's case: never more than its evidence earns."""

from __future__ import annotations

import pytest

from sfl_theory import theorem, theorems
from sfl_theory.ledger import STATUSES, entered, ledger, replayed, standing
from sfl_theory.symbols import tau, tau_server

CASES = [(item.key, name) for item in theorems() for name in item.cases]


@pytest.mark.parametrize(("key", "case"), CASES)
def test_entered_standing_is_the_replayed_one(key: str, case: str) -> None:
    """``list`` and the pictures say without a replay what the replay says."""
    found = standing(key, case)
    assert found is not None
    assert found == replayed(key, case)
    assert ledger().claim(found.claim).id == found.claim


def test_scope_and_cause_read_in_a_sentence() -> None:
    """The scope follows the status; the cause is one line, of a refutation only."""
    for found in map(entered, ledger().claims()):
        assert found.scope.split(" ")[0] not in STATUSES, found.claim
        assert "\n" not in found.scope + found.cause, found.claim
        assert bool(found.cause) == (found.status == "refuted"), found.claim


def test_claims_are_found_under_both_kinds_of_id() -> None:
    """A case of a theorem, and a statement that has one case, under its own id."""
    for key, case in CASES:
        of_case = len(theorem(key).cases) > 1
        assert standing(key, case).claim == (f"{key}/{case}" if of_case else key)
    assert standing("nobody2020/thm-1", "non_convex") is None
    assert replayed("han2024/thm-3.7", "no_case") is None


@pytest.mark.parametrize("number", ["3.6", "3.8"])
def test_printed_and_repaired_coincide_for_equal_periods(number: str) -> None:
    """The scope says "true as printed for equal ones": the repair then is the print."""
    case = theorem(number).case("strongly_convex")
    printed, repaired = case.bound("printed"), case.bound("repaired")
    assert dict(printed.parts) == dict(repaired.parts)
    for side in ("client", "server"):
        ours, theirs = (getattr(b.step_size, side) for b in (repaired, printed))
        assert ours != theirs
        assert (ours - theirs).xreplace({tau_server: tau}) == 0
    found = ledger().entry(f"han2024/thm-{number}/strongly_convex").repair
    assert found is not None
    assert found.status == "proved"
