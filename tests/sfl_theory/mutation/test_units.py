"""A statement is one in metres and in feet; what has a unit may be made small."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_parts import PARTS

from sfl_theory.evidence import Says, evidence, says
from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel.conditions import meeting
from sfl_theory.mutation import judge
from sfl_theory.mutation.changes import neighbours
from sfl_theory.mutation.units import LENGTH, VALUE, power, scaled, scales, with_units
from sfl_theory.notation import written as w
from sfl_theory.proofs.export import model_of

NAMES = (
    "han2024/prop-3.5",
    "han2024/lemma-C.3",
    "han2024/eq-184--repair",
    "han2024/thm-3.9/strongly_convex--repair--3",
    "huang2023/eq-32--1",
)
a, b = w.positive("a"), w.positive("b")


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=6, deadline=None)
@given(base=st.fractions(Fraction(1, 8), 8, max_denominator=8).filter(bool))
def test_a_model_in_other_units_is_a_model(name: str, base: Fraction) -> None:
    """Every hypothesis holds, and both sides grow by the same factor."""
    one = PARTS[name].says.statement(name)
    _, data = evidence(PARTS[name], name)
    assert data is not None

    def sides(by: dict[object, int]) -> list[Fraction]:
        model = model_of(scaled(data, by, base))
        e = meeting(model, one.hypotheses, one.left, one.right)
        return [e.form(side) for side in (one.left, one.right)]

    before, found = sides({}), scales(one)
    both = [(by.get(LENGTH, 0), by.get(VALUE, 0)) for by in found]
    assert any(x * v != y * u for x, u in both for y, v in both)  # both units are free
    for by in found:
        after = sides(by)
        assert after[0] * before[1] == after[1] * before[0]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_judged_by_its_units_has_one(name: str) -> None:
    """Counts, sums of weights and what conditions compare with 1 have none."""
    around = list(neighbours(PARTS[name].says, name))
    units = with_units(around)
    assert all(power(around[place].factor, by) for place, by in units.items())
    for place in set(range(len(around))).difference(units):
        factor = around[place].factor
        if factor is not None:
            every = scales(around[place].whole)
            assert not any(power(factor, by) for by in every)


def free(one: Says, *conditions: w.Form) -> list[list[str]]:
    """Return which parameters may change together, beside length and values."""
    own = one.statement("test/statement")
    assumed = frozenset(h.Holds(form.value) for form in conditions)
    found = scales(replace(own, hypotheses=assumed))
    assert [x for x in found if {LENGTH, VALUE} & {*x}] == [{LENGTH: 1}, {VALUE: 1}]
    return [sorted(map(str, x)) for x in found if not {LENGTH, VALUE} & {*x}]


def test_like_is_added_to_like() -> None:
    assert free(says(a, 1 * b)) == [["a", "b"]]
    assert free(says(a, 1 * b), w.form(1) - 1 * a) == []
    assert free(says(a, a * a + 1 * b)) == []
    assert free(says(a * a, a * b)) == [["a", "b"]]


def test_a_factor_with_a_unit_is_judged_as_the_summand_left_out() -> None:
    """Broken both or neither, whatever else is known of the parameter."""
    name = "han2024/prop-3.5"
    part = PARTS[name]
    verdicts: dict[str, str] = {}
    units = scales(part.says.statement(name))
    for one in judge([(name, part)]):
        assert one.shown is not None
        summand, factor = one.shown.neighbour.summand, one.shown.neighbour.factor
        if summand is None or factor is None:
            continue
        if factor == 0:
            verdicts[str(summand)] = one.verdict
        elif any(power(factor, by) for by in units) and str(summand) in verdicts:
            assert one.verdict == verdicts[str(summand)]
