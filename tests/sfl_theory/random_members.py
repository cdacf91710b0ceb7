"""Random members of the classes: functions, weights, noise, participation."""

from __future__ import annotations

import numpy as np
from members import Smooth
from search import Random

FLAT = ("bowl", "steep", "equal")
"""Quadratic kinds: anything, one direction much steeper, the same for all clients."""


def turned(r: Random, eigenvalues: np.ndarray) -> np.ndarray:
    """Return a symmetric matrix with these eigenvalues and random eigenvectors."""
    d = len(eigenvalues)
    basis = np.linalg.qr(r.rng.normal(size=(d, d)))[0]
    if r.of(True, False, False):
        basis = np.eye(d)  # blocks that do not see each other
    return basis * eigenvalues @ basis.T


def noise(r: Random, N: int, d: int, noisy: int) -> np.ndarray:
    """Return noise directions: ``noisy`` clients have some, in one block or in both."""
    found = np.zeros((N, d))
    for n in r.rng.permutation(N)[:noisy]:
        found[n] = r.vector(d, r.of(0.3, 1.0, 3.0))
        if r.of(True, False):
            found[n, : r.of(1, d - 1)] = 0.0
    return found


def quadratic(
    r: Random,
    N: int,
    d: int,
    cut: int,
    mu: float = 0.0,
    noisy: int = 0,
    concave: bool = False,
    same_curvature: bool = False,
) -> Smooth:
    """Return quadratics with eigenvalues from mu (or, concave, below 0) upwards."""
    kind = r.of(*FLAT)
    same = same_curvature or kind == "equal"
    H = []
    for _ in range(N):
        eigenvalues = mu + r.rng.uniform(0, 2, size=d)
        if kind == "steep":
            eigenvalues = np.full(d, mu + 0.01)
            eigenvalues[0] = mu + 2.0
        if concave:
            eigenvalues -= r.rng.uniform(0, 1, size=d)
        H.append(turned(r, eigenvalues))
    if same:
        H = [H[0]] * N
    b = np.stack([r.vector(d, r.of(0.0, 1.0, 3.0)) for _ in range(N)])
    if kind == "equal":
        b = np.tile(b[0], (N, 1))
    return Smooth(np.array(H), b, r.vector(d, r.of(0.0, 1.0, 4.0)), cut,
                  noise(r, N, d, noisy))  # fmt: skip


def ridges(
    r: Random, N: int, d: int, cut: int, ridge: str, mu: float = 0.0, noisy: int = 0
) -> Smooth:
    """Return mu/2 ||x||^2 plus as many ridges as there are dimensions."""
    u = np.stack([turned(r, r.rng.uniform(0.1, 1.5, size=d)) for _ in range(N)])
    offsets = r.rng.normal(size=(N, d)) * r.of(0.0, 1.0, 2.0)
    if r.of(True, False):
        u = np.tile(u[:1], (N, 1, 1))
    if ridge == "logistic":  # both directions, so that there is a minimiser
        u = np.concatenate([u, -u], axis=1)
        offsets = np.concatenate([offsets, -offsets + 0.5], axis=1)
    return Smooth(
        np.stack([mu * np.eye(d)] * N), np.zeros((N, d)), r.vector(d, 2.0), cut,
        noise(r, N, d, noisy), ridge, u, offsets,
    )  # fmt: skip


def convex(
    r: Random, N: int, d: int, cut: int, mu: float = 0.0, noisy: int = 0
) -> Smooth:
    """Return convex clients, mu-strongly convex, of one of the kinds."""
    kind = r.of("quadratic", "quadratic", "huber", "logistic")
    if kind == "quadratic":
        return quadratic(r, N, d, cut, mu or 0.05, noisy)
    return ridges(r, N, d, cut, kind, mu, noisy)


def smooth(r: Random, N: int, d: int, cut: int, noisy: int = 0) -> Smooth:
    """Return clients with Lipschitz gradients, convex or not, f bounded below."""
    kind = r.of("cosine", "cosine", "quadratic", "huber")
    if kind == "quadratic":
        return quadratic(r, N, d, cut, 0.0, noisy)
    return ridges(r, N, d, cut, kind, r.of(0.0, 0.2), noisy)


def weights(r: Random, N: int, equal: bool = False) -> np.ndarray:
    """Return weights that add up to 1: equal, random, or all on one client."""
    kind = "equal" if equal else r.of("equal", "random", "one")
    if kind == "equal":
        return np.full(N, 1 / N)
    if kind == "one":
        return np.eye(N)[r.of(*range(N))]
    return r.rng.dirichlet(np.ones(N))


def participation(r: Random, N: int, partial: bool) -> np.ndarray:
    """Return probabilities, some of them below 1 if ``partial``."""
    if not partial:
        return np.ones(N)
    return np.array([r.of(1.0, 0.75, 0.5, 0.2) for _ in range(N)])
