r"""Inequalities between numbers: signs, roots, sums over weights; powers as a sequence.

A kernel term has no power with a symbol for an exponent. The powers are a family c of
positive numbers whose recursion is assumed for j < tau, in both directions.
"""

from __future__ import annotations

from collections.abc import Callable

from sfl_theory.kernel import rules, terms
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.hypotheses import Holds
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import CLIENTS, UNIT, Client, Var, constant, summed, weight
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs.export import Statement
from sfl_theory.proofs.notation import Uses, combine, nat, of, sign, steps, sum_over

n = Client("n")
EXCESS = Var("s", Sort.NONNEGATIVE)


def shown(statement: Statement, uses: Uses = ()) -> Theorem:
    """Return ``left <= right``: what the uses leave over is >= 0 by its sorts."""
    return combine(*uses, target=statement.right - statement.left)


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
    factor = (1 + weight(n)) * notation.inverse_q(n)
    return sum_over(rules.weight_below_one(n), CLIENTS, n, factor)


def root(powers: Theorem, small: Ratio, large: Ratio, degree: int) -> Theorem:
    """Return ``small <= large`` from ``small^k <= large^k``, where large > 0.

    The difference of the powers is that of the numbers times
    ``sum_i large^(k-1-i) small^i``.
    """
    cofactor = ratio(0)
    for i in range(degree):
        cofactor = cofactor + large ** (degree - 1 - i) * small**i
    return combine((powers, 1 / cofactor), target=constant(large - small))


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
    powers = combine(*pairs, *uses, target=target)
    return root(powers, one, two, degree)


def mean_of_squares(family: Ratio, t: Var, T: Ratio) -> Theorem:
    """Return ``(sum_{t<T} e_t)^2/T <= sum_{t<T} e_t^2``: squares of e_t - h, summed."""
    h = Var("h", Sort.NONNEGATIVE)
    each = sum_over(rules.square(family - of(h)), steps(T), t)
    summed = sum_over(combine(target=constant(family)), steps(T), t)
    mean = rules.number_of(summed.form) / T
    return rules.instantiate(each, ((h, mean),), ())


# Powers of :math:`C = 1 + 2/\tau` as a sequence: c(0) = 1 and c(j + 1) = C c(j) ------

tau = notation.count("tau")
C = 1 + 2 / tau
i, j, k = nat("i"), nat("j"), nat("k")


def power(at: Number) -> Ratio:
    """Return ``c(at)``."""
    return terms.symbol(
        terms.PerRound(terms.RoundFamily("c", Sort.POSITIVE), terms.natural(at))
    )


def grows(at: Number, most: bool) -> Theorem:
    """Return ``c(at + 1) <= C c(at)`` (or >=), as assumed."""
    rest = C * power(at) - power(ratio(at) + 1)
    return rules.assume(constant(rest if most else -rest))


def starts(most: bool) -> Theorem:
    """Return ``c(0) <= 1`` (or >=), as assumed."""
    rest = 1 - power(0)
    return rules.assume(constant(rest if most else -rest))


def _compared(
    H: Callable[[Ratio], Ratio],
    most: bool,
    positive: Callable[[Theorem, Ratio], Theorem],
    gap: Callable[[Theorem, Ratio], Theorem],
) -> Theorem:
    """Return ``c(tau) H(0) <= H(tau)`` (or >=) from H(r + 1) >= C H(r), r < tau.

    The numbers c(j) H(tau - j) do not grow: r = tau - 1 - j is what is left after
    step j. `positive` shows H(r) >= 0 and `gap` that c(j) times the difference is >= 0.
    """
    left = tau - 1 - of(j)
    known = rules.assume(constant(left))
    one = combine(
        (grows(of(j), most), H(left)), gap(known, left), signs=[positive(known, left)]
    )
    whole = sum_over(one, steps(tau), j)
    fall = derived.telescope(j, constant(power(of(j)) * H(tau - of(j))), tau)
    direction = 1 if most else -1
    return combine(
        whole,
        (fall, direction),
        (starts(most), H(tau)),
        target=constant((H(tau) - power(tau) * H(ratio(0))) * direction),
    )


