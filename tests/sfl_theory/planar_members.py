"""Random strongly convex clients in a plane, coded from their definition.

Parabolas and Huber functions of directions, mu = 1, so local steps meet gradients that
change along their way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfl_theory import Constants
from sfl_theory.bound import Bound

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Member:
    """``mu/2 |x|^2 + b_n.x + (S - mu) h(u_n.(x - m_n))``, h of slope at most w_n."""

    S: float
    tau: int
    u: Array
    b: Array
    m: Array
    width: Array
    a: Array

    @staticmethod
    def drawn(rng: np.random.Generator) -> Member:
        """Return a random member."""
        N, dims = int(rng.integers(1, 4)), int(rng.integers(1, 3))
        u = rng.normal(size=(N, dims))
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        b = rng.normal(size=(N, dims)) * 10 ** rng.uniform(-1, 1)
        a = rng.dirichlet(np.ones(N))
        return Member(
            float(rng.choice([1, 2, 4, 10, 50])),
            int(rng.choice([1, 1, 2, 3, 8])),
            u,
            b - (a @ b) * rng.integers(2),
            rng.normal(size=N) * rng.choice([0, 0.1, 1]),
            10 ** rng.uniform(-2, 3, size=N),
            a,
        )

    def gradients(self, x: Array) -> Array:
        """Return every client's gradient at its own point, shape (N, d)."""
        r = (x * self.u).sum(axis=1) - self.m
        bent = np.clip(r, -self.width, self.width)[:, None]
        return x + self.b + (self.S - 1) * bent * self.u

    def value(self, x: Array) -> float:
        """Return f."""
        r = np.abs(self.u @ x - self.m)
        bent = np.where(r < self.width, r**2 / 2, self.width * (r - self.width / 2))
        return float(x @ x / 2 + self.a @ (self.b @ x + (self.S - 1) * bent))

    def lowest(self) -> float:
        """Return the least value of f, 1-strongly convex, up to ``||grad f||^2/2``."""
        x = np.zeros(self.u.shape[1])
        for _ in range(1500):
            slope = self.a @ self.gradients(np.tile(x, (len(self.a), 1)))
            before, x = x, x - slope / self.S
            if (x == before).all():
                break
        assert slope @ slope < 1e-12
        return self.value(x)

    def run(self, start: Array, rounds: int) -> tuple[Array, float]:
        """Return the gaps before every round and after the last, and G^2."""
        x, G2, values = start, 0.0, [self.value(start)]
        for t in range(rounds):
            eta = 4 / (self.tau * (8 * self.S - 1 + t))
            z = np.tile(x, (len(self.a), 1))
            for _ in range(self.tau):
                g = self.gradients(z)
                G2 = max(G2, float((g**2).sum(axis=1).max()))
                z = z - eta * g
            x = self.a @ z
            values.append(self.value(x))
        return np.array(values) - self.lowest(), G2


def constants(S: float, tau: int) -> Constants:
    """Return constants with mu = G = 1."""
    return Constants(
        S=S, mu=1, sigma2=0, G2=1, tau=tau, tau_server=tau, weights=(0.5, 0.5),
        participation=1,
    )  # fmt: skip


def scaled(bound: Bound, **factors: float) -> Bound:
    """Return the bound with some terms, named with underscores, scaled."""
    parts = {
        name: term * factors.get(name.replace(" ", "_"), 1)
        for name, term in bound.parts.items()
    }
    return replace(bound, parts=parts)
