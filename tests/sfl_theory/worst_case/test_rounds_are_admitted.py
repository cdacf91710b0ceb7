"""Real rounds meet every inequality that a program of one round is made of.

A round of random quadratics is played, by all outcomes of its noise; its gradients,
noise and lags are put in the place of the atoms, in expectation. Whatever a certificate
says of such a program is then true of that round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfl_theory.worst_case.assumptions import _Formulation, formulated
from sfl_theory.worst_case.certificate import STAR, Atom, Point, Space
from sfl_theory.worst_case.program import Constraint, Program
from sfl_theory.worst_case.setting import Setting, Visits

CUT, D = 2, 4
"""Coordinates of the client block, and of the model."""
S, MU = Fraction(2), Fraction(1, 5)
SLICES = {"client": slice(0, CUT), "server": slice(CUT, D), "both": slice(0, D)}
ABOVE = Fraction(1 + 2**-30)


@dataclass
class Real:
    """One outcome of a round: what every atom is, client by client."""

    atoms: dict[Atom, np.ndarray] = field(default_factory=dict)
    at: dict[Point, np.ndarray] = field(default_factory=dict)
    models: list[np.ndarray] = field(default_factory=list)


@dataclass
class Clients:
    """F_n = (x - b_n)' H_n (x - b_n) / 2, weights, and two-point noise of each step."""

    weights: tuple[Fraction, ...]
    H: np.ndarray
    b: np.ndarray
    axes: np.ndarray

    @classmethod
    def drawn(cls, seed: int, N: int, steps: int, convex: bool) -> Clients:
        draw = np.random.default_rng(seed)
        parts = [Fraction(int(k)) for k in draw.integers(1, 9, N)]
        low = float(MU if convex else -S)
        H = []
        for _ in range(N):
            Q, _ = np.linalg.qr(draw.normal(size=(D, D)))
            values = draw.choice([low, draw.uniform(low, float(S)), float(S)], D)
            H.append(Q @ np.diag(values) @ Q.T)
        axes = draw.normal(size=(N, steps, D)) * draw.exponential(size=(N, 1, 1))
        return cls(
            tuple(a / sum(parts) for a in parts),
            np.array(H),
            draw.normal(size=(N, D)) * draw.exponential(size=(N, 1)),
            axes,
        )

    @property
    def a(self) -> np.ndarray:
        return np.array([float(one) for one in self.weights])

    def mean(self, each: np.ndarray) -> np.ndarray:
        return np.einsum("n,n...->...", self.a, each)

    def best(self) -> np.ndarray:
        right = self.mean(np.einsum("nij,nj->ni", self.H, self.b))
        return np.linalg.solve(self.mean(self.H), right)

    def slopes(self, x: np.ndarray) -> np.ndarray:
        away = np.broadcast_to(x, self.b.shape) - self.b
        return np.einsum("nij,nj->ni", self.H, away)

    def values(self, x: np.ndarray) -> np.ndarray:
        away = np.broadcast_to(x, self.b.shape) - self.b
        return np.einsum("ni,nij,nj->n", away, self.H, away) / 2

    @property
    def sigma2(self) -> list[Fraction]:
        return [Fraction(float(s)) * ABOVE for s in (self.axes**2).sum(2).max(1)]


