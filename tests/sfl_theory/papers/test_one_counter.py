"""SFL-V1 on one counter of iterations: its bounds by hand, and searched for violations.

The search is coded from Algorithm 1 alone: two periods, random quadratics, exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from numpy.typing import NDArray

from sfl_theory import written as w
from sfl_theory.claims import Part, Says, decide
from sfl_theory.papers.han2024 import one_counter as own
from sfl_theory.symbolic import expression, named

Array = NDArray[np.float64]
PARTS: dict[tuple[str, int], Part] = {
    (claim.id.rpartition("/")[2], place): part
    for claim in own.CLAIMS
    for place, part in enumerate(claim.parts)
}
"""Case and place in the claim; even places have equal periods, but non_convex's."""


@dataclass(frozen=True)
class Known:
    """Constants of a federation, the first distance and gap among them."""

    S: float
    mu: float
    noise: float
    G2: float
    tau: int
    far: float
    high: float

    def strongly_convex(self, T: Array, server: bool) -> dict[str, Array]:
        """Return the terms at rates 4/(mu (gamma + k))."""
        S, mu, K = self.S, self.mu, self.tau
        g, n = max(8 * S / mu, 8, K), K * T
        e = g + n
        if server:
            all_ = (e - 1) * (e - 2) * (e - 3) * (e - 4)
            third = (e - 2) * (e - 3) * (e - 4) - (g - 2) * (g - 3) * (g - 4)
            late = (2 * K - 1) / 6 * (g + n / 2) + 7 / 4 * K * (K - 1)
            return {
                "first": (g - 1) * (g - 2) * (g - 3) * (g - 4) * self.high / all_,
                "noise": 8 * S / (3 * mu**2) * third * self.noise / all_,
                "drift": 32 * S**2 / mu**3 * n * (K - 1) * late * self.G2 / all_,
            }
        all_ = (e - 1) * (e - 2) * (e - 3) * (e - 4) * (e - 5)
        first = (g - 1) * (g - 2) * (g - 3) * (g - 4) * (g - 5)
        fourth = all_ / (e - 1) - first / (g - 1)
        late = (2 * K - 1) / 6 * (g**2 + g * n + n**2 / 3)
        late = late + K * (K - 1) * (g + n / 2 + 9 / 4 * K)
        drift = 160 * S / mu**3 * n * (K - 1) * late * self.G2
        return {
            "first": S / 2 * first * self.far / all_,
            "noise": S / 2 * 4 / mu**2 * fourth * self.noise / all_,
            "drift": S / 2 * drift / all_,
        }

    def at_constant(self, eta: float, T: Array, what: str) -> dict[str, Array]:
        """Return the terms of a mean over iterations."""
        n, K = self.tau * T, self.tau
        level = (K - 1) * (2 * K - 1) / 6 * eta**2 * self.G2 + 0 * T
        return {
            "any rate": {
                "first": self.far / (2 * eta * n),
                "noise": eta / 2 * self.G2 + 0 * T,
                "drift": self.S / 2 * level,
            },
            "divided": {
                "first": self.far / (eta * n),
                "noise": eta * self.noise + 0 * T,
                "drift": 3 / 2 * self.S * level,
            },
            "gradient": {
                "first": 2 * self.high / (eta * n),
                "noise": self.S * eta * self.noise + 0 * T,
                "drift": self.S**2 * level,
            },
        }[what]


# By hand ------------------------------------------------------------------------------

NAMES = dict(zip(
    (own.S, own.mu, own.G2, own.tau, own.T, own.eta, own.gamma, own.NOISE),
    sp.symbols("S mu G2 tau T eta gamma noise"), strict=True,
))  # fmt: skip
FAR, HIGH = sp.symbols("far high")
for kind in own.READINGS:
    for falling in (True, False):
        r = own.run(kind, falling)
        NAMES |= {w.norm2(r.x(0) - own.best): FAR, own.f.gap(r.x(0)): HIGH}
WHAT = {0: "any rate", 1: "any rate", 2: "divided", 3: "divided"}


@pytest.mark.parametrize(("case", "place"), PARTS)
def test_value_by_hand(case: str, place: int) -> None:
    """The statement's right side at numbers is the formula written out here."""
    known = Known(S=6, mu=2, noise=0.3, G2=5, tau=3, far=1.5, high=4)
    values = {one: getattr(known, str(one)) for one in (FAR, HIGH)}
    values |= {NAMES[own.T]: 7, NAMES[own.eta]: 1 / 50, NAMES[own.gamma]: 24}
    for number in (own.S, own.mu, own.G2, own.tau, own.NOISE):
        values[NAMES[number]] = getattr(known, str(NAMES[number]))
    right = expression(PARTS[case, place].says.right, named(NAMES))
    mine = terms(known, case, place, 1 / 50, np.array([7.0]))
    assert float(right.subs(values)) == pytest.approx(sum(mine.values())[0], rel=1e-12)


