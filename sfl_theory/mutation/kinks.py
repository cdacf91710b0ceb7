r"""Moments of a round of SFL-V1 where gradients fall on both sides of the start.

One coordinate, $f'(y)=g-S|y|$ near the start $y=0$: steps to either side meet smaller
gradients, whatever sends clients there, so the mean gradient is biased as much as
smoothness admits. Further away f' bends back, where no step goes. Two clients of weight
1/2 differ by $\pm e$ (heterogeneity), or one client gets noise $\pm s$ in its first
step and none later (both are within Assumptions 3.2 and 3.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.mutation.blocks import sums
from sfl_theory.mutation.federation import Coordinate

ZERO, ONE, HALF = Fraction(0), Fraction(1), Fraction(1, 2)


@dataclass(frozen=True)
class Move:
    r"""One block's round: sums M of gradients and Z of noise, so y' = -eta (M + Z).

    Attributes:
        words: the problem.
        clients: how many, all of the same weight.
        slope: f' at the start.
        M: mean of M.
        MM: mean of M^2.
        MZ: mean of M Z.
        ZZ: mean of Z^2.
        end: mean of y'.
        drift: $\sum_n\frac1N\sum_i\mathbb E(y_n^i)^2$.
        change: $\mathbb Ef(y')-f(0)$.
        noise: $\sigma^2$ of every client.
        spread: $\epsilon^2$.
        curvature: largest |f''| met.
    """

    words: str
    clients: int
    slope: Fraction
    M: Fraction
    MM: Fraction
    MZ: Fraction
    ZZ: Fraction
    end: Fraction
    drift: Fraction
    change: Fraction
    noise: Fraction
    spread: Fraction
    curvature: Fraction


def _value(slope: Fraction, S: Fraction, y: Fraction) -> Fraction:
    """Return f(y) - f(0) for f' = slope - S |y|."""
    return slope * y - S / 2 * y * abs(y)


def tilted(S: Fraction, slope: Fraction, e: Fraction, eta: Fraction, p: int) -> Move:
    r"""Return the round of two clients with $F_n'=f'\pm e$, $0\le g<e$.

    Each stays on its side: $y_1^i=-\frac{g+e}S(1-(1-\eta S)^i)$ and
    $y_2^i=\frac{e-g}S((1+\eta S)^i-1)$.

    Args:
        S: smoothness constant, attained.
        slope: g.
        e: difference of the clients' gradients from f'.
        eta: learning rate.
        p: local steps.

    Returns:
        The moments.
    """
    falls, grows = 1 - eta * S, 1 + eta * S
    first = (slope + e) * (1 - falls**p) / (eta * S)
    second = (slope - e) * (grows**p - 1) / (eta * S)
    M = (first + second) / 2
    end = ((slope + e) * (falls**p - 1) - (slope - e) * (grows**p - 1)) / (2 * S)
    drift = HALF * ((slope + e) / S) ** 2 * _squares(falls, p)
    drift += HALF * ((slope - e) / S) ** 2 * _squares(grows, p)
    return Move(
        f"f' = {_short(slope)} - {S}|y|, F_n' = f' +- {e}",
        2, slope, M, M**2, ZERO, ZERO, end, drift, _value(slope, S, end), ZERO,
        e**2, S,
    )  # fmt: skip


def _short(value: Fraction) -> str:
    """Return a number in words, shortened where it is long."""
    return f"{float(value):.6g}" if value.denominator.bit_length() > 64 else str(value)


def _squares(factor: Fraction, p: int) -> Fraction:
    """Return the sum of (1 - factor^i)^2 over i < p."""
    once = (factor**p - 1) / (factor - 1)
    return p - 2 * once + (factor ** (2 * p) - 1) / (factor**2 - 1)


def kicked(S: Fraction, slope: Fraction, s: Fraction, eta: Fraction, p: int) -> Move:
    r"""Return the round of one client with noise $\pm s$ in the first step only.

    Args:
        S: smoothness constant, attained.
        slope: g.
        s: size of the noise.
        eta: learning rate.
        p: local steps.

    Returns:
        The moments.
    """
    M, MM, MZ, end, drift, change = (ZERO,) * 6
    for Z in (s, -s):
        y, total = ZERO, ZERO
        for i in range(p):
            drift += y**2 / 2
            gradient = slope - S * abs(y)
            total += gradient
            y -= eta * (gradient + (Z if i == 0 else ZERO))
        M, MM, MZ = M + total / 2, MM + total**2 / 2, MZ + total * Z / 2
        end, change = end + y / 2, change + _value(slope, S, y) / 2
    words = f"f' = {slope} - {S}|y|, noise +-{s} in the first step"
    return Move(words, 1, slope, M, MM, MZ, s**2, end, drift, change, s**2, ZERO, S)


def quadratic(c: Fraction, slope: Fraction, s: Fraction, eta: Fraction, p: int) -> Move:
    r"""Return the round of one client with $f'=g+cy$, noise $\pm s$ in every step.

    Args:
        c: curvature.
        slope: g.
        s: size of the noise.
        eta: learning rate.
        p: local steps.

    Returns:
        The moments.
    """
    side = Coordinate(c, (-slope,), (s,), ZERO, p)
    found = sums(side, 0, eta)
    mean, variance = side.moved(0, eta)
    return Move(
        f"f' = {slope} + {c} y, noise +-{s}",
        1, slope, found.gradients, found.gradients**2 + found.variance,
        found.covariance, found.noise, mean, found.drift,
        side.value((ONE,), mean, variance), s**2, ZERO, abs(c),
    )  # fmt: skip


def coupled(
    S: Fraction, slope: Fraction, other: Fraction, eta: Fraction, p: int
) -> Move:
    """Return the round of a block of S y z, where z is the other block; no noise.

    Args:
        S: smoothness constant, attained.
        slope: derivative by y at the start.
        other: derivative by z at the start.
        eta: learning rate.
        p: local steps.

    Returns:
        The moments; the change is that of f as y and z move together.
    """
    y = first = other / S
    z = second = slope / S
    M, drift = ZERO, ZERO
    for _ in range(p):
        drift += (y - first) ** 2 + (z - second) ** 2
        M += S * z
        y, z = y - eta * S * z, z - eta * S * y
    change = S * (y * z - first * second)
    return Move(
        f"f = {S} y z at y = {_short(first)}, z = {_short(second)}",
        1, slope, M, M**2, ZERO, ZERO, y - first, drift, change, ZERO, ZERO, S,
    )  # fmt: skip
