"""Kinds of models, each of which breaks a false claim that is not broken without it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from ledger_parts import PARTS, read_part

import sfl_theory.mutation.frames as frames
import sfl_theory.mutation.judged as judged
from sfl_theory.kernel.conditions import prepared
from sfl_theory.kernel.terms import subterms
from sfl_theory.mutation.building import build, exact_model
from sfl_theory.mutation.changes import Neighbour
from sfl_theory.mutation.genes import first_genes
from sfl_theory.mutation.search import broken
from sfl_theory.proofs.export import model_of

CROWDED = "han2024/text/v1-v2/non_convex/similar"
"""45 clients are needed."""
LARGE = "han2024/cond/non_convex/any-rate--4"
"""More than 1000 rounds are needed, of which nothing is played."""
NEARLY_AT_REST = "han2024/eq-147"
"""The slope of one block has to be 1/100 of the other one's, and not 0."""


def refound(name: str) -> bool:
    """Return whether a false claim is broken in forty turns."""
    one = PARTS[name].says.statement(name)
    same = Neighbour("none", "nothing", one, one.hypotheses, one.left)
    return bool(broken([same], {0}, set(), judged.refutes, name, 40, 40))


@pytest.mark.parametrize(
    ("name", "often"),
    [
        (CROWDED, "frames.CROWDED"),
        (LARGE, "frames.LONG_RUNS"),
        (NEARLY_AT_REST, "building.Frame.near"),
    ],
)
def test_a_claim_is_broken_with_the_kind_and_not_without(
    name: str, often: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refound(name)
    monkeypatch.setattr(f"sfl_theory.mutation.{often}", 0)
    assert not refound(name)


@pytest.mark.parametrize("name", ["han2024/cond/non_convex/any-rate--3", CROWDED])
def test_clients_that_are_alike_are_summed_as_the_kernel_does(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both sides are the kernel's, one client by one; 1/q - 1 has a rounding error."""
    monkeypatch.setattr(frames, "CROWDED", 1)
    monkeypatch.setattr(frames, "CLIENTS", 100)
    one, read = read_part(name)
    inside = subterms(one.left, one.right, *one.hypotheses)
    rng, dice, sizes = random.Random(3), np.random.default_rng(3), set()
    for _ in range(20):
        frame = frames.drawn_frame(read, one.hypotheses, frozenset(), rng)
        if frame is None:
            continue
        genes = first_genes(frame, 3, dice)
        _, e = build(frame, read, genes, exact=False)
        row = {key: float(a[1, 0]) for key, a in genes.items()}
        data = exact_model(frame, read, row)
        kernel = prepared(model_of(data), inside)
        for side in (one.left, one.right):
            value, size = e.form(side)
            assert abs(float(kernel.form(side)) - value[1, 0]) <= 1e-3 * size[1, 0]
        assert len(data.weights) == frame.clients * frame.copies
        sizes.add((frame.clients, frame.copies > 1))
    assert {(1, True), (2, True), (3, True)} <= sizes
