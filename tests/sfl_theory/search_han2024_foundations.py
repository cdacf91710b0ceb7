"""Searches against what ``han2024``'s assumptions and algorithms amount to.

``Bent`` is the federation by which the ledger shows that the assumptions can hold
together: $F_n(x)=\\sqrt{1+\\|x\\|^2}+\\langle b_n,x\\rangle$, $\\sum_na_nb_n=0$.
"""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import sympy as sp
import torch
from members import Outcomes, all_outcomes, train
from random_members import convex, participation, smooth, weights
from search import Random, Search, Sides, identity
from search_han2024_lemmas import lemma_c5, near, norm2

from sfl_theory import rate_table
from sfl_train.algorithms import SFLV1, SFLV2, FedAvg
from sfl_train.engine import ConstantRate

Pair = list[Sides]


class Bent:
    """A member, its weights, two points and noise of mean 0."""

    def __init__(self, r: Random) -> None:
        N, d = r.of(2, 3), r.of(1, 2, 5)
        self.a = r.rng.dirichlet(np.ones(N))
        b = r.rng.normal(size=(N, d)) * r.of(0.1, 1.0, 10.0)
        self.b = b - self.a @ b
        self.beta = float((self.b**2).sum(1).max())
        self.x = r.vector(d, r.of(0.01, 1.0, 100.0))
        self.y = near(r, self.x)[:d]
        if r.of(True, False):  # where gradients align
            n = int((self.b**2).sum(1).argmax())
            self.x = self.b[n] * r.of(0.1, 10.0, 1e3)
        self.xi = r.vector(d, r.of(0.1, 1.0))

    def F(self, x):
        return (1 + norm2(x)) ** 0.5 + self.b @ x

    def grad(self, x):
        return x / (1 + norm2(x)) ** 0.5 + self.b


def smooth_bent(r: Random) -> Pair:
    m = Bent(r)
    along = m.grad(m.x) @ (m.y - m.x)
    gaps = m.F(m.y) - m.F(m.x) - along
    return [Sides(gap, norm2(m.y - m.x) / 2) for gap in gaps]


def convex_bent(r: Random) -> Pair:
    m = Bent(r)
    lower = m.F(m.x) + m.grad(m.x) @ (m.y - m.x)
    lowest = Sides(m.a @ m.F(0 * m.x), m.a @ m.F(m.x))
    return [lowest, *map(Sides, lower, m.F(m.y))]


def lipschitz_bent(r: Random) -> Pair:
    m = Bent(r)
    moved = ((m.grad(m.x) - m.grad(m.y)) ** 2).sum(1)
    return [Sides(float(k), norm2(m.x - m.y)) for k in moved]


def noisy_bent(r: Random) -> Pair:
    m = Bent(r)
    sigma2 = norm2(m.xi)
    both = [m.grad(m.x) + sign * m.xi for sign in (1, -1)]
    variance = sum(((g - m.grad(m.x)) ** 2).sum(1) for g in both) / 2
    biased = norm2((sum(both) / 2 - m.grad(m.x)).ravel())
    return [Sides(biased, 0.0), *(Sides(float(v), sigma2) for v in variance)]


def bounded_bent(r: Random) -> Pair:
    m = Bent(r)
    both = [((m.grad(m.x) + sign * m.xi) ** 2).sum(1) for sign in (1, -1)]
    right = 2 + 2 * m.beta + norm2(m.xi)
    return [Sides(float(v), right) for v in sum(both) / 2]


def divergent_bent(r: Random) -> Pair:
    m = Bent(r)
    apart = ((m.grad(m.x) - m.a @ m.grad(m.x)) ** 2).sum(1)
    return [Sides(float(v), m.beta) for v in apart]


def everything_bent(r: Random) -> Pair:
    each = (smooth_bent, lipschitz_bent, noisy_bent, bounded_bent, divergent_bent,
            convex_bent)  # fmt: skip
    return [sides for part in each for sides in part(r)]


def bowl(r: Random) -> Pair:
    """C.2 with mu = S: (4), (24), (30), (8) for S/2 ||x||^2 - <b_n, x>."""
    m, S = Bent(r), 10 ** r.rng.uniform(-2, 2)
    x, y, b = m.x, m.y, m.b + r.vector(len(m.x))
    exact = S / 2 * norm2(y) - S / 2 * norm2(x) - b @ (y - x)
    taylor = (S * x - b) @ (y - x) + S / 2 * norm2(y - x)
    found = [sides for k in range(len(b)) for sides in identity(exact[k], taylor[k])]
    mean = m.a @ b
    apart = (((S * x - b) - (S * x - mean)) ** 2).sum(1)
    return [*found, *(Sides(float(v), float(((b - mean) ** 2).sum(1).max()))
                      for v in apart)]  # fmt: skip


