r"""One round without bounded gradients, and what it comes to over T rounds.

SFL-V1, where clients may be drawn, and SFL-V2 with server steps weighted by a_n in any
order of the visits; both sides make tau steps. ``alpha = eta tau``. The drift stands at
its own order alpha^3, so the leading noise is that of the mean of all clients' samples,
``s_a2/tau`` with ``s_a2 = sum a_n^2 sigma_n^2``. Draws add ``sum a_n^2 (1/q_n - 1)``
times the squared sums of the clients' own gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import CLIENTS, MEAN, Vec, constant, norm2, weight
from sfl_theory.proofs import derived, sharp_drift
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.foundations import smooth_mean
from sfl_theory.proofs.local_steps import Round, S, eps2, i, n, now, whole_mean, young
from sfl_theory.proofs.notation import combine, mean, of, sign, sum_over
from sfl_theory.proofs.sharp_drift import Closed, s_a2, sbar2, smallness
from sfl_theory.proofs.weighted_rounds import (
    BEST,
    Analysed,
    T,
    gap,
    odds,
    progress,
    tau,
)

LIMIT = 8
"""The step size is at most 1/(LIMIT S tau), where clients are drawn less."""
HALF_WAY = Fraction(2, 3)
"""Young's c in the drift at the larger rates of the paper."""


@dataclass(frozen=True)
class Sharp(Analysed):
    """An algorithm, and how its learning rate is limited.

    Attributes:
        apart: ``LIMIT S eta tau`` is at most 1/reach and at most 1/(2 rho); else at
            most 1/(reach + 2 rho).
        limit: ``limit S eta tau <= 1`` where everyone takes part.
    """

    apart: bool = False
    limit: Fraction = Fraction(LIMIT)

    @property
    def closed(self) -> Closed:
        """What closes the drift."""
        visits = self.kind.visits
        c = Fraction(1, 7 if visits else 10)
        return Closed(self.limit, c if self.limit >= LIMIT else HALF_WAY, visits)

    @property
    def share(self) -> Fraction:
        """Of gradients in the drift: 1/3, for visits 1."""
        return Fraction(1) if self.kind.visits else Fraction(1, 3)

    @property
    def reach(self) -> Ratio:
        """The most that visits weigh together: ``sum a_n/q_n`` where they are drawn."""
        return sharp_drift.reach(self.round) if self.kind.visits else ratio(1)

    @property
    def spread(self) -> Ratio:
        """What the drift is beside the gradient of f: noise and heterogeneity."""
        apart = self.share * self.reach**2 * tau * eps2
        if not self.kind.visits:
            return sbar2 / 2 + apart
        inverse = 1 + odds if self.partial else 1
        return sbar2 / 2 + self.reach * mean(n, self.squares * inverse) + apart

    @property
    def squares(self) -> Ratio:
        """``a_n^2 sigma_n^2``."""
        return weight(n) ** 2 * local.sigma2(n)

    @property
    def rho(self) -> Ratio:
        """``sum a_n^2 (1/q_n - 1)``, 0 where everyone takes part."""
        return mean(n, weight(n) ** 2 * odds) if self.partial else ratio(0)

    @property
    def wide(self) -> Ratio:
        """``reach + 2 rho``, by which the step size is smaller."""
        return self.reach + 2 * self.rho

    @property
    def near(self) -> Fraction:
        """What the drift costs more where the draws decide on the points."""
        return Fraction(13 if self.partial and self.kind.visits else 8, 8)

    @property
    def lost(self) -> Fraction:
        """The share of the gradient that drift and draws may cost."""
        apart = self.near * self.closed.factor * self.share / self.limit**2
        if not self.partial:
            return apart
        return apart + (Fraction(5, 48) if self.kind.visits else self.own / LIMIT)

    @property
    def full(self) -> Fraction:
        """What samples cost at second order, over ``S eta^2 tau s_a2/2``."""
        return self.limit / (self.limit - 1)

    @property
    def own(self) -> Fraction:
        """Of the gradient in a client's sum."""
        return self.closed.of_gradient

    @property
    def rate(self) -> Theorem:
        """``limit S eta tau wide <= 1``, an assumption."""
        return rules.assume(smallness(self.round, self.limit * self.wide))

    def limited(self, by: Ratio) -> Theorem:
        """Return ``limit S eta tau by <= 1``: an assumption, or it follows."""
        target = smallness(self.round, self.limit * by)
        if self.apart:
            return rules.assume(target)
        return combine(self.rate, target=target)

    @property
    def small(self) -> Theorem:
        """``limit S eta tau reach <= 1``."""
        return self.limited(self.reach)

    def under_rate(self, theorem: Theorem) -> Theorem:
        """Return a theorem on ``limit S eta tau reach <= 1`` under `rate`."""
        return rules.cut(theorem, self.small)

    def samples(self, full: Fraction) -> Ratio:
        """Return what samples cost at second order, and draws: `full` of s_a2."""
        if not self.partial:
            return full * s_a2
        drawn, apart = mean(n, self.squares * odds), 2 * tau * eps2 * self.rho
        if self.kind.visits:
            return Fraction(5, 4) * (s_a2 + drawn + apart)
        return full * s_a2 + self.closed.of_noise * drawn + self.own * apart


