"""Random runs of SFL-V2 beside a bound: every visit by itself, in any order.

Members are those of the search for Theorem 3.6, their coordinates split at a cut; the
order may change from round to round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray
from planar_members import Member, constants

from sfl_theory.bound import Bound, total
from sfl_theory.conditions import Steeper

Array = NDArray[np.float64]
Order = Sequence[int]
"""The client of every visit of a round; a client's steps come in turn."""
Followed = tuple[Member, Array, float]
"""A member, its gaps and G^2."""


def follow(
    member: Member, start: Array, cut: int, orders: Callable[[int], Order], rounds: int
) -> tuple[Array, float]:
    """Return f before every round and after the last, and G^2."""
    x, G2, values = start.copy(), 0.0, [member.value(start)]
    N = len(member.a)
    for t in range(rounds):
        eta = 4 / (member.tau * (8 * member.S - 1 + t))
        own, server = np.tile(x[:cut], (N, 1)), x[cut:].copy()
        for n in orders(t):
            z = np.concatenate([own[n], server])
            g = member.gradients(np.tile(z, (N, 1)))[n]
            G2 = max(G2, float(g @ g))
            own[n] -= eta * g[:cut]
            server -= eta * member.a[n] * g[cut:]
        x = np.concatenate([member.a @ own, server])
        values.append(member.value(x))
    return np.array(values), G2


@cache
def runs(count: int) -> list[Followed]:
    """Return runs of random members in random orders: gaps and G^2."""
    found = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        member = Member.drawn(rng)
        size, N = member.u.shape[1], len(member.a)
        far = rng.normal(size=size) * 10 ** rng.uniform(-2, 1)
        mixed, turns = rng.integers(2, size=2)

        def order(
            t: int, seed: int = seed, member: Member = member, how: int = mixed
        ) -> Order:
            clients = np.random.default_rng((seed, t)).permutation(len(member.a))
            visits = np.repeat(clients, member.tau)
            return (
                np.random.default_rng((seed, t)).permutation(visits) if how else visits
            )

        fixed = order(0)
        orders = order if turns and N > 1 else lambda _, fixed=fixed: fixed
        cut, rounds = int(rng.integers(size + 1)), int(rng.choice([2, 10, 100]))
        values, G2 = follow(member, far, cut, orders, rounds)
        found.append((member, values - member.lowest(), G2))
    return found


def opposed(S: float) -> Member:
    """Return two parabolas of curvatures 1 and S, their mean lowest at 0."""
    one = np.ones((2, 1))
    b = np.array([[1.0], [-1.0]])
    return Member(S, 2, one, b, np.zeros(2), np.array([0.0, 1e9]), np.array([0.5, 0.5]))


@cache
def all_orders() -> list[Followed]:
    """Return runs of two clients that make two steps, in every two orders by turns."""
    ways, found = sorted(set(permutations((0, 0, 1, 1)))), []
    for S, (even, odd) in product((4.0, 10.0), product(ways, ways)):
        pair = (even, odd)
        member = opposed(S)
        values, G2 = follow(member, np.zeros(1), 0, lambda t, p=pair: p[t % 2], 100)
        found.append((member, values - values[0], G2))
    return found


@cache
def round_ones() -> list[Followed]:
    """Return runs with S = mu, where only the mean way counts, in opposed orders."""
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        tau, N = int(rng.choice([1, 3])), int(rng.choice([2, 5]))
        b, flat = rng.normal(size=(N, 2)), np.zeros((N, 2))
        a, wide = np.full(N, 1 / N), np.full(N, 1e9)
        member = Member(1.0, tau, flat, b - a @ b, np.zeros(N), wide, a)
        order = np.repeat(np.argsort(b[:, 1]), tau)
        start = np.array([0.0, 3.0]) * (seed % 2)
        values, G2 = follow(member, start, seed % 3, lambda _, o=order: o, 60)
        found.append((member, values - member.value(np.zeros(2)), G2))
    return found


def largest(bound: Bound) -> float:
    """Return the largest gap over the bound, at the first gap of each run."""
    worst = 0.0
    for member, gaps, G2 in [*runs(40), *all_orders(), *round_ones()]:
        if member.S == 1 and bound.assumes(Steeper):
            continue
        known = constants(member.S, member.tau)
        known = known.with_values(G2=G2, initial_gap=max(gaps[0], 0.0))
        right = total(bound.formula(known, np.arange(1, len(gaps))))
        worst = max(worst, float(np.max((gaps[1:] - 1e-9 * G2) / right)))
    return worst


