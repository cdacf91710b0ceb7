"""Theorem 3.7's last model: its lemmas by their definition, and its formula.

The search for runs that exceed it stands beside that by distances.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from planar_members import constants
from reading import proved_and_no_less

from sfl_theory import Constants, theorem
from sfl_theory.conditions import Algorithm
from sfl_theory.lower import trivial
from sfl_theory.papers.han2024 import strongly_convex_repairs as repairs

CASE = theorem("3.7").case("strongly_convex")
BOUND = CASE.bound("last_model")
PART = repairs.LAST_MODEL["3.7"]["last_model"].part
WEIGHTED = Algorithm(weighted_server=True)
Array = NDArray[np.float64]


# The lemmas --------------------------------------------------------------------------


def changes(rng: np.random.Generator) -> tuple[float, float]:
    """Return the squared mean change of gradients, and its bound: ways, S and mu."""
    count, size = int(rng.integers(1, 5)), 2
    S, mu = 1 + 9 * rng.uniform(), 1.0
    a, y = rng.dirichlet(np.ones(count)), rng.normal(size=(count, size))
    turned = np.linalg.qr(rng.normal(size=(count, size, size)))[0]
    own = rng.choice([mu, S], size=(count, size))
    if rng.integers(2):  # each way along an axis of its own parabola, all changes alike
        y, turned = np.tile(rng.normal(size=size), (count, 1)), turned * 0 + np.eye(2)
        own = np.where(y > 0, S, mu) * np.ones((count, 1))
        y = y / own
    H = np.einsum("nij,nj,nkj->nik", turned, own, turned)
    mean = np.einsum("n,nij,nj->i", a, H, y)
    along = (a @ y) @ (a @ y)
    bound = S * (S + mu) / 2 * along + S * (S - mu) / 2 * (a @ (y**2).sum(axis=1))
    return float(mean @ mean), float(bound)


def test_gradients_change_as_said() -> None:
    pairs = [changes(np.random.default_rng(seed)) for seed in range(600)]
    assert 0.97 < max(left / right for left, right in pairs) <= 1 + 1e-12


def ways(orders: Array, tau: int, a: Array) -> tuple[Array, Array]:
    """Return the weights of gradients in every visit's way, less half the round's.

    Args:
        orders: the client of every visit, in turn.
        tau: steps of each client.
        a: weights.

    Returns:
        For the clients' block (the whole way) and the server's, each visit by visit,
        visit v being step ``v % tau`` of client ``v // tau``.
    """
    N, place = len(a), {}
    made = [0] * N
    for at, n in enumerate(orders):
        place[n * tau + made[n]] = at
        made[n] += 1
    V, weight = N * tau, np.repeat(a, tau)
    client, server = np.zeros((V, V)), np.zeros((V, V))
    for v in range(V):
        for u in range(V):
            client[v, u] = u // tau == v // tau and u < v
            server[v, u] = weight[u] * ((place[u] < place[v]) - 0.5)
    return client, server


def form(rng: np.random.Generator) -> tuple[Array, Array, float, float, Array]:
    """Return both blocks' squares as matrices in the gradients, and the bound."""
    N, tau = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    lost, a = rng.choice([0, 0.5, 1, rng.uniform()]), rng.dirichlet(np.ones(N) * 3)
    orders = rng.permutation(np.repeat(np.arange(N), tau))
    if rng.integers(2):
        orders = np.repeat(rng.permutation(N), tau)
    client, server = ways(orders, tau, a)
    weight = np.repeat(a, tau) / tau
    means = weight @ client - np.repeat(a, tau) / 2, weight @ server
    squares = [
        (1 - lost / 2) * np.outer(one, one)
        + lost / 2 * np.einsum("v,vu,vw->uw", weight, each, each)
        for one, each in zip(means, (client, server), strict=True)
    ]
    R = (1 - 1 / tau) * (2 - 1 / tau)
    return squares[0], squares[1], tau**2 * (1 / 4 + lost * R / 80), tau, weight


def most(rng: np.random.Generator) -> float:
    """Return the largest drift of gradients of length 1, over the bound.

    Climbs: each gradient is turned to where the others want it, in both blocks.
    """
    client, server, bound, _, _ = form(rng)
    g = rng.normal(size=(len(client), 2, 2))
    g *= rng.choice([0.1, 1, 10], size=(1, 2, 1))
    for _ in range(60):
        pull = np.stack([client @ g[:, 0], server @ g[:, 1]], axis=1)
        own = np.stack([np.diag(client), np.diag(server)], axis=1)[:, :, None] * g
        g = pull + own * 1e-3 + 1e-12
        g /= np.sqrt((g**2).sum(axis=(1, 2), keepdims=True))
    value = sum(
        np.einsum("ui,uw,wi->", g[:, b], one, g[:, b])
        for b, one in enumerate((client, server))
    )
    return float(value / bound)


