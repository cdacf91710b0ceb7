"""The symbolic form and the numeric evaluation are the same function."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from test_bound_relations import ALL, constants

from sfl_theory import Bound, Constants, schedules, symbols, theorem
from sfl_theory import schedules as schedules_module
from sfl_theory.bound import total


def by_substitution(
    bound: Bound, values: Constants, T: int, rates: list[float]
) -> float:
    """Return the bound by plain sympy substitution, sums written out."""
    expr = bound.expr
    for symbol, meaning in bound.definitions.items():
        expr = expr.subs(symbol, meaning)
    clients = values.clients
    expr = expr.subs({symbols.T: T, symbols.N: clients}).doit()
    table = {symbols.eta(k): rates[k] for k in range(T)}
    for row in symbols.NOTATION:
        value = getattr(values, row.name)
        if isinstance(row.symbol, sp.IndexedBase):
            for k, v in enumerate(values.per_client(row.name), start=1):
                table[row.symbol[k]] = sp.Float(v, 30) ** sp.Rational(1, row.power)
        elif value is not None:
            table[row.symbol] = sp.Float(value, 30) ** sp.Rational(1, row.power)
    return float(expr.xreplace(table).evalf(20))


@pytest.mark.parametrize("bound", ALL)
@given(values=constants(), T=st.integers(1, 4), data=st.data())
@settings(max_examples=5, deadline=None)
def test_symbolic_and_numeric_agree(
    bound: Bound, values: Constants, T: int, data: st.DataObject
) -> None:
    rates = data.draw(st.lists(st.floats(0.01, 1), min_size=T, max_size=T))
    numeric = total(bound.formula(values, [T], schedules.table(rates)))
    expected = by_substitution(bound, values, T, rates)
    assert numeric == pytest.approx([expected], rel=1e-12)


@given(
    rates=st.lists(st.floats(1e-3, 1), min_size=1, max_size=40),
    chunk=st.integers(1, 7),
    rounds=st.lists(st.integers(0, 60), min_size=1, max_size=8),
)
@settings(max_examples=60, deadline=None)
def test_sums_over_rounds_are_exact(
    rates: list[float], chunk: int, rounds: list[int]
) -> None:
    """Any schedule, any order of rounds, any chunking: the sum of the real values."""
    original = schedules_module._CHUNK
    schedules_module._CHUNK = chunk
    try:
        sums = schedules.table(rates).accumulate(np.square, rounds)
    finally:
        schedules_module._CHUNK = original
    padded = rates + [rates[-1]] * 60
    expected = [math.fsum(r**2 for r in padded[:T]) for T in rounds]
    assert sums == pytest.approx(expected, rel=1e-15)


def test_constant_rate_sums_in_closed_form() -> None:
    assert schedules.constant(0.5).accumulate(np.square, [0, 4, 10**12]).tolist() == [
        0,
        1,
        0.25 * 10**12,
    ]


def test_two_learning_rates_cannot_be_summed_as_one() -> None:
    """A bound over one eta must refuse a schedule whose sides differ."""
    values = Constants(
        S=1, sigma2=1, eps2=1, weights=(1.0,), tau=2, tau_server=3, initial_gap=1
    )
    bound = theorem("3.6").case("non_convex").bound()
    differing = schedules.Schedule(lambda t: 0.1 + 0 * t, lambda t: 0.2 + 0 * t, "two")
    with pytest.raises(ValueError, match="one learning rate"):
        bound.evaluate(values, [3], differing)


@pytest.mark.parametrize("bad", [[0], [-1], [1.5], [float("nan")], [], [[1]]])
def test_bad_rounds_are_refused(bad: list[float]) -> None:
    values = Constants(S=1, sigma2=1, eps2=1, weights=(1.0,), tau=2, initial_gap=1)
    with pytest.raises(ValueError, match="rounds"):
        theorem("3.7").case("non_convex").bound().evaluate(values, bad)


@pytest.mark.parametrize("bound", ALL)
def test_missing_constants_are_named(bound: Bound) -> None:
    """Leaving out any needed constant raises an error that names it."""
    full = {
        "S": 2, "mu": 1, "sigma2": 1, "G2": 1, "eps2": 1, "weights": [0.5, 0.5],
        "participation": 0.5, "tau": 2, "tau_server": 2, "initial_distance2": 1,
        "initial_gap": 1, "Gamma": 1, "R2": 1, "initial_distance2_client": 1,
        "initial_distance2_server": 1, "distance2_client": 1, "distance2_server": 1,
    }  # fmt: skip
    rate = schedules.constant(0.1)
    for name in bound.needs:
        lacking = {key: value for key, value in full.items() if key != name}
        with pytest.raises(ValueError, match=f"'{name}'"):
            bound.formula(Constants.from_dict(lacking), [3], rate)
    needed = {name: full[name] for name in bound.needs} | {"weights": [0.5, 0.5]}
    found = total(bound.formula(Constants.from_dict(needed), [3], rate))
    assert found.shape == (1,)


def test_strongly_convex_bound_refuses_mu_zero() -> None:
    values = Constants(S=1, mu=0, sigma2=1, G2=1, weights=(1.0,), initial_distance2=1)
    with pytest.raises(ValueError, match="mu"):
        theorem("3.7").case("strongly_convex").bound().evaluate(values, [1])


def test_repaired_bounds_are_announced_not_invented() -> None:
    with pytest.raises(ValueError, match="no repaired bound"):
        theorem("3.6").case("non_convex").bound("repaired")
    with pytest.raises(ValueError, match="printed, repaired"):
        theorem("3.7").case("non_convex").bound("fixed")


def test_unknown_names_list_the_valid_ones() -> None:
    with pytest.raises(ValueError, match=r"3\.6.*huang2023/thm-1"):
        theorem("3.10")
    with pytest.raises(ValueError, match="strongly_convex, general_convex"):
        theorem("3.7").case("convex")
    with pytest.raises(ValueError, match="several cases"):
        theorem("3.7").case()


def test_latex_names_every_symbol_of_the_bound() -> None:
    text = theorem("3.8").case("non_convex").bound().latex()
    for piece in (r"\leq", r"\tilde{\tau}", r"{q}_{n}", r"\sum_{n=1}^{N}", r"\eta^{t}"):
        assert piece in text
