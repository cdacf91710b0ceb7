r"""Without bounded gradients: SFL-V2's round with drawn clients, rates of T rounds.

Server steps weighted by a_n, updates aggregated. Draws decide on the local points: the
deviation from the gradients at x is split into its mean B given x, which turns the
round, and the rest, which only adds to the squared move:
``G = tau grad f + B + L + Z + (Delta - B)``, L what the draws make of the gradients at
x, Z the noise; the first two are orthogonal to the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import (
    CLIENTS,
    Lin,
    Rate,
    Split,
    Var,
    constant,
    norm2,
    weight,
)
from sfl_theory.proofs import derived, sharp_drift, sharp_rounds
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import partial_visits as drawn
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.local_steps import (
    G2,
    Round,
    S,
    n,
    nearer,
    now,
    over_rounds,
    sigma2,
    young,
)
from sfl_theory.proofs.notation import combine, mean, of_round, sign, sum_over
from sfl_theory.proofs.partial_visits import B, Delta, L, Z, g
from sfl_theory.proofs.sharp_rounds import KEPT, LIMIT, Sharp, cost
from sfl_theory.proofs.strongly_convex import mu
from sfl_theory.proofs.weighted_rounds import T, Weighted, descent, odds, tau

C = Fraction(1, 4)
"""Young's c between ``L + Z`` and ``Delta - B``."""
OF_REST = 1 + 1 / C


@cache
def drift(a: Sharp) -> Theorem:
    """Return ``D <= factor eta^2 tau^2 (reach^2 tau ||grad f||^2 + spread)``.

    D = sum_n a_n J_n sum_i ||p_i - x||^2, averaged over the draws.
    """
    r, by = a.round, a.closed
    size, w = r.eta**2 * tau**2 * by.factor, sharp_drift.share(r)
    noise = constant(mean(n, w * sigma2(n)))
    squares = constant(mean(n, w**2 * sigma2(n)))
    one = combine(
        sharp_drift.drift(r, by),
        (local.own_size(r), size * tau * a.reach**2),
        (derived.expect(r.run, now, noise), -size / 2),
        (derived.expect(r.run, now, squares), -size * a.reach),
    )
    return a.under_rate(one)


def second_moment(a: Sharp) -> Theorem:
    """Return what ``||G||^2`` is at most.

    ``||tau grad f + B||^2 + (1 + c)(2 rho tau^2 (||grad f||^2 + eps2) + tau sum
    a_n^2/q_n sigma_n^2) + (1 + 1/c)(reach tau S^2 D - ||B||^2)``.
    """
    r, V, turned = a.round, Delta - B, g * tau + B
    return combine(
        young(L + Z, V, C),
        (drawn.mean_of_gradients(turned), -2),
        (drawn.centred(turned), -2),
        (rules.tower(r.run, now, Delta, turned), 2),
        (drawn.centred(L), -2 * (1 + C)),
        (drawn.spread_of_gradients(), 1 + C),
        (drawn.noise_size(), 1 + C),
        (rules.tower(r.run, now, Delta, B), -2 * OF_REST),
        (drawn.deviation(), OF_REST),
    )


def fewer_draws() -> Theorem:
    """Return ``sum a_n^2 (1/q_n - 1) <= sum a_n (1/q_n - 1)``."""
    return sum_over(rules.weight_below_one(n), CLIENTS, n, weight(n) * odds)


