r"""Bounds of long runs from certificates of one round.

The dual of a round's program that starts at $f(x^t)-f^*\le V$ is affine in V: its
certificate says, for every start, with $\lambda$ the multiplier of the start,

.. math:: E f(x^{t+1})-f^*\le\lambda\,(E f(x^t)-f^*)+c.

Rounds follow one another, so such inequalities chain to a bound on $E f(x^T)-f^*$ for
as many rounds as there are. It is no exact worst case, as no single problem is worst in
every round, and it costs one small program for many rounds: a round with a smaller step
$\theta\eta$, $\theta\le1$, on functions $F_n$ is a round with step $\eta$ on
$\theta F_n$, which are $S$-smooth, $\theta\mu$-strongly convex, and whose gradients,
noise and dissimilarity are within $\theta^2$ times the bounds of those of $F_n$. The
bound is affine in these, so a certificate at $\eta$ and $\theta_0\mu$ gives, for
$\theta\in[\theta_0,1]$, $\theta(E f(x^{t+1})-f^*)\le\lambda\,\theta(E
f(x^t)-f^*)+\theta^2c$:

.. math:: E f(x^{t+1})-f^*\le\lambda\,(E f(x^t)-f^*)+\theta c.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sfl_theory.worst_case.certificate import Certificate, Kind
from sfl_theory.worst_case.setting import ZERO, Setting
from sfl_theory.worst_case.solve import worst_case

TOLERANCE = 1e-5
SPANS, SMALLEST, MOST = 3, Fraction(4, 5), 16
"""At least so many spans of rounds; the least theta in one; at most so many."""
POWERS = (2 / 3, 1)
"""Means over rounds are bounded best near T to these powers."""
BITS = 2**64
TINY = Fraction(1, BITS)


class NotCertifiedError(ArithmeticError):
    """A round's program was not certified."""


@dataclass(frozen=True)
class Weights:
    r"""What means over rounds with the weights $\theta_t\le1$ consist of.

    Attributes:
        rounds: T.
        total: $\sum_t\theta_t$, or less.
        squares: $\sum_t\theta_t^2$, or more, and so for the others.
        left: $\sum_t(T-1-t)\theta_t^2$.
        earlier: $\sum_t\theta_t\sum_{u<t}\theta_u$.
    """

    rounds: int
    total: Fraction
    squares: Fraction
    left: Fraction
    earlier: Fraction

    @classmethod
    def even(cls, rounds: int) -> Weights:
        """Return those of steps that are equal."""
        T, pairs = Fraction(rounds), Fraction(rounds * (rounds - 1), 2)
        return cls(rounds, T, T, pairs, pairs)

    @classmethod
    def of(cls, thetas: Sequence[Fraction]) -> list[Weights]:
        """Return those of the first 1, 2, ... rounds."""
        found, last = [], cls(0, ZERO, ZERO, ZERO, ZERO)
        for theta in thetas:
            last = cls(
                last.rounds + 1,
                _short(last.total + theta, math.floor),
                _short(last.squares + theta**2),
                _short(last.left + last.squares),
                _short(last.earlier + theta * (last.total + last.rounds * TINY)),
            )
            found.append(last)
        return found


@dataclass(frozen=True)
class Round:
    r"""What one certificate says on every round of a span.

    Attributes:
        certificate: of a round with the span's largest step, in units of its own:
            points are divided by a number whose square is ``unit``, functions by
            ``unit``, so that smoothness and step sizes stay.
        unit: a power of two.
        first: the span's first round.
        last: the round after it.
    """

    certificate: Certificate
    unit: Fraction
    first: int
    last: int

    @property
    def slope(self) -> Fraction:
        """The multiplier of the start or of the decrease."""
        decrease = self.certificate.setting.start == "decrease"
        return self._multiplier("decrease" if decrease else "start-gap")

    @property
    def far(self) -> Fraction:
        """The multiplier of the squared distance at the start."""
        return self._multiplier("start-distance")

    @property
    def rise(self) -> Fraction:
        """What the bound is for a start, a decrease and a distance of 0."""
        one = self.certificate.setting
        known = self.slope * one.initial + self.far * (one.initial_distance or ZERO)
        return (self.certificate.bound - known) * self.unit

    def falling(self, over: Weights, gap: Fraction) -> Fraction:
        r"""Bound the mean of $\|\nabla f(x^t)\|^2$ by what f can fall.

        Of $\theta_t\|\nabla f(x^t)\|^2\le s(f(x^t)-f(x^{t+1}))+\theta_tc$:
        $\frac s{\sum\theta_t}(f(x^0)-f^*)+c$.

        Args:
            over: the rounds, weighted.
            gap: $f(x^0)-f^*$, or what it is at most.

        Returns:
            The bound.
        """
        return self.slope * gap / over.total + self.rise

    def rising(self, over: Weights, gap: Fraction) -> Fraction:
        r"""Bound the mean of $f(x^t)-f^*$ if f rises by $\theta_tc/s$ in round t.

        Args:
            over: the rounds, weighted.
            gap: $f(x^0)-f^*$, or what it is at most.

        Returns:
            $f(x^0)-f^*+\frac cs\sum_t\theta_t\sum_{u<t}\theta_u/\sum_t\theta_t$.
        """
        return gap + self.rise / self.slope * over.earlier / over.total

    def growth(self, rounds: int) -> Fraction | None:
        r"""Return $\kappa=r/(s-r(T-1))$, None if r is too large for T rounds.

        Args:
            rounds: T.

        Returns:
            By how much each round's inequality weighs more than the next one's.
        """
        left = self.slope - self.far * (rounds - 1)
        return self.far / left if left > 0 else None

    def nearing(self, over: Weights, distance: Fraction) -> Fraction | None:
        r"""Bound the mean of $f(x^t)-f^*$ by what x comes nearer to $x^*$.

        Of $\theta_t(f(x^t)-f^*)\le s(P_t-P_{t+1})+rP_t+\theta_t^2c$, added up with
        $w_t=1+\kappa(T-1-t)$ so that no $P_t$ is left over:
        $\frac1{\sum\theta_t}(s(1+\kappa T)P_0+c\sum_tw_t\theta_t^2)$.

        Args:
            over: the rounds, weighted.
            distance: $P_0=\|x^0-x^*\|^2$, or what it is at most.

        Returns:
            The bound; None if r is too large.
        """
        more = self.growth(over.rounds)
        if more is None:
            return None
        first = self.slope * (1 + more * over.rounds) * distance
        return (first + self.rise * (over.squares + more * over.left)) / over.total

    def _multiplier(self, kind: Kind) -> Fraction:
        uses = self.certificate.uses
        return sum((by for one, by in uses if one.kind == kind), ZERO)