# With noise: parabolas, so a round is affine in the model and in what is drawn -------


def affine(
    member: Member, cut: int, order: Order, eta: float
) -> tuple[Array, Array, Array]:
    """Return what a round makes of (1, model, noises): the model, and all gradients.

    Returns:
        Matrices of the model after it, (d, 1 + d + V d), and of the gradients met, (V,
        d, 1 + d + V d); and of each noise the client, (V d,).
    """
    size, visits = member.u.shape[1], len(order)
    width = 1 + size + visits * size
    inputs = np.eye(width)
    inputs[1:, 0] = 0
    zero = member.gradients(np.zeros_like(member.u))
    slopes = np.array([
        (member.gradients(np.tile(e, (len(member.a), 1))) - zero) for e in np.eye(size)
    ])
    x = inputs[1 : 1 + size]
    own, server = np.tile(x[:cut], (len(member.a), 1, 1)), x[cut:].copy()
    met = []
    for v, n in enumerate(order):
        z = np.concatenate([own[n], server])
        g = slopes[:, n].T @ z
        g[:, 0] += zero[n]
        g[:, 1 + size + v * size : 1 + size + (v + 1) * size] += np.eye(size)
        met.append(g)
        own[n] = own[n] - eta * g[:cut]
        server = server - eta * member.a[n] * g[cut:]
    after = np.concatenate([np.einsum("n,nij->ij", member.a, own), server])
    return after, np.array(met), np.repeat(order, size)


def expected(seed: int) -> tuple[Member, Array, float, Array]:
    """Return a random run with noise: expected gaps, G^2 and sigma_n^2.

    Some start far out where all clients are flat, so that the first gap counts most.
    """
    rng = np.random.default_rng(seed)
    member = replace(Member.drawn(rng), S=float(rng.choice([2, 4, 10])), tau=2)
    size, N = member.u.shape[1], len(member.a)
    member = replace(member, width=np.full(N, 1e12), m=np.zeros(N))
    if flat := size > 1 and seed % 2:
        steep = np.tile(np.eye(size)[0], (N, 1))
        member = replace(member, S=100.0, u=steep, b=member.b / 1000)
    sigma2 = rng.uniform(size=N) * 10 ** rng.uniform(-2, 3)
    cut = int(rng.integers(size + 1))
    zero = member.gradients(np.zeros_like(member.u))
    H = np.array([
        member.a @ (member.gradients(np.tile(e, (N, 1))) - zero) for e in np.eye(size)
    ])
    best = -np.linalg.solve(H, member.a @ zero)
    away = rng.normal(size=size) * 10 ** rng.uniform(-3, 0.5)
    x, C = best + (10 * np.eye(size)[1] if flat else away), np.zeros_like(H)
    G2, gaps = 0.0, []
    for t in range(150):
        gaps.append(((x - best) @ H @ (x - best) + np.trace(H @ C)) / 2)
        order = rng.permutation(np.repeat(np.arange(N), member.tau))
        eta = 4 / (member.tau * (8 * member.S - 1 + t))
        after, met, of = affine(member, cut, order, eta)
        mean = np.concatenate([[1], x, np.zeros(len(of))])
        spread = np.zeros((len(mean), len(mean)))
        spread[1 : 1 + size, 1 : 1 + size] = C
        spread[1 + size :, 1 + size :] = np.diag(sigma2[of] / size)
        second = np.einsum("vij,jk,vik->v", met, spread, met)
        G2 = max(G2, float((second + ((met @ mean) ** 2).sum(axis=1)).max()))
        x, C = after @ mean, after @ spread @ after.T
    return member, np.array(gaps), G2, sigma2


@cache
def noisy_runs() -> list[tuple[Member, Array, float, Array]]:
    """Return random runs with noise."""
    return [expected(seed) for seed in range(24)]


def largest_expected(bound: Bound) -> float:
    """Return the largest expected gap over the bound."""
    worst = 0.0
    for member, gaps, G2, sigma2 in noisy_runs():
        known = constants(member.S, 2).with_values(
            G2=G2, initial_gap=gaps[0], sigma2=tuple(sigma2), weights=tuple(member.a)
        )
        right = total(bound.formula(known, np.arange(1, len(gaps))))
        worst = max(worst, float(np.max(gaps[1:] / right)))
    return worst
