"""Witnesses looked for with a mutant in view, and those that are enumerated."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy as sp

from sfl_theory.audits.han2024 import convex
from sfl_theory.audits.huang2023 import drift_any_rate, sharper
from sfl_theory.evidence.certificate import Certificate, Fact, atom, norm2, vectors
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.kernel import young
from sfl_theory.mutation import judge, prover, steps_summed, taking_part, worst_numbers
from sfl_theory.mutation.judge import Statement
from sfl_theory.mutation.multipliers import solved
from sfl_theory.mutation.operators import mutants
from sfl_theory.mutation.refuter import Refuter

eta, u, tau, S = positive("eta u tau S")
h, k = free("h k")
z, s = positive("z s")


def between_one_and_two() -> Certificate:
    """0 <= (u - 1)(u - 2) + 1/4; without 1/4 it fails for 1 < u < 2 only."""
    right = (u - 1) * (u - 2) + sp.Rational(1, 4)
    return Certificate(
        "test/u", sp.Integer(0), right, (), Domain("u > 0", {u: z}, (z,))
    )


def condition() -> Certificate:
    """2 S eta tau <= 1 at eta <= 1/(2 S tau)."""
    domain = Domain(
        "eta <= 1/(2 S tau)",
        {tau: 1 + k, S: s, eta: 1 / (2 * S * tau * (1 + h))},
        (k, h, s),
    )
    return Certificate("test/rate", 2 * S * eta * tau, sp.Integer(1), (), domain)


def verdicts(certificate: Certificate) -> dict[str, str]:
    item = Statement(certificate.claim, (certificate,), (), ((),))
    return {found.operator: found.verdict for found in judge(item)}


def test_a_point_is_found_where_the_usual_ones_break_nothing() -> None:
    false = replace(between_one_and_two(), right=(u - 1) * (u - 2))
    refuter = Refuter(between_one_and_two())
    usual = [values for _, values in refuter._standing(false, "")]
    assert usual
    assert not any(1 < values["u"] < 2 for values in usual)
    found = refuter.counterexample(false)
    assert found is not None
    assert found.left.low > found.right.high


def test_nothing_breaks_what_is_true() -> None:
    assert Refuter(between_one_and_two()).counterexample(between_one_and_two()) is None


def test_a_doubled_step_size_is_tried_at_points_of_its_own_domain() -> None:
    assert verdicts(condition())["step size doubled"] == "refuted"


def test_sought_points_keep_counts_whole_and_positive_variables_positive() -> None:
    doubled = next(
        m.certificate for m in mutants(condition()) if m.operator == "step size doubled"
    )
    for witness in worst_numbers.worst_points(doubled):
        assert witness.parameters["k"].denominator == 1
        assert witness.parameters["s"] > 0
        assert witness.parameters["h"] >= 0


def test_more_numbers_meet_the_facts() -> None:
    D = atom("numbers D")
    fact = Fact("bound", eta * tau - D, "recursion")
    original = replace(
        condition(),
        left=D,
        right=eta * tau,
        hypotheses=("recursion",),
        uses=((fact, 1),),
    )
    found = list(worst_numbers.more_numbers(original, original, ""))
    assert found
    for witness in found:
        values = {**witness.parameters, **witness.atoms}
        assert values["numbers D"] <= values["eta"] * values["tau"]


def test_a_law_among_the_facts_does_not_hinder_other_squares() -> None:
    """||a - b||^2 <= 4||a||^2 + 4||b||^2 by Young; as much with <a, b> halved."""
    a, b = vectors("a b")
    loose = Certificate(
        "test/young",
        norm2(a - b),
        4 * norm2(a) + 4 * norm2(b),
        ("kernel",),
        Domain("anything", {S: s}, (s,)),
        uses=((young(a, b * -1, 1), 1),),
        squares=((a, 2), (b, 2)),
    )
    product_of_both = atom("<a,b>")
    less = replace(loose, left=loose.left + product_of_both)
    assert prover.proof(less, loose)
    more = replace(loose, left=loose.left + 20 * product_of_both)
    assert prover.proof(more, loose) == ""


def test_multipliers_that_must_move_together_are_solved_for() -> None:
    """x <= 1 by x <= y + 1/2, y <= 1/4; 2x <= 2 needs both multipliers doubled."""
    x, y = atom("x"), atom("y")
    facts = (
        Fact("x <= y + 1/2", y + sp.Rational(1, 2) - x, "recursion"),
        Fact("y <= 1/4", sp.Rational(1, 4) - y, "recursion"),
    )
    original = Certificate(
        "test/two",
        x,
        sp.Integer(1),
        ("recursion",),
        Domain("anything", {S: s}, (s,)),
        uses=tuple((fact, sp.Integer(1)) for fact in facts),
    )
    twice = replace(original, left=2 * x, right=sp.Rational(3, 2))
    assert [m for _, m in solved(twice).uses] == [2, 2]
    assert prover.proof(twice, original) == "fitted multipliers"
    assert prover.proof(replace(twice, right=sp.Rational(7, 5)), original) == ""
    against = replace(original, left=-x, right=sp.Integer(1))
    assert prover.proof(against, original) == ""
    assert solved(replace(original, left=atom("z"))) is None


@pytest.mark.parametrize(
    "build, rate",
    [
        (convex.participation_variance, sp.Rational(9, 10)),
        (drift_any_rate.bounded_by_gradients, sp.Rational(9, 10)),
        (drift_any_rate.later_slow, sp.Rational(1, 2)),
        (drift_any_rate.first_fast, sp.Rational(9, 10)),
        (drift_any_rate.as_printed, sp.Rational(9, 10)),
        *((part, sp.Rational(9, 10)) for part in sharper.steps_apart("test")),
    ],
)
def test_a_sharper_statement_is_rejected_with_a_smaller_right_side(build, rate) -> None:
    try:
        certificate = build("test")
    except TypeError:
        certificate = build()
    assert prover.accepted(certificate)
    less = replace(certificate, right=certificate.right * rate)
    assert not prover.accepted(less)


def test_the_gradients_of_a_block_are_those_of_its_steps() -> None:
    growth, rate, slope, noise = (
        Fraction(2, 5),
        Fraction(1, 2),
        Fraction(3),
        Fraction(1),
    )
    point, found = Fraction(0), []
    for step in range(4):
        gradient = slope - growth / rate * point + (noise if step == 0 else 0)
        found.append(gradient)
        point -= rate * gradient
    assert steps_summed.gradients(slope, slope + noise, growth, 4) == found


@pytest.mark.parametrize("together", [False, True])
def test_the_distance_of_two_runs_is_that_of_their_visits(together) -> None:
    q, rate, slope, steps = Fraction(1, 4), Fraction(1, 2), Fraction(3), 3
    joint = taking_part.outcomes(2, q, together)
    assert sum(p for p, _ in joint) == 1
    total = Fraction(0)
    for chance, who in joint:
        run = everybody = Fraction(0)
        for comes in who:
            for _ in range(steps):
                run -= rate * comes / q * slope
                everybody -= rate * slope
        total += chance * (run - everybody) ** 2
    assert taking_part.distance2(joint, q, rate * steps * slope) == total
