"""Certificates of single rounds bound runs of any length, weights and order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import permutations, product, repeat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfl_theory.worst_case.round_by_round import (
    Followed,
    Weights,
    averaged,
    descended,
    follow,
    spans,
)
from sfl_theory.worst_case.setting import Setting, Visits
from sfl_theory.worst_case.solve import worst_case

ETA, S, MU = Fraction(1, 20), Fraction(2), Fraction(1, 5)
CUT = 2
"""Coordinates of the client block of a problem in four dimensions."""


def weighted(draw: np.random.Generator, N: int) -> tuple[Fraction, ...]:
    parts = [Fraction(int(k)) for k in draw.integers(1, 9, N)]
    return tuple(part / sum(parts) for part in parts)


@dataclass
class Quadratics:
    """F_n = (x - b_n)' H_n (x - b_n) / 2 with mu <= H_n <= S, and what a run meets."""

    weights: tuple[Fraction, ...]
    H: np.ndarray
    b: np.ndarray
    G2: float = 0.0
    eps2: float = 0.0
    noise: Iterator[np.ndarray] = field(default_factory=lambda: repeat(np.zeros(4)))

    @classmethod
    def drawn(cls, seed: int, N: int) -> Quadratics:
        draw = np.random.default_rng(seed)
        H = []
        for _ in range(N):
            Q, _ = np.linalg.qr(draw.normal(size=(4, 4)))
            H.append(Q @ np.diag(draw.uniform(float(MU), float(S), 4)) @ Q.T)
        return cls(weighted(draw, N), np.array(H), draw.normal(size=(N, 4)))

    @property
    def a(self) -> np.ndarray:
        return np.array([float(one) for one in self.weights])

    def best(self) -> np.ndarray:
        H = np.einsum("n,nij->ij", self.a, self.H)
        return np.linalg.solve(H, np.einsum("n,nij,nj->i", self.a, self.H, self.b))

    def gap(self, x: np.ndarray) -> float:
        H = np.einsum("n,nij->ij", self.a, self.H)
        away = x - self.best()
        return float(away @ H @ away) / 2

    def slopes(self, x: np.ndarray) -> np.ndarray:
        found = np.einsum("nij,nj->ni", self.H, x - self.b)
        apart = found - self.a @ found
        self.eps2 = max(self.eps2, float((apart**2).sum(1).max()))
        return found

    def step(self, n: int, x: np.ndarray) -> np.ndarray:
        found, noise = self.H[n] @ (x - self.b[n]), next(self.noise)
        self.G2 = max(self.G2, float(found @ found + noise @ noise))
        return found + noise

    def run(
        self, algorithm: str, tau: int, steps: Sequence[float], ratio: float, seed: int
    ) -> np.ndarray:
        """Return x(0..T); SFL-V2's orders are drawn anew in every step."""
        draw, N = np.random.default_rng(seed), len(self.a)
        models = [draw.normal(size=4)]
        for eta in steps:
            x = models[-1]
            local, server = np.tile(x, (N, 1)), x[CUT:].copy()
            if algorithm == "sfl-v1":
                for n in np.repeat(np.arange(N), tau):
                    slope = self.step(n, local[n])
                    local[n, :CUT] -= eta * slope[:CUT]
                    local[n, CUT:] -= eta * ratio * slope[CUT:]
                models.append(self.a @ local)
                continue
            for n in _visits(algorithm, tau, N, draw):
                slope = self.step(n, np.concatenate([local[n, :CUT], server]))
                local[n, :CUT] -= eta * slope[:CUT]
                server -= eta * ratio * slope[CUT:]
            models.append(np.concatenate([self.a @ local[:, :CUT], server]))
        for x in (*models, self.best()):
            self.slopes(x)
        return np.array(models)


def _visits(order: str, tau: int, N: int, draw: np.random.Generator) -> Iterator[int]:
    if order == "interleaved":
        for _ in range(tau):
            yield from draw.permutation(N)
    else:
        for n in draw.permutation(N):
            yield from [n] * tau


def a_round(
    problem: Quadratics, algorithm: str, tau: int, ratio: Fraction, **more: object
) -> Setting:
    visits = algorithm != "sfl-v1"
    above = Fraction(1001, 1000)
    return replace(
        Setting(
            "sfl-v2" if visits else "sfl-v1",
            tau,
            (ETA,),
            (ETA * ratio,),
            S,
            MU,
            eps2=Fraction(problem.eps2) * above,
            G2=Fraction(problem.G2) * above,
            start="gap",
            order=algorithm if visits else "client-sequential",  # type: ignore[arg-type]
            visits=Visits.of(problem.weights, "printed") if visits else None,
        ),
        **more,  # type: ignore[arg-type]
    )


