"""SFL-V1 as FedAvg: whole vectors make local steps, their mean is the next model."""

from __future__ import annotations

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import (
    CLIENTS,
    Kind,
    Side,
    inner,
    norm2,
    part,
    summed,
    vec_at,
    weight,
)
from sfl_theory.proofs.equal_steps import (
    each_client,
    eta,
    next_step,
    noisy,
    only_one,
    r,
    run,
    tau,
)
from sfl_theory.proofs.joint import whole_update
from sfl_theory.proofs.local_steps import Round, i, j, n, now
from sfl_theory.proofs.notation import combine, equal_paces, of, rates, steps


def step() -> Theorem:
    """Return ``p_{i+1} = p_i - eta g_i``, summed over clients."""
    apart = r.point(of(i) + 1) - r.point(of(i)) + noisy(of(i)) * eta
    return each_client(combine([(next_step(apart, -1), 1)]))


def aggregation() -> Theorem:
    """Return ``x' = sum_n a_n p_n^tau``."""
    ends = summed(CLIENTS, n, r.point(tau) * weight(n))
    w = r.next - ends
    g, binder = noisy(of(j)), steps(tau)
    moved = r.away(tau) + summed(binder, j, g) * eta
    one = combine(
        [
            (rules.blocks(moved, w), 1),
            *((rules.local_update(run, n, now, tau, side, w), 1) for side in Side),
        ],
        target=inner(moved, w),
    )
    outer = rules.linear(CLIENTS, n, moved * weight(n), w)
    return combine(
        [(whole_update(r, w), -1), (each_client(one, weight(n)), 1), (outer, 1)],
        target=-1 * norm2(w),
    )


def single_step(side: Side) -> Theorem:
    """Return ``[x' - x + eta sum_n a_n g_n^0]_b = 0`` for rounds of one step."""
    only = Round(equal_paces(Kind.V1, 1, rates("eta")))
    at, end = of(j), ratio(1)
    g = part(side, only.local_gradient(at) + only.noise(at))
    first = vec_at(g, {j: ratio(0)})
    z = part(side, only.next - only.x) + summed(CLIENTS, n, first * weight(n)) * eta
    made = summed(steps(end), j, g)
    one = combine([(only_one(j, g, z, -1), 1), (rules.linear(steps(end), j, g, z), 1)])
    return combine(
        [
            (rules.update(only.run, side, now, z), -1),
            (rules.linear(CLIENTS, n, (first - made) * weight(n), z), -eta),
            (each_client(one, weight(n)), eta),
        ],
        target=-1 * norm2(z),
    )
