"""Numbers are shown to be >= 0 by multiples of others; what may be < 0 never is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_parts import PARTS

from sfl_theory.kernel import rules as r
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.mutation.positivity import least_excess, shown, with_products
from sfl_theory.mutation.slack import sharpened
from sfl_theory.proofs.notation import count, positive

S, e, tau = positive("S"), positive("e"), count("tau")
u = S * e * tau


def sign(number: Ratio) -> r.Theorem:
    return r.assume(k.constant(number))


@pytest.mark.parametrize(
    ("number", "known"),
    [
        (1 - 2 * u, [1 - 4 * u]),
        (1 - 2 * S * e, [1 - 4 * u]),
        (1 - 3 * S**2 * e**2 * tau, [1 - 4 * u]),
        (2 - S * e - u**2, [1 - u]),
        (2 - 3 * u + u**2, [1 - u]),
        (tau**2 - 3 * tau + 2, [tau - 2]),
        ((1 - 2 * u) / (1 + S), [1 - 4 * u]),
    ],
)
def test_what_follows_is_shown(number: Ratio, known: list[Ratio]) -> None:
    facts = [sign(one) for one in known]
    theorem = shown(number, with_products(facts))
    assert theorem is not None
    assert theorem.form == k.constant(number)
    assert theorem.hypotheses <= {x for one in facts for x in one.hypotheses}


@pytest.mark.parametrize(
    ("number", "known"),
    [(1 - 8 * u, [1 - 4 * u]), (u - 1, [1 - u]), (1 - u, []), (1 - u**2, [2 - u])],
)
def test_what_does_not_follow_is_not_shown(number: Ratio, known: list[Ratio]) -> None:
    assert shown(number, with_products([sign(one) for one in known])) is None


SMALL = st.integers(-3, 3)


@given(st.tuples(SMALL, SMALL, SMALL), st.integers(1, 6))
def test_nothing_is_shown_that_is_false_somewhere(
    c: tuple[int, int, int], bound: int
) -> None:
    """A quadratic of u on [0, 1/bound]: shown only if it is >= 0 at the ends."""
    number = c[0] + c[1] * u + c[2] * u**2
    theorem = shown(ratio(number), with_products([sign(1 - bound * u)]))
    at = [Fraction(j, 16 * bound) for j in range(1, 17)]
    if any(c[0] + c[1] * x + c[2] * x * x < 0 for x in at):
        assert theorem is None


@given(st.lists(st.tuples(SMALL, SMALL, SMALL), min_size=1, max_size=5))
def test_active_sets_find_what_has_a_solution(rows: list[tuple[int, int, int]]) -> None:
    """b = a x + s with x, s >= 0 leaves no rest, and no factor is negative."""
    a = np.array(rows, dtype=float)
    b = a @ np.array([1.0, 0.0, 2.0]) + np.arange(len(a))
    x = least_excess(a, b)
    assert (x >= 0).all()
    assert np.abs(a @ x[:3] + x[3:] - b).max() <= 1e-6 * (1 + np.abs(b).max())


@pytest.mark.parametrize(
    "name",
    ["huang2023/thm-1--2", "han2024/thm-3.6/general_convex/no-bounded-gradients"],
)
def test_a_derivation_without_targets_proves_more(name: str) -> None:
    """What it gave away is a number, and nothing else changes."""
    by = PARTS[name].by
    theorem = by.theorem()  # type: ignore[union-attr]
    more = sharpened(theorem)
    given_away = theorem.form - more.form
    assert given_away
    assert given_away.coefficients.keys() == {k.UNIT}
    assert more.hypotheses <= theorem.hypotheses