def ball(r: Random) -> Pair:
    """SFL-V1 on S/2 ||x||^2 - <b_n, x> never leaves the ball of radius R."""
    N, d, S = r.of(1, 2, 3), 2, 10 ** r.rng.uniform(-1, 1)
    R = 10 ** r.rng.uniform(-1, 1)
    tau, found = r.of(1, 2, 4), []
    a, x = weights(r, N), inside(r, d, R)
    for _ in range(r.of(1, 3)):
        local = np.tile(x, (N, 1))
        for _ in range(tau):
            eta = r.of(1.0, 0.5, 0.01) / S
            pull = np.array([inside(r, d, S * R) for _ in range(N)])
            g = S * local - pull
            found += [Sides(norm2(v), 4 * S**2 * R**2) for v in g]
            local = local - eta * g
            found += [Sides(norm2(v), R**2) for v in local]
        x = a @ local
        found.append(Sides(norm2(x), R**2))
    return found


def inside(r: Random, d: int, radius: float) -> np.ndarray:
    v = r.vector(d)
    return v / norm2(v) ** 0.5 * radius * r.of(1.0, 1.0, 0.5)


def mean_is_smooth(r: Random) -> Pair:
    f = smooth(r, r.of(1, 2, 3), 2, 1)
    a, y = weights(r, f.clients), near(r, f.x0)
    moved = a @ f.at(f.x0) - a @ f.at(y)
    return [Sides(norm2(moved), f.S**2 * norm2(f.x0 - y))]


def variance_by_gradients(r: Random) -> Pair:
    f = convex(r, 1, 2, 1, noisy=1)
    point = f.minimiser([1.0]) if r.of(True, False) else f.x0
    G2 = norm2(f.at(point)[0]) + f.sigma2[0]
    return [Sides(f.sigma2[0], G2)]


def divergence_by_gradients(r: Random) -> Pair:
    f = convex(r, r.of(2, 3), 2, 1)
    a, g = weights(r, f.clients), f.at(f.x0)
    if r.of(True, False):  # opposite pulls, nearly all the weight on one side
        a = np.eye(f.clients)[0] * 0.99 + 0.01 / f.clients
        g = np.where(np.arange(f.clients)[:, None] == 0, g[0], -g[0])
    G2 = float((g**2).sum(1).max())
    return [Sides(float(((g - a @ g) ** 2).sum(1).max()), 4 * G2)]


# Algorithms: two ways to the same model


def run_of(r: Random, partially: bool = False):
    N, tau = r.of(1, 2, 3), r.of(1, 2, 3)
    f = smooth(r, N, 3, r.of(1, 2), noisy=r.of(0, 1))
    q = participation(r, N, partially)
    fed = all_outcomes(f, weights(r, N), q, 1, tau)
    return f, fed, tau, r.of(0.05, 0.5) / f.S


def federated(r: Random) -> Pair:
    f, fed, tau, eta = run_of(r, True)
    rate = ConstantRate(eta)
    whole = train(fed, FedAvg(tau), rate, 1)[-1]
    split = train(fed, SFLV1(tau, tau, int(f.default_cut)), rate, 1)[-1]
    pairs = zip(split.ravel().tolist(), whole.ravel().tolist(), strict=True)
    return [sides for one, two in pairs for sides in identity(one, two)]


def aggregated(r: Random) -> Pair:
    """(2): the average of the local models against x - eta sum a_n sum g_n."""
    f, fed, tau, eta = run_of(r)
    f.seen.clear()
    new = train(fed, SFLV1(tau, tau, int(f.default_cut)), ConstantRate(eta), 1)[-1]
    total = sum(g for _, g, _ in f.seen)
    if fed.signs is not None:
        total = total + sum(f.noise(fed.signs[0, i]) for i in range(tau))
    step = torch.einsum("n,ndr->dr", torch.tensor(fed.weights), total)
    stepped = torch.from_numpy(f.x0)[:, None] - eta * step
    pairs = zip(new.ravel().tolist(), stepped.ravel().tolist(), strict=True)
    return [sides for one, two in pairs for sides in identity(one, two)]


