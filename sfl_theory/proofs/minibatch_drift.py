r"""How far the local models of MiniBatch-SFL drift apart in a round, any gamma > 0."""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs.local_steps import n
from sfl_theory.proofs.minibatch import R2, mu
from sfl_theory.proofs.minibatch_steps import (
    CLIENT,
    LEFT,
    SERVER,
    B,
    J,
    K,
    any_gamma,
    apart,
    bounded,
    clock,
    delta2,
    drift,
    j,
    middle,
    moved,
    over,
    point,
    r,
    rate,
    same_start,
    sampled,
    server_same,
    spread,
    variable,
)
from sfl_theory.proofs.notation import (
    combine,
    count,
    nat,
    of,
    sign,
    steps,
    sum_over,
)


def shrunk(step_: Ratio) -> k.Lin:
    """Return ``(x-1)^2 (1 - j/(2K)) D``."""
    x = clock(step_, any_gamma)
    return spread(step_) * ((x - 1) ** 2 * (1 - step_ / (2 * K)))


def spreading() -> Theorem:
    """Return that `shrunk` grows by at most ``4B/mu^2`` in a step."""
    x = clock(J, any_gamma)
    factor = x**2 * (1 - (J + 1) / (2 * K))
    a = (K + 1 + r) / (2 * K)
    spare = x * (K - 1 + r) / K + a + x**2 * (J + 1) / (4 * K**2)
    return combine(
        [
            (drift(), factor),
            (over(combine(squares=[(apart(J), 1)])), spare),
        ],
        target=shrunk(J) + k.constant(4 * B / mu**2) - shrunk(J + 1),
        signs=[
            sign(factor, (LEFT, x**2 / (2 * K))),
            sign(spare, (LEFT, x / K + 1 / (2 * K))),
        ],
    )


def by_gradients() -> Theorem:
    """Return ``D <= 2 (R2 + delta2)/mu^2``: bounded gradients, strong convexity."""
    d, wbar = apart(J), middle(J)
    g, at_mean = k.gradient(k.Local(n), point(J)), k.gradient(k.Local(n), wbar)
    total, own = k.gradient(k.MEAN, wbar), moved() * rate()
    seen = k.part(CLIENT, d)
    one = combine(
        [
            (sampled(seen), 1),
            (rules.blocks(g, d), -1),
            (server_same(g), -1),
            (rules.convex(k.Local(n), mu, point(J), wbar), 1),
            (rules.convex(k.Local(n), mu, wbar, point(J)), 1),
            (rules.heterogeneity(delta2, n, wbar), 1 / mu),
            (bounded(), rate() ** 2 / mu),
            (rules.blocks(d, d), mu / 4),
        ],
        [
            (d * (mu / 2) + (at_mean - total), 1 / mu),
            (own - seen * (mu / 2), 1 / mu),
            (k.part(SERVER, d), mu / 4),
        ],
    )
    return combine([
        (over(one), 2 / mu),
        (rules.linear(k.CLIENTS, n, d * k.weight(n), total), -2 / mu),
    ])


STEP, REST = count("j"), of(nat("r"))
SIZE = STEP + 1 + REST
"""K where r steps are left after step j >= 1."""


def long(theorem: Theorem) -> Theorem:
    """Return the theorem for ``K = j + 1 + r``."""
    return rules.instantiate(theorem, ((variable(K), SIZE),), ())


@cache
def drift_of_round() -> Theorem:
    """Return ``sum a ||[p - wbar]_c||^2 <= 3 eta^2 K B``, K = j + 1 + r, j >= 1."""
    by: dict[k.Variable, k.Replacement] = {variable(K): SIZE}
    x = k.number_at(clock(STEP, any_gamma), by)
    bound = k.number_at(3 * K * B * 4 / mu**2, by) / x**2
    d = apart(STEP)
    client = combine(
        [(rules.blocks(d, d), 1)],
        [(k.part(SERVER, d), 1)],
        target=k.norm2(d) - k.norm2(k.part(CLIENT, d)),
    )
    whole = combine(
        [
            (sum_over(long(spreading()), steps(STEP), j), 1),
            (rules.telescope(j, k.lin_at(shrunk(J), by), STEP), 1),
            (long(same_start()), k.number_at((clock(0, any_gamma) - 1) ** 2, by)),
        ],
        signs=[rules.square(k.number_at(clock(0, any_gamma) - 1, by))],
    )
    late, early = (rules.assume(k.constant(c)) for c in (x - 3, 3 - x))
    share = 3 * SIZE / (STEP * x**2)
    enough = (x - 1) ** 2 * (STEP + 2 + 2 * REST) * 3 / 2 - STEP * x**2
    left_over = combine(
        [
            (rules.square(x - 3), STEP / 2),
            (rules.square(x - 1), 3 * REST),
            (late, 3 * x),
        ],
        target=k.constant(enough),
    )
    spare = enough / (STEP * x**2)
    target = k.constant(bound) - k.lin_at(spread(STEP), by)
    above = combine(
        [(whole, share), (long(over(combine(squares=[(d, 1)]))), spare)],
        target=target,
        signs=[sign(spare, (left_over, 1 / (STEP * x**2)))],
    )
    level = k.number_at(R2 + delta2, by) * 2 / mu**2
    below = combine(
        [
            (long(rules.instantiate(by_gradients(), ((j, STEP),), ())), 1),
            (early, level * (3 + x) / x**2),
        ],
        target=target,
    )
    both = rules.cases(above, below, x - 3)
    return combine([(both, 1), (long(over(client)), 1)])


def no_drift() -> Theorem:
    """Return the same for j = 0 and ``K = EM``, where D is 0."""
    d, h = apart(ratio(0)), mu * clock(0, any_gamma) / 2
    client = combine([(rules.blocks(d, d), 1)], [(k.part(SERVER, d), 1)])
    bound = k.constant(3 * K * B / h**2)
    block = k.summed(k.CLIENTS, n, k.norm2(k.part(CLIENT, d)) * k.weight(n))
    one = combine([(same_start(), 1), (over(client), 1)], target=bound - block)
    size = count("epochs") * count("batches")
    return rules.instantiate(one, ((variable(K), size),), ())