def played(
    clients: Clients, setting: Setting, x: np.ndarray, signs: np.ndarray, seed: int
) -> Real:
    """Play a round; SFL-V2's next client depends on what has happened before."""
    real, N = Real(), len(clients.a)
    eta_c, eta_s = (float(s[0]) for s in (setting.client_steps, setting.server_steps))
    rate = np.array([eta_c] * CUT + [eta_s] * (D - CUT))
    steps = max(setting.tau, setting.late)
    local, server = np.tile(x, (N, 1)), x[CUT:].copy()
    seen: dict[int, list[np.ndarray]] = {
        i: [np.zeros((N, D)) for _ in range(3)] for i in range(steps)
    }
    lags = np.zeros((steps, N, D))
    weighted = setting.server_moves == "weighted"
    share = clients.a if weighted else np.full(N, 1 / N)
    done = np.zeros(D)
    draw = np.random.default_rng(seed)

    def chosen(left: list[int]) -> int:
        """Return who is next: at random, or by what noise and orders have made."""
        if seed % 2:
            return int(draw.choice(left))
        here = np.concatenate([x[:CUT], server])
        return max(left, key=lambda n: float(clients.slopes(here)[n] @ (done + here)))

    for n, i in _turns(setting, N, steps, chosen):
        if setting.order == "interleaved" and not seen[i][1].any():
            done = np.zeros(D)
        if setting.algorithm == "sfl-v2":
            if setting.order == "interleaved" or i == 0:
                lags[i, n] = done
            local[n, CUT:] = server
        at, slopes, noise = seen[i]
        at[n] = local[n]
        slopes[n] = clients.H[n] @ (local[n] - clients.b[n])
        noise[n] = signs[n, i] * clients.axes[n, i]
        h = slopes[n] + noise[n]
        moves = np.array(
            [i < setting.tau] * CUT + [i < setting.late] * (D - CUT), dtype=float
        )
        local[n] -= rate * moves * h
        if setting.algorithm == "sfl-v2":
            done = done + share[n] * h
            server = server - eta_s * (share[n] if weighted else 1) * h[CUT:]
        if setting.algorithm == "minibatch-sfl" and n == N - 1:
            server = server - eta_s * clients.mean(slopes + noise)[CUT:]
            local[:, CUT:] = server
    end = clients.mean(local)
    if setting.algorithm in {"sfl-v2", "minibatch-sfl"}:
        end = np.concatenate([end[:CUT], server])
    real.models = [x, end]
    whole = np.zeros((N, D))
    for i, (at, slopes, noise) in seen.items():
        point = Point("local", 0, i)
        real.at[point] = at
        real.atoms[Atom("gradient", None, point)] = slopes
        real.atoms[Atom("noise", None, point)] = noise
        real.atoms[Atom("lag", None, point)] = lags[i]
        apart = setting.order == "interleaved"
        whole = slopes + noise if apart else whole + slopes + noise
        off = np.tile(share @ whole - clients.mean(whole), (N, 1))
        real.atoms[Atom("uneven", None, point)] = off
    for t, model in enumerate(real.models):
        real.at[Point("round", t)] = np.tile(model, (N, 1))
        slopes = clients.slopes(model)
        real.atoms[Atom("gradient", None, Point("round", t))] = slopes
    best = clients.best()
    real.at[STAR] = np.tile(best, (N, 1))
    real.atoms[Atom("gradient", None, STAR)] = clients.slopes(best)
    real.atoms[Atom("start")] = np.tile(x - best, (N, 1))
    return real


def _turns(
    setting: Setting, N: int, steps: int, chosen: Callable[[list[int]], int]
) -> Iterator[tuple[int, int]]:
    if setting.algorithm != "sfl-v2":
        yield from ((n, i) for i in range(steps) for n in range(N))
        return
    apart = setting.order == "interleaved"
    for step in range(steps if apart else 1):
        left = list(range(N))
        while left:
            n = chosen(left)
            left.remove(n)
            yield from ((n, i) for i in ((step,) if apart else range(steps)))


def admitted(
    program: Program, clients: Clients, reals: list[Real]
) -> Iterator[tuple[Constraint, float, float]]:
    """Yield every constraint with its left side on the rounds, and its scale."""
    grams, sizes = {}, {}
    for space in program.run.coordinates.spaces:
        one = [_coordinates(program, clients, real, space) for real in reals]
        grams[space] = np.mean([u @ u.T for u in one], axis=0)
        sizes[space] = np.sqrt(np.abs(grams[space]).max(initial=0))
    values = np.mean([_values(program, clients, real) for real in reals], axis=0)
    pairs = [program.interpolation(*pair) for pair in program.pairs]
    for one in (program.objective, *program.given, *pairs):
        left = sum(float(c) * values[k] for k, c in one.values)
        for space in one.spaces or program.spaces:
            table, gram = program.tables[space], grams[space]
            left += sum(
                float(c) * float(table[a] @ gram @ table[b]) for a, b, c in one.terms
            )
        yield one, left, 1 + max(sizes.values()) ** 2


