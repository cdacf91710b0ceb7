"""SFL-V2 as printed, for equal weights: (14), (20), (22), (175) and (177).

The server moves N times as fast as the clients, so in early rounds the rate is too
large for a descent. There the gap is small by itself: gradients along the run are
bounded, and so is that of f at x(t). Later a recursion keeps the claim.
The second moment of a round's move is bounded by that of the draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs import drawn_visits as visits
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.block_steps import decomposition, own_gradient
from sfl_theory.proofs.drawn_visits import (
    Drawn,
    T,
    drift,
    equal_weights,
    few,
    first_order,
    tau,
)
from sfl_theory.proofs.local_steps import G2, N, S, eps2, i, j, n, now, sigma2, t, young
from sfl_theory.proofs.notation import combine, inverse_q, mean, of, steps, sum_over
from sfl_theory.proofs.strongly_convex import gamma, gradient_domination, mu
from sfl_theory.proofs.visited import Visited, at_most_inverse


def cost(d: Drawn) -> Ratio:
    """Return what noise and heterogeneity of a round may cost."""
    q = mean(n, d.w**2 * d.inverse * sigma2(n))
    noise = Fraction(7, 8) * q + mean(n, d.w * sigma2(n)) / 8
    spread = Fraction(5, 4) * d.odds + Fraction(5, 8) * d.W * d.most
    return S * d.round.eta**2 * tau * (noise + tau * eps2 * spread)


@cache
def one_round(d: Drawn, given: Theorem | None = None) -> Theorem:
    """Return ``eta tau/4 ||grad f||^2 <= f(x) - f(x') + cost``; `given` is 8 z <= 1."""
    r, eta, g, z = d.round, d.round.eta, d.round.gradient, d.z
    gx, xi, far, share = r.own_gradient(), r.noise(of(i)), d.change(of(i)), d.w * d.J
    half, lam = S * eta**2 / 2, eta * S**2
    rate = given or rules.assume(d.rate)
    of_C, of_s = eta / 2 + 5 * half * tau * d.most, 2 * eta**2 * d.most**2 * tau**2
    of_c, of_A, of_Z = eta**2 * tau**2, half * tau**2 * 5 / 4, half * 5 / 4
    square = combine((rate, 1 + 8 * z))
    D_left = lam * (1 - 5 * of_s * S**2) - of_C * S**2
    near = derived.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    var = derived.variance(d.run, sigma2(n), n, now, of(i))
    r_n, in_drift, apart = d.inverse - 1, lam * tau * 5 / 2, gx - g
    noise = k.constant(mean(n, share**2 * sigma2(n)))
    left_over = mean(n, d.w**2 * d.inverse * sigma2(n)) / 4
    left_over = left_over + mean(n, d.w * sigma2(n)) / 8
    left_over = left_over + Fraction(5, 8) * tau * d.most * d.W * eps2
    signs = [notation.sign(D_left, (rate, lam * 5 / 16), (square, lam * 5 / 32))]
    uses: list[tuple[Theorem, Number]] = [
        (decomposition(r), 1),
        (drift(d), lam),
        (d.all(near, share), of_C + lam * 5 * of_s),
        (d.all(rules.blocks(far, far), share), of_C),
        (d.all(combine((r.away(of(i)), 1)), share), D_left),
        (sum_over(rules.blocks(gx, gx), k.CLIENTS, n, d.w**2 * r_n), of_A),
        (sum_over(own_gradient(r), k.CLIENTS, n, d.w**2 * r_n), of_A),
        (d.all(rules.blocks(xi, xi), share**2), of_Z),
        (d.all(var, share**2), of_Z),
        (d.expect(noise), -of_Z * tau),
        (rules.blocks(g, g), -eta * tau / 4 - 2 * d.odds * of_A),
        (sum_over(rules.blocks(apart, apart), k.CLIENTS, n, d.w), in_drift * of_s),
        (
            sum_over(derived.heterogeneity(eps2, n, r.x), k.CLIENTS, n, d.w),
            in_drift * of_s,
        ),
        (rate, S * eta**2 * tau * left_over),
    ]
    squares: list[tuple[k.Vec, Number]] = []
    for side in k.Side:
        W, size = mean(n, d.of(side)), of_s if side is k.Side.SERVER else of_c
        g_left = eta * tau * (W / 2 - Fraction(1, 4)) - in_drift * size * d.W
        g_left = g_left - of_A * (W**2 + 2 * d.odds)
        first, second = eta * tau * W * 5 / 32, eta * tau * W * 5 / 64
        signs.append(notation.sign(g_left, (rate, first), (square, second)))
        squares.append((k.part(side, g), g_left))
        own = young(k.part(side, g), k.part(side, apart), 1)
        uses += [
            (first_order(d, side), 1),
            (visits.second_order(d, side), S / 2),
            (sum_over(own, k.CLIENTS, n, d.w), in_drift * size / 2),
        ]
    uses += heavier(d, k.Side.CLIENT, of_C, of_A, of_Z)
    spare = sum_over(combine((k.part(k.Side.CLIENT, apart), 1)), k.CLIENTS, n, d.w)
    uses.append((spare, in_drift * (of_s - of_c)))
    target = r.fall + k.constant(cost(d)) - k.norm2(g) * (eta * tau / 4)
    return combine(*uses, *squares, target=target, signs=signs)


def heavier(
    d: Drawn, side: k.Side, of_C: Ratio, of_A: Ratio, of_Z: Ratio
) -> list[tuple[Theorem, Number]]:
    """Return what a side's terms lack if a_n stands in them for w_n >= a_n."""
    r, a, r_n = d.round, k.weight(n), d.inverse - 1
    below = rules.weight_below_one(n)
    signs = [combine(below), combine((below, 1 + a))]
    far, xi = k.part(side, d.change(of(i))), k.part(side, r.noise(of(i)))
    gx = k.part(side, r.own_gradient())

    def spare(u: k.Vec, factor: Ratio) -> Theorem:
        inside = sum_over(combine((u, 1)), steps(tau), i)
        return sum_over(inside, k.CLIENTS, n, factor, signs)

    own = sum_over(combine((gx, 1)), k.CLIENTS, n, (1 - a**2) * r_n, signs)
    return [
        (spare(far, d.J * (1 - a)), of_C),
        (spare(xi, d.J**2 * (1 - a**2)), of_Z),
        (own, of_A),
    ]


def printed_rate(d: Drawn) -> Theorem:
    """Return ``8 z <= 1`` from the theorem's learning rate, for equal weights."""
    r, a, (_, above) = d.round, k.weight(n), equal_weights()
    u = 8 * S * N**2 * tau * r.eta
    if not d.run.drawn:
        return combine(rules.assume(k.constant(1 - u)), target=d.rate)
    printed = rules.assume(k.constant(1 - u * mean(n, a**2 * d.inverse)))
    more = sum_over(above, k.CLIENTS, n, (N * a + 1) * d.inverse)
    return combine(printed, (more, 8 * S * r.eta * tau), target=d.rate)


@cache
def printed_round(who: k.Participants) -> Theorem:
    """Return (123) or (183), one round as printed, for equal weights."""
    d = Drawn(who)
    eta, a, g = d.round.eta, k.weight(n), d.round.gradient
    spread = mean(n, (a**2 + 1) * d.inverse * (sigma2(n) + eps2))
    target = d.round.fall + k.constant(2 * N * S * eta**2 * tau**2 * spread)
    target = target - k.norm2(g) * (eta * tau / 4)
    return combine(one_round(d, printed_rate(d)), target=target)


def rearranged(who: k.Participants) -> Theorem:
    """Return (124) or (184), for equal weights."""
    return combine((printed_round(who), 4 / tau))


def theorem(who: k.Participants) -> Theorem:
    """Return (16) or (22), for equal weights: a round summed."""
    return local.over_rounds(printed_round(who), Drawn(who).round, T, 4 / (T * tau))


# SFL-V2 as printed where clients are drawn, equal weights: (175) and (177) of G.3 ----

d = Drawn()
r, eta = d.round, d.round.eta
most = mean(n, inverse_q(n))
sigmas = mean(n, sigma2(n)) + 2 * most * mean(n, inverse_q(n) * sigma2(n))
v = S * eta * tau * most


def first_order_printed() -> Theorem:
    """Return (175) with the whole vector's move: J_n <= 1/q_n <= N/q_n."""
    spare = N * inverse_q(n) - d.J
    few = combine(at_most_inverse(r.run), target=k.constant(spare))
    away = sum_over(combine((r.away(of(i)), 1)), steps(tau), i)
    more = sum_over(away, k.CLIENTS, n, spare, [few])
    return combine(
        visits.first_order_by_drift(d, k.Side.SERVER), (more, eta * S**2 / 2)
    )


def drift_by_mean() -> Theorem:
    """Return ``D <= 6 N eta^2 tau^3 (sum 1/q_n)^2 (||grad f||^2 + eps2) + noise``.

    For ``8 S eta tau sum 1/q_n <= 1``; the noise is ``6/5 (eta tau)^2 sigmas``.
    """
    c, size, gx = Fraction(6, 5), 2 * (eta * tau * most) ** 2, r.own_gradient()
    small, spare = rules.assume(d.rate), c * (1 - 5 * S**2 * size) - 1
    own = c * size * tau * Fraction(5, 4)
    client = combine((k.part(k.Side.CLIENT, gx), 1))
    near = derived.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    F = k.norm2(r.gradient) + k.constant(eps2)
    return combine(
        (visits.drift(d), c),
        (d.all(near, d.J), 5 * c * size),
        (d.all(combine((r.away(of(i)), 1)), d.J), spare),
        (sum_over(rules.blocks(gx, gx), k.CLIENTS, n), own),
        (
            sum_over(client, k.CLIENTS, n),
            own - c * (eta * tau) ** 2 * tau * Fraction(5, 4),
        ),
        (sum_over(own_gradient(r), k.CLIENTS, n), own),
        target=F * (2 * N * own) + k.constant(c * (eta * tau) ** 2 * sigmas) - d.D,
        signs=[notation.sign(spare, (small, (1 + 8 * v) * Fraction(3, 16)))],
    )


def first_order_closed() -> Theorem:
    """Return (177) with the whole gradient and (sum 1/q_n)^2 behind eta^3."""
    return combine(
        visits.first_order_by_drift(d, k.Side.SERVER), (drift_by_mean(), eta * S**2 / 2)
    )


# Strongly convex, SFL-V2 as printed, for equal weights: (14) and (20) ----------------


@dataclass(frozen=True)
class OneOverT:
    """A claim ``gap <= X/(gamma + t)`` and what keeps it.

    Attributes:
        who: who takes part.
        X: the constant.
        slope: bounds the squared gradient of f at x(t), for any rates.
        descent: what f loses in a round.
        switch: from this value of gamma + t on the recursion is used.
        spare: what of X pays for the term of third order.
        share: G2 times it over mu (gamma + t) pays for ``gamma + t <= switch + 1``.
    """

    who: k.Participants
    X: Ratio
    slope: Theorem
    descent: Theorem
    switch: Ratio
    spare: Ratio
    share: Number

    @property
    def run(self) -> k.Split:
        """The run at the printed rates."""
        return strong.run(k.Kind.V2, self.who)

    def gap(self, at: Ratio) -> k.Lin:
        """Return ``f(x(at)) - f*``."""
        return strong.gap(local.Round(self.run), at)

    def claim(self, at: Ratio) -> k.Lin:
        """Return ``X/(gamma + t) - gap``."""
        return k.constant(self.X / (gamma + at)) - self.gap(at)

    def early(self, at: Ratio, *small: tuple[Theorem, Number]) -> Theorem:
        """Return the claim where gamma + t is small, or t = 0."""
        near = rules.instantiate(at_rate(self.slope), ((t, at),), ())
        uses = [(gradient_domination(k.iterate(self.run, at)), 1 / (2 * mu))]
        return combine(*uses, (near, 1 / (2 * mu)), *small, target=self.claim(at))

    def late(self) -> Theorem:
        """Return the claim at t + 1 from that at t where gamma + t >= switch."""
        u, slow = 1 / (gamma + now), rules.assume(k.constant(self.slowness))
        return combine(
            at_rate(self.descent),
            (gradient_domination(k.iterate(self.run, now)), 2 * u / mu),
            (rules.assume(self.claim(now)), 1 - 4 * u),
            (slow, self.spare * u**2),
            target=self.claim(now + 1),
        )

    @property
    def slowness(self) -> Ratio:
        """``1 - switch/(gamma + t)``."""
        return 1 - self.switch / (gamma + now)

    def rate(self) -> Theorem:
        """Return the claim for every t, by induction."""
        fast, then = rules.assume(k.constant(-self.slowness)), gamma + now + 1
        soon = combine((fast, gamma + now), target=k.constant(self.switch + 1 - then))
        early = self.early(now + 1, (soon, self.share * G2 / (mu * then)))
        step = rules.cases(self.late(), early, self.slowness)
        return rules.induct(self.early(ratio(0)), step, t, self.claim(now))

    def printed(self) -> Theorem:
        """Return the printed bound after T rounds; its last term is not needed."""
        last = rules.instantiate(self.rate(), ((t, T),), ())
        start = strong.S * (gamma + 1) / (2 * (gamma + T))
        return combine(last, (k.iterate(self.run, 0) - strong.BEST, start))


def at_rate(theorem: Theorem) -> Theorem:
    """Return a theorem at the printed rate, for S = mu + s."""
    rate = strong.run().client.rate
    family = k.RoundFamily("eta", Sort.POSITIVE)
    return strong.with_smoothness(rules.instantiate(theorem, ((family, rate),), ()))


# Theorem 3.9, strongly convex, (20): SFL-V2 as printed, drawn clients, equal weights


def sum_bound(d: Drawn, side: k.Side) -> Theorem:
    """Return ``||sum w_n J_n sum_i [g]_b||^2 <= tau^2 G2 E (sum w_n J_n)^2``."""
    share, g = d.of(side) * d.J, k.part(side, stochastic(d.run, n, now, of(i)))
    V = mean(n, share)
    clients = rules.jensen(k.CLIENTS, n, share, k.summed(steps(tau), i, g))
    inside = rules.jensen(steps(tau), i, ratio(1), g)
    return combine(
        clients,
        (sum_over(inside, k.CLIENTS, n, share), V),
        (d.all(local.bounded_block(d.run, side, of(i)), share), V * tau),
        (d.expect(k.constant(V**2 * tau**2 * G2)), -1),
    )


def move(d: Drawn, side: k.Side) -> Theorem:
    """Return ``||[x' - x]_b||^2 <= eta^2`` times that bound."""
    r = d.round
    step = k.part(side, r.next - r.x)
    G = d.total(side, stochastic(d.run, n, now, of(i)))
    return combine(
        (rules.update(d.run, side, now, step), -1),
        (rules.update(d.run, side, now, G), r.eta),
        (sum_bound(d, side), r.eta**2),
    )


def convex_drift(d: Drawn) -> Theorem:
    """Return ``D <= 4/3 eta^2 tau^3 (sum 1/q_n)^2 N G2``."""
    r, V, c = d.round, mean(n, d.J), Fraction(4, 3)
    most, size = d.most, r.eta**2 * tau**3 * G2
    bounded = k.constant(size * V * most**2 * c)
    given = combine(
        (d.all(local.both_parts(r.away(of(i))), d.J), -1),
        d.all(local.block_move(d.round, k.Side.CLIENT, of(i), of(i)), d.J),
        d.all(Visited(d.round).bounded_way(), d.J),
        (few(d), size * V * (most + V)),
        target=bounded - d.D,
    )
    return combine(given, (d.expect(bounded), -1))


def descent(d: Drawn) -> Theorem:
    """Return ``f(x') <= f(x) - eta tau/2 ||grad f||^2 + ..``, for equal weights."""
    r, g, share = d.round, d.round.gradient, d.J
    far, half = d.change(of(i)), r.eta / 2
    near = derived.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    below = [combine(rules.weight_below_one(n))]
    client = combine((k.part(k.Side.CLIENT, far), 1))
    more = sum_over(
        sum_over(client, steps(tau), i), k.CLIENTS, n, d.J * (1 - k.weight(n)), below
    )
    uses: list[tuple[Theorem, Number]] = [
        (decomposition(r), 1),
        (more, half),
        (d.all(local.both_parts(far), share), half),
        (d.all(near, share), half),
        (convex_drift(d), half * S**2),
        (rules.blocks(g, g), -half * tau),
    ]
    for side in k.Side:
        uses += [(first_order(d, side), 1), (move(d, side), S / 2)]
    spare = (k.part(k.Side.SERVER, g), half * tau * (N - 1))
    return combine(*uses, spare)


def slope(d: Drawn) -> Theorem:
    """Return ``||grad f(x)||^2 <= 2 G2 (1 + (S eta tau)^2 E (sum J)^2)``."""
    r, zero = d.round, ratio(0)
    gx, gp, away = r.own_gradient(), r.local_gradient(zero), r.away(zero)
    client, V = k.part(k.Side.CLIENT, away), mean(n, d.J)
    none = k.part(k.Side.CLIENT, stochastic(d.run, n, now, of(j)))
    made = k.summed(steps(0), j, none)

    def update(w: k.Vec) -> Theorem:
        return derived.local_update(d.run, n, now, zero, k.Side.CLIENT, w)

    size = combine(
        derived.bounded_gradient(d.run, G2, n, now, zero),
        (derived.unbiased(d.run, n, now, zero, gp), 2),
        (r.noise(zero), 1),
        target=k.constant(G2) - k.norm2(gp),
    )
    square = k.constant((S * r.eta * tau * V) ** 2 * G2)
    near = combine(
        derived.lipschitz(k.Local(n), S, r.x, r.point(zero)),
        (rules.blocks(away, away), -(S**2)),
        (update(client), -(S**2)),
        (update(made), r.eta * S**2),
        (rules.jensen(steps(0), j, ratio(1), none), (r.eta * S) ** 2),
        (Visited(r, zero).bounded_way(), S**2),
        (d.expect(square), -1),
    )
    one = combine(young(gp, gx - gp, 1), (size, 2), (near, 2))
    mean_ = k.summed(k.CLIENTS, n, gx * k.weight(n))
    return combine(
        rules.jensen(k.CLIENTS, n, k.weight(n), gx),
        sum_over(one, k.CLIENTS, n, k.weight(n)),
        (rules.mean_gradient(r.x, r.gradient), -1),
        (rules.mean_gradient(r.x, mean_), -1),
    )


def printed(who: k.Participants) -> Theorem:
    """Return (14), or (20) where clients are drawn, as printed, for equal weights."""
    d, second = Drawn(who), 2 * sigma2(n) + G2
    kappa = strong.S / mu
    first = second + G2 * inverse_q(n) if d.run.drawn else second
    A = mean(n, (k.weight(n) ** 2 + 1) * first)
    B = mean(n, (k.weight(n) + 1) * second)
    X = 8 * kappa * N * A + 768 * kappa**2 * B / (gamma + 1)
    return OneOverT(
        who,
        X / mu,
        slope(d),
        descent(d),
        switch=4 * kappa * d.most,
        spare=Fraction(32, 3) * kappa * N * d.most * G2 / mu,
        share=1,
    ).printed()
