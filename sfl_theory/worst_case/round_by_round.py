r"""Bounds of long runs from certificates of one round.

The dual of a round's program that starts at $f(x^t)-f^*\le V$ is affine in V: its
certificate says, for every start, with $\lambda$ the multiplier of the start,

.. math:: E f(x^{t+1})-f^*\le\lambda\,(E f(x^t)-f^*)+c.

Rounds follow one another, so such inequalities chain to a bound on $E f(x^T)-f^*$ for
as many rounds as there are. It is no exact worst case, as no single problem is worst in
every round, and it costs one small program for many rounds: a round with a smaller step
$\theta\eta$, $\theta\le1$, on functions $F_n$ is a round with step $\eta$ on
$\theta F_n$, which are $S$-smooth, $\theta\mu$-strongly convex, and meet every bound
that $F_n$ meet. So a certificate at $\eta$ and $\theta_0\mu$ gives, for
$\theta\in[\theta_0,1]$,

.. math:: E f(x^{t+1})-f^*\le\lambda\,(E f(x^t)-f^*)+c/\theta.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sfl_theory.worst_case.certificate import Certificate
from sfl_theory.worst_case.interior import Progress
from sfl_theory.worst_case.setting import ONE, ZERO, Setting
from sfl_theory.worst_case.solve import worst_case

TOLERANCE = 1e-5
SPANS, SMALLEST, MOST = 3, 0.8, 16
"""At least so many spans of rounds; the least theta in one; at most so many."""
BITS = 2**64


class NotCertifiedError(ArithmeticError):
    """A round's program was not certified."""


@dataclass(frozen=True)
class Round:
    r"""What one certificate says on every round of a span.

    Attributes:
        certificate: of a round with the span's largest step.
        first: the span's first round.
        last: the round after it.
        slope: $\lambda$.
        rise: c.
    """

    certificate: Certificate
    first: int
    last: int
    slope: Fraction
    rise: Fraction


@dataclass(frozen=True)
class Followed:
    r"""A bound on $E f(x^t)-f^*$, t = 0..T.

    Attributes:
        values: the bound, exact.
        rounds: the certificates that it is made of.
    """

    values: tuple[Fraction, ...]
    rounds: tuple[Round, ...]


def follow(
    one: Setting,
    steps: Sequence[Fraction],
    ratio: Fraction = ONE,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
) -> Followed:
    """Bound a run's last iterate by chaining certificates of single rounds.

    Args:
        one: a round of strongly convex or convex functions, by the gap, started by it.
        steps: the client side's step sizes of rounds 0..T-1, positive.
        ratio: the server side's over the client's.
        tolerance: relative, of the float solver.
        progress: told what happens.

    Returns:
        The bound after 0..T rounds.

    Raises:
        ValueError: if the steps spread too far, or the setting is of another kind.
        NotCertifiedError: if a round's program could not be certified.
    """
    if (one.metric, one.reading, one.start, one.rounds) != ("gap", "last", "gap", 1):
        raise ValueError("a round that starts by the gap and is read at its end")
    if one.mu is None:
        raise ValueError("without convexity no such round contracts")
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
        if progress:
            progress(f"rounds {first} to {last - 1}")
        found = worst_case(here, tolerance, below=False)
        if found.certificate is None:
            raise NotCertifiedError("; ".join(found.failed))
        known = Round(found.certificate, first, last, *affine(found.certificate))
        rounds.append(known)
        for step in steps[first:last]:
            after = known.slope * values[-1] + known.rise * largest / step
            values.append(Fraction(math.ceil(after * BITS), BITS))
    return Followed(tuple(values), tuple(rounds))


def affine(certificate: Certificate) -> tuple[Fraction, Fraction]:
    """Return slope and rise of a certificate as a function of its start.

    Args:
        certificate: of a round that starts by the gap.

    Returns:
        The multiplier of the start, and what the bound is for a start of 0.
    """
    says = "start-gap"
    slope = sum((by for one, by in certificate.uses if one.kind == says), ZERO)
    return slope, certificate.bound - slope * certificate.setting.initial


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
    for t in range(1, len(steps) + 1):
        done += steps[t - 1]
        here = steps[first : t + 1]
        similar = min(here) >= Fraction(SMALLEST) * max(here)
        if t == len(steps) or not similar or done >= share:
            found.append((first, t))
            first, done = t, ZERO
    if len(found) > MOST:
        raise ValueError(
            f"the step sizes spread too far: {len(found)} certificates, the limit is "
            f"{MOST}"
        )
    return found
