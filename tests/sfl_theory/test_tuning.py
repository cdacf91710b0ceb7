"""Tuned bounds: the closed form against numeric minimisation, orders against slopes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from sfl_theory import Bound, Constants, schedules, theorem, theorems
from sfl_theory.bound import total
from sfl_theory.conditions import EveryoneTakesPart, NoNoise
from sfl_theory.symbols import reciprocals
from sfl_theory.tuning import orders

EVERY = [
    pytest.param(bound, id=f"{item.key}-{case.name}-{name}")
    for item in theorems()
    for case in item.cases.values()
    for name in case.versions
    if (bound := case.bound(name)).step_size is not None
]
FREE = [
    one
    for one in EVERY
    if one.values[0].sums_learning_rates and one.values[0].step_size.relation != "="
]
GROWING = "any_periods"
"""Its factor exp(kappa T eta^2) is bounded by e, not minimised."""
size = st.floats(-3, 3).map(lambda x: 10**x)


@st.composite
def known(draw: st.DrawFn) -> Constants:
    n, tau = draw(st.integers(1, 20)), draw(st.integers(1, 20))
    return Constants(
        S=draw(size), mu=1e-3, sigma2=draw(size), G2=draw(size), eps2=draw(size),
        weights=(1 / n,) * n, participation=1, tau=tau, tau_server=tau,
        initial_distance2=draw(size), initial_gap=draw(size),
    )  # fmt: skip


def value(bound: Bound, constants: Constants, T: int, eta: float) -> float:
    unit = eta if bound.metric.mean else 1
    with np.errstate(over="ignore"):
        terms = bound.formula(constants, [T], schedules.constant(eta))
    return float(total(terms)[0]) / unit


@pytest.mark.parametrize("bound", FREE)
@given(constants=known(), T=st.sampled_from([1, 10, 10**3, 10**6]))
@settings(max_examples=6, deadline=None)
def test_no_admitted_constant_rate_is_better(
    bound: Bound, constants: Constants, T: int
) -> None:
    """Ever closer around the rate, and over all magnitudes below the largest."""
    found = bound.tuned(constants, T)
    rule = bound.step_size
    assert rule is not None
    largest = np.inf
    if rule.relation == "<=":
        largest = float(rule.schedule(constants).client(np.zeros(1))[0])
        assert found.rate <= largest * (1 + 1e-12)
    steps = 2.0 ** -np.arange(10)
    near = found.rate * 2 ** np.concatenate([-steps, steps])
    far = found.rate * np.geomspace(1e-6, 1e6, 25)
    grid = [h for h in (*near, *far) if h <= largest]
    least = min(value(bound, constants, T, float(h)) for h in grid)
    assert found.value <= least * (np.e if bound.version == GROWING else 1 + 1e-9)
    assert found.value == pytest.approx(value(bound, constants, T, found.rate))


@pytest.mark.parametrize("bound", EVERY)
def test_orders_are_the_slopes(bound: Bound) -> None:
    """With noise and without, late enough that the leading term is alone.

    A sum of reciprocals is a logarithm, which an order in T leaves out.
    """
    plain = {name: part.replace(reciprocals, one) for name, part in bound.parts.items()}
    for noise in (0.0,) if bound.assumes(NoNoise) else (1.0, 0.0):
        slope, expected = both(replace(bound, parts=plain), noise)
        assert expected == both(bound, noise)[1]
        assert slope == pytest.approx(float(expected), abs=0.02)


def one(*_: sp.Expr) -> sp.Expr:
    return sp.Integer(1)


def both(bound: Bound, noise: float) -> tuple[float, object]:
    """Return the slope of the tuned bound, and the order that is said."""
    constants = Constants(
        S=1, mu=0.5, sigma2=noise, G2=1, eps2=1, R2=1, Gamma=1, weights=(0.5, 0.5),
        participation=1.0 if bound.assumes(EveryoneTakesPart) else 0.5,
        tau=3, tau_server=3, initial_distance2=1, initial_gap=1,
        initial_distance2_client=1, initial_distance2_server=1,
    )  # fmt: skip
    said = orders(bound)
    first, second = 10**9, 10**13
    early, late = (bound.tuned(constants, T).value for T in (first, second))
    slope = np.log(late / early) / np.log(second / first)
    return float(slope), said.rounds if noise else said.noiseless


@pytest.mark.parametrize(
    ("number", "case", "version", "rounds", "noiseless", "noise"),
    [
        ("3.6", "strongly_convex", "last_model", "-1", "-2", ("-1", "-1", "-1")),
        ("3.8", "strongly_convex", "last_model", "-1", "-1", ("-1", "-1", "-1")),
        ("3.6", "general_convex", "repaired", "-1/2", "-1/2", None),
        ("3.9", "non_convex", "sharper", "-1/2", "-1/2", ("-1/2", "-1/2", "-1/2")),
        ("3.6", "general_convex", "printed", "-1/3", "-1/3", ("-1/3", "0", "0")),
    ],
)
def test_orders_by_hand(
    number: str,
    case: str,
    version: str,
    rounds: str,
    noiseless: str,
    noise: tuple[str, str, str] | None,
) -> None:
    """Linear speed-up in N tau of the last model; a square root for means."""
    found = orders(theorem(number).case(case).bound(version))
    assert (str(found.rounds), str(found.noiseless)) == (rounds, noiseless)
    assert (found.noise and tuple(map(str, found.noise))) == noise


def test_a_run_that_starts_at_the_minimum_has_no_best_rate() -> None:
    constants = Constants(
        S=1, sigma2=1, G2=1, weights=(1.0,), tau=1, tau_server=1, initial_distance2=0
    )
    bound = theorem("3.6").case("general_convex").bound("repaired")
    with pytest.raises(ValueError, match="starts at the minimum"):
        bound.tuned(constants, 10)
    with pytest.raises(ValueError, match="no learning rate"):
        theorem("3.5").case().printed.tuned(constants, 10)
