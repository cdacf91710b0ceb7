"""Theorem 3.6, strongly convex, (11): any two numbers of steps, each with its own rate.

The printed rates have the numbers of steps exchanged. Here every side's rate is divided
by its own number of steps, so that both move by ``alpha = 4/(mu (gamma + t))`` a round.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    Kind,
    Lin,
    Pace,
    Participants,
    Rate,
    Side,
    Split,
    Vec,
    constant,
    inner,
    iterate,
    natural,
    norm2,
    part,
    summed,
    value_of,
    weight,
)
from sfl_theory.proofs.block_steps import (
    apart,
    block_noise,
    decomposition,
    moved,
    pull,
    total,
)
from sfl_theory.proofs.local_steps import G2, N, beyond, i, j, n, now, sigma2, t, young
from sfl_theory.proofs.non_convex import TwoPaces
from sfl_theory.proofs.notation import (
    combine,
    count,
    mean,
    of,
    of_round,
    steps,
    sum_over,
)
from sfl_theory.proofs.strongly_convex import (
    BEST,
    S,
    gamma,
    gap_by_distance,
    gradient_domination,
    mu,
    s_a2,
    with_smoothness,
)

T = count("T")
u = 1 / (gamma + now)
alpha = 4 / mu * u


@dataclass(frozen=True)
class OwnRates(TwoPaces):
    """SFL-V1 with ``4/(mu tau_b (gamma + t))`` on each side b."""

    @property
    def run(self) -> Split:
        """The run."""
        paces = {}
        for side in Side:
            made = self.high if side is self.longer else self.low
            rate = Rate(4 / (mu * made * (gamma + of_round())))
            paces[side] = Pace(natural(made), rate)
        everyone = Participants.EVERYONE
        return Split(Kind.V1, everyone, paces[Side.CLIENT], paces[Side.SERVER])


def block_move(
    p: OwnRates, side: Side, step: Ratio, made: Ratio, rests: bool
) -> Theorem:
    """Return ``||[p - x]_b||^2 <= eta_b^2 made^2 G2`` for what the side has made."""
    r = p.round
    rule = rules.resting if rests else rules.local_update
    away, g = part(side, r.away(step)), stochastic(r.run, n, now, of(j))
    block, other = part(side, g), part(p.shorter if side is p.longer else p.longer, g)
    sums = summed(steps(made), j, block)

    def update(w: Vec) -> Theorem:
        return rule(r.run, n, now, step, side, w)

    one = combine(
        [
            (rules.blocks(g, g), 1),
            (rules.bounded_gradient(r.run, G2, n, now, of(j)), 1),
        ],
        [(other, 1)],
    )
    eta = r.rate(side)
    return combine([
        (update(away), -1),
        (update(sums), eta),
        (rules.jensen(steps(made), j, ratio(1), block), eta**2),
        (sum_over(one, steps(made), j), eta**2 * made),
    ])


def drift(p: OwnRates, of_side: Side) -> Theorem:
    """Return ``D_n <= c alpha^2 tau_b G2``, c = 4/3 for the longer side, else 2/3."""
    H, away = p.round.steps(of_side), p.round.away(of(i))
    each: list[tuple[Theorem, Number]] = []
    for side in Side:
        here = block_move(p, side, of(i), of(i), False)
        if of_side is p.shorter or side is p.longer:
            each.append((sum_over(here, steps(H), i), 1))
            continue
        there = block_move(p, side, p.low + of(beyond), p.low, True)
        e = norm2(part(side, away))
        each += [
            (sum_over(here, steps(p.low), i), 1),
            (sum_over(there, steps(p.extra), beyond), 1),
            (rules.split(i, e, p.low, p.extra), -1),
        ]
    c = Fraction(4, 3) if of_side is p.longer else Fraction(2, 3)
    return combine(
        [*each, (sum_over(rules.blocks(away, away), steps(H), i), -1)],
        target=constant(c * alpha**2 * H * G2) - summed(steps(H), i, norm2(away)),
    )


def first_order(p: OwnRates, side: Side) -> Theorem:
    """Return the product of a block's gradient with its move, ``-alpha/2 ||g_b||^2``.

    And ``- alpha/(2 tau_b^2) ||M_b||^2 + c/2 S^2 alpha^3 G2``, c of `drift`.
    """
    r, tau = p.round, p.round.steps(side)
    g, block = (
        part(side, r.gradient),
        part(side, r.own_gradient() - r.local_gradient(of(i))),
    )
    M = total(r, side, r.local_gradient(of(i)))
    clients = rules.jensen(CLIENTS, n, weight(n), summed(steps(tau), i, block))
    inside = rules.jensen(steps(tau), i, ratio(1), block)
    own = part(side, summed(CLIENTS, n, r.own_gradient() * weight(n))) * tau
    left, half = g * tau - M, alpha / (2 * tau)
    c = Fraction(4, 3) if side is p.longer else Fraction(2, 3)
    near = with_smoothness(sum_over(apart(r, side, tau), CLIENTS, n, weight(n)))
    return combine(
        [
            (pull(r, side), -1),
            (clients, half / tau),
            (sum_over(inside, CLIENTS, n, weight(n)), half / tau),
            (rules.mean_gradient(r.x, left), -half),
            (rules.mean_gradient(r.x, own - M), -half),
            (near, half),
            (sum_over(drift(p, side), CLIENTS, n, weight(n)), half * S**2),
        ],
        target=constant(c / 2 * alpha**3 * S**2 * G2)
        - norm2(g) * (alpha / 2)
        - norm2(M) * (half / tau)
        - inner(g, r.next - r.x),
    )


def noise(p: OwnRates) -> Ratio:
    """Return the factor of u^2."""
    return Fraction(56, 3) * S * s_a2 * (1 / p.low + 1 / p.high) / mu**2


FAR = 64 * S**2 * G2 / mu**3
"""The factor of u^3."""


def gap(p: OwnRates, at: Ratio) -> Lin:
    """Return ``f(x(at)) - f*``."""
    return value_of(MEAN, iterate(p.run, at)) - value_of(MEAN, BEST)


def one_round(p: OwnRates) -> Theorem:
    """Return ``phi' <= (1 - 4u) phi + A u^2 + B u^3``."""
    r, c = p.round, Fraction(3, 4)
    uses: list[tuple[Theorem, Number]] = [
        (with_smoothness(decomposition(r)), 1),
        (rules.blocks(r.gradient, r.gradient), -alpha / 2),
        (gradient_domination(r.x), alpha / 2),
    ]
    squares: list[tuple[Vec, Number]] = []
    for side in Side:
        M, Z = (total(r, side, e) for e in (r.local_gradient(of(i)), r.noise(of(i))))
        half = S * r.rate(side) ** 2 / 2
        m_left = alpha / (2 * r.steps(side) ** 2) - half * (1 + c)
        uses += [
            (first_order(p, side), 1),
            (moved(r, side), -S / 2),
            (young(M, Z, c), half),
            (block_noise(r, side), half * (1 + 1 / c)),
        ]
        squares.append((M, m_left))
    right = gap(p, now) * (1 - 4 * u) + constant(noise(p) * u**2 + FAR * u**3)
    return combine(uses, squares, target=right - gap(p, now + 1))


