r"""One round without bounded gradients, and what it comes to over T rounds.

SFL-V1, where clients may be drawn, and SFL-V2 with server steps weighted by a_n in any
order of the visits; both sides make tau steps. ``alpha = eta tau``. The drift stands at
its own order alpha^3, so the leading noise is that of the mean of all clients' samples,
``s_a2/tau`` with ``s_a2 = sum a_n^2 sigma_n^2``. Draws add ``sum a_n^2 (1/q_n - 1)``
times the squared sums of the clients' own gradients.
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
    Vec,
    constant,
    inner,
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
    own_mean,
    whole_centred,
    whole_descent,
    whole_deviation,
    whole_mean,
    whole_noise,
    whole_update,
)
from sfl_theory.proofs.local_steps import (
    Round,
    S,
    eps2,
    i,
    n,
    now,
    own_gradients,
    sigma2,
    t,
    young,
)
from sfl_theory.proofs.notation import (
    combine,
    mean,
    of,
    of_round,
    sign,
    steps,
    sum_over,
)
from sfl_theory.proofs.sharp_drift import Closed, s_a2, sbar2, smallness
from sfl_theory.proofs.strongly_convex import mu
from sfl_theory.proofs.weighted_rounds import (
    BEST,
    T,
    Weighted,
    gap,
    odds,
    progress,
    tau,
)

LIMIT = 8
"""The step size is at most 1/(LIMIT S tau), where clients are drawn less."""


@dataclass(frozen=True)
class Sharp:
    """An algorithm; `partial`: clients of SFL-V1 are drawn, updates aggregated."""

    kind: Kind
    partial: bool = False

    @property
    def weighted(self) -> Weighted:
        """The algorithm in the terms of `weighted_rounds`."""
        return Weighted(self.kind, self.partial)

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
    def rho(self) -> Ratio:
        """``sum a_n^2 (1/q_n - 1)``, 0 where everyone takes part."""
        return mean(n, weight(n) ** 2 * odds) if self.partial else ratio(0)

    @property
    def wide(self) -> Ratio:
        """``1 + 2 rho``, by which the step size is smaller."""
        return 1 + 2 * self.rho

    @property
    def lost(self) -> Fraction:
        """The share of the gradient that drift and draws may cost."""
        if self.partial:
            return self.closed.of_gradient / LIMIT
        return self.closed.factor * self.share / LIMIT**2

    @property
    def rate(self) -> Theorem:
        """``LIMIT S eta tau wide <= 1``, an assumption."""
        return rules.assume(smallness(self.round, LIMIT * self.wide))

    @property
    def small(self) -> Theorem:
        """``LIMIT S eta tau <= 1``, which follows."""
        return combine([(self.rate, 1)], target=smallness(self.round, LIMIT))

    def under_rate(self, theorem: Theorem) -> Theorem:
        """Return a theorem on ``LIMIT S eta tau <= 1`` under `rate`."""
        return rules.cut(theorem, self.small)

    def samples(self, full: Fraction) -> Ratio:
        """Return what samples cost at second order, and draws: `full` of s_a2."""
        by = self.closed
        drawn = mean(n, weight(n) ** 2 * odds * sigma2(n)) if self.partial else ratio(0)
        return (
            full * s_a2
            + by.of_noise * drawn
            + 2 * by.of_gradient * tau * (eps2 * self.rho)
        )


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
    one = combine([(sharp_drift.drift(r, by), 1), (own_size(r), size)])
    return a.under_rate(one)


def means(r: Round) -> tuple[Vec, Vec]:
    """Return the sums of gradients and of noise over steps, averaged over clients."""
    return own_mean(r, r.local_gradient(of(i))), own_mean(r, r.noise(of(i)))


def descent(a: Sharp) -> Theorem:
    """Return ``f(x') <= f(x) - eta <grad f, M> + S eta^2/2 (||M + Z||^2 + draws)``.

    ``draws = 2 of_gradient tau^2 rho (||grad f||^2 + eps2) + of_noise tau sum w
    sigma_n^2``, w = a_n^2 (1/q_n - 1).
    """
    r = a.round
    g, half = r.gradient, S * r.eta**2 / 2
    uses: list[tuple[Theorem, Number]] = [
        (whole_descent(r), 1),
        (whole_centred(r, g), r.eta),
    ]
    if a.partial:
        G = whole_mean(r, a.weighted.g())
        averaged = rules.expect(r.run, now, inner(g, G))
        uses += [(averaged, r.eta), (second_by_draws(a), half)]
    return combine(uses)


def second_by_draws(a: Sharp) -> Theorem:
    """Return how much drawing adds to the squared move, ``||G||^2`` with draws."""
    r, by = a.round, a.closed
    G, w = whole_mean(r, a.weighted.g()), weight(n) ** 2 * odds
    own = a.under_rate(sharp_drift.client_sum(r, by))
    return combine([
        (rules.expect(r.run, now, norm2(G)), -1),
        (sum_over(own, CLIENTS, n, w), 1),
        (own_gradients(r, w), tau**2 * by.of_gradient),
    ])


def fall(r: Round) -> Lin:
    """Return ``f(x) - f(x')``."""
    return value_of(MEAN, r.x) - value_of(MEAN, r.next)


def cost(a: Sharp) -> Ratio:
    """Return what samples and heterogeneity cost in a round."""
    eta, full = a.round.eta, Fraction(LIMIT, LIMIT - 1)
    second = S * eta**2 * tau * a.samples(full)
    return (second + S**2 * eta**3 * tau**2 * a.closed.factor * a.spread) / 2


@cache
def one_round(a: Sharp) -> Theorem:
    """Return ``(1 - lost) alpha/2 ||grad f||^2 <= f(x) - f(x') + cost``."""
    r, by = a.round, a.closed
    eta, g, theta = r.eta, r.gradient, LIMIT - 1
    M, Z = means(r)
    alpha, half = eta * tau, S * eta**2 / 2
    u = S * alpha
    m_left = eta / (2 * tau) - (1 + theta) * half
    share, own = by.factor * a.share, by.of_gradient
    g_left = alpha / 2 * (a.lost - u**2 * share - 2 * u * a.rho * own)
    square = combine([(a.small, 1 + LIMIT * u)])
    spare = [(square, alpha / 2 * a.lost)]
    if a.partial:
        spare = [(a.rate, alpha / 2 * a.lost), (a.small, alpha / 2 * u * own)]
    return combine(
        [
            (descent(a), 1),
            (whole_deviation(r), eta / (2 * tau)),
            (young(M, Z, theta), half),
            (whole_noise(r), half * (1 + Fraction(1, theta))),
            (drift(a), eta * S**2 / 2),
        ],
        [(M, m_left), (g, g_left)],
        target=fall(r) + constant(cost(a)) - norm2(g) * (alpha / 2 * (1 - a.lost)),
        signs=[sign(m_left, (a.small, eta / (2 * tau))), sign(g_left, *spare)],
    )


def non_convex(a: Sharp) -> Theorem:
    """Return the sum over rounds; the values of f telescope."""
    r, c = a.round, 2 / (T * tau * (1 - a.lost))
    down = rules.telescope(t, value_of(MEAN, r.x), T)
    last = rules.lowest(MEAN, iterate(r.run, T))
    return combine([(sum_over(one_round(a), steps(T), t), c), (down, c), (last, c)])


# Strongly convex ---------------------------------------------------------------------

SMOOTH = strong.S


@dataclass(frozen=True)
class Decay:
    """The recursion ``phi' <= (1 - p u) phi + A u^2 + B u^3``, u = 1/(gamma + t)."""

    a: Sharp

    @property
    def step(self) -> Fraction:
        """The rate is ``step/(mu tau (gamma + t))``: 4.1, with draws 4.7."""
        return Fraction(47 if self.a.partial else 41, 10)

    @property
    def gamma(self) -> Ratio:
        """``33 S/mu``, with draws ``38 (1 + 2 rho) S/mu``."""
        return (38 if self.a.partial else 33) * self.a.wide * SMOOTH / mu

    @property
    def rate_of(self) -> Rate:
        """The rate."""
        return Rate(self.step / (mu * tau * (self.gamma + of_round())))

    def at_rate(self, theorem: Theorem) -> Theorem:
        """Return a theorem at this rate, for S = mu + s; it is small enough."""
        family = RoundFamily("eta", Sort.POSITIVE)
        values = ((family, self.rate_of), (strong.S_VARIABLE, SMOOTH))
        fast = rules.instantiate(theorem, values, ())
        small = 1 - LIMIT * self.a.wide * SMOOTH * tau * self.rate_of.at(now)
        return rules.cut(fast, combine(target=constant(small)))

    @property
    def run(self) -> Split:
        """The run at this rate."""
        return self.a.weighted.at(self.rate_of)

    @property
    def power(self) -> Fraction:
        """P, more than 4."""
        return self.step * (1 - self.a.lost)

    @property
    def A(self) -> Ratio:
        """Of samples and draws."""
        full = self.a.samples(Fraction(LIMIT, LIMIT - 1))
        return self.step**2 / 2 * SMOOTH * full / (tau * mu**2)

    @property
    def B(self) -> Ratio:
        """Of the drift."""
        size = self.a.closed.factor / 2 * self.step**3
        return size * SMOOTH**2 * self.a.spread / (tau * mu**3)

    def gap(self, at: Ratio) -> Lin:
        """Return ``f(x(at)) - f*``."""
        return strong.gap(Round(self.run), at)

    def one_round(self) -> Theorem:
        """Return the recursion."""
        r, u = Round(self.run), 1 / (self.gamma + now)
        right = self.gap(now) * (1 - self.power * u)
        right = right + constant(self.A * u**2 + self.B * u**3)
        down = strong.gradient_domination(r.x)
        uses = [
            (self.at_rate(one_round(self.a)), ratio(1)),
            (down, self.power * u / 2 / mu),
        ]
        return combine(uses, target=right - self.gap(now + 1))

    def bound(self, at: Ratio) -> Lin:
        """Return ``(gamma u)^4 phi_0 + A u/(p - 1) + B u^2/(p - 2)``."""
        u = 1 / (self.gamma + at)
        left = self.A * u / (self.power - 1) + self.B * u**2 / (self.power - 2)
        return self.gap(ratio(0)) * (self.gamma * u) ** 4 + constant(left)

    def rate(self) -> Theorem:
        """Return that the gap is at most `bound` after every round, by induction."""
        zero, u = ratio(0), 1 / (self.gamma + now)
        lowest = rules.lowest(MEAN, iterate(self.run, 0))
        claim, keep = self.bound(now) - self.gap(now), 1 - self.power * u
        spare = (self.gamma / (self.gamma + now + 1)) ** 4
        spare = spare - keep * (self.gamma * u) ** 4
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

    And what draws add. G = tau grad f + Z + what gradients change; the noise Z is
    orthogonal to grad f.
    """
    r, g = a.round, a.round.gradient
    M, Z = means(r)
    grown = 1 + c
    drawn = [(second_by_draws(a), 1)] if a.partial else []
    return combine([
        (young(g * tau + Z, M - g * tau, c), 1),
        (whole_centred(r, g), -2 * tau * grown),
        (whole_noise(r), grown),
        (whole_deviation(r), 1 + 1 / c),
        *drawn,
    ])


KEPT = Fraction(8, 5)
"""``KEPT alpha`` of the 2 alpha (f(x) - f*) that a round gains are kept."""


@cache
def approach(a: Sharp) -> Theorem:
    """Return how much nearer a round brings the model.

    ``||x' - x*||^2 <= ||x - x*||^2 - KEPT alpha (f(x) - f*) + 5/4 alpha^2 s_a2/tau
    + 13/8 S alpha^3 factor spread/tau``, and draws.
    """
    r, c, by = a.round, Fraction(1, 4), a.closed
    before, after, alpha = r.x - BEST, r.next - BEST, r.eta * tau
    u, wide = S * alpha, 1 + 1 / c
    G = whole_mean(r, a.weighted.g())
    of_D = S * r.eta * (1 + wide * u)
    size = r.eta**2 * tau**2 * by.factor
    of_g = alpha**2 * (1 + c + 2 * by.of_gradient * a.rho)
    of_g = of_g + of_D * size * tau * a.share
    noise = r.eta * alpha * a.samples(1 + c)
    noise = noise + S * r.eta * (1 + wide / LIMIT) * size * a.spread
    lost = (2 - KEPT) * alpha - 2 * S * of_g
    d = by.factor * a.share
    square = combine([(a.small, 1 + LIMIT * u)])
    kept: list[tuple[Theorem, Number]] = [
        (a.rate, alpha * 2 * (1 + c) / LIMIT),
        (square, alpha * 2 * d / LIMIT**2),
        (a.small, alpha * 2 * d * wide * u**2 / LIMIT),
        (square, alpha * 2 * d * wide / LIMIT**3),
    ]
    drawn = r.drift(tau, a.weighted.share)
    gain = gap(a.weighted) * (KEPT * alpha)
    return combine(
        [
            (progress(a.weighted), 2 * r.eta),
            (a.weighted.averaged(drawn), -S * r.eta),
            (whole_update(r, before), -2),
            (whole_update(r, r.next - r.x), -1),
            (whole_update(r, G), r.eta),
            (second_moment(a, c), r.eta**2),
            (drift(a), of_D),
            (small_gradient(a), of_g),
            (rules.lowest(MEAN, r.x), lost),
            (a.small, wide / LIMIT * S * r.eta * size * a.spread),
        ],
        target=norm2(before) - norm2(after) + constant(noise) - gain,
        signs=[sign(lost, *kept)],
    )


def mean_gap(a: Sharp) -> Theorem:
    """Return the sum over rounds; the distances telescope."""
    c, r = 1 / (KEPT * tau * T), a.round
    away = rules.telescope(t, norm2(r.x - BEST), T)
    last = iterate(r.run, T) - BEST
    return combine([(sum_over(approach(a), steps(T), t), c), (away, c)], [(last, c)])
