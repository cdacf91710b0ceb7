"""SFL-V2 where clients are drawn: moments of the draws, and the drift that has them.

Both are coded anew, over all outcomes of a round's draws and for random orders of its
visits; the search for a larger drift is shown able to find one.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import prod

import numpy as np
import pytest
from numpy.typing import NDArray

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio
from sfl_theory.proofs import derived
from sfl_theory.proofs import partial_visits as visits
from sfl_theory.proofs.local_steps import n, now
from sfl_theory.proofs.notation import mean

Array = NDArray[np.float64]


def third(a: list[Fraction], q: list[Fraction]) -> Fraction:
    """Return the formula for ``E W^3``."""
    r = [1 / one - 1 for one in q]
    rho = sum(x**2 * y for x, y in zip(a, r, strict=True))
    return 1 + 3 * rho + sum(x**3 * y * (y - 1) for x, y in zip(a, r, strict=True))


def fourth(a: list[Fraction], q: list[Fraction]) -> Fraction:
    """Return the formula for ``E W^4``."""
    r = [1 / one - 1 for one in q]
    rho = sum(x**2 * y for x, y in zip(a, r, strict=True))
    late = sum(
        4 * x**3 * y * (y - 1) + x**4 * y * (y**2 - 4 * y + 1)
        for x, y in zip(a, r, strict=True)
    )
    return 1 + 6 * rho + 3 * rho**2 + late


@pytest.mark.parametrize("seed", range(20))
def test_the_moments_of_a_sum_of_draws(seed: int) -> None:
    """Over all outcomes, exactly."""
    rng = np.random.default_rng(seed)
    N = int(rng.integers(1, 5))
    parts = [int(one) for one in rng.integers(1, 6, size=N)]
    a = [Fraction(one, sum(parts)) for one in parts]
    q = [Fraction(int(one), 7) for one in rng.integers(1, 8, size=N)]
    moments = [Fraction(0), Fraction(0)]
    for who in product((0, 1), repeat=N):
        chance = prod(c if here else 1 - c for here, c in zip(who, q, strict=True))
        W = sum(x * here / c for x, here, c in zip(a, who, q, strict=True))
        moments = [m + chance * W**p for p, m in zip((3, 4), moments, strict=True)]
    assert moments == [third(a, q), fourth(a, q)]


def test_the_kernel_derives_these_moments() -> None:
    a, r, W = k.weight(n), visits.odds, visits.W
    rho = mean(n, a**2 * r)
    expected: dict[int, Ratio] = {
        3: 1 + 3 * rho + mean(n, a**3 * r * (r - 1)),
        4: 1
        + 6 * rho
        + 3 * rho**2
        + mean(n, 4 * a**3 * r * (r - 1) + a**4 * r * (r**2 - 4 * r + 1)),
    }
    for power, number in expected.items():
        found = derived.expect(visits.RUN, now, k.constant(W**power))
        assert found.equal
        assert rules.number_of(found.form) == W**power - number


@cache
def drifts() -> list[tuple[float, float, float, float]]:
    """Return drifts over eta^2 tau^3 G^2, sums of a_n^2 r_n, a_n^3 r_n^2, a_n r_n."""
    return [
        (drift(rng, a, q), *(float(a**p @ (1 / q - 1) ** s) for p, s in POWERS))
        for rng, a, q in members()
    ]


POWERS = ((2, 1), (3, 2), (1, 1))


def members() -> Iterator[tuple[np.random.Generator, Array, Array]]:
    """Yield clients' weights and chances."""
    for seed in range(150):
        rng = np.random.default_rng(seed)
        N = int(rng.integers(1, 5))
        yield rng, rng.dirichlet(np.ones(N)), 10 ** rng.uniform(-1.5, 0, size=N)


def drift(rng: np.random.Generator, a: Array, q: Array) -> float:
    """Return the drift of one round from a random model, quadratics in a plane.

    The client's block has a random share of the gradients. G^2 is the largest squared
    gradient that a client meets, whoever is drawn.
    """
    N, tau = len(a), int(rng.integers(1, 6))
    H = rng.normal(size=(N, 2, 2)) * rng.choice([0, 0.1, 1])
    H = H @ H.transpose(0, 2, 1)
    pull = rng.normal(size=(N, 2)) * rng.choice([0, 1])
    pull = (pull + rng.normal(size=2)) * rng.choice([[1, 1], [0, 1], [0.3, 1]])
    order = rng.permutation(np.repeat(np.arange(N), tau))
    eta, total, G2 = 1 / tau, 0.0, 0.0
    for who in product((0, 1), repeat=N):
        chance, J = np.prod(np.where(who, q, 1 - q)), np.array(who) / q
        client, server = np.zeros(N), 0.0
        for m in order:
            here = np.array([client[m], server])
            g = pull[m] + H[m] @ here
            G2 = max(G2, float(g @ g))
            total += chance * a[m] * J[m] * float(here @ here)
            client[m] -= eta * g[0]
            server -= eta * a[m] * J[m] * g[1]
    return total / (eta**2 * tau**3 * G2)


def test_no_drift_of_the_search_exceeds_the_bound() -> None:
    ratios = [D / (1 + 1.5 * rho + skew / 2) for D, rho, skew, _ in drifts()]
    assert 0.4 < max(ratios) <= 1


def test_it_is_never_above_the_bound_without_the_third_moment() -> None:
    for _, rho, skew, odds in drifts():
        assert 1.5 * rho + skew / 2 <= rho + (1 + odds) * rho / 2 + 1e-12


@pytest.mark.parametrize("factors", [(1, 1.5, 0), (1, 0, 0.1), (0.4, 0.6, 0.2)])
def test_the_search_finds_what_is_too_small(
    factors: tuple[float, float, float],
) -> None:
    """It could have failed: without the skew, without rho, two fifths of all."""
    one, two, three = factors
    assert any(one + two * rho + three * skew < D for D, rho, skew, _ in drifts())
