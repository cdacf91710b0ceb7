"""Attacks on what was said in fewer lines: ranges, sorts, orders, minimisers, claims.

Each is true of the code before and after; it fails if a shorter form says less.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as Q
from itertools import permutations, product

import pytest
from calls import S, i, m, n, t, tau
from test_attacks import (
    HONEST,
    NOTHING,
    ONE_FORM,
    ORDERS,
    TWO,
    claimed,
    modelled,
    small_model,
)

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Rejected, Sort, ratio
from sfl_theory.kernel.conditions import holds
from sfl_theory.kernel.models import Evaluation
from sfl_theory.kernel.replay import replay
from sfl_theory.kernel.terms import CLIENTS, Star, constant, summed, symbol, vec, weight
from sfl_theory.kernel.theorems import _bound_hypotheses
from sfl_theory.proofs.export import Statement, document, model_of
from sfl_theory.proofs.notation import combine, of, steps

pytestmark = pytest.mark.fast
ZERO = ratio(0)


# What a range implies -----------------------------------------------------------------


@pytest.mark.parametrize(
    "restriction",
    {
        "grows": of(i) - 1,
        "falls and grows": (of(i) - 1) ** 2 - 1,
        "falls at a rate without sign": 1 - (S - tau) * of(i),
        "falls at a rate of the step": 3 - of(i) ** 2,
    }.values(),
)
def test_only_what_falls_is_asked_of_the_last_step(restriction: Ratio) -> None:
    """Else the first steps could break what the last one meets."""
    thm = R.sum_over(R.assume(constant(restriction)), steps(3), i, ratio(1), ())
    assert thm.hypotheses == {h.every(steps(3), i, h.Holds(constant(restriction)))}


def test_what_falls_is_asked_of_the_last_step_and_of_no_other_range() -> None:
    falls = constant(S - of(i))
    thm = R.sum_over(R.assume(falls), steps(tau), i, ratio(1), ())
    assert thm.hypotheses == {h.Holds(constant(S - (tau - 1)))}
    for binder, v in ((CLIENTS, n), (k.NATURALS, i)):
        one = constant(S - (of(i) if v is i else weight(n)))
        found = _bound_hypotheses(frozenset({h.Holds(one)}), binder, v)
        assert found == {h.every(binder, v, h.Holds(one))}


def test_an_average_of_a_step_is_no_restriction() -> None:
    form = constant(of(i)) - k.norm2(k.iterate(TWO, of(i)))
    thm = R.sum_over(R.assume(-form), steps(2), i, ratio(1), ())
    assert thm.hypotheses == {h.every(steps(2), i, h.Holds(-form))}


@pytest.mark.parametrize(
    ("binder", "v"),
    [(steps(2), n), (CLIENTS, i), (steps(2), k.Var("r", Sort.NONNEGATIVE))],
)
def test_a_range_of_another_kind_is_refused(binder: k.Binder, v: k.Bindable) -> None:
    one = weight(n) if v is n else symbol(v)  # type: ignore[arg-type]
    with pytest.raises(Rejected):
        R.sum_over(R.assume(constant(one - 1)), binder, v, ratio(1), ())


# Sorts --------------------------------------------------------------------------------


def test_no_sum_has_a_better_sort_than_its_terms_and_range() -> None:
    family = k.ClientFamily("b", Sort.POSITIVE)
    above = symbol(k.PerClient(family, n))
    rates = k.PerRound(k.RoundFamily("c", Sort.POSITIVE), k.natural(of(i)))
    for one, v, binder, sort in (
        (ratio(1), n, CLIENTS, Sort.COUNT),
        (above, n, CLIENTS, Sort.POSITIVE),
        (above * weight(n), n, CLIENTS, Sort.NONNEGATIVE),
        (weight(n) ** 2, n, CLIENTS, Sort.NONNEGATIVE),
        (symbol(k.Odds(n)), n, CLIENTS, Sort.NONNEGATIVE),
        (symbol(rates), i, steps(tau), Sort.NONNEGATIVE),
    ):
        total = k.number_of(summed(binder, v, constant(one)))  # type: ignore[type-var]
        ((_, powers),) = total.numerator.products
        assert {s.sort for s in powers} == {sort}, str(total)


@pytest.mark.parametrize(
    ("sort", "value"),
    [
        *product([Sort.NATURAL, Sort.COUNT], map(ratio, (-1, Q(1, 2), Q(3, 2)))),
        (Sort.COUNT, ratio(0)),
        (Sort.COUNT, of(t)),
        (Sort.COUNT, tau * S),
        (Sort.NATURAL, of(t) - 1),
        (Sort.POSITIVE, ratio(0)),
        (Sort.POSITIVE, of(t)),
        (Sort.NONNEGATIVE, ratio(-1)),
    ],
)
def test_a_value_of_another_sort_is_refused(sort: Sort, value: Ratio) -> None:
    v = k.Var("v", sort)
    with pytest.raises(Rejected):
        R.instantiate(R.assume(constant(symbol(v))), ((v, value),), ())


# Arguments ----------------------------------------------------------------------------


class Pair(tuple[object, ...]):
    """Looks like the kernel's arguments, and may say something else each time."""