def _coordinates(
    program: Program, clients: Clients, real: Real, space: Space
) -> np.ndarray:
    """Return the atoms of a space, as rows whose products are the space's."""
    rows = []
    for atom in program.basis[space]:
        each = real.atoms[atom][:, SLICES[space.side]]
        mean = clients.mean(each)
        if space.part == "mean":
            rows.append(mean)
        else:
            rows.append(((each - mean) * np.sqrt(clients.a)[:, None]).ravel())
    width = len(rows[0]) if rows else 1
    return np.array(rows).reshape(len(rows), width)


def _values(program: Program, clients: Clients, real: Real) -> np.ndarray:
    convex = program.setting.mu is not None
    home = clients.values(clients.best() if convex else real.models[0])
    found = np.zeros(program.values)
    for node in program.nodes:
        here = float(clients.mean(clients.values(real.at[node.point]) - home))
        if node.value is None:
            assert here == pytest.approx(0, abs=1e-9)
        else:
            found[node.value] = here
    return found


RUNS = {
    "fedavg": ("fedavg", "client-sequential", "printed"),
    "sfl-v1": ("sfl-v1", "client-sequential", "printed"),
    "minibatch-sfl": ("minibatch-sfl", "client-sequential", "printed"),
    "interleaved": ("sfl-v2", "interleaved", "printed"),
    "interleaved, weighted": ("sfl-v2", "interleaved", "weighted"),
    "client-sequential": ("sfl-v2", "client-sequential", "printed"),
}


def rounds(seed: int, which: str, metric: str) -> tuple[Program, Clients, list[Real]]:
    """Return the program of a random round with constants that it just meets."""
    draw = np.random.default_rng(seed)
    algorithm, order, moves = RUNS[which]
    N, tau = (int(k) for k in draw.choice([(2, 2), (3, 2), (2, 3), (3, 1), (1, 2)]))
    late = int(draw.integers(1, 4)) if algorithm == "sfl-v1" and N < 3 else tau
    clients = Clients.drawn(seed, N, max(tau, late), metric != "gradient")
    eta = Fraction(1, int(draw.integers(2, 9)))
    server = eta * (
        1 if algorithm == "fedavg" else Fraction(int(draw.integers(1, 5)), 3)
    )
    visits = None
    if algorithm == "sfl-v2":
        visits = Visits.of(clients.weights, moves)  # type: ignore[arg-type]
    noise = sum(a * s for a, s in zip(clients.weights, clients.sigma2, strict=True))
    mean = sum(a * a * s for a, s in zip(clients.weights, clients.sigma2, strict=True))
    start = {"gap": "gap", "mean": "decrease", "gradient": "decrease"}[metric]
    setting = Setting(
        algorithm, tau, (eta,), (server,), S, None if metric == "gradient" else MU,  # type: ignore[arg-type]
        tau_server=late, eps2=Fraction(1), G2=Fraction(1), sigma2=noise,
        mean_noise=mean, start=start, order=order, server_moves=moves, visits=visits,  # type: ignore[arg-type]
        metric="gradient" if metric == "gradient" else "gap",
        reading={"gap": "last", "mean": "mean", "gradient": "average"}[metric],  # type: ignore[arg-type]
        initial_distance=Fraction(1) if metric == "mean" else None,
    )  # fmt: skip
    x = draw.normal(size=D)
    steps = max(tau, late)
    reals = [
        played(clients, setting, x, np.array(signs).reshape(N, steps), seed + 1)
        for signs in product((-1, 1), repeat=N * steps)
    ]
    commons = [clients.best(), *(m for real in reals for m in real.models)]
    apart = [g - clients.mean(g) for g in map(clients.slopes, commons)]
    eps2 = max(float((one**2).sum(1).max()) for one in apart)
    G2 = max(
        float(np.mean([((r.atoms[Atom("gradient", None, p)]
                         + r.atoms[Atom("noise", None, p)]) ** 2).sum(1)
                       for r in reals], axis=0).max())
        for p in reals[0].at if p.kind == "local"
    )  # fmt: skip
    gaps = [
        np.mean([float(clients.mean(clients.values(r.models[t]))) for r in reals])
        for t in (0, 1)
    ]
    least = float(clients.mean(clients.values(clients.best())))
    far = [
        np.mean([float(((r.models[t] - clients.best()) ** 2).sum()) for r in reals])
        for t in (0, 1)
    ]
    fall = far[0] - far[1] if metric == "mean" else gaps[0] - gaps[1]
    initial = gaps[0] - least if metric == "gap" else max(float(fall), 1e-3)
    setting = replace(
        setting, eps2=Fraction(eps2) * ABOVE + ABOVE - 1, G2=Fraction(G2) * ABOVE,
        initial=Fraction(float(initial)) * ABOVE,
        initial_distance=Fraction(float(far[0])) * ABOVE if metric == "mean" else None,
    )  # fmt: skip
    return formulated(setting), clients, reals