ALGORITHMS = ("sfl-v1", "interleaved", "client-sequential")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("seed", range(2))
def test_no_run_of_a_strongly_convex_problem_lies_above_the_chain(
    algorithm: str, seed: int
) -> None:
    N, tau, T = 2 + seed, 1 + seed, 12
    ratio = Fraction(1, 2 if algorithm == "sfl-v1" else N)
    problem = Quadratics.drawn(seed, N)
    steps = [ETA / (1 + Fraction(t, 8)) for t in range(T)]
    models = problem.run(algorithm, tau, [float(s) for s in steps], float(ratio), seed)
    gaps = [problem.gap(x) for x in models]
    one = a_round(problem, algorithm, tau, ratio, initial=Fraction(gaps[0]))
    found = follow(one, steps)
    assert all(gap <= float(v) for gap, v in zip(gaps, found.values, strict=True))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("tau", "T"), [(1, 3), (3, 1)])
def test_no_expectation_over_noise_lies_above_the_chain(
    algorithm: str, tau: int, T: int
) -> None:
    """Two-point noise of every step, all outcomes: no averages are estimated."""
    N, sigma2 = 2, Fraction(9, 4)
    ratio = Fraction(1, 1 if algorithm == "sfl-v1" else N)
    problem = Quadratics.drawn(tau, N)
    problem.b[:] = problem.b[0]
    draw = np.random.default_rng(T)
    axes = draw.normal(size=(N * tau * T, 4))
    axes *= float(sigma2) ** 0.5 / np.linalg.norm(axes, axis=1, keepdims=True)
    ends = []
    for signs in product((-1, 1), repeat=len(axes)):
        problem.noise = iter(np.array(signs)[:, None] * axes)
        models = problem.run(algorithm, tau, [float(ETA)] * T, float(ratio), 7)
        ends.append([problem.gap(x) for x in models])
    gaps = np.mean(ends, axis=0)
    one = a_round(
        problem, algorithm, tau, ratio, initial=Fraction(gaps[0]), sigma2=sigma2,
        mean_noise=sum((a * a for a in problem.weights), Fraction(0)) * sigma2,
    )  # fmt: skip
    found = [float(value) for value in follow(one, [ETA] * T).values]
    assert np.all(gaps <= found)
    silent = replace(one, sigma2=Fraction(0), mean_noise=Fraction(0))
    assert found[-1] > follow(silent, [ETA] * T).values[-1]


STEPS = {
    "constant": [ETA] * 15,
    "falling": [8 * ETA / (1 + Fraction(t, 2)) for t in range(15)],
    "rising": [ETA * (1 + t) / 2 for t in range(15)],
}


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_no_run_lies_above_the_means(algorithm: str, kind: str) -> None:
    """Strongly convex problems are convex, and smooth: means of gaps, of gradients."""
    N, tau, steps = 3, 2, STEPS[kind]
    floats = np.array([float(step) for step in steps])
    ratio = Fraction(1, 1 if algorithm == "sfl-v1" else N)
    problem = Quadratics.drawn(5, N)
    models = problem.run(algorithm, tau, floats, float(ratio), 5)
    gaps = np.array([problem.gap(x) for x in models])
    slopes = [problem.a @ problem.slopes(x) for x in models]
    squares = np.array([float(v @ v) for v in slopes])
    far = models[0] - problem.best()
    one = a_round(problem, algorithm, tau, ratio, start="gap")
    gap, distance = Fraction(gaps[0]), Fraction(float(far @ far))
    mean = replace(
        one, mu=Fraction(0), reading="mean", start="decrease",
        initial_distance=distance,
    )  # fmt: skip
    smooth = replace(
        one, mu=None, metric="gradient", reading="average", start="decrease"
    )
    for found, left in (
        (averaged(mean, steps, distance, gap), gaps),
        (descended(smooth, steps, gap), squares),
    ):
        exact = [step * Fraction(one) for step, one in zip(steps, left, strict=False)]
        for t, bound in enumerate(found.values[1:], start=1):
            assert sum(exact[:t]) <= bound * sum(steps[:t])


@given(seed=st.integers(0, 2**32 - 1), N=st.integers(1, 5))
@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("moves", ["printed", "weighted"])
def test_lags_of_every_order_are_within_their_bounds(
    seed: int, N: int, moves: str
) -> None:
    draw = np.random.default_rng(seed)
    weights = weighted(draw, N)
    a = np.array([float(one) for one in weights])
    h = draw.normal(size=(N, 3)) * draw.exponential(size=(N, 1))
    known = Visits.of(weights, moves)  # type: ignore[arg-type]
    share = np.full(N, 1 / N) if moves == "printed" else a
    for order in permutations(range(N)):
        lags = np.zeros((N, 3))
        done = np.zeros(3)
        for n in order:
            lags[n] = done
            done = done + share[n] * h[n]
        left = float(a @ (lags**2).sum(1))
        assert left <= float(known.lag) * float(a @ (h**2).sum(1)) * (1 + 1e-12)
    off = share @ h - a @ h
    apart = ((h - a @ h) ** 2).sum(1)
    assert float(off @ off) <= float(known.uneven) * float(a @ apart) + 1e-12


