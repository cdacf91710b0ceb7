"""Claims of the papers' sections: decided by the kernel, none lost, none unsaid."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

import sfl_theory.ledger
from sfl_theory.evidence import Decided, Model, Proof, decide, parts_of
from sfl_theory.ledger import declared, ledger

BASELINE = json.loads((Path(__file__).parent / "baseline.json").read_text())
"""Status and repair of every entry before claims were terms."""

MET = "assumptions are consistent: a model meets all of them, as for han2024"
LONG = "what broke it are many thousand rounds of coupled coordinates"
COUPLED = "the model of full participation is that of a second run of SFL-V2"
CHANGED = {
    **{f"dachille2024/assumption-{k}": ("proved", MET) for k in range(1, 5)},
    **dict.fromkeys(
        ("han2024/eq-73/middle", "han2024/eq-136/middle"), ("unproved", LONG)
    ),
    **dict.fromkeys(("han2024/eq-168", "han2024/eq-171"), ("unproved", COUPLED)),
    "dachille2024/eq-10": (
        "refuted",
        'its first "=" is false; a chain is refuted if one of its links is',
    ),
}
"""Entries whose status is another one now, and why."""

CLAIMS = ledger().claims()
PARTS = {name: part for claim in CLAIMS for name, part in parts_of(claim)}


def decided(name: str) -> Decided:
    """Ask as the ledger does."""
    return sfl_theory.ledger.decide(PARTS[name], name)


@pytest.mark.parametrize("name", PARTS)
def test_the_kernel_decides_as_entered(name: str) -> None:
    """A theorem that is not the statement, or a model that fails, would show here."""
    part, found = PARTS[name], decided(name)
    if part.by is None:
        assert found.status == "unproved"
        return
    wanted = "proved" if isinstance(part.by, Proof) or part.says.denied else "refuted"
    assert found.status == wanted, found.lines


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_what_is_decided_is_explained(claim) -> None:
    """Every proof names a model that meets its assumptions, or why there is none."""
    for name, part in parts_of(claim):
        if isinstance(part.by, Proof) and not part.by.vacuous:
            found = decided(name).claim
            assert found is not None and found.sides is not None, name
    if not claim.parts:
        assert claim.words, "an open claim says what was tried"


def test_no_entry_is_lost_and_changed_verdicts_have_a_reason() -> None:
    """Every id stays with its status, and what was repaired stays repaired."""
    claims = {claim.id: claim for claim in CLAIMS}
    assert BASELINE.keys() <= claims.keys()
    for key, old in BASELINE.items():
        status, _, repair = old.partition(", repair ")
        now = declared(claims[key].parts)
        assert now == CHANGED.get(key, (status,))[0], key
        if repair == "proved" and now == "refuted":
            assert claims[key].repair is not None, key
            assert declared(claims[key].repair.parts) == "proved", key


def test_a_wrong_theorem_and_a_wrong_model_decide_nothing() -> None:
    """The evidence of one claim is offered for another: the kernel refuses both."""
    nothing_is_decided_by_neighbours(first=0)
    models = [(n, p) for n, p in PARTS.items() if isinstance(p.by, Model)]
    proofs = [(n, p) for n, p in PARTS.items() if isinstance(p.by, Proof)]
    for (name, part), (_, other) in zip(models, proofs, strict=False):
        swapped = type(part)(other.says, part.by)
        assert decide(swapped, name).status != "proved" or part.says.denied, name


@pytest.mark.long
def test_no_theorem_decides_its_neighbour() -> None:
    nothing_is_decided_by_neighbours(first=3)


def nothing_is_decided_by_neighbours(first: int) -> None:
    """Offer every sixth proved statement the proof of the next one.

    Statements with the same difference of sides, 0 = 0 for figures, share a proof.
    """
    proofs = [(n, p) for n, p in PARTS.items() if isinstance(p.by, Proof)]
    for (name, part), (_, other) in [*pairwise(proofs)][first::6]:
        room, rest = (p.says.right.value - p.says.left.value for p in (part, other))
        if room - rest:
            swapped = type(part)(part.says, other.by)
            assert decide(swapped, name).status == "unproved", name
