"""Clients with numbers of steps of their own: what is proved holds, what is not fails.

The search is coded from the algorithm alone: FedAvg on random quadratics, expectations
exact. And what of the tables is counted.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sfl_theory.notation import written as w
from sfl_theory.papers.dachille2024.section_5 import LOWER, PAIRS
from sfl_theory.proofs.equal_steps import CONSTANTS

Array = NDArray[np.float64]
GAP, NOISE, HET, CUBE = (float(one) for one in CONSTANTS)


class Member:
    """Clients ``(x - c_n).H_n(x - c_n)/2``, curvatures of both signs up to S = 1."""

    def __init__(self, rng: np.random.Generator) -> None:
        N, d = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        self.a = rng.dirichlet(np.full(N, rng.choice([0.5, 5])))
        self.tau = rng.integers(1, int(rng.choice([2, 4, 12])), size=N, endpoint=True)
        bases = np.linalg.qr(rng.normal(size=(N, d, d)))[0]
        low = float(rng.choice([0, -1]))
        spectra = rng.uniform(low, 1, size=(N, d)) ** 3
        self.H = np.einsum("nij,nj,nkj->nik", bases, spectra, bases)
        self.c = rng.normal(size=(N, d)) * rng.choice([0, 1, 30])
        self.noise = rng.normal(size=(N, d)) * rng.choice([0, 1, 30])
        self.start = rng.normal(size=d) * rng.choice([0, 1, 10])
        self.eta = float(rng.choice([1, 0.1])) / (16 * self.tau.max())
        self.T = int(rng.choice([1, 5, 60]))

    @property
    def w(self) -> Array:
        """The weights of what is lowered."""
        return self.a * self.tau / (self.a * self.tau).sum()

    def moments(self) -> list[tuple[Array, Array]]:
        """Return mean and covariance of the model before every round, and at the end.

        A client's steps are affine; its noise is plus or minus a vector.
        """
        d = self.start.size
        mean, cov, found = self.start, np.zeros((d, d)), []
        keep, add, law = np.zeros((d, d)), np.zeros(d), np.zeros((d, d))
        for a, tau, H, c, z in zip(
            self.a, self.tau, self.H, self.c, self.noise, strict=True
        ):
            one = np.eye(d) - self.eta * H
            powers = [np.linalg.matrix_power(one, p) for p in range(tau + 1)]
            keep = keep + a * powers[tau]
            add = add + a * (c - powers[tau] @ c)
            moved = [a * self.eta * power @ z for power in powers[:tau]]
            law = law + sum(np.outer(u, u) for u in moved)
        for _ in range(self.T):
            found.append((mean, cov))
            mean, cov = keep @ mean + add, keep @ cov @ keep.T + law
        return [*found, (mean, cov)]

    def value(self, mean: Array, cov: Array) -> float:
        """Return the expected value of what is lowered."""
        away = mean - self.c
        square = np.einsum("ni,nj->nij", away, away) + cov
        return float(np.einsum("n,nij,nji->", self.w, self.H, square) / 2)

    def sides(self, weights: Array, *factors: float) -> tuple[float, float]:
        """Return both sides: gradients of the mean with some weights, scaled terms."""
        gap, second, third = factors or (1, 1, 1)
        together, tau = (self.a * self.tau).sum(), self.tau.max()
        whole = np.einsum("n,nij->ij", self.w, self.H)
        each, left, spread = self.moments(), 0.0, 0.0
        seen = np.einsum("n,nij->ij", weights, self.H)
        for mean, cov in each[:-1]:
            slopes = np.einsum("nij,nj->ni", self.H, mean - self.c)
            slope = weights @ slopes
            left += self.eta * float(slope @ slope + np.trace(seen @ cov @ seen))
            apart = slopes - self.w @ slopes
            own = self.H - whole
            random = np.einsum("nij,jk,nik->n", own, cov, own)
            spread = max(spread, float(self.w @ ((apart**2).sum(1) + random)))
        s2 = (self.noise**2).sum(1)
        single = self.eta**2 / together * (self.a**2 * self.tau * s2).sum()
        mixed = HET * tau**2 * spread + CUBE * (self.w * self.tau * s2).sum()
        fall = self.value(*each[0]) - self.value(*each[-1])
        right = gap * GAP / (self.T * together) * fall
        return (
            left / self.T,
            right + second * NOISE * single + third * self.eta**3 * mixed,
        )


def ratio(seed: int, *factors: float, of_f: bool = False) -> float:
    """Return left over right side, of what is lowered or of f."""
    one = Member(np.random.default_rng(seed))
    left, right = one.sides(one.a if of_f else one.w, *factors)
    return left / max(right, 1e-20) if left > 1e-20 else 0.0


@pytest.mark.parametrize("seed", range(60))
def test_no_violation(seed: int) -> None:
    assert ratio(seed) <= 1 + 1e-9


def test_the_search_finds_what_is_false() -> None:
    """Less than half of the gap, a part of the noise, and f for what is lowered."""
    seeds = range(300)
    assert any(ratio(seed, 0.45, 1, 1) > 1 for seed in seeds)
    assert any(ratio(seed, 1, 0.3, 0) > 1 for seed in seeds)
    assert any(ratio(seed, of_f=True) > 1 for seed in seeds)


def test_pairs_in_which_the_lower_cut_is_ahead() -> None:
    """By hand, column by column: IID, then non-IID; "most" is more than half."""
    ahead = (6 + 4 + 6) + (6 + 2 + 5 + 4)
    (part,) = LOWER.parts
    assert len(PAIRS) == 7 * 6
    assert not part.says.right.value - w.form(ahead).value
    assert not part.says.left.value - w.form(7 * 6 // 2 + 1).value
