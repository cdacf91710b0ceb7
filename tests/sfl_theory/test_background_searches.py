"""App. C, assumptions, boxes, conditions, tables, text of han2024: searches.

What is proved is searched for violations on random members, written from the paper's
statements, without the certificates.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from sfl_theory import Constants, theorem
from sfl_theory.symbols import S as SMOOTHNESS
from sfl_theory.symbols import tau, tau_max

NUMBERS = ("3.6", "3.7", "3.8", "3.9")


def local_run(seed: int) -> tuple[list[float], list[float], dict[str, float]]:
    """Enumerate a client's noise: A_i, and what (38) and (43) bound it by."""
    rng = np.random.default_rng(seed)
    tau, d = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    H = rng.normal(size=(d, d))
    H = (H + H.T) / 2
    S = float(np.abs(np.linalg.eigvalsh(H)).max())
    b, x, e = rng.normal(size=d), rng.normal(size=d), rng.normal(size=d)
    noise = rng.normal(size=d) * rng.choice([0, 0.3, 3])
    limit = np.sqrt(6 if seed % 2 else 8)
    eta = rng.choice([1.0, 0.5]) / (limit * S * tau)
    square = np.zeros(tau)
    moment = np.zeros(tau)
    outcomes = list(product((-1, 1), repeat=tau))
    for signs in outcomes:
        y = x.copy()
        for i, sign in enumerate(signs):
            square[i] += ((y - x) ** 2).sum() / len(outcomes)
            g = H @ y - b + sign * noise
            moment[i] += (g**2).sum() / len(outcomes)
            y = y - eta * g
    gradient = H @ x - b
    sigma2 = float(noise @ noise)
    mean = gradient - e
    return (
        list(square),
        list(moment),
        {
            "tau": tau, "eta2": eta**2, "sigma2": sigma2, "G2": float(moment[0]),
            "eps2": float(e @ e), "mean2": float(mean @ mean),
        },
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(120))
def test_no_violation_of_a_local_step_and_its_sum(seed: int) -> None:
    A, _, at = local_run(seed)
    tau = at["tau"]
    growth = 1 + 2 / tau
    if seed % 2:
        B = 6 * tau * at["eta2"] * (2 * at["sigma2"] + at["G2"])
        end = 12 * tau**3 * at["eta2"] * (2 * at["sigma2"] + at["G2"])
    else:
        inside = at["sigma2"] + at["eps2"] + at["mean2"]
        B = 8 * tau * at["eta2"] * inside
        end = 16 * tau**3 * at["eta2"] * inside
    for before, now in pairwise(A):
        assert now <= (growth * before + B) * (1 + 1e-12)
    powers = sum(B * growth**k for i in range(tau) for k in range(i))
    closed = B / (growth - 1) * ((growth**tau - 1) / (growth - 1) - tau)
    assert powers == pytest.approx(closed, rel=1e-9, abs=1e-12 * B)
    assert sum(A) <= powers * (1 + 1e-12) + 1e-300
    middle = tau**2 * B / 2 * ((np.e**2 - 1) / 2 - 1)
    assert closed <= middle <= 2 * tau**2 * B <= end * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_no_violation_of_the_assumptions_on_the_federation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, N = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    weights = rng.dirichlet(np.ones(N))
    b = rng.normal(size=(N, d))
    b -= weights @ b
    noise = rng.normal(size=(N, d))
    G2 = max(2 + 2 * (b**2).sum(1).max() + (noise**2).sum(1))
    for scale in (1e-2, 1, 30):
        x, y = rng.normal(size=(2, d)) * scale

        def value(n: int, z: np.ndarray) -> float:
            return float(np.sqrt(1 + z @ z) + b[n] @ z)

        def slope(n: int, z: np.ndarray) -> np.ndarray:
            return z / np.sqrt(1 + z @ z) + b[n]

        mean = sum(weights[n] * slope(n, x) for n in range(N))
        for n in range(N):
            model = value(n, x) + slope(n, x) @ (y - x)
            tiny = 1e-12 * (1 + abs(model))
            assert model - tiny <= value(n, y)
            assert value(n, y) <= model + (y - x) @ (y - x) / 2 + tiny
            step = slope(n, x) - slope(n, y)
            assert step @ step <= (x - y) @ (x - y) + tiny
            draws = [slope(n, x) + k * noise[n] for k in (-1, 1)]
            assert sum(g @ g for g in draws) / 2 <= G2 + tiny
            gap = slope(n, x) - mean
            assert gap @ gap <= (b**2).sum(1).max() + tiny