def bound(p: OwnRates, at: Ratio) -> Lin:
    """Return ``(gamma/(gamma+t))^4 phi_0 + A/(3(gamma+t)) + B/(2(gamma+t)^2)``."""
    v = 1 / (gamma + at)
    rest = constant(noise(p) * v / 3 + FAR * v**2 / 2)
    return gap(p, ratio(0)) * (gamma * v) ** 4 + rest


def rate(p: OwnRates) -> Theorem:
    """Return ``phi_t <= bound(t)`` for every t, by induction."""
    zero, lowest = ratio(0), rules.lowest(MEAN, iterate(p.run, 0))
    now_claim, next_claim = (bound(p, at) - gap(p, at) for at in (now, now + 1))
    keep = 1 - 4 * u
    spare = (gamma / (gamma + now + 1)) ** 4 - keep * (gamma * u) ** 4
    step = combine(
        [(one_round(p), 1), (rules.assume(now_claim), keep), (lowest, spare)],
        target=next_claim,
    )
    base = combine(target=bound(p, zero) - gap(p, zero))
    return rules.induct(base, step, t, now_claim)


def last(p: OwnRates) -> Theorem:
    """Return the rate after T rounds."""
    return rules.instantiate(rate(p), ((t, T),), ())


def printed(p: OwnRates) -> Theorem:
    """Return (11) as printed, for these rates: every term is larger."""
    start, v = iterate(p.run, 0), 1 / (gamma + T)
    keep, second = (gamma * v) ** 4, 2 * sigma2(n) + G2
    right = constant(
        8 * S * N * mean(n, weight(n) ** 2 * second) / mu**2 * v
        + 768 * S**2 * mean(n, weight(n) * second) / (mu**3 * (gamma + 1)) * v
    ) + norm2(start - BEST) * (S * (gamma + 1) / 2 * v)
    spare = S / 2 * ((gamma + 1) * v - keep)
    return combine(
        [(last(p), 1), (gap_by_distance(start), keep)],
        [(start - BEST, spare)],
        target=right - gap(p, T),
    )
