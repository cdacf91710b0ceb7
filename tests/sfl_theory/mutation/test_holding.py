"""What hypotheses need, in crowds."""

from __future__ import annotations

import random

import numpy as np
from ledger_parts import read_part

from sfl_theory.kernel import hypotheses as h
from sfl_theory.mutation.building import build
from sfl_theory.mutation.frames import drawn_frame
from sfl_theory.mutation.genes import first_genes
from sfl_theory.mutation.holding import needed


def test_dissimilarity_is_that_of_slopes_and_nothing_where_clients_are_alike() -> None:
    one, read = read_part("han2024/eq-44")
    (bound,) = (x for x in one.hypotheses if isinstance(x, h.Heterogeneity))
    rng, dice, compared = random.Random(1), np.random.default_rng(1), 0
    for _ in range(120):
        frame = drawn_frame(read, one.hypotheses, frozenset(), rng)
        if frame is None or frame.shape == "bent" or frame.clients < 3:
            continue
        genes = first_genes(frame, 8, dice)
        _, e = build(frame, read, genes, exact=False)
        slopes = np.stack([F.linear for F in e.crowd.functions])
        weights = np.stack(e.crowd.weights)
        apart = ((slopes - (weights * slopes).sum(0)) ** 2).sum(-1).max(0)
        found, _ = needed(e, bound)
        assert found is not None
        rounding = (1e-12 * np.abs(slopes).max((0, 2))) ** 2
        assert (np.abs(found[:, 0] - apart) <= 1e-9 * apart + rounding).all()
        alike = {
            name: genes[f"{name[0]}0{name[-1]}"] if name[0] in "cl" else gene
            for name, gene in genes.items()
        }
        lean = {name: 0 * gene for name, gene in genes.items() if name[0] == "l"}
        _, e = build(frame, read, alike | lean, exact=False)
        found, _ = needed(e, bound)
        assert found is not None and not found.any()
        compared += 1
    assert compared >= 5
