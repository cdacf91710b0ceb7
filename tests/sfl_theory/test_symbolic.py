"""The library's formulas are made of the statements' terms, never beside them."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from sfl_theory import symbols
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form, Number
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024 import versions
from sfl_theory.papers.huang2023 import linear_speedup
from sfl_theory.papers.huang2023 import section_3_rates as joint
from sfl_theory.papers.li2020 import section_3
from sfl_theory.symbolic import expression, named, summands

POINT = {
    s.S: (symbols.S, Fraction(7, 3)),
    s.mu: (symbols.mu, Fraction(2, 5)),
    s.T: (symbols.T, Fraction(4)),
}
NAMES = named({one: symbol for one, (symbol, _) in POINT.items()})
positive = st.recursive(
    st.sampled_from([*POINT])
    | st.fractions(Fraction(1, 9), 9, max_denominator=9).map(w.number),
    lambda inside: st.one_of(
        st.builds(lambda x, y: x + y, inside, inside),
        st.builds(lambda x, y: x * y, inside, inside),
        st.builds(lambda x, y: x / y, inside, inside),
        st.builds(lambda x, power: x**power, inside, st.integers(1, 3)),
        st.builds(lambda x: w.called(x, "c"), inside),
    ),
    max_leaves=8,
)
numbers = st.builds(lambda x, y, z: x - y * z + 1, positive, positive, positive)


@given(one=numbers)
@settings(max_examples=150, deadline=None)
def test_an_expression_is_the_term(one: Number) -> None:
    """Both are exact, so at a point they are the same fraction."""
    at = {w.variable(name): ratio(value) for name, (_, value) in POINT.items()}
    here = {symbol: sp.Rational(value) for symbol, value in POINT.values()}
    found = expression(w.as_form(one), NAMES).subs(here)
    assert not k.number_at(one.value, at) - Fraction(int(found.p), int(found.q))


def test_sums_are_over_clients_and_rounds() -> None:
    each = w.over_clients(s.n, s.a() ** 2 * (w.inverse_chance(s.n) - 1))
    a, q, eta = symbols.a[symbols.n], symbols.q[symbols.n], symbols.eta(symbols.t)
    assert expression(each, versions.PARAMETERS) == symbols.over_clients(
        a**2 * (1 - q) / q
    )
    rates = w.below(s.t, s.T, s.eta() ** 3)
    assert expression(rates, versions.PARAMETERS) == symbols.over_rounds(eta**3)


def test_what_has_no_symbol_is_refused() -> None:
    with pytest.raises(ValueError, match="tau has no symbol"):
        expression(s.S + s.tau, NAMES)
    with pytest.raises(ValueError, match=r"E.* has no symbol"):
        expression(s.f.gap(w.point("x")) * s.S, NAMES)
    for text in ("S + 1", 0.5, symbols.S):
        with pytest.raises(ValueError, match="is no number as it was written"):
            expression(text, NAMES)


STATEMENTS = {
    "joint": joint.joint_bound(),
    "theorem 1": joint.theorem_1(joint.all_steps, joint.E * joint.M),
    **{
        f"huang {what}": part.says.right for what, part in linear_speedup.BOUNDS.items()
    },
    "li2020": section_3.THEOREM_1.parts[0].says.right,
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_terms_add_up_to_the_right_side(name: str) -> None:
    """As the kernel's terms: what is evaluated part by part is what is decided."""
    right: Form = STATEMENTS[name]
    terms = summands(right)
    assert len(terms) > 1
    total = k.Lin({})
    for term in terms:
        total = total + term.value
    assert not total - right.value


def test_parameters_are_told_apart() -> None:
    """No symbol stands for a number; two terms that share one are one thing."""
    constants = {one.value for one in map(w.number, range(-1, 3))}
    assert not constants & versions.PARAMETERS.keys()
    shared = [*versions.PARAMETERS.values()]
    twice = {symbol for symbol in shared if shared.count(symbol) > 1}
    assert twice == {symbols.S, symbols.tau_server}
