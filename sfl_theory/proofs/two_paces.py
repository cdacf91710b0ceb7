r"""Rates of SFL-V1 for any two numbers of steps, each side with its own rate.

Each side has the rate of its own number of steps, ``eta_b tau_b = alpha(t)``, so that
both move alike; the function value contracts by ``1 - alpha mu`` a round. Where clients
are drawn, (136), the squared move has ``rho = sum a_n^2 (1/q_n - 1)`` times G2 more.

The printed rates have the numbers of steps exchanged. Here every side's rate is divided
by its own number of steps, so that both move by ``alpha = 4/(mu (gamma + t))`` a round.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, direction, stochastic
from sfl_theory.proofs import block_steps, notation, strongly_convex
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.block_steps import apart, averaged, moved, pull, total
from sfl_theory.proofs.foundations import smooth_mean
from sfl_theory.proofs.joint_distance import weights_spread
from sfl_theory.proofs.local_steps import G2, N, Round, block_move, i, j, n, now, t
from sfl_theory.proofs.non_convex import TwoPaces
from sfl_theory.proofs.notation import combine, inverse_q, mean, of, steps, sum_over
from sfl_theory.proofs.strongly_convex import BEST, S, gamma, gap, mu, s_a2, weaker

alpha = 4 / (mu * (gamma + now))


def block_away(r: Round, side: k.Side, upper: Ratio) -> list[tuple[Theorem, Number]]:
    """Return what bounds ``sum_{i<upper} ||[p_i - x]_b||^2``.

    A side that has made all its steps rests.
    """
    made = r.steps(side)
    if (made - upper).nonnegative():
        return [(sum_over(block_move(r, side, of(i), of(i)), steps(upper), i), 1)]
    early = sum_over(block_move(r, side, of(i), of(i)), steps(made), i)
    rest = upper - made
    later = sum_over(block_move(r, side, made + of(i), made, True), steps(rest), i)
    form = k.norm2(k.part(side, r.away(of(i))))
    return [(early, 1), (later, 1), (rules.split(i, form, made, rest), -1)]


def drift(r: Round, side: k.Side) -> Theorem:
    """Return ``sum_n a_n sum_{i<tau_b} ||p_i - x||^2 <= 2 alpha^2 tau_b G2``."""
    upper = r.steps(side)
    blocks = sum_over(local.both_parts(r.away(of(i))), steps(upper), i)
    uses: list[tuple[Theorem, Number]] = [(blocks, -1)]
    for each in k.Side:
        uses += block_away(r, each, upper)
    one = combine(*uses)
    target = k.constant(2 * alpha**2 * upper * G2) - r.drift(upper, k.weight(n))
    return combine(sum_over(one, k.CLIENTS, n, k.weight(n)), target=target)


def deviation(r: Round, side: k.Side) -> Theorem:
    """Return ``||tau_b grad_b f - M_b||^2 <= tau_b S^2 D_b``, see `drift`."""
    made = r.steps(side)
    apart = r.own_gradient() - r.local_gradient(of(i))
    block = k.part(side, apart)
    near = rules.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    small = local.block_below(side, apart, near)
    M = r.whole(side, r.local_gradient(of(i)))
    own = (
        k.part(side, k.summed(k.CLIENTS, n, r.own_gradient() * k.weight(n))) * made - M
    )
    left = k.part(side, r.gradient) * made - M
    inside = rules.jensen(steps(made), i, ratio(1), block)
    clients = rules.jensen(k.CLIENTS, n, k.weight(n), k.summed(steps(made), i, block))
    return combine(
        clients,
        sum_over(inside, k.CLIENTS, n, k.weight(n)),
        (r.summed(small, made, k.weight(n)), made),
        (rules.mean_gradient(r.x, left), -made),
        (rules.mean_gradient(r.x, own), -made),
        target=r.drift(made, k.weight(n)) * (made * S**2) - k.norm2(left),
    )


def rho(split: k.Split) -> Ratio:
    """Return ``sum a_n^2 (1/q_n - 1)``, 0 where everyone takes part."""
    return mean(n, odds(split)) if split.drawn else ratio(0)


def odds(split: k.Split) -> Ratio:
    """Return ``a_n^2 (1/q_n - 1)``, 0 where everyone takes part."""
    return k.weight(n) ** 2 * (inverse_q(n) - 1) if split.drawn else ratio(0)


def second_moment(r: Round, side: k.Side) -> Theorem:
    """Return ``||G_b||^2 <= (1 + rho) tau_b^2 G2``, G with the draws."""
    made = r.steps(side)
    g = k.part(side, stochastic(r.run, n, now, of(j)))
    clients = rules.jensen(k.CLIENTS, n, k.weight(n), k.summed(steps(made), j, g))
    each = sum_over(
        local.block_sum(r, side, made), k.CLIENTS, n, k.weight(n) + odds(r.run)
    )
    drawing = averaged(r, k.norm2(direction(r.run, now, side)), -1)
    return combine(clients, each, *drawing)


@cache
def one_round(split: k.Split) -> Theorem:
    """Return ``e' <= (1 - alpha mu) e + S alpha^2 (1 + rho) G2 + 2 S^2 alpha^3 G2``."""
    r = Round(split)
    step, g = r.next - r.x, r.gradient
    uses: list[tuple[Theorem, Number]] = [
        (smooth_mean(S, r.x, r.next), 1),
        (rules.blocks(g, step), -1),
        (rules.blocks(step, step), -S / 2),
        (strongly_convex.gradient_domination(r.x), alpha / 2),
        (local.both_parts(g), -alpha / 2),
    ]
    squares: list[tuple[k.Vec, Number]] = []
    for side in k.Side:
        eta, made = r.rate(side), r.steps(side)
        G = direction(split, now, side)
        M = r.whole(side, r.local_gradient(of(i)))
        uses += [
            (rules.update(split, side, now, g), -1),
            (rules.update(split, side, now, k.part(side, step)), -S / 2),
            (rules.update(split, side, now, G), S * eta / 2),
            *averaged(r, k.inner(G, g), eta),
            (local.centred(r, side, g, made, k.weight(n)), eta),
            (deviation(r, side), eta / (2 * made)),
            (drift(r, side), eta * S**2 / 2),
            (second_moment(r, side), S * eta**2 / 2),
        ]
        squares.append((M, eta / (2 * made)))
    noise = S * alpha**2 * G2 * (1 + rho(split)) + 2 * S**2 * alpha**3 * G2
    now_gap, next_gap = gap(r, now), gap(r, now + 1)
    target = now_gap * (1 - alpha * mu) + k.constant(noise) - next_gap
    return combine(*uses, *squares, target=target)