def drift(a: Sharp) -> Theorem:
    """Return ``D <= factor eta^2 tau^2 (share tau ||grad f||^2 + spread)``."""
    r, by = a.round, a.closed
    size = r.eta**2 * tau**3 * by.factor * a.share
    if a.kind.visits:
        one = sharp_drift.drift(r, by)
    else:
        one = sum_over(sharp_drift.client_drift(r, by), CLIENTS, n, weight(n))
    return a.under_rate(combine(one, (local.own_size(r), size)))


def means(r: Round) -> tuple[Vec, Vec]:
    """Return the sums of gradients and of noise over steps, averaged over clients."""
    return local.own_mean(r, r.local_gradient(of(i))), local.own_mean(r, r.noise(of(i)))


def descent(a: Sharp) -> Theorem:
    """Return ``f(x') <= f(x) - eta <grad f, M> + S eta^2/2 (||M + Z||^2 + draws)``.

    ``draws = 2 of_gradient tau^2 rho (||grad f||^2 + eps2) + of_noise tau sum w
    sigma_n^2``, w = a_n^2 (1/q_n - 1).
    """
    r = a.round
    g, half = r.gradient, S * r.eta**2 / 2
    uses: list[tuple[Theorem, Number]] = [
        (local.whole_descent(r), 1),
        (local.whole_centred(r, g), r.eta),
    ]
    if a.partial:
        G = whole_mean(r, a.weighted.g())
        averaged = derived.expect(r.run, now, k.inner(g, G))
        uses += [(averaged, r.eta), (second_by_draws(a), half)]
    return combine(*uses)


def second_by_draws(a: Sharp) -> Theorem:
    """Return how much drawing adds to the squared move, ``||G||^2`` with draws."""
    r, by = a.round, a.closed
    G, w = whole_mean(r, a.weighted.g()), weight(n) ** 2 * odds
    own = a.under_rate(sharp_drift.client_sum(r, by))
    return combine(
        (derived.expect(r.run, now, norm2(G)), -1),
        sum_over(own, CLIENTS, n, w),
        (local.own_gradients(r, w), tau**2 * by.of_gradient),
    )


def cost(a: Sharp) -> Ratio:
    """Return what samples and heterogeneity cost in a round."""
    eta, full = a.round.eta, a.full
    second = S * eta**2 * tau * a.samples(full)
    third = S**2 * eta**3 * tau**2 * a.near * a.closed.factor * a.spread
    return (second + third) / 2


@cache
def one_round(a: Sharp) -> Theorem:
    """Return ``(1 - lost) alpha/2 ||grad f||^2 <= f(x) - f(x') + cost``."""
    r, by = a.round, a.closed
    eta, g, theta = r.eta, r.gradient, a.limit - 1
    M, Z = means(r)
    alpha, half = eta * tau, S * eta**2 / 2
    u = S * alpha
    m_left = eta / (2 * tau) - (1 + theta) * half
    share, own = by.factor * a.share, by.of_gradient
    g_left = alpha / 2 * (a.lost - u**2 * share - 2 * u * a.rho * own)
    square = combine((a.small, 1 + a.limit * u))
    spare = [(square, alpha / 2 * by.factor * a.share / a.limit**2)]
    if a.partial:
        spare.append((a.limited(2 * a.rho), alpha / 2 * own / LIMIT))
    return combine(
        descent(a),
        (local.whole_deviation(r), eta / (2 * tau)),
        (young(M, Z, theta), half),
        (local.whole_noise(r), half * (1 + 1 / theta)),
        (drift(a), eta * S**2 / 2),
        (M, m_left),
        (g, g_left),
        target=r.fall + constant(cost(a)) - norm2(g) * (alpha / 2 * (1 - a.lost)),
        signs=[sign(m_left, (a.small, eta / (2 * tau))), sign(g_left, *spare)],
    )


# General convex ----------------------------------------------------------------------


def small_gradient(a: Sharp) -> Theorem:
    """Return ``||grad f(x)||^2 <= 2 S (f(x) - f*)``: a step 1/S would lower f so."""
    r, g = a.round, a.round.gradient
    lower = r.x - g * (1 / S)
    uses = [(smooth_mean(S, r.x, lower), 2 * S), (derived.lowest(MEAN, lower), 2 * S)]
    return combine(*uses, target=gap(a.weighted) * (2 * S) - norm2(g))


