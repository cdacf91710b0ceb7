"""Attacks on sums of no or one step, and on how numbers are written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction as Q
from pathlib import Path

import pytest
from calls import V1, V2, ZERO, F, S, d, i, j, m, mu, n, now, tau, x, y
from test_attacks_order import unbroken

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Poly, Ratio, Rejected, Sort, ratio
from sfl_theory.kernel.terms import CLIENTS, constant, norm2, summed
from sfl_theory.proofs import derived
from sfl_theory.proofs.notation import combine, of, steps, sum_over

ROOT = Path(__file__).parents[3]
TAU = k.Var("tau", Sort.COUNT)
here = k.noise(V2, n, now, of(i)) - k.local_point(V2, n, now, of(i))
first = k.noise(V2, n, now, ZERO) - k.local_point(V2, n, now, ZERO)


def test_one_step_is_step_0_and_no_step_is_nothing() -> None:
    form = norm2(here) * (of(i) + 3) + constant(of(i) + of(d))
    assert not summed(steps(1), i, form) - norm2(first) * 3 - constant(of(d))
    assert not summed(steps(0), i, form)
    assert not summed(steps(1), i, here * (of(i) + 1)) - first
    nested = summed(steps(1), i, summed(steps(of(i) + 1), j, norm2(here) * of(j)))
    assert not nested


def test_two_steps_or_perhaps_more_stay_a_sum() -> None:
    for upper in (ratio(2), tau, of(d), of(d) + 1):
        for atom in summed(steps(upper), i, norm2(here)).coefficients:
            assert isinstance(atom, k.LinSum)


CALLS: dict[str, Callable[[k.Ratio], R.Theorem]] = {
    "jensen": lambda u: R.jensen(steps(u), i, of(i) + 1, here),
    "linear": lambda u: R.linear(steps(u), i, here * (of(i) + 1), x),
    "longer": lambda u: R.longer(i, here, u, u + 1),
    "split": lambda u: R.split(i, norm2(here) * (of(i) + 1), u, of(d)),
    "split off": lambda u: R.split(i, norm2(here) * (of(i) + 1), of(d), u),
    "telescope": lambda u: derived.telescope(i, norm2(here) * of(i), u),
    "exchange": lambda u: R.exchange(CLIENTS, n, steps(u), i, norm2(here)),
    "sum_over": lambda u: sum_over(
        derived.variance(V2, S, n, now, of(i)), steps(u), i, of(i) + 1
    ),
    "restricted": lambda u: sum_over(
        R.assume(constant(S - of(i))), steps(u), i, of(i) + 2
    ),
    "local_update": lambda u: derived.local_update(V2, n, now, u, k.Side.CLIENT, x),
    "visits": lambda u: derived.local_update(
        V2, n, now, R.number_of(constant(u)), k.Side.SERVER, y
    ),
}


@pytest.mark.parametrize("seeds", [12, pytest.param(40, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", CALLS)
def test_rules_hold_for_ranges_of_no_and_one_step(name: str, seeds: int) -> None:
    for upper in (ZERO, ratio(1)):
        unbroken(CALLS[name](upper), seeds)
    later = R.instantiate(CALLS[name](of(j) + 1), ((j, ZERO),), ())
    assert not later.form - CALLS[name](ratio(1)).form
    unbroken(later, seeds)


def test_a_hypothesis_on_a_step_stays_one_where_the_sum_is_one_step() -> None:
    at = R.assume(norm2(here) - constant(of(i) + 1))
    one = sum_over(at, steps(1), i)
    assert one.hypotheses == {h.every(steps(1), i, next(iter(at.hypotheses)))}
    assert not one.form - norm2(first) + constant(1)
    none = sum_over(at, steps(0), i)
    assert not none.form


def test_a_factor_has_to_be_positive_for_every_step_of_any_range() -> None:
    """It would be at step 0, the only one; asked for is more than that."""
    with pytest.raises(Rejected):
        sum_over(combine((here, 1)), steps(1), i, of(i) - 1)
    with pytest.raises(Rejected):
        sum_over(combine((here, 1)), steps(2), i, 1 - of(i))


def test_the_index_of_another_sum_is_not_taken_for_the_one_that_ends() -> None:
    inner = summed(steps(of(i) + 1), j, norm2(k.noise(V1, n, now, of(i) + of(j))))
    up = k.Var("u", Sort.COUNT)
    at_one = k.lin_at(summed(steps(k.symbol(up)), i, inner), {up: ratio(1)})
    assert not at_one - norm2(k.noise(V1, n, now, ZERO))
    assert i not in at_one.free
    assert j not in at_one.free
    pair = summed(steps(1), i, summed(steps(tau), j, k.inner(here, x) * of(j)))
    assert not pair - summed(steps(tau), j, k.inner(first, x) * of(j))


@pytest.mark.parametrize("v", [n, TAU, k.ROUND, k.Var("i", Sort.NONNEGATIVE)])
def test_what_is_no_index_ends_no_sum(v: object) -> None:
    for upper in (0, 1):
        with pytest.raises(Rejected):
            summed(steps(upper), v, norm2(here))  # type: ignore[type-var]


WRITE = """
import sys; sys.path.append('sfl_theory')
from kernel.algebra import *; from kernel import terms as k
names = sys.argv[1:]
made = {v: k.symbol(k.Var(v, Sort.POSITIVE)) for v in names}
S, mu, T = (made[v] for v in ('S', 'mu', 'T'))
print((S / 3 + mu) / (2 * S + mu / 2) + 1 / (mu / 6 + T / 4) ** 2 + T / (S * mu))
"""


def test_a_number_is_written_the_same_whatever_was_made_first() -> None:
    seen = set()
    for names in (("S", "mu", "T"), ("T", "mu", "S"), ("mu", "T", "S")):
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", WRITE, *names],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        )
        seen.add(done.stdout)
    assert len(seen) == 1, seen


def test_a_denominator_that_may_vanish_is_refused_whatever_its_size() -> None:
    for divisor in (S - mu, mu * 6, (S - 1) * Q(1, 3), of(d) * 2, ratio(0), tau - 2):
        with pytest.raises(Rejected):
            1 / divisor
    for divisor in (-S / 2 - Q(1, 3), tau * 6 - 3, (mu + S) * Q(-2, 7)):
        inverse = 1 / divisor
        assert not divisor * inverse - 1
        for factor, _ in inverse.denominator:
            assert all(type(c) is int for c in factor.coefficients.values())
            assert factor.positive()


def test_a_coefficient_that_only_looks_whole_is_none() -> None:
    assert Poly({(): Q(4, 2)}).coefficients == {(): 2}
    assert type(Poly({(): Q(4, 2)}).coefficients[()]) is int
    assert type(Poly({(): True}).coefficients[()]) is int
    for wrong in (1.0, "1", None, 2j):
        with pytest.raises((Rejected, AttributeError, TypeError)):
            R.square(Ratio(Poly({(): wrong} if wrong else {((1, 1),): 1})))  # type: ignore[dict-item]


def test_no_theorem_is_below_zero_after_all_this() -> None:
    """From sums of one step and exchanged sums nothing of wrong sign is combined."""
    one = R.split(i, constant(of(i) + 1), ratio(1), ratio(1))
    two = derived.telescope(i, constant(of(i) ** 2), ratio(2))
    three = R.exchange(steps(1), i, steps(2), j, constant(of(i) + of(j)))
    assert not one.form
    assert not two.form
    assert not three.form
    for theorem in (R.smooth(F, S, x, x), derived.not_both(m, of(j), m, of(j), now)):
        unbroken(theorem)
