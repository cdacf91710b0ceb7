r"""Strongly convex: noise of the last model's gap at its own order.

A round lowers the gap by what the gradient is, and the gradient is large where the gap
is: with :math:`\Delta=\|x-x^*\|^2`, for every c > 0,

.. math:: \|\nabla f(x)\|^2\ge2c(f(x)-f^*)-c(c-\mu)\Delta,

the square of :math:`\nabla f(x)-c(x-x^*)`. Distances have noise without S,
:math:`\Delta_t=O(\sigma^2/(\mu^2t))`; with :math:`c=\sqrt{S\mu}` both enter the gap by
:math:`\sqrt{S/\mu}\sigma^2/(\mu t)`, where :math:`\|\nabla f\|^2\ge2\mu(f-f^*)`
alone leaves :math:`S/\mu`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived, notation, sharp_rounds, visited, weighted_rounds
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import partial_visits as visits
from sfl_theory.proofs.foundations import convex_mean, growth
from sfl_theory.proofs.local_steps import G2, S, i, n, now, t, young
from sfl_theory.proofs.notation import Use, combine, mean, of, sign, sum_over
from sfl_theory.proofs.sharp_drift import s_a2
from sfl_theory.proofs.sharp_rounds import Sharp
from sfl_theory.proofs.strongly_convex import S_VARIABLE, mu
from sfl_theory.proofs.weighted_rounds import (
    BEST,
    ETA,
    Analysed,
    client_sum,
    odds,
    own_drift,
    tau,
)

SHARE = Fraction(1, 8)
"""Of the gradient's square, what the drift may take."""


@dataclass(frozen=True)
class Noisy(Analysed):
    """An algorithm at the rates eta(t).

    Attributes:
        bounded: gradients are; else those of SFL-V1's clients are near that of f, and
            the drift has a share of its square.
    """

    kind: k.Kind = k.Kind.V1
    bounded: bool = True

    @property
    def fastest(self) -> Fraction:
        """``S eta tau`` is at most this."""
        return Fraction(4, 7) if self.bounded else Fraction(1, 8)

    @property
    def small(self) -> Theorem:
        """That, an assumption."""
        return rules.assume(k.constant(1 - eps / self.fastest))

    @property
    def pull(self) -> Fraction:
        """How much less of the gradient's square counts at larger rates, over eps."""
        return Fraction(1, 2) if self.bounded else Fraction(5, 8)

    @property
    def wide(self) -> Fraction:
        """Young's constant, over eps, for what gradients change along the gradient."""
        return Fraction(7, 3) if self.bounded else Fraction(2)

    @property
    def sharp(self) -> Sharp:
        """The algorithm without bounded gradients."""
        return Sharp(self.kind)

    @property
    def own(self) -> Fraction:
        """Of ``||grad f||^2`` in the mean squared way of the local points."""
        return Fraction(0) if self.bounded else self.sharp.closed.factor / 3

    @property
    def drawn_visits(self) -> bool:
        """Whether those who are drawn share a server, so that they decide on points."""
        return self.partial and self.kind.visits

    @property
    def d(self) -> k.Vec:
        """What gradients change on the way, summed over steps, in the mean.

        Where visits are drawn, given the model.
        """
        if self.drawn_visits:
            return visits.B
        M = local.own_mean(self.round, self.round.local_gradient(of(i)))
        return M - self.round.gradient * tau

    @property
    def spread(self) -> Ratio:
        """What the mean squared way of the local points is at most, over alpha^2.

        Where visits are drawn, also for a client's way and what draws make of it.
        """
        if not self.bounded:
            return self.sharp.closed.factor * self.sharp.spread / tau
        if self.drawn_visits:
            draws = Fraction(40, 7) * visits.rho * (2 + visits.rho)
            return (visits.FOURTH + draws) * G2
        if self.kind.visits:
            return G2 / 2
        return (1 - 1 / tau) * (2 - 1 / tau) * G2 / 6

    @property
    def noise(self) -> Ratio:
        """Of samples and draws, so much is the squared move's, over ``alpha^2``."""
        if self.drawn_visits:
            return visits.sigma_q / tau + Fraction(5, 4) * visits.rho * G2
        draws = mean(n, k.weight(n) ** 2 * odds) * G2
        return s_a2 / tau + draws if self.partial else s_a2 / tau


eta = ETA.at(now)
alpha = eta * tau
eps = S * alpha


# One round at the rates eta(t) -------------------------------------------------------


def move(a: Noisy) -> k.Vec:
    """Return ``G``, so that ``x' = x - eta G``."""
    return local.whole_mean(a.round, a.weighted.g())


