"""Verdicts: what decides, and that every word can be said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bounds.verdict import Band, judge, rate

curves = arrays(
    float, st.tuples(st.integers(1, 6), st.integers(2, 5)), elements=st.floats(0.1, 10)
)


@given(values=curves, data=st.data())
@settings(max_examples=100, deadline=None)
def test_words_follow_from_band_and_bound(
    values: np.ndarray, data: st.DataObject
) -> None:
    """violated: the band above somewhere; holds: on or below everywhere."""
    rounds = np.arange(1, len(values) + 1)
    bound = data.draw(arrays(float, len(values), elements=st.floats(0, 20)))
    band = Band.of(rounds, values)
    verdict = judge(band, bound)
    above = [T for T, low, b in zip(rounds, band.low, bound, strict=True) if low > b]
    assert (verdict.word == "violated") == bool(above)
    assert verdict.first_violation == (above[0] if above else None)
    assert (verdict.word == "holds") == all(band.high <= bound)
    assert verdict.tightness == pytest.approx(bound[-1] / values[-1].mean())


@given(values=curves)
@settings(max_examples=50, deadline=None)
def test_lowering_a_bound_never_rescues_it(values: np.ndarray) -> None:
    order = ["holds", "inconclusive", "violated"]
    band = Band.of(np.arange(1, len(values) + 1), values)
    words = [
        judge(band, c * band.high).word for c in (1.0, 0.9, 0.5, 0.1, 1e-3, 0.0, -1e9)
    ]
    ranks = [order.index(word) for word in words]
    assert ranks == sorted(ranks)
    assert words[0] == "holds"
    assert words[-1] == "violated"


def test_one_seed_of_a_random_run_decides_nothing() -> None:
    band = Band.of(np.array([1, 2]), np.array([[5.0], [5.0]]))
    assert judge(band, np.array([0.0, 0.0])).word == "inconclusive"
    assert judge(band, np.array([9.0, 9.0])).word == "inconclusive"
    exact = Band.of(np.array([1, 2]), np.array([[5.0], [5.0]]), deterministic=True)
    assert judge(exact, np.array([0.0, 0.0])).word == "violated"
    assert judge(exact, np.array([5.0, 5.0])).word == "holds"


def test_rounding_decides_nothing() -> None:
    """An exact run that meets its bound up to rounding is neither right nor wrong."""
    exact = Band.of(np.array([1]), np.array([[1.0 + 1e-15]]), deterministic=True)
    assert judge(exact, np.array([1.0])).word == "violated"
    assert judge(exact, np.array([1.0]), resolution=1e-16).word == "inconclusive"
    assert judge(exact, np.array([1.0 - 1e-9]), resolution=1e-16).word == "violated"
    assert judge(exact, np.array([1.0 + 1e-9]), resolution=1e-16).word == "holds"
    tiny = Band.of(np.array([1]), np.array([[1e-17]]), deterministic=True)
    assert judge(tiny, np.array([0.0]), resolution=1e-15).word == "inconclusive"


def test_a_ratio_beyond_all_numbers_is_unknown() -> None:
    tiny = Band.of(np.array([1]), np.array([[1e-300]]), deterministic=True)
    assert judge(tiny, np.array([1e100])).tightness is None


def test_a_bound_that_is_no_number_is_refused() -> None:
    band = Band.of(np.array([1]), np.array([[1.0, 2.0]]))
    with pytest.raises(ValueError, match="not a number"):
        judge(band, np.array([np.nan]))
    with pytest.raises(ValueError, match="shape"):
        judge(band, np.array([1.0, 2.0]))


def test_band_covers_the_whole_curve() -> None:
    """Simultaneous coverage is at least 95 % (2000 curves of 10 rounds, 6 seeds)."""
    rng = np.random.default_rng(1)
    rounds, truth = np.arange(1, 11), np.linspace(3, 1, 10)
    covered = 0
    for _ in range(2000):
        values = truth[:, None] + rng.normal(size=(10, 6))
        band = Band.of(rounds, values)
        covered += bool(np.all((band.low <= truth) & (truth <= band.high)))
    # 0.95 minus four standard errors of a fraction of 2000
    assert covered / 2000 > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 2000)
    # and it is a band for the mean, not for everything
    assert covered < 2000


@given(power=st.floats(-3, 1), scale=st.floats(0.1, 10))
def test_rate_recovers_a_power_law(power: float, scale: float) -> None:
    rounds = np.unique(np.geomspace(1, 500, 30).astype(int))
    values = scale * rounds[:, None] ** power * np.array([1.0, 2.0, 3.0])
    slope = rate(rounds, values)
    assert slope.measured == pytest.approx(power, abs=1e-9)
    assert slope.low <= slope.measured <= slope.high


def test_rate_of_what_is_not_positive_is_unknown() -> None:
    rounds = np.arange(1, 10)
    assert rate(rounds, np.zeros((9, 3))).measured is None
    assert rate(rounds[:2], np.ones((2, 3))).measured is None
