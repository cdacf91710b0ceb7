"""Theorem 3.7, strongly convex, (14): SFL-V2 as printed, for equal weights.

The server moves N times as fast as the clients, so in early rounds the rate is too
large for a descent. There the gap is small by itself: gradients along the run are
bounded, and so is that of f at x(t).
"""

from __future__ import annotations

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    Kind,
    Lin,
    Local,
    Rate,
    RoundFamily,
    Side,
    Star,
    Vec,
    before,
    constant,
    iterate,
    norm2,
    part,
    summed,
    value_of,
    vec,
    weight,
)
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
from sfl_theory.proofs.joint import both_parts
from sfl_theory.proofs.local_steps import (
    G2,
    N,
    S,
    i,
    j,
    m,
    n,
    now,
    sigma2,
    t,
    young,
)
from sfl_theory.proofs.notation import (
    combine,
    count,
    equal_paces,
    mean,
    nonnegative,
    of,
    of_round,
    positive,
    sign,
    steps,
    sum_over,
)
from sfl_theory.proofs.strongly_convex import S_VARIABLE, gradient_domination

BEST, T = vec(Star(MEAN)), count("T")
v = S * ROUND_T.eta * N * tau


def server_move(step: Ratio) -> Theorem:
    """Return ``||[p - x]_s||^2 <= eta^2 N tau sum_m sum_j ||[g]_s||^2``."""
    r, side = ROUND_T, Side.SERVER
    gm = part(side, stochastic(r.run, m, now, of(j)))
    o = before(m, of(j), n, step, now)
    visits = summed(CLIENTS, m, summed(steps(tau), j, gm * o))
    few = rules.instantiate(visited_gradients(gm), ((i, step),), ())

    def update(u: Vec) -> Theorem:
        return rules.local_update(r.run, n, now, step, side, u)

    away = part(side, r.away(step))
    return combine([(update(away), -1), (update(visits), r.eta), (few, r.eta**2)])


def client_move() -> Theorem:
    """Return ``||[p_i - x]_c||^2 <= eta^2 i sum_{j<tau} ||[g_j]_c||^2``."""
    r, side = ROUND_T, Side.CLIENT
    block = part(side, stochastic(r.run, n, now, of(j)))

    def update(u: Vec) -> Theorem:
        return rules.local_update(r.run, n, now, of(i), side, u)

    made, away = summed(steps(of(i)), j, block), part(side, r.away(of(i)))
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
    spare = all_steps(combine(squares=[(part(Side.CLIENT, g), 1)]))
    return combine(
        [
            (all_steps(both_parts(away)), -1),
            (all_steps(client_move()), 1),
            (all_steps(server_move(of(i))), 1),
            (spare, size - r.eta**2 * tau * (tau - 1) / 2),
            (all_steps(both_parts(g)), size),
            (all_steps(bound), size),
        ],
        target=constant(size * N * tau * G2) - total_drift(),
    )


def descent() -> Theorem:
    """Return ``f(x') <= f(x) - eta tau/2 ||grad f||^2 + noise + drift``, 2 v <= 1.

    For equal weights; v = S eta N tau.
    """
    r, eta, g, half = ROUND_T, ROUND_T.eta, ROUND_T.gradient, S * ROUND_T.eta**2 / 2
    slow = rules.assume(constant(1 - 2 * v))
    noise = mean(n, (weight(n) ** 2 + 1) * sigma2(n)) * (2 * half * tau)
    far = eta**3 * S**2 * N**3 * tau**3 * G2
    uses: list[tuple[Theorem, Number]] = [
        (decomposition(r), 1),
        (drift(), eta * S**2),
        (rules.blocks(g, g), -eta * tau / 2),
    ]
    squares: list[tuple[Vec, Number]] = []
    signs = list[Theorem]()
    for side in Side:
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
        squares += [(M, m_left), (part(side, g), eta * tau * (W - 1) / 2)]
    fall = value_of(MEAN, r.x) - value_of(MEAN, r.next)
    target = fall - norm2(g) * (eta * tau / 2) + constant(noise + far)
    return combine(uses, squares, target=target, signs=signs)


