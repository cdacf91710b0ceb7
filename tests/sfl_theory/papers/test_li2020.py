"""Theorem 1 of li2020 and a sharper one: values by hand, false variants, a search.

The search is coded from the algorithm alone: FedAvg on random quadratics, exact.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from sfl_theory import Constants
from sfl_theory.bound import Bound
from sfl_theory.evidence import Part, Proof, Says, decide
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form
from sfl_theory.papers.li2020 import linear_speedup, section_3
from sfl_theory.papers.li2020 import setting as s
from sfl_theory.papers.li2020.appendix_a import LEMMA_2, LEMMA_3
from sfl_theory.registry import theorem

Array = NDArray[np.float64]
BOUND = theorem("li2020/thm-1").case().bound()
SHARPER = theorem("li2020/thm-1").case().bound("linear_speedup")
UNBOUNDED = theorem("li2020/thm-1").case().bound("no_bounded_gradients")
THEOREMS = (section_3.THEOREM_1, *linear_speedup.CLAIMS)
SMALL = Constants(
    S=2,
    mu=1,
    sigma2=(1, 3),
    weights=(0.5, 0.5),
    tau=2,
    G2=4,
    Gamma=0.25,
    initial_distance2=3,
)


def test_value_by_hand() -> None:
    """B = 1 + 3 + 32, kappa = 2, gamma = 16, after 6 steps."""
    value = BOUND.evaluate(SMALL, [3])[0]
    assert value == pytest.approx(2 / (16 + 6) * (2 * (1 + 3 + 32) + 16 / 2 * 3))


def test_sharper_value_by_hand() -> None:
    """Gamma = 16, n = 6, e = 22, sum p^2 sigma^2 = 1, slow = 3 + 9/17."""
    value = SHARPER.terms(SMALL, [3])
    over = 22 * 21 * 20
    assert {name: float(at[0]) * over for name, at in value.items()} == pytest.approx({
        "initial distance": 16 * 15 * 14 * 3,
        "gradient noise": 4 * 6 * (15 + 5 / 2),
        "client drift": 2 * 2 * 6 * (3 + 9 / 17) * 4,
    })


def test_value_by_hand_without_bounded_gradients() -> None:
    """As above, with 20/3 (1 + 3 eps2) for the drift."""
    value = UNBOUNDED.terms(SMALL.with_values(G2=None, eps2=5), [3])
    over = 22 * 21 * 20
    assert float(value["client drift"][0]) * over == pytest.approx(
        2 * 2 * 6 * 20 / 3 * (1 + 3 * 5)
    )
    for name in ("initial distance", "gradient noise"):
        assert value[name] == pytest.approx(SHARPER.terms(SMALL, [3])[name])


@pytest.mark.parametrize("seed", range(40))
def test_sharper_is_never_larger_than_printed(seed: int) -> None:
    """Gamma = 0, which is best for the printed bound."""
    rng = np.random.default_rng(seed)
    sizes = 10 ** rng.uniform(-3, 3, size=3) * rng.integers(0, 2, size=3)
    known = Constants(
        S=float(10 ** rng.uniform(0, 4)),
        mu=1,
        sigma2=float(sizes[0]),
        weights=(0.5, 0.5),
        tau=int(rng.integers(1, 200)),
        G2=float(sizes[1]),
        Gamma=0,
        initial_distance2=float(sizes[2]),
    )
    rounds = np.unique(np.logspace(0, 6, 30).astype(int))
    ours, printed = (b.evaluate(known, rounds) for b in (SHARPER, BOUND))
    assert np.all(ours <= printed * (1 + 1e-12))


def test_many_local_steps_set_gamma() -> None:
    """With E = 40 > 8 kappa = 16 the bound at w_1 has gamma = 40."""
    value = BOUND.evaluate(SMALL.with_values(tau=40), [0])[0]
    B = 1 + 3 + 8 * 39**2 * 4
    assert value == pytest.approx(2 / 40 * (2 * B + 40 / 2 * 3))


def test_rate_of_the_first_steps() -> None:
    """Step t = 0 is the paper's step 1; rates count steps."""
    assert BOUND.step_size is not None
    schedule = BOUND.step_size.schedule(SMALL)
    assert schedule.per_step
    assert schedule.client(np.arange(3.0)) == pytest.approx([2 / 17, 2 / 18, 2 / 19])