@cache
def drawn_round(a: Sharp) -> Theorem:
    """Return ``(1 - lost) alpha/2 ||grad f||^2 <= f(x) - f(x') + cost``."""
    r, by = a.round, a.closed
    eta, alpha, half = r.eta, r.eta * tau, S * r.eta**2 / 2
    u, k = S * alpha, a.reach
    of_D = eta * S**2 / 2 * (1 + OF_REST * k * u)
    m_left = eta / (2 * tau) - half
    share = by.factor * (k * u) ** 2
    g_left = a.lost - 2 * (1 + C) * u * a.rho - (1 + OF_REST * k * u) * share
    g_left = alpha / 2 * g_left
    square = combine((a.small, 1 + LIMIT * k * u))
    draws = Fraction(5, 48)
    spare: list[tuple[Theorem, Number]] = [
        (a.rate, alpha / 2 * draws),
        (fewer_draws(), alpha / 2 * draws * LIMIT * u),
        (square, alpha / 2 * (a.lost - draws)),
        (a.small, alpha / 2 * share * OF_REST / LIMIT),
    ]
    third = eta**2 * tau**2 * by.factor * a.spread
    return combine(
        local.whole_descent(r),
        (drawn.mean_of_gradients(g), eta),
        (drawn.centred(g), eta),
        (rules.tower(r.run, now, Delta, g), -eta),
        (second_moment(a), half),
        (drawn.mean_deviation(), eta / (2 * tau)),
        (drift(a), of_D),
        (a.small, eta * S**2 / 2 * OF_REST / LIMIT * third),
        (g * tau + B, m_left),
        (B, half * OF_REST),
        (g, g_left),
        target=r.fall + constant(cost(a)) - norm2(g) * (alpha / 2 * (1 - a.lost)),
        signs=[sign(m_left, (a.small, eta / (2 * tau))), sign(g_left, *spare)],
    )


@cache
def drawn_approach(a: Sharp) -> Theorem:
    """Return how much nearer a round brings the model, see `sharp_rounds.nearer_by`."""
    eta2 = a.round.eta**2
    uses = [(second_moment(a), eta2), (young(g * tau, B, C), eta2)]
    return sharp_rounds.nearer_by(a, C, uses, (1 + C) * (1 + 2 * a.rho), drift(a))


# SFL-V2 with drawn clients under bounded gradients, non-convex, for every rate --------

VISITS = Weighted(k.Kind.V2_WEIGHTED, partial=True)


def bounded_non_convex() -> Theorem:
    """Return the sum over rounds; the values of f telescope."""
    return local.over_rounds(descent(VISITS), VISITS.round, T, 2 / (T * tau))


def bounded_strongly_convex() -> Theorem:
    """Return the gap after t rounds at ``eta_t = 4 u/(mu tau)``, u = 1/(gamma + t).

    At most ``(gamma u)^4 phi_0 + 8/3 S c1 G2 u/mu^2 + 16 S^2 cd G2 u^2/mu^3``.
    """
    r = local.Round(strong.run(VISITS.kind, k.Participants.UPDATES))
    u, own = 1 / (strong.gamma + now), strong.S
    family = k.RoundFamily("eta", Sort.POSITIVE)
    values = ((family, r.run.client.rate), (strong.S_VARIABLE, own))
    first = 8 * own * VISITS.c1 * G2 / strong.mu**2
    second = 32 * own**2 * VISITS.cd * G2 / strong.mu**3
    right = strong.gap(r, now) * (1 - 4 * u) + constant(first * u**2 + second * u**3)
    one = combine(
        rules.instantiate(descent(VISITS), values, ()),
        (strong.gradient_domination(r.x), 2 * u / strong.mu),
        target=right - strong.gap(r, now + 1),
    )
    return strong.by_recursion(r, one, first, second)


# From one round to T rounds: three rates ----------------------------------------------


def one_round(a: Sharp) -> Theorem:
    """Return ``(1 - lost) alpha/2 ||grad f||^2 <= f(x) - f(x') + cost``.

    For drawn clients of SFL-V1 under two limits of the rate, one for the draws.
    """
    if a.partial and a.kind.visits:
        return drawn_round(a)
    return sharp_rounds.one_round(replace(a, apart=a.partial))


def approach(a: Sharp) -> Theorem:
    """Return how much nearer a round brings the model."""
    drawn = a.partial and a.kind.visits
    return drawn_approach(a) if drawn else sharp_rounds.approach(a)