def test_lags_reach_a_good_part_of_their_bound() -> None:
    """Equal vectors lag by (n/N)^2 in the mean: the bound 1/2 could not be 1/4."""
    N = 50
    known = Visits.of((Fraction(1, N),) * N, "printed")
    reached = np.mean((np.arange(N) / N) ** 2)
    assert 0.6 * float(known.lag) < reached <= float(known.lag)


@pytest.mark.parametrize(
    ("order", "moves"),
    [
        ("interleaved", "printed"),
        ("interleaved", "weighted"),
        ("client-sequential", "printed"),
    ],
)
def test_all_orders_at_once_lie_above_one_order_of_two_clients(
    order: str, moves: str
) -> None:
    two = Setting(
        "sfl-v2", 2, (Fraction(1, 4),), (Fraction(1, 4),), Fraction(1), Fraction(1, 10),
        clients=2, eps2=Fraction(1), G2=Fraction(2), start="gap",
        order=order, server_moves=moves,  # type: ignore[arg-type]
    )  # fmt: skip
    visits = Visits.of((Fraction(1, 2),) * 2, moves)  # type: ignore[arg-type]
    every = replace(two, clients=None, visits=visits)
    exact, above = (worst_case(one, below=False) for one in (two, every))
    assert exact.upper is not None
    assert above.upper is not None
    assert exact.value < float(above.upper)
    none = replace(every, visits=replace(visits, lag=Fraction(1, 10**6)))
    assert worst_case(none, below=False).value < float(above.upper)


def test_a_chain_lies_above_the_exact_worst_case_of_its_rounds() -> None:
    """And near it: no single problem is worst in every round."""
    one = Setting(
        "sfl-v1", 2, (ETA,), (ETA,), S, MU, G2=Fraction(4), sigma2=Fraction(1, 4),
        mean_noise=Fraction(1, 16), start="gap",
    )  # fmt: skip
    chain = follow(one, [ETA] * 2).values[-1]
    whole = replace(one, client_steps=(ETA,) * 2, server_steps=(ETA,) * 2)
    exact = worst_case(whole, below=False).upper
    assert exact is not None
    assert exact <= chain <= Fraction(101, 100) * exact


def test_a_certificate_serves_smaller_steps() -> None:
    theta = Fraction(4, 5)
    one = Setting("fedavg", 2, (ETA,), (ETA,), S, MU, G2=Fraction(4), start="gap")
    known = follow(replace(one, mu=theta * MU), [ETA]).rounds[0]
    small = replace(one, client_steps=(theta * ETA,), server_steps=(theta * ETA,))
    direct = worst_case(small, below=False).upper
    assert direct is not None
    bound = known.slope * one.initial + known.rise * theta
    assert direct <= bound <= Fraction(11, 10) * direct


def test_every_round_of_a_span_has_its_own_step() -> None:
    """V(t+1) = lambda V(t) + c eta(t)/eta, eta the largest step of the span."""
    steps = [ETA, ETA * Fraction(9, 10), ETA * Fraction(17, 20)] * 4
    one = Setting("fedavg", 2, (ETA,), (ETA,), S, MU, G2=Fraction(4), start="gap")
    found = follow(one, steps)
    for known in found.rounds:
        assert known.rise > 0
        largest = max(steps[known.first : known.last])
        for t in range(known.first, known.last):
            value = known.slope * found.values[t] + known.rise * steps[t] / largest
            assert 0 <= found.values[t + 1] - value < Fraction(1, 2**60)


def test_averaged_noise_counts_with_its_mean() -> None:
    """All N with the variance of a mean: below one noisy client, above none."""
    noisy = Setting(
        "fedavg", 2, (ETA,), (ETA,), S, MU, G2=Fraction(4), sigma2=Fraction(1),
        start="gap", initial=Fraction(1, 100),
    )  # fmt: skip
    values = [
        worst_case(replace(noisy, mean_noise=share), below=False).value
        for share in (Fraction(0), Fraction(1, 4), Fraction(1))
    ]
    assert values[0] < values[1] < values[2]
    alike = replace(noisy, clients=4, symmetric=True)
    assert worst_case(alike, below=False).value <= values[1] * (1 + 1e-5)
    whole = worst_case(noisy, below=False).value
    assert values[2] == pytest.approx(whole, rel=1e-5)


