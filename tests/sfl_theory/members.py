r"""Members of the papers' classes that the ordinary trainer runs, and all their draws.

``Smooth`` is a family of client functions with known constants and gradient noise of
finite support; ``Outcomes`` is a federation whose replicas are *all* outcomes of its
draws, so that an expectation over replicas is the expectation itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from math import factorial, prod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfl_train.algorithms.algorithm import Algorithm
from sfl_train.engine import LearningRate, Trainer
from sfl_train.federation import Federation
from sfl_train.problems.problem import Problem

Array = NDArray[np.float64]

RIDGES = {
    "huber": lambda u: torch.where(u.abs() <= 1, u**2 / 2, u.abs() - 0.5),
    "logistic": lambda u: 4 * torch.nn.functional.softplus(u),
    "cosine": lambda u: 1 - torch.cos(u),
}
SLOPES = {
    "huber": lambda u: u.clamp(-1, 1),
    "logistic": lambda u: 4 * torch.sigmoid(u),
    "cosine": torch.sin,
}
"""Ridge functions with second derivative in [0, 1], the cosine's in [-1, 1]."""

CURVATURES = {
    "huber": lambda u: (u.abs() <= 1).double(),
    "logistic": lambda u: 4 * torch.sigmoid(u) * torch.sigmoid(-u),
    "cosine": torch.cos,
}


class Smooth(Problem):
    r"""$F_n(x)=\frac12x^\top H_nx-b_n^\top x+\sum_k\varphi(u_{nk}^\top x-d_{nk})$.

    The stochastic gradient is $\nabla F_n(x)+s\,\zeta_n$ with independent signs
    $s=\pm1$, so $\sigma_n^2=\|\zeta_n\|^2$. What it is asked for is remembered:
    ``seen`` holds the points of every call of ``gradient`` with the exact gradients
    there and the clients they belong to.
    """

    name, convexity = "smooth", "non_convex"

    def __init__(
        self, H, b, x0, cut, noise=None, ridge="huber", directions=None, offsets=None
    ) -> None:
        self.H, self.b, self.x0 = (np.asarray(v, dtype=np.float64) for v in (H, b, x0))
        self.clients, self.dimension = self.b.shape
        N, d = self.b.shape
        self.zeta = np.zeros((N, d)) if noise is None else np.asarray(noise, float)
        self.sizes = np.ones(N, dtype=np.int64)
        self.cuts, self.default_cut = {str(cut): cut}, str(cut)
        self.ridge = ridge
        self.u = np.zeros((N, 0, d)) if directions is None else np.array(directions)
        self.d = np.zeros((N, 0)) if offsets is None else np.array(offsets, float)
        eigenvalues = np.linalg.eigvalsh(self.H)
        outer = np.einsum("nki,nkj->nij", self.u, self.u)
        convex = ridge != "cosine" or not self.u.shape[1]
        largest = np.linalg.eigvalsh(self.H + outer).max()
        lowest = self.H if convex else self.H - outer
        smallest = np.linalg.eigvalsh(lowest).min()
        self.S = float(max(largest, -smallest, 1e-12))
        self.mu = float(max(eigenvalues.min(), 0)) if convex else 0.0
        self.quadratic = not self.u.shape[1]
        self.seen: list[tuple[Tensor, Tensor, Tensor | None]] = []
        self._H, self._b = torch.from_numpy(self.H), torch.from_numpy(self.b)
        self._u, self._d = torch.from_numpy(self.u), torch.from_numpy(self.d)

    @property
    def sigma2(self) -> Array:
        return (self.zeta**2).sum(1)

    def loss(self, x: Tensor, clients: Tensor | None = None) -> Tensor:
        rows = slice(None) if clients is None else clients
        bowl = (self._H[rows] @ x / 2 - self._b[rows].unsqueeze(2)) * x
        ridges = RIDGES[self.ridge](self._along(x, rows))
        return bowl.sum(1) + ridges.sum(1)

    def gradient(
        self, x: Tensor, draw: Tensor | None = None, clients: Tensor | None = None
    ) -> Tensor:
        rows = slice(None) if clients is None else clients
        g = self._H[rows] @ x - self._b[rows].unsqueeze(2)
        slopes = SLOPES[self.ridge](self._along(x, rows))
        g = g + self._u[rows].transpose(1, 2) @ slopes
        self.seen.append((x.clone(), g.clone(), clients))
        return g if draw is None else g + draw

    def noise(self, signs: Array) -> Tensor:
        """Return the noise of signs of shape (N, R), shape (N, d, R)."""
        return torch.from_numpy(self.zeta[:, :, None] * signs[:, None, :])

    def hessian(self, x: Array, weights: Array) -> Array:
        """Return that of f at one point."""
        point = torch.from_numpy(x).view(1, -1, 1).expand(self.clients, -1, 1)
        curved = CURVATURES[self.ridge](self._along(point, slice(None)))[..., 0].numpy()
        H = self.H + np.einsum("nk,nki,nkj->nij", curved, self.u, self.u)
        return np.tensordot(np.asarray(weights), H, 1)

    def at(self, x: Array) -> Array:
        """Return all exact gradients at one point, shape (N, d)."""
        point = torch.from_numpy(np.asarray(x, float)).view(1, -1, 1)
        g = self.gradient(point.expand(self.clients, -1, 1))[..., 0].numpy()
        self.seen.pop()
        return g

    def values(self, x: Array) -> Array:
        """Return all F_n at one point, shape (N,)."""
        point = torch.from_numpy(np.asarray(x, float)).view(1, -1, 1)
        return self.loss(point.expand(self.clients, -1, 1))[:, 0].numpy()

    def largest_gradient2(self) -> float:
        r"""Return the largest $\mathbb E\|g_n\|^2$ at the points seen so far."""
        largest = 0.0
        for _, g, clients in self.seen:
            rows = torch.arange(self.clients) if clients is None else clients
            size = (g**2).sum(1) + torch.from_numpy(self.sigma2)[rows].unsqueeze(1)
            largest = max(largest, float(size.max()))
        return largest

    def minimiser(self, weights: Array) -> Array:
        """Return a minimiser of a convex f, by damped Newton steps."""
        a, x = np.asarray(weights, float), np.array(self.x0)
        for _ in range(400):
            g = a @ self.at(x)
            if np.abs(g).max() < 1e-14:
                break
            # Curvature at least that of a step of 1/S where the Hessian is flat.
            H = self.hessian(x, a)
            newton = x - np.linalg.lstsq(H, g, rcond=1e-9)[0]
            plain = x - g / self.S
            x = min(newton, plain, key=lambda y: float(a @ self.values(y)))
        return x

    def _along(self, x: Tensor, rows: slice | Tensor) -> Tensor:
        return self._u[rows] @ x - self._d[rows].unsqueeze(2)

    def draw(self, sampling, keys, clients=None):
        raise NotImplementedError("use Outcomes, or Signs for draws at random")

    variance = on_ball = draw


