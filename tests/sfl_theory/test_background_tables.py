"""Rows of Tables 1-4 of han2024: searches, written from the paper's statements."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from test_background_searches import printed, some_constants

from sfl_theory import Constants
from sfl_theory.papers.baselines import TABLE_4, rate_table


@pytest.mark.parametrize("seed", range(30))
def test_tables_by_hand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    N, T = int(10 ** rng.uniform(0, 4)), int(10 ** rng.uniform(0, 5))
    mu = 10 ** rng.uniform(-3, 1)
    S = mu * 10 ** rng.uniform(0, 3)
    s2, G2, start = (10 ** rng.uniform(-3, 3) for _ in range(3))
    gamma = 8 * S / mu - 1
    row = {
        k: S / (mu * (S + mu * T)) * (N**k * (s2 + G2) + mu * S * start) for k in (1, 2)
    }
    for power, A, B in (
        (1, (2 * s2 + G2) / N, 2 * s2 + G2),
        (2, (N + 1 / N) * (2 * s2 + G2), (N + 1) * (2 * s2 + G2)),
    ):
        bound = 8 * S * N * A / (mu**2 * (gamma + T))
        bound += 768 * S**2 * B / (mu**3 * (gamma + T) * (gamma + 1))
        bound += S * (gamma + 1) * start / (2 * (gamma + T))
        assert bound <= 1000 * row[power]
        if power == 2:
            assert row[power] <= 1000 * bound
    values = {name: float(rng.uniform(0.1, 9)) for name in "KDvWrR"}
    values |= {"T_fb": 2.0, "T_fedavg": 1.5}
    for entry in TABLE_4:
        found = entry.evaluate(values)
        assert found["total"] == pytest.approx(values["K"] * found["per_client"])
        channel = "total" if entry.method == "SL" else "per_client"
        wait = {"FL": 1.5, "SL": 0, "SFL-V1": 1.5, "SFL-V2": 0.75}[entry.method]
        expected = 2.0 + found[channel] / values["R"] + wait
        assert found["time"] == pytest.approx(expected)


@pytest.mark.parametrize("number", ("3.6", "3.8", "3.9"))
def test_no_violation_of_rows_of_table_1_at_any_weights(number: str) -> None:
    method = "SFL-V2" if number == "3.9" else "SFL-V1"
    (row,) = (
        found
        for found in rate_table(1)
        if (found.method, found.case) == (method, "strongly_convex")
        and found.participation == ("full" if number == "3.6" else "partial")
    )
    rng, rounds, closest = np.random.default_rng(5), np.array([1, 7, 10**4, 10**8]), 0.0
    for k in range(60):
        N = 1 + k % 4
        weights = np.eye(N)[0] if k % 3 else rng.dirichlet(np.ones(N))
        fixed = {"weights": tuple(weights), "sigma2": float(10 ** rng.uniform(-2, 2))}
        if number != "3.6":
            fixed["participation"] = tuple(10 ** rng.uniform(-2, 0, size=N))
        else:
            fixed["participation"] = 1.0
        constants = some_constants(rng, number, **fixed)
        bound = printed(number, "strongly_convex", constants, rounds)
        ratio = (bound / row.evaluate(constants, rounds)).max()
        assert ratio <= 1000
        closest = max(closest, ratio)
    assert closest > 10


def test_rows_of_table_2_are_of_order_one_over_t() -> None:
    constants = Constants(
        S=3.0, mu=0.5, sigma2=1.3, G2=2.0, eps2=0.7, weights=(0.5, 0.5), tau=4,
        initial_distance2=2.0, initial_gap=1.0, Gamma=0.4, sigma_star2=0.6,
        eps_star2=0.2,
    )  # fmt: skip
    rounds = np.array([1, 5, 100, 10**4, 10**7])
    for row in rate_table(2):
        scaled = rounds * row.evaluate(constants, rounds)
        assert scaled.min() > 0.01
        assert scaled.max() < 100 * scaled[-1] + 100


@pytest.mark.parametrize("T", [2, 10, 64])
def test_the_floor_of_sgd_holds_at_every_step_size(T: int) -> None:
    """min(1/4, 3 sigma^2/(64 T)) is below the mean of E x_t^2, by exact recursion."""
    for k in range(-8, 120):
        eta = Fraction(k, 40) if k % 2 else Fraction(abs(k), 40 * T)
        for variance in (Fraction(0), Fraction(1, 7), Fraction(1), Fraction(T), 9 * T):
            square, total = Fraction(1), Fraction(0)
            for _ in range(T):
                total += square
                square = (1 - eta) ** 2 * square + eta**2 * variance
            assert total / T >= min(Fraction(1, 4), 3 * Fraction(variance) / (64 * T))