@given(
    steps=st.lists(st.fractions(Fraction(1, 100), 1), min_size=1, max_size=12),
)
def test_spans_are_all_rounds_with_similar_steps(steps: list[Fraction]) -> None:
    found = spans(steps)
    assert [t for first, last in found for t in range(first, last)] == [
        *range(len(steps))
    ]
    for first, last in found:
        assert min(steps[first:last]) >= Fraction(4, 5) * max(steps[first:last])


def test_other_rounds_are_refused() -> None:
    one = Setting("fedavg", 1, (ETA,), (ETA,), S, MU)
    with pytest.raises(ValueError, match="strongly convex"):
        follow(one, [ETA])
    with pytest.raises(ValueError, match="spread too far"):
        spans([Fraction(1, 2**k) for k in range(30)])
    with pytest.raises(ValueError, match="mean_noise"):
        replace(one, mean_noise=Fraction(1))
    with pytest.raises(ValueError, match="weighted steps in a row"):
        Setting(
            "sfl-v2", 2, (ETA,), (ETA,), S, MU, G2=Fraction(1),
            visits=Visits.of((Fraction(1, 2),) * 2, "weighted"),
        )  # fmt: skip
    with pytest.raises(ValueError, match="visits are one after another"):
        replace(one, visits=Visits(1, Fraction(1)))
    with pytest.raises(ValueError, match="sfl-v2 needs"):
        replace(one, algorithm="sfl-v2", clients=2, visits=Visits(1, Fraction(1)))


def test_chains_are_exact_numbers() -> None:
    found = follow(
        Setting("fedavg", 1, (ETA,), (ETA,), S, MU, G2=Fraction(9), start="gap"),
        [ETA] * 3,
    )
    assert isinstance(found, Followed)
    assert all(isinstance(value, Fraction) for value in found.values)
    assert found.values[0] > found.values[-1] > 0


def test_a_certificate_says_nothing_of_more_rounds_than_its_distance_allows() -> None:
    """$r(T-1)<s$, or some $P_t$ is left over."""
    one = Setting(
        "sfl-v1", 2, (ETA,), (ETA,), S, Fraction(0), G2=Fraction(4),
        metric="gap", reading="mean", start="decrease", initial_distance=Fraction(1),
    )  # fmt: skip
    known = averaged(one, 4, Fraction(1), Fraction(1)).rounds[-1]
    assert known.far > 0
    most = math.ceil(known.slope / known.far)
    assert known.growth(most + 1) is None
    assert known.nearing(Weights.even(most + 1), Fraction(1)) is None
    more = known.growth(most)
    assert more is not None
    assert more * (known.slope - known.far * (most - 1)) == known.far
    assert known.nearing(Weights.even(most), Fraction(1)) is not None


@given(st.lists(st.fractions(Fraction(1, 9), 1), min_size=1, max_size=9))
@settings(max_examples=60, deadline=None)
def test_weights_of_rounds_are_their_sums(thetas: list[Fraction]) -> None:
    """Rounded away from what they are used for, by little."""
    found, T = Weights.of(thetas)[-1], len(thetas)
    exact = Weights(
        T,
        sum(thetas, Fraction(0)),
        sum((x**2 for x in thetas), Fraction(0)),
        sum(((T - 1 - t) * x**2 for t, x in enumerate(thetas)), Fraction(0)),
        sum((x * sum(thetas[:t]) for t, x in enumerate(thetas)), Fraction(0)),
    )
    assert 0 <= exact.total - found.total < Fraction(1, 2**55)
    for name in ("squares", "left", "earlier"):
        above = getattr(found, name) - getattr(exact, name)
        assert 0 <= above < Fraction(1, 2**50)
    assert Weights.of([Fraction(1)] * T)[-1].total == Weights.even(T).total


def test_means_of_falling_steps_are_those_of_equal_ones_where_these_are_equal() -> None:
    """The formulas of weighted rounds, at weights 1."""
    silent = Setting(
        "sfl-v1", 1, (ETA,), (ETA,), S, Fraction(0), G2=Fraction(1), start="decrease",
        metric="gap", reading="mean", initial_distance=Fraction(1),
    )  # fmt: skip
    known = averaged(silent, 5, Fraction(1), Fraction(1))
    for T, even in enumerate(map(Weights.even, range(1, 6))):
        ones = Weights.of([Fraction(1)] * 5)[T]
        for one in known.rounds[1:]:
            assert one.nearing(ones, Fraction(1)) == one.nearing(even, Fraction(1))
            more, less = (one.rising(over, Fraction(1)) for over in (ones, even))
            assert 0 <= more - less < Fraction(1, 2**40) * more