def terms(
    known: Known, case: str, place: int, eta: float, T: Array
) -> dict[str, Array]:
    """Return the terms of a part."""
    if case == "strongly_convex":
        return known.strongly_convex(T, server=place == 1)
    return known.at_constant(
        eta, T, "gradient" if case == "non_convex" else WHAT[place]
    )


@pytest.mark.parametrize(("case", "place"), PARTS)
def test_a_smaller_right_side_is_not_proved(case: str, place: int) -> None:
    """A proof is one of its own statement only."""
    part = PARTS[case, place]
    assert decide(part, "test").status == "proved"
    less = w.number(Fraction(99, 100)) * part.says.right
    smaller = Part(Says(part.says.left, less, part.says.assumed), part.by)
    assert decide(smaller, "test").status == "unproved"


def candidate(known: Known, case: str, place: int, eta: float, T: Array) -> Array:
    """Return the bound as it was derived by hand, (tau - 1)^2 G^2 for its drift."""
    S, mu, n = known.S, known.mu, known.tau * T
    way = (known.tau - 1) ** 2 * known.G2
    if case == "strongly_convex":
        g = max(8 * S / mu, known.tau)
        late = 16 / 3 * S * known.noise / (mu**2 * (g + n))
        drift = 64 * S**2 * way / (mu**3 * (g + n) ** 2)
        return (g / (g + n)) ** 4 * known.high + late + drift
    if case == "non_convex":
        level = 2 * S * eta * known.noise + S**2 * eta**2 * way
        return 2 * known.high / (eta * n) + level
    return known.far / (2 * eta * n) + eta * known.G2 / 2 + S * eta**2 * way / 2


@pytest.mark.parametrize("seed", range(30))
def test_no_larger_than_what_was_derived_by_hand(seed: int) -> None:
    """With the first gap S/2 times the first distance, the largest that it can be."""
    rng = np.random.default_rng(seed)
    S, far = 10 ** rng.uniform(0, 3), 10 ** rng.uniform(-3, 3)
    noise, G2 = 10 ** rng.uniform(-4, 4, size=2) * rng.integers(0, 2, size=2)
    tau = int(rng.integers(1, 100))
    known = Known(S, 1, noise, G2, tau, far, S * far / 2)
    T = np.unique(np.logspace(0, 5, 25).astype(int)).astype(float)
    eta = rng.uniform(0, 0.5) / S
    for case, place in PARTS:
        if (case, place) not in {("general_convex", 2), ("general_convex", 3)}:
            ours = sum(terms(known, case, place, eta, T).values())
            assert np.all(ours <= candidate(known, case, place, eta, T) * (1 + 1e-9))


# Searched for violations --------------------------------------------------------------


PULLED = 0


