"""What a round makes of the clients' local models, block by block: equalities."""

from __future__ import annotations

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, direction, share, stochastic
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    Client,
    Local,
    Side,
    Split,
    Vec,
    constant,
    gradient,
    inner,
    iterate,
    local_point,
    part,
    summed,
    weight,
)
from sfl_theory.proofs.notation import (
    combine,
    inverse_q,
    mean,
    nat,
    number_of_clients,
    of,
    per_client,
    steps,
    sum_over,
)

n, t, i, j = Client("n"), nat("t"), nat("i"), nat("j")
now = of(t)


def aggregated(run: Split, side: Side) -> Theorem:
    """Return that x(t+1) is the weighted mean of the local models, the side's block."""
    made, rate = ratio(run.pace(side).steps), run.pace(side).rate.at(now)
    x, end = iterate(run, now), local_point(run, n, now, made)
    moved = summed(steps(made), j, stochastic(run, n, now, of(j)))
    gap = part(side, summed(CLIENTS, n, end * weight(n)) - iterate(run, now + 1))
    each = part(side, end - x + moved * rate)
    local = rules.local_update(run, n, now, made, side, gap)
    return combine([
        (rules.update(run, side, now, gap), 1),
        (sum_over(local, CLIENTS, n, weight(n)), -1),
        (rules.linear(CLIENTS, n, each * weight(n), gap), -1),
    ])


def updated(run: Split, side: Side) -> Theorem:
    """Return the update of a block as the run defines it, as a norm that vanishes."""
    moved = part(side, iterate(run, now + 1) - iterate(run, now))
    gap = moved + direction(run, now, side) * run.pace(side).rate.at(now)
    return combine([(rules.update(run, side, now, gap), -1)])


def local_whole(run: Split) -> Theorem:
    """Return ``p(n,t,i) = x(t) - eta sum_{j<i} g``, both blocks, i <= tau; sum b_n."""
    at, eta = of(i), run.client.rate.at(now)
    total = summed(steps(at), j, stochastic(run, n, now, of(j)))
    gap = local_point(run, n, now, at) - iterate(run, now) + total * eta
    sides = [(rules.local_update(run, n, now, at, side, gap), -1) for side in Side]
    one = combine([(rules.blocks(gap, gap), -1), *sides])
    return sum_over(one, CLIENTS, n, per_client("b", n))


def round_whole(run: Split) -> Theorem:
    """Return ``x(t+1) = sum a_n p(n,t,tau)``, both blocks."""
    made = ratio(run.client.steps)
    end = local_point(run, n, now, made)
    gap = summed(CLIENTS, n, end * weight(n)) - iterate(run, now + 1)
    sides = [(aggregated(run, side), 1) for side in Side]
    return combine([(rules.blocks(gap, gap), -1), *sides])


def equal_weights(x: Vec) -> Theorem:
    """Return ``||[sum_n grad F_n(x) - N grad f(x)]_s||^2 <= 0`` where N a_n = 1."""
    N, side = number_of_clients(), Side.SERVER
    off = 1 - N * weight(n)
    low, high = rules.assume(constant(off)), rules.assume(constant(-off))
    zero = combine([(high, off)], signs=[low])
    g = part(side, gradient(Local(n), x))
    square = combine(squares=[(g, -(off**2))], signs=[zero])
    gap = summed(CLIENTS, n, g * off)
    own = part(side, summed(CLIENTS, n, gradient(Local(n), x)))
    whole = own - part(side, gradient(MEAN, x)) * N
    return combine(
        [
            (rules.jensen(CLIENTS, n, ratio(1), g * off), 1),
            (sum_over(square, CLIENTS, n), N),
            (rules.mean_gradient(x, whole), N),
            (rules.mean_gradient(x, gap), N),
        ],
        target=-inner(whole, whole),
    )


def moved_by_drawn(run: Split, side: Side) -> Theorem:
    """Return the mean square by which a round moves a block, updates averaged.

    ``eta^2 (||sum a_n h_n||^2 + sum a_n^2 (1/q_n - 1) ||h_n||^2)``, h_n the sum of the
    side's gradients.
    """
    made, rate = ratio(run.pace(side).steps), run.pace(side).rate.at(now)
    h = part(side, summed(steps(made), j, stochastic(run, n, now, of(j))))
    away = part(side, iterate(run, now + 1) - iterate(run, now))
    sent = summed(CLIENTS, n, h * share(run, n, now, side))
    return combine([
        (rules.update(run, side, now, away), -1),
        (rules.update(run, side, now, sent), rate),
        (rules.expect(run, now, inner(sent, sent)), -(rate**2)),
    ])


