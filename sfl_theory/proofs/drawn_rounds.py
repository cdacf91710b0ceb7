"""SFL-V2 as printed where clients are drawn, equal weights: (22), (175) and (177)."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import drawn_visits as visits
from sfl_theory.proofs.block_steps import decomposition, own_gradient
from sfl_theory.proofs.block_visits import equal_weights
from sfl_theory.proofs.drawn_visits import (
    Drawn,
    T,
    drift,
    first_order,
    second_order,
    tau,
)
from sfl_theory.proofs.local_steps import N, S, eps2, i, n, now, sigma2, t, young
from sfl_theory.proofs.notation import (
    combine,
    inverse_q,
    mean,
    of,
    sign,
    steps,
    sum_over,
)
from sfl_theory.proofs.partial_blocks import at_most_inverse


def cost(d: Drawn) -> Ratio:
    """Return what noise and heterogeneity of a round may cost."""
    q = mean(n, d.w**2 * inverse_q(n) * sigma2(n))
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
    square = combine([(rate, 1 + 8 * z)])
    D_left = lam * (1 - 5 * of_s * S**2) - of_C * S**2
    near = rules.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    var = rules.variance(d.run, sigma2(n), n, now, of(i))
    r_n, in_drift, apart = inverse_q(n) - 1, lam * tau * 5 / 2, gx - g
    noise = k.constant(mean(n, share**2 * sigma2(n)))
    left_over = mean(n, d.w**2 * inverse_q(n) * sigma2(n)) / 4
    left_over = left_over + mean(n, d.w * sigma2(n)) / 8
    left_over = left_over + Fraction(5, 8) * tau * d.most * d.W * eps2
    signs = [sign(D_left, (rate, lam * 5 / 16), (square, lam * 5 / 32))]
    uses: list[tuple[Theorem, Number]] = [
        (decomposition(r), 1),
        (drift(d), lam),
        (d.all(near, share), of_C + lam * 5 * of_s),
        (d.all(rules.blocks(far, far), share), of_C),
        (d.all(combine(squares=[(r.away(of(i)), 1)]), share), D_left),
        (sum_over(rules.blocks(gx, gx), k.CLIENTS, n, d.w**2 * r_n), of_A),
        (sum_over(own_gradient(r), k.CLIENTS, n, d.w**2 * r_n), of_A),
        (d.all(rules.blocks(xi, xi), share**2), of_Z),
        (d.all(var, share**2), of_Z),
        (rules.expect(d.run, now, noise), -of_Z * tau),
        (rules.blocks(g, g), -eta * tau / 4 - 2 * d.odds * of_A),
        (sum_over(rules.blocks(apart, apart), k.CLIENTS, n, d.w), in_drift * of_s),
        (
            sum_over(rules.heterogeneity(eps2, n, r.x), k.CLIENTS, n, d.w),
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
        signs.append(sign(g_left, (rate, first), (square, second)))
        squares.append((k.part(side, g), g_left))
        own = young(k.part(side, g), k.part(side, apart), 1)
        uses += [
            (first_order(d, side), 1),
            (second_order(d, side), S / 2),
            (sum_over(own, k.CLIENTS, n, d.w), in_drift * size / 2),
        ]
    uses += heavier(d, k.Side.CLIENT, of_C, of_A, of_Z)
    spare = sum_over(
        combine(squares=[(k.part(k.Side.CLIENT, apart), 1)]), k.CLIENTS, n, d.w
    )
    uses.append((spare, in_drift * (of_s - of_c)))
    fall = k.value_of(k.MEAN, r.x) - k.value_of(k.MEAN, r.next)
    target = fall + k.constant(cost(d)) - k.norm2(g) * (eta * tau / 4)
    return combine(uses, squares, target=target, signs=signs)


def heavier(
    d: Drawn, side: k.Side, of_C: Ratio, of_A: Ratio, of_Z: Ratio
) -> list[tuple[Theorem, Number]]:
    """Return what a side's terms lack if a_n stands in them for w_n >= a_n."""
    r, a, r_n = d.round, k.weight(n), inverse_q(n) - 1
    below = rules.weight_below_one(n)
    signs = [combine([(below, 1)]), combine([(below, 1 + a)])]
    far, xi = k.part(side, d.change(of(i))), k.part(side, r.noise(of(i)))
    gx = k.part(side, r.own_gradient())

    def spare(u: k.Vec, factor: Ratio) -> Theorem:
        inside = sum_over(combine(squares=[(u, 1)]), steps(tau), i)
        return sum_over(inside, k.CLIENTS, n, factor, signs)

    own = sum_over(combine(squares=[(gx, 1)]), k.CLIENTS, n, (1 - a**2) * r_n, signs)
    return [
        (spare(far, d.J * (1 - a)), of_C),
        (spare(xi, d.J**2 * (1 - a**2)), of_Z),
        (own, of_A),
    ]