class Signs(Smooth):
    """The same with signs drawn at random, for runs of a plain ``Federation``."""

    def draw(self, sampling, keys, clients=None):
        if not self.zeta.any():
            return None
        rows = slice(None) if clients is None else clients
        sign = np.where(np.asarray(keys) >> np.uint64(63), 1.0, -1.0)
        return torch.from_numpy(self.zeta[rows][:, :, None] * sign[..., None, :])


@dataclass(frozen=True, eq=False)
class Outcomes(Federation):
    """A federation whose replicas are outcomes of its draws, with probabilities.

    Attributes:
        probability: of each replica, shape (R,).
        signs: of the noise, shape (rounds, steps, N, R), or None without noise.
        presence: who takes part, shape (rounds, N, R), or None.
        orders: of the server's visits, shape (rounds, steps, N, R), or None.
    """

    probability: Array | None = None
    signs: Array | None = None
    presence: NDArray[np.bool_] | None = None
    orders: NDArray[np.int64] | None = None

    def present(self, round: int) -> Tensor | None:
        return None if self.presence is None else torch.from_numpy(self.presence[round])

    def draws(self, round: int, steps: int) -> Iterator[Tensor | None]:
        for i in range(steps):
            none = self.signs is None
            yield None if none else self.problem.noise(self.signs[round, i])

    def visiting_order(
        self, round: int, step: int, present: Tensor | None = None
    ) -> Tensor:
        if self.orders is None:
            order = np.tile(np.arange(self.clients)[:, None], self.replicas)
        else:
            order = self.orders[round, step]
        if present is not None:
            away = ~np.take_along_axis(present.numpy(), order, 0)
            last = np.argsort(away, axis=0, kind="stable")
            order = np.take_along_axis(order, last, 0)
        return torch.from_numpy(np.ascontiguousarray(order))

    def mean(self, values: Tensor | Array) -> float:
        """Return the expectation of one value per replica."""
        return float(np.asarray(values, dtype=np.float64) @ self.probability)


