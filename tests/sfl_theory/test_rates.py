"""Rates: a bound and the rate read off it are a constant times each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from sfl_theory import Constants, rate_table, schedules, theorem, theorems
from sfl_theory.bound import OBJECTIVE_GAP, Bound, total
from sfl_theory.evidence import Kind
from sfl_theory.ledger import ledger, standing
from sfl_theory.numeric import degree
from sfl_theory.rates import Q_2, SIGMA, Q, mean_order, rate
from sfl_theory.show import nearest
from sfl_theory.symbols import (
    F_err,
    G,
    I_err,
    N,
    S,
    T,
    epsilon,
    eta,
    gamma,
    mu,
    t,
    tau,
    tau_server,
)

K = 1000
"""Absolute constants are omitted: what they may amount to."""
OWN = [row for number in (1, 2, 3) for row in rate_table(number) if row.theorem]
NEAREST = [
    pytest.param(bound, id=f"{item.number}-{case.name}-{version}")
    for item in theorems()
    if item.paper == "han2024" and item.number != "3.5"
    for case in item.cases.values()
    for version, bound in nearest(case, standing(item.key, case.name))
]
WEIGHTED = [
    pytest.param(case.bound(version), id=f"{item.key}-{case.name}-{version}")
    for item in theorems()
    for case in item.cases.values()
    for version in case.versions
    if case.bound(version).metric.mean
]


def draw(rng: np.random.Generator) -> Constants:
    """Draw equal clients with constants over many orders of magnitude."""
    clients, curvature = int(rng.integers(1, 40)), 10 ** rng.uniform(-3, 3)
    period = int(rng.integers(1, 30))
    return Constants(
        S=curvature * 10 ** rng.uniform(0, 4),
        mu=curvature,
        sigma2=10 ** rng.uniform(-4, 4),
        G2=10 ** rng.uniform(-4, 4),
        eps2=10 ** rng.uniform(-4, 4),
        weights=(1 / clients,) * clients,
        participation=tuple(10 ** rng.uniform(-2, 0, clients)),
        tau=period,
        tau_server=period,
        initial_distance2=10 ** rng.uniform(-4, 4),
        initial_gap=10 ** rng.uniform(-4, 4),
    )


def rate_value(terms: tuple[sp.Expr, ...], c: Constants, rounds: int) -> float:
    """Evaluate a rate at the constants of equal clients."""
    inverse = 1 / np.asarray(c.per_client("participation"))
    values = {
        S: c.S, mu: c.mu, N: len(c.weights), tau: c.tau, T: rounds,
        SIGMA: float(np.sqrt(c.per_client("sigma2")[0])), G: float(np.sqrt(c.G2)),
        epsilon: float(np.sqrt(c.eps2)), I_err: c.initial_distance2,
        F_err: c.initial_gap, Q: inverse.sum(), Q_2: (inverse**2).sum(),
    }  # fmt: skip
    return float(sum(term.subs(values).evalf() for term in terms))


def best_mean(bound: Bound, c: Constants, rounds: int) -> float:
    """Return the smallest bound of the mean over a grid of constant rates."""
    largest = bound.step_size.schedule(c).client(np.zeros(1))[0]
    etas = largest * np.geomspace(1e-9, 1, 55)
    with np.errstate(over="ignore"):  # exp of a sum of squares, at large rates
        values = [
            total(bound.formula(c, [rounds], schedules.constant(float(h))))[0] / h
            for h in etas
        ]
    return float(min(values))


@pytest.mark.parametrize("bound", NEAREST)
def test_rate_and_bound_are_constants_apart(bound: Bound) -> None:
    """In both directions: a rate too small is false, one too large says too little."""
    rng = np.random.default_rng(0)
    for _ in range(8):
        constants, rounds = draw(rng), int(10 ** rng.uniform(0, 6))
        value = (
            best_mean(bound, constants, rounds)
            if bound.metric.mean
            else total(bound.formula(constants, [rounds]))[0]
        )
        assert 1 / K <= rate_value(rate(bound), constants, rounds) / value <= K


@pytest.mark.parametrize("bound", WEIGHTED)
def test_order_of_the_mean_at_the_best_rate(bound: Bound) -> None:
    """``show`` prints this exponent: the best constant rate reaches it."""
    constants = replace(
        draw(np.random.default_rng(1)), S=1.0, mu=0.5, sigma2=1.0, G2=1.0, eps2=1.0,
        initial_distance2=1.0, initial_gap=1.0,
    )  # fmt: skip
    if tau_server in bound.expr.free_symbols:
        constants = replace(constants, tau_server=constants.tau + 7)
    early, late = (best_mean(bound, constants, 10**k) for k in (9, 13))
    slope = np.log(late / early) / np.log(10**4)
    assert slope == pytest.approx(float(mean_order(bound)), abs=0.02)


@pytest.mark.parametrize("row", OWN, ids=lambda row: row.claim)
def test_row_is_linked_to_its_claim_and_theorem(row) -> None:
    """The column "audit" shows the entry on this row, "nearest" that of its theorem."""
    claim = ledger().claim(row.claim)
    assert claim.kind is Kind.TABLE
    assert f"{row.theorem}/{row.case}" in row.claim
    item = theorem(row.theorem)
    assert (item.algorithm, item.participation) == (
        row.method.lower(),
        row.participation,
    )
    bounds = [*nearest(item.case(row.case), standing(item.key, row.case))]
    assert bounds
    assert all(rate(bound) for _, bound in bounds)


def test_every_row_has_an_entry_in_the_ledger() -> None:
    """Rows of other papers too."""
    for number in (1, 2, 3):
        for row in rate_table(number):
            assert f"/table-{number}/" in ledger().claim(row.claim).id


@pytest.mark.parametrize(
    "change",
    [
        {"parts": {"x": I_err / eta(t)}},
        {"parts": {"x": S * I_err * T}},
        {"parts": {"x": I_err / T}, "metric": OBJECTIVE_GAP},
        {"step_size": None},
    ],
)
def test_other_forms_are_refused(change: dict) -> None:
    """No order is claimed of a bound that the derivation does not cover."""
    bound = replace(theorem("3.7").case("non_convex").bound("repaired"), **change)
    with pytest.raises(ValueError, match=r"no mean|form"):
        mean_order(bound)


def test_negative_terms_are_refused() -> None:
    """Dropping constants is right for sums of positive terms only."""
    bound = theorem("3.7").case("strongly_convex").bound("repaired")
    broken = replace(bound, parts={**bound.parts, "less": -S / (gamma + T)})
    with pytest.raises(ValueError, match="negative"):
        rate(broken)


X = sp.Symbol("x", real=True)


@pytest.mark.parametrize(
    ("formula", "p"),
    [
        (S * tau, 0),
        (3 * T * S + mu, 1),
        (-S / (mu * (8 * S / mu + T - 1)), -1),
        (F_err * (8 * S / mu - 1) ** 4 / (8 * S / mu + T - 1) ** 4, -4),
        (sp.sqrt(T * S + tau) / T + S / T**2, sp.Rational(-1, 2)),
        ((T + S) ** 2 + mu * T**2 - tau * T, 2),
        ((T + S) ** 2 - T**2, None),  # the leading terms cancel
        (1 / T + S - mu, None),  # may be 0 in the end
        (sp.sqrt(T - X), None),
        (sp.exp(T), None),
        (T**S, None),
        (sp.log(T) * T, None),
    ],
)
def test_a_degree_that_the_form_shows_is_the_limit_of_the_slope(
    formula: sp.Expr, p: sp.Expr | None
) -> None:
    """And where terms may cancel, or no power is leading, none is shown."""
    assert degree(formula) == p
    if p is not None:
        slope = sp.simplify(T * sp.diff(formula, T) / formula)
        assert sp.simplify(sp.limit(slope, T, sp.oo) - p) == 0
