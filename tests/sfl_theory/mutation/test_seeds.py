"""A known model is in the frames made of it, and what is near it is of its kind."""

from __future__ import annotations

import random

import numpy as np
import pytest
from ledger_parts import PARTS, read_part

from sfl_theory.evidence import evidence
from sfl_theory.kernel.conditions import meeting
from sfl_theory.mutation.building import (
    POSITIVE,
    SIGNED,
    Frame,
    build,
    exact_model,
)
from sfl_theory.mutation.crowd import Shape
from sfl_theory.mutation.genes import Genes, nearby
from sfl_theory.mutation.reading import Read
from sfl_theory.mutation.rounding import EPS, error
from sfl_theory.mutation.seeds import planted
from sfl_theory.proofs.export import ModelData, Statement, model_of

NARROW = (
    "han2024/thm-3.9/general_convex/falling-rates",
    "han2024/thm-3.9/strongly_convex--repair--3",
    "han2024/lemma-C.3",
)
"""Rates round by round, gradients on a run; and a statement with room."""


def seeded(
    name: str,
) -> tuple[Statement, Read, ModelData, list[tuple[Frame, Genes]]]:
    """Return a statement as it is read, its known model, and the frames of that."""
    one, read = read_part(name)
    _, data = evidence(PARTS[name], name)
    assert data is not None
    return one, read, data, [*planted(data, read, one.hypotheses, random.Random(1))]


@pytest.mark.parametrize("name", NARROW)
def test_the_first_frame_has_the_known_model_in_it(name: str) -> None:
    """Both sides are the same there, and every hypothesis holds."""
    one, read, data, ((frame, genes), _) = seeded(name)
    row = {key: float(a[0, 0]) for key, a in genes.items()}
    sides = [
        [
            meeting(model, one.hypotheses, one.left, one.right).form(side)
            for model in two
        ]
        for side in (one.left, one.right)
        for two in [(model_of(data), model_of(exact_model(frame, read, row)))]
    ]
    for old, new in sides:
        assert old == new


@pytest.mark.parametrize("name", NARROW)
def test_what_is_near_has_numbers_of_the_same_kind(name: str) -> None:
    *_, frames = seeded(name)
    dice = np.random.default_rng(2)
    for frame, genes in frames:
        near = nearby(genes, frame, dice, 64, 1.0)
        assert near.keys() == genes.keys()
        for key, kind in frame.genes.items():
            assert near[key].shape == (64, 1)
            assert kind == SIGNED or (near[key] >= 0).all()
            assert kind != POSITIVE or genes[key][0, 0] == 0 or (near[key] > 0).all()


def test_a_gradient_that_vanishes_is_a_rounding_error() -> None:
    """grad f at a minimiser that no float meets is as large as its error says."""
    name = "han2024/thm-3.9/general_convex/falling-rates"
    one, read, _, ((frame, genes), _) = seeded(name)
    dice = np.random.default_rng(3)
    near = nearby(genes, frame, dice, 64, 1.0)
    crowd, e = build(frame, read, near, exact=False)
    f: Shape = e.mean
    best = next(iter(crowd.stars.values()))
    slope = np.abs(f.gradient(best)).sum(-1)
    size = (np.abs(f.curvature) * np.abs(best[:, 0]) + np.abs(f.linear)).sum(-1)
    assert (slope[:, 0] <= EPS * size).all()
    for side in (one.left, one.right):
        assert (error(e, side) >= 0).all()
