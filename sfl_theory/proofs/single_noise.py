"""The noise of one local step of SFL-V1 or MiniBatch-SFL, averaged over the clients.

``||sum_n a_n xi(n,t,i)||^2 = sum_n a_n^2 ||xi(n,t,i)||^2``: the rule speaks of the sums
of a round's first steps, and a step is the difference of two of them.
"""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs.equal_steps import first_square, only_one
from sfl_theory.proofs.notation import combine, of, steps, sum_over
from sfl_theory.proofs.unrolled import j, mean, n, now


def _each(run: k.Split) -> k.Vec:
    return k.noise(run, n, now, of(j))


def _first(run: k.Split, upper: int) -> k.Vec:
    """Return ``sum_n a_n sum_{j<upper} xi(n,t,j)``."""
    return mean(k.summed(steps(upper), j, _each(run)))


def _one_more(run: k.Split, i: int, w: k.Vec, sign: int) -> Theorem:
    """Return ``sign <S_{i+1} - S_i - mean xi_i, w> >= 0`` for the sums S."""
    xi = _each(run)
    shifted = k.vec_at(xi, {j: i + of(j)})
    own = combine(
        (rules.split(j, k.inner(xi, w), ratio(i), ratio(1)), sign),
        only_one(j, shifted, w, -sign),
        (rules.linear(steps(i + 1), j, xi, w), sign),
        (rules.linear(steps(i), j, xi, w), -sign),
    )
    uses: list[tuple[Theorem, Number]] = [(sum_over(own, k.CLIENTS, n, k.weight(n)), 1)]
    parts = [(k.summed(steps(i + 1), j, xi), 1), (k.summed(steps(i), j, xi), -1)]
    for u, c in [*parts, (k.noise(run, n, now, i), -1)]:
        uses.append((rules.linear(k.CLIENTS, n, u * k.weight(n), w), c * sign))
    total = _first(run, i + 1) - _first(run, i) - mean(k.noise(run, n, now, i))
    return combine(*uses, target=k.inner(total, w) * sign)


def only_square(u: k.Vec, sign: int) -> Theorem:
    """Return ``sign (||u(0)||^2 - sum_{j<1} ||u(j)||^2) >= 0``."""
    if sign > 0:
        return first_square(j, u)
    first = k.vec_at(u, {j: ratio(0)})
    near = sum_over(combine((u - first, 1)), steps(1), j)
    return combine((only_one(j, u, first, -1), 2), near)


def centred(run: k.Split, t: Ratio, i: Ratio, u: k.Vec) -> Theorem:
    """Return ``<xi(n,t,i), u> = 0`` for u fixed before step i of every client."""
    alone = run.kind is k.Kind.V1
    rule = rules.unbiased_across if alone else rules.unbiased
    return rule(run, n, t, i, u)


@cache
def centred_mean(run: k.Split, i: int, u: k.Vec) -> Theorem:
    """Return ``<sum_n a_n xi(n,t,i), u> = 0`` for u fixed before this step."""
    xi = k.noise(run, n, now, i)
    each = centred(run, now, ratio(i), u)
    linear = rules.linear(k.CLIENTS, n, xi * k.weight(n), u)
    return combine(sum_over(each, k.CLIENTS, n, k.weight(n)), linear)


@cache
def of_mean(run: k.Split, i: int, sign: int) -> Theorem:
    """Return ``sign (||mean xi_i||^2 - sum_n a_n^2 ||xi_i||^2) >= 0``."""
    xi, before, after = _each(run), _first(run, i), _first(run, i + 1)
    own, alone = mean(k.noise(run, n, now, i)), k.vec_at(xi, {j: i + of(j)})
    spread = combine(
        (rules.split(j, k.norm2(xi), ratio(i), ratio(1)), sign),
        only_square(alone, -sign),
    )

    def sums(upper: int) -> Theorem:
        return rules.independent(run, n, j, k.weight(n), now, ratio(upper), None)

    return combine(
        (sums(i + 1), sign),
        (sums(i), -sign),
        _one_more(run, i, after + before + own, -sign),
        (centred_mean(run, i, before), -2 * sign),
        sum_over(spread, k.CLIENTS, n, k.weight(n) ** 2),
        target=(k.norm2(own) - _squares(run, i, k.weight(n) ** 2)) * sign,
    )


def _squares(run: k.Split, i: int, factor: Ratio) -> k.Lin:
    return k.summed(k.CLIENTS, n, k.norm2(k.noise(run, n, now, i)) * factor)


@cache
def small_mean(run: k.Split, sigma2: Ratio, i: int) -> Theorem:
    """Return ``||mean xi_i||^2 <= sigma^2 sum_n a_n^2``."""
    each = rules.variance(run, sigma2, n, now, ratio(i))
    own = sum_over(each, k.CLIENTS, n, k.weight(n) ** 2)
    return combine(of_mean(run, i, -1), own)


@cache
def small_deviation(run: k.Split, sigma2: Ratio, i: int) -> Theorem:
    """Return ``sum_n a_n ||xi_i||^2 - ||mean xi_i||^2 <= sigma^2 (1 - sum a_n^2)``."""
    each = rules.variance(run, sigma2, n, now, ratio(i))
    factor, below = k.weight(n) * (1 - k.weight(n)), rules.weight_below_one(n)
    own = sum_over(each, k.CLIENTS, n, factor, [below])
    return combine(of_mean(run, i, 1), own)