FACT = R.assume(ONE_FORM)
UNTYPED = {
    "a list of uses": [[(FACT, ratio(1))], (), None, ()],
    "a use that is a list": [([FACT, ratio(1)],), (), None, ()],
    "a use of one thing": [((FACT,),), (), None, ()],
    "a use of three": [((FACT, ratio(1), ratio(1)),), (), None, ()],
    "a use that is no tuple's class": [(Pair((FACT, ratio(1))),), (), None, ()],
    "uses of an own class": [Pair(((FACT, ratio(1)),)), (), None, ()],
    "a theorem for uses": [FACT, (), None, ()],
    "a sign among uses": [((FACT, ratio(1)), FACT), (), None, ()],
    "a number for signs": [((FACT, ratio(1)),), (), None, ratio(1)],
    "an exponent for a factor": [((FACT, 1),), (), None, ()],
}


@pytest.mark.parametrize("given", UNTYPED.values(), ids=UNTYPED)
def test_arguments_of_other_shapes_are_refused(given: list[object]) -> None:
    with pytest.raises(Rejected):
        R.combine(*given)  # type: ignore[arg-type]
    assert combine(FACT).form == ONE_FORM


def test_a_target_that_differs_by_an_expected_value_is_refused() -> None:
    x = k.iterate(TWO, 0)
    more, values = k.norm2(x), k.value_of(k.MEAN, x)
    for target in (ONE_FORM - more, more, ONE_FORM + values, ONE_FORM - values):
        with pytest.raises(Rejected, match=r"more by|not shown to be >= 0"):
            R.combine(((FACT, ratio(1)),), (), target, ())
    found = R.combine(((FACT, ratio(1)),), (), ONE_FORM + more, ())
    assert not found.equal  # squares may be added


# Orders of visits ---------------------------------------------------------------------


def test_an_order_is_accepted_if_each_client_keeps_its_steps() -> None:
    """Of all sequences of two clients' two visits those of the definition."""
    visits = [*product(range(2), range(2))]
    half = replace(small_model(), functions=small_model().functions * 2)
    half = replace(half, weights=(Q(1, 2),) * 2)
    fits = 0
    for order in permutations(visits):
        keeps = all(order.index((p, 0)) < order.index((p, 1)) for p in range(2))
        e = Evaluation(model_of(replace(half, order=order)))
        try:
            e.ordered(TWO)
        except Rejected:
            assert not keeps
        else:
            assert keeps
            fits += 1
    assert fits == 6


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_no_wrong_order_is_played(order: object) -> None:
    e = Evaluation(model_of(small_model(order=order)))
    e.prepare(2, False)
    with pytest.raises(Rejected):
        e.played(TWO, 0)


def test_long_visits_are_refused_before_they_are_listed() -> None:
    pace = k.Pace(k.natural(10**12), TWO.client.rate)
    run = k.Split(k.Kind.V2, k.Participants.EVERYONE, pace, pace)
    with pytest.raises(Rejected):
        Evaluation(model_of(small_model(order=((0, 0), (0, 1))))).ordered(run)


# Minimisers ---------------------------------------------------------------------------

BEST = summed(CLIENTS, n, k.value_of(k.Local(n), vec(Star(k.Local(n)))) * weight(n))
PHI = k.NamedFunction("phi")
NO_MINIMISER = {
    "nothing": (),
    "another function's": (h.every(CLIENTS, n, h.Minimiser(PHI)),),
    "the mean's": (h.Minimiser(k.MEAN),),
    "one client's, others are free": (h.Minimiser(k.Local(m)),),
    "inside a range that is empty": (
        h.every(steps(0), i, h.every(CLIENTS, n, h.Minimiser(k.Local(n)))),
    ),
    "a function's for every client inside": (
        h.every(CLIENTS, m, h.every(CLIENTS, n, h.Minimiser(k.Local(n)))),
    ),
    "one client's for every other": (h.every(CLIENTS, m, h.Minimiser(k.Local(n))),),
}


@pytest.mark.parametrize("assumed", NO_MINIMISER.values(), ids=NO_MINIMISER)
def test_minimisers_of_clients_have_to_be_assumed(assumed: tuple[h.Every, ...]) -> None:
    thm = R.assume(ONE_FORM - BEST)
    with pytest.raises(Rejected, match="minimiser"):
        claimed(thm, BEST, ONE_FORM, *thm.hypotheses, *assumed)


@pytest.mark.parametrize("own", [n, m, k.Client("other")])
def test_under_any_name_of_the_client_they_are(own: k.Client) -> None:
    thm = R.assume(ONE_FORM - BEST)
    each = h.every(CLIENTS, own, h.Minimiser(k.Local(own)))
    assert claimed(thm, BEST, ONE_FORM, *thm.hypotheses, each)


