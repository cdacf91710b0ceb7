"""One round of SFL-V1 and SFL-V2 in plain NumPy, and random federations to run it on.

x = (x_c, x_s); any gradients; the noise of client n is +-zeta_n, all signs enumerated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np


@dataclass
class Round:
    """One outcome: next model, and (client, point, gradient, noise) of every visit."""

    after: np.ndarray
    visits: list[tuple[int, np.ndarray, np.ndarray, np.ndarray]]


def play(
    gradients: list[Callable],
    noise: np.ndarray,
    x: np.ndarray,
    eta: float,
    tau: int,
    weights: np.ndarray,
    signs,
    *,
    sequential: bool,
    q: np.ndarray | None = None,
    present=None,
) -> Round:
    """One round as App. C.2 has it; SFL-V2's server makes steps of eta/q_n."""
    N = len(gradients)
    q = np.ones(N) if q is None else q
    present = (1,) * N if present is None else present
    local = np.tile(x, (N, 1))
    after, server, visits = x.copy(), x[1], []
    for i in range(tau):
        for n in range(N):
            if not present[n]:
                continue
            if sequential:
                local[n, 1] = server
            v, xi = gradients[n](local[n]), signs[n][i] * noise[n]
            visits.append((n, local[n].copy(), v, xi))
            step = v + xi
            local[n] = local[n] - eta * step
            server = server - eta / q[n] * step[1]
            after[0] -= eta * weights[n] / q[n] * step[0]
            after[1] -= eta * (1 if sequential else weights[n]) / q[n] * step[1]
    return Round(after, visits)


def outcomes(N: int, tau: int):
    """All signs of the noise, each equally likely."""
    for flat in product((-1, 1), repeat=N * tau):
        yield [flat[n * tau : (n + 1) * tau] for n in range(N)]


def huber(u: float) -> float:
    return float(np.clip(u, -1, 1))


class Federation:
    """Random strongly convex quadratics plus Huber ridges, weights, noise, rate."""

    def __init__(self, seed: int, clients: int | None = None) -> None:
        rng = np.random.default_rng(seed)
        self.N = clients or int(rng.integers(1, 4))
        self.tau = int(rng.integers(1, 4 if self.N < 3 else 3))
        self.H, self.u = [], rng.normal(size=(self.N, 2))
        for _ in range(self.N):
            A = rng.normal(size=(2, 2))
            self.H.append(
                A @ A.T * rng.choice([0, 1]) + rng.uniform(0, 0.3) * np.eye(2)
            )
        self.b, self.d = rng.normal(size=(self.N, 2)), rng.normal(size=self.N)
        self.noise = rng.normal(size=(self.N, 2)) * rng.choice([0, 0.3, 2])
        self.noise[:, 0] *= rng.choice([1, 4])
        self.a = rng.dirichlet(np.ones(self.N))
        full = [H + np.outer(u, u) for H, u in zip(self.H, self.u, strict=True)]
        self.S = max(np.linalg.eigvalsh(H).max() for H in full)
        self.mu = min(np.linalg.eigvalsh(H).min() for H in self.H)
        self.eta = rng.uniform(0.05, 1) / (2 * self.S * self.tau)
        self.x, self.star = rng.normal(size=(2, 2)) * 2
        self.q = rng.uniform(0.1, 1, self.N)
        self.sigma2 = (self.noise**2).sum(1)
        if rng.random() < 0.5:  # where Lemma C.3 is tight: x* among the local points
            slopes = [self.gradient(n)(self.x) for n in range(self.N)]
            way = self.eta * (self.tau - 1) / 2
            self.star = self.x - way * np.mean(slopes, axis=0)

    def gradient(self, n: int) -> Callable:
        def slope(x):
            ridge = huber(self.u[n] @ x - self.d[n]) * self.u[n]
            return self.H[n] @ x - self.b[n] + ridge

        return slope

    def value(self, n: int, x) -> float:
        r = abs(self.u[n] @ x - self.d[n])
        ridge = r**2 / 2 if r <= 1 else r - 0.5
        return 0.5 * x @ self.H[n] @ x - self.b[n] @ x + ridge

    def rounds(self, sequential: bool, *, some: bool = False):
        """Yield (probability, participants, full round, partial round or None)."""
        gradients = [self.gradient(n) for n in range(self.N)]
        draws = list(outcomes(self.N, self.tau))
        known = (gradients, self.noise, self.x, self.eta, self.tau, self.a)
        for signs in draws:
            full = play(*known, signs, sequential=sequential)
            if not some:
                yield 1 / len(draws), None, full, None
                continue
            for present in product((0, 1), repeat=self.N):
                chance = np.prod(np.where(present, self.q, 1 - self.q)) / len(draws)
                part = play(
                    *known, signs, sequential=sequential, q=self.q, present=present
                )
                yield chance, present, full, part


def expectations(fed: Federation, sequential: bool) -> dict[str, float]:
    """The expectations that (54)-(59), (91)-(96) speak of, and G^2 as met."""
    N, eta = fed.N, fed.eta
    w = np.ones(N) if sequential else fed.a
    u, whole = fed.x[1] - fed.star[1], fed.x - fed.star
    e: defaultdict[str, float] = defaultdict(float)
    for p, _, outcome, _ in fed.rounds(sequential):
        M = sum(w[n] * v[1] for n, _, v, _ in outcome.visits)
        Z = sum(w[n] * xi[1] for n, _, _, xi in outcome.visits)
        e["next"] += p * (outcome.after[1] - fed.star[1]) ** 2
        e["first"] += p * (u - eta * M) ** 2
        e["Z2"] += p * Z**2
        e["M2"] += p * M**2
        for i in range(fed.tau):
            now = outcome.visits[i * N : (i + 1) * N]
            e["steps"] += p * sum(w[n] * xi[1] for n, _, _, xi in now) ** 2
        for n, point, v, xi in outcome.visits:
            e["v2"] += p * w[n] ** 2 * v[1] ** 2
            e["xi2"] += p * w[n] ** 2 * xi[1] ** 2
            e["g2"] += p * w[n] ** 2 * (v[1] + xi[1]) ** 2
            e["cross"] += p * w[n] * u * v[1]
            e["P"] += p * w[n] * whole @ v
            e["gap"] += p * w[n] * (fed.value(n, fed.x) - fed.value(n, fed.star))
            e["drift"] += p * w[n] * (point[1] - fed.x[1]) ** 2
            e["D"] += p * w[n] * ((point - fed.x) ** 2).sum()
            e["G2"] = max(e["G2"], v @ v + fed.sigma2[n])
    return e