def with_right(part: Part, right: Form) -> Part:
    """Return the part with another right side and the same evidence."""
    says = part.says
    return Part(Says(says.left, right, says.assumed), part.by)


@pytest.mark.parametrize("factor", [Fraction(99, 100), Fraction(101, 100)])
def test_another_constant_is_not_proved(factor: Fraction) -> None:
    """A proof is one of its own statement only."""
    for claim in (*THEOREMS, LEMMA_2, LEMMA_3):
        part = claim.parts[-1]
        assert decide(part, "test").status == "proved"
        changed = with_right(part, w.number(factor) * part.says.right)
        assert decide(changed, "test").status == "unproved"


@pytest.mark.parametrize("part", [one for c in THEOREMS for one in c.parts])
def test_every_assumption_is_used(part: Part) -> None:
    """All but that gamma is one of the two numbers that it is the larger one of.

    Where D is followed from step to step, E may be any number.
    """
    found = decide(part, "test").claim
    assert found is not None
    printed = part in section_3.THEOREM_1.parts
    _, long, either = s.GAMMA if printed else linear_speedup.LARGER
    unused = {either.value}
    if part in linear_speedup.NO_BOUNDED_GRADIENTS.parts:
        unused.add(long.value)
    assert found.hypotheses - found.used == unused


def test_heterogeneity_of_the_model() -> None:
    """Gamma is 3/64: minima -1/64 and -9/64 with weights 3/4 and 1/4, F* = 0."""
    (part,) = section_3.GAMMA_SIGN.parts
    assert isinstance(part.by, Proof)
    found = decide(part, "test").claim
    assert found is not None
    assert found.sides == (Fraction(0), Fraction(3, 64))


# Searched for violations ------------------------------------------------------------


class Member:
    """Quadratics of any Hessians, or of one, noise plus or minus a vector."""

    def __init__(self, rng: np.random.Generator, *, alike: bool = False) -> None:
        N, d = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        kinds = 1 if alike or rng.random() < 0.5 else N
        spectra = 10 ** rng.uniform(-1, 1, size=(kinds, d))
        bases = np.linalg.qr(rng.normal(size=(N, d, d)))[0]
        bases = bases[[0] * N] if alike else bases
        self.H = np.einsum("nij,nj,nkj->nik", bases, spectra + np.zeros((N, d)), bases)
        self.mu, self.S = float(spectra.min()), float(spectra.max())
        self.a = rng.dirichlet(np.full(N, rng.choice([0.3, 3, 100])))
        self.b = rng.normal(size=(N, d)) * rng.choice([0, 1, 30])
        self.noise = rng.normal(size=(N, d)) * rng.choice([0, 1, 30])
        self.K = int(rng.choice([1, 2, 3, 8, 30]))
        self.mean_H = np.einsum("n,nij->ij", self.a, self.H)
        self.best = -np.linalg.solve(self.mean_H, self.a @ self.b)
        self.start = self.best + rng.normal(size=d) * rng.choice([0, 1, 10])

    def run(self, rounds: int) -> tuple[Array, Constants]:
        """Return the gap after every round, and constants as small as they are.

        A state is every client's model; its mean and covariance follow the steps
        exactly. G is what the stochastic gradients that are met need.
        """
        N, d = self.b.shape
        gamma = max(8 * self.S / self.mu, self.K)
        average = np.kron(np.ones((N, 1)) * self.a, np.eye(d))
        slope, law = np.zeros((2, N * d, N * d))
        for n, z in enumerate(self.noise):
            own = slice(n * d, (n + 1) * d)
            slope[own, own], law[own, own] = self.H[n], np.outer(z, z)
        mean, spread, met = np.tile(self.start, N), np.zeros_like(law), [0.0]
        gaps = []
        for step in range(1, rounds * self.K + 1):
            steep = slope @ mean + self.b.ravel()
            second = steep**2 + np.diag(slope @ spread @ slope.T + law)
            met.append(second.reshape(N, d).sum(1).max())
            rate = 2 / (self.mu * (gamma + step))
            move = np.eye(N * d) - rate * slope
            mean, spread = mean - rate * steep, move @ spread @ move.T + rate**2 * law
            if step % self.K == 0:
                mean, spread = average @ mean, average @ spread @ average.T
                y = mean[:d] - self.best
                gaps.append(np.sum(self.mean_H * (np.outer(y, y) + spread[:d, :d])) / 2)
        y, apart = self.start - self.best, self.b - self.a @ self.b
        return np.array(gaps), Constants(
            S=self.S,
            mu=self.mu,
            weights=tuple(self.a),
            sigma2=tuple((self.noise**2).sum(1)),
            tau=self.K,
            G2=max(met),
            eps2=float((apart**2).sum(1).max()),
            initial_distance2=float(y @ y),
        )