def count_outcomes(problem, participation, rounds, steps, orders=False) -> int:
    """Return how many replicas ``all_outcomes`` needs."""
    q = np.broadcast_to(participation, problem.clients)
    noisy = int((problem.sigma2 > 0).sum())
    choices = 2 ** (noisy * rounds * steps + int((q < 1).sum()) * rounds)
    if orders:
        choices *= factorial(problem.clients) ** (rounds * steps)
    return choices


def all_outcomes(
    problem, weights, participation, rounds, steps, orders=False
) -> Outcomes:
    """Return the federation of all outcomes of noise, participation and orders."""
    N = problem.clients
    q = np.broadcast_to(np.asarray(participation, float), N)
    noisy, partial = np.flatnonzero(problem.sigma2 > 0), np.flatnonzero(q < 1)
    each = np.array(list(permutations(range(N)))) if orders else np.zeros((1, N), int)
    sizes = [2] * (rounds * steps * noisy.size) + [2] * (rounds * partial.size)
    sizes += [len(each)] * (rounds * steps if orders else 0)
    R = prod(sizes)
    digits = np.array(np.unravel_index(np.arange(R), sizes or (1,)))
    split = np.split(
        digits, np.cumsum([rounds * steps * noisy.size, rounds * partial.size])
    )
    probability = np.full(R, 1.0 / R)
    signs = presence = visits = None
    if noisy.size:
        signs = np.zeros((rounds, steps, N, R))
        signs[:, :, noisy] = 2.0 * split[0].reshape(rounds, steps, noisy.size, R) - 1
    if partial.size:
        here = split[1].reshape(rounds, partial.size, R) == 1
        presence = np.ones((rounds, N, R), dtype=bool)
        presence[:, partial] = here
        chance = np.where(here, q[partial][:, None], 1 - q[partial][:, None])
        probability = probability * 2.0 ** (rounds * partial.size)
        probability = probability * chance.prod((0, 1))
    if orders:
        which = split[2].reshape(rounds, steps, R)
        visits = np.moveaxis(each[which], -1, 2)
    return Outcomes(
        problem, weights, participation, seeds=range(R),
        probability=probability, signs=signs, presence=presence, orders=visits,
    )  # fmt: skip


def squares_of_outcomes(problem, weights, rounds, steps) -> Outcomes:
    r"""Return replicas that integrate squares of a linear run exactly.

    For quadratic clients, full participation and a fixed order
    $x^T=\bar x+\sum_ks_kv_k$ with independent signs, so
    $\mathbb E\,Q(x^T)=Q(\bar x)+\sum_k\left[\frac12Q(\bar x+v_k)+\frac12Q(\bar x-v_k)
    -Q(\bar x)\right]$ for every quadratic Q: one replica without noise, weight 1 - K,
    and two for every sign, weight 1/2.
    """
    N = problem.clients
    noisy = np.flatnonzero(problem.sigma2 > 0)
    K = rounds * steps * noisy.size
    alone = np.concatenate([np.zeros((K, 1)), np.eye(K), -np.eye(K)], axis=1)
    signs = np.zeros((rounds, steps, N, 1 + 2 * K))
    signs[:, :, noisy] = alone.reshape(rounds, steps, noisy.size, 1 + 2 * K)
    probability = np.concatenate([[1.0 - K], np.full(2 * K, 0.5)])
    return Outcomes(
        problem, weights, seeds=range(1 + 2 * K), probability=probability, signs=signs
    )


def train(
    federation: Federation,
    algorithm: Algorithm,
    learning_rate: LearningRate,
    rounds: int,
) -> Tensor:
    """Return x^0..x^T of the ordinary trainer, shape (T + 1, d, R)."""
    run = Trainer(federation, algorithm, learning_rate).rounds(rounds)
    return torch.stack([x.clone() for _, x in run])


@dataclass(frozen=True)
class Rate:
    """Learning rates of the two sides as functions of the round (or of the step)."""

    both: tuple
    per_step: bool = False

    def client(self, t: int) -> float:
        return float(self.both[0](t))

    def server(self, t: int) -> float:
        return float(self.both[1](t))