def printed_rate(d: Drawn) -> Theorem:
    """Return ``8 z <= 1`` from Theorem 3.9's learning rate, for equal weights."""
    r, a, (_, above) = d.round, k.weight(n), equal_weights()
    shares = mean(n, a**2 * inverse_q(n))
    printed = rules.assume(k.constant(1 - 8 * S * N**2 * tau * r.eta * shares))
    more = sum_over(above, k.CLIENTS, n, (N * a + 1) * inverse_q(n))
    return combine([(printed, 1), (more, 8 * S * r.eta * tau)], target=d.rate)


def printed_round() -> Theorem:
    """Return one round of Theorem 3.9 as printed, for equal weights."""
    d = Drawn()
    eta, a, g = d.round.eta, k.weight(n), d.round.gradient
    spread = mean(n, (a**2 + 1) * inverse_q(n) * (sigma2(n) + eps2))
    fall = k.value_of(k.MEAN, d.round.x) - k.value_of(k.MEAN, d.round.next)
    target = fall + k.constant(2 * N * S * eta**2 * tau**2 * spread)
    target = target - k.norm2(g) * (eta * tau / 4)
    return combine([(one_round(d, printed_rate(d)), 1)], target=target)


def theorem() -> Theorem:
    """Return (22), for equal weights: a round summed."""
    d, c = Drawn(), 4 / (T * tau)
    fall = rules.telescope(t, k.value_of(k.MEAN, d.round.x), T)
    last = rules.lowest(k.MEAN, k.iterate(d.run, T))
    return combine([(sum_over(printed_round(), steps(T), t), c), (fall, c), (last, c)])


# SFL-V2 as printed where clients are drawn, equal weights: (175) and (177) of G.3 ----

d = Drawn()
r, eta, g = d.round, d.round.eta, k.part(k.Side.SERVER, d.round.gradient)
most = mean(n, inverse_q(n))
sigmas = mean(n, sigma2(n)) + 2 * most * mean(n, inverse_q(n) * sigma2(n))
v = S * eta * tau * most


def first_order_equally() -> Theorem:
    """Return ``<grad_s f, x' - x> <= -eta tau/2 ||grad_s f||^2 + eta S^2/2 D``.

    D = sum_n J_n sum_i ||p - x||^2.
    """
    far, client = d.change(of(i)), k.part(k.Side.CLIENT, d.change(of(i)))
    near = rules.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    return combine(
        [
            (visits.first_order(d, k.Side.SERVER), 1),
            (d.all(rules.blocks(far, far), d.J), eta / 2),
            (d.all(combine(squares=[(client, 1)]), d.J), eta / 2),
            (d.all(near, d.J), eta / 2),
        ],
        [(g, eta * tau * (N - 1) / 2)],
        target=d.over(k.norm2(r.away(of(i))), d.J) * (eta * S**2 / 2)
        - k.norm2(g) * (eta * tau / 2)
        - k.inner(g, r.next - r.x),
    )


def first_order_printed() -> Theorem:
    """Return (175) with the whole vector's move: J_n <= 1/q_n <= N/q_n."""
    spare = N * inverse_q(n) - d.J
    few = combine([(at_most_inverse(r), 1)], target=k.constant(spare))
    away = sum_over(combine(squares=[(r.away(of(i)), 1)]), steps(tau), i)
    more = sum_over(away, k.CLIENTS, n, spare, [few])
    return combine([(first_order_equally(), 1), (more, eta * S**2 / 2)])


def drift_by_mean() -> Theorem:
    """Return ``D <= 6 N eta^2 tau^3 (sum 1/q_n)^2 (||grad f||^2 + eps2) + noise``.

    For ``8 S eta tau sum 1/q_n <= 1``; the noise is ``6/5 (eta tau)^2 sigmas``.
    """
    c, size, gx = Fraction(6, 5), 2 * (eta * tau * most) ** 2, r.own_gradient()
    small, spare = rules.assume(d.rate), c * (1 - 5 * S**2 * size) - 1
    own = c * size * tau * Fraction(5, 4)
    client = combine(squares=[(k.part(k.Side.CLIENT, gx), 1)])
    near = rules.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    F = k.norm2(r.gradient) + k.constant(eps2)
    return combine(
        [
            (visits.drift(d), c),
            (d.all(near, d.J), 5 * c * size),
            (d.all(combine(squares=[(r.away(of(i)), 1)]), d.J), spare),
            (sum_over(rules.blocks(gx, gx), k.CLIENTS, n), own),
            (
                sum_over(client, k.CLIENTS, n),
                own - c * (eta * tau) ** 2 * tau * Fraction(5, 4),
            ),
            (sum_over(own_gradient(r), k.CLIENTS, n), own),
        ],
        target=F * (2 * N * own) + k.constant(c * (eta * tau) ** 2 * sigmas) - d.D,
        signs=[sign(spare, (small, (1 + 8 * v) * Fraction(3, 16)))],
    )


def first_order_closed() -> Theorem:
    """Return (177) with the whole gradient and (sum 1/q_n)^2 behind eta^3."""
    return combine([(first_order_equally(), 1), (drift_by_mean(), eta * S**2 / 2)])