def aim(a: Noisy, u: k.Vec) -> Theorem:
    """Return ``<G, u> = <tau grad f + d, u>`` for u that is fixed by x."""
    if a.drawn_visits:
        centred = visits.mean_of_gradients(u), visits.centred(u)
        return combine(*centred, (rules.tower(visits.RUN, now, visits.Delta, u), -1))
    return combine(
        a.weighted.averaged(k.inner(move(a), u)), local.whole_centred(a.round, u)
    )


def drift(a: Noisy) -> Theorem:
    """Return ``D <= tau alpha^2 (own ||grad f||^2 + spread)``, D summed over steps."""
    if not a.bounded:
        return sharp_rounds.drift(a.sharp)
    if a.drawn_visits:
        return weighted_rounds.drift(a.weighted)
    if a.kind.visits:
        return visited.bounded_drift(a.round)
    return a.round.summed(own_drift(a.weighted), tau, k.weight(n))


@cache
def small_change(a: Noisy) -> Theorem:
    """Return ``||d||^2 <= S^2 tau^2 alpha^2 (own ||grad f||^2 + spread)``."""
    drawn = a.drawn_visits
    change = visits.mean_deviation() if drawn else local.whole_deviation(a.round)
    return combine(change, (drift(a), tau * S**2))


@cache
def squared_move(a: Noisy, times: int) -> Theorem:
    """Return what ``||G||^2`` is at most, g = grad f and ``c = times eps``.

    ``tau^2 ||g||^2 + 2 tau <g, d> + (1 + c) tau^2 noise
    + (1 + 1/c) S^2 tau^2 alpha^2 (own ||g||^2 + spread)``.
    """
    c, r = times * eps, a.round
    g, far = r.gradient, (S * alpha * tau) ** 2
    right = k.norm2(g) * (tau**2 + (1 + 1 / c) * far * a.own)
    right = right + k.inner(g, a.d) * (2 * tau)
    numbers = (1 + c) * tau**2 * a.noise + (1 + 1 / c) * far * a.spread
    target = right + k.constant(numbers) - k.norm2(move(a))
    if a.drawn_visits:
        return of_drawn_visits(a, c, target)
    Z = local.own_mean(r, r.noise(of(i)))
    uses: list[Use] = [(a.weighted.averaged(k.norm2(move(a))), -1)]
    if a.partial:
        own, spread = client_sum(a.weighted), k.weight(n) ** 2 * odds
        uses.append(sum_over(own, k.CLIENTS, n, spread))
    return combine(
        *uses,
        (local.whole_centred(r, g), -2 * tau),
        (Z * c - a.d, 1 / c),
        (local.whole_noise(r), 1 + c),
        (small_change(a), 1 + 1 / c),
        target=target,
    )


def of_drawn_visits(a: Noisy, c: Ratio, target: k.Lin) -> Theorem:
    """Return the same where visits are drawn: ``G = tau g + d + L + Z + V``.

    L is what draws make of the gradients at x, Z noise, V what both make of the way;
    given x these have the mean 0.
    """
    V, whole, wide = visits.Delta - a.d, a.round.gradient * tau + a.d, 1 + 1 / c
    L, Z, run = visits.L, visits.Z, visits.RUN
    size = 5 * wide * (S * alpha * tau) ** 2 * visits.rho * (2 + visits.rho) * G2
    return combine(
        young(L + Z, V, c),
        (visits.mean_of_gradients(whole), -2),
        (visits.centred(whole), -2),
        (rules.tower(run, now, visits.Delta, whole), 2),
        (visits.centred(L), -2 * (1 + c)),
        (visits.bounded_spread(), 1 + c),
        (visits.noise_size(), 1 + c),
        (rules.tower(run, now, visits.Delta, a.d), -2 * wide),
        (visits.bounded_deviation(), wide),
        (a.d, 1 / c),
        target=target,
        signs=[sign(size * (Fraction(8, 7) - c), (a.small, size * Fraction(8, 7)))],
    )


@cache
def values(a: Noisy) -> Theorem:
    """Return how much a round lowers f.

    ``f(x') <= f(x) - alpha (1 - SHARE - pull eps) ||grad f||^2
    + S/2 alpha^2 (1 + 2 eps) noise
    + S^2 alpha^3 (2 (1 - eps)^2 + eps/2 + 1/4) spread``, ``eps = S alpha``.
    """
    r, g, d = a.round, a.round.gradient, a.d
    of_d = (1 - eps) ** 2 / (4 * SHARE)
    noise = S * alpha**2 / 2 * (1 + 2 * eps) * a.noise
    drift = S**2 * alpha**3 * (of_d + eps / 2 + Fraction(1, 4)) * a.spread
    kept = k.norm2(g) * (alpha * (1 - SHARE - a.pull * eps))
    spare = (a.pull - Fraction(1, 2)) - a.own * eps * (of_d + eps / 2 + Fraction(1, 4))
    most = 2 * a.own * (Fraction(9, 8) + eps**2)
    return combine(
        (local.whole_descent(r), 1),
        (aim(a, g), eta),
        (squared_move(a, 2), S * eta**2 / 2),
        (g * (2 * SHARE * tau) + d * (1 - eps), eta / (4 * SHARE * tau)),
        (small_change(a), eta / tau * of_d),
        (g, alpha * eps * spare),
        target=r.fall - kept + k.constant(noise + drift),
        signs=[
            combine((rules.square(1 - eps), eta / (4 * SHARE * tau))),
            sign(alpha * eps * spare, (a.small, alpha * eps * most / 8)),
        ],
    )


