"""Bounds of huang2023 that are proved hold.

The search is coded from the algorithm alone: MiniBatch-SFL on random members of the
class, expectations exact.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sfl_theory import Constants, symbols
from sfl_theory.bound import Bound
from sfl_theory.evidence import Part, Proof, parts_of
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.terms import Side, Split, Stepwise, Term, subterms
from sfl_theory.ledger import ledger
from sfl_theory.notation import written as w
from sfl_theory.numeric import reciprocals
from sfl_theory.papers.huang2023 import linear_speedup as own
from sfl_theory.papers.huang2023 import section_3_rates as rates
from sfl_theory.papers.huang2023 import setting as s
from sfl_theory.registry import theorem

Array = NDArray[np.float64]
KEYS = {Side.SERVER: "prop-1", Side.CLIENT: "prop-2", own.GAP: "thm-1"}


def bound(what: own.Measured, name: str = "linear_speedup") -> Bound:
    """Return the library's bound."""
    return theorem(f"huang2023/{KEYS[what]}").case().bound(name)


def test_rates_are_the_librarys() -> None:
    """2/(mu (gamma + i)) of step i, as 2 u/mu with u = 1/(gamma + i)."""
    step = bound(own.GAP).step_size
    assert step is not None
    assert step.per_step
    assert step.same
    rate = own.run.split.client.rate.at(s.j.value)
    assert not rate - (2 / s.mu * own.inverse(s.j)).value
    assert step.client == 2 / (symbols.mu * (symbols.gamma + symbols.t))


def test_a_falling_run_moves_by_the_printed_rate_times_the_papers_gradient() -> None:
    """It steps at rate 1; `sampled` is the paper's gradient of step i = EM t + j."""
    run, steps = rates.all_steps, s.E * s.M
    one = w.natural("one")
    move = w.below(one, 1, run.g(s.n, s.t, s.j + one))
    paper = s.printed_rate(steps * s.t + s.j) * s.sampled(run)
    assert not (paper - move).value
    assert not run.split.client.rate.body - 1


def _terms(part: Part) -> set[Term]:
    says = part.says
    return subterms(says.left.value, says.right.value, *says.hypotheses)


def test_what_is_proved_of_a_step_is_so_for_rates_that_fall_at_every_step() -> None:
    """The paper's are eta^i; one rate for all steps of a round would be narrower."""
    for claim in ledger().claims("huang2023"):
        for name, part in parts_of(claim):
            runs = (x for x in _terms(part) if isinstance(x, Split))
            for run in runs if isinstance(part.by, Proof) else ():
                pace = run.client
                alike = ratio(pace.steps) - 1 and pace.rate.body - 1
                assert isinstance(pace, Stepwise) or not alike, name


def test_reciprocals() -> None:
    """Term by term, also where a series takes over."""
    for first, step, count in ((7.0, 1.0, 10**6), (8e6, 3.0, 9000), (7.0, 50.0, 4096)):
        terms = 1 / (first + step * np.arange(count))
        assert reciprocals(first, step, count) == pytest.approx(terms.sum(), rel=1e-13)
    assert reciprocals(2.0, 1.0, np.arange(3)) == pytest.approx([0, 1 / 2, 5 / 6])


# Searched for violations ------------------------------------------------------------


class Member:
    """Quadratics with one Hessian, so that gradients differ by constants; noise."""

    coupled = True

    def __init__(self, rng: np.random.Generator) -> None:
        N, self.cut = int(rng.integers(1, 5)), int(rng.integers(1, 3))
        d = self.cut + int(rng.integers(1, 3))
        basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
        basis = basis if self.coupled else np.eye(d)
        spectrum = 10 ** rng.uniform(-1, 1, size=d)
        self.H = basis @ np.diag(spectrum) @ basis.T
        self.a = rng.dirichlet(np.full(N, rng.choice([0.3, 3])))
        self.b = rng.normal(size=(N, d)) * rng.choice([0, 1, 30])
        self.b -= self.a @ self.b
        self.noise = rng.normal(size=(N, d)) * rng.choice([0, 1, 30])
        self.start = rng.normal(size=d) * rng.choice([0, 1, 10])
        self.K = int(rng.integers(1, 8))
        self.mu, self.S = float(spectrum.min()), float(spectrum.max())

    def constants(self) -> Constants:
        """Return them, as small as they are."""
        return Constants(
            S=self.S,
            mu=self.mu,
            weights=tuple(self.a),
            sigma2=tuple((self.noise**2).sum(1)),
            eps2=float((self.b**2).sum(1).max()),
            tau=self.K,
            initial_distance2=float(self.start @ self.start),
            initial_gap=float(self.start @ self.H @ self.start) / 2,
        )

    def run(self, rounds: int) -> Array:
        """Return client's and server's squared distance and gap after every round.

        The minimiser is 0. A state is every client's model; its mean and covariance
        follow the steps exactly, noise is plus or minus a vector.
        """
        N, d = self.b.shape
        client = np.arange(d) < self.cut
        gamma = max(8 * self.S / self.mu - 1, self.K)
        average = np.kron(np.ones((N, 1)) * self.a, np.eye(d))
        mask = np.diag(np.tile(client, N).astype(float))
        keep = mask + (np.eye(N * d) - mask) @ average
        slope, tilt = np.kron(np.eye(N), self.H), self.b.ravel()
        mean = np.tile(self.start, N)
        spread = np.zeros((N * d, N * d))
        law = np.zeros_like(spread)
        for n, z in enumerate(self.noise):
            own_ = slice(n * d, (n + 1) * d)
            law[own_, own_] = np.outer(z, z)
        found = []
        for i in range(rounds * self.K):
            rate = 2 / (self.mu * (gamma + i))
            move = np.eye(N * d) - rate * keep @ slope
            mean = move @ mean - rate * keep @ tilt
            spread = move @ spread @ move.T + rate**2 * keep @ law @ keep.T
            if (i + 1) % self.K == 0:
                mean, spread = average @ mean, average @ spread @ average.T
                second = np.outer(mean[:d], mean[:d]) + spread[:d, :d]
                own_ = np.diag(second)
                gap = np.trace(self.H @ second) / 2
                found.append((own_[client].sum(), own_[~client].sum(), gap))
        return np.array(found)