def metric_of(program: Program, clients: Clients, reals: list[Real]) -> float:
    setting, best = program.setting, clients.best()
    last = setting.reading == "last"
    if setting.metric == "gradient":
        slopes = clients.slopes(reals[0].models[0])
        return float((clients.mean(slopes) ** 2).sum())
    ends = [clients.values(real.models[last]) - clients.values(best) for real in reals]
    return float(np.mean([clients.mean(one) for one in ends]))


def broken(program: Program, clients: Clients, reals: list[Real]) -> list[str]:
    """Return the kinds of what the rounds do not meet."""
    found = []
    for one, left, scale in admitted(program, clients, reals):
        if one is program.objective:
            assert left == pytest.approx(metric_of(program, clients, reals), rel=1e-9)
            continue
        above = left - float(one.bound)
        if above > 1e-9 * scale or (one.equality and above < -1e-9 * scale):
            found.append(one.inequality.kind)
    return found


@pytest.mark.parametrize("metric", ["gap", "mean", "gradient"])
@pytest.mark.parametrize("which", RUNS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=4, deadline=None)
def test_a_round_meets_every_inequality_of_its_program(
    which: str, metric: str, seed: int
) -> None:
    assert broken(*rounds(seed, which, metric)) == []


def _less(name: str) -> object:
    """Return ``Visits.of`` with half of one of its bounds."""
    whole = Visits.of

    def of(weights: tuple[Fraction, ...], moves: str) -> Visits:
        known = whole(weights, moves)  # type: ignore[arg-type]
        return replace(known, **{name: getattr(known, name) / 2})

    return staticmethod(of)


def _quiet(setting: Setting) -> dict[str, Fraction]:
    mean = (setting.mean_noise or 0) / Fraction(2)
    return {"mean": mean, "deviation": setting.sigma2 - mean}


def _all_seen(_: object, drawn: Point, atom: Atom) -> bool:
    return (
        atom.kind in {"gradient", "lag"} and getattr(atom.point, "kind", "") == "local"
    )


def _all_fixed(_: object, noise: Atom, atom: Atom) -> bool:
    return atom.kind != "noise"


WRONG = {
    "lag": ("client-sequential", Visits, "of", _less("lag")),
    "uneven": ("interleaved", Visits, "of", _less("uneven")),
    "variance": ("sfl-v1", Setting, "noises", property(_quiet)),
    "visited": ("client-sequential", _Formulation, "seen", _all_seen),
    "unbiased": ("interleaved", _Formulation, "fixed_before", _all_fixed),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_not_so_is_seen(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a bound, noise that is fixed too early: some round breaks it."""
    which, where, name, instead = WRONG[kind]
    monkeypatch.setattr(where, name, instead)
    found = [broken(*rounds(seed, which, "gap")) for seed in range(12)]
    assert {one for each in found for one in each} == {kind}