def mean_of_models(run: Split, side: Side, z: Vec) -> Theorem:
    """Return ``<[x(t+1)]_b, z> = <[sum a_n p(n,t,end)]_b, z>``, for z fixed before."""
    made, rate = ratio(run.pace(side).steps), run.pace(side).rate.at(now)
    x, end = iterate(run, now), local_point(run, n, now, made)
    h = part(side, summed(steps(made), j, stochastic(run, n, now, of(j))))
    update = rules.update(run, side, now, z)
    stays = inner(part(side, iterate(run, now + 1)), z) - update.form
    each = part(side, end - x) + h * rate
    local = rules.local_update(run, n, now, made, side, z)
    return combine([
        (update, -1),
        (rules.expect(run, now, stays), -1),
        (sum_over(local, CLIENTS, n, weight(n)), 1),
        (rules.linear(CLIENTS, n, each * weight(n), z), 1),
    ])


def mean_of_weights(run: Split, z: Vec) -> Theorem:
    """Return ``<[x(t+1)]_c, z> = <[x(t)]_c, z>`` for a client's rate of 0."""
    made = rules.update(run, Side.CLIENT, now, z)
    stays = inner(part(Side.CLIENT, iterate(run, now + 1)), z) - made.form
    return combine([(made, -1), (rules.expect(run, now, stays), -1)])


def drawn_or_all(run: Split, side: Side, G2: Ratio) -> Theorem:
    """Return ``||[xbar - x(t+1)]_b||^2 <= N tau_b^2 eta_b^2 G2 sum_n a_n^2/q_n``.

    xbar = sum_n a_n p(n,t,end) is where everyone would have led. The difference is
    ``eta sum_n a_n (1 - J_n) h_n`` with mean 0 and variance
    ``eta^2 sum_n a_n^2 (1/q_n - 1) ||h_n||^2``, h_n the sum of tau_b gradients.
    """
    made, rate = ratio(run.pace(side).steps), run.pace(side).rate.at(now)
    x, end = iterate(run, now), local_point(run, n, now, made)
    g = stochastic(run, n, now, of(j))
    h, own = part(side, summed(steps(made), j, g)), share(run, n, now, side)
    gap = part(side, summed(CLIENTS, n, end * weight(n)) - iterate(run, now + 1))
    noise = summed(CLIENTS, n, h * (own - weight(n))) * rate
    each = part(side, end - x) + h * rate

    def made_of(w: Vec) -> list[tuple[Theorem, Number]]:
        local = rules.local_update(run, n, now, made, side, w)
        return [
            (sum_over(local, CLIENTS, n, weight(n)), -1),
            (rules.linear(CLIENTS, n, each * weight(n), w), -1),
            (rules.update(run, side, now, w), 1),
        ]

    same = combine(
        [*made_of(gap), *made_of(noise)],
        target=inner(noise, noise) - inner(gap, gap),
    )
    other = Side.SERVER if side is Side.CLIENT else Side.CLIENT
    short = combine(
        [
            (rules.bounded_gradient(run, G2, n, now, of(j)), 1),
            (rules.blocks(g, g), 1),
        ],
        [(part(other, g), 1)],
        target=constant(G2) - inner(part(side, g), part(side, g)),
    )
    size = combine([
        (rules.jensen(steps(made), j, ratio(1), part(side, g)), 1),
        (sum_over(short, steps(made), j), made),
    ])
    odds = inverse_q(n) - 1
    spread = sum_over(size, CLIENTS, n, weight(n) ** 2 * odds * rate**2)
    inverse = mean(n, weight(n) ** 2 * inverse_q(n))
    right = number_of_clients() * made**2 * rate**2 * G2 * inverse
    return combine(
        [
            (same, 1),
            (rules.expect(run, now, inner(noise, noise)), -1),
            (spread, 1),
        ],
        target=constant(right) - inner(gap, gap),
    )
