"""The ledger: ids and dependences that fit, entries that say what they earn now."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

import sfl_theory
from sfl_theory import theorems
from sfl_theory.evidence import Claim, Kind, Model, Part, Severity, parts_of, says
from sfl_theory.ledger import (
    Entry,
    Ledger,
    declared,
    entered,
    ledger,
)
from sfl_theory.models.federation import bare
from sfl_theory.notation import written as w

pytestmark = pytest.mark.fast

CLAIMS = ledger().claims()
c = w.positive("c")
TOO_LARGE = Part(says(c, 1), Model(lambda: bare(1, {c: 2}), "c = 2"))


FOLLOWS = {
    "after", "already", "as", "at", "between", "by", "for", "from", "in", "of", "on",
    "so", "together", "under", "whenever", "where", "wherever", "with", "within",
}  # fmt: skip
"""Words with which a scope goes on after "proved" or "refuted"."""


def test_scopes_follow_their_verdict_in_a_sentence() -> None:
    """'refuted for two clients', not 'refuted True as printed' or 'refuted q_n < 1'."""
    for one in CLAIMS:
        scope = entered(one).scope
        assert not scope or scope.split()[0].strip(",;") in FOLLOWS, one.id
        assert scope or declared(one.parts) != "refuted", f"{one.id}: refuted for what?"


def test_a_paper_calls_its_optimum_by_its_own_name() -> None:
    """What is assumed without being said is printed as han2024 writes it."""
    own = w.minimiser(w.f)
    for one in CLAIMS:
        for name, part in parts_of(one):
            assert own not in part.says.assumed or name.startswith("han2024"), name


def claim(identifier: str, uses: str = "", *parts: Part) -> Claim:
    refuted = any(isinstance(part.by, Model) for part in parts)
    severity, cause = (Severity.THEOREM, "too large") if refuted else (None, "")
    return Claim(
        identifier, "here", Kind.TEXT, "", parts, severity, "for c > 1", cause, "", uses
    )


def test_dependences_are_known_and_have_no_circle() -> None:
    one, two = claim("mine/one"), claim("mine/two", "one one")
    found = Ledger([two, one])
    assert found.claims() == (two, one)
    assert found.claim("mine/two").depends_on == ("mine/one", "mine/one")
    assert found.entry("mine/one").used_by == ("mine/two",)
    for claims, words in (
        ([one, one], "two claims are called mine/one"),
        ([two], "mine/two depends on unknown mine/one"),
        (
            [two, claim("mine/one", "two")],
            "each other: mine/two -> mine/one -> mine/two",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            Ledger(claims)
    with pytest.raises(ValueError, match="unknown claim 'mine/tw'; close: mine/two"):
        found.claim("mine/tw")


def test_a_paper_is_named_by_its_key() -> None:
    """A user's claim may rest on one of a paper."""
    used = claim("mine/one", "han2024/prop-3.5 two").depends_on
    assert used == ("han2024/prop-3.5", "mine/two")


@pytest.mark.parametrize("number", range(0, len(CLAIMS), 29))
def test_a_claim_read_alone_is_that_of_the_ledger(number: int) -> None:
    """However few sections are read, an id finds its claim, and who rests on it."""
    one = CLAIMS[number]
    assert sfl_theory.claim(one.id).claim is one
    assert sfl_theory.claim(one.id).used_by == ledger().entry(one.id).used_by


def test_an_unknown_id_is_refused_with_close_ones() -> None:
    for wrong in ("han2024/eq-5x", "nobody/eq-57", "eq-57"):
        with pytest.raises(ValueError, match=f"unknown claim '{wrong}'"):
            sfl_theory.claim(wrong)


def test_the_package_has_the_claims_by_name_and_all() -> None:
    """The names that users import; a paper that is not there is refused."""
    some = sfl_theory.claims("li2020")
    assert [one.claim for one in some] == [*ledger().claims("li2020")]
    assert len(sfl_theory.claims()) == len(CLAIMS) > len(some)
    assert sfl_theory.claim("li2020/lemma-1").as_dict()["status"] == "proved"
    with pytest.raises(ValueError, match="unknown paper 'nobody': there are han2024"):
        sfl_theory.claims("nobody")


