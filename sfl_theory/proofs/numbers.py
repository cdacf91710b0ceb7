"""Inequalities between numbers: signs, roots, sums over weights, S >= mu."""

from __future__ import annotations

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.hypotheses import Holds
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import CLIENTS, Client, Var, constant, weight
from sfl_theory.proofs.export import Statement
from sfl_theory.proofs.notation import Uses, combine, inverse_q, of, steps, sum_over

n = Client("n")
EXCESS = Var("s", Sort.NONNEGATIVE)


def shown(statement: Statement, uses: Uses = ()) -> Theorem:
    """Return ``left <= right``: what the uses leave over is >= 0 by its sorts."""
    return combine(uses, target=statement.right - statement.left)


def on(statement: Statement, parameter: Ratio) -> tuple[Theorem, ...]:
    """Return what a statement assumes of a parameter, as theorems."""
    return tuple(
        rules.assume(one.form)
        for one in sorted(statement.hypotheses, key=str)
        if isinstance(one, Holds) and parameter.free <= one.free
    )


def at_least(theorem: Theorem, S: Ratio, mu: Ratio) -> Theorem:
    """Return a theorem on S = mu + s under S >= mu instead."""
    sign = rules.assume(constant(S - mu))
    return rules.instantiate(theorem, ((EXCESS, S - mu),), (sign,))


def squared_weights() -> Theorem:
    """Return ``sum_n a_n^2 <= 1``."""
    return sum_over(rules.weight_below_one(n), CLIENTS, n, weight(n))


def inverse_chances() -> Theorem:
    """Return ``sum_n a_n^2/q_n <= sum_n 1/q_n``."""
    factor = (1 + weight(n)) * inverse_q(n)
    return sum_over(rules.weight_below_one(n), CLIENTS, n, factor)


def root(powers: Theorem, small: Ratio, large: Ratio, degree: int) -> Theorem:
    """Return ``small <= large`` from ``small^k <= large^k``, where large > 0.

    The difference of the powers is that of the numbers times
    ``sum_i large^(k-1-i) small^i``.
    """
    cofactor = ratio(0)
    for i in range(degree):
        cofactor = cofactor + large ** (degree - 1 - i) * small**i
    return combine([(powers, 1 / cofactor)], target=constant(large - small))


def roots(
    statement: Statement,
    small: Ratio,
    large: Ratio,
    degree: int,
    grown: tuple[Number, Number] = (1, 1),
    uses: Uses = (),
) -> Theorem:
    """Return ``l small <= k large``, ``(l, k) = grown``, for parameters of roots.

    Args:
        statement: assumes ``small^degree <= X`` and ``Y <= large^degree``.
        small: the root on the smaller side.
        large: the root on the larger side.
        degree: of both.
        grown: the factors l and k.
        uses: what shows, beside signs, that ``l^degree X <= k^degree Y``.

    Returns:
        The inequality.
    """
    (below,), (above,) = on(statement, small), on(statement, large)
    one, two = ratio(grown[0]) * small, ratio(grown[1]) * large
    pairs = [(below, ratio(grown[0]) ** degree), (above, ratio(grown[1]) ** degree)]
    target = constant(two**degree - one**degree)
    powers = combine([*pairs, *uses], target=target)
    return root(powers, one, two, degree)


def mean_of_squares(family: Ratio, t: Var, T: Ratio) -> Theorem:
    """Return ``(sum_{t<T} e_t)^2/T <= sum_{t<T} e_t^2``: squares of e_t - h, summed."""
    h = Var("h", Sort.NONNEGATIVE)
    each = sum_over(rules.square(family - of(h)), steps(T), t)
    summed = sum_over(combine(target=constant(family)), steps(T), t)
    mean = rules.number_of(summed.form) / T
    return rules.instantiate(each, ((h, mean),), ())
