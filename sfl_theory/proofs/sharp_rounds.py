r"""One round without bounded gradients, and what it comes to over T rounds.

SFL-V1, and SFL-V2 with server steps weighted by a_n in any order of the visits; both
sides make tau steps, everyone takes part. ``alpha = eta tau``, ``8 S alpha <= 1``. The
drift stands at its own order alpha^3, so the leading noise is that of the mean of all
clients' samples, ``s_a2/tau`` with ``s_a2 = sum a_n^2 sigma_n^2``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    Kind,
    Lin,
    Rate,
    RoundFamily,
    Split,
    constant,
    iterate,
    norm2,
    summed,
    value_of,
    weight,
)
from sfl_theory.proofs import sharp_drift
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.foundations import smooth_mean
from sfl_theory.proofs.joint import (
    whole_centred,
    whole_descent,
    whole_deviation,
    whole_mean,
    whole_noise,
    whole_update,
)
from sfl_theory.proofs.local_steps import Round, S, eps2, i, n, now, t, young
from sfl_theory.proofs.notation import combine, of, of_round, sign, steps, sum_over
from sfl_theory.proofs.sharp_drift import Closed, s_a2, sbar2, smallness
from sfl_theory.proofs.strongly_convex import mu
from sfl_theory.proofs.weighted_rounds import BEST, T, Weighted, gap, progress, tau

LIMIT = 8
"""The step size is at most 1/(LIMIT S tau)."""


@dataclass(frozen=True)
class Sharp:
    """An algorithm of which everyone takes part."""

    kind: Kind

    @property
    def weighted(self) -> Weighted:
        """The algorithm in the terms of `weighted_rounds`."""
        return Weighted(self.kind)

    @property
    def round(self) -> Round:
        """Round t at the rates eta(t)."""
        return self.weighted.round

    @property
    def closed(self) -> Closed:
        """What closes the drift."""
        visits = self.kind.visits
        return Closed(LIMIT, Fraction(1, 7 if visits else 10), visits)

    @property
    def share(self) -> Fraction:
        """Of gradients in the drift: 1/3, for visits 1."""
        return Fraction(1) if self.kind.visits else Fraction(1, 3)

    @property
    def noise(self) -> Ratio:
        """Of the samples in the drift."""
        return sbar2 / 2 + s_a2 if self.kind.visits else sbar2 / 2

    @property
    def spread(self) -> Ratio:
        """``noise + share tau eps2``, what the drift is beside the gradient of f."""
        return self.noise + self.share * tau * eps2

    @property
    def lost(self) -> Fraction:
        """The share of the gradient that the drift may cost."""
        return self.closed.factor * self.share / LIMIT**2


def own_size(r: Round) -> Theorem:
    """Return ``sum a_n ||gx||^2 <= ||grad f||^2 + eps2``: the mean of gx is grad f."""
    gx, gf = r.own_gradient(), r.gradient
    same = combine([
        (rules.linear(CLIENTS, n, gx * weight(n), gf), 1),
        (rules.mean_gradient(r.x, gf), 1),
    ])
    apart = sum_over(rules.heterogeneity(eps2, n, r.x), CLIENTS, n, weight(n))
    F = summed(CLIENTS, n, norm2(gx) * weight(n))
    return combine([(apart, 1), (same, 2)], target=norm2(gf) + constant(eps2) - F)


def drift(a: Sharp) -> Theorem:
    """Return ``D <= factor eta^2 tau^2 (share tau ||grad f||^2 + spread)``."""
    r, by = a.round, a.closed
    size = r.eta**2 * tau**3 * by.factor * a.share
    return combine([(sharp_drift.drift(r, by), 1), (own_size(r), size)])


def fall(r: Round) -> Lin:
    """Return ``f(x) - f(x')``."""
    return value_of(MEAN, r.x) - value_of(MEAN, r.next)


def cost(a: Sharp) -> Ratio:
    """Return what samples and heterogeneity cost in a round."""
    eta, half = a.round.eta, a.closed.factor / 2
    return S * eta**2 * tau * Fraction(4, 7) * s_a2 + (
        S**2 * eta**3 * tau**2 * half * a.spread
    )


@cache
def one_round(a: Sharp) -> Theorem:
    """Return ``(1 - lost) alpha/2 ||grad f||^2 <= f(x) - f(x') + cost``."""
    r = a.round
    eta, g, theta = r.eta, r.gradient, LIMIT - 1
    M, Z = (whole_mean(r, each) for each in (r.local_gradient(of(i)), r.noise(of(i))))
    small = rules.assume(smallness(r, LIMIT))
    square = combine([(small, 1 + LIMIT * S * eta * tau)])
    half = S * eta**2 / 2
    m_left = eta / (2 * tau) - (1 + theta) * half
    g_left = eta * tau / 2 * (a.lost - (S * eta * tau) ** 2 * a.lost * LIMIT**2)
    return combine(
        [
            (whole_descent(r), 1),
            (whole_centred(r, g), eta),
            (whole_deviation(r), eta / (2 * tau)),
            (young(M, Z, theta), half),
            (whole_noise(r), half * (1 + Fraction(1, theta))),
            (drift(a), eta * S**2 / 2),
        ],
        [(M, m_left), (g, g_left)],
        target=fall(r) + constant(cost(a)) - norm2(g) * (eta * tau / 2 * (1 - a.lost)),
        signs=[
            sign(m_left, (small, eta / (2 * tau))),
            sign(g_left, (square, eta * tau / 2 * a.lost)),
        ],
    )


def non_convex(a: Sharp) -> Theorem:
    """Return the sum over rounds; the values of f telescope."""
    r, c = a.round, 2 / (T * tau * (1 - a.lost))
    down = rules.telescope(t, value_of(MEAN, r.x), T)
    last = rules.lowest(MEAN, iterate(r.run, T))
    return combine([(sum_over(one_round(a), steps(T), t), c), (down, c), (last, c)])


# Strongly convex ---------------------------------------------------------------------

STEP, LATE = Fraction(41, 10), 33
SMOOTH = strong.S
gamma = LATE * SMOOTH / mu
FAST = Rate(STEP / (mu * tau * (gamma + of_round())))
"""The rate 4.1/(mu tau (gamma + t)), gamma = 33 S/mu."""


def at_rate(theorem: Theorem) -> Theorem:
    """Return a theorem at the rate `FAST`, for S = mu + s; it is small enough."""
    family = RoundFamily("eta", Sort.POSITIVE)
    values = ((family, FAST), (strong.S_VARIABLE, SMOOTH))
    fast = rules.instantiate(theorem, values, ())
    small = 1 - LIMIT * SMOOTH * tau * FAST.at(now)
    return rules.cut(fast, combine(target=constant(small)))


@dataclass(frozen=True)
class Decay:
    """The recursion ``phi' <= (1 - p u) phi + A u^2 + B u^3``, u = 1/(gamma + t)."""

    a: Sharp

    @property
    def run(self) -> Split:
        """The run at the rate `FAST`."""
        return self.a.weighted.at(FAST)

    @property
    def power(self) -> Fraction:
        """P, more than 4."""
        return STEP * (1 - self.a.lost)

    @property
    def A(self) -> Ratio:
        """Of the samples."""
        return Fraction(4, 7) * STEP**2 * SMOOTH * s_a2 / (tau * mu**2)

    @property
    def B(self) -> Ratio:
        """Of the drift."""
        size = self.a.closed.factor / 2 * STEP**3
        return size * SMOOTH**2 * self.a.spread / (tau * mu**3)

    def gap(self, at: Ratio) -> Lin:
        """Return ``f(x(at)) - f*``."""
        return strong.gap(Round(self.run), at)

    def one_round(self) -> Theorem:
        """Return the recursion."""
        r, u = Round(self.run), 1 / (gamma + now)
        right = self.gap(now) * (1 - self.power * u)
        right = right + constant(self.A * u**2 + self.B * u**3)
        down = strong.gradient_domination(r.x)
        uses = [(at_rate(one_round(self.a)), ratio(1)), (down, self.power * u / 2 / mu)]
        return combine(uses, target=right - self.gap(now + 1))

    def bound(self, at: Ratio) -> Lin:
        """Return ``(gamma u)^4 phi_0 + A u/(p - 1) + B u^2/(p - 2)``."""
        u = 1 / (gamma + at)
        left = self.A * u / (self.power - 1) + self.B * u**2 / (self.power - 2)
        return self.gap(ratio(0)) * (gamma * u) ** 4 + constant(left)

    def rate(self) -> Theorem:
        """Return that the gap is at most `bound` after every round, by induction."""
        zero, u = ratio(0), 1 / (gamma + now)
        lowest = rules.lowest(MEAN, iterate(self.run, 0))
        claim, keep = self.bound(now) - self.gap(now), 1 - self.power * u
        spare = (gamma / (gamma + now + 1)) ** 4 - keep * (gamma * u) ** 4
        uses = [(self.one_round(), ratio(1)), (rules.assume(claim), keep)]
        step = combine(
            [*uses, (lowest, spare)], target=self.bound(now + 1) - self.gap(now + 1)
        )
        base = combine(target=self.bound(zero) - self.gap(zero))
        return rules.induct(base, step, t, claim)


# General convex ----------------------------------------------------------------------


def small_gradient(a: Sharp) -> Theorem:
    """Return ``||grad f(x)||^2 <= 2 S (f(x) - f*)``: a step 1/S would lower f so."""
    r, g = a.round, a.round.gradient
    lower = r.x - g * (1 / S)
    uses = [(smooth_mean(S, r.x, lower), 2 * S), (rules.lowest(MEAN, lower), 2 * S)]
    return combine(uses, target=gap(a.weighted) * (2 * S) - norm2(g))


def second_moment(a: Sharp, c: Fraction) -> Theorem:
    """Return ``||G||^2 <= (1+c)(tau^2 ||grad f||^2 + tau s_a2) + (1+1/c) tau S^2 D``.

    G = tau grad f + Z + what gradients change; the noise Z is orthogonal to grad f.
    """
    r, g = a.round, a.round.gradient
    gp, xi = r.local_gradient(of(i)), r.noise(of(i))
    M, Z = whole_mean(r, gp), whole_mean(r, xi)
    first, grown = g * tau + Z, 1 + c
    return combine([
        (young(first, M - g * tau, c), 1),
        (whole_centred(r, g), -2 * tau * grown),
        (whole_noise(r), grown),
        (whole_deviation(r), 1 + 1 / c),
    ])


KEPT = Fraction(8, 5)
"""``KEPT alpha`` of the 2 alpha (f(x) - f*) that a round gains are kept."""


@cache
def approach(a: Sharp) -> Theorem:
    """Return how much nearer a round brings the model.

    ``||x' - x*||^2 <= ||x - x*||^2 - KEPT alpha (f(x) - f*) + 5/4 alpha^2 s_a2/tau
    + 13/8 S alpha^3 factor spread/tau``.
    """
    r, c, eta = a.round, Fraction(1, 4), a.round.eta
    before, after = r.x - BEST, r.next - BEST
    by, u = a.closed, S * eta * tau
    G = whole_mean(r, a.weighted.g())
    of_D = S * eta + (1 + 1 / c) * S**2 * eta**2 * tau
    size = eta**2 * tau**2 * by.factor
    of_g = eta**2 * tau**2 * (1 + c) + of_D * size * tau * a.share
    small = rules.assume(smallness(r, LIMIT))
    square = combine([(small, 1 + LIMIT * u)])
    most = S * eta * (1 + (1 + 1 / c) / LIMIT)
    noise = eta**2 * tau * (1 + c) * s_a2 + most * size * a.spread
    lost = 2 * eta * tau - KEPT * eta * tau - 2 * S * of_g
    low = rules.lowest(MEAN, r.x)
    left_over = (1 + 1 / c) / LIMIT * S * eta * size * a.spread
    return combine(
        [
            (progress(a.weighted), 2 * eta),
            (whole_update(r, before), -2),
            (whole_update(r, r.next - r.x), -1),
            (whole_update(r, G), eta),
            (second_moment(a, c), eta**2),
            (drift(a), of_D),
            (small_gradient(a), of_g),
            (low, lost),
            (small, left_over),
        ],
        target=norm2(before)
        - norm2(after)
        + constant(noise)
        - gap(a.weighted) * (KEPT * eta * tau),
        signs=[sign(lost, *convex_signs(a, small, square))],
    )


def convex_signs(
    a: Sharp, small: Theorem, square: Theorem
) -> list[tuple[Theorem, Number]]:
    """Return what shows that `approach` keeps ``KEPT alpha``."""
    alpha, d = a.round.eta * tau, a.closed.factor * a.share
    u = S * alpha
    return [
        (small, alpha * Fraction(5, 16)),
        (square, alpha * 2 * d / LIMIT**2),
        (small, alpha * 10 * d * u**2 / LIMIT),
        (square, alpha * 10 * d / LIMIT**3),
    ]


def mean_gap(a: Sharp) -> Theorem:
    """Return the sum over rounds; the distances telescope."""
    c = 1 / (KEPT * tau * T)
    r = a.round
    away = rules.telescope(t, norm2(r.x - BEST), T)
    last = iterate(r.run, T) - BEST
    return combine([(sum_over(approach(a), steps(T), t), c), (away, c)], [(last, c)])