def progress(a: Noisy) -> Theorem:
    """Return ``<G, x - x*> >= tau (f(x) - f*) + 3/8 mu tau ||x - x*||^2 - ... D``.

    D counts ``S/2 + 3/2 mu``: smoothness from a local point to x, convexity to x*.
    """
    r, w = a.round, a.weighted.share if a.drawn_visits else k.weight(n)
    p, e = r.point(of(i)), r.x - BEST
    gp, F = r.local_gradient(of(i)), k.Local(n)
    one = combine(
        rules.smooth(F, S, p, r.x),
        derived.convex(F, mu, p, BEST),
        ((p - r.x) * 4 + e, mu / 8),
    )
    if a.drawn_visits:
        own = k.value_of(F, r.x) - k.value_of(F, BEST) + k.norm2(e) * (3 * mu / 8)
        known = k.summed(k.CLIENTS, n, own * w)
        uses: list[Use] = [local.centred_by(r, w, e), (a.weighted.averaged(known), tau)]
    else:
        uses = [aim(a, e)]
    return combine(
        r.summed(one, tau, w),
        (drift(a), S / 2 + 3 * mu / 2),
        local.linear_both(r, gp, e, tau, w),
        (rules.mean_value(r.x), -tau),
        (rules.mean_value(BEST), tau),
        *uses,
    )


def slow(a: Noisy, spare: Ratio) -> Theorem:
    """Return that what is left of ``alpha^2 ||grad f||^2`` is not negative."""
    if a.bounded:
        return sign(alpha**2 * spare, (a.small, alpha**2 * a.fastest))
    c = 2 * eps**3 + Fraction(5, 4) * eps**2 + Fraction(69, 32) * eps
    flat = rules.assume(k.constant(1 - 8 * mu * alpha))
    each = (1 + a.own * (c + Fraction(581, 256))) / 8
    return sign(
        alpha**2 * spare,
        (a.small, alpha**2 * each),
        (flat, alpha**2 * a.own * Fraction(3, 8)),
    )


@cache
def distances(a: Noisy) -> Theorem:
    """Return how much nearer a round brings the model.

    ``(1 + mu alpha) ||x' - x*||^2 <= (1 - 3/4 mu alpha) ||x - x*||^2
    + alpha^2 (1 + eps)^2 noise
    + alpha^3 (S (2 + 2 eps + eps^2 + 7/3 eps^3) + 3 mu) spread``.
    """
    r, g, d = a.round, a.round.gradient, a.d
    e, after = r.x - BEST, r.next - BEST
    wide = a.wide
    of_d = wide * eps**2 + (1 + eps) * (1 + 1 / eps)
    noise = alpha**2 * (1 + eps) ** 2 * a.noise
    drift = alpha**3 * (S + 3 * mu + S * eps * of_d) * a.spread
    spare = 1 - 1 / wide - eps - a.own * (eps + 3 * mu * alpha + eps**2 * of_d)
    return combine(
        (progress(a), 2 * eta),
        (local.whole_update(r, e), -2),
        (local.whole_update(r, r.next - r.x), -1),
        (local.whole_update(r, move(a)), eta),
        (local.whole_descent(r), 2 * alpha),
        (aim(a, g), 2 * alpha * eta),
        (squared_move(a, 1), eta**2 * (1 + eps)),
        (g * tau - d * (wide * eps), eta**2 / wide),
        (g, alpha**2 * spare),
        (small_change(a), eta**2 * wide * eps**2),
        (growth(mu, r.next), 2 * alpha),
        target=k.norm2(e) * (1 - Fraction(3, 4) * mu * alpha)
        - k.norm2(after) * (1 + mu * alpha)
        + k.constant(noise + drift),
        signs=[slow(a, spare)],
    )


# At the rates 4/(mu tau (gamma + t)), S = mu z^2 -------------------------------------

above = notation.nonnegative("y")
"""``sqrt(S/mu) - 1``."""
z = 1 + above


def gamma(a: Noisy) -> Ratio:
    """Return the offset of the rates: the printed one, or ``32 S/mu``."""
    return 8 * z**2 - 1 if a.bounded else 32 * z**2