class Member:
    """Quadratics, those of one client's sides coupled; noise plus or minus a vector."""

    def __init__(self, seed: int) -> None:
        if seed == PULLED:
            self.pull()
            return
        rng = np.random.default_rng(seed)
        N, self.cut = int(rng.integers(1, 5)), int(rng.integers(1, 3))
        d = self.cut + int(rng.integers(1, 3))
        spectra = 10 ** rng.uniform(-1, 1, size=(1 if rng.random() < 0.5 else N, d))
        bases = np.linalg.qr(rng.normal(size=(N, d, d)))[0]
        self.H = np.einsum("nij,nj,nkj->nik", bases, spectra + np.zeros((N, d)), bases)
        self.mu, self.S = float(spectra.min()), float(spectra.max())
        self.a = rng.dirichlet(np.full(N, rng.choice([0.3, 3, 100])))
        self.b = rng.normal(size=(N, d)) * rng.choice([0, 1, 30])
        self.noise = rng.normal(size=(N, d)) * rng.choice([0, 1, 30])
        self.tau = int(rng.choice([1, 2, 3, 8, 30]))
        self.mean_H = np.einsum("n,nij->ij", self.a, self.H)
        self.best = -np.linalg.solve(self.mean_H, self.a @ self.b)
        self.start = self.best + rng.normal(size=d) * rng.choice([0, 1, 10])
        self.eta = float(rng.choice([0.02, 0.2, 1])) / (4 * self.S)

    def pull(self) -> None:
        """Make a steep and a flat client that are pulled apart in long rounds."""
        self.cut, self.tau, self.mu, self.S, self.eta = 1, 60, 0.1, 1.0, 0.05
        self.a, self.noise = np.array([0.5, 0.5]), np.zeros((2, 2))
        self.H = np.array([np.eye(2), 0.1 * np.eye(2)])
        self.b = np.array([[-1.0, -1], [0.1, 0.1]])
        self.mean_H = self.H.mean(axis=0)
        self.best = self.start = -np.linalg.solve(self.mean_H, self.b.mean(axis=0))

    def run(
        self, rounds: int, period: int, rate: Callable[[int], float]
    ) -> tuple[Array, Known]:
        """Return gap and squared gradient of the mean before every iteration.

        Client blocks are averaged after every tau iterations, server blocks after
        every `period`. A state is every client's model; its mean and covariance follow
        the steps exactly. G is what the stochastic gradients that are met need.
        """
        N, d = self.b.shape
        client = np.tile(np.arange(d) < self.cut, N).astype(float)
        average = np.kron(np.ones((N, 1)) * self.a, np.eye(d))
        slope, law = np.zeros((2, N * d, N * d))
        for n, z in enumerate(self.noise):
            own_ = slice(n * d, (n + 1) * d)
            slope[own_, own_], law[own_, own_] = self.H[n], np.outer(z, z)
        mean, spread, met = np.tile(self.start, N), np.zeros_like(law), 0.0
        found = []
        for step in range(rounds * self.tau + 1):
            whole, over = average @ mean, average @ spread @ average.T
            y = whole[:d] - self.best
            second = np.outer(y, y) + over[:d, :d]
            steep = self.mean_H @ second @ self.mean_H
            found.append((np.sum(self.mean_H * second) / 2, np.trace(steep)))
            if step == rounds * self.tau:
                break
            steep = slope @ mean + self.b.ravel()
            size = steep**2 + np.diag(slope @ spread @ slope.T + law)
            met = max(met, float(size.reshape(N, d).sum(1).max()))
            move = np.eye(N * d) - rate(step) * slope
            mean = mean - rate(step) * steep
            spread = move @ spread @ move.T + rate(step) ** 2 * law
            keep = np.eye(N * d)
            for block, every in ((client, self.tau), (1 - client, period)):
                if (step + 1) % every == 0:
                    keep = block[:, None] * average + (1 - block[:, None]) * keep
            mean, spread = keep @ mean, keep @ spread @ keep.T
        y = self.start - self.best
        noise = float((self.a**2 * (self.noise**2).sum(1)).sum())
        high, far = float(y @ self.mean_H @ y) / 2, float(y @ y)
        known = Known(self.S, self.mu, noise, met, self.tau, far, high)
        return np.array(found), known


def worst(seed: int, case: str, place: int, **shrunk: float) -> float:
    """Return the largest ratio of the left side to the bound, terms multiplied."""
    member, T = Member(seed), np.arange(1.0, 13)
    server = place % 2 == 1 or case == "non_convex"
    period, eta = 1 if server else member.tau, member.eta
    if case == "strongly_convex":
        g = max(8 * member.S / member.mu, 8, member.tau)
        found, known = member.run(12, period, lambda k: 4 / (member.mu * (g + k)))
        left = found[member.tau :: member.tau, 0]
    else:
        eta = 4 * eta if case == "non_convex" else eta
        found, known = member.run(12, period, lambda _: eta)
        column = found[:-1, int(case == "non_convex")]
        means = column.cumsum() / np.arange(1, column.size + 1)
        left = means[member.tau - 1 :: member.tau]
    each = terms(known, case, place, eta, T)
    total = sum(shrunk.get(name, 1) * value for name, value in each.items())
    rounding = 1e-12 * (1 + known.G2 * (1 + 1 / known.mu))
    return float((left / (total + rounding)).max())


@pytest.mark.parametrize("seed", range(24))
def test_no_violation(seed: int) -> None:
    assert max(worst(seed, *key) for key in PARTS) <= 1


@pytest.mark.parametrize(("case", "place"), PARTS)
def test_the_search_finds_what_is_false(case: str, place: int) -> None:
    """A part of any term is too little for some member."""
    for shrunk in ({"first": 0.2}, {"noise": 0.02}, {"drift": 0.002}):
        assert any(worst(seed, case, place, **shrunk) > 1 for seed in range(80)), shrunk
