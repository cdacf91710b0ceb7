"""A fact that names an earlier step is that step's conclusion, symbol by symbol.

The checker sees one certificate at a time. These tests tie the chains of ``han2024``
together: what a later certificate takes from an earlier one is what that one proved.
"""

from __future__ import annotations

import pytest
import sympy as sp

from sfl_theory import symbols, theorem
from sfl_theory.audits.han2024 import (
    convex,
    non_convex_v1,
    non_convex_v2,
    repairs,
    telescoping,
)
from sfl_theory.evidence.certificate import Certificate, Fact, atom

S, mu, eta, tau = convex.S, convex.mu, convex.eta, convex.tau
gamma, t, v = convex.gamma, convex.t, convex.v


def conclusion(certificate: Certificate) -> sp.Expr:
    """Return what was shown to be non-negative."""
    return certificate.right - certificate.left


def taken(certificate: Certificate, hypothesis: str) -> Fact:
    """Return the one fact that rests on an earlier step."""
    (fact,) = [f for f, _ in certificate.uses if f.hypothesis == hypothesis]
    return fact


def same(one: sp.Expr, other: sp.Expr) -> bool:
    return sp.simplify(sp.expand(one - other)) == 0


@pytest.mark.parametrize("first", [True, False])
def test_induction_takes_the_round_at_the_printed_rate(first: bool) -> None:
    """One round at eta tau = 4/(mu (gamma + t)) is what the induction step uses."""
    step = convex.induction("x", first)
    proved = conclusion(convex.one_round("x")).subs(eta, 4 / (mu * tau * (gamma + t)))
    assert same(taken(step, convex.ROUND).expr, proved)


def test_induction_steps_chain() -> None:
    """Base and step conclude, shifted by one round, the hypothesis of the next."""
    hypothesis = taken(convex.induction("x", False), convex.INDUCTION).expr
    start = conclusion(convex.base("x"))
    at_zero = hypothesis.subs({t: 0, atom("Delta_t"): atom("Delta_0")})
    assert same(start, at_zero)
    step = conclusion(convex.induction("x", False))
    shifted = hypothesis.subs({t: t + 1, atom("Delta_t"): atom("Delta_t+1")})
    assert same(step, shifted)
    end = convex.strongly_convex_end("x", repairs.strongly_convex_right)
    at_end = hypothesis.subs(atom("Delta_t"), atom("Delta_T")).subs(v, atom("v"))
    assert same(taken(end, convex.INDUCTION).expr, at_end)


def test_v_is_one_number_in_every_step() -> None:
    """v = max(b1 + b2/(gamma+1), (gamma+1) Delta_0): each step uses its half of it."""
    domain = convex.induction("x", False).domain
    b1, b2 = convex._noise()
    least = b1 + b2 / (gamma + 1)
    extra = (set(domain.values[v].free_symbols) & set(domain.free)).pop()
    assert same(domain.values[v], least + extra)
    assert extra.is_nonnegative
    start = taken(convex.base("x"), convex.DEFINITION).expr
    assert same(start, v - (gamma + 1) * atom("Delta_0"))
    end = convex.strongly_convex_end("x", repairs.strongly_convex_right)
    largest = least + (gamma + 1) * convex.delta0 - atom("v")
    assert same(taken(end, convex.DEFINITION).expr, largest)
    prop = convex.decomposition("x")
    ends = {"f(x^T)": atom("f(x^T)"), "f(x*)": atom("f(x*)")}
    assert same(prop.left, ends["f(x^T)"] - ends["f(x*)"])


def test_general_convex_sum_is_the_sum_of_rounds() -> None:
    """Summing the round with mu = 0 gives the telescoped fact, term by term."""
    gap = conclusion(convex.one_round("x")).subs(mu, 0)
    end = convex.general_convex_end("x", repairs.general_convex_right)
    fact = taken(end, convex.ROUND).expr
    squares, cubes = sp.symbols("E2 E3", positive=True)
    # sum over t: Delta_t - Delta_t+1 telescopes; eta gap, eta^2, eta^3 are summed
    summed = gap.subs({
        atom("Delta_t"): convex.delta0,
        atom("Delta_t+1"): atom("Delta_T"),
        atom("gap_t"): atom("sum eta gap") / eta,
    })
    summed = sp.expand(summed)
    parts = sum(
        summed.coeff(eta, power) * value
        for power, value in ((0, 1), (2, squares), (3, cubes))
    )
    assert same(fact, parts)


@pytest.mark.parametrize("number", ["3.6", "3.8"])
def test_non_convex_sum_is_the_sum_of_rounds(number: str) -> None:
    """(13), (19): the summed round has the constant that one round was proved with."""
    is_partial = number == "3.8"
    bound = theorem(number).case("non_convex").printed
    summed = taken(
        repairs.non_convex_v1_sum("x", bound, is_partial), telescoping.ROUND
    ).expr
    W, N = telescoping.W, symbols.N
    names = {
        non_convex_v1.tau: symbols.tau,
        non_convex_v1.tau_server: symbols.tau_server,
        non_convex_v1.S: symbols.S,
    }
    for domain in non_convex_v1.domains():
        one = non_convex_v1.one_round(domain, "x", is_partial)
        constant = sp.expand(one.right.subs({a: 0 for a in atoms_of(one.right)}))
        # sigma_w + kappa eps^2 = N sum a_n^2/q_n (sigma_n^2 + eps^2) = N W
        per_round = constant.subs({
            non_convex_v1.sigma_w: N * W - non_convex_v1.kappa * non_convex_v1.eps2
        }).xreplace(names)
        per_round = sp.expand(per_round / non_convex_v1.eta**2)
        assert same(sp.expand(summed).coeff(telescoping.squares, 1), per_round)


def test_v2_sum_is_the_sum_of_rounds() -> None:
    """The repaired (16): the summed round has the constant of the proved one."""
    one = non_convex_v2.one_round("x")
    constant = one.right.subs({a: 0 for a in atoms_of(one.right)})
    names = {
        non_convex_v2.S: symbols.S,
        non_convex_v2.tau: symbols.tau,
        non_convex_v2.sigma_2: telescoping.W,
        non_convex_v2.sigma_a: telescoping.c,
        non_convex_v2.eps2: symbols.epsilon**2,
    }
    per_round = sp.expand(constant / non_convex_v2.eta**2).xreplace(names)
    summed = taken(repairs.non_convex_v2_sum("x"), telescoping.ROUND).expr
    assert same(sp.expand(summed).coeff(telescoping.squares, 1), per_round)


def atoms_of(expr: sp.Expr) -> set[sp.Symbol]:
    """Return the atoms in an expression (parameters are not atoms)."""
    return expr.atoms(type(atom("x")))
