"""The noises of a round's single steps, averaged over the clients."""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs.noises import of_steps
from sfl_theory.proofs.notation import combine, sum_over
from sfl_theory.proofs.unrolled import n, now


@cache
def gram(run: k.Split, i: int, other: int, side: k.Side | None, way: int) -> Theorem:
    """Return ``<mean xi_i, mean xi_other> = 0``, minus ``sum a_n^2 ||xi_i||^2`` if i.

    Times way, 1 or -1.
    """
    first, last = sorted((i, other))
    return combine((of_steps(run, n, now, ratio(last), ratio(first), side), way))


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
