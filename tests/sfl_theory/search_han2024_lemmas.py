"""Searches against the proved lemmas, propositions and steps of ``han2024``."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from members import Outcomes, Smooth, all_outcomes, count_outcomes, train
from random_members import convex, participation, quadratic, smooth, weights
from search import Random, Search, Sides

from sfl_train.algorithms import SFLV1, SFLV2
from sfl_train.engine import ConstantRate

Pair = list[Sides]
MANY = 2048


def norm2(v) -> float:
    return float(np.asarray(v) @ np.asarray(v))


def near(r: Random, x: np.ndarray) -> np.ndarray:
    """Return a point close to x, far from it, or off in one coordinate."""
    step = r.vector(len(x), r.of(0.01, 1.0, 10.0))
    if r.of(True, False):
        step[1:] = 0.0
    return x + step


# Statements about a function


def bounded_diameter(r: Random) -> Pair:
    """Two points where the gradient is at most G are at most 2G/mu apart."""
    f = convex(r, 1, 2, 1, mu=r.of(0.1, 1.0))
    best = f.minimiser([1.0])
    x, y = near(r, best), near(r, best)
    if r.of(True, False):
        y = 2 * best - x
    G = max(norm2(f.at(x)[0]), norm2(f.at(y)[0])) ** 0.5
    return [Sides(norm2(x - y) ** 0.5, 2 * G / f.mu)]


def decomposition(r: Random) -> Pair:
    f = convex(r, r.of(1, 2, 3), 3, r.of(1, 2))
    a = weights(r, f.clients)
    best = f.minimiser(a)
    x = near(r, best)
    gap = a @ (f.values(x) - f.values(best))
    cut = int(f.default_cut)
    blocks = norm2((x - best)[cut:]) + norm2((x - best)[:cut])
    return [Sides(gap, f.S / 2 * blocks)]


def lemma_c3(r: Random) -> Pair:
    h = convex(r, 1, 2, 1, mu=r.of(0.0, 0.0, 0.5))
    x = h.x0
    y, z = near(r, x), near(r, x)
    (hy,), (hz,) = h.values(y), h.values(z)
    right = h.at(x)[0] @ (z - y) + h.S * norm2(z - x)
    return [Sides(hz - hy + h.mu / 4 * norm2(y - z), right)]


def proposition_c4(r: Random) -> Pair:
    f = smooth(r, r.of(1, 2), 3, r.of(1, 2))
    a = weights(r, f.clients)
    x, y, cut = f.x0, near(r, f.x0), int(f.default_cut)
    g = a @ f.at(x)
    blocks = [
        g[side] @ (y - x)[side] + f.S / 2 * norm2((y - x)[side])
        for side in (slice(0, cut), slice(cut, None))
    ]
    return [Sides(a @ (f.values(y) - f.values(x)), sum(blocks))]


# One client's round


def local_path(r: Random, f: Smooth, tau: int, eta: float):
    """Return the points p^0..p^(tau-1) of one client, (tau, d, R), and the run."""
    fed = all_outcomes(f, [1.0], 1.0, 1, tau)
    f.seen.clear()
    train(fed, SFLV1(tau, tau, 1), ConstantRate(eta), 1)
    points = torch.stack([x[0] for x, _, _ in f.seen]).numpy()
    exact = torch.stack([g[0] for _, g, _ in f.seen]).numpy()
    return fed, points, exact


def drift(fed: Outcomes, points: np.ndarray) -> float:
    return fed.mean(((points - points[0]) ** 2).sum((0, 1)))


def lemma_c5(r: Random) -> Pair:
    f, tau = convex(r, 1, 2, 1, noisy=r.of(0, 1)), r.of(1, 2, 5, 8)
    eta = r.of(0.1, 1.0) / (6**0.5 * f.S * tau)
    fed, points, _ = local_path(r, f, tau, eta)
    G2 = f.largest_gradient2()
    right = 12 * tau**3 * eta**2 * (2 * f.sigma2[0] + G2)
    return [Sides(drift(fed, points), right)]


def lemma_c6(r: Random) -> Pair:
    """The client is one of two; f is their mean."""
    both = smooth(r, 2, 2, 1, noisy=0)
    zeta = r.vector(2, r.of(0.0, 1.0, 3.0))
    own = Smooth(
        both.H[:1], both.b[:1], both.x0, 1, [zeta], both.ridge, both.u[:1], both.d[:1]
    )
    tau = r.of(1, 2, 5, 8)
    eta = r.of(0.1, 1.0) / (8**0.5 * both.S * tau)
    fed, points, _ = local_path(r, own, tau, eta)
    g = both.at(both.x0)
    a = weights(r, 2)
    mean = a @ g
    eps2 = max(norm2(g[n] - mean) for n in range(2))
    right = 16 * tau**3 * eta**2 * (norm2(zeta) + eps2 + norm2(mean))
    return [Sides(drift(fed, points), right)]


def lemma_c7(r: Random) -> Pair:
    """The repair: E||g^i - g^0||^2 <= 2 S^2 E||x^i - x||^2 + 4 sigma^2 for every i."""
    f, tau = smooth(r, 1, 2, 1, noisy=r.of(0, 1, 1)), r.of(2, 3, 6)
    eta = r.of(0.1, 1.0, 3.0) / (f.S * tau)
    fed, points, exact = local_path(r, f, tau, eta)
    g = exact.copy()
    if fed.signs is not None:
        g += np.stack([f.noise(fed.signs[0, i])[0].numpy() for i in range(tau)])
    found = []
    for i in range(1, tau):
        left = fed.mean(((g[i] - g[0]) ** 2).sum(0))
        moved = fed.mean(((points[i] - points[0]) ** 2).sum(0))
        found.append(Sides(left, 2 * f.S**2 * moved + 4 * f.sigma2[0]))
    return found


# One round of everyone


def one_round(r: Random, sequential: bool) -> Pair:
    r"""The repairs of Lemmas D.1 and E.1, any learning rate, no participation."""
    N, tau = r.of(1, 2, 3), r.of(1, 2, 4)
    f = convex(r, N, 2, 1, mu=r.of(0.0, 0.3), noisy=r.of(0, 1))
    a = weights(r, N, equal=sequential)
    orders = sequential and r.of(True, False)
    while count_outcomes(f, 1.0, 1, tau, orders) > MANY:
        tau -= 1
    fed = all_outcomes(f, a, 1.0, 1, tau, orders)
    best = f.minimiser(a)
    eta = r.of(0.05, 0.5, 3.0) / (f.S * tau)
    rate = ConstantRate(eta, eta / N if sequential else None)
    f.seen.clear()
    x = train(fed, SFLV2(tau, 1) if sequential else SFLV1(tau, tau, 1), rate, 1)
    G2 = f.largest_gradient2()
    c1, cd = (1, 4 / 3) if sequential else (1, 1 / 3)
    gap = a @ (f.values(f.x0) - f.values(best))
    after = fed.mean(((x[-1].numpy() - best[:, None]) ** 2).sum(0))
    right = (1 - eta * tau * f.mu / 2) * norm2(f.x0 - best) + c1 * eta**2 * (
        tau**2 * G2
    )
    right += 2 * f.S * cd * eta**3 * tau**3 * G2
    return [Sides(after + 2 * eta * tau * gap, right)]


def participation_distance(r: Random) -> Pair:
    """(127): the update against that of full participation, server block."""
    N, tau, tau_server = r.of(1, 2, 3), r.of(1, 2), r.of(1, 2, 3)
    f = convex(r, N, 2, 1, noisy=r.of(0, 1))
    a, q, eta = weights(r, N), participation(r, N, True), r.of(0.1, 1.0) / f.S
    fed = all_outcomes(f, a, q, 1, max(tau, tau_server))
    algorithm, rate = SFLV1(tau, tau_server, 1), ConstantRate(eta)
    f.seen.clear()
    x = train(fed, algorithm, rate, 1)[-1]
    G2 = f.largest_gradient2()
    everyone = Outcomes(
        f, a, 1.0, fed.sampling, fed.seeds,
        probability=fed.probability, signs=fed.signs,
    )  # fmt: skip
    bar = train(everyone, algorithm, rate, 1)[-1]
    left = fed.mean(((bar - x)[1:] ** 2).sum(0))
    right = N * tau_server**2 * eta**2 * G2 * float((a**2 / q).sum())
    return [Sides(left, right)]


def server_descent(r: Random) -> Pair:
    """The repair of (78): the drift of the whole vector over the server's steps."""
    N, tau, tau_server = r.of(1, 2, 3), r.of(1, 2, 3), r.of(1, 2, 3)
    f, a = smooth(r, N, 2, 1, noisy=r.of(0, 1)), weights(r, N)
    if r.of(True, False):  # a steep client block beside a nearly flat server block
        f = quadratic(r, N, 2, 1, mu=0.1, same_curvature=True)
        f.x0 = np.linalg.solve(f.H[0], a @ f.b + [10.0, r.of(0.01, 0.1)])
    fed = all_outcomes(f, a, 1.0, 1, max(tau, tau_server))
    eta = r.of(0.05, 0.5, 2.0) / f.S
    f.seen.clear()
    x = train(fed, SFLV1(tau, tau_server, 1), ConstantRate(eta), 1)[-1].numpy()
    points = np.stack([p.numpy() for p, _, _ in f.seen[:tau_server]])
    moved = ((points - points[0]) ** 2).sum((0, 2))
    spread = N * fed.mean(a**2 @ moved)
    g = (a @ f.at(f.x0))[1]
    left = fed.mean(g * (x[1] - f.x0[1]))
    return [Sides(left + eta * tau_server / 2 * g**2, eta * f.S**2 / 2 * spread)]


