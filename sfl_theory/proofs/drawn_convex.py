"""Theorem 3.9, strongly convex, (20): SFL-V2 as printed, drawn clients, equal weights.

As for (14): while the server's rate is too large for the recursion, the gap is small by
itself. The second moment of a round's move is bounded by that of the draws.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    Kind,
    Lin,
    Local,
    Participants,
    Rate,
    RoundFamily,
    Side,
    Star,
    Vec,
    before,
    constant,
    draw,
    iterate,
    norm2,
    part,
    summed,
    value_of,
    vec,
    weight,
)
from sfl_theory.proofs.block_steps import decomposition
from sfl_theory.proofs.drawn_visits import Drawn, few, first_order
from sfl_theory.proofs.joint import both_parts
from sfl_theory.proofs.local_steps import G2, N, S, i, j, m, n, now, sigma2, t, young
from sfl_theory.proofs.notation import (
    combine,
    count,
    equal_paces,
    inverse_q,
    mean,
    nonnegative,
    of,
    of_round,
    positive,
    steps,
    sum_over,
)
from sfl_theory.proofs.strongly_convex import S_VARIABLE, gradient_domination
from sfl_theory.proofs.visits import late

d, tau = Drawn(), count("tau")
BEST, T = vec(Star(MEAN)), count("T")


def other(side: Side) -> Side:
    """Return the other side."""
    return Side.CLIENT if side is Side.SERVER else Side.SERVER


def block_bound(side: Side, client: object, v: object) -> Theorem:
    """Return ``||[g]_b||^2 <= G2`` for a step, given the draws."""
    g = stochastic(d.run, client, now, of(v))
    bound = rules.bounded_gradient(d.run, G2, client, now, of(v))
    return combine([(rules.blocks(g, g), 1), (bound, 1)], [(part(other(side), g), 1)])


def sum_bound(side: Side) -> Theorem:
    """Return ``||sum w_n J_n sum_i [g]_b||^2 <= tau^2 G2 E (sum w_n J_n)^2``."""
    share, g = d.of(side) * d.J, part(side, stochastic(d.run, n, now, of(i)))
    V = mean(n, share)
    clients = rules.jensen(CLIENTS, n, share, summed(steps(tau), i, g))
    inside = rules.jensen(steps(tau), i, ratio(1), g)
    return combine([
        (clients, 1),
        (sum_over(inside, CLIENTS, n, share), V),
        (d.all(block_bound(side, n, i), share), V * tau),
        (rules.expect(d.run, now, constant(V**2 * tau**2 * G2)), -1),
    ])


def move(side: Side) -> Theorem:
    """Return ``||[x' - x]_b||^2 <= eta^2`` times that bound."""
    r = d.round
    step = part(side, r.next - r.x)
    G = d.total(side, stochastic(d.run, n, now, of(i)))
    return combine([
        (rules.update(d.run, side, now, step), -1),
        (rules.update(d.run, side, now, G), r.eta),
        (sum_bound(side), r.eta**2),
    ])


def server_move(step: Ratio) -> Theorem:
    """Return ``||[p - x]_s||^2 <= eta^2 tau^2 G2 V^2``, V = sum J_m, given the draws."""
    side, r = Side.SERVER, d.round
    gm, J = part(side, stochastic(d.run, m, now, of(j))), draw(d.run, m, now)
    o, V = before(m, of(j), n, step, now), mean(m, J)
    not_yet, o_i = late()
    once = combine([(not_yet, 1 + o_i)], target=constant(1 - o_i**2))
    once = rules.instantiate(once, ((i, step),), ())
    visits = summed(CLIENTS, m, summed(steps(tau), j, gm * o) * J)
    fewer = sum_over(combine(squares=[(gm, 1)]), steps(tau), j, 1 - o**2, [once])
    inside = rules.jensen(steps(tau), j, ratio(1), gm * o)
    size = sum_over(block_bound(side, m, j), steps(tau), j)

    def update(w: Vec) -> Theorem:
        return rules.local_update(d.run, n, now, step, side, w)

    away, e2 = part(side, r.away(step)), r.eta**2
    return combine([
        (update(away), -1),
        (update(visits), r.eta),
        (rules.jensen(CLIENTS, m, J, summed(steps(tau), j, gm * o)), e2),
        (sum_over(inside, CLIENTS, m, J), e2 * V),
        (sum_over(fewer, CLIENTS, m, J), e2 * V * tau),
        (sum_over(size, CLIENTS, m, J), e2 * V * tau),
    ])


def client_move() -> Theorem:
    """Return ``||[p_i - x]_c||^2 <= eta^2 i^2 G2``."""
    side, r = Side.CLIENT, d.round
    g = part(side, stochastic(d.run, n, now, of(j)))

    def update(w: Vec) -> Theorem:
        return rules.local_update(d.run, n, now, of(i), side, w)

    return combine([
        (update(part(side, r.away(of(i)))), -1),
        (update(summed(steps(of(i)), j, g)), r.eta),
        (rules.jensen(steps(of(i)), j, ratio(1), g), r.eta**2),
        (sum_over(block_bound(side, n, j), steps(of(i)), j), r.eta**2 * of(i)),
    ])


def drift() -> Theorem:
    """Return ``D <= 4/3 eta^2 tau^3 (sum 1/q_n)^2 N G2``."""
    r, V, c = d.round, mean(n, d.J), Fraction(4, 3)
    most, size = d.most, r.eta**2 * tau**3 * G2
    bounded = constant(size * V * most**2 * c)
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
    near = rules.lipschitz(Local(n), S, r.x, r.point(of(i)))
    below = [combine([(rules.weight_below_one(n), 1)])]
    client = combine(squares=[(part(Side.CLIENT, far), 1)])
    more = sum_over(
        sum_over(client, steps(tau), i), CLIENTS, n, d.J * (1 - weight(n)), below
    )
    uses: list[tuple[Theorem, Number]] = [
        (decomposition(r), 1),
        (more, half),
        (d.all(both_parts(far), share), half),
        (d.all(near, share), half),
        (drift(), half * S**2),
        (rules.blocks(g, g), -half * tau),
    ]
    for side in Side:
        uses += [(first_order(d, side), 1), (move(side), S / 2)]
    spare = (part(Side.SERVER, g), half * tau * (N - 1))
    return combine(uses, [spare])


def slope() -> Theorem:
    """Return ``||grad f(x)||^2 <= 2 G2 (1 + (S eta tau)^2 E (sum J)^2)``."""
    r, zero = d.round, ratio(0)
    gx, gp, away = r.own_gradient(), r.local_gradient(zero), r.away(zero)
    client, V = part(Side.CLIENT, away), mean(n, d.J)
    none = part(Side.CLIENT, stochastic(d.run, n, now, of(j)))
    made = summed(steps(0), j, none)

    def update(w: Vec) -> Theorem:
        return rules.local_update(d.run, n, now, zero, Side.CLIENT, w)

    size = combine(
        [
            (rules.bounded_gradient(d.run, G2, n, now, zero), 1),
            (rules.unbiased(d.run, n, now, zero, gp), 2),
        ],
        [(r.noise(zero), 1)],
        target=constant(G2) - norm2(gp),
    )
    square = constant((S * r.eta * tau * V) ** 2 * G2)
    near = combine([
        (rules.lipschitz(Local(n), S, r.x, r.point(zero)), 1),
        (rules.blocks(away, away), -(S**2)),
        (update(client), -(S**2)),
        (update(made), r.eta * S**2),
        (rules.jensen(steps(0), j, ratio(1), none), (r.eta * S) ** 2),
        (server_move(zero), S**2),
        (rules.expect(d.run, now, square), -1),
    ])
    one = combine([(young(gp, gx - gp, 1), 1), (size, 2), (near, 2)])
    mean_ = summed(CLIENTS, n, gx * weight(n))
    return combine([
        (rules.jensen(CLIENTS, n, weight(n), gx), 1),
        (sum_over(one, CLIENTS, n, weight(n)), 1),
        (rules.mean_gradient(r.x, r.gradient), -1),
        (rules.mean_gradient(r.x, mean_), -1),
    ])


mu, excess = positive("mu"), nonnegative("s")
KAPPA_S = mu + excess
gamma = 8 * KAPPA_S / mu - 1
RATE = Rate(4 / (mu * tau * (gamma + of_round())))
RUN = equal_paces(Kind.V2, tau, RATE, Participants.UPDATES)
MOST = mean(n, inverse_q(n))
SWITCH = 4 * KAPPA_S / mu * MOST
"""From this value of gamma + t on the recursion is used."""


def at_rate(theorem: Theorem) -> Theorem:
    """Return a theorem at the printed rate, for S = mu + s."""
    family = RoundFamily("eta", Sort.POSITIVE)
    values = ((family, RATE), (S_VARIABLE, KAPPA_S))
    return rules.instantiate(theorem, values, ())


def gap(at: Ratio) -> Lin:
    """Return ``f(x(at)) - f*``."""
    return value_of(MEAN, iterate(RUN, at)) - value_of(MEAN, BEST)


def constant_of_bound() -> Ratio:
    """Return X, for which (20) without its last term is X/(gamma + T)."""
    second, S_ = 2 * sigma2(n) + G2, KAPPA_S
    A = mean(n, (weight(n) ** 2 + 1) * (second + G2 * inverse_q(n)))
    B = mean(n, (weight(n) + 1) * second)
    return 8 * S_ * N * A / mu**2 + 768 * S_**2 * B / (mu**3 * (gamma + 1))


def claim(at: Ratio) -> Lin:
    """Return ``X/(gamma + t) - gap``."""
    return constant(constant_of_bound() / (gamma + at)) - gap(at)


def early(at: Ratio, *small: tuple[Theorem, Number]) -> Theorem:
    """Return the claim where gamma + t is small, or 0."""
    half = 1 / (2 * mu)
    near = rules.instantiate(at_rate(slope()), ((t, at),), ())
    return combine(
        [(gradient_domination(iterate(RUN, at)), half), (near, half), *small],
        target=claim(at),
    )


def slowness() -> Ratio:
    """Return ``1 - 4 S sum 1/q_n / (mu (gamma + t))``."""
    return 1 - SWITCH / (gamma + now)


def late_rounds() -> Theorem:
    """Return the claim at t + 1 from that at t where ``gamma + t >= 4 S/mu ..``."""
    u, slow = 1 / (gamma + now), rules.assume(constant(slowness()))
    spare = Fraction(32, 3) * KAPPA_S * N * MOST * G2 / mu**2
    return combine(
        [
            (at_rate(descent()), 1),
            (gradient_domination(iterate(RUN, now)), 2 * u / mu),
            (rules.assume(claim(now)), 1 - 4 * u),
            (slow, spare * u**2),
        ],
        target=claim(now + 1),
    )


def rate() -> Theorem:
    """Return ``gap <= X/(gamma + t)`` for every t, by induction."""
    fast = rules.assume(constant(-slowness()))
    soon = combine(
        [(fast, gamma + now)], target=constant(SWITCH + 1 - (gamma + now + 1))
    )
    soon_enough = early(now + 1, (soon, G2 / (mu * (gamma + now + 1))))
    step = rules.cases(late_rounds(), soon_enough, slowness())
    return rules.induct(early(ratio(0)), step, t, claim(now))


def printed() -> Theorem:
    """Return (20) as printed, for equal weights; its last term is not needed."""
    last = rules.instantiate(rate(), ((t, T),), ())
    start = KAPPA_S * (gamma + 1) / (2 * (gamma + T))
    return combine([(last, 1)], [(iterate(RUN, 0) - BEST, start)])


if __name__ == "__main__":
    import time
    for f in (late_rounds, rate, printed):
        s=time.time()
        try:
            th=f(); print(time.time()-s, [str(h)[:80] for h in th.hypotheses])
        except Exception as e:
            print("ERR", str(e)[:2500])
