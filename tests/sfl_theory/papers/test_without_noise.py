"""Theorem 3.6 without noise: searched for violations, coded from the algorithm.

Members are parabolas and Huber functions of directions in a plane, so local steps meet
gradients that change along their way. G is the largest gradient that a run meets.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import reading
from numpy.typing import NDArray
from planar_members import Member, constants, scaled
from reading import proved_and_no_less

from sfl_theory import Constants, theorem
from sfl_theory.bound import Bound, total
from sfl_theory.conditions import NoNoise, Steeper
from sfl_theory.evidence import Part
from sfl_theory.papers.han2024 import without_noise
from sfl_theory.pulled import Pulled

ITEM = theorem("3.6")
CASE = ITEM.case("strongly_convex")
BOUND, CLOSE = (CASE.bound(name) for name in ("without_noise", "small_drift"))
Array = NDArray[np.float64]


@cache
def members(count: int) -> list[tuple[Member, Array, float]]:
    """Return runs of random members: gaps and G^2."""
    found = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        member = Member.drawn(rng)
        far = rng.normal(size=member.u.shape[1]) * 10 ** rng.uniform(-2, 1)
        rounds = int(rng.choice([2, 10, 100]))
        found.append((member, *member.run(far, rounds)))
    return found


def largest(bound: Bound) -> float:
    """Return the largest gap over the bound: members of the search, and instances."""
    worst = 0.0
    for member, gaps, G2 in members(40):
        if member.S == 1 and bound.assumes(Steeper):
            continue
        known = constants(member.S, member.tau).with_values(G2=G2)
        right = total(bound.formula(known, np.arange(1, len(gaps))))
        worst = max(worst, float(np.max((gaps[1:] - 1e-9 * G2) / right)))
    for S, tau in ((4.0, 2), (10.0, 10)):
        known = constants(S, tau)
        assert bound.step_size is not None
        rates = bound.step_size.schedule(known).client(np.arange(300.0))
        run = Pulled(S, 1.0, 0.5, 0.0, tau, rates)
        right = total(bound.formula(known, np.arange(1, 301)))
        scale = run.scale(Constants(G2=1))
        worst = max(worst, float(np.max(run.gaps[1:] * scale / right)))
    return worst


BOTH = pytest.mark.parametrize("bound", [BOUND, CLOSE], ids=["first", "close"])


@BOTH
def test_no_run_of_the_search_exceeds_it(bound: Bound) -> None:
    assert 0.3 < largest(bound) <= 1


@pytest.mark.parametrize(
    ("bound", "terms"),
    [
        (BOUND, {"initial_gap": 0.4}),
        (BOUND, {"client_drift": 0.05, "falling_rate": 0.05}),
        (CLOSE, {"initial_gap": 0.5}),
        (CLOSE, {"client_drift": 0.3, "falling_rate": 0.3}),
    ],
    ids=lambda terms: "+".join(terms) if isinstance(terms, dict) else "",
)
def test_the_search_finds_what_is_too_small(
    bound: Bound, terms: dict[str, float]
) -> None:
    """It could have failed: each term is needed, up to its constant."""
    assert largest(scaled(bound, **terms)) > 1


def test_drift_is_that_of_two_opposed_parabolas_to_first_order() -> None:
    """Late, it is (sqrt(S) - sqrt(mu))^2 up to a factor: 0 where S is nearly mu."""
    for S, most in ((1 + 1e-9, 1e-3), (4, 2.5), (100, 1.7)):
        terms = CLOSE.terms(constants(S, 10), np.array([10**6]))
        fixed_point = 2 * 0.9**2 * (S**0.5 - 1) ** 2
        assert terms["client drift"][0] * 1e12 < most * max(fixed_point, 1)


def test_one_local_step_does_what_a_parabola_does() -> None:
    """The ratio stays below 2.3 however long the run; drift is 0."""
    for kappa in (4.0, 10.0, 100.0):
        known = constants(kappa, 1)
        terms = BOUND.terms(known, np.array([10_000]))
        assert terms["client drift"][0] == terms["falling rate"][0] == 0
        rates = 4 / (8 * kappa - 1 + np.arange(10_000))
        parabola = np.prod((1 - rates) ** 2) / 2
        assert 1 <= float(total(terms)[0]) / parabola < 2.3


PARTS = pytest.mark.parametrize("part", [without_noise.PART, without_noise.CLOSE])


@PARTS
def test_the_kernel_proves_it_and_no_less(part: Part) -> None:
    assert proved_and_no_less(part)


def test_it_backs_no_bound_on_runs_with_noise() -> None:
    """Noise of variance 0 is no consequence of a bounded variance."""
    others = tuple(one for one in BOUND.conditions if not isinstance(one, NoNoise))
    noisy = replace(BOUND, conditions=others)
    assert reading.says(ITEM, BOUND, [without_noise.PART])
    assert not reading.says(ITEM, noisy, [without_noise.PART])


def test_noise_is_outside_its_hypotheses() -> None:
    for sigma2, words in ((0.25, "0.25 somewhere"), (None, "not given")):
        known = constants(4, 2).with_values(sigma2=sigma2)
        with pytest.raises(ValueError, match=words):
            BOUND.evaluate(known, [5])
    with pytest.raises(ValueError, match="S > mu"):
        CLOSE.evaluate(constants(1, 2), [5])
