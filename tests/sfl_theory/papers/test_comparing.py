"""Comparisons of printed bounds: what is false is not proved, roots are roots."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfl_theory.evidence import Part, Says, decide, says
from sfl_theory.kernel import terms as k
from sfl_theory.models.federation import bare, with_roots
from sfl_theory.notation import written as w
from sfl_theory.papers.han2024 import comparing as rows
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024.comparing import EQUAL, SMOOTHER, K, below, compared
from sfl_theory.papers.han2024.printed import Data
from sfl_theory.proofs import any_step
from sfl_theory.proofs.local_steps import Round


def row_below_bound(number: str) -> Part:
    """Return that a strongly convex row is at most K times the bound."""

    def build(d: Data) -> Says:
        right = K * printed.strongly_convex(number, d).right
        return says(rows.strongly_convex(number, d).right, right, SMOOTHER)

    return compared(build, EQUAL)


@pytest.mark.parametrize(
    ("number", "status"), [("3.6", "unproved"), ("3.7", "proved"), ("3.8", "unproved")]
)
def test_a_lost_factor_is_not_proved(number: str, status: str) -> None:
    """Only the row of (14) is its rate: the others have a power of N too many."""
    assert decide(row_below_bound(number), "test").status == status


@pytest.mark.parametrize("case", printed.CASES)
def test_full_participation_is_not_below_itself_reversed(case: str) -> None:
    """(17), (18), (19) are not proved to be at most (11), (12), (13)."""
    assert decide(below("3.6", "3.8", case, Data()), "test").status == "proved"
    assert decide(below("3.8", "3.6", case, Data()), "test").status == "unproved"


def test_roots_are_enclosed() -> None:
    """A root from below and one from above are close, on the right sides."""
    low, high, x = w.nonnegative("low"), w.positive("high"), w.positive("x")
    data = with_roots(
        bare(1, {x: Fraction(2, 7)}),
        [(low, 3, w.as_form(x))],
        [(high, 3, w.as_form(x))],
    )
    one, two = (data.numbers[w.variable(v)] for v in (low, high))
    assert one**3 <= Fraction(2, 7) <= two**3
    assert 0 < two - one < Fraction(1, 10**15)


def test_first_local_point_needs_an_empty_sum() -> None:
    """A gradient sum is 0 for i <= 0 only: the theorem says so."""
    pace = w.pace(1, w.rate(w.positive("eta")))
    r = Round(k.Split(k.Kind.V1, k.Participants.EVERYONE, pace, pace))
    assumed = {str(one) for one in any_step.stays(r, r.x, 1).hypotheses}
    assert assumed == {"(1 - i) >= 0", "-i >= 0"}
