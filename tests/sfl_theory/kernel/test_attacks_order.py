"""Attacks on the order of visits and on sums in another order."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction as Q

import pytest
from calls import V2, ZERO, d, i, j, m, n, now, tau, x
from random_models import verdict
from test_attacks import NOTHING, ONE_FORM, claimed

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Rejected, ratio
from sfl_theory.kernel.replay import replay
from sfl_theory.kernel.terms import CLIENTS, constant, norm2, weight
from sfl_theory.proofs import derived
from sfl_theory.proofs.export import Statement, document
from sfl_theory.proofs.notation import combine, of, steps, sum_over

EARLIER = k.before(m, of(j), n, of(i), now)
LATER = k.before(n, of(i), m, of(j), now)


def unbroken(theorem: R.Theorem, seeds: int = 20) -> None:
    seen = Counter(verdict(theorem, seed) for seed in range(seeds))
    assert seen["true"], seen
    assert not seen["false"]


def test_half_of_all_pairs_of_visits_are_in_order() -> None:
    """``sum_v w_v sum_u w_u before(u, v) <= tau^2/2``, which each order attains."""
    every = [(CLIENTS, n), (steps(tau), i), (CLIENTS, m), (steps(tau), j)]

    def summed(form: k.Lin, binders: list[tuple[k.Binder, k.Bindable]]) -> k.Lin:
        for binder, v in reversed(binders):
            form = k.summed(binder, v, form)
        return form

    both = weight(n) * weight(m)
    pairs = derived.not_both(m, of(j), n, of(i), now)
    pairs = combine((pairs, both), target=constant(both * (1 - EARLIER - LATER)))
    for binder, v in reversed(every):
        pairs = sum_over(pairs, binder, v)
    turned, order = [], [0, 1, 2, 3]
    for place in (1, 0, 2, 1):
        now_ = [every[p] for p in order]
        outer, inner = now_[place : place + 2]
        one = summed(constant(both * LATER), now_[place + 2 :])
        swap = R.exchange(*outer, *inner, one)
        for binder, v in reversed(now_[:place]):
            swap = sum_over(swap, binder, v)
        turned.append(swap)
        order[place], order[place + 1] = order[place + 1], order[place]
    assert order == [2, 3, 0, 1]
    half = combine((pairs, Q(1, 2)), *((swap, Q(1, 2)) for swap in turned))
    found = half.form.coefficients.keys()
    earlier = summed(constant(both * EARLIER), every)
    assert found == {k.UNIT}
    assert not half.form - constant(tau**2 / 2) + earlier
    unbroken(half)
    unbroken(R.instantiate(half, ((k.Var("t", k.Sort.NATURAL), ZERO),), ()))


def test_a_client_that_is_both_and_a_step_that_is_both() -> None:
    one = derived.not_both(m, of(j), n, of(i), now)
    unbroken(R.instantiate(one, ((m, n),), ()))
    unbroken(R.instantiate(one, ((m, n), (j, of(i))), ()))
    unbroken(R.instantiate(one, ((m, k.Numbered(7)), (n, k.Numbered(8))), ()))


def test_two_first_visits_have_no_model() -> None:
    """Assumed, they prove anything; the checker says that no model was named."""
    first = [R.assume(constant(one - 1)) for one in (EARLIER, LATER)]
    false = combine(derived.not_both(m, of(j), n, of(i), now), *first)
    assert not false.form + ONE_FORM
    assert len(false.hypotheses) == 2
    assert {verdict(false, seed) for seed in range(40)} <= {"vacuous", "skipped"}
    with pytest.raises(Rejected, match="assumes more"):
        claimed(false, ONE_FORM, NOTHING)


def test_nothing_says_that_one_of_two_visits_is_first() -> None:
    """A visit is not before itself, and two may be one."""
    one = derived.not_both(m, of(j), n, of(i), now)
    assert not one.equal
    with pytest.raises(Rejected):
        combine((one, -1))
    run = frozenset({h.Unbiased(V2)})
    equal = Statement("a", run, constant(EARLIER + LATER), ONE_FORM, True)
    with pytest.raises(Rejected, match="no equality"):
        replay(document([(equal, one)]))


@pytest.mark.parametrize(
    "step", [of(j) - 1, ratio(-1), ratio(Q(1, 2)), weight(n), of(j) * Q(1, 2)]
)
def test_a_visit_is_of_a_step(step: k.Ratio) -> None:
    for arguments in ((m, step, n, of(i), now), (m, of(j), n, of(i), step)):
        with pytest.raises(Rejected):
            R.ordered(*arguments, ratio(1))


DEPENDENT = [
    (steps(tau), i, steps(of(i)), j),
    (steps(of(j)), i, steps(tau), j),
    (steps(of(j)), i, steps(of(i)), j),
    (steps(tau), i, steps(of(d)), i),
    (CLIENTS, n, CLIENTS, n),
    (CLIENTS, i, steps(tau), j),
    (steps(tau), i, CLIENTS, j),
    (k.NATURALS, i, steps(tau), j),
    (steps(tau), i, k.NATURALS, j),
]


@pytest.mark.parametrize("place", range(len(DEPENDENT)))
def test_ranges_that_depend_on_each_other_are_not_exchanged(place: int) -> None:
    with pytest.raises(Rejected):
        R.exchange(*DEPENDENT[place], norm2(x) * (of(i) + 2 * of(j)))


def test_a_range_may_depend_on_a_third_index() -> None:
    noise = k.noise(V2, n, now, of(i)) - k.noise(V2, m, now, of(j))
    inside = R.exchange(steps(of(d)), i, steps(of(d) + 1), j, norm2(noise))
    unbroken(sum_over(inside, steps(tau + 1), d), 60)
    unbroken(sum_over(sum_over(inside, CLIENTS, n), CLIENTS, m, weight(m)), 60)


def test_a_denominator_with_an_index_is_refused_inside_and_outside() -> None:
    for below in (1 + of(i), 1 + of(j)):
        with pytest.raises(Rejected, match="denominator"):
            R.exchange(steps(tau), i, steps(tau), j, norm2(x) * (1 / below))
