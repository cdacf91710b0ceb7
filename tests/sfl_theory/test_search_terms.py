"""The searches against theorems notice when a part of a bound is left out.

In the convex cases gradient noise and client drift are both multiples of $G^2$, and
$G^2\\ge\\mu^2\\|x^0-x^*\\|^2$, so single terms can stand in for each other; there the
two are left out together.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from search import Search
from search_han2024_theorems import convex_case, non_convex

from sfl_theory import theorem

NOISE = ("gradient noise", "client drift")
CONVEX = [
    (number, case, left_out)
    for number in ("3.6", "3.7", "3.8", "3.9")
    for case, left_out in (
        ("strongly_convex", NOISE),
        ("general_convex", NOISE),
        ("general_convex", ("initial distance",)),
    )
]
NON_CONVEX = [
    (number, "non_convex", (part,))
    for number in ("3.6", "3.7", "3.8", "3.9")
    for part in ("initial gap", "noise and heterogeneity")
    if (number, part) != ("3.9", "noise and heterogeneity")
]
PARTIAL_V2 = ("3.9", "non_convex", ("noise", "participation and heterogeneity"))


@pytest.mark.parametrize(
    ("number", "case", "left_out"), [*CONVEX, *NON_CONVEX, PARTIAL_V2]
)
def test_a_part_left_out_is_noticed(
    number: str, case: str, left_out: tuple[str, ...]
) -> None:
    proved = "printed" if case == "non_convex" and number in {"3.6", "3.8"} else None
    bound = theorem(number).case(case).bound(proved or "repaired")
    assert set(left_out) < set(bound.parts)
    kept = {k: part for k, part in bound.parts.items() if k not in left_out}
    search = Search(
        partial(
            non_convex if case == "non_convex" else convex_case,
            bound=replace(bound, parts=kept),
            sequential=number in {"3.7", "3.9"},
            partially=number in {"3.8", "3.9"},
        ),
        slack=1.0,
    )
    assert search.violation(1.0)
