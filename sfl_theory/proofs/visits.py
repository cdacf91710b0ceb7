"""SFL-V2 with weighted server steps, in any order of the visits: a repair of (16)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import notation
from sfl_theory.proofs.local_steps import Round, S, both_parts, eps2, i, j, m, n, now, t
from sfl_theory.proofs.notation import combine, count, mean, of, sign, steps, sum_over

tau, T = count("tau"), count("T")
ROUND_T = Round(notation.equal_paces(k.Kind.V2_WEIGHTED, tau, notation.rates("eta")))
sbar2, s_a2 = (mean(n, k.weight(n) ** power * local.sigma2(n)) for power in (1, 2))
u = S * ROUND_T.eta * tau


def client_drift() -> Theorem:
    """Return the drift of the client blocks, as in SFL-V1."""
    r = ROUND_T
    xi = k.part(k.Side.CLIENT, r.noise(of(j)))
    more = rules.longer(j, xi, of(i), tau)
    one = local.block_drift(r, k.Side.CLIENT, of(i), of(i), tau)
    return r.summed(combine(one, (more, 2 * r.eta**2)), tau, k.weight(n))


def late() -> tuple[Theorem, Ratio]:
    """Return ``1 - o >= 0`` for o = before(m, j; n, i), and o."""
    o = k.before(m, of(j), n, of(i), now)
    exact = rules.before_or_not(m, of(j), n, of(i), now)
    return combine(exact, rules.square(1 - o), target=k.constant(1 - o)), o


def server_move(r: Round, step: Ratio, by: Callable[[k.Client], Ratio]) -> Theorem:
    """Return ``||[p - x]_s||^2 <= eta^2 tau^2 G2 W^2``, W = sum of the visits' `by`."""
    side, tau = k.Side.SERVER, r.steps(k.Side.SERVER)
    w, W, e2 = by(m), mean(m, by(m)), r.eta**2
    gm = k.part(side, stochastic(r.run, m, now, of(j)))
    not_yet, o = late()
    once = combine((not_yet, 1 + o), target=k.constant(1 - o**2))
    once = rules.instantiate(once, ((i, step),), ())
    o = k.before(m, of(j), n, step, now)
    visited = k.summed(steps(tau), j, gm * o)
    fewer = sum_over(combine((gm, 1)), steps(tau), j, 1 - o**2, [once])
    size = sum_over(local.bounded_block(r.run, side, of(j), m), steps(tau), j)
    inside = rules.jensen(steps(tau), j, ratio(1), gm * o)

    def update(u: k.Vec) -> Theorem:
        return rules.local_update(r.run, n, now, step, side, u)

    return combine(
        (update(k.part(side, r.away(step))), -1),
        (update(k.summed(k.CLIENTS, m, visited * w)), r.eta),
        (rules.jensen(k.CLIENTS, m, w, visited), e2),
        (sum_over(inside, k.CLIENTS, m, w), e2 * W),
        (sum_over(fewer, k.CLIENTS, m, w), e2 * W * tau),
        (sum_over(size, k.CLIENTS, m, w), e2 * W * tau),
    )


def server_gradients(gm: k.Vec) -> Theorem:
    """Return ``||sum_m a_m sum_j o gm||^2 <= tau sum_m a_m sum_j ||gm||^2``.

    Jensen over clients, then over the P = sum_j o <= tau visits before (n, i).
    """
    not_yet, o = late()
    few = sum_over(not_yet, steps(tau), j)
    visited = k.summed(steps(tau), j, gm * o)
    kept = sum_over(combine((gm, 1)), steps(tau), j, o)
    other = sum_over(combine((gm, 1)), steps(tau), j, 1 - o, [not_yet])
    inside = combine(
        rules.jensen(steps(tau), j, o, gm),
        (kept, rules.number_of(few.form)),
        (other, tau),
        signs=[few],
    )
    clients = rules.jensen(k.CLIENTS, m, k.weight(m), visited)
    return combine(clients, sum_over(inside, k.CLIENTS, m, k.weight(m)))


