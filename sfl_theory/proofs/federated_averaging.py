"""SFL-V1 as FedAvg: whole vectors make local steps, their mean is the next model."""

from __future__ import annotations

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
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
    ends = k.summed(k.CLIENTS, n, r.point(tau) * k.weight(n))
    w = r.next - ends
    g, binder = noisy(of(j)), steps(tau)
    moved = r.away(tau) + k.summed(binder, j, g) * eta
    one = combine(
        [
            (rules.blocks(moved, w), 1),
            *((rules.local_update(run, n, now, tau, side, w), 1) for side in k.Side),
        ],
        target=k.inner(moved, w),
    )
    outer = rules.linear(k.CLIENTS, n, moved * k.weight(n), w)
    return combine(
        [(whole_update(r, w), -1), (each_client(one, k.weight(n)), 1), (outer, 1)],
        target=-1 * k.norm2(w),
    )


def single_step(side: k.Side) -> Theorem:
    """Return ``[x' - x + eta sum_n a_n g_n^0]_b = 0`` for rounds of one step."""
    only = Round(equal_paces(k.Kind.V1, 1, rates("eta")))
    at, end = of(j), ratio(1)
    g = k.part(side, only.local_gradient(at) + only.noise(at))
    first = k.vec_at(g, {j: ratio(0)})
    z = (
        k.part(side, only.next - only.x)
        + k.summed(k.CLIENTS, n, first * k.weight(n)) * eta
    )
    made = k.summed(steps(end), j, g)
    one = combine([(only_one(j, g, z, -1), 1), (rules.linear(steps(end), j, g, z), 1)])
    return combine(
        [
            (rules.update(only.run, side, now, z), -1),
            (rules.linear(k.CLIENTS, n, (first - made) * k.weight(n), z), -eta),
            (each_client(one, k.weight(n)), eta),
        ],
        target=-1 * k.norm2(z),
    )