def non_convex(a: Sharp) -> Theorem:
    """Return the sum over rounds; the values of f telescope."""
    return over_rounds(one_round(a), a.round, T, 2 / (T * tau * (1 - a.lost)))


# Strongly convex ---------------------------------------------------------------------

SMOOTH = strong.S
BEYOND = Var("beyond", Sort.NONNEGATIVE)
WIDE = 1 + k.symbol(BEYOND)


@dataclass(frozen=True)
class Decay:
    """The recursion ``phi' <= (1 - p u) phi + A u^2 + B u^3``, u = 1/(gamma + t)."""

    a: Sharp

    @property
    def printed(self) -> bool:
        """Whether the rate is that of the paper, ``4/(mu tau (8 S/mu - 1 + t))``."""
        return self.a.limit != LIMIT

    @property
    def step(self) -> Fraction:
        """The rate is ``step/(mu tau (gamma + t))``: 4.1, with draws 4.75."""
        if self.printed:
            return Fraction(4)
        return Fraction(19, 4) if self.a.partial else Fraction(41, 10)

    @property
    def decay(self) -> int:
        """By which power the first gap falls."""
        return 2 if self.printed else 4

    @property
    def gamma(self) -> Ratio:
        """``33 S/mu``, with draws ``38 w S/mu``, w >= reach + 2 rho any number."""
        if self.printed:
            return strong.gamma
        return 38 * WIDE * SMOOTH / mu if self.a.partial else 33 * SMOOTH / mu

    @property
    def rate_of(self) -> Rate:
        """The rate."""
        return Rate(self.step / (mu * tau * (self.gamma + of_round())))

    def at_rate(self, theorem: Theorem) -> Theorem:
        """Return a theorem at this rate, for S = mu + s and w as large; it is small."""
        family = k.RoundFamily("eta", Sort.POSITIVE)
        values = ((family, self.rate_of), (strong.S_VARIABLE, SMOOTH))
        fast = rules.instantiate(theorem, values, ())
        alpha, wide = tau * self.rate_of.at(now), self.a.wide
        wider = [(rules.assume(self.enough), self.a.limit * SMOOTH * alpha)]
        limits = [wide]
        if self.a.partial and not self.a.kind.visits:
            limits = [self.a.reach, 2 * self.a.rho]
        for limit in limits:
            small = constant(1 - self.a.limit * limit * SMOOTH * alpha)
            uses = wider if self.a.partial else ()
            fast = rules.cut(fast, combine(*uses, target=small))
        return fast

    @property
    def enough(self) -> Lin:
        """``w - reach - 2 rho``."""
        return constant(WIDE - self.a.wide)

    @property
    def run(self) -> Split:
        """The run at this rate."""
        return self.a.weighted.at(self.rate_of)

    @property
    def power(self) -> Fraction:
        """P, more than `decay`."""
        return self.step * (1 - self.a.lost)

    @property
    def A(self) -> Ratio:
        """Of samples and draws."""
        samples = self.a.samples(self.a.full)
        return self.step**2 / 2 * SMOOTH * samples / (tau * mu**2)

    @property
    def B(self) -> Ratio:
        """Of the drift."""
        size = self.a.near * self.a.closed.factor / 2 * self.step**3
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
        return combine(*uses, target=right - self.gap(now + 1))

    def rate(self) -> Theorem:
        """Return what is left after every round, by induction."""
        always = strong.by_recursion(
            Round(self.run),
            self.one_round(),
            self.A,
            self.B,
            self.power,
            self.gamma,
            self.decay,
        )
        if not self.a.partial:
            return always
        here = rules.instantiate(always, ((BEYOND, self.a.wide - 1),), ())
        return rules.cut(here, combine(target=constant(0)))


def mean_gap(a: Sharp) -> Theorem:
    """Return the sum over rounds; the distances telescope."""
    return nearer(approach(a), a.round, T, 1 / (KEPT * tau * T))
