"""What the audit says of a theorem's case: never more than its evidence earns."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from sfl_theory import theorem, theorems
from sfl_theory.audits import LEDGER
from sfl_theory.evidence import Check, Claim, Finding, Interval, Ledger, Refutation
from sfl_theory.evidence.standing import declared, replayed, standing
from sfl_theory.symbols import tau, tau_server

CASES = [(item.key, name) for item in theorems() for name in item.cases]


@pytest.mark.parametrize(("key", "case"), CASES)
def test_declared_standing_is_the_replayed_one(key: str, case: str) -> None:
    """``list`` and the pictures say without a replay what the replay says."""
    found = standing(key, case)
    assert found is not None
    assert found == replayed(key, case)
    assert found.scope
    assert LEDGER.claim(found.claim).id == found.claim


@pytest.mark.parametrize(("key", "case"), CASES)
def test_cause_is_one_readable_line(key: str, case: str) -> None:
    """A refuted case has one sentence that fits a line, every other one has none."""
    found = standing(key, case)
    assert found is not None
    if found.status == "refuted":
        assert found.cause.endswith(".")
        assert len(found.cause) <= 80
        evidence = LEDGER.claim(found.claim).evidence
        assert isinstance(evidence, Refutation)
        assert evidence.words.startswith(found.cause)
    else:
        assert found.cause == ""


def test_claims_are_found_under_both_kinds_of_id() -> None:
    """A case of a theorem, and a statement that has one case, under its own id."""
    names = {standing(key, case).claim for key, case in CASES}
    assert names == {
        *(
            f"han2024/thm-3.{k}/{case}"
            for k in (6, 7, 8, 9)
            for case in ("strongly_convex", "general_convex", "non_convex")
        ),
        "han2024/prop-3.5", "huang2023/prop-1", "huang2023/prop-2",
        "huang2023/thm-1", "dachille2024/prop-1", "li2020/thm-1",
    }  # fmt: skip
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
    found = LEDGER.entry(f"han2024/thm-{number}/strongly_convex").repair
    assert found is not None
    assert found.status == "proved"


def holds() -> Finding:
    """Return an instance that breaks nothing."""
    one = Interval.of(Fraction(1))
    return Finding("x = 1", (Check("x > 0", True, "1 > 0"),), one, one)


def test_scope_and_cause_need_a_replay_that_passes() -> None:
    """A rejected instance earns neither; the JSON then says nothing."""
    rejected = Refutation(holds, "It is too small. So it fails.", scope="for x = 1")
    claim = Claim("mine/one", "here", "theorem", "x <= 1", rejected)
    entry = Ledger([claim]).entry(claim.id)
    assert declared(claim).words == "refuted for x = 1"
    assert declared(claim).cause == "It is too small."
    found = entry.as_dict()
    assert (found["status"], found["scope"], found["cause"]) == ("unproved", "", None)


def test_scope_and_cause_are_in_the_json() -> None:
    """Programs read what the terminal says."""
    refuted = LEDGER.entry("han2024/thm-3.7/strongly_convex").as_dict()
    found = standing("han2024/thm-3.7", "strongly_convex")
    assert found is not None
    assert (refuted["scope"], refuted["cause"]) == (found.scope, found.cause)
    proof = LEDGER.claim("han2024/prop-3.5")
    evidence = replace(proof.evidence, scope="for x")
    with_scope = replace(proof, evidence=evidence, depends_on=())
    proved = Ledger([with_scope]).entry(proof.id).as_dict()
    assert (proved["scope"], proved["cause"]) == ("for x", None)