def test_the_drift_seen_from_half_the_way_is_as_said() -> None:
    """In every order; one client with one step has all of it."""
    found = [most(np.random.default_rng(seed)) for seed in range(120)]
    assert 0.999 < max(found) <= 1 + 1e-9


def test_seen_from_the_model_drift_depends_on_the_order() -> None:
    """Clients one after another: more than the third of visits step by step."""
    N, tau = 14, 20
    a, seen = np.full(N, 1 / N), {}
    for name, order in (
        ("client by client", np.repeat(np.arange(N), tau)),
        ("step by step", np.tile(np.arange(N), tau)),
    ):
        client, server = ways(order, tau, a)
        server = server + np.repeat(a, tau) / 2
        first = np.repeat(np.arange(N) < 0.79 * N, tau)
        drift = 0.0
        for of_block, g in ((client, ~first), (server, first)):
            drift += float(((of_block @ g) ** 2).mean())
        seen[name] = drift / tau**2
    assert seen["client by client"] > 0.35
    assert seen["step by step"] < 1 / 3


# The formula -------------------------------------------------------------------------


def test_values_by_hand() -> None:
    """S = 2 mu, so gamma = 15; T = 3, so s = 18; tau = 2, G = mu = 1."""
    known = constants(2, 2).with_values(initial_gap=0.3, sigma2=0.5)
    terms = BOUND.terms(known, np.array([3]))
    kept = 14 * 13 * 12 * 11 / (17 * 16 * 15 * 14)
    np.testing.assert_allclose(terms["initial gap"], [kept * 0.3])
    noise = 56 / 9 * 2 * 0.25 / 2 * (1 / 18 - kept / 15)
    np.testing.assert_allclose(terms["gradient noise"], [noise])
    lost = 1 / 2 * 3 / 4
    drift = (4 + lost / 5) * (1 / 18**2 - kept / 15**2)
    drift += 2 * (64 - 12 / 5 * lost) * (1 / 18**3 - kept / 15**3)
    np.testing.assert_allclose(terms["client drift"], [4 * drift])


def test_at_the_start_it_is_the_first_gap() -> None:
    known = constants(10, 3).with_values(initial_gap=0.3, sigma2=0.5)
    np.testing.assert_allclose(BOUND.evaluate(known, [0]), [0.3])


def test_the_kernel_proves_it_and_no_less() -> None:
    assert proved_and_no_less(PART)


def candidate(c: Constants, T: Array) -> Array:
    """Return the theorem that was derived by hand, for visits step by step."""
    s, gamma = 8 * c.S - 1 + T, 8 * c.S - 1
    noise = 56 / 9 * c.S * float((c.per_client("weights") ** 2).sum()) / c.tau
    noise = noise * float(c.per_client("sigma2")[0])
    return (gamma / s) ** 4 / 2 + noise / s + 16 / 3 * c.S**2 / s**2


@pytest.mark.parametrize("kappa", [1, 10, 100, 1000])
def test_the_best_bound_is_no_larger_than_the_candidate(kappa: float) -> None:
    """On the grid of the benchmark, both clipped at what the assumptions give."""
    T = 10.0 ** np.arange(7)
    for tau, N, noise in [(1, 2, 0), (5, 10, 0.1), (50, 100, 0), (50, 2, 1)]:
        known = constants(kappa, tau).with_values(
            sigma2=noise, weights=(1 / N,) * N, initial_gap=0.5, eps2=1
        )
        best = CASE.best(known, T.astype(int), algorithm=WEIGHTED).values
        most_ = trivial(BOUND, known, 1)
        ours, theirs = (np.minimum(v, most_) for v in (best, candidate(known, T)))
        assert np.all(ours <= theirs * (1 + 1e-9)), (tau, N, noise, ours / theirs)


def test_with_everyone_drawn_it_is_theorem_39s() -> None:
    own = theorem("3.9").case("strongly_convex").bound("full_participation")
    known = constants(4, 2).with_values(initial_gap=1)
    np.testing.assert_allclose(own.evaluate(known, [9]), BOUND.evaluate(known, [9]))