# Conditions ---------------------------------------------------------------------------


def test_a_quantifier_over_all_naturals_holds_by_sorts_or_not_at_all() -> None:
    v = k.Var("v", Sort.POSITIVE)
    e, three = Evaluation(model_of(small_model(numbers={v: Q(3)}))), symbol(v)
    assert holds(e, h.every(k.NATURALS, i, h.Holds(constant(of(i) + three))))
    assert holds(e, h.every(k.NATURALS, i, h.Holds(constant(of(i)))))
    assert not holds(e, h.every(k.NATURALS, i, h.Holds(constant(of(i) - three))))
    assert holds(e, h.every(steps(4), i, h.Holds(constant(three - of(i)))))
    assert not holds(e, h.every(steps(5), i, h.Holds(constant(three - of(i)))))
    runs = k.norm2(k.iterate(TWO, of(i)))
    for body in (h.Holds(runs), h.Variance(TWO, n, of(i)), h.Smooth(k.MEAN, of(i))):
        with pytest.raises(Rejected):
            holds(e, h.every(k.NATURALS, i, body))


def test_heterogeneity_is_bounded_from_above_only() -> None:
    """Gradients x and x + 4: apart from their mean by 2."""
    one = small_model().functions[0]
    two = (one[0], (Q(4),), ())
    model = replace(small_model(), functions=(one, two), weights=(Q(1, 2),) * 2)
    e = Evaluation(model_of(model))
    assert holds(e, h.Heterogeneity(ratio(4)))
    assert not holds(e, h.Heterogeneity(ratio(Q(399, 100))))
    alone = Evaluation(model_of(small_model()))
    assert holds(alone, h.Heterogeneity(ZERO))
    assert not holds(alone, h.Heterogeneity(ratio(-1)))
    bent = replace(model, functions=(one, (((Q(2),),), (Q(0),), ())))
    assert not holds(Evaluation(model_of(bent)), h.Heterogeneity(ratio(10**9)))


# Claims -------------------------------------------------------------------------------

Claim = dict[str, object]
KEYS: dict[str, Callable[[Claim], object]] = {
    "an equality that is false": lambda c: c.update(equal=False),
    "an equality that is null": lambda c: c.update(equal=None),
    "an equality that is 1": lambda c: c.update(equal=1),
    "an equality of an inequality": lambda c: c.update(equal=True),
    "nothing that decides it": lambda c: c.pop("theorem"),
    "no theorem but its key": lambda c: c.update(theorem=None),
    "a theorem that is false": lambda c: c.update(theorem=False),
    "a model that is null": lambda c: c.update(model=None),
    "a model in the theorem's place": lambda c: c.update(model=c.pop("theorem")),
    "a key for a theorem's key": lambda c: c.update(Theorem=c.pop("theorem")),
    "a side left out": lambda c: c.pop("left"),
}


@pytest.mark.parametrize("change", KEYS.values(), ids=KEYS)
def test_a_claim_has_the_keys_that_it_needs(change: Callable[[Claim], object]) -> None:
    data = json.loads(HONEST)
    change(data["claims"][0])
    with pytest.raises(Rejected):
        replay(json.dumps(data))


@pytest.mark.parametrize("said", [False, None, 1, "true", []])
def test_an_equality_is_said_by_true_alone(said: object) -> None:
    statement = Statement("attack", frozenset(), ONE_FORM, ONE_FORM, equal=True)
    data = json.loads(document([(statement, combine(target=NOTHING))]))
    assert data["claims"][0]["equal"] is True and replay(json.dumps(data))
    data["claims"][0]["equal"] = said
    with pytest.raises(Rejected):
        replay(json.dumps(data))


@pytest.mark.parametrize("claim", [[], ["equal", "theorem"], "theorem", 0, None])
def test_a_claim_is_an_object(claim: object) -> None:
    with pytest.raises(Rejected):
        replay(json.dumps({**json.loads(HONEST), "claims": [claim]}))


def test_values_in_models_say_which_is_larger() -> None:
    (claim,) = modelled(ONE_FORM, NOTHING, (), small_model())  # type: ignore[misc]
    assert "in a model that meets them: 1 > 0 (apart by 1)" in str(claim)
    for low, high, text in ((1, 2, "1 < 2 (apart by 1)"), (2, 2, "2 = 2 (apart by 0)")):
        sides = Q(low), Q(high)
        assert text in str(replace(claim, sides=sides))
    ends = {(1, 2): "at most 1 <= at least 2", (2, 2): "at most 2 <= at least 2"}
    ends[2, 1] = "at least 2 > at most 1"
    for (low, high), text in ends.items():
        shown = str(replace(claim, sides=(Q(low), Q(high)), enclosed=True))
        assert f"them: {text} (apart by at least {abs(high - low)})" in shown
