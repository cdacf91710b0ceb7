"""Long runs of a crowd are what the kernel follows, and short ones what happens."""

from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ledger_parts import read_part

from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Rejected, Sort
from sfl_theory.kernel.moments import evaluated
from sfl_theory.mutation.building import Frame, build, exact_model
from sfl_theory.mutation.crowd import Array, NotEvaluatedError, Span
from sfl_theory.mutation.far import Far, unrolled
from sfl_theory.mutation.frames import drawn_frame
from sfl_theory.mutation.genes import Genes, first_genes, pushed
from sfl_theory.mutation.reading import Read
from sfl_theory.mutation.rounding import error
from sfl_theory.proofs.export import Statement, model_of

ROWS = 6
NAMES = (
    "dachille2024/text/v2-objective",
    "han2024/thm-3.6/general_convex/no-bounded-gradients",
    "han2024/thm-3.9/non_convex",
    "han2024/thm-3.8/strongly_convex",
)
"""Orders of visits, both clocks, draws, rates that fall, a box."""


def crowds(
    one: Statement, read: Read, wanted: int, rounds: range, far: bool
) -> list[tuple[Frame, Genes]]:
    """Return crowds with so many rounds, drawn for a statement."""
    rng, dice, out = random.Random(5), np.random.default_rng(5), []
    for _ in range(800):
        frame = drawn_frame(read, one.hypotheses, frozenset(), rng)
        if frame is None or frame.rounds not in rounds or frame.far is not far:
            continue
        genes = first_genes(frame, ROWS, dice)
        for v in frame.loose[:1]:
            with np.errstate(all="ignore"):  # as in a search
                genes = pushed(frame, read, genes, v)
        out.append((frame, genes))
        if len(out) == wanted:
            break
    return out


def sides(
    one: Statement, read: Read, frame: Frame, genes: Genes
) -> list[tuple[Array, Array, Array]]:
    """Return value, size and rounding error of both sides."""
    with np.errstate(all="ignore"):
        _, e = build(frame, read, genes, exact=False)
        return [(*e.form(side), error(e, side)) for side in (one.left, one.right)]


def some(few: int, many: int) -> pytest.MarkDecorator:
    """Return how many crowds are looked at, by default and at length."""
    each = [few, pytest.param(many, marks=pytest.mark.long)]
    return pytest.mark.parametrize("wanted", each)


@some(30, 60)
@pytest.mark.parametrize("name", NAMES)
def test_moments_of_short_runs_are_those_of_all_outcomes(
    name: str, wanted: int
) -> None:
    """With noise and draws; and without, where blocks are mixed."""
    one, read = read_part(name)
    kinds = set()
    for frame, genes in crowds(one, read, wanted, range(1, 6), far=False):
        quiet = "coin" not in frame.noise and not any(frame.drawn)
        if frame.shape == "bent" or (frame.turned and not quiet):
            continue
        played = sides(one, read, frame, genes)
        moments = sides(one, read, replace(frame, far=True), genes)
        for (value, size, near), (other, *_) in zip(played, moments, strict=True):
            finite = np.isfinite(value) & np.isfinite(other)
            apart = np.abs(value[finite] - other[finite])
            assert (apart <= (1e-9 * size + near)[finite]).all()
        kinds.add((quiet, frame.turned, any(frame.drawn)))
    assert len(kinds) >= 3


@some(5, 12)
@pytest.mark.parametrize("name", NAMES)
def test_long_crowds_lie_in_the_kernels_enclosures(name: str, wanted: int) -> None:
    """Where blocks are mixed: are the kernel's fractions."""
    one, read = read_part(name)
    compared = 0
    for frame, genes in crowds(one, read, wanted, range(13, 60), far=True):
        found = sides(one, read, frame, genes)
        for place in range(2):
            row = {key: float(a[place, 0]) for key, a in genes.items()}
            model = model_of(exact_model(frame, read, row))
            try:
                ends = evaluated(model, one.hypotheses, one.left, one.right)
            except Rejected:
                continue
            for (value, size, near), end in zip(found, ends, strict=True):
                apart = abs(float(end) - value[place, 0])
                assert apart <= 1e-9 * size[place, 0] + near[place, 0] + 2.0**-90
            compared += 1
    assert compared >= 4


