"""SFL-V2 with weighted server steps, in any order of the visits: a repair of (16)."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import notation
from sfl_theory.proofs.local_steps import (
    G2,
    Round,
    S,
    both_parts,
    eps2,
    i,
    j,
    m,
    n,
    now,
)
from sfl_theory.proofs.notation import combine, count, mean, of, sign, steps, sum_over
from sfl_theory.proofs.visited import Visited

tau, T = count("tau"), count("T")
ROUND_T = Round(notation.equal_paces(k.Kind.V2_WEIGHTED, tau, notation.rates("eta")))
sbar2, s_a2 = (mean(n, k.weight(n) ** power * local.sigma2(n)) for power in (1, 2))
u = S * ROUND_T.eta * tau
VISITED = Visited(ROUND_T)


def client_drift() -> Theorem:
    """Return the drift of the client blocks, as in SFL-V1."""
    r = ROUND_T
    xi = k.part(k.Side.CLIENT, r.noise(of(j)))
    more = rules.longer(j, xi, of(i), tau)
    one = local.block_drift(r, k.Side.CLIENT, of(i), of(i), tau)
    return r.summed(combine(one, (more, 2 * r.eta**2)), tau, k.weight(n))


def server_drift() -> Theorem:
    """Return the drift of the server block: the visits before (n, i) moved it."""
    r, xm = ROUND_T, VISITED.noise()
    all_steps = sum_over(combine((xm, 1)), steps(tau), j)
    small = combine((rules.weight_below_one(m), k.weight(m)))
    own = sum_over(all_steps, k.CLIENTS, m, k.weight(m) * (1 - k.weight(m)), [small])
    return r.summed(combine(VISITED.way(), (own, 2 * r.eta**2)), tau, k.weight(n))


def drift() -> Theorem:
    """Return ``D <= 2 eta^2 tau^2 (Gamma + sum a_n sigma_n^2)``."""
    r = ROUND_T
    gp, xi, away = r.local_gradient(of(i)), r.noise(of(i)), r.away(of(i))
    eta2, a = r.eta**2, k.weight(n)
    var = rules.variance(r.run, local.sigma2(n), n, now, of(i))
    spare = combine((k.part(k.Side.CLIENT, gp), 1))
    Gamma = r.over(k.norm2(gp), tau, a)
    return combine(
        (r.summed(both_parts(away), tau, a), -1),
        client_drift(),
        server_drift(),
        (r.summed(both_parts(gp), tau, a), 2 * eta2 * tau**2),
        (r.summed(both_parts(xi), tau, a), 2 * eta2 * tau),
        (r.summed(var, tau, a), 2 * eta2 * tau),
        (r.summed(spare, tau, a), eta2 * tau * (tau + 1)),
        target=(Gamma + k.constant(sbar2)) * (2 * eta2 * tau**2) - local.whole_drift(r),
    )


def bounded_drift(r: Round) -> Theorem:
    """Return ``D <= eta^2 tau^3 G2`` for server steps weighted by a_n.

    A client's block has moved by its i earlier steps, the server's by the visits before
    (n, i), among them at most tau of each client.
    """
    tau, e2, a = r.steps(k.Side.CLIENT), r.eta**2, k.weight(n)
    now_, earlier = (stochastic(r.run, n, now, of(v)) for v in (i, j))
    more = rules.longer(j, k.part(k.Side.CLIENT, earlier), of(i), tau)
    visited = Visited(r)
    one = combine(
        (both_parts(r.away(of(i))), -1),
        local.own_steps(r, k.Side.CLIENT, of(i), of(i)),
        (more, e2 * of(i)),
        visited.straight(visited.stochastic()),
    )
    spare = combine((k.part(k.Side.CLIENT, now_), 1))
    both = combine(both_parts(now_), rules.bounded_gradient(r.run, G2, n, now, of(i)))
    return combine(
        r.summed(one, tau, a),
        (r.summed(spare, tau, a), e2 * tau * (tau + 1) / 2),
        (r.summed(both, tau, a), e2 * tau**2),
        target=k.constant(e2 * tau**3 * G2) - local.whole_drift(r),
    )


def own_gradients() -> Theorem:
    """Return ``sum a_n ||gx||^2 <= ||grad f||^2 + eps2``: the mean of gx is grad f."""
    r = ROUND_T
    gx, gf = r.own_gradient(), r.gradient
    same = combine(
        rules.linear(k.CLIENTS, n, gx * k.weight(n), gf), rules.mean_gradient(r.x, gf)
    )
    apart = sum_over(rules.heterogeneity(eps2, n, r.x), k.CLIENTS, n, k.weight(n))
    F = k.summed(k.CLIENTS, n, k.norm2(gx) * k.weight(n))
    return combine(apart, (same, 2), target=k.norm2(gf) + k.constant(eps2) - F)


def cost(r: Round) -> Ratio:
    """Return what the noise of one round may cost."""
    spread = tau * s_a2 + tau / 8 * sbar2 + tau**2 / 8 * eps2
    return S * r.eta**2 * spread


def one_round() -> Theorem:
    """Return ``eta tau/4 ||grad f||^2 <= f(x) - f(x') + cost``, 16 S eta tau <= 1."""
    r, small, c = ROUND_T, rules.assume(k.constant(1 - 16 * u)), Fraction(1, 4)
    eta, g = r.eta, r.gradient
    half, theta = S * eta**2 / 2, 2 * eta**2 * tau**2
    lam = Fraction(9, 16) * eta * S**2
    of_F = lam * theta * (1 + c) * tau
    D_left = lam - eta * S**2 / 2 - 5 * S**2 * lam * theta
    m_left, g_left = eta / (2 * tau) - S * eta**2, eta * tau / 4 - of_F
    square = combine((small, 1 + 16 * u))
    signs = [
        sign(D_left, (square, eta * S**2 * Fraction(45, 8 * 256))),
        sign(m_left, (small, eta / (16 * tau))),
        sign(g_left, (square, eta * tau * Fraction(45, 32 * 256))),
    ]
    left_over = Fraction(9, 8) * sbar2 + Fraction(45, 32) * tau * eps2
    M, Z = (
        local.whole_mean(r, r.local_gradient(of(i))),
        local.whole_mean(r, r.noise(of(i))),
    )
    uses: list[tuple[Theorem, Number]] = [
        (local.whole_descent(r), 1),
        (local.whole_centred(r, g), eta),
        (local.whole_deviation(r), eta / (2 * tau)),
        (local.whole_noise(r), S * eta**2),
        (drift(), lam),
        (local.local_gradients(r, tau, k.weight(n), c), lam * theta),
        (own_gradients(), of_F),
        (r.summed(combine((r.away(of(i)), 1)), tau, k.weight(n)), D_left),
        (small, S * eta**2 * tau * left_over / 16),
    ]
    fall = k.value_of(k.MEAN, r.x) - k.value_of(k.MEAN, r.next)
    target = fall + k.constant(cost(r)) - k.norm2(g) * (eta * tau / 4)
    return combine(
        *uses, (M - Z, half), (M, m_left), (g, g_left), target=target, signs=signs
    )


def theorem() -> Theorem:
    """Return the sum over rounds."""
    return local.over_rounds(one_round(), ROUND_T, T, 4 / (T * tau))
