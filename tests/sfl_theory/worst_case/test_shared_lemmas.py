"""Lemmas on any round and client: what they assume, and that one use is like two."""

from __future__ import annotations

from fractions import Fraction as Q

import pytest

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.theorems import Theorem
from sfl_theory.proofs import derived
from sfl_theory.proofs.by_number import Numbers, client, of_client
from sfl_theory.proofs.notation import combine
from sfl_theory.proofs.unrolled import bounded, interpolated, n, now

PACE = k.Pace(k.natural(2), k.Rate(ratio(Q(1, 2))))
RUN = k.Split(k.Kind.V2, k.Participants.EVERYONE, PACE, PACE)


def number(value: int) -> Theorem:
    return rules.assume(k.constant(value))


def test_a_lemma_of_client_n_with_points_is_put_in_at_once() -> None:
    x, y = (k.local_point(RUN, n, 0, i) for i in (0, 1))
    lemma = interpolated(ratio(1), ratio(0), x, y)
    at_once = of_client(lemma, 3)
    later = rules.instantiate(lemma, ((n, client(3)),), ())
    assert at_once.form == later.form
    assert at_once.hypotheses == later.hypotheses
    assert at_once.call is not None
    assert later.call is not None
    assert at_once.call[1][0] is not later.call[1][0]


def test_what_is_known_of_another_client_stays_so() -> None:
    form = k.norm2(k.gradient(k.Local(n), k.vec(k.Star(k.MEAN))))
    of_five = rules.instantiate(rules.assume(form), ((n, client(5)),), ())
    assert of_client(of_five, 3).form == of_five.form


def test_only_hypotheses_on_numbers_that_hold_are_cut() -> None:
    open_, false, true = number(0), number(-1), number(2)
    named = rules.assume(k.constant(k.weight(n) - 1))
    found = derived.settled(combine(open_, false, true, named))
    assert found.hypotheses == false.hypotheses | named.hypotheses


def test_a_gradient_is_bounded_where_noise_has_no_variance() -> None:
    theorem = bounded(RUN, ratio(4), 1)
    gradient = k.gradient(k.Local(n), k.local_point(RUN, n, now, 1))
    assert theorem.form == k.constant(4) - k.norm2(gradient)
    assert theorem.hypotheses == {
        h.BoundedGradients(RUN, ratio(4)),
        h.Variance(RUN, n, ratio(0)),
    }


@pytest.mark.parametrize("turns", [False, True])
@pytest.mark.parametrize("s", [None, 1])
def test_what_comes_first_is_shown_of_the_steps_asked_for(
    turns: bool, s: int | None
) -> None:
    order = ((1, 0),) * 2 if turns else ((1, 0), (1, 0))
    numbers = Numbers(RUN, (Q(1, 2), Q(1, 2)), 3, turns, (order,) * 3)
    visits = [(q, i) for i in (0, 1) for q in (1, 0)]
    visits = visits if turns else sorted(visits, key=lambda visit: -visit[0])
    t = now if s is None else ratio(s)
    for place, one in enumerate(visits):
        for other, two in enumerate(visits):
            shown = numbers.comes_before(one, two, s)
            before = k.before(client(one[0]), one[1], client(two[0]), two[1], t)
            first = place < other
            assert len(shown) == 1 + first
            assert shown[0].form == k.constant(before - 1 if first else -before)
            within = {h.Holds(k.constant(2 - t))} if s is None else set()
            assert shown[0].hypotheses <= numbers.assumed | within
