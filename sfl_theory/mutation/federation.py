r"""Exact moments of a round of local SGD on quadratics, for any number of steps.

Client n has $F_n(u)=\frac c2u^2-b_nu$ in one coordinate and gradient noise $\pm s_n$,
drawn afresh at every step. Its update over $\tau$ steps is linear in the draws, so mean
and variance follow without enumeration.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

ZERO = Fraction(0)


@dataclass(frozen=True)
class Coordinate:
    """One coordinate of a federation of quadratics.

    Attributes:
        c: curvature, the same for every client.
        b: slope at 0, per client, with the sign of -F.
        s: size of the noise, per client.
        start: where the round starts.
        steps: local steps.
    """

    c: Fraction
    b: tuple[Fraction, ...]
    s: tuple[Fraction, ...]
    start: Fraction
    steps: int

    def slope(self, weights: tuple[Fraction, ...]) -> Fraction:
        """Return the derivative of the mean function at the start."""
        mean = sum((a * b for a, b in zip(weights, self.b, strict=True)), ZERO)
        return self.c * self.start - mean

    def value(
        self, weights: tuple[Fraction, ...], mean: Fraction, variance: Fraction
    ) -> Fraction:
        """Return the mean function's expectation at a random point."""
        b = sum((a * b for a, b in zip(weights, self.b, strict=True)), ZERO)
        return self.c / 2 * (mean**2 + variance) - b * mean

    def moved(self, n: int, eta: Fraction) -> tuple[Fraction, Fraction]:
        """Return mean and variance of a client's update."""
        x, variance = self.start, ZERO
        for _ in range(self.steps):
            x -= eta * (self.c * x - self.b[n])
            variance = variance * (1 - eta * self.c) ** 2 + (eta * self.s[n]) ** 2
        return x - self.start, variance

    def averaged(
        self, weights: tuple[Fraction, ...], eta: Fraction, q: Fraction
    ) -> tuple[Fraction, Fraction, Fraction]:
        r"""Return mean and variance of the mean model, and the part due to who came.

        Updates are weighted by $a_nI_n/q$; the last number is the variance minus that
        for $q=1$.
        """
        mean, variance, absent = self.start, ZERO, ZERO
        for n, a in enumerate(weights):
            m, v = self.moved(n, eta)
            mean += a * m
            variance += a**2 * v
            absent += a**2 * (1 - q) / q * (m**2 + v)
        return mean, variance + absent, absent

    def visited(
        self, weights: tuple[Fraction, ...], eta: Fraction
    ) -> tuple[Fraction, Fraction]:
        """Return mean and variance after a shared server's weighted visits."""
        mean, variance = self.start, ZERO
        for _ in range(self.steps):
            for a, b, s in zip(weights, self.b, self.s, strict=True):
                mean -= eta * a * (self.c * mean - b)
                variance = variance * (1 - eta * a * self.c) ** 2 + (eta * a * s) ** 2
        return mean, variance
