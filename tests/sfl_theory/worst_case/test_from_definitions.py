"""Worst cases of random settings, from definitions alone and by Clarabel.

Two matrices of inner products, of client and server blocks, and a value per client and
point; runs as the trainer's algorithms, interpolation inequalities for all pairs, one
noise per draw, one vector per outcome. Of the package only ``Setting`` is read.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction as Q
from itertools import permutations, product
from math import prod, sqrt

import numpy as np
import pytest
from scipy import sparse

from sfl_theory.worst_case.scenarios import count
from sfl_theory.worst_case.setting import Setting
from sfl_theory.worst_case.solve import worst_case

clarabel = pytest.importorskip("clarabel")
pytestmark = pytest.mark.long

MOST = 60
CLIENT, SERVER = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
Form = list[tuple[np.ndarray, np.ndarray, float]]


class Problem:
    """Unknown vectors are columns of (block, vector) arrays; ``x* = 0``."""

    def __init__(self, s: Setting) -> None:
        self.s, self.a = s, [float(a) for a in s.shares]
        self.q = [float(s.chance(n)) for n in range(len(self.a))]
        self.past: list[frozenset[int]] = []
        self.noises: dict[object, int] = {}
        self.nodes: dict[object, tuple[int, np.ndarray, np.ndarray, int | None]] = {}
        self.rows: list[tuple[Form, dict[int, float], float]] = []
        self.values = 0
        self.everywhere = s.mu == 0 and s.start == "gap"  # x(0) - x* is unbounded

    def unknown(self, past: frozenset[int] = frozenset()) -> np.ndarray:
        self.past.append(past)
        vector = np.zeros((2, MOST))
        vector[:, len(self.past) - 1] = 1
        return vector

    def at(self, n: int, x: np.ndarray) -> tuple[np.ndarray, int | None]:
        """The gradient of F_n at x, and the place of its value."""
        key = n, (np.round(x, 10) + 0.0).tobytes()
        if key not in self.nodes:
            made = set[int]().union(*(self.past[k] for k in np.flatnonzero(x.any(0))))
            gradient = self.unknown(frozenset(made))
            self.nodes[key] = n, x, gradient, self.values
            self.values += 1
        return self.nodes[key][2:]

    def sample(self, n: int, t: int, i: int, x: np.ndarray, sign: int) -> np.ndarray:
        gradient, sigma2 = self.at(n, x)[0], float(self.s.sigma2)
        key, fresh = (n, t, i, (np.round(x, 10) + 0.0).tobytes()), False
        if sigma2 and key not in self.noises:
            k, fresh = len(self.past), True
            xi, self.noises[key] = self.unknown(frozenset({k})), k
            self.rows.append(([(xi, xi, 1)], {}, sigma2))
        xi = np.zeros_like(x)
        if sigma2:
            xi[:, self.noises[key]] = 1
        if self.s.G2 is not None and (fresh or not sigma2):
            bounded = [(gradient, gradient, 1.0), (xi, xi, 1.0)]
            self.rows.append((bounded, {}, float(self.s.G2)))
        return gradient + sign * xi

    def outcomes(self) -> Iterator[tuple[float, list[int], dict[object, int]]]:
        both = [(True,) if q == 1 else (True, False) for q in self.q]
        for here in product(*both):
            p = prod(q if h else 1 - q for h, q in zip(here, self.q, strict=True))
            present = [n for n, h in enumerate(here) if h]
            local = range(max(self.s.tau, self.s.late) if self.s.two_point else 0)
            steps = [*product(present, local)]
            for signs in product((1, -1), repeat=len(steps)):
                yield (
                    p / 2 ** len(steps),
                    present,
                    dict(zip(steps, signs, strict=True)),
                )

    def visits(self, t: int, present: list[int]) -> list[tuple[int, int]]:
        s, clients = self.s, tuple(range(len(self.a)))
        turns = s.turns or (clients,)
        if s.order == "interleaved":
            turns = turns * (s.tau * s.rounds // len(turns))
            every = [(n, i) for i in range(s.tau) for n in turns[t * s.tau + i]]
        else:
            turns = turns * (s.rounds // len(turns))
            every = [*product(turns[t], range(s.tau))]
        return [visit for visit in every if visit[0] in present]

    def round(
        self, t: int, x: np.ndarray, present: list[int], signs: dict[object, int]
    ) -> np.ndarray:
        s = self.s
        eta_c, eta_s = float(s.client_steps[t]), float(s.server_steps[t])
        part = {n: self.a[n] / self.q[n] for n in present}
        local, server = dict.fromkeys(present, x), SERVER * x

        def drawn(n: int, i: int, at: np.ndarray) -> np.ndarray:
            return self.sample(n, t, i, at, signs.get((n, i), 1))

        if s.algorithm == "sfl-v2":
            for n, i in self.visits(t, present):
                g = drawn(n, i, CLIENT * local[n] + server)
                local[n] = local[n] - eta_c * CLIENT * g
                move = self.a[n] if s.server_moves == "weighted" else 1
                server = server - eta_s * move / self.q[n] * SERVER * g
        elif s.algorithm == "minibatch-sfl":
            for i in range(s.tau if present else 0):
                g = {n: drawn(n, i, CLIENT * local[n] + server) for n in present}
                local = {n: local[n] - eta_c * CLIENT * g[n] for n in present}
                mean = sum(part[n] * g[n] for n in present) / sum(part.values())
                server = server - eta_s * SERVER * mean
        else:
            for n, i in product(present, range(max(s.tau, s.late))):
                rates = eta_c * (i < s.tau) * CLIENT + eta_s * (i < s.late) * SERVER
                local[n] = local[n] - rates * drawn(n, i, local[n])
        moved = sum((part[n] * (local[n] - x) for n in present), 0 * x)
        if s.algorithm in {"sfl-v2", "minibatch-sfl"}:
            return CLIENT * (x + moved) + server
        return x + moved

    def f(self, x: np.ndarray, by: float = 1.0) -> dict[int, float]:
        places = ((self.at(n, x)[1], by * a) for n, a in enumerate(self.a))
        return {k: c for k, c in places if k is not None}

    def slope(self, x: np.ndarray) -> np.ndarray:
        return sum(a * self.at(n, x)[0] for n, a in enumerate(self.a))

    def written(self) -> tuple[Form, dict[int, float]]:
        """Enter everything; return the metric."""
        s, T, N = self.s, self.s.rounds, len(self.a)
        S, zero = float(s.S), np.zeros((2, MOST))
        first = self.unknown() if s.mu is not None else zero
        best = [self.unknown() * (s.zeta2 != 0) for _ in range(N - 1)]
        last = sum((self.a[n] * g for n, g in enumerate(best)), zero)
        best.append(-last / self.a[-1])
        for n, g in enumerate(best if s.mu is not None else ()):
            self.nodes[n, zero.tobytes()] = n, zero, g, None
        if s.zeta2:
            square = [(g, g, a) for g, a in zip(best, self.a, strict=True)]
            self.rows.append((square, {}, float(s.zeta2)))
        levels = [[(1.0, first, zero)]]
        for t in range(T):
            after: dict[object, tuple[float, np.ndarray, np.ndarray]] = {}
            for (p, x, total), (q, *what) in product(levels[-1], [*self.outcomes()]):
                y = self.round(t, x, *what)
                key = np.round([y, total + x], 10).tobytes()
                after[key] = after.get(key, (0.0,))[0] + p * q, y, total + x
            levels.append([*after.values()])
        rates = np.array([float(eta) for eta in s.client_steps])
        metric: Form = []
        value: dict[int, float] = {}
        ways = [
            (w, level) for w, level in zip(rates / rates.sum(), levels, strict=False)
        ]
        ways = ways if s.reading in {"mean", "average"} else [(1, levels[T])]
        spots = [(w * p, x) for w, level in ways for p, x, _ in level]
        if s.reading == "average" and s.metric == "gap":
            spots = [(p, (total + x) / T) for p, x, total in levels[T - 1]]
        if s.metric == "distance":
            metric = [(x, x, p) for p, x in spots]
        elif s.metric == "gap":
            for p, x in spots:
                for k, c in self.f(x, p).items():
                    value[k] = value.get(k, 0) + c
        elif s.reading == "average":
            metric = [(g, g, p) for p, x in spots for g in [self.slope(x)]]
        else:
            self.values, value = self.values + 1, {self.values: 1.0}
            for level in levels[:T]:
                each = [(self.slope(x), p) for p, x, _ in level]
                self.rows.append(([(g, g, -p) for g, p in each], value, 0.0))
        if s.start == "distance":
            self.rows.append(([(first, first, 1)], {}, float(s.initial)))
        if s.start == "gap":
            self.rows.append(([], self.f(first), float(s.initial)))
        for x in [x for level in levels for _, x, _ in level if s.mu is None]:
            g, above = self.slope(x), self.f(x, -1.0)
            self.rows.append(([(g, g, 1 / (2 * S))], above, 0.0))
        if s.eps2 is not None:
            models = [x for level in levels[:T] for _, x, _ in level]
            models += [zero] * (s.mu is not None)
            models += [x for _, x, _ in levels[T] if self.known(x)]
            for x, n in product(models, range(N)):
                off = self.at(n, x)[0] - self.slope(x)
                self.rows.append(([(off, off, 1)], {}, float(s.eps2)))
        for one, other in permutations(self.nodes.values(), 2):
            if one[0] == other[0] and not (self.everywhere and one[3] is None):
                self.rows.append(self.interpolation(one, other))
        return metric, value

    def known(self, x: np.ndarray) -> bool:
        key = (np.round(x, 10) + 0.0).tobytes()
        return all((n, key) in self.nodes for n in range(len(self.a)))

    def interpolation(self, one, other) -> tuple[Form, dict[int, float], float]:
        """``h = F - mu |x|^2 / 2`` is convex and (S - mu)-smooth; mu is at least -S."""
        (_, x, gx, fx), (_, y, gy, fy) = one, other
        S, mu = float(self.s.S), float(-self.s.S if self.s.mu is None else self.s.mu)
        hx, hy = gx - mu * x, gy - mu * y
        form = [(x, x, mu / 2), (y, y, -mu / 2), (hy, x - y, 1.0)]
        form.append((hx - hy, hx - hy, 1 / (2 * (S - mu))))
        signed = ((fy, 1.0), (fx, -1.0))
        return form, {k: c for k, c in signed if k is not None}, 0.0

    def value(self) -> float:
        metric, linear = self.written()
        size = len(self.past)
        rows, columns = np.tril_indices(size)[::-1]
        many, root = len(rows), np.where(rows == columns, 1.0, sqrt(2))
        width = 2 * many + self.values

        def row(form: Form, values: dict[int, float]) -> np.ndarray:
            found = np.zeros(width)
            for u, v, c in form:
                for b, (p, q) in enumerate(zip(u, v, strict=True)):
                    p, q = p[:size].copy(), q[:size].copy()
                    p[: self.everywhere] = q[: self.everywhere] = 0
                    whole = (p[rows] * q[columns] + q[rows] * p[columns]) / 2
                    found[b * many : (b + 1) * many] += c * root * whole
            for k, c in values.items():
                found[2 * many + k] = c
            return found

        free = [
            b * many + k
            for k, (i, j) in enumerate(zip(rows, columns, strict=True))
            for b in range(2 * (not self.s.two_point))
            if i != j and any(u in self.noises.values() and u not in self.past[v]
                              for u, v in ((i, j), (j, i)))
        ]  # fmt: skip
        parts = [
            sparse.eye_array(width, format="csr")[free],
            sparse.csr_array([row(form, values) for form, values, _ in self.rows]),
            -sparse.eye_array(width, format="csr")[: 2 * many],
        ]
        bounds = [0.0] * len(free) + [one[2] for one in self.rows] + [0.0] * 2 * many
        cones = [
            clarabel.ZeroConeT(len(free)),
            clarabel.NonnegativeConeT(len(self.rows)),
            *[clarabel.PSDTriangleConeT(size)] * 2,
        ]
        how = clarabel.DefaultSettings()
        how.verbose, how.max_iter = False, 200
        how.tol_gap_abs = how.tol_gap_rel = how.tol_feas = 1e-9
        none = sparse.csc_matrix((width, width))
        whole = sparse.csc_matrix(sparse.vstack(parts))
        goal = -row(metric, linear)
        found = clarabel.DefaultSolver(none, goal, whole, np.array(bounds), cones, how)
        return float(-found.solve().obj_val)


def drawn(seed: int) -> Setting:
    """A random small setting; raises ValueError for what cannot be."""
    draw = random.Random(seed)
    algorithm = draw.choice(["fedavg", "sfl-v1", "sfl-v2", "sfl-v2", "minibatch-sfl"])
    N, tau, T = (draw.choice(some) for some in ((1, 2, 2, 3), (1, 2, 2, 3), (1, 2, 3)))
    S = draw.choice([Q(1), Q(3)])
    mu = draw.choice([Q(0), S / 10, S / 3, None])
    falling = draw.choice([0, 1])
    sides = [draw.choice([Q(1, 4), Q(1, 2), Q(3, 4)]) / S for _ in range(2)]
    sides = [sides[0]] * 2 if algorithm == "fedavg" else sides
    steps = (tuple(2 * eta / (2 + falling * t) for t in range(T)) for eta in sides)
    parts = [draw.randint(1, 5) for _ in range(N)] if draw.random() < 0.5 else []
    chances = [draw.choice([Q(1, 2), Q(1)]) for _ in range(N)]
    order = draw.choice(["client-sequential", "interleaved"])
    turns = [tuple(draw.sample(range(N), N)) for _ in range(draw.choice([0, 1]))]
    sigma2 = draw.choice([Q(0), Q(0), Q(1)])
    assumed: dict[str, Q] = {}
    for _ in range(draw.choice([1, 1, 2])):
        bound = draw.choice(
            ["zeta2", "eps2", "G2"] if mu is not None else ["eps2", "G2"]
        )
        assumed[bound] = draw.choice([Q(1, 4), Q(1)]) + 2 * sigma2 * (bound == "G2")
    metric = draw.choice(
        ["distance", "gap", "gradient"] if mu is not None else ["gradient"]
    )
    start = draw.choice(
        ["distance", "gap"] + ["gradients"] * bool("G2" in assumed and mu)
    )
    readings = {
        "distance": ["last"],
        "gap": ["last", "mean", "average"],
        "gradient": ["average", "minimum"],
    }
    return Setting(
        algorithm,
        tau,
        *steps,
        S,
        mu,
        N,
        tuple(Q(part, sum(parts)) for part in parts),
        draw.choice([1, 2, 3]) if algorithm == "sfl-v1" else None,
        sigma2=sigma2,
        start="gap" if mu is None else start,
        initial=draw.choice([Q(1), Q(4)]),
        metric=metric,
        reading=draw.choice(readings[metric]),
        order=order,
        turns=tuple(turns) if algorithm == "sfl-v2" else (),
        server_moves=draw.choice(["printed", "weighted"]),
        participation=tuple(chances) if draw.random() < 0.3 else (),
        two_point=sigma2 > 0 and draw.random() < 0.5,
        **assumed,
    )


def small(seed: int) -> Setting | None:
    with suppress(ValueError):
        one = drawn(seed)
        if (
            len(one.shares) * max(one.tau, one.late) * one.rounds <= 9
            and count(one) <= 16
        ):
            return one
    return None


def encodings(setting: Setting) -> Iterator[Setting]:
    """Clients one by one, means and deviations of N, and of all N at once."""
    yield setting
    with suppress(ValueError):
        yield replace(setting, symmetric=True)
    alike = not (setting.sigma2 or setting.partial or setting.weights)
    if alike and len(setting.shares) > 1:
        with suppress(ValueError):
            yield replace(setting, clients=None, participation=())


@pytest.mark.parametrize("seed", [seed for seed in range(120) if small(seed)])
def test_worst_cases_follow_from_definitions(seed: int) -> None:
    setting = small(seed)
    assert setting is not None
    expected = Problem(setting).value()
    for one in [*encodings(setting)]:
        assert worst_case(one).value == pytest.approx(expected, rel=1e-5)
