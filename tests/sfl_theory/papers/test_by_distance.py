"""Theorem 3.7 by distances: searched for violations over orders of the visits.

The last model's bound beside it, where S may be mu.
"""

from __future__ import annotations

import numpy as np
import pytest
from planar_members import constants, scaled
from reading import proved_and_no_less
from visited_runs import all_orders, largest, largest_expected

from sfl_theory import theorem
from sfl_theory.bound import Bound
from sfl_theory.evidence import Part
from sfl_theory.papers.han2024 import without_noise

CASE = theorem("3.7").case("strongly_convex")
BOUND, NOISY, LAST = (
    CASE.bound(name) for name in ("any_order", "by_distance", "last_model")
)
PARTS = pytest.mark.parametrize("part", [without_noise.ANY_ORDER, without_noise.NOISY])


@pytest.mark.parametrize(("bound", "seen"), [(NOISY, 0.05), (LAST, 0.02)])
def test_no_noisy_run_exceeds_it(bound: Bound, seen: float) -> None:
    assert seen < largest_expected(bound) <= 1


@pytest.mark.parametrize(
    "terms", [{"initial_gap": 0.1}, {"gradient_noise": 0.03, "client_drift": 0.03}]
)
@pytest.mark.parametrize("bound", [NOISY, LAST])
def test_the_noisy_search_finds_what_is_too_small(
    terms: dict[str, float], bound: Bound
) -> None:
    assert largest_expected(scaled(bound, **terms)) > 1


def test_noise_counts_like_the_root_of_kappa() -> None:
    """And what `last_model` has is kappa; both fall like 1/T."""
    late = np.array([10**6, 10**7])
    for bound, power in ((NOISY, 0.5), (LAST, 1)):
        one, two = (
            bound.terms(constants(S, 1).with_values(sigma2=0.1, initial_gap=1), late)[
                "gradient noise"
            ]
            for S in (100, 10_000)
        )
        assert one[0] / one[1] == pytest.approx(10, rel=0.1)
        assert two[1] / one[1] == pytest.approx(100**power, rel=0.2)


@pytest.mark.parametrize("bound", [BOUND, LAST])
def test_no_run_of_the_search_exceeds_it(bound: Bound) -> None:
    assert 0.1 < largest(bound) <= 1


@pytest.mark.parametrize("bound", [BOUND, LAST])
@pytest.mark.parametrize("terms", [{"initial_gap": 0.1}, {"client_drift": 0.03}])
def test_the_search_finds_what_is_too_small(
    terms: dict[str, float], bound: Bound
) -> None:
    """It could have failed: each term is needed, up to its constant."""
    assert largest(scaled(bound, **terms)) > 1


def test_one_order_after_the_other_is_worse_than_turns() -> None:
    """The search tells orders apart: the first client's visits first drifts most."""
    late = [gaps[-1] / G2 for member, gaps, G2 in all_orders() if member.S == 4]
    assert max(late) > 5 * min(late)
    assert late[0] == pytest.approx(max(late), rel=0.05)


def test_values_by_hand() -> None:
    """S/mu = 7/4, so z = 1 and gamma = 13; T = 3, so s = 16; G = mu = 1."""
    known = constants(1.75, 1).with_values(initial_gap=0.3)
    terms = BOUND.terms(known, np.array([3]))
    first = 5 * 28 / (3 * 13) * (13 / 16) ** 7 * 0.3
    far = (5 / 4 * (18 * 4.75 + 5 * 1.75**2) + 5 * 1.75**2) / 9
    drift = 4 / 15 * 3 * far * (16 + 11 * 1.75 + 4) / 16**3
    np.testing.assert_allclose(terms["initial gap"], [first])
    np.testing.assert_allclose(terms["client drift"], [drift])
    two = BOUND.terms(constants(1.75, 2).with_values(initial_gap=0.3), np.array([3]))
    np.testing.assert_allclose(two["client drift"], [drift * (3 + 0.75) / 3])


def test_it_falls_as_it_says() -> None:
    """Drift like kappa^1.5/T^2, the first gap like 1/T^7."""
    late = np.array([10**6, 10**7])
    small, large = (
        BOUND.terms(constants(S, 1).with_values(initial_gap=1), late)
        for S in (1e3, 1e5)
    )
    drift = small["client drift"]
    assert drift[0] / drift[1] == pytest.approx(100, rel=0.1)
    kappa = large["client drift"][1] / drift[1]
    assert 100**1.5 * 0.5 < kappa < 100**1.5 * 2
    first = small["initial gap"]
    assert first[0] / first[1] == pytest.approx(10**7, rel=0.1)


@PARTS
def test_the_kernel_proves_it_and_no_less(part: Part) -> None:
    assert proved_and_no_less(part)


def test_outside_its_hypotheses() -> None:
    """Noise, S = mu, drawn clients: an error that names what is not met."""
    known = constants(4, 2).with_values(initial_gap=1)
    for other, words in (
        (known.with_values(sigma2=0.25), "0.25 somewhere"),
        (known.with_values(S=1), "S > mu"),
        (known.with_values(participation=0.5), "take"),
    ):
        with pytest.raises(ValueError, match=words):
            BOUND.evaluate(other, [5])


def test_with_everyone_drawn_it_is_theorem_39s() -> None:
    own = theorem("3.9").case("strongly_convex").bound("any_order")
    known = constants(4, 2).with_values(initial_gap=1)
    np.testing.assert_allclose(own.evaluate(known, [9]), BOUND.evaluate(known, [9]))