def second(power: int) -> Ratio:
    """Return ``sum_n a_n^power (2 sigma_n^2 + G2)``."""
    return mean(n, k.weight(n) ** power * (2 * local.sigma2(n) + G2))


def bound(r: Round, at: Ratio) -> k.Lin:
    """Return the right side of (73) or (136) after `at` rounds."""
    u, more = 1 / (gamma + at), mean(n, k.weight(n) ** 2 * inverse_q(n) * G2)
    noise = 8 * S * N * (second(2) + (more if r.run.drawn else 0)) / mu**2
    noise = noise + 768 * S**2 * second(1) / (mu**3 * (gamma + 1))
    start = k.norm2(k.iterate(r.run, 0) - BEST) * (S * (gamma + 1) / 2)
    return (k.constant(noise) + start) * u


@cache
def rate(split: k.Split) -> Theorem:
    """Return (73), (136) for every round, by induction over ``e_t <= w/(gamma + t)``.

    ``w >= (8 + 96) S G2/mu^2``, so that ``3 w/u^2`` pays for a round's noise.
    """
    r, zero = Round(split), ratio(0)
    now_claim = bound(r, now) - gap(r, now)
    next_claim = bound(r, now + 1) - gap(r, now + 1)
    start, u = k.iterate(r.run, 0), gamma + now
    keep = 1 - 4 / u
    spare = 1 / (u + 1) - keep / u
    step = combine(
        one_round(split),
        (rules.assume(now_claim), keep),
        (weights_spread(), 8 * S * G2 / mu**2 * spare),
        (start - BEST, S * (gamma + 1) / 2 * spare),
        target=next_claim,
    )
    base = combine(
        strongly_convex.gap_by_distance(start),
        (start - BEST, S / (2 * gamma)),
        target=bound(r, zero) - gap(r, zero),
    )
    return rules.induct(base, step, t, now_claim)


# Theorem 3.6, strongly convex, (11): any two numbers of steps, each with its own rate

T = notation.count("T")


@dataclass(frozen=True)
class OwnRates(TwoPaces):
    """SFL-V1 with ``4/(mu tau_b (gamma + t))`` on each side b."""

    @property
    def run(self) -> k.Split:
        """The run."""
        return self.paced(
            lambda made: k.Rate(4 / (mu * made * (gamma + notation.of_round())))
        )


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
