"""From which round on a bound says something: exact, and honest where it never does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bounds.informative import EXHAUSTIVE, LAST, floor, informative, mean_rate
from sfl_theory import Bound, Constants, schedules, theorem, theorems
from sfl_theory.bound import CLIENT_DISTANCE, OBJECTIVE_GAP, WEIGHTED_GRADIENT, total
from sfl_theory.symbols import G
from sfl_theory.symbols import T as ROUND

CONSTANTS = Constants(
    S=2, mu=0.5, sigma2=(0.1, 0.2), G2=3, R2=3, eps2=0.3, weights=(0.6, 0.4),
    participation=0.5, tau=3, tau_server=3, initial_distance2=2,
    initial_distance2_client=0.5, initial_distance2_server=1.5, initial_gap=0.7,
    Gamma=0.1,
)  # fmt: skip

EVERYTHING = [
    (item.key, case.name, version)
    for item in theorems()
    for case in item.cases.values()
    for version in case.versions
    if item.number != "3.5"
]


def simple(part: object, metric: object = OBJECTIVE_GAP) -> Bound:
    printed = theorem("3.6").case("strongly_convex").printed
    return replace(printed, parts={"all": part}, metric=metric, definitions={})


def below(bound: Bound, T: int, schedule: schedules.Schedule) -> bool:
    known = floor(bound, CONSTANTS)
    rounds = np.array([T])
    unit = mean_rate(bound.metric, rounds, schedule)
    return bool(total(bound.formula(CONSTANTS, rounds, schedule)) < known.value * unit)


@pytest.mark.parametrize(("key", "case", "version"), EVERYTHING)
def test_it_is_the_first_round_below_the_floor(
    key: str, case: str, version: str
) -> None:
    """Below at the round named, not below at the one before; "never" holds at 10^12."""
    bound = theorem(key).case(case).bound(version)
    schedule = bound.step_size.schedule(CONSTANTS)
    found = informative(bound, [CONSTANTS], schedule, floor(bound, CONSTANTS))
    if found.first is None:
        assert not below(bound, LAST, schedule)
        return
    assert below(bound, found.first, schedule)
    assert found.first == 1 or not below(bound, found.first - 1, schedule)


@settings(max_examples=60, deadline=None)
@given(st.floats(0.8, 1e12), st.sampled_from([1, sp.Rational(1, 2), 2]))
def test_powers_cross_where_arithmetic_says(scale: float, power: sp.Rational) -> None:
    """c/T^p < floor from the first integer above (c/floor)^(1/p) on."""
    part = sp.Float(scale) / ROUND**power
    known = floor(simple(part), CONSTANTS)
    found = informative(simple(part), [CONSTANTS], schedules.constant(1.0), known)
    expected = (scale / known.value) ** float(1 / power)
    if expected < 0.9 * LAST:
        assert found.first == pytest.approx(np.floor(expected) + 1, rel=1e-9, abs=1)
    elif expected > 1.1 * LAST:
        assert found.first is None
        assert found.words.startswith("not before")


@pytest.mark.parametrize("T", [EXHAUSTIVE - 1, EXHAUSTIVE, EXHAUSTIVE + 1])
def test_nothing_is_lost_where_the_search_changes(T: int) -> None:
    """The scan of every round and the bisection agree at the seam."""
    bound = simple(sp.Rational(7, 10) * (T - sp.Rational(1, 2)) / ROUND)
    schedule, known = schedules.constant(1.0), floor(simple(sp.S.One), CONSTANTS)
    assert informative(bound, [CONSTANTS], schedule, known).first == T


def test_a_dip_within_the_scan_is_found() -> None:
    """A bound that is below the floor early and above it later is not missed."""
    bound = simple(1 - sp.Heaviside(5 - ROUND, 1) * sp.Rational(9, 10))
    known = floor(bound, CONSTANTS)
    assert informative(bound, [CONSTANTS], schedules.constant(1.0), known).first == 1


def test_a_constant_above_the_floor_is_never_informative() -> None:
    found = informative(
        simple(1 + 1 / ROUND), [CONSTANTS], schedules.constant(1.0),
        floor(simple(sp.S.One), CONSTANTS),
    )  # fmt: skip
    assert (found.first, found.words) == (None, "never")


def test_the_floor_is_the_least_of_what_is_known() -> None:
    r"""$f(x^0)-f^*$, $\frac S2I$, $\frac{G^2}{2\mu}$ only where a bound assumes G."""
    with_G = simple(G**2 / ROUND)
    assert floor(with_G, CONSTANTS).value == 0.7
    low = CONSTANTS.with_values(G2=0.1)
    assert floor(with_G, low).value == pytest.approx(0.1 / (2 * 0.5))
    assert floor(simple(1 / ROUND), low).value == 0.7
    near = CONSTANTS.with_values(initial_distance2=0.01)
    assert floor(with_G, near).value == pytest.approx(0.01)
    gradients = simple(1 / ROUND, WEIGHTED_GRADIENT)
    assert floor(gradients, CONSTANTS).value == pytest.approx(2 * 2 * 0.7)
    assert floor(simple(1 / ROUND, CLIENT_DISTANCE), CONSTANTS).value == 0.5
    nothing = Constants(S=1)
    assert floor(with_G, nothing) is None


def test_a_weighted_mean_is_compared_per_learning_rate() -> None:
    r"""$\frac1T\sum\eta^t\|\nabla f\|^2\le c\,\bar\eta/T$ crosses where c/T does."""
    bound = simple(sp.Rational(28, 1000) / ROUND, WEIGHTED_GRADIENT)
    schedule = schedules.constant(0.01)
    known = floor(bound, CONSTANTS)
    assert informative(bound, [CONSTANTS], schedule, known).first == 2


def test_a_run_that_starts_at_the_minimum_has_no_informative_bound() -> None:
    still = CONSTANTS.with_values(initial_gap=0.0)
    bound = theorem("3.7").case("non_convex").printed
    schedule = bound.step_size.schedule(still)
    found = informative(bound, [still], schedule, floor(bound, still))
    assert found.first is None
    assert "starts at the minimum" in found.words