def test_one_claim_is_decided_without_symbolic_algebra() -> None:
    """Reading one claim loads neither sympy nor the sections of other papers."""
    code = (
        "import sys; from sfl_theory.ledger import claim;"
        "claim('li2020/lemma-1').outcome;"
        "print([m for m in sys.modules if m == 'sympy' or 'han2024' in m])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_users_and_used_are_the_same_pairs() -> None:
    rests = {(c.id, other) for c in CLAIMS for other in c.depends_on}
    used = {(user, c.id) for c in CLAIMS for user in ledger().entry(c.id).used_by}
    assert rests == used != set()


def test_an_entry_says_what_its_evidence_earns() -> None:
    two, one = claim("mine/two", "", TOO_LARGE), claim("mine/one", "two")
    found = Ledger([two, one], "a b.py").entry("mine/two").as_dict()
    lines = found.pop("evidence")
    assert lines[:2] == ["c = 2", "mine/two: refuted"]
    assert found == {
        "id": "mine/two",
        "location": "here",
        "kind": "text",
        "statement": "c ≤ 1",
        "latex": [r"c \le 1"],
        "reading": "",
        "status": "refuted",
        "severity": "theorem",
        "scope": "for c > 1",
        "cause": "too large",
        "first_failure": None,
        "method": "instance",
        "reproduce": "python -m bounds.audit --file 'a b.py' --claim mine/two",
        "depends_on": [],
        "used_by": ["mine/one"],
        "repair": None,
    }
    assert list(found) == [key for key in found if key != "evidence"]


def test_scope_and_cause_need_a_model_that_decides() -> None:
    """One that meets no hypothesis or breaks nothing earns neither."""
    small = replace(TOO_LARGE, by=Model(lambda: bare(1, {c: 1})))
    one = claim("mine/one", "", small)
    assert entered(one).words == "refuted for c > 1"
    found = Entry(one).as_dict()
    assert (found["status"], found["method"]) == ("unproved", "none")
    assert (found["scope"], found["cause"], found["severity"]) == ("", None, None)
    assert "evidence rejected" in Entry(one).why


def test_evidence_that_raises_leaves_the_claim_open() -> None:
    def wrong() -> object:
        raise KeyError("no such thing")

    found = Entry(claim("mine/one", "", replace(TOO_LARGE, by=Model(wrong))))
    assert found.outcome.status == "unproved"
    assert "KeyError" in found.why


def test_entries_are_json() -> None:
    entry = ledger().entry("han2024/prop-3.5")
    assert json.loads(json.dumps(entry.as_dict())) == entry.as_dict()
    assert entry.as_dict()["status"] == "proved"


def test_every_theorem_case_has_an_entry_and_repaired_bounds_a_proof() -> None:
    """``bound("repaired")`` exists only where the ledger proves the repair."""
    for item in theorems():
        for name, case in item.cases.items():
            claim = ledger().of_case(item.key, name)
            assert claim is not None, (item.key, name)
            if case.repaired is not None:
                assert claim.repair is not None, claim.id
                assert declared(claim.repair.parts) == "proved", claim.id


def test_first_failures_are_claims_that_fail() -> None:
    """The first wrong step of a printed proof is an entry, and is refuted."""
    for one in CLAIMS:
        if one.first_failure:
            failed = ledger().claim(one.id_of(one.first_failure))
            assert entered(failed).status == "refuted", one.id


def test_a_proof_fails_where_the_lemma_that_it_starts_from_fails() -> None:
    """A theorem's first wrong step is that of one of its lemmas, if one has any."""
    for one in CLAIMS:
        if one.first_failure:
            lemmas = map(ledger().claim, one.depends_on)
            firsts = {a.id_of(a.first_failure) for a in lemmas if a.first_failure}
            assert not firsts or one.id_of(one.first_failure) in firsts, one.id


def test_no_hypothesis_reads_as_a_tautology() -> None:
    """A parameter is printed by its own letter where a hypothesis says what it is."""
    for one in CLAIMS:
        for part in (*one.parts, *(one.repair.parts if one.repair else ())):
            for given in part.says.assumed:
                for sign in (r" \le ", " = "):
                    sides = given.tex.split(sign)
                    assert len(sides) != 2 or sides[0] != sides[1], (one.id, given.tex)