@dataclass(frozen=True)
class Followed:
    r"""A bound after t = 0..T rounds.

    Attributes:
        values: the bound, exact; the first is what is known at the start.
        rounds: the certificates that it is made of.
        setting: of the first round, in units of the run.
        steps: of the client side, in rounds 0..T-1.
    """

    values: tuple[Fraction, ...]
    rounds: tuple[Round, ...]
    setting: Setting
    steps: tuple[Fraction, ...]


def follow(
    one: Setting, steps: Sequence[Fraction], tolerance: float = TOLERANCE
) -> Followed:
    r"""Bound $E f(x^T)-f^*$ by chaining certificates of single rounds.

    Args:
        one: a round of strongly convex functions, by the gap, started by it; with a
            step of the server that is to the client's as in all rounds.
        steps: the client side's step sizes of rounds 0..T-1, positive.
        tolerance: relative, of the float solver.

    Returns:
        The bound after 0..T rounds.

    Raises:
        ValueError: if the steps spread too far, or the setting is of another kind.
        NotCertifiedError: if a round's program could not be certified.
    """
    if not one.mu or (one.metric, one.reading, one.start) != ("gap", "last", "gap"):
        raise ValueError("a round of strongly convex functions, by the gap")
    ratio = one.server_steps[0] / one.client_steps[0]
    values, rounds = [one.initial], []
    for first, last in spans(steps):
        largest, least = max(steps[first:last]), min(steps[first:last])
        here = replace(
            one,
            client_steps=(largest,),
            server_steps=(ratio * largest,),
            mu=one.mu * least / largest,
            initial=values[-1],
        )
        known = _certified(here, one.G2 or values[-1], first, last, tolerance)
        rounds.append(known)
        slope, rise = known.slope, known.rise / largest
        for step in steps[first:last]:
            values.append(_short(slope * values[-1] + rise * step))
    return Followed(tuple(values), tuple(rounds), one, tuple(steps))


def descended(
    one: Setting,
    rounds: int | Sequence[Fraction],
    gap: Fraction,
    tolerance: float = TOLERANCE,
) -> Followed:
    r"""Bound the mean over t < T of $E\|\nabla f(x^t)\|^2$, weighted by the steps.

    A certificate of a round that decreases f by at most $\delta$ says, for every
    round of its step size, $E\|\nabla f(x^t)\|^2\le s\,E(f(x^t)-f(x^{t+1}))+c$; for
    other rounds and their mean see ``Round.falling``.

    Args:
        one: a round of smooth functions, by the gradient, with a decrease.
        rounds: T, for a constant step; else the client side's steps, positive.
        gap: $f(x^0)-f^*$, or what it is at most.
        tolerance: relative, of the float solver.

    Returns:
        The least bound that the certificates give, for 1..T rounds, after the gap.

    Raises:
        NotCertifiedError: if a round's program could not be certified.
    """
    steps = _steps(one, rounds)
    one, over = _largest(one, steps), weights_of(steps)
    known = [
        _certified(
            replace(one, initial=gap / over[T - 1].total),
            one.G2 or gap,
            0,
            len(steps),
            tolerance,
        )
        for T in _targets(len(steps))
    ]
    values = [min(r.falling(some, gap) for r in known) for some in over]
    given = replace(one, initial=gap)
    return Followed((gap, *values), tuple(known), given, steps)


