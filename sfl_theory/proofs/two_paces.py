"""Rates of SFL-V1 for any two numbers of steps, each side with its own rate.

Each side's rate is divided by its own number of steps, where the printed ones have them
exchanged, so that both move by ``alpha = 4/(mu (gamma + t))`` a round.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import (
    block_steps,
    convex_paces,
    notation,
    strongly_convex,
    value_recursion,
)
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.block_steps import apart, moved, pull, total
from sfl_theory.proofs.convex_paces import Paces
from sfl_theory.proofs.local_steps import G2, block_move, i, n, now, t
from sfl_theory.proofs.notation import combine, of, steps, sum_over
from sfl_theory.proofs.strongly_convex import S, gamma, gap, mu, s_a2, weaker

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


def recursion(p: OwnRates) -> value_recursion.Recursion:
    """Return a round's descent at these rates, drawn clients too."""
    down = strongly_convex.with_smoothness(convex_paces.descent(p))
    return value_recursion.Recursion(p.run, down, p.c1, p.cd)


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


def printed(p: OwnRates) -> Theorem:
    """Return (11) as printed after T rounds, for these rates."""
    return rules.instantiate(weaker(p.round, sharper_rate(p)), ((t, T),), ())