def test_a_coordinate_at_rest_is_seen_by_conditions_alone() -> None:
    name = "han2024/thm-3.9/non_convex"
    one, read = read_part(name)
    resting = [
        pair for pair in crowds(one, read, 40, range(1, 4), far=False) if pair[0].rest
    ]
    assert resting
    for frame, genes in resting:
        genes = {**genes, "o.": genes["o."] * 0 + 2.0**20}
        model = exact_model(
            frame, read, {key: float(a[0, 0]) for key, a in genes.items()}
        )
        assert {len(model.start), *(len(H) for H, _, _ in model.functions)} == {3}
        assert model.start[2] == 0
        for hessian, linear, _ in model.functions:
            assert hessian[2][2] >= max(hessian[0][0], hessian[1][1])
            assert not any(hessian[2][:2]) and linear[2] == 0
        S = next(v for v in model.numbers if v.name == "S")
        if any(v == S for _, v, _ in frame.ties):
            assert model.numbers[S] >= model.functions[0][0][2][2]


def test_an_index_that_runs_over_rounds_is_a_chunk() -> None:
    one, read = read_part(NAMES[0])
    ((frame, genes),) = crowds(one, read, 1, range(13, 60), far=True)
    _, e = build(frame, read, genes, exact=False)
    assert isinstance(e, Far)
    i = k.fresh(k.Steps((k.symbol(k.Var("T", Sort.COUNT))).poly()))
    e.at[i] = Span(3, 7)
    t = k.symbol(i)
    assert e.whole((t + 1).poly()) == Span(4, 8)
    with pytest.raises(NotEvaluatedError):
        e.whole((t * 2).poly())


def test_a_sum_over_chunks_has_a_summand_for_each_round() -> None:
    one, read = read_part(NAMES[0])
    ((frame, genes),) = crowds(one, read, 1, range(300, 900), far=True)
    _, e = build(frame, read, genes, exact=False)
    (T,) = (v for v, n in frame.wholes if n == frame.rounds or n == frame.rounds + 1)
    size = e.crowd.wholes[T]
    over = k.Steps(k.symbol(T).poly())
    i = k.fresh(over)
    closed: Any = SimpleNamespace(binder=over, variable=i)
    assert (e.summed(closed, lambda: e.ones, 0 * e.ones) == size).all()
    found = e.summed(closed, lambda: e.at[i] * e.ones, 0 * e.ones)
    assert (found == size * (size - 1) // 2).all()


def test_a_run_of_many_rounds_is_evaluated_at_its_fixed_point() -> None:
    """With a rate that stays a round that changes nothing is followed by others."""
    one, read = read_part("han2024/text/rate/non_convex/sfl-v2")
    checked = 0
    for frame, genes in crowds(one, read, 30, range(200, 3000), far=True):
        quiet = "coin" not in frame.noise and not any(frame.drawn)
        if not quiet or any(power for _, power in frame.powers):
            continue
        _, e = build(frame, read, genes, exact=False)
        assert isinstance(e, Far)
        (run,) = read.splits
        with np.errstate(all="ignore"):
            path = e.path(run)
            still = np.abs(path[-1] - path[-2]).max((1, 2)) <= 1e-12
            again = e.play(run, frame.rounds)[1] - path[-1]
        assert (np.abs(again[still]) <= 1e-9).all()
        checked += int(still.sum())
    assert checked


@pytest.mark.parametrize("rounds", [1, 2, 3, 24, 25, 26, 700])
def test_rounds_in_stretches_are_those_one_by_one(rounds: int) -> None:
    dice = np.random.default_rng(rounds)
    by = dice.normal(size=(rounds, 5, 2)) * np.array([[0], [0.3], [1], [1.2], [1e30]])
    more = dice.normal(size=(rounds, 5, 2))
    more[:, :, 1] = 0  # what rests, rests, however far all else is thrown
    x, path = np.zeros((5, 2)), []
    with np.errstate(all="ignore"):
        for t in range(rounds):
            x = by[t] * x + more[t]
            path.append(x)
        found = unrolled(by, more)
    largest = np.maximum.accumulate(np.abs(path))
    seen = largest < 1e200
    assert (np.abs(found[seen] - np.array(path)[seen]) <= 1e-10 * largest[seen]).all()
    assert (found[:, :, 1] == 0).all()
    same = np.broadcast_to(by[:1, 1], (rounds, 2))
    assert np.allclose(unrolled(same, more[:, 1]), unrolled(same.copy(), more[:, 1]))
