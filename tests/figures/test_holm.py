"""Protects Holm's method: its levels, its order, and what it must not reject."""

from __future__ import annotations

import numpy as np

from figures.holm import holm


def test_levels_step_down_and_stop() -> None:
    """Holm's own example of the order: the first failure ends it."""
    found = holm([0.04, 0.001, 0.03, 0.012], 0.05)
    assert [one.rejected for one in found] == [False, True, False, True]
    assert [one.level for one in found] == [0.025, 0.0125, 0.025, 0.05 / 3]
    # 0.04 is below 0.05, the last level, but 0.03 ended it at 0.025.
    assert holm([0.06, 0.001, 0.03, 0.012], 0.05)[0].level == 0.025


def test_one_hypothesis_needs_no_correction_and_what_is_untested_counts() -> None:
    assert holm([0.05], 0.05)[0].rejected
    assert not holm([0.04, 1.0], 0.05)[0].rejected
    assert holm([], 0.05) == []


def test_it_rejects_what_bonferroni_does_and_more() -> None:
    draws = np.random.default_rng(0)
    more = 0
    for _ in range(200):
        values = (draws.uniform(size=12) ** 4).tolist()
        found = [one.rejected for one in holm(values, 0.05)]
        plain = [value <= 0.05 / 12 for value in values]
        assert all(b for a, b in zip(plain, found, strict=True) if a)
        more += sum(found) > sum(plain)
    assert more > 20


def test_a_true_hypothesis_is_rarely_rejected() -> None:
    """Of 12, 6 true and dependent: in less than 5 % of worlds, up to chance."""
    draws = np.random.default_rng(1)
    wrong = 0
    for _ in range(1000):
        shared = draws.uniform()
        true = [shared, shared, *draws.uniform(size=4)]
        values = [*true, *(1e-6 * draws.uniform(size=6))]
        wrong += any(one.rejected for one in holm(values, 0.05)[:6])
    assert wrong < 70