def averaged(
    one: Setting,
    rounds: int | Sequence[Fraction],
    distance: Fraction,
    gap: Fraction,
    tolerance: float = TOLERANCE,
) -> Followed:
    r"""Bound the mean over t < T of $E f(x^t)-f^*$, weighted by the steps.

    A certificate of a round that decreases $P=\|x-x^*\|^2$ by at most $\delta$ says
    $E f(x^t)-f^*\le s\,(P_t-P_{t+1})+r\,P_t+c$; r keeps the start from being
    arbitrarily far. Also f rises by at most c'/s' a round, by the certificate of
    ``descended``. The bound is the smaller one of ``Round.nearing``, ``Round.rising``.

    Args:
        one: a round of convex functions, by the mean gap, with a decrease.
        rounds: T, for a constant step; else the client side's steps, positive.
        distance: $P_0$, or what it is at most.
        gap: $f(x^0)-f^*$, or what it is at most.
        tolerance: relative, of the float solver.

    Returns:
        The bound for 1..T rounds, after the gap.

    Raises:
        NotCertifiedError: if a round's program could not be certified.
    """
    steps = _steps(one, rounds)
    one, over = _largest(one, steps), weights_of(steps)
    smooth = replace(
        one, mu=None, metric="gradient", reading="average", initial_distance=None
    )
    known = [descended(smooth, steps, gap, tolerance).rounds[-1]]
    for T in _targets(len(steps)):
        near = distance / over[T - 1].total
        here = replace(one, initial=near, initial_distance=distance)
        known.append(_certified(here, distance, 0, len(steps), tolerance))
    values = []
    for some in over:
        others = (known_.nearing(some, distance) for known_ in known[1:])
        values.append(min([known[0].rising(some, gap), *filter(None, others)]))
    given = replace(one, initial=gap, initial_distance=distance)
    return Followed((gap, *values), tuple(known), given, steps)


def weights_of(steps: Sequence[Fraction]) -> list[Weights]:
    """Return the weights of the first 1, 2, ... rounds, by steps over the largest.

    Args:
        steps: of the rounds, positive.

    Returns:
        As many as there are rounds.
    """
    largest = max(steps)
    if min(steps) == largest:
        return [Weights.even(T) for T in range(1, len(steps) + 1)]
    return Weights.of([step / largest for step in steps])


def _steps(one: Setting, rounds: int | Sequence[Fraction]) -> tuple[Fraction, ...]:
    return one.client_steps * rounds if isinstance(rounds, int) else tuple(rounds)


def _largest(one: Setting, steps: Sequence[Fraction]) -> Setting:
    """Return a round with the largest step, the server's at its multiple of it."""
    largest = max(steps)
    ratio = one.server_steps[0] / one.client_steps[0]
    return replace(one, client_steps=(largest,), server_steps=(ratio * largest,))


def _targets(rounds: int) -> list[int]:
    return sorted({max(1, round(rounds**power)) for power in POWERS})


def _certified(
    one: Setting, size: Fraction, first: int, last: int, tolerance: float
) -> Round:
    """Return a certificate in units in which ``size`` is about 1, for the solver.

    Raises:
        NotCertifiedError: if there is none.
    """
    unit = Fraction(2) ** round(math.log2(size))

    def short(value: Fraction | None) -> Fraction | None:
        return None if value is None else value / unit

    here = replace(
        one,
        eps2=short(one.eps2),
        G2=short(one.G2),
        sigma2=one.sigma2 / unit,
        mean_noise=short(one.mean_noise),
        initial=one.initial / unit,
        initial_distance=short(one.initial_distance),
    )
    found = worst_case(here, tolerance, below=False)
    if found.certificate is None:
        raise NotCertifiedError("; ".join(found.failed))
    return Round(found.certificate, unit, first, last)


def _short(value: Fraction, towards: Callable[[Fraction], int] = math.ceil) -> Fraction:
    """Return a number with few digits that is not below, or not above."""
    return Fraction(towards(value * BITS), BITS)


def spans(steps: Sequence[Fraction]) -> list[tuple[int, int]]:
    """Split rounds into spans of about equal progress and of similar step sizes.

    Args:
        steps: of the rounds, positive.

    Returns:
        (first, the one after the last) of every span, in order.

    Raises:
        ValueError: if there would be too many.
    """
    share = sum(steps) / SPANS
    found: list[tuple[int, int]] = []
    first, done = 0, ZERO
    least = largest = steps[0]
    for t, step in enumerate(steps):
        below, above = min(least, step), max(largest, step)
        if t > first and (below < SMALLEST * above or done >= share):
            found.append((first, t))
            first, done, below, above = t, ZERO, step, step
        least, largest, done = below, above, done + step
    found.append((first, len(steps)))
    if len(found) > MOST:
        raise ValueError(
            f"the step sizes spread too far: {len(found)} certificates, the limit is "
            f"{MOST}"
        )
    return found
