"""Hypotheses are objects: a bound refuses to speak outside them, and says of which."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfl_theory import Bound, Constants, schedules, theorem, theorems
from sfl_theory.bound import total
from sfl_theory.conditions import (
    Algorithm,
    Clock,
    Condition,
    NoNoise,
    StronglyConvex,
)

KNOWN = Constants(
    S=2, mu=1, sigma2=1, G2=1, eps2=1, R2=1, Gamma=1, weights=(0.5, 0.5), tau=2,
    tau_server=2, participation=1, initial_distance2=1, initial_gap=1,
    initial_distance2_client=1, initial_distance2_server=1, distance2_client=1,
    distance2_server=1,
)  # fmt: skip
WEIGHTS, STEPS = {"weights": (0.8, 0.2)}, {"tau": 3, "tau_server": 4}
EVERY = [
    pytest.param(case.bound(version), id=f"{item.key}-{case.name}-{version}")
    for item in theorems()
    for case in item.cases.values()
    for version in case.versions
]


def bound(key: str, version: str = "printed", case: str = "strongly_convex") -> Bound:
    return theorem(key).case(case).bound(version)


@pytest.mark.parametrize("one", EVERY)
def test_conditions_are_typed_and_met_by_plain_constants(one: Bound) -> None:
    """Equal clients, one period, everyone: inside every bound's hypotheses."""
    assert one.conditions
    assert all(isinstance(c, Condition) and str(c) for c in one.conditions)
    quiet = one.assumes(NoNoise)
    assert one.unmet(KNOWN.with_values(sigma2=0) if quiet else KNOWN) == ()
    inside = one.evaluate(KNOWN, [3])
    assert inside == pytest.approx(total(one.formula(KNOWN, [3])))


@pytest.mark.parametrize(
    ("one", "change", "algorithm", "word"),
    [
        (bound("3.7", "repaired"), WEIGHTS, {}, "weighted by a_n.*between 0.2 and 0.8"),
        (bound("3.9", "sharper"), WEIGHTS, {}, "weighted by a_n"),
        (bound("3.7", "repaired", "non_convex"), WEIGHTS, {}, "weighted by a_n"),
        (bound("3.6", "sharper"), STEPS, {}, "tau_server = tau: tau = 3 and tau_ser"),
        (bound("dachille2024/prop-1", case="non_convex"), STEPS, {}, "one tau"),
        (bound("3.6", "any_periods"), STEPS, {"clock": "algorithm"}, "own number of"),
        (bound("3.6"), {"participation": (1, 0.5)}, {}, "everyone takes part.*0.5"),
        (bound("3.8", "repaired"), {}, {"aggregation": "models"}, "updates aggregated"),
        (bound("3.7"), {"mu": 0}, {}, "mu"),
        (bound("3.7"), {"G2": None, "R2": None}, {}, "G2"),
    ],
)
def test_outside_a_hypothesis_is_one_line_that_names_it(
    one: Bound, change: dict, algorithm: dict, word: str
) -> None:
    values, chosen = KNOWN.with_values(**change), Algorithm(**algorithm)
    with pytest.raises(ValueError, match=word) as error:
        one.evaluate(values, [3], algorithm=chosen)
    assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match=word):
        one.terms(values, [3], algorithm=chosen)


def test_weighted_server_steps_admit_any_weights() -> None:
    """What is proved is the weighted server; equal weights are one way to have it."""
    one, chosen = bound("3.7", "repaired"), Algorithm(weighted_server=True)
    values = KNOWN.with_values(**WEIGHTS)
    assert one.evaluate(values, [3], algorithm=chosen) == pytest.approx(
        total(one.formula(values, [3]))
    )


@given(share=st.floats(0.01, 3))
def test_a_rate_above_the_condition_is_refused(share: float) -> None:
    """Exactly from the largest admitted rate on; a bound at every rate takes it."""
    one = bound("3.6", case="non_convex")
    assert one.step_size is not None
    largest = one.step_size.schedule(KNOWN).value
    assert largest is not None
    schedule = schedules.constant(share * largest)
    if share <= 1:
        assert one.evaluate(KNOWN, [4], schedule) > 0
    else:
        with pytest.raises(ValueError, match=r"learning rate eta\^t <= .* is above"):
            one.evaluate(KNOWN, [4], schedule)
    free = bound("3.6", "repaired", "general_convex")
    assert free.evaluate(KNOWN, [4], schedules.constant(share)) > 0


@pytest.mark.parametrize("last", [3, 10**7])
def test_a_rate_other_than_the_theorems_is_refused(last: int) -> None:
    """In the only round where it differs, and far out."""
    one = bound("3.7", "repaired")
    assert one.step_size is not None
    rule = one.step_size.schedule(KNOWN)
    assert one.evaluate(KNOWN, [last], rule) > 0
    other = schedules.function(lambda t: rule.client(t) * (1 + 1e-6 * (t >= last - 1)))
    with pytest.raises(ValueError, match="client side's rate"):
        one.evaluate(KNOWN, [last], other)


def test_clocks_differ_for_unequal_periods_only() -> None:
    unequal, chosen = KNOWN.with_values(**STEPS), Algorithm(clock="algorithm")
    assert not Clock().unmet(KNOWN, chosen)
    assert Clock().unmet(unequal, chosen)
    assert not Clock(clock="algorithm").unmet(unequal, chosen)
    assert Clock(clock="algorithm").unmet(unequal, Algorithm())


def test_words_are_the_papers_where_it_has_its_own() -> None:
    assert str(StronglyConvex("2 strongly convex")) == "2 strongly convex"
    assert "C.2 with mu > 0" in map(str, bound("3.7").conditions)
