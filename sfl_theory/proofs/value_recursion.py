"""From one round to T rounds, strongly convex, under bounded gradients.

What a round needs: ``f(x') <= f(x) - alpha/2 ||grad f||^2 + S/2 c1 alpha^2 G2 +
S^2/2 cd alpha^3 G2`` with numbers c1 and cd of the algorithm. With
``alpha = 4/(mu (gamma + t))``, ``u = 1/(gamma + t)``, ``K = S G2/mu^2`` it says that
the gap falls by ``phi' <= (1 - 4u) phi + 8 c1 K u^2 + 4 cd (gamma + 1) K u^3``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.hypotheses import Holds, Hypothesis
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import convex_paces, notation, strongly_convex, weighted_rounds
from sfl_theory.proofs.convex_paces import Paces
from sfl_theory.proofs.local_steps import G2, Round, now, t
from sfl_theory.proofs.notation import combine, nat, of_round
from sfl_theory.proofs.strongly_convex import BEST, S, gamma, gap, gap_by_distance, mu
from sfl_theory.proofs.weighted_rounds import Weighted

K = S * G2 / mu**2
"""The unit of the bounds, ``S G2/mu^2``."""


def late(at: Ratio) -> Ratio:
    """Return ``1/(gamma + t)``."""
    return 1 / (gamma + at)


@dataclass(frozen=True)
class Recursion:
    """A round's descent at the strongly convex rates, and what follows from it.

    Attributes:
        run: with these rates.
        round: the descent of its round t.
        c1: of the second moment of the move.
        cd: of the drift.
    """

    run: k.Split
    round: Theorem
    c1: Ratio
    cd: Ratio

    def gap(self, at: Ratio) -> k.Lin:
        """Return ``f(x(at)) - f*``."""
        return gap(Round(self.run), at)

    def one_round(self) -> Theorem:
        """Return the recursion."""
        u, alpha = late(now), 4 / mu * late(now)
        noise = 8 * self.c1 * K * u**2
        drift = 4 * self.cd * (gamma + 1) * K * u**3
        right = self.gap(now) * (1 - 4 * u) + k.constant(noise + drift)
        down = strongly_convex.gradient_domination(Round(self.run).x)
        return combine(self.round, (down, alpha / 2), target=right - self.gap(now + 1))

    def bound(self, at: Ratio) -> k.Lin:
        """Return what is left of the first gap, of the noise and of the drift."""
        u = late(at)
        noise = Fraction(8, 3) * self.c1 * K * u
        drift = 2 * self.cd * (gamma + 1) * K * u**2
        return self.gap(ratio(0)) * (gamma * u) ** 4 + k.constant(noise + drift)

    def rate(self) -> Theorem:
        """Return that the gap is at most `bound` after every round, by induction."""
        zero, u = ratio(0), late(now)
        lowest = rules.lowest(k.MEAN, k.iterate(self.run, 0))
        claim = self.bound(now) - self.gap(now)
        keep = 1 - 4 * u
        spare = (gamma * late(now + 1)) ** 4 - keep * (gamma * u) ** 4
        step = combine(
            self.one_round(),
            (rules.assume(claim), keep),
            (lowest, spare),
            target=self.bound(now + 1) - self.gap(now + 1),
        )
        base = combine(target=self.bound(zero) - self.gap(zero))
        return rules.induct(base, step, t, claim)

    def by_distance(self, right: k.Lin, at: Ratio) -> Theorem:
        """Return that the gap after `at` rounds is below a right side.

        Args:
            right: numbers and ``S (gamma + 1)/2 ||x^0 - x*||^2/(gamma + at)``, each
                larger than its counterpart in `bound`.
            at: the round.
        """
        start, keep = k.iterate(self.run, 0), (gamma * late(at)) ** 4
        spare = S / 2 * ((gamma + 1) * late(at) - keep)
        rate = rules.instantiate(self.rate(), ((t, at),), ())
        return combine(
            rate,
            (gap_by_distance(start), keep),
            (start - BEST, spare),
            target=right - self.gap(at),
        )

    def level(self, level: Ratio, first: Theorem) -> Theorem:
        """Return ``phi_t <= L K/(gamma + t)`` for a level L, by induction.

        ``3 L >= 8 c1 + 4 cd (gamma + 1)/gamma`` pays for a round, and the first gap is
        at most ``4 (1 + 1/gamma) K/(gamma + 1) = 4 K/gamma``.

        Args:
            level: L.
            first: ``||grad f(x^0)||^2 <= (1 + 1/gamma) G2``, or without 1/gamma.
        """
        zero, u = ratio(0), late(now)

        def claim(at: Ratio) -> k.Lin:
            return k.constant(level * K * late(at)) - self.gap(at)

        step = combine(
            self.one_round(),
            (rules.assume(claim(now)), 1 - 4 * u),
            target=claim(now + 1),
        )
        down = strongly_convex.gradient_domination(k.iterate(self.run, 0))
        base = combine((down, 1 / (2 * mu)), (first, 1 / (2 * mu)), target=claim(zero))
        return rules.induct(base, step, t, claim(now))

    def level_at_end(self, level: Ratio, at: Ratio) -> Theorem:
        """Return the same after `at` rounds, gradients bounded at x^0 and there.

        Where ``gamma + at <= L (gamma + 1)/4``, ``phi <= G2/(2 mu)`` is enough; else
        ``gamma + 1`` is small beside ``gamma + at``, and so is the drift in `bound`.
        """
        u, edge = late(at), gamma + at - level * (gamma + 1) / 4
        target = k.constant(level * K * u) - self.gap(at)

        def first(here: Ratio, factor: Ratio) -> list[tuple[Theorem, Number]]:
            x = k.iterate(self.run, here)
            bounded = rules.assume(k.constant(G2) - k.norm2(k.gradient(k.MEAN, x)))
            each = factor / (2 * mu)
            return [(strongly_convex.gradient_domination(x), each), (bounded, each)]

        near, far = (rules.assume(k.constant(sign * edge)) for sign in (-1, 1))
        below = combine(
            *first(at, ratio(1)), (near, 4 * K * u / (gamma + 1)), target=target
        )
        above = combine(
            rules.instantiate(self.rate(), ((t, at),), ()),
            *first(ratio(0), (gamma * u) ** 4),
            (far, 8 * self.cd / level * K * u**2),
            target=target,
        )
        return rules.cases(above, below, edge)


ALPHA = k.Rate(4 / (mu * (gamma + of_round())))
"""The move of a round, ``4/(mu (gamma + t))``."""


def fast(one: Theorem, family: str, over: Number = 1) -> Theorem:
    """Return a theorem for S = mu + s and the rates `ALPHA` over a number of steps."""
    values = ((k.RoundFamily(family, Sort.POSITIVE), k.Rate(ALPHA.body / ratio(over))),)
    return rules.instantiate(strongly_convex.with_smoothness(one), values, ())


@cache
def two_paces(p: Paces) -> Recursion:
    """Return SFL-V1's, each side's rate divided by its own number of steps."""
    down = fast(convex_paces.descent(p), "alpha")
    return Recursion(p.at(ALPHA), down, p.c1, p.cd)


def equal_steps(theorem: Theorem) -> Theorem:
    """Return a theorem for d = 0."""
    return rules.instantiate(theorem, ((nat("d"), ratio(0)),), ())


@cache
def equal_paces(p: Paces) -> Recursion:
    """Return SFL-V1's for equal numbers of steps, d = 0."""
    run = notation.equal_paces(
        k.Kind.V1, p.low, k.Rate(ALPHA.body / p.low), p.run.participants
    )
    none: k.Substitution = {nat("d"): ratio(0)}
    down = equal_steps(two_paces(p).round)
    return Recursion(run, down, k.number_at(p.c1, none), k.number_at(p.cd, none))


def first_gradient(p: Paces) -> Theorem:
    """Return ``||grad f(x^0)||^2 <= (1 + 1/gamma) G2``."""
    one = fast(convex_paces.first_gradient(p, 1 / gamma), "alpha")
    return rules.instantiate(one, ((t, ratio(0)),), ())


@cache
def visits(a: Weighted) -> Recursion:
    """Return SFL-V2's with weighted server steps."""
    tau = weighted_rounds.tau
    down = fast(weighted_rounds.descent(a), "eta", tau)
    return Recursion(a.at(k.Rate(ALPHA.body / tau)), down, a.c1, a.cd)


def assumed(h: Hypothesis) -> Theorem:
    """Return an assumed inequality.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(h, Holds):
        raise TypeError("no inequality")
    return rules.assume(h.form)