@pytest.mark.parametrize("seed", range(20))
def test_no_step_leaves_the_ball(seed: int) -> None:
    rng = np.random.default_rng(seed)
    S, R, d = rng.uniform(0.1, 5), rng.uniform(0.1, 5), 3
    x = rng.normal(size=d)
    x *= R * rng.uniform() / np.linalg.norm(x)
    for _ in range(50):
        c = rng.normal(size=d)
        c *= S * R / np.linalg.norm(c)
        g = S * x - c
        assert g @ g <= 4 * S**2 * R**2 * (1 + 1e-12)
        x = x - rng.uniform(0, 1 / S) * g
        assert np.linalg.norm(x) <= R * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_models_and_updates_agree_under_full_participation(seed: int) -> None:
    """(2), and SFL-V1 with equal periods as FedAvg, coupled quadratics with noise."""
    rng = np.random.default_rng(seed)
    N, d, tau, eta = 3, 4, 3, 0.1
    cut = int(rng.integers(1, d))
    weights = rng.dirichlet(np.ones(N))
    H, b = rng.normal(size=(N, d, d)), rng.normal(size=(N, d))
    noise = rng.normal(size=(N, tau, d))
    x = rng.normal(size=d)
    whole, client, server, summed = (np.zeros(d) for _ in range(4))
    for n in range(N):
        y, c, s = x.copy(), x[:cut].copy(), x[cut:].copy()
        for i in range(tau):
            summed += weights[n] * (H[n] @ y - b[n] + noise[n, i])
            y = y - eta * (H[n] @ y - b[n] + noise[n, i])
            g = H[n] @ np.concatenate([c, s]) - b[n] + noise[n, i]
            c, s = c - eta * g[:cut], s - eta * g[cut:]
        whole += weights[n] * y
        client[:cut] += weights[n] * c
        server[cut:] += weights[n] * s
    np.testing.assert_allclose(whole, x - eta * summed, atol=1e-12)
    np.testing.assert_allclose(whole, client + server, atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_visits_add_up_and_models_are_unbiased(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, eta = rng.uniform(0.1, 1, size=3), 0.2
    centres, x = rng.normal(size=3), float(rng.normal())
    start, total = x, 0.0
    for n in rng.permutation(3):
        g = x - centres[n]
        x -= eta / q[n] * g
        total += g / q[n]
    assert x == pytest.approx(start - eta * total)
    weights, models = rng.dirichlet(np.ones(3)), rng.normal(size=3)
    mean = sum(
        np.prod(np.where(taken, q, 1 - q)) * ((weights / q * models) @ taken)
        for taken in map(np.array, product((0, 1), repeat=3))
    )
    assert mean == pytest.approx(weights @ models)


def some_constants(rng: np.random.Generator, number: str, **fixed) -> Constants:
    N = int(rng.integers(1, 5))
    mu = float(10 ** rng.uniform(-2, 1))
    partly = number in {"3.8", "3.9"}
    values = {
        "S": mu * float(1 + 10 ** rng.uniform(-2, 2)),
        "mu": mu,
        "sigma2": tuple(rng.uniform(0.1, 3, size=N)),
        "G2": float(rng.uniform(0.1, 5)),
        "eps2": float(rng.uniform(0.1, 5)),
        "weights": tuple(rng.dirichlet(np.ones(N))),
        "participation": tuple(rng.uniform(0.05, 0.9, size=N)) if partly else 1.0,
        "tau": int(rng.integers(1, 9)),
        "tau_server": int(rng.integers(1, 9)),
        "initial_distance2": float(rng.uniform(0, 9)),
        "initial_gap": float(rng.uniform(0, 9)),
    }
    return Constants(**{**values, **fixed})


def printed(number: str, case: str, constants: Constants, rounds=(1, 7, 500)):
    return theorem(number).case(case).bound("printed").evaluate(constants, rounds)


CASES = ("strongly_convex", "general_convex", "non_convex")


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("seed", range(4))
def test_rates_of_the_printed_bounds(number: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    constants = some_constants(rng, number)
    rounds = np.array([1, 10, 10**3, 10**6, 10**9])
    strongly = rounds * printed(number, "strongly_convex", constants, rounds)
    assert strongly.max() <= (strongly[0] + strongly[-1]) * (1 + 1e-9)
    assert strongly.min() >= min(strongly[0], strongly[-1]) * (1 - 1e-9) > 0
    general = printed(number, "general_convex", constants, rounds)
    scaled = (rounds + 1.0) ** (1 / 3) * general
    assert (np.diff(scaled) <= 1e-9 * scaled[:-1]).all()


@pytest.mark.parametrize("number", ("3.8", "3.9"))
@pytest.mark.parametrize("case", CASES[:2])
def test_convex_bounds_fall_with_participation(number: str, case: str) -> None:
    rng = np.random.default_rng(7)
    for _ in range(5):
        constants = some_constants(rng, number)
        here = printed(number, case, constants)
        more = replace(
            constants,
            participation=tuple(1.05 * p for p in constants.participation),
        )
        assert (printed(number, case, more) <= here * (1 + 1e-12)).all()
        full = {"3.8": "3.6", "3.9": "3.7"}[number]
        without = replace(constants, participation=1.0)
        assert (printed(full, case, without) <= here * (1 + 1e-12)).all()


def noise_share(number: str, constants: Constants) -> float:
    """Return the factor of sum_t eta^2 / T in (13), (16), (19), (22), by hand."""
    a = np.array(constants.weights)
    q = np.broadcast_to(constants.participation, a.shape)
    drift = np.array(constants.sigma2) + constants.eps2
    tau, server, N, S = constants.tau, constants.tau_server, len(a), constants.S
    if number in {"3.6", "3.8"}:
        factor = 8 * N * S * (tau**2 + server**2) / min(tau, server)
        weight = a**2 / (q if number == "3.8" else 1)
    else:
        factor = 8 * N * S * tau
        weight = (a**2 + 1) / (q if number == "3.9" else 1)
    return float(factor * (weight @ drift))


@pytest.mark.parametrize("number", NUMBERS)
def test_non_convex_bounds_grow_with_heterogeneity(number: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        constants = some_constants(rng, number)
        more = replace(constants, eps2=constants.eps2 * 1.1)
        assert noise_share(number, constants) < noise_share(number, more)
        same = replace(constants, tau_server=constants.tau)
        if number == "3.7":
            a, weight = np.array(same.weights), np.array(same.sigma2) + same.eps2
            first = 16 * len(a) * same.S * same.tau * float((a**2 + 1) @ weight)
            second = noise_share("3.7", same)
            assert second <= first <= 2 * second * (1 + 1e-12)
        if number in {"3.8", "3.9"}:
            full = {"3.8": "3.6", "3.9": "3.7"}[number]
            assert noise_share(full, constants) <= noise_share(number, constants)


@pytest.mark.parametrize("seed", range(10))
def test_conditions_hold_where_they_are_said_to(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for number in NUMBERS:
        c = some_constants(rng, number)
        server = c.tau if number in {"3.7", "3.9"} else c.tau_server
        N, most, least = len(c.weights), max(c.tau, server), min(c.tau, server)
        a, q = np.array(c.weights), np.array(c.participation)
        w = float((a**2 / q).sum())
        second = (
            least / (8 * c.S * N * most**2 * w)
            if number in {"3.6", "3.8"}
            else 1 / (8 * c.S * N**2 * most * (w if number == "3.9" else 1))
        )
        eta = min(1 / (16 * c.S * most), second)
        for side in (c.tau, server):
            assert eta <= 1 / (np.sqrt(8) * c.S * side)
            assert eta <= 1 / (2 * c.S * side)
        for t in range(1, 40):
            rate = 4 / (c.mu * c.tau * (8 * c.S / c.mu - 1 + t))
            assert rate <= 1 / (2 * c.S * c.tau) * (1 + 1e-12)
            if t >= 1 + 2 * c.S / c.mu:
                assert rate <= 1 / (np.sqrt(6) * c.S * c.tau)


@pytest.mark.parametrize("number", NUMBERS)
def test_the_printed_conditions_are_those_of_the_certificates(number: str) -> None:
    """The library's step sizes hold 1/(16 S tau_max) and 1/(2 S tau_max)."""
    most = tau_max if number in {"3.6", "3.8"} else tau
    rates = {
        case: theorem(number).case(case).bound("printed").step_size.client
        for case in CASES
    }
    assert 1 / (16 * SMOOTHNESS * most) in rates["non_convex"].args
    assert rates["general_convex"] == 1 / (2 * SMOOTHNESS * most)