class Kinked:
    """Clients with slopes mu w + (S - mu) max(w, 0) + b_n and no server block."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.mu, self.S = 1.0, float(10 ** rng.uniform(0, 3))
        self.a = rng.dirichlet(np.full(int(rng.integers(2, 5)), 3))
        b = rng.normal(size=self.a.size)
        self.b, self.K = b - self.a @ b, int(rng.choice([2, 5, 40]))
        self.start = float(rng.choice([0, 0, 0.01]) * rng.normal())

    def constants(self) -> Constants:
        """Return them, as small as they are."""
        return Constants(
            S=self.S,
            mu=self.mu,
            weights=tuple(self.a),
            sigma2=(0.0,) * self.a.size,
            eps2=float((self.b**2).max()),
            tau=self.K,
            initial_distance2=self.start**2,
            initial_gap=(self.S if self.start > 0 else self.mu) * self.start**2 / 2,
        )

    def run(self, rounds: int) -> Array:
        """Return client's and server's squared distance and gap after every round."""
        gamma, point = max(8 * self.S - 1, self.K), np.full(self.a.size, self.start)
        found = []
        for i in range(rounds * self.K):
            up = np.maximum(point, 0)
            slope = self.mu * point + (self.S - self.mu) * up + self.b
            point = point - 2 / (gamma + i) * slope
            if (i + 1) % self.K == 0:
                point = np.full(self.a.size, self.a @ point)
                square = point[0] ** 2
                modulus = self.S if point[0] > 0 else self.mu
                found.append((square, 0.0, modulus * square / 2))
        return np.array(found)


def worst(seed: int, **shrunk: float) -> float:
    """Return the largest ratio of what happens to a bound, parts of it multiplied."""
    kind = Kinked if seed % 4 == 0 else Member
    member = kind(np.random.default_rng(seed))
    rounds = np.arange(1, 26)
    columns = dict(
        zip((Side.CLIENT, Side.SERVER, own.GAP), member.run(25).T, strict=True)
    )
    worst_ = 0.0
    for what, name in own.BOUNDS:
        column = columns[what]
        terms = bound(what, name).terms(member.constants(), rounds)
        total = sum(shrunk.get(key.split()[0], 1) * v for key, v in terms.items())
        worst_ = max(worst_, float((column / np.maximum(total, 1e-300)).max()))
    return worst_


@pytest.mark.parametrize("seed", range(48))
def test_no_violation(seed: int) -> None:
    assert worst(seed) <= 1 + 1e-9


@pytest.mark.parametrize("part", ["initial", "gradient", "client"])
def test_the_search_finds_what_is_false(part: str) -> None:
    """A hundredth of any term is too little for some member."""
    assert any(worst(seed, **{part: 0.01}) > 1 for seed in range(60))


class Separate(Member):
    """The same where no gradient depends on the other block's coordinates."""

    coupled = False


def server_alone(
    kind: type[Member], seed: int, start: float = 1, noise: float = 1
) -> float:
    """Return the largest ratio of the server's distance to prop-1/separable."""
    member = kind(np.random.default_rng(seed))
    gamma = max(8 * member.S / member.mu - 1, member.K)
    n, first = member.K * np.arange(1, 26), member.start[member.cut :]
    level = (member.a**2 * (member.noise**2).sum(1)).sum()
    far = (gamma - 1) * (gamma - 2) * (gamma - 3) * (first**2).sum()
    costs = 4 / member.mu**2 * n * (gamma - 2 + (n - 1) / 2) * level
    E = gamma + n
    right = (start * far + noise * costs) / ((E - 1) * (E - 2) * (E - 3))
    return float((member.run(25)[:, 1] / np.maximum(right, 1e-20)).max())


@pytest.mark.parametrize("seed", range(40))
def test_the_server_alone(seed: int) -> None:
    """Where its gradients do not depend on the client's block."""
    assert server_alone(Separate, seed) <= 1 + 1e-9


def test_the_server_alone_can_be_wrong() -> None:
    """With a small part of either term, or where the blocks are coupled."""
    seeds = range(60)
    assert any(server_alone(Separate, seed, start=0.05) > 1 for seed in seeds)
    assert any(server_alone(Separate, seed, noise=0.1) > 1 for seed in seeds)
    assert any(server_alone(Member, seed) > 1 for seed in seeds)
