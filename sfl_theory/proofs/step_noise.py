"""The noises of a round's single steps, averaged over the clients, SFL-V1 and SFL-V2.

The rule speaks of ``sum_n sum_{j<tau} w xi(n,t,j)`` with any weights, so of those that
are 0 but at the steps that are meant.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import interleaved
from sfl_theory.proofs.notation import combine, of, steps, sum_over
from sfl_theory.proofs.single_noise import only_square
from sfl_theory.proofs.unrolled import W, block, j, longest, mean, n, now


def indicator(at: Collection[int], upper: int) -> Ratio:
    """Return the polynomial in j that is 1 at some of the steps and 0 at the others."""
    found = ratio(0)
    for i in at:
        term = ratio(1)
        for other in {*range(upper)} - {i}:
            term = term * ((of(j) - other) * Fraction(1, i - other))
        found = found + term
    return found


def noise(run: k.Split, i: Number, side: k.Side | None) -> k.Vec:
    """Return a block of ``xi(n,t,i)``."""
    return block(side, k.noise(run, n, now, i))


@cache
def of_steps(
    run: k.Split, at: tuple[int, ...], side: k.Side | None, way: int
) -> Theorem:
    """Return ``||sum_i mean xi_i||^2 = sum_i sum_n a_n^2 ||xi_i||^2``, sign way.

    The sums are over the steps that are named.
    """
    tau = longest(run)
    by = indicator(at, tau)
    each = noise(run, of(j), side) * by
    whole = mean(k.summed(steps(tau), j, each))
    single = sum((mean(noise(run, i, side)) for i in at), k.Vec({}))
    both = whole + single
    own: list[tuple[Theorem, Number]] = [
        (interleaved.unrolled(each * -way, tau), 1),
        (
            rules.linear(
                k.CLIENTS, n, k.summed(steps(tau), j, each) * k.weight(n), both
            ),
            0,
        ),
    ]
    there = rules.instantiate(combine(own[0][0]), ((W, both),), ())
    uses: list[tuple[Theorem, Number]] = [
        (sum_over(there, k.CLIENTS, n, k.weight(n)), 1),
        (own[1][0], -way),
    ]
    uses += [
        (rules.linear(k.CLIENTS, n, noise(run, i, side) * k.weight(n), both), way)
        for i in at
    ]
    squares: list[tuple[Theorem, Number]] = []
    rest = each
    for i in range(tau):
        form = k.norm2(rest)
        squares.append((rules.split(j, form, ratio(1), ratio(tau - i - 1)), way))
        squares.append((only_square(rest, -way), 1))
        rest = k.vec_at(rest, {j: of(j) + 1})
    squares.append((rules.split(j, k.norm2(rest), ratio(0), ratio(0)), -way))
    factor = k.weight(n) * by
    uses.append((rules.independent(run, n, j, factor, now, ratio(tau), side), way))
    uses.append((sum_over(combine(*squares), k.CLIENTS, n, k.weight(n) ** 2), 1))
    apart = (
        k.summed(k.CLIENTS, n, k.norm2(noise(run, i, side)) * k.weight(n) ** 2)
        for i in at
    )
    return combine(*uses, target=(k.norm2(single) - sum(apart, k.Lin({}))) * way)


@cache
def orthogonal(
    run: k.Split, i: int, other: int, side: k.Side | None, way: int
) -> Theorem:
    """Return ``<mean xi_i, mean xi_other> = 0`` for two steps, sign way."""
    half = Fraction(1, 2)
    return combine(
        (of_steps(run, (i, other), side, way), half),
        (of_steps(run, (i,), side, -way), half),
        (of_steps(run, (other,), side, -way), half),
    )


def small_mean(run: k.Split, bound: Ratio, of_n: Ratio, i: int) -> Theorem:
    """Return ``||mean xi_i||^2 <= bound``, ``sum a_n^2 sigma_n^2 <= bound`` assumed."""
    each = rules.variance(run, of_n, n, now, ratio(i))
    return combine(
        of_steps(run, (i,), None, -1),
        sum_over(each, k.CLIENTS, n, k.weight(n) ** 2),
        rules.assume(mean_bound(bound, of_n)),
    )


def small_deviation(run: k.Split, bound: Ratio, of_n: Ratio, i: int) -> Theorem:
    """Return ``sum_n a_n ||xi_i||^2 - ||mean xi_i||^2 <= bound``, likewise."""
    each = rules.variance(run, of_n, n, now, ratio(i))
    factor, below = k.weight(n) * (1 - k.weight(n)), rules.weight_below_one(n)
    return combine(
        of_steps(run, (i,), None, 1),
        sum_over(each, k.CLIENTS, n, factor, [below]),
        rules.assume(deviation_bound(bound, of_n)),
    )


def mean_bound(bound: Ratio, of_n: Ratio) -> k.Lin:
    """Return ``bound - sum_n a_n^2 sigma_n^2``."""
    return k.constant(bound) - k.summed(
        k.CLIENTS, n, k.constant(k.weight(n) ** 2 * of_n)
    )


def deviation_bound(bound: Ratio, of_n: Ratio) -> k.Lin:
    """Return ``bound - sum_n a_n (1 - a_n) sigma_n^2``."""
    a = k.weight(n)
    return k.constant(bound) - k.summed(k.CLIENTS, n, k.constant(a * (1 - a) * of_n))