def server_noise(xm: k.Vec) -> Theorem:
    """Return ``||sum_m a_m sum_j o xm||^2 <= sum_m a_m sum_j ||xm||^2``."""
    not_yet, o = late()
    once = combine((not_yet, 1 + o), target=k.constant(1 - o**2))
    factor, positive_squares = k.weight(m) * o, combine((xm, 1))
    apart = rules.independent(ROUND_T.run, m, j, factor, now, ratio(tau), k.Side.SERVER)
    fewer = sum_over(positive_squares, steps(tau), j, 1 - o**2, [once])
    all_steps = sum_over(positive_squares, steps(tau), j)
    small = combine((rules.weight_below_one(m), k.weight(m)))
    return combine(
        (apart, -1),
        sum_over(fewer, k.CLIENTS, m, k.weight(m) ** 2),
        sum_over(all_steps, k.CLIENTS, m, k.weight(m) * (1 - k.weight(m)), [small]),
    )


def server_drift() -> Theorem:
    """Return the drift of the server block: the visits before (n, i) moved it."""
    r, side = ROUND_T, k.Side.SERVER
    gm, xm = k.part(side, r.local_gradient(of(j), m)), k.part(side, r.noise(of(j), m))
    _, o = late()

    def visits(e: k.Vec) -> k.Vec:
        return k.summed(k.CLIENTS, m, k.summed(steps(tau), j, e * o) * k.weight(m))

    A, B, away = visits(gm), visits(xm), k.part(side, r.away(of(i)))

    def update(w: k.Vec) -> Theorem:
        return rules.local_update(r.run, n, now, of(i), side, w)

    one = combine(
        (update(away), -1),
        (update(A + B), r.eta),
        (local.young(A, B, 1), r.eta**2),
        (server_gradients(gm), 2 * r.eta**2),
        (server_noise(xm), 2 * r.eta**2),
    )
    return r.summed(one, tau, k.weight(n))


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


def bounded_drift(r: Round, G2: Ratio) -> Theorem:
    """Return ``D <= eta^2 tau^3 G2`` for second moments <= G2 along the run."""
    tau, now_ = r.steps(k.Side.CLIENT), rules.bounded_gradient(r.run, G2, n, now, of(i))
    sides = {side: _bounded_move(r, side) for side in k.Side}
    away, g = r.away(of(i)), stochastic(r.run, n, now, of(i))
    size, client = r.eta**2 * tau**2, k.part(k.Side.CLIENT, g)
    spare = r.summed(combine((client, 1)), tau, k.weight(n))
    return combine(
        (r.summed(both_parts(away), tau, k.weight(n)), -1),
        *((r.summed(one, tau, k.weight(n)), 1) for one in sides.values()),
        (spare, size - r.eta**2 * tau * (tau - 1) / 2),
        (r.summed(both_parts(g), tau, k.weight(n)), size),
        (r.summed(now_, tau, k.weight(n)), size),
        target=k.constant(size * tau * G2) - local.whole_drift(r),
    )


def _bounded_move(r: Round, side: k.Side) -> Theorem:
    """Return a block's squared move by sums of stochastic gradients."""
    away, tau = k.part(side, r.away(of(i))), r.steps(side)

    def update(u: k.Vec) -> Theorem:
        return rules.local_update(r.run, n, now, of(i), side, u)

    if side is k.Side.CLIENT:
        block = k.part(side, stochastic(r.run, n, now, of(j)))
        made = k.summed(steps(of(i)), j, block)
        size = [
            (rules.jensen(steps(of(i)), j, ratio(1), block), r.eta**2),
            (rules.longer(j, block, of(i), tau), r.eta**2 * of(i)),
        ]
    else:
        block = k.part(side, stochastic(r.run, m, now, of(j)))
        _, o = late()
        inside = k.summed(steps(tau), j, block * o)
        made = k.summed(k.CLIENTS, m, inside * k.weight(m))
        size = [(server_gradients(block), r.eta**2)]
    return combine((update(away), -1), (update(made), r.eta), *size)


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
    r, c = ROUND_T, 4 / (T * tau)
    fall = rules.telescope(t, k.value_of(k.MEAN, r.x), T)
    last = rules.lowest(k.MEAN, k.iterate(r.run, T))
    return combine((sum_over(one_round(), steps(T), t), c), (fall, c), (last, c))
