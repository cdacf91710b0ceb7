"""Strongly convex bounds by the function value: rounds, inductions, what is smaller.

Rounds are enumerated over noise and participation (``test_two_periods``,
``test_equations_rates_descent``); a sharper bound with a constant lowered is rejected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
import sympy as sp
from test_equations_rates_descent import SEEDS, moments
from test_local_sgd_rules import worth
from test_two_periods import TwoRates, federations

from sfl_theory.audits.han2024 import (
    convex,
    general_convex_drift,
    repairs,
    two_periods,
    two_periods_round,
    value_bounds,
    value_recursion,
    value_rules,
)
from sfl_theory.audits.han2024.convex import G2, S, c1, cd, eta, mu, tau
from sfl_theory.audits.han2024.equations.rates_descent_rules import alpha
from sfl_theory.evidence.certificate import Certificate, Rejected, atom, check
from sfl_theory.mutation.refuter import Refuter
from sfl_theory.papers import repaired
from sfl_theory.registry import theorem

RATIO, RHO, THETA = (
    two_periods_round.ratio, two_periods_round.rho, two_periods_round.theta,
)  # fmt: skip
OTHERS = {setting.number: setting for setting in repaired.TWO_PERIODS}
BUILDERS = [
    build
    for setting in repaired.SETTINGS
    for build in value_bounds.certificates("x", setting, OTHERS.get(setting.number))
]


@pytest.mark.parametrize("build", BUILDERS)
def test_sharper_bounds_replay_and_no_run_breaks_them(
    build: Callable[[], Certificate],
) -> None:
    proof = replace(build(), claim="han2024/x")
    check(build(), "x")
    assert Refuter(proof).standing() > 20


def value_after(fed: TwoRates) -> float:
    return float(
        fed.mean(
            lambda o: fed.gap(fed.x - fed.eta * fed.weights(o) @ fed.directions(o))
        )
    )


def right_side(fed: TwoRates, proof: Certificate, less: float = 1.0) -> float:
    values = {
        mu: fed.mu, S: fed.S, G2: less * fed.G2, RHO: fed.rho, THETA: fed.eta,
        RATIO: fed.ratio, c1: 1 + fed.rho, cd: sp.Rational(1, 3), tau: fed.tau,
        eta: fed.eta / fed.tau, atom("e_t"): fed.gap(fed.x),
    }  # fmt: skip
    return float(proof.right.subs(values))


def varied() -> list[TwoRates]:
    found = []
    for seed, fed in enumerate(federations(42)):
        if seed % 3 == 0:
            fed.scale[:] = 0
        if seed % 4 == 1:
            fed.x = fed.optimum
        fed.eta *= (1.0, 0.01, 5.0)[seed % 3]
        found.append(fed)
    return found


def test_no_round_breaks_the_recursions_of_the_value() -> None:
    both = value_recursion.two_periods("x"), value_recursion.one_period("x")
    low = [False, False]
    for fed in varied():
        after = value_after(fed)
        assert after <= right_side(fed, both[0]) + 1e-9
        low[0] |= after > right_side(fed, both[0], 0.01) + 1e-9
        if fed.tau == fed.tau_server:
            assert after <= right_side(fed, both[1]) + 1e-9
            low[1] |= after > right_side(fed, both[1], 0.01) + 1e-9
    assert all(low)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_round_breaks_the_recursion_by_blocks(seed: int) -> None:
    z = moments(seed)
    run = z["run"]
    right = (1 - 5 / 4 * z["alpha"] * run.mu) * z["now"]
    right += run.S * z["c1"] * z["alpha"] ** 2 * z["G2"]
    right += 8 / 3 * run.S**2 * z["alpha"] ** 3 * z["G2"]
    assert z["then"] <= right + 1e-12


def drift(z: dict, less: float = 1.0) -> float:
    """Return the worth of the rule; ``less`` lowers its upper side."""
    values = {S: z["run"].S, alpha: z["alpha"], G2: less * z["G2"]}
    fact = value_rules.drift_in_any_order(atom("D"))
    numbers = {k: sp.Float(v) for k, v in values.items()}
    expr = (sp.Integer(0) + fact.expr).xreplace(numbers)
    return worth(replace(fact, expr=expr), {"D": z["D"]})


@pytest.mark.parametrize("seed", SEEDS)
def test_no_round_breaks_the_drift(seed: int) -> None:
    assert drift(moments(seed)) >= -1e-9


def test_the_drift_with_a_lower_constant_fails_somewhere() -> None:
    assert min(drift(moments(seed), 0.05) for seed in SEEDS) < -1e-9


@pytest.mark.parametrize(("tau", "tau_server"), list(product((1, 2, 3, 5), (1, 2, 4))))
def test_the_drift_holds_in_every_order_of_the_steps(tau: int, tau_server: int) -> None:
    """All slopes G: a block is off by the steps made."""
    worst = Fraction(0)
    for places in combinations(range(tau + tau_server), tau):
        x = y = total = Fraction(0)
        for k in range(tau + tau_server):
            if k in places:
                total += (x**2 + y**2) / tau
                x += Fraction(1, tau)
            else:
                total += (x**2 + y**2) / tau_server
                y += Fraction(1, tau_server)
        worst = max(worst, total)
    rule = value_rules.drift_in_any_order(atom("D"))
    left_over = {alpha: 1, G2: 1, atom("D"): sp.Rational(worst)}
    assert (sp.Integer(0) + rule.expr).xreplace(left_over) >= 0
    assert worst <= Fraction(5, 3)


def test_no_round_breaks_the_recursion_with_half_of_the_drift() -> None:
    proof = general_convex_drift.round_without_mu("x")
    for fed in varied():
        if fed.tau != fed.tau_server:
            continue
        y = fed.x - fed.optimum
        moved = fed.mean(
            lambda o, fed=fed, y=y: np.sum(
                (y - fed.eta * fed.weights(o) @ fed.directions(o)) ** 2
            )
        )
        values = {
            S: fed.S, G2: fed.G2, c1: 1 + fed.rho, cd: sp.Rational(1, 3),
            tau: fed.tau, eta: fed.eta / fed.tau, atom("Delta_t"): float(y @ y),
            atom("gap_t"): fed.gap(fed.x),
        }  # fmt: skip
        assert float(moved) <= float(proof.right.subs(values)) + 1e-9


@pytest.mark.parametrize("setting", repaired.SETTINGS)
def test_what_is_proved_is_the_bound_named_sharper(setting: repaired.Setting) -> None:
    case = theorem(setting.number).case("strongly_convex")
    proved = value_bounds.distance_free("x", setting)
    names = {**repairs.SUMS, **repairs.NAMES}
    assert sp.simplify(case.bound("sharper").expr.xreplace(names) - proved.right) == 0
    assumed = repairs.at_constants("x", setting).hypotheses
    assert set(proved.hypotheses) <= set(assumed)
    joint = repaired.strongly_convex(setting)
    less = sp.Integer(0) + repairs.at_constants("x", setting).right - proved.right
    # smaller even for a start at the minimiser
    assert proved.domain.nonnegative(less.subs(convex.delta0, 0))
    assert joint.step_size == case.bound("sharper").step_size


@pytest.mark.parametrize("setting", repaired.TWO_PERIODS)
def test_what_is_proved_is_the_bound_named_any_periods(
    setting: repaired.Setting,
) -> None:
    bound = theorem(setting.number).case("strongly_convex").bound("any_periods")
    proved = value_bounds.any_periods("x", setting)
    right = two_periods._in_parameters(bound.expr)
    assert sp.simplify((right - proved.right).subs(two_periods_round.rho, 0)) == 0
    if setting.number == "3.8":
        assert sp.simplify(right - proved.right) == 0


@pytest.mark.parametrize("number", ["3.6", "3.7", "3.8"])
def test_the_start_needs_its_constant(number: str) -> None:
    """e_0 may be G^2/(2 mu), which 3 S G^2/(mu^2 gamma) does not cover."""
    setting = next(s for s in repaired.SETTINGS if s.number == number)
    with pytest.raises(Rejected, match="not shown non-negative"):
        check(value_bounds.without_distance("x", setting, 3), "x")


@pytest.mark.parametrize("build", BUILDERS)
def test_a_smaller_right_side_is_rejected(build: Callable[[], Certificate]) -> None:
    proof = build()
    with pytest.raises(Rejected):
        check(replace(proof, right=proof.right * sp.Rational(99, 100)), "x")


@pytest.mark.parametrize("name", ["one_period", "two_periods", "of_blocks"])
def test_every_fact_of_a_round_is_needed(name: str) -> None:
    proof = getattr(value_recursion, name)("x")
    for place in range(len(proof.uses)):
        rest = proof.uses[:place] + proof.uses[place + 1 :]
        with pytest.raises(Rejected):
            check(replace(proof, uses=rest), "x")


def test_half_of_the_drift_replays_and_a_third_is_rejected() -> None:
    proof = general_convex_drift.half_of_the_drift("x")
    check(proof, "x")
    drift = next(t for t in sp.Add.make_args(proof.right) if t.has(cd))
    with pytest.raises(Rejected):
        check(replace(proof, right=proof.right - drift / 3), "x")
