"""Neighbours are changes of terms; those that follow are derived by the kernel."""

from __future__ import annotations

import pytest
from ledger_parts import PARTS

from sfl_theory.evidence import Says, says
from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules as r
from sfl_theory.kernel import terms as k
from sfl_theory.mutation.changes import OPERATORS, Neighbour, neighbours
from sfl_theory.mutation.proving import derived
from sfl_theory.notation import written as w
from sfl_theory.proofs.export import Encoder

a, b = w.positive("a"), w.positive("b")


def around(one: Says) -> list[Neighbour]:
    return list(neighbours(one, "test/statement"))


def theorem(one: Says) -> r.Theorem:
    return r.combine((), (), one.right.value - one.left.value, ())


def test_every_operator_occurs_in_a_theorem() -> None:
    found = {one.operator for one in around(PARTS["han2024/eq-56--1"].says)}
    found |= {one.operator for one in around(PARTS["han2024/eq-44"].says)}
    assert found == {*OPERATORS} - {"term dropped"}


def test_no_neighbour_is_the_statement_itself() -> None:
    for one in around(PARTS["han2024/eq-56--1"].says):
        same = one.hypotheses == one.whole.hypotheses
        moved = (one.left - one.whole.left) or (one.right - one.whole.right)
        assert not same or moved, one.change


def test_what_gives_a_name_its_meaning_is_not_dropped() -> None:
    """Without "f* minimises f", f* in a side means nothing: no such neighbour."""
    one = PARTS["han2024/prop-3.5"].says
    gone = [x for other in around(one) for x in other.dropped]
    assert gone
    assert not any(isinstance(x, h.Minimiser) for x in gone)


def test_a_sum_loses_a_step_right_and_gains_one_left() -> None:
    i = w.natural("i")
    total = w.below(i, w.count("K"), w.norm2(w.point("x")) * w.of_round("c", i, "c"))
    changed = [one for one in around(says(total, total)) if "step" in one.change]
    assert {one.change.split(" in ")[0] for one in changed} == {
        "a step more",
        "a step fewer",
    }
    for one in changed:
        left, right = one.left - total.value, one.right - total.value
        assert bool(left) != bool(right)


@pytest.mark.parametrize(
    ("one", "true"),
    [(says(a, 2 * a + b), [True, True]), (says(a, 3 * a - a), [False, True])],
)
def test_a_neighbour_that_follows_is_derived(one: Says, true: list[bool]) -> None:
    """a + b and 2a + b/2 are at least a, so is 3a - a/2; 3a/2 - a is not."""
    proved = [theorem(one), theorem(says(a, a))]
    halved = (x for x in around(one) if x.operator == "constant halved")
    assert [derived(other, proved) is not None for other in halved] == true


def test_a_neighbour_that_does_not_follow_is_not_derived() -> None:
    one = says(a, 1 * a)
    (halved,) = (x for x in around(one) if x.operator == "constant halved")
    assert derived(halved, [theorem(one)]) is None


def test_a_condition_is_derived_from_a_stronger_one_only() -> None:
    """1 - 2 a >= 0 follows from 1 - 4 a >= 0; 1 - 8 a >= 0 does not."""
    weak, strong = (h.Holds((w.form(1) - n * a).value) for n in (2, 8))
    sides = says(4 * a, 4 * a)
    own = h.Holds((w.form(1) - 4 * a).value)

    def under(assumed: h.Holds) -> r.Theorem:
        sign = r.assume(assumed.form)
        target = sides.right.value - sides.left.value
        return r.combine(((sign, k.ratio(0)),), (), target, ())

    whole = sides.statement("test/statement")
    one = Neighbour("none", "", whole, frozenset({own}), sides.left.value)
    assert derived(one, [under(weak)]) is not None
    assert derived(one, [under(strong)]) is None


def test_what_is_derived_can_be_written_down() -> None:
    """Sums are opened with variables that have names: a file knows no others."""
    name = "han2024/text/v1-v2/non_convex--1"
    part, encoder, found = PARTS[name], Encoder(), 0
    proved = [part.by.theorem()]  # type: ignore[union-attr]
    for one in neighbours(part.says, name):
        theorem = derived(one, proved)
        if theorem is not None and "equal weights" in one.change:
            encoder.claim(one.statement, theorem, None)
            found += 1
    assert found
