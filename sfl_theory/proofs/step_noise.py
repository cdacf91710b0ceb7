"""The noises of a round's single steps, averaged over the clients, SFL-V1 and SFL-V2.

The rule speaks of ``sum_n sum_{j<tau} w xi(n,t,j)`` with any weights w. With
``w = a_n c(j)`` it is one on the Gram matrix of the averaged noises, for every c, and
monomials for c, with their sums, tell its elements apart.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import interleaved
from sfl_theory.proofs.notation import combine, of, of_round, steps, sum_over
from sfl_theory.proofs.single_noise import only_square
from sfl_theory.proofs.unrolled import W, block, j, longest, mean, n, now

FAMILY = k.RoundFamily("c", Sort.NONNEGATIVE)
HALF = Fraction(1, 2)


def c(i: Number) -> Ratio:
    """Return the weight of a step."""
    return k.symbol(k.PerRound(FAMILY, k.natural(i)))


def noise(run: k.Split, i: Number, side: k.Side | None) -> k.Vec:
    """Return a block of ``xi(n,t,i)``."""
    return block(side, k.noise(run, n, now, i))


@cache
def weighted(run: k.Split, side: k.Side | None, way: int) -> Theorem:
    """Return ``||sum_i c_i mean xi_i||^2 = sum_i c_i^2 sum_n a_n^2 ||xi_i||^2``.

    Times way, 1 or -1, as a form >= 0.
    """
    tau, each = longest(run), noise(run, of(j), side) * c(of(j))
    inside = k.summed(steps(tau), j, each)
    single = [noise(run, i, side) * c(i) for i in range(tau)]
    total = sum(map(mean, single), k.Vec({}))
    both = mean(inside) + total
    there = rules.instantiate(interleaved.unrolled(each * -way, tau), ((W, both),), ())
    uses: list[tuple[Theorem, Number]] = [
        (
            rules.independent(run, n, j, k.weight(n) * c(of(j)), now, ratio(tau), side),
            way,
        ),
        (sum_over(there, k.CLIENTS, n, k.weight(n)), 1),
        (rules.linear(k.CLIENTS, n, inside * k.weight(n), both), -way),
    ]
    uses += [
        (rules.linear(k.CLIENTS, n, one * k.weight(n), both), way) for one in single
    ]
    squares: list[tuple[Theorem, Number]] = []
    rest = each
    for i in range(tau):
        form = k.norm2(rest)
        squares.append((rules.split(j, form, ratio(1), ratio(tau - i - 1)), way))
        squares.append((only_square(rest, -way), 1))
        rest = k.vec_at(rest, {j: of(j) + 1})
    squares.append((rules.split(j, k.norm2(rest), ratio(0), ratio(0)), -way))
    uses.append((sum_over(combine(*squares), k.CLIENTS, n, k.weight(n) ** 2), 1))
    apart = [k.summed(k.CLIENTS, n, k.norm2(one) * k.weight(n) ** 2) for one in single]
    return combine(*uses, target=(k.norm2(total) - sum(apart, k.Lin({}))) * way)


@cache
def _powers(
    run: k.Split, side: k.Side | None, powers: tuple[int, ...], way: int
) -> Theorem:
    """Return `weighted` with a sum of powers of the step for its weight."""
    body = sum((of_round() ** power for power in powers), ratio(0))
    by = ((FAMILY, k.Rate(body)),)
    return rules.instantiate(weighted(run, side, way), by, ())


@cache
def indicator(at: int, upper: int) -> tuple[Fraction, ...]:
    """Return coefficients of the polynomial in j that is 1 at one step, 0 at others."""
    found = [Fraction(1)]
    for other in {*range(upper)} - {at}:
        up = [Fraction(0), *found]
        low = [*(-other * value for value in found), Fraction(0)]
        found = [(a + b) / (at - other) for a, b in zip(up, low, strict=True)]
    return tuple(found)


@cache
def gram(run: k.Split, i: int, other: int, side: k.Side | None, way: int) -> Theorem:
    """Return ``<mean xi_i, mean xi_other> = 0``, minus ``sum a_n^2 ||xi_i||^2`` if i.

    Times way, 1 or -1, as a form >= 0.
    """
    tau = longest(run)
    one, two = indicator(i, tau), indicator(other, tau)
    amounts: dict[tuple[int, ...], Fraction] = {}
    for a in range(tau):
        for b in range(tau):
            product = one[a] * two[b] * HALF
            # 2 B(a, b) = Q(a + b) - Q(a) - Q(b)
            pair = tuple(sorted((a, b)))
            for powers, times in ((pair, 1), ((a,), -1), ((b,), -1)):
                known = amounts.get(powers, Fraction(0))
                amounts[powers] = known + times * product
    return combine(
        *(
            (_powers(run, side, powers, way if amount > 0 else -way), abs(amount))
            for powers, amount in amounts.items()
            if amount
        )
    )


def small_mean(run: k.Split, bound: Ratio, of_n: Ratio, i: int) -> Theorem:
    """Return ``||mean xi_i||^2 <= bound``, ``sum a_n^2 sigma_n^2 <= bound`` assumed."""
    each = rules.variance(run, of_n, n, now, ratio(i))
    return combine(
        gram(run, i, i, None, -1),
        sum_over(each, k.CLIENTS, n, k.weight(n) ** 2),
        rules.assume(mean_bound(bound, of_n)),
    )


def small_deviation(run: k.Split, bound: Ratio, of_n: Ratio, i: int) -> Theorem:
    """Return ``sum_n a_n ||xi_i||^2 - ||mean xi_i||^2 <= bound``, likewise."""
    each = rules.variance(run, of_n, n, now, ratio(i))
    factor, below = k.weight(n) * (1 - k.weight(n)), rules.weight_below_one(n)
    return combine(
        gram(run, i, i, None, 1),
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
