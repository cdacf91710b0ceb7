"""``best``: only what is proved, only where it applies, and the smallest of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import sympy as sp
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from reading import says
from valued import points, says_at

from sfl_theory import Bound, Case, Constants, Theorem, schedules, symbols, theorem
from sfl_theory import theorems as all_theorems
from sfl_theory.best import backing, proved, proved_versions
from sfl_theory.bound import CLIENT_DISTANCE, OBJECTIVE_GAP
from sfl_theory.conditions import (
    Algorithm,
    BoundedGradients,
    EqualPeriods,
    EqualWeights,
    EveryoneTakesPart,
    MinimiserExists,
    StronglyConvex,
    WeightedServer,
)
from sfl_theory.evidence import Part, Proof
from sfl_theory.step_size import StepSize

KNOWN = Constants(
    S=2, mu=0.1, sigma2=1, G2=1, eps2=1, R2=1, Gamma=1, weights=(0.5, 0.5), tau=2,
    tau_server=2, participation=1, initial_distance2=1, initial_gap=1,
    initial_distance2_client=0.5, initial_distance2_server=0.5,
)  # fmt: skip
VERSIONS = [
    pytest.param(item, case.bound(name), id=f"{item.key}-{case.name}-{name}")
    for item in all_theorems()
    for case in item.cases.values()
    for name in case.versions
]


def strong(number: str) -> Case:
    return theorem(number).case("strongly_convex")


def statements(item: Theorem, bound: Bound) -> list[Part]:
    return [part for _, part in backing(item, bound)]


def spelt_out(item: Theorem, bound: Bound) -> bool:
    """Whether a statement has parameters for what the bound names (a root, a maximum).

    Such a bound is compared in numbers (`valued`), every other one in symbols.
    """
    named = bound.version in {"last_iterate", "small_drift", "by_distance", "any_order"}
    return named or item.paper in {"huang2023", "li2020"}


@pytest.mark.parametrize(("item", "bound"), VERSIONS)
def test_what_a_bound_is_made_of_says_exactly_that(item: Theorem, bound: Bound) -> None:
    """Left and right side, rates, algorithm, hypotheses; a printed one may have none.

    A version that no proof says exactly is none that a reader should see.
    """
    parts = statements(item, bound)
    assert bound.version == "printed" or parts
    assert all(isinstance(part.by, Proof) and not part.by.vacuous for part in parts)
    assert not parts or spelt_out(item, bound) or says(item, bound, parts)


SPELT_OUT = [
    one for one in VERSIONS if spelt_out(*one.values) and statements(*one.values)
]


@pytest.mark.parametrize(("item", "bound"), SPELT_OUT)
@given(data=st.data())
@settings(max_examples=4, deadline=None, phases=[Phase.generate])
def test_what_is_spelt_out_has_the_value_of_its_bound(
    item: Theorem, bound: Bound, data: st.DataObject
) -> None:
    """The same at random numbers; and no more is said than that."""
    (part,) = parts = statements(item, bound)
    at = partial(says_at, item, parts=parts, point=data.draw(points(part)))
    assert at(bound)
    for key, term in bound.parts.items():
        less = {**bound.parts, key: sp.Rational(999, 1000) * term}
        assert not at(replace(bound, parts=less)), key
    rule = bound.step_size
    assert rule is not None
    more = sp.Rational(2003, 1000)  # no rate that is drawn has this prime
    faster = StepSize(more * rule.client, more * rule.server, "=", rule.definitions)
    assert not at(replace(bound, step_size=faster))
    gap = bound.metric.key == OBJECTIVE_GAP.key
    assert not at(replace(bound, metric=CLIENT_DISTANCE if gap else OBJECTIVE_GAP))
    for kind in {type(one) for one in bound.conditions} - {MinimiserExists}:
        fewer = tuple(one for one in bound.conditions if type(one) is not kind)
        assert not at(replace(bound, conditions=fewer)), kind


@pytest.mark.long
@pytest.mark.parametrize(("item", "bound"), VERSIONS)
def test_what_backs_a_bound_is_proved(item: Theorem, bound: Bound) -> None:
    assert proved(item, bound) == bool(backing(item, bound))


@pytest.mark.parametrize(
    ("number", "name"), [("3.6", "sharper"), ("3.7", "last_model"), ("3.8", "repaired")]
)
def test_another_formula_rate_metric_or_hypothesis_is_not_backed(
    number: str, name: str
) -> None:
    """One thing changed at a time, each in the direction that says more."""
    item, bound = theorem(number), strong(number).bound(name)
    rule = bound.step_size
    assert rule is not None
    said = partial(says, item, parts=statements(item, bound))
    assert said(bound)
    parts = dict(bound.parts)
    for key, part in parts.items():
        smaller = {**parts, key: sp.Rational(999, 1000) * part}
        other = replace(bound, parts=smaller)
        assert not said(other) and not backing(item, other)
    faster = StepSize(2 * rule.client, 2 * rule.server, "=", rule.definitions)
    assert not said(replace(bound, step_size=faster))
    metric = theorem(number).case("non_convex").printed.metric
    assert not said(replace(bound, metric=metric))
    for kind in (
        StronglyConvex, BoundedGradients, EveryoneTakesPart, WeightedServer,
        EqualPeriods,
    ):  # fmt: skip
        if bound.assumes(kind):
            fewer = tuple(c for c in bound.conditions if not isinstance(c, kind))
            assert not said(replace(bound, conditions=fewer)), kind
    other = theorem({"3.6": "3.7", "3.7": "3.6", "3.8": "3.9"}[number])
    assert not says(other, bound, statements(item, bound))
    assert not backing(other, bound)


def test_a_larger_step_condition_is_not_backed() -> None:
    """(13) at twice the printed rates, and at half of them."""
    item = theorem("3.6")
    bound = item.case("non_convex").printed
    rule = bound.step_size
    assert rule is not None
    said = partial(says, item, parts=statements(item, bound))
    assert said(bound)
    for factor, known in ((2, False), (sp.Rational(1, 2), True)):
        largest = rule.client.func(*(factor * one for one in rule.client.args))
        step = StepSize(largest, largest, "<=", rule.definitions)
        assert said(replace(bound, step_size=step)) == known


def test_printed_sfl_v2_is_backed_for_equal_weights_only() -> None:
    item = theorem("3.7")
    case = item.case("strongly_convex")
    parts = statements(item, case.bound("equal_weights"))
    assert not backing(item, case.printed) and not says(item, case.printed, parts)
    equal = (*case.printed.conditions, EqualWeights())
    assert says(item, replace(case.printed, conditions=equal), parts)


constants = st.builds(
    lambda S, share, G2, sigma2, tau, n, gap: Constants(
        S=S, mu=S * share, G2=G2, sigma2=sigma2, weights=(1 / n,) * n, tau=tau,
        tau_server=tau, participation=1, initial_gap=gap, eps2=sigma2,
        initial_distance2=2 * gap / (S * share),
    ),
    st.floats(0.1, 10), st.floats(1e-3, 1), st.floats(0.1, 10), st.floats(0, 10),
    st.integers(1, 50), st.integers(1, 8), st.floats(0.1, 10),
)  # fmt: skip


@given(known=constants, number=st.sampled_from(["3.6", "3.7", "3.8", "3.9"]))
@settings(max_examples=30, deadline=None)
def test_best_is_the_smallest_that_applies(known: Constants, number: str) -> None:
    """Round by round the named version's own value, and no other is smaller."""
    case, rounds = strong(number), np.array([1, 3, 10, 10**3, 10**6])
    found = case.best(known, rounds)
    assert found.values.dtype == np.float64
    assert found.values.shape == (len(found.versions),) == (5,)
    values = {
        name: bound.evaluate(known, rounds)
        for name, bound in proved_versions(case).items()
        if not bound.unmet(known)
    }
    for k, name in enumerate(found.versions):
        assert found.values[k] == values[name][k]
        assert found.values[k] == min(each[k] for each in values.values())


