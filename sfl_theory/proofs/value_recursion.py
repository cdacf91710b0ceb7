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
from sfl_theory.proofs import (
    block_steps,
    convex_paces,
    notation,
    strongly_convex,
    weighted_rounds,
)
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.block_steps import apart, moved, pull, total
from sfl_theory.proofs.convex_paces import Paces
from sfl_theory.proofs.foundations import smooth_mean, value_gap
from sfl_theory.proofs.local_steps import G2, Round, block_move, i, n, now, t
from sfl_theory.proofs.notation import combine, mean, nat, of, of_round, steps, sum_over
from sfl_theory.proofs.strongly_convex import BEST, S, gamma, gap, mu, s_a2
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

    def rate(self) -> Theorem:
        """Return what is left of the first gap, of the noise and of the drift."""
        first, second = 8 * self.c1 * K, 4 * self.cd * (gamma + 1) * K
        return strongly_convex.by_recursion(
            Round(self.run), self.one_round(), first, second
        )

    def by_distance(self, right: k.Lin, at: Ratio) -> Theorem:
        """Return that the gap after `at` rounds is below a right side.

        Args:
            right: numbers and ``S (gamma + 1)/2 ||x^0 - x*||^2/(gamma + at)``, each
                larger than its counterpart in `rate`.
            at: the round.
        """
        start, keep = k.iterate(self.run, 0), (gamma * late(at)) ** 4
        spare = S / 2 * ((gamma + 1) * late(at) - keep)
        rate = rules.instantiate(self.rate(), ((t, at),), ())
        return combine(
            rate,
            (value_gap(S, start, smooth_mean), keep),
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
        ``gamma + 1`` is small beside ``gamma + at``, and so is the drift in `rate`.
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


def visits_by_client() -> Recursion:
    """Return that of drawn visits with larger numbers.

    ``c1 = sum a_n/q_n`` and ``cd = 1/3 + c1 + sum a_n^2 (1/q_n - 1)/q_n``.
    """
    found, odds = visits(Weighted(k.Kind.V2_WEIGHTED, True)), weighted_rounds.odds
    a, alpha, below = k.weight(n), 4 / mu * late(now), rules.weight_below_one(n)
    c1 = mean(n, a * (1 + odds))
    cd = c1 + mean(n, a**2 * odds * (1 + odds)) + Fraction(1, 3)
    first, second = S / 2 * alpha**2 * G2, S**2 / 2 * alpha**3 * G2
    fewer = sum_over(below, k.CLIENTS, n, a * odds)
    round_ = combine(
        found.round,
        (fewer, first + second / 2),
        (sum_over(below, k.CLIENTS, n, (a * odds) ** 2), second / 2),
        target=found.round.form
        + k.constant((c1 - found.c1) * first + (cd - found.cd) * second),
    )
    return Recursion(found.run, round_, c1, cd)


def assumed(h: Hypothesis) -> Theorem:
    """Return an assumed inequality.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(h, Holds):
        raise TypeError("no inequality")
    return rules.assume(h.form)


# Rates of SFL-V1 for any two numbers of steps, each side with its own rate ------------

alpha = 4 / (mu * (gamma + now))
T = notation.count("T")


@dataclass(frozen=True)
class OwnRates(Paces):
    """SFL-V1 with ``4/(mu tau_b (gamma + t))`` on each side b."""

    @property
    def alpha(self) -> Ratio:
        """By what both sides move in round t."""
        return alpha

    @property
    def run(self) -> k.Split:
        """The run."""
        return self.paced(
            lambda made: k.Rate(4 / (mu * made * (gamma + notation.of_round())))
        )


def recursion(p: OwnRates) -> Recursion:
    """Return a round's descent at these rates, drawn clients too."""
    down = strongly_convex.with_smoothness(convex_paces.descent(p))
    return Recursion(p.run, down, p.c1, p.cd)


def drift_of_side(p: OwnRates, of_side: k.Side) -> Theorem:
    """Return ``D_n <= c alpha^2 tau_b G2``, c = 4/3 for the longer side, else 2/3."""
    H, away = p.round.steps(of_side), p.round.away(of(i))
    each: list[tuple[Theorem, Number]] = []
    for side in k.Side:
        here = block_move(p.round, side, of(i), of(i))
        if of_side is p.shorter or side is p.longer:
            each.append((sum_over(here, steps(H), i), 1))
            continue
        there = block_move(p.round, side, p.low + of(local.beyond), p.low, True)
        e = k.norm2(k.part(side, away))
        each += [
            (sum_over(here, steps(p.low), i), 1),
            (sum_over(there, steps(p.extra), local.beyond), 1),
            (rules.split(i, e, p.low, p.extra), -1),
        ]
    c = Fraction(4, 3) if of_side is p.longer else Fraction(2, 3)
    return combine(
        *each,
        (sum_over(rules.blocks(away, away), steps(H), i), -1),
        target=k.constant(c * alpha**2 * H * G2) - k.summed(steps(H), i, k.norm2(away)),
    )


def first_order(p: OwnRates, side: k.Side) -> Theorem:
    """Return the product of a block's gradient with its move, ``-alpha/2 ||g_b||^2``.

    And ``- alpha/(2 tau_b^2) ||M_b||^2 + c/2 S^2 alpha^3 G2``, c of `drift`.
    """
    r, tau = p.round, p.round.steps(side)
    g, block = (
        k.part(side, r.gradient),
        k.part(side, r.own_gradient() - r.local_gradient(of(i))),
    )
    M = total(r, side, r.local_gradient(of(i)))
    clients = rules.jensen(k.CLIENTS, n, k.weight(n), k.summed(steps(tau), i, block))
    inside = rules.jensen(steps(tau), i, ratio(1), block)
    own = k.part(side, k.summed(k.CLIENTS, n, r.own_gradient() * k.weight(n))) * tau
    left, half = g * tau - M, alpha / (2 * tau)
    c = Fraction(4, 3) if side is p.longer else Fraction(2, 3)
    near = strongly_convex.with_smoothness(
        sum_over(apart(r, side, tau), k.CLIENTS, n, k.weight(n))
    )
    return combine(
        (pull(r, side), -1),
        (clients, half / tau),
        (sum_over(inside, k.CLIENTS, n, k.weight(n)), half / tau),
        (rules.mean_gradient(r.x, left), -half),
        (rules.mean_gradient(r.x, own - M), -half),
        (near, half),
        (sum_over(drift_of_side(p, side), k.CLIENTS, n, k.weight(n)), half * S**2),
        target=k.constant(c / 2 * alpha**3 * S**2 * G2)
        - k.norm2(g) * (alpha / 2)
        - k.norm2(M) * (half / tau)
        - k.inner(g, r.next - r.x),
    )


def noise(p: OwnRates) -> Ratio:
    """Return the factor of u^2."""
    return Fraction(56, 3) * S * s_a2 * (1 / p.low + 1 / p.high) / mu**2


FAR = 64 * S**2 * G2 / mu**3
"""The factor of u^3."""


def sharper_round(p: OwnRates) -> Theorem:
    """Return ``phi' <= (1 - 4u) phi + A u^2 + B u^3``."""
    r, c = p.round, Fraction(3, 4)
    uses: list[tuple[Theorem, Number]] = [
        (strongly_convex.with_smoothness(block_steps.decomposition(r)), 1),
        (rules.blocks(r.gradient, r.gradient), -alpha / 2),
        (strongly_convex.gradient_domination(r.x), alpha / 2),
    ]
    squares: list[tuple[k.Vec, Number]] = []
    for side in k.Side:
        M, Z = (total(r, side, e) for e in (r.local_gradient(of(i)), r.noise(of(i))))
        half = S * r.rate(side) ** 2 / 2
        m_left = alpha / (2 * r.steps(side) ** 2) - half * (1 + c)
        uses += [
            (first_order(p, side), 1),
            (moved(r, side), -S / 2),
            (local.young(M, Z, c), half),
            (block_steps.block_noise(r, side), half * (1 + 1 / c)),
        ]
        squares.append((M, m_left))
    u = 1 / (gamma + now)
    right = gap(r, now) * (1 - 4 * u) + k.constant(noise(p) * u**2 + FAR * u**3)
    return combine(*uses, *squares, target=right - gap(r, now + 1))


def sharper_rate(p: OwnRates) -> Theorem:
    """Return ``phi_t <= bound(t)`` for every t."""
    return strongly_convex.by_recursion(p.round, sharper_round(p), noise(p), FAR)


def last(p: OwnRates) -> Theorem:
    """Return the rate after T rounds."""
    return rules.instantiate(sharper_rate(p), ((t, T),), ())