def slope() -> Theorem:
    """Return ``||grad f(x)||^2 <= (1 + v)^2 G2``: every client's first step is near."""
    r, zero = ROUND_T, ratio(0)
    gx, gp, away = r.own_gradient(), r.local_gradient(zero), r.away(zero)
    xi, client = r.noise(zero), part(Side.CLIENT, away)

    def update(u: Vec) -> Theorem:
        return rules.local_update(r.run, n, now, zero, Side.CLIENT, u)

    own = stochastic(r.run, n, now, of(i))
    none = part(Side.CLIENT, stochastic(r.run, n, now, of(j)))
    made = summed(steps(0), j, none)
    size = combine(
        [
            (rules.bounded_gradient(r.run, G2, n, now, zero), 1),
            (rules.unbiased(r.run, n, now, zero, gp), 2),
        ],
        [(xi, 1)],
        target=constant(G2) - norm2(gp),
    )
    everyone = combine([
        (all_steps(both_parts(own)), 1),
        (all_steps(rules.bounded_gradient(r.run, G2, n, now, of(i))), 1),
        (all_steps(combine(squares=[(part(Side.CLIENT, own), 1)])), 1),
    ])
    near = combine([
        (rules.lipschitz(Local(n), S, r.x, r.point(zero)), 1),
        (rules.blocks(away, away), -(S**2)),
        (update(client), -(S**2)),
        (update(made), r.eta * S**2),
        (rules.jensen(steps(0), j, ratio(1), none), (r.eta * S) ** 2),
        (server_move(zero), S**2),
        (everyone, S**2 * r.eta**2 * N * tau),
    ])
    one = combine([(young(gp, gx - gp, v), 1), (size, 1 + v), (near, 1 + 1 / v)])
    clients = rules.jensen(CLIENTS, n, weight(n), gx)
    mean_ = summed(CLIENTS, n, gx * weight(n))
    g = r.gradient
    return combine([
        (clients, 1),
        (sum_over(one, CLIENTS, n, weight(n)), 1),
        (rules.mean_gradient(r.x, g), -1),
        (rules.mean_gradient(r.x, mean_), -1),
    ])


mu, excess = positive("mu"), nonnegative("s")
KAPPA_S = mu + excess
gamma = 8 * KAPPA_S / mu - 1
RATE = Rate(4 / (mu * tau * (gamma + of_round())))


def at_rate(theorem: Theorem, signs: tuple[Theorem, ...] = ()) -> Theorem:
    """Return a theorem at the printed rate, for S = mu + s."""
    family = RoundFamily("eta", Sort.POSITIVE)
    values = ((family, RATE), (S_VARIABLE, KAPPA_S))
    return rules.instantiate(theorem, values, signs)


RUN = equal_paces(Kind.V2, tau, RATE)
u = 1 / (gamma + now)


def gap(at: Ratio) -> Lin:
    """Return ``f(x(at)) - f*``."""
    return value_of(MEAN, iterate(RUN, at)) - value_of(MEAN, BEST)


def constant_of_bound() -> Ratio:
    """Return X, for which (14) without its last term is X/(gamma + T)."""
    second, S_ = 2 * sigma2(n) + G2, KAPPA_S
    A = mean(n, (weight(n) ** 2 + 1) * second)
    B = mean(n, (weight(n) + 1) * second)
    return 8 * S_ * N * A / mu**2 + 768 * S_**2 * B / (mu**3 * (gamma + 1))


def early(at: Ratio, small: Theorem) -> Theorem:
    """Return ``gap <= X/(gamma + t)`` where ``gamma + t <= 8 N S/mu + 1``, `small`."""
    half, far = 1 / (2 * mu), G2 / (2 * mu * (gamma + at))
    near = rules.instantiate(at_rate(slope()), ((t, at),), ())
    return combine(
        [(gradient_domination(iterate(RUN, at)), half), (near, half), (small, far)],
        target=claim(at),
    )


def claim(at: Ratio) -> Lin:
    """Return ``X/(gamma + t) - gap``."""
    return constant(constant_of_bound() / (gamma + at)) - gap(at)


def late() -> Theorem:
    """Return the claim at t + 1 from that at t where ``gamma + t >= 8 N S/mu``."""
    slow = rules.assume(constant(slowness()))
    spare = 8 * KAPPA_S * N**2 * G2 / mu**2
    return combine(
        [
            (at_rate(descent()), 1),
            (gradient_domination(iterate(RUN, now)), 2 * u / mu),
            (rules.assume(claim(now)), 1 - 4 * u),
            (slow, spare * u**2),
        ],
        target=claim(now + 1),
    )


def slowness() -> Ratio:
    """Return ``1 - 8 N S/(mu (gamma + t))``."""
    return 1 - 8 * N * KAPPA_S / mu * u


def step() -> Theorem:
    """Return the claim at t + 1 from that at t."""
    fast = rules.assume(constant(-slowness()))
    small = combine(
        [(fast, gamma + now)],
        target=constant(8 * N * KAPPA_S / mu + 1 - (gamma + now + 1)),
    )
    return rules.cases(late(), early(now + 1, small), slowness())


def rate() -> Theorem:
    """Return ``gap <= X/(gamma + t)`` for every t, by induction."""
    zero = ratio(0)
    small = combine(target=constant(8 * N * KAPPA_S / mu + 1 - gamma))
    return rules.induct(early(zero, small), step(), t, claim(now))


def printed() -> Theorem:
    """Return (14) as printed, for equal weights; its last term is not needed."""
    last = rules.instantiate(rate(), ((t, T),), ())
    start = KAPPA_S * (gamma + 1) / (2 * (gamma + T))
    return combine([(last, 1)], [(iterate(RUN, 0) - BEST, start)])
