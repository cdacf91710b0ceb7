"""The mean gap at the best constant rate: refused variants, searched for violations.

The search is coded from SFL-V1 alone: rounds of tau steps on parabolas, exact moments.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sfl_theory.evidence import Part, Says, decide
from sfl_theory.notation import written as w
from sfl_theory.papers.han2024 import tuned_rates as own

PARTS = {
    (claim.id.split("/")[1], place): part
    for claim in own.CLAIMS
    for place, part in enumerate(claim.parts)
}


@pytest.mark.parametrize("key", PARTS)
def test_a_smaller_right_side_is_not_proved(key: tuple[str, int]) -> None:
    part = PARTS[key]
    assert decide(part, "test").status == "proved"
    less = w.number(Fraction(99, 100)) * part.says.right
    smaller = Part(Says(part.says.left, less, part.says.assumed), part.by)
    assert decide(smaller, "test").status == "unproved"


def followed(seed: int, rounds: int = 12) -> tuple[float, float, float, float, float]:
    """Return the mean gap of x^0 to x^T, I/(T+1), G, alpha and S."""
    rng = np.random.default_rng(seed)
    N, tau = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    a = rng.dirichlet(np.ones(N))
    h, b = 10 ** rng.uniform(-2, 0, size=N), rng.normal(size=N) * rng.choice([0, 1])
    noise = rng.choice([0, 1]) * rng.uniform(0, 1, size=N)
    rate = rng.uniform(0, 1) * rng.choice([0.1, 1]) / (tau * h.max())
    best = (a * h * b).sum() / (a * h).sum()
    mean, var = best + rng.normal() * rng.choice([1, 10]), 0.0
    first, gaps, steep = (mean - best) ** 2, list[float](), 0.0
    for _ in range(rounds + 1):
        gaps.append((a * h).sum() / 2 * ((mean - best) ** 2 + var))
        own_mean, own_var = np.full(N, mean), np.zeros(N)
        slope = np.ones(N)
        for _ in range(tau):
            second = h**2 * ((own_mean - b) ** 2 + slope**2 * var + own_var) + noise**2
            steep = max(steep, float(second.max()))
            own_mean = own_mean - rate * h * (own_mean - b)
            own_var = (1 - rate * h) ** 2 * own_var + rate**2 * noise**2
            slope = slope * (1 - rate * h)
        mean = float(a @ own_mean)
        var = float((a @ slope) ** 2 * var + a**2 @ own_var)
    gap = float(np.mean(gaps))
    return gap, first / (rounds + 1), steep**0.5, rate * tau, float(h.max())


def ratio(seed: int, share: float = 1) -> float:
    """Return the mean gap over a part of the bound, v and r as small as they may be."""
    gap, far, G, alpha, S = followed(seed)
    level = max(G, far**0.5 / alpha)
    way = alpha * level
    return gap / (share * (level * way + S * way**2 / 6))


def test_no_violation() -> None:
    assert not [seed for seed in range(200) if not ratio(seed) <= 1]


def test_the_search_finds_what_is_false() -> None:
    assert any(ratio(seed, 0.25) > 1 for seed in range(200))
