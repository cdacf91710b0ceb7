"""Boxes of mixed blocks that a run does not leave."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from ledger_parts import read_part

from sfl_theory.kernel import hypotheses as h
from sfl_theory.mutation.building import build, genes_of
from sfl_theory.mutation.frames import drawn_frame
from sfl_theory.mutation.genes import first_genes
from sfl_theory.mutation.holding import holds

MIXED = ("bowl", True, (None, 0, 1))


@pytest.mark.parametrize("noise", ["still", "coin"])
def test_a_box_of_mixed_blocks_is_kept_and_small(noise: str) -> None:
    """It holds the start and what that pulls at; half of what is all around."""
    one, read = read_part("han2024/eq-69")
    rng, dice = random.Random(2), np.random.default_rng(2)
    (bounded,) = (x for x in one.hypotheses if isinstance(x, h.BoundedGradients))
    kept, small = [], []
    for _ in range(60):
        frame = drawn_frame(read, one.hypotheses, frozenset(), rng, MIXED)
        plain = frame and frame.turned and frame.shape == "box" and frame.rounds < 2
        if frame is None or not plain or frame.clients > 2 or any(frame.drawn):
            continue
        frame = replace(frame, noise=(noise,) * frame.clients)
        frame = replace(frame, genes=genes_of(frame, read))
        crowd, e = build(frame, read, first_genes(frame, 64, dice), exact=False)
        kept.append(np.mean(holds(e, bounded)))
        low, high = crowd.box or (crowd.start, crowd.start)
        near = 1e-9 * (high - low)
        inside = (low - near <= crowd.start) & (crowd.start <= high + near)
        assert inside.all()
        away = np.abs(crowd.start - crowd.stars[read.stars[0]][:, 0]).max(1)
        area, whole = np.prod(high - low, axis=1), (2 * away) ** 2
        small.append(np.mean((area <= whole / 2)[away > 0]))
    assert len(kept) >= 4
    assert np.mean(kept) > 0.95
    assert noise == "coin" or np.mean(small) > 0.8