def at_most_9() -> Theorem:
    r"""Return ``c(tau) <= 9``, from H(r) = 1 + 2s + 2s^2 + 4s^3, s = r/tau."""

    def H(r: Ratio) -> Ratio:
        s = r / tau
        return 1 + 2 * s + 2 * s**2 + 4 * s**3

    def cube(known: Theorem, r: Ratio) -> Theorem:
        return combine((known, r**2), signs=[rules.square(r)])

    def positive(known: Theorem, r: Ratio) -> Theorem:
        uses = [
            (known, 2 / tau),
            (rules.square(r), 2 / tau**2),
            (cube(known, r), 4 / tau**3),
        ]
        return sign(H(r), *uses)

    def gap(known: Theorem, r: Ratio) -> Theorem:
        c = power(of(j))
        uses = [
            (rules.square(r), 8 * (of(j) + 1) * c / tau**4),
            (known, 12 * c / tau**3),
        ]
        return sign(c * (H(r + 1) - C * H(r)), *uses)

    return _compared(H, True, positive, gap)


def power_at_least() -> Theorem:
    """Return ``c(tau) >= 3 + (tau - 1)/tau``: H(r) = 1 + 2r/tau + r(r-1)/tau^2."""

    def H(r: Ratio) -> Ratio:
        return 1 + 2 * r / tau + r * (r - 1) / tau**2

    def positive(known: Theorem, r: Ratio) -> Theorem:
        uses = [(known, 2 / tau - 1 / tau**2), (rules.square(r), 1 / tau**2)]
        return sign(H(r), *uses)

    def gap(known: Theorem, r: Ratio) -> Theorem:
        c = power(of(j))
        uses = [(known, 2 * c * (tau - 1) / tau**3), (rules.square(r), 2 * c / tau**3)]
        return sign(c * (C * H(r) - H(r + 1)), *uses)

    return _compared(H, False, positive, gap)


def total(upper: Number) -> Ratio:
    """Return ``sum_{j<upper} c(j)``."""
    form = summed(steps(upper), j, constant(power(of(j))))
    return form.coefficients.get(UNIT, ratio(0))


def geometric(upper: Ratio, most: bool) -> Theorem:
    """Return ``(C - 1) sum_{j<upper} c(j) <= c(upper) - 1`` (or >=).

    The recursion's other direction than `most` says: it bounds c(upper) from below.
    """
    every = sum_over(grows(of(j), not most), steps(upper), j)
    fall = derived.telescope(j, constant(power(of(j))), upper)
    direction = 1 if most else -1
    target = (power(upper) - 1 - (C - 1) * total(upper)) * direction
    return combine(every, (fall, -direction), starts(not most), target=constant(target))


def partial_sums(B: Ratio, most: bool) -> Theorem:
    """Return ``sum_{i<tau} B sum_{j<i} c(j) <= B sum_{i<tau} (c(i) - 1)/(C - 1)``."""
    one = geometric(of(i), most)
    return sum_over(one, steps(tau), i, B * tau / 2)


def closed(B: Ratio) -> Ratio:
    """Return ``B/(2/tau) ((c(tau) - 1)/(2/tau) - tau)``."""
    return B * tau / 2 * ((power(tau) - 1) * tau / 2 - tau)


def sum_of_closed(B: Ratio, most: bool) -> Theorem:
    """Return ``B/(C - 1) sum_{i<tau} (c(i) - 1) <= closed`` (or >=)."""
    return combine((geometric(tau, most), B * tau**2 / 4))


def closed_at_most(B: Ratio) -> Theorem:
    """Return ``closed <= 2 tau^2 B``, as c(tau) <= 9."""
    target = constant(2 * tau**2 * B - closed(B))
    return combine((at_most_9(), B * tau**2 / 4), target=target)


def sums() -> Ratio:
    """Return ``sum_{i<tau} sum_{j<i} c(j)``."""
    form = summed(steps(tau), i, constant(total(of(i))))
    return form.coefficients.get(UNIT, ratio(0))


def sums_at_least() -> Theorem:
    """Return ``(tau/2) ((c(tau) - 1) tau/2 - tau) <= sum_{i<tau} sum_{j<i} c(j)``."""
    one = ratio(1)
    return combine(partial_sums(one, False), sum_of_closed(one, False))