def second_moment(a: Sharp, c: Fraction) -> Theorem:
    """Return ``||G||^2 <= (1+c)(tau^2 ||grad f||^2 + tau s_a2) + (1+1/c) tau S^2 D``.

    And what draws add. G = tau grad f + Z + what gradients change; the noise Z is
    orthogonal to grad f.
    """
    r, g = a.round, a.round.gradient
    M, Z = means(r)
    grown = 1 + c
    drawn = [(second_by_draws(a), 1)] if a.partial else []
    return combine(
        young(g * tau + Z, M - g * tau, c),
        (local.whole_centred(r, g), -2 * tau * grown),
        (local.whole_noise(r), grown),
        (local.whole_deviation(r), 1 + 1 / c),
        *drawn,
    )


KEPT = Fraction(8, 5)
"""``KEPT alpha`` of the 2 alpha (f(x) - f*) that a round gains are kept."""


@cache
def approach(a: Sharp) -> Theorem:
    """Return how much nearer a round brings the model, see `nearer_by`."""
    r, c = a.round, Fraction(1, 4)
    drawn = r.drift(tau, a.weighted.share)
    uses = [
        (a.weighted.averaged(drawn), -S * r.eta),
        (second_moment(a, c), r.eta**2),
    ]
    own = 1 + c + 2 * a.closed.of_gradient * a.rho
    return nearer_by(a, c, uses, own, drift(a))


def nearer_by(
    a: Sharp,
    c: Fraction,
    uses: Sequence[tuple[Theorem, Number]],
    own: Ratio,
    drift: Theorem,
) -> Theorem:
    """Return how much nearer a round brings the model.

    ``||x' - x*||^2 <= ||x - x*||^2 - KEPT alpha (f(x) - f*) + (1 + c) alpha^2 s_a2/tau
    + 13/8 S alpha^3 factor spread/tau``, and draws.

    Args:
        a: the algorithm.
        c: Young's, in the second moment.
        uses: the second moment, with `own` of ``alpha^2 ||grad f||^2``.
        own: the share of the gradient in it.
        drift: of the local points.
    """
    r, by = a.round, a.closed
    before, after, alpha = r.x - BEST, r.next - BEST, r.eta * tau
    u, wide = S * alpha * a.reach, 1 + 1 / c
    of_D = S * r.eta * (1 + wide * u)
    size = r.eta**2 * tau**2 * by.factor
    of_g = alpha**2 * own + of_D * size * tau * a.share * a.reach**2
    noise = r.eta * alpha * a.samples(1 + c)
    noise = noise + S * r.eta * (1 + wide / LIMIT) * size * a.spread
    lost = (2 - KEPT) * alpha - 2 * S * of_g
    d = by.factor * a.share
    square = combine((a.small, 1 + LIMIT * u))
    kept: list[tuple[Theorem, Number]] = [
        (a.rate, alpha * 2 * (1 + c) / LIMIT),
        (square, alpha * 2 * d / LIMIT**2),
        (a.small, alpha * 2 * d * wide * u**2 / LIMIT),
        (square, alpha * 2 * d * wide / LIMIT**3),
    ]
    gained = norm2(before) - norm2(after) + constant(noise)
    return combine(
        (progress(a.weighted), 2 * r.eta),
        (local.whole_update(r, before), -2),
        (local.whole_update(r, r.next - r.x), -1),
        (local.whole_update(r, whole_mean(r, a.weighted.g())), r.eta),
        *uses,
        (drift, of_D),
        (small_gradient(a), of_g),
        (derived.lowest(MEAN, r.x), lost),
        (a.small, wide / LIMIT * S * r.eta * size * a.spread),
        target=gained - gap(a.weighted) * (KEPT * alpha),
        signs=[sign(lost, *kept)],
    )


# SFL-V2 with weighted server steps, in any order of the visits: a repair of (16) ------

VISITS = Sharp(k.Kind.V2_WEIGHTED)


def one_round_of_visits() -> Theorem:
    """Return ``eta tau/4 ||grad f||^2 <= f(x) - f(x') + cost``, 16 S eta tau <= 1.

    cost = ``S eta^2 (tau s_a2 + tau/8 sbar2 + tau^2/8 eps2)``. Every term is larger
    than that of `one_round`.
    """
    a, r, g = VISITS, VISITS.round, VISITS.round.gradient
    size = S * r.eta**2
    spread = size * (tau * s_a2 + tau / 8 * sbar2 + tau**2 / 8 * eps2)
    small = rules.assume(constant(1 - 16 * S * r.eta * tau))
    half = combine((small, Fraction(1, 2)), target=constant(1 - 8 * S * r.eta * tau))
    sharp = rules.cut(one_round(a), half)
    drift = size * tau * a.near * a.closed.factor * a.spread
    target = r.fall + constant(spread) - norm2(g) * (r.eta * tau / 4)
    more = r.eta * tau * ((1 - a.lost) / 2 - Fraction(1, 4))
    return combine((sharp, 1), (g, more), (small, drift / 32), target=target)


def rounds_of_visits() -> Theorem:
    """Return the sum over rounds."""
    return local.over_rounds(one_round_of_visits(), VISITS.round, T, 4 / (T * tau))
