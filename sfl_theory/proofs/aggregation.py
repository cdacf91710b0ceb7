"""What a round makes of the clients' local models, block by block: equalities."""

from __future__ import annotations

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem, direction, stochastic
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
