"""Long simple runs break what drawn ones do not, and their boxes are kept and small."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from ledger_parts import PARTS, read_part

import sfl_theory.mutation.judged as judged
import sfl_theory.mutation.search as search
from sfl_theory.evidence import Model
from sfl_theory.kernel import hypotheses as h
from sfl_theory.mutation.building import build
from sfl_theory.mutation.changes import Neighbour
from sfl_theory.mutation.crowd import Array
from sfl_theory.mutation.families import FAMILIES, LEAST, posed, simple_genes
from sfl_theory.mutation.frames import named
from sfl_theory.mutation.holding import holds

DRIFT, PULLED, UNEVEN, _ = FAMILIES
BROKEN = "han2024/eq-160", "han2024/thm-3.6/strongly_convex", "han2024/eq-185"
"""What drawn models hardly break: two searches of 40 turns each did not."""


def refound(name: str, seed: int) -> bool:
    """Return whether a false claim is broken in twelve turns."""
    one = PARTS[name].says.statement(name)
    same = Neighbour("none", "nothing", one, one.hypotheses, one.left)
    kept = f"{seed} {name}"
    return bool(search.broken([same], {0}, set(), judged.refutes, kept, 12, 12))


@pytest.mark.parametrize("name", BROKEN)
def test_what_drawn_runs_do_not_break_is_found(name: str) -> None:
    assert any(refound(name, seed) for seed in range(2))


def test_without_families_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the test above would say nothing of them."""
    monkeypatch.setattr(search, "posed", lambda *given: None)
    assert sum(refound(name, 0) for name in BROKEN) <= 1


CONCAVE = {
    "dachille2024/prop-1/one-sided",
    "han2024/thm-3.6/non_convex/one-sided",
}
"""Claims that only concave bends of clients break, which no search makes."""
FALSE = sorted(
    name
    for name, part in PARTS.items()
    if isinstance(part.by, Model)
    and not part.says.denied
    and name not in CONCAVE
    and judged.subject(part.says.statement(name)) == "T rounds"
)


@pytest.mark.long
def test_nine_in_ten_false_claims_about_many_rounds_are_broken() -> None:
    """In twelve turns of one search for each."""
    assert len(FALSE) >= 50
    assert 10 * sum(refound(name, 0) for name in FALSE) >= 9 * len(FALSE)


def test_rates_and_steep_coordinates_are_on_the_scale_of_the_run() -> None:
    """Where the run starts at the minimiser the average drifts to the end of it."""
    one, read = read_part("han2024/eq-185")
    rng, dice = random.Random(1), np.random.default_rng(1)
    seen = 0
    for _ in range(12):
        frame = posed(read, one.hypotheses, frozenset(), DRIFT, rng)
        assert frame is not None
        assert frame.far
        assert frame.rounds >= LEAST
        genes = simple_genes(frame, 64, dice)
        (rate,) = (genes[f"a.{v}"] for v in frame.paces)
        assert (rate * frame.rounds >= 2.0**-3).all()
        assert (rate * frame.rounds <= 2.0**7).all()
        if frame.rest:
            assert (abs(np.log2(genes["o."] / frame.rounds)) <= 4.01).all()
        crowd, _ = build(frame, read, genes, exact=False)
        assert np.allclose(crowd.start, crowd.stars[read.stars[0]][:, 0])
        seen += 1
    assert seen == 12


def test_one_number_of_steps_is_large() -> None:
    one, read = read_part("han2024/thm-3.6/strongly_convex")
    rng, steps = random.Random(1), set()
    for _ in range(8):
        frame = posed(read, one.hypotheses, frozenset(), UNEVEN, rng)
        assert frame is not None
        steps |= {tuple(n for v, n in frame.wholes if n in (1, 32))}
    assert steps == {(1, 32), (32, 1)}


def area(low: Array, high: Array) -> Array:
    """Return the areas of boxes."""
    found: Array = np.prod(high - low, axis=1)
    return found


@pytest.mark.parametrize("noise", [("still",), ("coin",)])
def test_a_box_of_mixed_blocks_is_kept_and_small(noise: Sequence[str]) -> None:
    """Without noise at most half of the square around the minimiser, mostly."""
    one, read = read_part("han2024/eq-69")
    rng, dice = random.Random(2), np.random.default_rng(2)
    (bounded,) = (x for x in one.hypotheses if isinstance(x, h.BoundedGradients))
    frame = posed(read, one.hypotheses, frozenset(), PULLED, rng)
    assert frame is not None
    near = dict.fromkeys((v for v, _ in frame.wholes), 1)
    frame = replace(frame, noise=tuple(noise), wholes=tuple(near.items()), rounds=1)
    frame = replace(frame, far=False)
    frame = named(frame, read)
    genes = simple_genes(frame, 64, dice)
    crowd, e = build(frame, read, genes, exact=False)
    assert np.mean(holds(e, bounded)) > 0.95
    low, high = crowd.box or (crowd.start, crowd.start)
    assert ((low <= crowd.start) & (crowd.start <= high)).all()
    away = np.abs(crowd.start - crowd.stars[read.stars[0]][:, 0]).max(1)
    if noise == ("still",):
        assert np.mean((area(low, high) <= 2 * away**2)[away > 0]) >= 0.5
