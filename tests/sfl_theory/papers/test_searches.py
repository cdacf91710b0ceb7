"""What is proved survives a search: random models that meet its assumptions."""

from __future__ import annotations

import pytest

from sfl_theory.evidence import Part, Proof, parts_of
from sfl_theory.ledger import ledger
from sfl_theory.mutation.changes import Neighbour, neighbours
from sfl_theory.mutation.judged import refutes
from sfl_theory.mutation.search import broken
from sfl_theory.proofs.export import Statement

PROVED = {
    name: part
    for claim in ledger().claims()
    for name, part in parts_of(claim)
    if isinstance(part.by, Proof)
}


def violated(one: Statement, frames: int, seed: int = 0) -> bool:
    """Return whether a model is found that meets all hypotheses and breaks it."""
    same = Neighbour("none", "nothing", one, one.hypotheses, one.left)
    return bool(broken([same], {0}, set(), refutes, f"{seed} {one.id}", frames, frames))


@pytest.mark.parametrize("name", sorted(PROVED)[5::24])
def test_no_violation(name: str) -> None:
    assert not violated(PROVED[name].says.statement(name), 3)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(PROVED)[::6])
def test_no_violation_of_more(name: str) -> None:
    assert not violated(PROVED[name].says.statement(name), 2, seed=1)


@pytest.mark.parametrize("name", ["han2024/lemma-C.3", "han2024/prop-3.5"])
def test_the_search_finds_what_is_false(name: str) -> None:
    """Half of a right side is broken by a model that the same search draws."""
    part: Part = PROVED[name]
    halved = (
        one.statement
        for one in neighbours(part.says, name)
        if one.operator == "constant halved"
    )
    assert all(violated(one, 40) for one in halved)
