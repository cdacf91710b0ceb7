r"""SFL-V2's drift under bounded gradients, from the order of the visits.

Before a visit others of weight W were made, and ``||sum a_v g_v||^2 <= W sum a_v
||g_v||^2``. The visits come one after another, so ``sum_v a_v W_v <= tau^2/2``, half of
all pairs: that bounds the server's way as ``sum_i i <= tau^2/2`` does a client's.
"""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.local_steps import G2, Round, both_parts, i, j, m, n, now
from sfl_theory.proofs.notation import combine, mean, nat, of, steps, sum_over
from sfl_theory.proofs.visited import SERVER, Visited

other, later = k.Client("l"), nat("l")
"""Of another visit before the same step."""
Binders = list[tuple[k.Binder, k.Bindable]]


def before(d: Visited) -> Ratio:
    """Return W, what the visits before weigh."""
    inside = k.summed(steps(d.tau), j, k.constant(d.o))
    return mean(m, d.w * rules.number_of(inside))


def nested(form: k.Lin, binders: Binders) -> k.Lin:
    """Return a sum over several indices, the first one outside."""
    for binder, v in reversed(binders):
        form = k.summed(binder, v, form)
    return form


def each_of(theorem: Theorem, binders: Binders) -> Theorem:
    """Return a theorem summed likewise."""
    for binder, v in reversed(binders):
        theorem = sum_over(theorem, binder, v)
    return theorem


def half_of_all(d: Visited) -> Theorem:
    """Return ``sum_n w_n sum_i W_i <= (sum w_n)^2 tau^2/2``, twice."""
    every: Binders = [
        (k.CLIENTS, n),
        (steps(d.tau), i),
        (k.CLIENTS, m),
        (steps(d.tau), j),
    ]
    both = share(d) * d.w
    turned = k.before(n, of(i), m, of(j), now)
    pairs = derived.not_both(m, of(j), n, of(i), now)
    pairs = combine((pairs, both), target=k.constant(both * (1 - d.o - turned)))
    swaps = []
    order = every
    for place in (1, 0, 2, 1):
        outer, inner = order[place : place + 2]
        rest = nested(k.constant(both * turned), order[place + 2 :])
        swaps.append(each_of(rules.exchange(*outer, *inner, rest), order[:place]))
        order = [*order[:place], inner, outer, *order[place + 2 :]]
    return combine(each_of(pairs, every), *swaps)


def share(d: Visited) -> Ratio:
    """Return client n's weight ``w_n``."""
    return rules.share(d.round.run, n, now, SERVER)


def cauchy(d: Visited, g: k.Vec) -> Theorem:
    """Return ``||sum_m w_m sum_j o g||^2 <= W sum_m w_m sum_j ||g||^2``, twice.

    From ``||g - g'||^2 >= 0`` for every two visits before.
    """
    run, tau = d.round.run, steps(d.tau)
    a, a2 = d.w, rules.share(run, other, now, SERVER)
    g2 = k.part(SERVER, stochastic(run, other, now, of(later)))
    o2 = k.before(other, of(later), n, d.step, now)
    V, W = d.sum(g), before(d)

    def of_others(theorem: Theorem) -> Theorem:
        return sum_over(theorem, k.CLIENTS, other, a2)

    def of_all(theorem: Theorem) -> Theorem:
        return sum_over(sum_over(theorem, tau, j, d.o), k.CLIENTS, m, a)

    inside = k.summed(tau, later, g2 * o2)
    one = combine(
        of_others(sum_over(combine((g - g2, 1)), tau, later, o2)),
        (of_others(rules.linear(tau, later, g2 * o2, g)), -2),
        (rules.linear(k.CLIENTS, other, inside * a2, g), -2),
    )
    fewer = sum_over(combine((g, 1)), tau, j, W * (1 - d.o), [combine((d.late(), W))])
    total = k.summed(k.CLIENTS, m, k.summed(tau, j, k.norm2(g)) * a)
    return combine(
        of_all(one),
        (sum_over(rules.linear(tau, j, g * d.o, V), k.CLIENTS, m, a), -2),
        (rules.linear(k.CLIENTS, m, d.of_client(g) * a, V), -2),
        (sum_over(fewer, k.CLIENTS, m, a), 2),
        target=(total * W - k.norm2(V)) * 2,
    )


def ways(r: Round) -> Theorem:
    """Return ``D <= (eta tau)^2/2 sum_n w_n sum_i (||g_c||^2 + W^2 ||g_s||^2)``.

    ``D = sum_n w_n sum_i ||p_i - x||^2``, given the draws, and W all weights.
    """
    d, tau, e2 = Visited(r), r.steps(k.Side.CLIENT), r.eta**2
    w, whole = share(d), d.W
    g, at = d.stochastic(), stochastic(r.run, n, now, of(i))
    earlier = k.part(k.Side.CLIENT, stochastic(r.run, n, now, of(j)))
    more = rules.longer(j, earlier, of(i), tau)
    one = combine(
        (both_parts(r.away(of(i))), -1),
        local.own_steps(r, k.Side.CLIENT, of(i), of(i)),
        (more, e2 * of(i)),
        (d.moved(g), -1),
        (cauchy(d, g), e2 / 2),
    )
    client, server = (
        r.summed(combine((k.part(side, at), 1)), tau, w)
        for side in (k.Side.CLIENT, SERVER)
    )
    weighs = rules.number_of(r.over(k.constant(before(d)), tau, w))
    return combine(
        r.summed(one, tau, w),
        (client, e2 * tau / 2),
        (server, e2 * (tau**2 / 2 * whole**2 - weighs)),
        signs=[combine((half_of_all(d), e2 / 2))],
    )


@cache
def bounded_drift(r: Round) -> Theorem:
    """Return ``D <= eta^2 tau^3/2 G2`` where everyone takes part."""
    tau, at = r.steps(k.Side.CLIENT), stochastic(r.run, n, now, of(i))
    both = combine(both_parts(at), derived.bounded_gradient(r.run, G2, n, now, of(i)))
    size = r.eta**2 * tau**2 / 2
    return combine(
        ways(r),
        (r.summed(both, tau, k.weight(n)), size),
        target=k.constant(size * tau * G2) - local.whole_drift(r),
    )


def drawn_drift(r: Round) -> Theorem:
    """Return ``D <= eta^2 tau^3/2 (W + W^3) G2`` given the draws."""
    d, tau, at = Visited(r), r.steps(k.Side.CLIENT), stochastic(r.run, n, now, of(i))
    w, size = share(d), r.eta**2 * tau**2 / 2
    both = combine(both_parts(at), derived.bounded_gradient(r.run, G2, n, now, of(i)))
    client, server = (
        r.summed(combine((k.part(side, at), 1)), tau, w)
        for side in (k.Side.CLIENT, SERVER)
    )
    return combine(
        ways(r),
        (client, size * d.W**2),
        (server, size),
        (r.summed(both, tau, w), size * (1 + d.W**2)),
        target=k.constant(size * tau * G2 * (d.W + d.W**3)) - r.drift(tau, w),
    )