def induction(r: Random) -> Pair:
    r"""(65) <= (67) for $t\ge1$, $u=\gamma+t$, $\beta\mu=2$.

    $(1-\frac2u)\frac vu+\frac{b_1}{u^2}+\frac{b_2}{u^3}\le\frac{u-1}{u^2}v$ with
    $v\ge b_1+\frac{b_2}{\gamma+1}$.
    """
    gamma = 8 * r.of(1.0, 1.5, 10.0, 1000.0) - 1
    u = gamma + r.of(1, 2, 10)
    b1, b2 = (r.of(0.0, 1.0) * 10 ** r.rng.uniform(-2, 2) for _ in range(2))
    v = b1 + b2 / (gamma + 1) + r.of(0.0, 0.0, 1.0) * b1
    left = (1 - 2 / u) * v / u + b1 / u**2 + b2 / u**3
    return [Sides(left, (u - 1) / u**2 * v)]


LEMMAS = {
    "han2024/assumption-3.3/strongly_convex": Search(bounded_diameter, 1.5),
    "han2024/prop-3.5": Search(decomposition, 1.5),
    "han2024/lemma-C.3": Search(lemma_c3, 1.5, examples=100),
    "han2024/prop-C.4": Search(proposition_c4, 1.5),
    "han2024/lemma-C.5": Search(lemma_c5, 50),
    "han2024/lemma-C.6": Search(lemma_c6, 60),
    "han2024/lemma-C.7#repair": Search(lemma_c7, 2.2),
    "han2024/lemma-D.1#repair": Search(partial(one_round, sequential=False), 1.5),
    "han2024/lemma-E.1#repair": Search(partial(one_round, sequential=True), 1.5),
    "han2024/eq-78#repair": Search(server_descent, 8),
    "han2024/eq-127": Search(participation_distance, 3),
    "han2024/eq-67#repair": Search(induction, 1.5),
}
