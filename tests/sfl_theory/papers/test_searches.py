"""What is proved survives a search: random models that meet its assumptions."""

from __future__ import annotations

import random

import pytest

from sfl_theory.claims import Part, Proof, parts_of
from sfl_theory.kernel import replay
from sfl_theory.kernel.algebra import Rejected
from sfl_theory.ledger import ledger
from sfl_theory.mutation.changes import neighbours
from sfl_theory.mutation.sampling import Sampler
from sfl_theory.proofs.export import Statement

PROVED = {
    name: part
    for claim in ledger().claims()
    for name, part in parts_of(claim)
    if isinstance(part.by, Proof)
}


def violated(statement: Statement, models: int, seed: int = 0) -> bool:
    """Return whether a sampled model meets all hypotheses and breaks a statement."""
    one = statement
    sampler = Sampler(one, random.Random(f"{seed} {one.id}"))
    for _ in range(models):
        model = sampler.model()
        try:
            if model is not None:
                replay.decide(
                    one.id, one.hypotheses, one.left, one.right, one.equal, None, model
                )
                return True
        except Rejected:
            continue  # the model misses a hypothesis or breaks nothing
    return False


@pytest.mark.parametrize("name", sorted(PROVED)[5::48])
def test_no_violation(name: str) -> None:
    assert not violated(PROVED[name].says.statement(name), 3)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(PROVED)[::12])
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
    assert any(violated(one, 300) for one in halved)