def rate(a: Noisy) -> k.Rate:
    """Return the rates."""
    return k.Rate(4 / (mu * tau * (gamma(a) + notation.of_round())))


@dataclass(frozen=True)
class Course:
    """What is left of the first gap, of noise and of drift after some rounds.

    Attributes:
        first: of the first gap.
        noise: of `Noisy.noise`, over 1/mu.
        drift: of `Noisy.spread`, over 1/mu.
    """

    first: Ratio
    noise: Ratio
    drift: Ratio

    def bound(self, a: Noisy) -> k.Lin:
        """Return their sum."""
        numbers = self.noise * a.noise + self.drift * a.spread
        return gap_after(a, ratio(0)) * self.first + k.constant(numbers / mu)


def late(a: Noisy, at: Ratio) -> Ratio:
    """Return ``u = 1/(gamma + t)``."""
    return 1 / (gamma(a) + at)


def distance(a: Noisy, at: Ratio) -> Course:
    """Return what ``mu ||x(t) - x*||^2`` is at most."""
    u = late(a, at)
    return Course(
        2 * (gamma(a) * u) ** 7,
        Fraction(8, 3) * u + 39 * z**2 * u**2,
        Fraction(64, 5) * (2 * z**2 + 3) * u**2 + 400 * z**4 * u**3,
    )


def height(a: Noisy, at: Ratio) -> Course:
    """Return what the gap is at most."""
    u = late(a, at)
    return Course(
        Fraction(3, 2) * z * (gamma(a) * u) ** 7,
        (Fraction(5, 2) * z - 1) * u + 36 * z**3 * u**2,
        2 * z * (17 * z**2 + 5) * u**2 + 300 * z**5 * u**3,
    )


def model(a: Noisy, at: Ratio) -> k.Vec:
    """Return ``x(t)``."""
    return k.iterate(a.weighted.at(rate(a)), at)


def gap_after(a: Noisy, at: Ratio) -> k.Lin:
    """Return ``f(x(t)) - f*``."""
    return k.value_of(k.MEAN, model(a, at)) - k.value_of(k.MEAN, BEST)


def at_rates(a: Noisy, theorem: Theorem) -> Theorem:
    """Return a theorem on round t at these rates, which are small enough."""
    values = (
        (S_VARIABLE, mu * z**2),
        (k.RoundFamily("eta", Sort.POSITIVE), rate(a)),
    )
    here, u = rules.instantiate(theorem, values, ()), late(a, now)
    for limit in (1 - 4 * z**2 * u / a.fastest, 1 - 32 * u):
        if rules.assume(k.constant(limit)).hypotheses <= here.hypotheses:
            here = rules.cut(here, combine(target=k.constant(limit)))
    return here


@cache
def distances_fall(a: Noisy) -> Theorem:
    """Return ``mu ||x(t) - x*||^2 <= distance(t)``, by induction."""
    u, first = late(a, now), model(a, ratio(0))
    kept = (1 - 3 * u) / (1 + 4 * u)

    def claim(at: Ratio) -> k.Lin:
        return distance(a, at).bound(a) * (1 / mu) - k.norm2(model(a, at) - BEST)

    spare = distance(a, now + 1).first - kept * distance(a, now).first
    step = combine(
        (at_rates(a, distances(a)), 1 / (1 + 4 * u)),
        (rules.assume(claim(now)), kept),
        (derived.lowest(k.MEAN, first), spare / mu),
        target=claim(now + 1),
    )
    base = combine((growth(mu, first), 2 / mu), target=claim(ratio(0)))
    return rules.induct(base, step, t, claim(now))


@cache
def gaps(a: Noisy) -> Theorem:
    """Return ``f(x(t)) - f* <= height(t)``, by induction."""
    u, x, zero = late(a, now), model(a, now), ratio(0)
    fall = 4 * u * (1 - SHARE - a.pull * 4 * z**2 * u)
    kept, pull = 1 - 2 * z * fall, z * (z - 1) * fall
    lowest = derived.lowest(k.MEAN, model(a, zero))

    def claim(at: Ratio) -> k.Lin:
        return height(a, at).bound(a) - gap_after(a, at)

    spare = height(a, now + 1).first - kept * height(a, now).first
    step = combine(
        at_rates(a, values(a)),
        (k.gradient(k.MEAN, x) - (x - BEST) * (z * mu), fall / mu),
        (convex_mean(mu, x, BEST), 2 * z * fall),
        (distances_fall(a), mu * pull),
        (rules.assume(claim(now)), kept),
        (lowest, spare - pull * distance(a, now).first),
        target=claim(now + 1),
    )
    base = combine((lowest, height(a, zero).first - 1), target=claim(zero))
    return rules.induct(base, step, t, claim(now))
