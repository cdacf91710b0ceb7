"""Searches against the proved statements of ``huang2023``.

Statements about the algorithm are evaluated on runs of the ordinary trainer's
MiniBatch-SFL; those about a step or a function on random vectors and functions.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from members import Outcomes, Rate, Smooth, all_outcomes, count_outcomes, train
from random_members import convex, quadratic, weights
from search import Random, Search, Sides, identity
from search_han2024_lemmas import decomposition, near, norm2

from sfl_theory import Constants
from sfl_theory.papers import huang2023
from sfl_train.algorithms import MiniBatchSFL

Pair = list[Sides]
MANY = 2048

# The algorithm


def run(r: Random, large: bool = False, gamma: float = 0.0):
    """Return problem, federation, tau, T, gamma, x* and the run of a member."""
    N, tau, T = r.of(1, 2, 3), r.of(1, 2, 3, 6), r.of(1, 2, 5, 20)
    noisy = r.of(0, 0, 1, N)
    kind = partial(quadratic, mu=1.0) if large else partial(convex, mu=r.of(0.1, 1.0))
    f = kind(r, N, 2, 1, noisy=noisy)
    while count_outcomes(f, 1.0, T, tau) > MANY:
        T, tau = (T - 1, tau) if T > 1 else (T, tau - 1)
    fed = all_outcomes(f, weights(r, N), 1.0, T, tau)
    gamma = gamma or max(8 * f.S / f.mu - 1, tau)
    rate = Rate((lambda i: 2 / (f.mu * (gamma + i)),) * 2, per_step=True)
    best = f.minimiser(fed.weights)
    f.seen.clear()
    x = train(fed, MiniBatchSFL(tau, 1), rate, T)
    for point in x:
        f.full_gradients(point)
    return f, fed, tau, T, gamma, best, x


def spread2(f: Smooth, a: np.ndarray) -> tuple[float, list]:
    """Return delta^2 at the mean models seen, and the spread of every call."""
    delta2, spreads = 0.0, []
    for points, _, _ in f.seen:
        mean = torch.einsum("n,ndr->dr", torch.tensor(a), points)
        spreads.append((torch.tensor(a) @ ((points - mean) ** 2).sum(1)).numpy())
        at = f.gradient(mean.expand(f.clients, *mean.shape))
        f.seen.pop()
        overall = torch.einsum("n,ndr->dr", torch.tensor(a), at)
        delta2 = max(delta2, float(((at - overall) ** 2).sum(1).max()))
    return delta2, spreads


def joint_bound(f: Smooth, tau: int, gamma: float, steps: int, start, R2, delta2):
    V = R2 + 16 / 7 * (tau - 1) * (R2 + 2 * tau * delta2)
    return (4 * V / (3 * f.mu**2) + gamma * start) / (gamma + steps)


def joint_distance(r: Random, of_gap: bool = False) -> Pair:
    f, fed, tau, T, gamma, best, x = run(r)
    R2, (delta2, _) = f.largest_gradient2(), spread2(f, fed.weights)
    start, a = norm2(f.x0 - best), np.asarray(fed.weights)
    right = joint_bound(f, tau, gamma, T * tau, start, R2, delta2)
    left = fed.mean(((x[-1].numpy() - best[:, None]) ** 2).sum(0))
    if of_gap:
        left = fed.mean(f.value(x[-1], torch.tensor(a)).numpy())
        left, right = left - a @ f.values(best), f.S / 2 * right
    return [Sides(left, right)]


def theorem_1(r: Random) -> Pair:
    """As printed, with Gamma of this federation where every F_n has a minimum."""
    f, fed, tau, T, _, best, x = run(r, large=True)
    a = np.asarray(fed.weights)
    least = [f.values(np.linalg.solve(f.H[n], f.b[n]))[n] for n in range(f.clients)]
    delta2, _ = spread2(f, a)
    known = Constants(
        S=f.S, mu=f.mu, sigma2=tuple(f.sigma2), weights=tuple(a), tau=tau,
        R2=f.largest_gradient2(), eps2=delta2,
        Gamma=max(float(a @ (f.values(best) - least)), 0.0),
        initial_distance2=norm2(f.x0 - best),
    )  # fmt: skip
    bound = huang2023.THEOREM_1.case("strongly_convex").bound("printed")
    left = fed.mean(f.value(x[-1], torch.tensor(a)).numpy()) - a @ f.values(best)
    return [Sides(left, float(bound.evaluate(known, [T])[0]), str(known))]


def drift(r: Random) -> Pair:
    """Lemma 4, at every step, for any gamma > 0."""
    f, fed, tau, T, gamma, _, _ = run(r, gamma=10 ** r.rng.uniform(-3, 2))
    R2, (delta2, spreads) = f.largest_gradient2(), spread2(f, fed.weights)
    found = []
    for i in range(T * tau):
        eta = 2 / (f.mu * (gamma + i))
        right = 3 * tau * eta**2 * (R2 + 2 * tau * delta2)
        found.append(Sides(fed.mean(spreads[i]), right))
    return found


def independent_noise(r: Random) -> Pair:
    """Lemma 3: one step of length 1 from a point, against the step without noise."""
    N = r.of(1, 2, 4, 7)
    f = quadratic(r, N, 2, 1, mu=0.1, noisy=N)
    a = weights(r, N)
    fed = all_outcomes(f, a, 1.0, 1, 1)
    rate, algorithm = Rate((lambda i: 1.0,) * 2), MiniBatchSFL(1, 1)
    x = train(fed, algorithm, rate, 1)[-1]
    still = train(Outcomes(f, a, probability=np.ones(1)), algorithm, rate, 1)[-1]
    left = fed.mean(((x - still) ** 2).sum(0))
    return [Sides(left, float(a**2 @ f.sigma2))]


# A function, a step


def confined(r: Random) -> Pair:
    """Assumptions 2 and 4: ||w - w_n*||^2 <= R^2/mu^2."""
    f = convex(r, 1, 2, 1, mu=r.of(0.1, 1.0), noisy=r.of(0, 1))
    best = f.minimiser([1.0])
    w = near(r, best)
    R2 = norm2(f.at(w)[0]) + f.sigma2[0]
    return [Sides(norm2(w - best), R2 / f.mu**2)]


def pythagoras(r: Random) -> Pair:
    w, best, cut = r.vector(4), r.vector(4, 3.0), r.of(1, 2, 3)
    d = w - best
    return list(identity(norm2(d), norm2(d[:cut]) + norm2(d[cut:])))


def block_convexity(r: Random) -> Pair:
    """(12) and (31): along one block to any value of it."""
    f = convex(r, r.of(1, 2), 3, 1, mu=r.of(0.1, 1.0))
    a, eta = weights(r, f.clients), 10 ** r.rng.uniform(-3, 1)
    w, other = f.x0, f.x0.copy()
    side = r.of(slice(0, 1), slice(1, 3))
    other[side] = near(r, f.minimiser(a))[side]
    d = w - other
    gap = a @ (f.values(w) - f.values(other))
    left = -2 * eta * (a @ f.at(w)) @ d
    return [Sides(left, -f.mu * eta * norm2(d) - 2 * eta * gap)]


def young_two(r: Random) -> Pair:
    a = r.vector(3)
    b = a + r.vector(3, r.of(0.01, 1.0))
    return [Sides(norm2(a + b), 2 * norm2(a) + 2 * norm2(b))]


def jensen_mean(r: Random) -> Pair:
    v = r.rng.normal(size=(r.of(1, 2, 5), 3)) * r.of(0.01, 1.0) + r.vector(3)
    return [Sides(norm2(v.mean(0)), float((v**2).sum(1).mean()))]


def mean_gradient(r: Random) -> Pair:
    """The repair of (13), third inequality: gradients with noise at one point."""
    N = r.of(1, 2, 5)
    f = convex(r, N, 2, 1, mu=0.1, noisy=r.of(0, N))
    f_point = near(r, f.x0)
    fed = all_outcomes(f, None, 1.0, 1, 1)
    g = f.at(f_point)[:, 1:, None] * np.ones(fed.replicas)
    if fed.signs is not None:
        g = g + f.noise(fed.signs[0, 0]).numpy()[:, 1:]
    left = fed.mean((g.mean(0) ** 2).sum(0))
    return [Sides(left, fed.mean((g**2).sum(1).mean(0)))]


def recursion(r: Random) -> Pair:
    """(16), (23): the recursion as an equality, eta = 2/(mu (gamma + i))."""
    mu, B = 10 ** r.rng.uniform(-2, 2), 10 ** r.rng.uniform(-2, 2)
    gamma = r.of(7.0, 7.5, 40.0)
    now = r.of(0.0, 1.0, 1e3) * B / mu**2
    v = max(4 * B / mu**2, (gamma + 1) * now)
    found = []
    for i in range(r.of(1, 3, 60)):
        eta = 2 / (mu * (gamma + i))
        now = (1 - mu * eta) * now + eta**2 * B
        found.append(Sides(now, v / (gamma + i + 1)))
    return found


def step_expansion(r: Random) -> Pair:
    d, mean, g = r.vector(3), r.vector(3), r.vector(3, 3.0)
    eta = 10 ** r.rng.uniform(-2, 1)
    A1 = norm2(d - eta * mean)
    A2 = 2 * eta * (d - eta * mean) @ (mean - g)
    return list(identity(norm2(d - eta * g), A1 + A2 + eta**2 * norm2(mean - g)))


def gradient_expansion(r: Random) -> Pair:
    d, mean, eta = r.vector(3), r.vector(3), 10 ** r.rng.uniform(-2, 1)
    B1, B2 = -2 * eta * d @ mean, eta**2 * norm2(mean)
    return list(identity(norm2(d - eta * mean), norm2(d) + B1 + B2))


def split(r: Random) -> Pair:
    """(29): -2 eta <wbar - w*, sum p g_n>, every client split at its own w_n."""
    N, eta = r.of(1, 3), 10 ** r.rng.uniform(-2, 1)
    p, w, g, best = weights(r, N), r.rng.normal(size=(N, 2)), r.rng.normal(
        size=(N, 2)), r.vector(2)  # fmt: skip
    bar = p @ w
    parts = sum(p[n] * ((bar - w[n]) @ g[n] + (w[n] - best) @ g[n]) for n in range(N))
    return list(identity(-2 * eta * (bar - best) @ (p @ g), -2 * eta * parts))


def self_bounding(r: Random) -> Pair:
    """(28), both inequalities, clients at models of their own."""
    N = r.of(1, 2, 3)
    f, p = convex(r, N, 2, 1, mu=0.1), weights(r, N)
    points = [near(r, f.x0) for _ in range(N)]
    g = np.array([f.at(points[n])[n] for n in range(N)])
    least = [f.values(f.minimiser(np.eye(N)[n]))[n] for n in range(N)]
    gap = sum(p[n] * (f.values(points[n])[n] - least[n]) for n in range(N))
    squares = float(p @ (g**2).sum(1))
    return [Sides(norm2(p @ g), squares), Sides(squares, 2 * f.S * gap)]


def young_rate(r: Random) -> Pair:
    u, eta = r.vector(3), 10 ** r.rng.uniform(-2, 1)
    g = -u / eta + r.vector(3, r.of(0.01, 1.0))
    return [Sides(-2 * u @ g, norm2(u) / eta + eta * norm2(g))]


def sum_of_steps(r: Random) -> Pair:
    """(32): client blocks of their own beside one server block."""
    N, S_rate = r.of(1, 2, 3), r.of(0.05, 0.25, 1.0)
    f, p = convex(r, N, 2, 1, mu=r.of(0.1, 1.0)), weights(r, N)
    eta, best, server = S_rate / f.S, f.minimiser(p), r.vector(1, r.of(0.1, 2.0))
    c = r.rng.normal(size=(N, 1)) * r.of(0.01, 1.0) + best[:1]
    points = [np.concatenate([c[n], server]) for n in range(N)]
    other = np.concatenate([best[:1], server])
    g = np.array([f.at(points[n])[n][:1] for n in range(N)])
    least = [f.values(f.minimiser(np.eye(N)[n]))[n] for n in range(N)]
    here = [f.values(points[n])[n] for n in range(N)]
    bar = p @ c
    d = bar - best[:1]
    C = 4 * f.S * eta**2 * (p @ (np.array(here) - least))
    C -= 2 * eta * (p @ (np.array(here) - f.values(other)))
    apart = float(p @ ((bar - c) ** 2).sum(1))
    right = (1 - f.mu * eta) * norm2(d) + apart + C
    return [Sides(norm2(d - eta * (p @ g)), float(right))]


def later_rate(r: Random) -> Pair:
    """The repair of the condition: i >= 1, or gamma = max(8S/mu, EM) and i >= 0."""
    mu, ratio, EM = 10 ** r.rng.uniform(-2, 2), r.of(1.0, 1.1, 50.0), r.of(1, 9, 500)
    S = mu * ratio
    i = r.of(0, 1, 2, 100)
    first = 2 / (mu * (max(8 * S / mu - 1, EM) + i + 1))
    second = 2 / (mu * (max(8 * S / mu, EM) + i))
    return [Sides(first, 1 / (4 * S)), Sides(second, 1 / (4 * S))]


JOINT = Search(joint_distance, 3)

HUANG2023 = {
    f"huang2023/{name}": search
    for name, search in {
        "assumptions-2-4": Search(confined, 1.5),
        "lemma-1": Search(decomposition, 1.5),
        "eq-7": Search(decomposition, 1.5),
        "eq-8": Search(pythagoras, 1.001),
        "cond-eta#repair": Search(later_rate, 1.001),
        "prop-1#repair": JOINT,
        "prop-1/coupling#repair": JOINT,
        "prop-2#repair": JOINT,
        "thm-1": Search(theorem_1, 25),
        "thm-1#repair": Search(partial(joint_distance, of_gap=True), 5),
        "eq-12": Search(block_convexity, 1.5),
        "eq-13/1": Search(young_two, 1.1),
        "eq-13/2": Search(jensen_mean, 1.1),
        "eq-13/3#repair": Search(mean_gradient, 1.1),
        "eq-16": Search(recursion, 1.2),
        "eq-23": Search(recursion, 1.2),
        "lemma-3": Search(independent_noise, 1.001),
        "lemma-4": Search(drift, 200),
        "eq-26": Search(step_expansion, 1.001),
        "eq-27": Search(gradient_expansion, 1.001),
        "eq-28": Search(self_bounding, 1.1),
        "eq-29": Search(split, 1.001),
        "eq-30": Search(young_rate, 1.1),
        "eq-31": Search(block_convexity, 1.5),
        "eq-32": Search(sum_of_steps, 1.5),
    }.items()
}
