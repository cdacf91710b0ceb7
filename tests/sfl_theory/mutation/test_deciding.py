"""Numbers that conditions decide."""

from __future__ import annotations

import random

import numpy as np
from ledger_parts import read_part

from sfl_theory.mutation.building import build
from sfl_theory.mutation.deciding import numeric
from sfl_theory.mutation.frames import drawn_frame
from sfl_theory.mutation.genes import first_genes
from sfl_theory.mutation.holding import holds


def test_a_number_is_the_larger_one_of_two() -> None:
    """v >= a, v >= b, (v - a)(v - b) <= 0: by chance few models meet them."""
    one, read = read_part("huang2023/prop-1/coupling")
    rng, dice = random.Random(2), np.random.default_rng(2)
    met, conditions = [], [x for x in one.hypotheses if numeric(x)]
    for _ in range(12):
        frame = drawn_frame(read, one.hypotheses, frozenset(), rng)
        if frame is not None:
            crowd, e = build(frame, read, first_genes(frame, 32, dice), exact=False)
            met.append(np.mean(np.all([holds(e, x) for x in conditions], axis=0)))
            S, mu, g = (
                next(x for v, x in crowd.numbers.items() if str(v) == name)
                for name in ("S", "mu", "g")
            )
            own = mu * (1 + 1e-6) < S
            assert np.allclose(g[own], (8 * S / mu - 8)[own], rtol=1e-6)
    assert len(met) >= 4
    assert np.mean(met) > 0.5
