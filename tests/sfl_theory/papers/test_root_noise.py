"""Theorems 3.6 to 3.9 with noise: searched for violations, coded from the algorithm.

Members are quadratics in a plane, a coordinate for each block, with noise and drawn
clients, or visited one after the other: second moments follow exactly. G^2 is the
largest second moment of a gradient that a run meets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from reading import proved_and_no_less

from sfl_theory import Constants, theorem
from sfl_theory.bound import Bound, total
from sfl_theory.conditions import Algorithm, EqualPeriods
from sfl_theory.lower import lower_bound
from sfl_theory.papers.han2024 import root_noise
from sfl_theory.pulled import Pulled

BOUNDS = {
    number: theorem(number).case("strongly_convex").bound("root_noise")
    for number in ("3.6", "3.7", "3.8")
}
BOUNDS["3.9"] = theorem("3.9").case("strongly_convex").bound("root_noise_drawn")
BOUNDS["free"] = theorem("3.6").case("strongly_convex").bound("root_noise_unbounded")
Array = NDArray[np.float64]


def _turned(matrices: Array) -> Array:
    """Return each matrix of a stack transposed."""
    return np.swapaxes(matrices, -1, -2)


@dataclass(frozen=True)
class Member:
    """``<z, H_n z>/2 - <b_n, z>`` on clients with noise of covariance s_n I/2."""

    H: Array
    b: Array
    noise: Array
    a: Array
    q: Array
    tau: int
    start: Array
    """Seen from the minimum."""

    @staticmethod
    def drawn(rng: np.random.Generator, partial: bool) -> Member:
        """Return a random member; curvatures lie between 1 and S."""
        N, S = int(rng.integers(1, 4)), float(rng.choice([1, 2, 4, 10, 100]))
        angles = rng.uniform(0, np.pi, size=N)
        c, s = np.cos(angles), np.sin(angles)
        turn = np.array([[c, -s], [s, c]]).transpose(2, 0, 1)
        sizes = np.stack([np.ones(N), np.full(N, S)], axis=1)
        scale = 10 ** rng.uniform(-2, 1)
        return Member(
            np.einsum("nij,nj,nkj->nik", turn, sizes, turn),
            rng.normal(size=(N, 2)) * scale * rng.integers(2),
            rng.uniform(size=N) * 10 ** rng.uniform(-2, 2) * rng.integers(2),
            rng.dirichlet(np.ones(N)),
            rng.uniform(0.2, 1, size=N) if partial else np.ones(N),
            int(rng.choice([1, 1, 2, 5])),
            rng.normal(size=2) * 10 ** rng.uniform(-2, 1) * rng.integers(2),
        )

    @property
    def S(self) -> float:
        """The largest curvature."""
        return max(float(np.linalg.eigvalsh(self.H).max()), 1.0)

    def run(self, rounds: int, offset: float) -> tuple[Array, float]:
        """Return the expected gaps before every round and after the last, and G^2.

        At the rates ``4/(tau (offset + t))``.

        Of ``(1, z)`` the second moments M; a local step maps it linearly and adds
        noise.
        """
        H = np.einsum("n,nij->ij", self.a, self.H)
        best = np.linalg.solve(H, self.a @ self.b)
        force = self.b - self.H @ best
        M = np.outer(*2 * [np.array([1.0, *self.start])])
        own = np.concatenate([-force[:, :, None], self.H], axis=2)
        spread = np.zeros((len(self.a), 3, 3))
        spread[:, [1, 2], [1, 2]] = self.noise[:, None] / 2
        gaps, G2 = [], 0.0
        for t in range(rounds + 1):
            gaps.append(float(np.sum(H * M[1:, 1:])) / 2)
            eta = 4 / (self.tau * (offset + t))
            step = np.tile(np.eye(3), (len(self.a), 1, 1))
            step[:, 1:] -= eta * own
            kept, added = np.eye(3), 0 * spread
            for _ in range(self.tau):
                here = own @ (kept @ M @ _turned(kept) + added) @ _turned(own)
                second = np.trace(here, axis1=1, axis2=2) + self.noise
                G2 = max(G2, float(np.max(second)))
                kept = step @ kept
                added = step @ added @ _turned(step) + eta**2 * spread
            moves = kept - np.eye(3)
            whole = np.eye(3) + np.einsum("n,nij->ij", self.a, moves)
            apart = self.a**2 * (1 / self.q - 1)
            new = whole @ M @ whole.T + np.einsum("n,nij->ij", self.a**2, added)
            M = new + np.einsum("n,nij->ij", apart, moves @ M @ _turned(moves) + added)
        return np.array(gaps), G2

    def visited(self, rounds: int, order: list[int]) -> tuple[Array, float]:
        """Return the same for SFL-V2, server steps weighted by a_n, visits in an order.

        Given who is drawn a round maps 1, the client's block and the server's linearly;
        G^2 is the largest second moment given who is.
        """
        N, H = len(self.a), np.einsum("n,nij->ij", self.a, self.H)
        force = self.b - self.H @ np.linalg.solve(H, self.a @ self.b)
        M = np.outer(*2 * [np.array([1.0, *self.start])])
        gaps, G2 = [], 0.0
        whos = np.array([*product((0, 1), repeat=N)])
        chances = np.prod(np.where(whos, self.q, 1 - self.q), axis=1)
        chances, J = chances[chances > 0], (whos / self.q)[chances > 0]
        own = np.zeros((N, 2, N + 2))
        own[:, :, 0], own[:, :, -1] = -force, self.H[:, :, 1]
        own[range(N), :, range(1, N + 1)] = self.H[:, :, 0]
        first = np.zeros((N + 2, 3))
        first[0, 0] = first[-1, 2] = 1
        first[1:-1, 1] = 1
        ends = np.zeros((len(J), 3, N + 2))
        ends[:, 0, 0] = ends[:, 2, -1] = 1
        ends[:, 1, 1:-1] = self.a * J
        moved = np.zeros((N, len(J), N + 2, N + 2))
        spread = np.zeros_like(moved)
        for n, s in enumerate(self.noise):
            parts = np.stack([0 * J[:, n] + 1, self.a[n] * J[:, n]], axis=1)
            moved[n][:, [n + 1, -1]] = parts[:, :, None] * own[n]
            spread[n][:, [n + 1, -1], [n + 1, -1]] = parts**2 * s / 2
        for t in range(rounds + 1):
            gaps.append(float(np.sum(H * M[1:, 1:])) / 2)
            eta = 4 / (self.tau * (8 * self.S - 1 + t))
            steps, noises = np.eye(N + 2) - eta * moved, eta**2 * spread
            kept, added = first, 0 * spread[0]
            for n in order:
                here = kept @ M @ _turned(kept) + added
                second = np.sum(own[n] @ here * own[n], axis=(1, 2))
                G2 = max(G2, float(second.max()) + self.noise[n])
                kept = steps[n] @ kept
                added = steps[n] @ added @ _turned(steps[n]) + noises[n]
            whole = ends @ kept
            whole[:, 1, 1] += 1 - J @ self.a
            each = whole @ M @ _turned(whole) + ends @ added @ _turned(ends)
            M = np.einsum("k,kij->ij", chances, each)
        return np.array(gaps), G2

    def constants(self, gap: float, G2: float) -> Constants:
        """Return what a bound is told; eps^2 is right for equal curvatures."""
        apart = self.b - self.a @ self.b
        return Constants(
            S=self.S, mu=1, sigma2=tuple(self.noise), G2=G2, weights=tuple(self.a),
            tau=self.tau, tau_server=self.tau, participation=tuple(self.q),
            initial_gap=gap, eps2=float(np.max(np.sum(apart**2, axis=1))),
        )  # fmt: skip


@cache
def runs(number: str) -> list[tuple[Array, Constants]]:
    """Return runs of random members: gaps, and constants."""
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        member = Member.drawn(rng, number in ("3.8", "3.9"))
        long, offset = int(rng.choice([3, 30, 150])), 8 * member.S - 1
        if number == "free":
            member, offset = (
                replace(member, H=member.H[:1] + 0 * member.H),
                32 * member.S,
            )
        order = [*np.repeat(np.arange(len(member.a)), member.tau)]
        if number == "3.9":
            long, order = min(long, 30), [*rng.permutation(order)]
        if number in ("3.7", "3.9"):
            gaps, G2 = member.visited(long, order)
        else:
            gaps, G2 = member.run(long, offset)
        found.append((gaps, member.constants(gaps[0], G2)))
    if number == "free":
        return found
    if number == "3.9":
        return found + late_runs()
    for S, tau in ((4.0, 10), (10.0, 2)):
        rates = 4 / (tau * (8 * S - 1 + np.arange(1000.0)))
        apart = Pulled(S, 1.0, 0.5, 0.0, tau, rates, tau * (number == "3.7"))
        found.append((apart.gaps * apart.scale(Constants(G2=1)), plain(S, tau)))
    return found


def late_runs() -> list[tuple[Array, Constants]]:
    """Return long runs of two drawn parabolas, of noise alone and of draws alone."""
    found = []
    for noise, force, q, rounds in ((1.0, 0.0, 0.99, 400), (0.0, 1.0, 0.7, 1500)):
        both, forces = np.stack([np.eye(2)] * 2), np.array([[force], [-force]])
        two = np.ones(2)
        member = Member(
            both, forces * two, noise * two, two / 2, q * two, 1, np.zeros(2)
        )
        gaps, G2 = member.visited(rounds, [0, 1])
        found.append((gaps, member.constants(gaps[0], G2)))
    return found


def plain(S: float, tau: int) -> Constants:
    """Return the constants of two equal clients without noise, mu = G = 1."""
    return Constants(
        S=S, mu=1, sigma2=0, G2=1, weights=(0.5, 0.5), tau=tau, tau_server=tau,
        participation=1, initial_gap=0.5, initial_distance2=1,
    )  # fmt: skip


def largest(number: str, bound: Bound) -> float:
    """Return the largest gap over the bound in the search."""
    worst = 0.0
    for gaps, known in runs(number):
        right = total(bound.formula(known, np.arange(1, len(gaps)))) + 1e-300
        worst = max(worst, float(np.max((gaps[1:] - 1e-12) / right)))
    return worst


def scaled(bound: Bound, term: str, factor: float) -> Bound:
    """Return the bound with one term scaled."""
    parts = dict(bound.parts)
    return replace(bound, parts=parts | {term: parts[term] * factor})


NUMBERS = pytest.mark.parametrize("number", BOUNDS)


@NUMBERS
def test_no_run_of_the_search_exceeds_it(number: str) -> None:
    assert 0.4 < largest(number, BOUNDS[number]) <= 1


@pytest.mark.parametrize(
    ("number", "term", "factor"),
    [
        ("3.6", "initial gap", 0.1),
        ("3.6", "gradient noise", 0.1),
        ("3.6", "client drift", 0.01),
        ("3.7", "gradient noise", 0.1),
        ("3.7", "client drift", 0.01),
        ("free", "initial gap", 0.1),
        ("free", "gradient noise", 0.1),
        ("3.8", "initial gap", 0.1),
        ("3.8", "gradient noise", 0.1),
        ("3.8", "participation", 0.01),
        ("3.9", "gradient noise", 0.1),
        ("3.9", "participation", 0.01),
    ],
)
def test_the_search_finds_what_is_too_small(
    number: str, term: str, factor: float
) -> None:
    """It could have failed: terms are needed, up to constants.

    SFL-V2's first gap is not seen beside its drift.
    """
    assert largest(number, scaled(BOUNDS[number], term, factor)) > 1


def by_hand(number: str, c: Constants, T: int) -> float:
    """Return the bound for two equal clients, typed from the page of sharp bounds."""
    kappa, free = c.S / c.mu, number == "free"
    g = 32 * kappa if free else 8 * kappa - 1
    z, s, R = sqrt(kappa), g + T, (1 - 1 / c.tau) * (2 - 1 / c.tau) * c.G2
    R = {"3.7": 3 * c.G2, "free": 3.75 * c.sigma2 / c.tau + 2.5 * c.eps2}.get(number, R)
    samples = c.sigma2 / (2 * c.tau) + c.G2 / 2 * (1 / c.participation - 1)
    if number == "3.9":
        r = 1 / c.participation - 1
        rho, moments = r / 2, 2 + 7 / 2 * r + 3 / 4 * r**2 + r**2 + r**3 / 8
        samples = c.sigma2 / (2 * c.tau) * (1 + r) + 5 / 4 * rho * c.G2
        R = 3 * (moments + 80 / 7 * rho * (2 + rho)) * c.G2
    return (
        1.5 * z * (g / s) ** 7 * c.initial_gap
        + (2.5 * z - 1 + 36 * z**3 / s) * samples / (c.mu * s)
        + (17 * z**3 + 5 * z + 150 * z**5 / s) * R / (3 * c.mu * s**2)
    )


@NUMBERS
def test_its_values_are_those_typed_by_hand(number: str) -> None:
    known = Constants(
        S=3, mu=0.5, sigma2=2, G2=7, weights=(0.5, 0.5), tau=3, tau_server=3,
        participation=1, initial_gap=5, eps2=3,
    )  # fmt: skip
    if number in ("3.8", "3.9"):
        known = known.with_values(participation=0.25)
    weighted = Algorithm(weighted_server=True)
    found = BOUNDS[number].evaluate(known, [1, 17, 10**4], algorithm=weighted)
    assert found == pytest.approx(
        [by_hand(number, known, T) for T in (1, 17, 10**4)], rel=1e-12
    )


PARTS = {number: line.part for number, line in root_noise.LINES.items()}
PARTS["free"] = root_noise.FREE_LINE.part


@NUMBERS
def test_the_kernel_proves_it_and_no_less(number: str) -> None:
    assert proved_and_no_less(PARTS[number])


@pytest.mark.parametrize(("kappa", "most"), [(1, 1.4), (4, 3.6), (10, 6.3), (100, 24)])
def test_late_noise_is_a_root_above_an_instance(kappa: float, most: float) -> None:
    """One local step, T = 10^4: 5.4 kappa before."""
    known = plain(kappa, 1).with_values(sigma2=0.5)
    case, bound = theorem("3.6").case("strongly_convex"), BOUNDS["3.6"]
    best = case.best(known, [10**4])
    assert best.versions == ("root_noise",)
    instance = lower_bound(case, known, [10**4], bound).values[0]
    assert 1 <= best.values[0] / instance < most


def test_other_periods_are_outside_its_hypotheses() -> None:
    gaps, known = runs("3.6")[0]
    assert all(BOUNDS[number].assumes(EqualPeriods) for number in ("3.6", "3.8"))
    with pytest.raises(ValueError, match="tau_server"):
        BOUNDS["3.6"].evaluate(known.with_values(tau_server=known.tau + 1), [5])
    assert len(gaps) > 1