def visits(r: Random) -> Pair:
    """Algorithm 2 with visits in place: x_s - eta sum g_s,n/q_n, without noise."""
    N, tau = r.of(1, 2, 3), r.of(1, 2, 3)
    f = smooth(r, N, 2, 1)
    q = participation(r, N, True)
    fed = Outcomes(
        f, weights(r, N), q, probability=np.ones(1),
        presence=np.array([[[r.of(True, True, False)] for _ in range(N)]]),
    )  # fmt: skip
    eta = r.of(0.05, 0.5) / f.S
    f.seen.clear()
    x = train(fed, SFLV2(tau, 1), ConstantRate(eta), 1)[-1]
    total = sum(float(g[0, 1, 0]) / q[int(n[0])] for _, g, n in f.seen if len(n))
    return list(identity(x[1, 0], f.x0[1] - eta * total))


def unbiased_models(r: Random) -> Pair:
    """(3) for SFL-V1: its mean against (2); a client of weight 0 is always there."""
    N, tau = r.of(2, 3), r.of(1, 2)
    f = smooth(r, N, 2, 1, noisy=r.of(0, 1))
    a, q = np.append(weights(r, N - 1), 0.0), participation(r, N, True)
    q[-1] = 1.0
    fed, full = all_outcomes(f, a, q, 1, tau), all_outcomes(f, a, 1.0, 1, tau)
    rate = ConstantRate(r.of(0.05, 0.5) / f.S)
    algorithm = SFLV1(tau, tau, 1, aggregation="models")
    mean, wanted = (
        [each.mean(row) for row in train(each, algorithm, rate, 1)[-1]]
        for each in (fed, full)
    )
    pairs = zip(mean, wanted, strict=True)
    return [sides for one, two in pairs for sides in identity(one, two)]


def unbiased_weights(r: Random) -> Pair:
    """(3): E sum of a_n I_n/q_n over all participations against sum a_n."""
    N = r.of(1, 2, 3)
    a, q = weights(r, N), np.broadcast_to(participation(r, N, True), N)
    mean = sum(
        np.prod(np.where(taken, q, 1 - q)) * (a / q) @ taken
        for taken in map(np.array, product((0, 1), repeat=N))
    )
    return list(identity(mean, a.sum()))


def order_of_rates(r: Random) -> Pair:
    """Rows of Table 2 times T settle: the ratio between large T is 1."""
    found = []
    for row in rate_table(2):
        expr = row.expr.replace(
            lambda node: isinstance(node, sp.Sum | sp.Indexed),
            lambda node: sp.Symbol(f"value of {node}"),
        )
        known = {
            symbol: sp.Float(10 ** r.rng.uniform(-1, 1))
            for symbol in sorted(expr.free_symbols, key=str)
            if str(symbol) != "T"
        }
        names = {str(symbol): symbol for symbol in expr.free_symbols}
        if {"S", "mu"} <= set(names):
            known[names["S"]] = known[names["mu"]] * r.of(1, 10, 100)
        value = sp.lambdify([names["T"]], expr.xreplace(known), "math")
        times = [value(T) * T for T in (1e9, 1e10, 1e12)]
        found += [
            Sides(max(one / two, two / one), 1.01, row.method)
            for one, two in pairwise(times)
        ]
    return found


FOUNDATIONS = {
    "han2024/app-C.4/smooth-mean": Search(mean_is_smooth, 1.1),
    "han2024/assumption-3.1": Search(smooth_bent, 1.1),
    "han2024/assumption-3.2": Search(noisy_bent, 1.001),
    "han2024/assumption-3.3": Search(bounded_bent, 1.5),
    "han2024/assumption-3.4": Search(divergent_bent, 1.001),
    "han2024/assumption-C.1": Search(everything_bent, 1.1),
    "han2024/assumption-C.2": Search(convex_bent, 1.1),
    "han2024/assumption-C.2/strongly_convex": Search(bowl, 1.001),
    "han2024/assumption-3.3/ball": Search(ball, 1.1),
    "han2024/assumption-3.2/variance": Search(variance_by_gradients, 1.1),
    "han2024/assumption-3.4/divergence": Search(divergence_by_gradients, 1.1),
    **{
        f"han2024/cond-3.{k}/general_convex#repair": Search(lemma_c5, 50)
        for k in (6, 7, 8, 9)
    },
    "han2024/text/sec-2.2/fl": Search(federated, 1.001),
    "han2024/text/app-H.2/order": Search(order_of_rates, 1.02, examples=10),
    "han2024/eq-3/unbiased": Search(unbiased_models, 1.001),
    "han2024/eq-3/unbiased/weights": Search(unbiased_weights, 1.001),
    "han2024/alg-1#repair": Search(aggregated, 1.001),
    "han2024/alg-2#repair": Search(visits, 1.001),
}
