"""Federations drawn at random, one round of them followed in every outcome."""

from dataclasses import dataclass
from itertools import product

import numpy as np


@dataclass(frozen=True)
class Federation:
    """F_n = x'Hx/2 - b_n'x + c_n cos(w'x); a draw's noise is +-v_n for both blocks."""

    H: np.ndarray
    b: np.ndarray
    c: np.ndarray
    w: np.ndarray
    v: np.ndarray
    a: np.ndarray
    q: np.ndarray

    @property
    def N(self):
        return len(self.a)

    @property
    def S(self):
        bend = abs(self.c).max() * (self.w @ self.w)
        return float(abs(np.linalg.eigvalsh(self.H)).max() + bend)

    @property
    def eps2(self):
        wave = abs(self.c - self.a @ self.c) * np.linalg.norm(self.w)
        return float(
            (np.linalg.norm(self.b - self.a @ self.b, axis=1) + wave).max() ** 2
        )

    @property
    def sigma2(self):
        return (self.v**2).sum(1)

    def gradient(self, n, x):
        wave = self.c[n] * np.sin(x @ self.w)
        return x @ self.H - self.b[n] - wave[..., None] * self.w

    def value(self, x):
        b, c = self.a @ self.b, self.a @ self.c
        square = ((x @ self.H) * x).sum(-1) / 2
        return square - x @ b + c * np.cos(x @ self.w)

    def full_gradient(self, x):
        return sum(self.a[n] * self.gradient(n, x) for n in range(self.N))


def draw(rng, participation=True, noise=True):
    N = int(rng.integers(1, 4))
    A = rng.normal(size=(2, 2))
    spread = rng.choice([0.0, 1.0]) * rng.exponential()
    b = spread * rng.normal(size=(N, 2))
    c = rng.choice([0.0, 1.0]) * rng.normal(size=N)
    v = (noise and rng.choice([0.0, 1.0])) * rng.normal(size=(N, 2))
    a = rng.dirichlet(np.full(N, rng.choice([0.3, 5.0])))
    q = rng.uniform(0.2, 1, size=N) if participation else np.ones(N)
    return Federation(A + A.T, b, c, rng.normal(size=2), v, a, q)


def signs(count):
    return np.array(list(product((1.0, -1.0), repeat=count))).reshape(2**count, count)


def subsets(q):
    """Return participants with their probabilities."""
    for present in product((True, False), repeat=len(q)):
        chance = np.prod(np.where(present, q, 1 - q))
        if chance > 0:
            yield np.array(present), chance


@dataclass(frozen=True)
class Run:
    """What happens in one subset of participants, over all outcomes of the noise.

    ``points[n]`` and ``gradients[n]`` have the shape (outcomes, steps, 2).
    """

    points: tuple[np.ndarray, ...]
    gradients: tuple[np.ndarray, ...]
    move: np.ndarray


def run(problem, x, eta, steps, present, server=None):
    """Follow one round; ``server`` maps n to the step of SFL-V2's server."""
    N, most = problem.N, max(steps)
    noisy = most if problem.v.any() else 0
    sign = signs(N * noisy).reshape(-1, N, noisy) if noisy else np.ones((1, N, 0))
    local = np.tile(x, (N, len(sign), 1))
    shared = np.tile(x[1], len(sign))
    points, gradients = [[] for _ in range(N)], [[] for _ in range(N)]
    moved = np.zeros((len(sign), 2))
    for i in range(most):
        for n in range(N):
            if server and not present[n]:
                continue
            if server:
                local[n][:, 1] = shared
            g = problem.gradient(n, local[n])
            if sign.shape[2]:
                g = g + sign[:, n, i, None] * problem.v[n]
            points[n].append(local[n].copy())
            gradients[n].append(g)
            active = np.array([i < steps[0], i < steps[1]])
            local[n] = local[n] - eta * g * active
            step = eta * problem.a[n] / problem.q[n] * present[n] * active
            if server:
                shared = shared - server(n) * g[:, 1]
                step = np.array([step[0], server(n)])
            moved = moved - step * g
    stacked = [tuple(np.stack(one, 1) if one else None for one in many)
               for many in (points, gradients)]  # fmt: skip
    return Run(*stacked, moved)


def expectation(problem, x, eta, steps, measure, server=None):
    """Return the expectation of what ``measure`` gives for a run and its subset."""
    total = 0.0
    for present, chance in subsets(problem.q):
        one = run(problem, x, eta, steps, present, server)
        total = total + chance * measure(one, present)
    return total


def federations(seed, count, **keywords):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        problem = draw(rng, **keywords)
        longest = 2 if problem.N == 3 else 3
        steps = tuple(int(k) for k in rng.integers(1, longest + 1, size=2))
        x = rng.normal(size=2) * rng.choice([0.1, 1, 10])
        if rng.random() < 0.5:  # a start where one block's gradient is small
            slope = problem.H[0] if rng.random() < 0.5 else problem.H[1]
            x = x - slope * (slope @ x) / (slope @ slope + 1e-12)
        yield problem, steps, x, rng
