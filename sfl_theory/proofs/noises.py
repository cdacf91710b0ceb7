"""Noises of a round are orthogonal: their sum's square is the sum of their squares."""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived
from sfl_theory.proofs.notation import combine, nat, of, steps, sum_over

j, m = nat("earlier"), k.Client("other")


def _noise(run: k.Split, n: k.Client, t: Ratio, i: Ratio, side: k.Side | None) -> k.Vec:
    xi = k.noise(run, n, t, i)
    return xi if side is None else k.part(side, xi)


@cache
def _one_step(
    run: k.Split, n: k.Client, i: k.Var, factor: Ratio, t: Ratio, side: k.Side | None
) -> Theorem:
    """Return what step i adds to ``sum w^2 ||xi||^2 - ||sum w xi||^2``: 0."""
    own = _noise(run, n, t, of(i), side) * factor
    each = k.vec_at(own, {i: of(j)})
    after, before = (k.summed(steps(end), j, each) for end in (of(i) + 1, of(i)))
    both = after + before + own
    return combine(
        (rules.linear(steps(of(i) + 1), j, each, both), -1),
        rules.linear(steps(of(i)), j, each, both),
        (rules.split(j, k.inner(each, both), of(i), ratio(1)), -1),
        (derived.unbiased(run, n, t, of(i), before), -2 * factor),
    )


@cache
def _one_client(
    run: k.Split,
    n: k.Client,
    i: k.Var,
    factor: Ratio,
    t: Ratio,
    upper: Ratio,
    side: k.Side | None,
) -> Theorem:
    """Return ``sum_{i<u} w^2 ||xi||^2 - ||sum_{i<u} w xi||^2 = 0``."""
    own = _noise(run, n, t, of(j), side) * k.number_at(factor, {i: of(j)})
    before = k.summed(steps(of(i)), j, own)
    return combine(
        sum_over(_one_step(run, n, i, factor, t, side), steps(upper), i),
        derived.telescope(i, k.norm2(before), upper),
    )


def martingale(
    run: k.Split, n: k.Client, t: Ratio, upper: Ratio, side: k.Side | None
) -> Theorem:
    """Return ``||sum_{i<u} xi(n,t,i)||^2 = sum_{i<u} ||xi(n,t,i)||^2``, or a block."""
    return _one_client(run, n, nat("step"), ratio(1), t, upper, side)


@cache
def independent(
    run: k.Split,
    n: k.Client,
    i: k.Var,
    factor: Ratio,
    t: Ratio,
    upper: Ratio,
    side: k.Side | None,
) -> Theorem:
    """Return ``sum_n sum_{i<u} w^2 ||xi||^2 - ||sum_n sum_{i<u} w xi||^2 = 0``."""
    own = _noise(run, n, t, of(i), side) * factor
    mine = k.summed(steps(upper), i, own)
    whole = k.summed(k.CLIENTS, n, mine)
    away = rules.unbiased_across(run, n, t, of(i), m, k.vec_at(mine, {n: m}))
    apart = combine(
        sum_over(away, steps(upper), i, factor),
        rules.linear(steps(upper), i, own, whole - mine),
    )
    one = _one_client(run, n, i, factor, t, upper, side)
    return combine(
        sum_over(one, k.CLIENTS, n),
        (sum_over(apart, k.CLIENTS, n), -1),
        (rules.linear(k.CLIENTS, n, mine, whole), -1),
    )


def of_steps(
    run: k.Split,
    n: k.Client,
    t: Ratio,
    last: Ratio,
    first: Ratio,
    side: k.Side | None = None,
) -> Theorem:
    """Return ``<sum_n a_n xi(n,t,last), sum_n a_n xi(n,t,first)> = 0``, or a block.

    Of one and the same step it is ``sum_n a_n^2 ||xi(n,t,last)||^2``.
    """
    one, other = (_noise(run, n, t, at, side) for at in (last, first))
    whole = k.summed(k.CLIENTS, n, other * k.weight(n))
    each = k.vec_at(other, {n: m}) * k.weight(m)
    away = rules.unbiased_across(run, n, t, last, m, each)
    if first != last:
        fixed = derived.unbiased(run, n, t, last, other)
        away = combine(away, (fixed, k.weight(n)))
    return combine(
        sum_over(away, k.CLIENTS, n, k.weight(n)),
        rules.linear(k.CLIENTS, n, one * k.weight(n), whole),
    )
