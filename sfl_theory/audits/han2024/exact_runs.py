r"""Runs of SFL on functions of curvature 1, followed exactly.

Every function here is a sum over coordinates of $\varphi(x_j-b_j)$ with
$\varphi(u)=u^2/2$, or with the Huber function that agrees with it for $|u|\le1$ and
continues with slope $\pm1$: convex, 1-smooth, with gradient at most 1 everywhere. The
client block starts at its minimiser and stays there, so the runs are those of one
server coordinate, with one server step per round and participant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

from sfl_theory.evidence.interval import Interval

Row = tuple[Fraction, Fraction, Fraction]


def descent(
    square: Fraction, rate: Callable[[int], Fraction], q: Fraction = Fraction(1)
) -> Iterator[Interval]:
    r"""Yield $\mathbb E(x_s^t)^2$ of one client's descent on $x_s^2/2$, t = 0, 1, ...

    One step per round, taken with probability q and length $\eta/q$ (App. C.2), gives
    $\mathbb E x'^2=(1-q+q(1-\eta/q)^2)\,\mathbb E x^2$.

    Args:
        square: $(x_s^0)^2$.
        rate: learning rate of a round.
        q: probability of taking part.

    Yields:
        Enclosures.
    """
    value, t = Interval.of(square), 0
    while True:
        yield value
        eta = rate(t)
        value = (value * (1 - q + q * (1 - eta / q) ** 2)).rounded()
        t += 1


@dataclass(frozen=True)
class Moments:
    r"""Mean and mean square of the server coordinate.

    Attributes:
        mean: $\mathbb E\,x_s$.
        square: $\mathbb E\,x_s^2$.
    """

    mean: Interval
    square: Interval

    def about(self, centre: Fraction) -> Interval:
        r"""Return $\mathbb E(x_s-c)^2$, which is also at least $(\mathbb E x_s-c)^2$.

        The first enclosure is the expansion, the second Jensen's inequality.
        """
        expanded = self.square - self.mean * (2 * centre) + centre**2
        jensen = (self.mean - centre).squared()
        return Interval(max(expanded.low, jensen.low), expanded.high)


def sequential_server(
    start: Fraction,
    centres: tuple[Fraction, ...],
    rate: Callable[[int], Fraction],
    q: Fraction = Fraction(1),
) -> Iterator[Moments]:
    r"""Yield the moments of SFL-V2's server coordinate before every round.

    One visit to client n, which takes part with probability q, is
    $x_s\leftarrow x_s-\frac{\eta}{q}I_n(x_s-b_n)$ with $I_n\sim$ Bernoulli(q); the
    order of visits is uniform over all orders and independent of the rest. Mean and
    mean square obey a linear recursion, which is composed over the visits and averaged
    over the orders.

    Args:
        start: $x_s^0$.
        centres: $b_n$.
        rate: learning rate of a round.
        q: probability of taking part, the same for all clients.

    Yields:
        Enclosures of the moments of $x_s^t$, t = 0, 1, ...
    """
    moments, t = Moments(Interval.of(start), Interval.of(start**2)), 0
    orders = tuple(permutations(centres))
    eta = rate(0)
    first, second = _round_rows(eta, orders, q)
    while True:
        yield moments
        if rate(t) != eta:
            eta = rate(t)
            first, second = _round_rows(eta, orders, q)
        known = (Interval.of(1), moments.mean, moments.square)
        moments = Moments(_combine(first, known), _combine(second, known))
        t += 1


def _round_rows(
    eta: Fraction, orders: tuple[tuple[Fraction, ...], ...], q: Fraction
) -> tuple[Row, Row]:
    """Return mean and mean square after a round as combinations of (1, m, s)."""
    zero, one = Fraction(0), Fraction(1)
    sums = [[zero, zero, zero], [zero, zero, zero]]
    r = eta / q
    for order in orders:
        mean: Row = (zero, one, zero)
        square: Row = (zero, zero, one)
        for b in order:
            # E[I r] = eta and E[(1 - I r)^2] = 1 - q + q (1 - r)^2
            stay, pull, push = 1 - q + q * (1 - r) ** 2, 2 * eta * (1 - r) * b, q * r**2
            square = _row(square, stay, mean, pull, push * b**2)
            mean = _row(mean, 1 - eta, mean, zero, eta * b)
        for total, row in zip(sums, (mean, square), strict=True):
            for k in range(3):
                total[k] += row[k] / len(orders)
    (a, b0, c), (d, e, f) = sums
    return (a, b0, c), (d, e, f)


def _row(u: Row, x: Fraction, v: Row, y: Fraction, constant: Fraction) -> Row:
    return (
        x * u[0] + y * v[0] + constant,
        x * u[1] + y * v[1],
        x * u[2] + y * v[2],
    )


def _combine(row: Row, known: tuple[Interval, Interval, Interval]) -> Interval:
    low, high = Fraction(0), Fraction(0)
    for c, value in zip(row, known, strict=True):
        if c:
            low += c * (value.low if c > 0 else value.high)
            high += c * (value.high if c > 0 else value.low)
    return Interval(low, high).rounded()