def test_versions_change_with_the_rounds() -> None:
    """Without the distance first, at its own orders in the end."""
    known = KNOWN.with_values(sigma2=1e-6, initial_gap=1e3)
    found = strong("3.6").best(known, [1, 10**6])
    assert found.versions == ("sharper", "root_noise")
    found = strong("3.6").best(known.with_values(sigma2=0), [1, 10**6])
    assert found.versions == ("sharper", "small_drift")


def test_a_weighted_mean_is_compared_at_one_rate() -> None:
    case = theorem("3.7").case("non_convex")
    found = case.best(KNOWN, [10, 100])
    assert found.schedule is not None
    for name in found.versions:
        at_it = case.bound(name).evaluate(KNOWN, [10, 100], found.schedule)
        assert np.all(found.values <= at_it)


@pytest.mark.parametrize(
    ("number", "case", "change", "word"),
    [
        ("3.7", "strongly_convex", {"weights": (0.8, 0.2)}, "weighted by a_n"),
        ("3.6", "strongly_convex", {"participation": 0.5}, "everyone takes part"),
        ("3.6", "strongly_convex", {"mu": 0}, "mu"),
    ],
)
def test_nothing_that_applies_is_one_line_with_the_reasons(
    number: str, case: str, change: dict, word: str
) -> None:
    with pytest.raises(ValueError, match=f"no proved bound applies.*{word}") as error:
        theorem(number).case(case).best(KNOWN.with_values(**change), [1])
    assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="no bound is proved"):
        theorem("3.5").case().best(KNOWN, [1])


def test_algorithm_and_schedule_restrict_what_applies() -> None:
    unequal = KNOWN.with_values(weights=(0.8, 0.2))
    weighted = Algorithm(weighted_server=True)
    assert strong("3.7").best(unequal, [5], algorithm=weighted).values[0] > 0
    with pytest.raises(ValueError, match="learning rate"):
        strong("3.6").best(KNOWN, [5], schedules.constant(1.0))
    usual = strong("3.6").best(KNOWN, [5])
    printed = strong("3.6").printed.metric
    assert usual.metric == strong("3.6").best(KNOWN, [5], metric=printed).metric
    assert symbols.G in strong("3.6").bound("sharper").expr.free_symbols


def test_a_run_at_another_rate_of_the_server_is_not_spoken_of() -> None:
    """SFL-V2 with one rate for both sides: bounds for the rate over N are out."""
    case, rate = theorem("3.7").case("general_convex"), schedules.constant(0.01)
    with pytest.raises(ValueError, match="another rate of the server's side"):
        case.best(KNOWN, [5], rate)
    weighted = case.best(KNOWN, [5], rate, Algorithm(weighted_server=True))
    assert weighted.values[0] > 0
