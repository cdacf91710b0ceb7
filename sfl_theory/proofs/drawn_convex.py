"""Theorem 3.9, strongly convex, (20): SFL-V2 as printed, drawn clients, equal weights.

As for (14); the second moment of a round's move is bounded by that of the draws.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import one_over_t
from sfl_theory.proofs.block_steps import decomposition
from sfl_theory.proofs.drawn_visits import Drawn, few, first_order
from sfl_theory.proofs.local_steps import (
    G2,
    N,
    S,
    both_parts,
    i,
    j,
    m,
    n,
    now,
    sigma2,
    young,
)
from sfl_theory.proofs.notation import (
    combine,
    count,
    inverse_q,
    mean,
    of,
    steps,
    sum_over,
)
from sfl_theory.proofs.one_over_t import OneOverT
from sfl_theory.proofs.visits import late

d, tau = Drawn(), count("tau")


def other(side: k.Side) -> k.Side:
    """Return the other side."""
    return k.Side.CLIENT if side is k.Side.SERVER else k.Side.SERVER


def block_bound(side: k.Side, client: k.Client, v: k.Var) -> Theorem:
    """Return ``||[g]_b||^2 <= G2`` for a step, given the draws."""
    g = stochastic(d.run, client, now, of(v))
    bound = rules.bounded_gradient(d.run, G2, client, now, of(v))
    return combine([(rules.blocks(g, g), 1), (bound, 1)], [(k.part(other(side), g), 1)])


def sum_bound(side: k.Side) -> Theorem:
    """Return ``||sum w_n J_n sum_i [g]_b||^2 <= tau^2 G2 E (sum w_n J_n)^2``."""
    share, g = d.of(side) * d.J, k.part(side, stochastic(d.run, n, now, of(i)))
    V = mean(n, share)
    clients = rules.jensen(k.CLIENTS, n, share, k.summed(steps(tau), i, g))
    inside = rules.jensen(steps(tau), i, ratio(1), g)
    return combine([
        (clients, 1),
        (sum_over(inside, k.CLIENTS, n, share), V),
        (d.all(block_bound(side, n, i), share), V * tau),
        (rules.expect(d.run, now, k.constant(V**2 * tau**2 * G2)), -1),
    ])


def move(side: k.Side) -> Theorem:
    """Return ``||[x' - x]_b||^2 <= eta^2`` times that bound."""
    r = d.round
    step = k.part(side, r.next - r.x)
    G = d.total(side, stochastic(d.run, n, now, of(i)))
    return combine([
        (rules.update(d.run, side, now, step), -1),
        (rules.update(d.run, side, now, G), r.eta),
        (sum_bound(side), r.eta**2),
    ])


def server_move(step: Ratio) -> Theorem:
    """Return ``||[p - x]_s||^2 <= eta^2 tau^2 G2 V^2``, V = sum J_m."""
    side, r = k.Side.SERVER, d.round
    gm, J = k.part(side, stochastic(d.run, m, now, of(j))), k.draw(d.run, m, now)
    o, V = k.before(m, of(j), n, step, now), mean(m, J)
    not_yet, o_i = late()
    once = combine([(not_yet, 1 + o_i)], target=k.constant(1 - o_i**2))
    once = rules.instantiate(once, ((i, step),), ())
    visits = k.summed(k.CLIENTS, m, k.summed(steps(tau), j, gm * o) * J)
    fewer = sum_over(combine(squares=[(gm, 1)]), steps(tau), j, 1 - o**2, [once])
    inside = rules.jensen(steps(tau), j, ratio(1), gm * o)
    size = sum_over(block_bound(side, m, j), steps(tau), j)

    def update(w: k.Vec) -> Theorem:
        return rules.local_update(d.run, n, now, step, side, w)

    away, e2 = k.part(side, r.away(step)), r.eta**2
    return combine([
        (update(away), -1),
        (update(visits), r.eta),
        (rules.jensen(k.CLIENTS, m, J, k.summed(steps(tau), j, gm * o)), e2),
        (sum_over(inside, k.CLIENTS, m, J), e2 * V),
        (sum_over(fewer, k.CLIENTS, m, J), e2 * V * tau),
        (sum_over(size, k.CLIENTS, m, J), e2 * V * tau),
    ])


def client_move() -> Theorem:
    """Return ``||[p_i - x]_c||^2 <= eta^2 i^2 G2``."""
    side, r = k.Side.CLIENT, d.round
    g = k.part(side, stochastic(d.run, n, now, of(j)))

    def update(w: k.Vec) -> Theorem:
        return rules.local_update(d.run, n, now, of(i), side, w)

    return combine([
        (update(k.part(side, r.away(of(i)))), -1),
        (update(k.summed(steps(of(i)), j, g)), r.eta),
        (rules.jensen(steps(of(i)), j, ratio(1), g), r.eta**2),
        (sum_over(block_bound(side, n, j), steps(of(i)), j), r.eta**2 * of(i)),
    ])


def drift() -> Theorem:
    """Return ``D <= 4/3 eta^2 tau^3 (sum 1/q_n)^2 N G2``."""
    r, V, c = d.round, mean(n, d.J), Fraction(4, 3)
    most, size = d.most, r.eta**2 * tau**3 * G2
    bounded = k.constant(size * V * most**2 * c)
    given = combine(
        [
            (d.all(both_parts(r.away(of(i))), d.J), -1),
            (d.all(client_move(), d.J), 1),
            (d.all(server_move(of(i)), d.J), 1),
            (few(d), size * V * (most + V)),
        ],
        target=bounded - d.D,
    )
    return combine([(given, 1), (rules.expect(d.run, now, bounded), -1)])


def descent() -> Theorem:
    """Return ``f(x') <= f(x) - eta tau/2 ||grad f||^2 + ..``, for equal weights."""
    r, g, share = d.round, d.round.gradient, d.J
    far, half = d.change(of(i)), r.eta / 2
    near = rules.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    below = [combine([(rules.weight_below_one(n), 1)])]
    client = combine(squares=[(k.part(k.Side.CLIENT, far), 1)])
    more = sum_over(
        sum_over(client, steps(tau), i), k.CLIENTS, n, d.J * (1 - k.weight(n)), below
    )
    uses: list[tuple[Theorem, Number]] = [
        (decomposition(r), 1),
        (more, half),
        (d.all(both_parts(far), share), half),
        (d.all(near, share), half),
        (drift(), half * S**2),
        (rules.blocks(g, g), -half * tau),
    ]
    for side in k.Side:
        uses += [(first_order(d, side), 1), (move(side), S / 2)]
    spare = (k.part(k.Side.SERVER, g), half * tau * (N - 1))
    return combine(uses, [spare])


def slope() -> Theorem:
    """Return ``||grad f(x)||^2 <= 2 G2 (1 + (S eta tau)^2 E (sum J)^2)``."""
    r, zero = d.round, ratio(0)
    gx, gp, away = r.own_gradient(), r.local_gradient(zero), r.away(zero)
    client, V = k.part(k.Side.CLIENT, away), mean(n, d.J)
    none = k.part(k.Side.CLIENT, stochastic(d.run, n, now, of(j)))
    made = k.summed(steps(0), j, none)

    def update(w: k.Vec) -> Theorem:
        return rules.local_update(d.run, n, now, zero, k.Side.CLIENT, w)

    size = combine(
        [
            (rules.bounded_gradient(d.run, G2, n, now, zero), 1),
            (rules.unbiased(d.run, n, now, zero, gp), 2),
        ],
        [(r.noise(zero), 1)],
        target=k.constant(G2) - k.norm2(gp),
    )
    square = k.constant((S * r.eta * tau * V) ** 2 * G2)
    near = combine([
        (rules.lipschitz(k.Local(n), S, r.x, r.point(zero)), 1),
        (rules.blocks(away, away), -(S**2)),
        (update(client), -(S**2)),
        (update(made), r.eta * S**2),
        (rules.jensen(steps(0), j, ratio(1), none), (r.eta * S) ** 2),
        (server_move(zero), S**2),
        (rules.expect(d.run, now, square), -1),
    ])
    one = combine([(young(gp, gx - gp, 1), 1), (size, 2), (near, 2)])
    mean_ = k.summed(k.CLIENTS, n, gx * k.weight(n))
    return combine([
        (rules.jensen(k.CLIENTS, n, k.weight(n), gx), 1),
        (sum_over(one, k.CLIENTS, n, k.weight(n)), 1),
        (rules.mean_gradient(r.x, r.gradient), -1),
        (rules.mean_gradient(r.x, mean_), -1),
    ])


def printed() -> Theorem:
    """Return (20) as printed, for equal weights."""
    second, most = 2 * sigma2(n) + G2, mean(n, inverse_q(n))
    kappa = one_over_t.S / one_over_t.mu
    A = mean(n, (k.weight(n) ** 2 + 1) * (second + G2 * inverse_q(n)))
    B = mean(n, (k.weight(n) + 1) * second)
    X = 8 * kappa * N * A + 768 * kappa**2 * B / (one_over_t.gamma + 1)
    return OneOverT(
        k.Participants.UPDATES,
        X / one_over_t.mu,
        slope(),
        descent(),
        switch=4 * kappa * most,
        spare=Fraction(32, 3) * kappa * N * most * G2 / one_over_t.mu,
        share=1,
    ).printed()
