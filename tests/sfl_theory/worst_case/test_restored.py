"""Points of a solver that break constraints become points that keep to them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfl_theory.worst_case import restored
from sfl_theory.worst_case.assumptions import formulated
from sfl_theory.worst_case.columns import searched
from sfl_theory.worst_case.instance import Instance, mended
from sfl_theory.worst_case.least_step import NoStepError, least_step
from sfl_theory.worst_case.setting import Algorithm, Setting


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 40))
@example(489743, 2, 3).via("Mehrotra's step ran in a circle")
@settings(max_examples=40, deadline=None)
def test_the_step_is_the_nearest_one_that_keeps_to_all(
    seed: int, unknowns: int, count: int
) -> None:
    """No other point that does lies on the side of what was wanted."""
    dice = np.random.default_rng(seed)
    slopes = dice.normal(size=(count, unknowns))
    inside, wanted = dice.normal(size=(2, unknowns))
    bounds = slopes @ inside + dice.exponential(size=count)
    step, _ = least_step(slopes, bounds, wanted, np.eye(unknowns), np.zeros(count))
    assert (slopes @ step <= bounds + 1e-9).all()
    others = inside + 0.5 * dice.normal(size=(200, unknowns))
    admitted = others[(others @ slopes.T <= bounds).all(axis=1)]
    assert ((admitted - step) @ (wanted - step) <= 1e-6).all()


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 40))
@example(933, 2, 2).via("Mehrotra's step ran in a circle")
@settings(max_examples=40, deadline=None)
def test_a_curved_step_is_the_best_one(seed: int, unknowns: int, count: int) -> None:
    """Its multipliers prove it: positive, where nothing is left, of its slope."""
    dice = np.random.default_rng(seed)
    slopes = dice.normal(size=(count, unknowns))
    inside, wanted = dice.normal(size=(2, unknowns))
    bounds = slopes @ inside + dice.exponential(size=count)
    root = dice.normal(size=(unknowns, 2))
    curved = root @ root.T + 0.1 * np.eye(unknowns)
    step, weights = least_step(slopes, bounds, wanted, curved, np.ones(count))
    assert (slopes @ step <= bounds + 1e-9).all()
    assert (weights >= 0).all()
    assert weights @ (bounds - slopes @ step) < 1e-6
    assert np.allclose(curved @ step + slopes.T @ weights, wanted, atol=1e-5)


def test_what_excludes_itself_has_no_step() -> None:
    slopes = np.array([[1.0, 0.0], [-1.0, 0.0]])
    with pytest.raises(NoStepError):
        least_step(slopes, -np.ones(2), np.zeros(2), np.eye(2), np.zeros(2))


def run(algorithm: Algorithm, rounds: int, **more: object) -> Setting:
    steps = (Q(1, 2),) * rounds
    given = {"mu": Q(1, 10), "zeta2": Q(1), **more}
    return Setting(algorithm, 2, steps, steps, Q(1), **given)  # type: ignore[arg-type]


RUNS = {
    "drift enters": run(
        "sfl-v1", 12, zeta2=None, G2=Q(1), start="gradients", mu=Q(1, 2)
    ),
    "given weights": run("fedavg", 2, clients=2, weights=(Q(1, 4), Q(3, 4))),
    "visits": run("sfl-v2", 1, clients=2),
    "not convex": run(
        "fedavg", 2, mu=None, zeta2=None, eps2=Q(1), start="gap", metric="gradient",
        reading="average",
    ),
    "chance": run("fedavg", 1, clients=2, participation=(Q(1, 2), Q(1, 2))),
    "at rest at x*": run("fedavg", 1, mu=Q(0), zeta2=Q(0)),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_slopes_are_derivatives(name: str) -> None:
    program, dice = formulated(RUNS[name]), np.random.default_rng(1)
    system = restored._System(program, dict.fromkeys(program.spaces, 2))
    at, way = dice.normal(size=(2, system.unknowns))
    sides = [
        system.above(system.point(at + h * way), restored.MARGIN) for h in (1e-4, -1e-4)
    ]
    every = np.arange(len(program.pairs))
    seen = system.slopes(system.point(at), every) @ way
    assert np.allclose((sides[0] - sides[1]) / 2e-4, seen, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", RUNS)
def test_the_duals_slack_is_the_lagrangians_curvature(name: str) -> None:
    """And the solver's point with the solver's multipliers has no slope."""
    program = formulated(RUNS[name])
    found = searched(program, 1e-7)
    factors = {
        s: np.linalg.cholesky(gram + 1e-12 * np.eye(len(gram)) * gram.trace())
        for s, gram in found.solution.grams.items()
    }
    ranks = {s: len(one) for s, one in factors.items()}
    system = restored._System(program, ranks, abs(found.solution.upper))
    at = system.joined(restored.Point(factors, found.solution.values))
    weights, every = system.weights(found), np.arange(len(program.pairs))

    def slope(at: restored.Array) -> restored.Array:
        point = system.point(at)
        metric = system._slope(program.objective, system.vectors(point))
        return system.slopes(point, every).T @ weights - metric / system.height

    large = np.abs(system.slopes(system.point(at), every)).T @ weights
    assert np.abs(slope(at)).max() < 1e-4 * large.max()
    way = np.random.default_rng(1).normal(size=system.unknowns)
    seen = (slope(at + 1e-2 * way) - slope(at - 1e-2 * way)) / 2e-2
    curved = system.curved(weights) @ way
    assert np.allclose(seen, curved, rtol=1e-5, atol=1e-5 * np.abs(seen).max())


@pytest.mark.parametrize("name", RUNS)
def test_rough_points_become_problems(name: str) -> None:
    """Exactly admissible ones, nearly as bad, though the points are off by 1e-4."""
    program = formulated(RUNS[name])
    found = searched(program, 1e-7)
    dice = np.random.default_rng(0)
    grams = {}
    for space, gram in found.solution.grams.items():
        root = np.linalg.cholesky(gram + 1e-12 * np.eye(len(gram)) * gram.trace())
        rough = root + 1e-4 * root.std() * dice.normal(size=root.shape)
        grams[space] = rough @ rough.T
    rough = replace(found, solution=replace(found.solution, grams=grams))
    instance = mended(program, rough, found.solution.upper * (1 - 1e-5))
    assert isinstance(instance, Instance), instance
    assert 1 - 1e-3 < float(instance.value) / found.solution.upper < 1 + 1e-6
