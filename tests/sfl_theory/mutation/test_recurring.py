"""Models meet what conditions say step by step, so that false claims are broken."""

from __future__ import annotations

from fractions import Fraction

import pytest
from ledger_parts import PARTS, read_part

import sfl_theory.mutation.frames as frames
import sfl_theory.mutation.judged as judged
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.mutation.changes import Neighbour
from sfl_theory.mutation.recurring import MOST, recurring
from sfl_theory.mutation.search import broken

FALSE = "han2024/eq-40--1"
"""Its c(0) = 1 and c(i + 1) = (1 + 2/tau) c(i) for all i < tau."""


def refound() -> bool:
    """Return whether the false claim is broken in twelve turns."""
    one = PARTS[FALSE].says.statement(FALSE)
    same = Neighbour("none", "nothing", one, one.hypotheses, one.left)
    return bool(broken([same], {0}, set(), judged.refutes, FALSE, 12, 12))


def test_a_claim_with_a_recurrence_is_broken() -> None:
    assert refound()


def test_without_the_recurrence_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the test above would say nothing of it."""
    monkeypatch.setattr(frames, "recurring", lambda *given: {})
    assert not refound()


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_the_polynomial_has_the_values_of_the_recurrence(steps: int) -> None:
    one, read = read_part(FALSE)
    (tau,) = (v for v in read.wholes if str(v) == "tau")
    (body,) = recurring(one.hypotheses, {tau: steps}).values()
    for i in range(steps + 1):
        value = k.number_at(body, {k.ROUND: ratio(i)})
        assert value == ratio((1 + Fraction(2, steps)) ** i)


def test_none_is_made_for_many_steps_or_without_a_start() -> None:
    one, read = read_part(FALSE)
    (tau,) = (v for v in read.wholes if str(v) == "tau")
    assert not recurring(one.hypotheses, {tau: MOST})
    start = ("(1 - c(0)) >= 0", "(c(0) - 1) >= 0")
    for gone in start:
        kept = frozenset(x for x in one.hypotheses if str(x) != gone)
        assert len(kept) == len(one.hypotheses) - 1
        assert not recurring(kept, {tau: 2})