class Kinked:
    """Clients with slopes w + (S - 1) max(w, 0) + b_n in one dimension, no noise."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.S = float(10 ** rng.uniform(0, 3))
        self.a = rng.dirichlet(np.full(int(rng.integers(2, 5)), 3))
        b = rng.normal(size=self.a.size)
        self.b, self.K = b - self.a @ b, int(rng.choice([2, 5, 40]))
        self.start = float(rng.choice([0, 0, 0.01]) * rng.normal())

    def run(self, rounds: int) -> tuple[Array, Constants]:
        """Return the gap after every round, and constants as small as they are."""
        gamma, w_ = max(8 * self.S, self.K), np.full(self.a.size, self.start)
        gaps, met = [], 0.0
        for step in range(1, rounds * self.K + 1):
            slope = w_ + (self.S - 1) * np.maximum(w_, 0) + self.b
            met = max(met, float((slope**2).max()))
            w_ = w_ - 2 / (gamma + step) * slope
            if step % self.K == 0:
                w_ = np.full(self.a.size, self.a @ w_)
                gaps.append((self.S if w_[0] > 0 else 1) * w_[0] ** 2 / 2)
        return np.array(gaps), Constants(
            S=self.S,
            mu=1,
            weights=tuple(self.a),
            sigma2=(0.0,) * self.a.size,
            tau=self.K,
            G2=met,
            eps2=float((self.b**2).max()),
            initial_distance2=self.start**2,
        )


def worst(bound: Bound, seed: int, **shrunk: float) -> float:
    """Return the largest ratio of the gap to the bound, parts of it multiplied."""
    rng = np.random.default_rng(seed)
    member = Kinked(rng) if seed % 4 == 0 else Member(rng, alike=bound is UNBOUNDED)
    gaps, known = member.run(25)
    terms = bound.terms(known, np.arange(1, 26))
    total = sum(shrunk.get(key.split()[0], 1) * v for key, v in terms.items())
    rounding = 1e-12 * (1 + known.G2 / known.mu)
    return float((gaps / (total + rounding)).max())


@pytest.mark.parametrize("bound", [SHARPER, UNBOUNDED], ids=["bounded", "unbounded"])
@pytest.mark.parametrize("seed", range(60))
def test_no_violation(seed: int, bound: Bound) -> None:
    assert worst(bound, seed) <= 1


@pytest.mark.parametrize("bound", [SHARPER, UNBOUNDED], ids=["bounded", "unbounded"])
@pytest.mark.parametrize(
    ("part", "share"), [("initial", 0.5), ("gradient", 0.5), ("client", 0.001)]
)
def test_the_search_finds_what_is_false(part: str, share: float, bound: Bound) -> None:
    """A part of any term is too little for some member."""
    assert any(worst(bound, seed, **{part: share}) > 1 for seed in range(200))
