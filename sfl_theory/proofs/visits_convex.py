"""Theorem 3.7, strongly convex, (14): SFL-V2 as printed, for equal weights."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import one_over_t
from sfl_theory.proofs.block_steps import (
    block_noise,
    decomposition,
    moved,
    total,
)
from sfl_theory.proofs.block_visits import (
    ROUND_T,
    all_steps,
    first_order,
    tau,
    total_drift,
    toward_mean,
    visited_gradients,
)
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
    mean,
    of,
    sign,
    steps,
    sum_over,
)
from sfl_theory.proofs.one_over_t import OneOverT

v = S * ROUND_T.eta * N * tau


def server_move(step: Ratio) -> Theorem:
    """Return ``||[p - x]_s||^2 <= eta^2 N tau sum_m sum_j ||[g]_s||^2``."""
    r, side = ROUND_T, k.Side.SERVER
    gm = k.part(side, stochastic(r.run, m, now, of(j)))
    o = k.before(m, of(j), n, step, now)
    visits = k.summed(k.CLIENTS, m, k.summed(steps(tau), j, gm * o))
    few = rules.instantiate(visited_gradients(gm), ((i, step),), ())

    def update(u: k.Vec) -> Theorem:
        return rules.local_update(r.run, n, now, step, side, u)

    away = k.part(side, r.away(step))
    return combine([(update(away), -1), (update(visits), r.eta), (few, r.eta**2)])


def client_move() -> Theorem:
    """Return ``||[p_i - x]_c||^2 <= eta^2 i sum_{j<tau} ||[g_j]_c||^2``."""
    r, side = ROUND_T, k.Side.CLIENT
    block = k.part(side, stochastic(r.run, n, now, of(j)))

    def update(u: k.Vec) -> Theorem:
        return rules.local_update(r.run, n, now, of(i), side, u)

    made, away = k.summed(steps(of(i)), j, block), k.part(side, r.away(of(i)))
    return combine([
        (update(away), -1),
        (update(made), r.eta),
        (rules.jensen(steps(of(i)), j, ratio(1), block), r.eta**2),
        (rules.longer(j, block, of(i), tau), r.eta**2 * of(i)),
    ])


def drift() -> Theorem:
    """Return ``D <= eta^2 N^3 tau^3 G2`` for bounded gradients."""
    r, size = ROUND_T, ROUND_T.eta**2 * N**2 * tau**2
    away, g = r.away(of(i)), stochastic(r.run, n, now, of(i))
    bound = rules.bounded_gradient(r.run, G2, n, now, of(i))
    spare = all_steps(combine(squares=[(k.part(k.Side.CLIENT, g), 1)]))
    return combine(
        [
            (all_steps(both_parts(away)), -1),
            (all_steps(client_move()), 1),
            (all_steps(server_move(of(i))), 1),
            (spare, size - r.eta**2 * tau * (tau - 1) / 2),
            (all_steps(both_parts(g)), size),
            (all_steps(bound), size),
        ],
        target=k.constant(size * N * tau * G2) - total_drift(),
    )


def descent() -> Theorem:
    """Return ``f(x') <= f(x) - eta tau/2 ||grad f||^2 + noise + drift``, 2 v <= 1.

    For equal weights; v = S eta N tau.
    """
    r, eta, g, half = ROUND_T, ROUND_T.eta, ROUND_T.gradient, S * ROUND_T.eta**2 / 2
    slow = rules.assume(k.constant(1 - 2 * v))
    noise = mean(n, (k.weight(n) ** 2 + 1) * sigma2(n)) * (2 * half * tau)
    far = eta**3 * S**2 * N**3 * tau**3 * G2
    uses: list[tuple[Theorem, Number]] = [
        (decomposition(r), 1),
        (drift(), eta * S**2),
        (rules.blocks(g, g), -eta * tau / 2),
    ]
    squares: list[tuple[k.Vec, Number]] = []
    signs = list[Theorem]()
    for side in k.Side:
        W = toward_mean(side)[1]
        M, Z = (total(r, side, e) for e in (r.local_gradient(of(i)), r.noise(of(i))))
        m_left = eta / (2 * W * tau) - 2 * half
        signs.append(sign(m_left, (slow, eta / (2 * W * tau))))
        uses += [
            (first_order(side), 1),
            (moved(r, side), -S / 2),
            (young(M, Z, 1), half),
            (block_noise(r, side), 2 * half),
        ]
        squares += [(M, m_left), (k.part(side, g), eta * tau * (W - 1) / 2)]
    fall = k.value_of(k.MEAN, r.x) - k.value_of(k.MEAN, r.next)
    target = fall - k.norm2(g) * (eta * tau / 2) + k.constant(noise + far)
    return combine(uses, squares, target=target, signs=signs)


def slope() -> Theorem:
    """Return ``||grad f(x)||^2 <= (1 + v)^2 G2``: every client's first step is near."""
    r, zero = ROUND_T, ratio(0)
    gx, gp, away = r.own_gradient(), r.local_gradient(zero), r.away(zero)
    xi, client = r.noise(zero), k.part(k.Side.CLIENT, away)

    def update(u: k.Vec) -> Theorem:
        return rules.local_update(r.run, n, now, zero, k.Side.CLIENT, u)

    own = stochastic(r.run, n, now, of(i))
    none = k.part(k.Side.CLIENT, stochastic(r.run, n, now, of(j)))
    made = k.summed(steps(0), j, none)
    size = combine(
        [
            (rules.bounded_gradient(r.run, G2, n, now, zero), 1),
            (rules.unbiased(r.run, n, now, zero, gp), 2),
        ],
        [(xi, 1)],
        target=k.constant(G2) - k.norm2(gp),
    )
    everyone = combine([
        (all_steps(both_parts(own)), 1),
        (all_steps(rules.bounded_gradient(r.run, G2, n, now, of(i))), 1),
        (all_steps(combine(squares=[(k.part(k.Side.CLIENT, own), 1)])), 1),
    ])
    near = combine([
        (rules.lipschitz(k.Local(n), S, r.x, r.point(zero)), 1),
        (rules.blocks(away, away), -(S**2)),
        (update(client), -(S**2)),
        (update(made), r.eta * S**2),
        (rules.jensen(steps(0), j, ratio(1), none), (r.eta * S) ** 2),
        (server_move(zero), S**2),
        (everyone, S**2 * r.eta**2 * N * tau),
    ])
    one = combine([(young(gp, gx - gp, v), 1), (size, 1 + v), (near, 1 + 1 / v)])
    clients = rules.jensen(k.CLIENTS, n, k.weight(n), gx)
    mean_ = k.summed(k.CLIENTS, n, gx * k.weight(n))
    g = r.gradient
    return combine([
        (clients, 1),
        (sum_over(one, k.CLIENTS, n, k.weight(n)), 1),
        (rules.mean_gradient(r.x, g), -1),
        (rules.mean_gradient(r.x, mean_), -1),
    ])


def printed() -> Theorem:
    """Return (14) as printed, for equal weights."""
    second, kappa = 2 * sigma2(n) + G2, one_over_t.S / one_over_t.mu
    A = mean(n, (k.weight(n) ** 2 + 1) * second)
    B = mean(n, (k.weight(n) + 1) * second)
    X = 8 * kappa * N * A + 768 * kappa**2 * B / (one_over_t.gamma + 1)
    return OneOverT(
        k.Participants.EVERYONE,
        X / one_over_t.mu,
        slope(),
        descent(),
        switch=8 * kappa * N,
        spare=8 * kappa * N**2 * G2 / one_over_t.mu,
        share=Fraction(1, 2),
    ).printed()
