"""Witnesses of SFL-V2 visit by visit, and quadratic forms as squares."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
import sympy as sp

from sfl_theory.audits.han2024.appendix_c_steps import SECOND, recursion
from sfl_theory.audits.han2024.equations import non_convex_blocks, non_convex_visits
from sfl_theory.evidence.certificate import Certificate, check, norm2, vectors
from sfl_theory.evidence.domain import Domain, free
from sfl_theory.mutation import visited_blocks, visited_rounds
from sfl_theory.mutation.as_squares import in_squares, semidefinite
from sfl_theory.mutation.operators import mutants
from sfl_theory.mutation.prover import Prover
from sfl_theory.mutation.visited_blocks import in_turn

ONE, HALF = Fraction(1), Fraction(1, 2)


def enumerated(
    q: tuple[Fraction, ...], c: Fraction, b: tuple[Fraction, ...], p: int, s: Fraction
) -> tuple[Fraction, Fraction, Fraction]:
    """Return E x', E x'^2 and D of two equal clients, every outcome on its own."""
    eta, mean, square, drift = Fraction(1, 10), Fraction(0), Fraction(0), Fraction(0)
    for present in product((0, 1), repeat=2):
        for signs in product((-1, 1), repeat=2 * p):
            chance = Fraction(1, 4**p)
            x, draws = Fraction(0), iter(signs)
            for n, comes in enumerate(present):
                chance *= q[n] if comes else 1 - q[n]
                for _ in range(p):
                    sign = next(draws)
                    if comes:
                        w = HALF / q[n]
                        drift += _probability(present, q, p) * w * x**2
                        x -= eta * w * (c * x - b[n] + sign * s)
            mean, square = mean + chance * x, square + chance * x**2
    return mean, square, drift


def _probability(present: tuple[int, ...], q: tuple[Fraction, ...], p: int) -> Fraction:
    chance = Fraction(1, 4**p)
    for comes, r in zip(present, q, strict=True):
        chance *= r if comes else 1 - r
    return chance


@pytest.mark.parametrize("q", [(ONE, ONE), (HALF, ONE), (HALF, Fraction(1, 3))])
@pytest.mark.parametrize("c", [Fraction(0), ONE, -ONE])
def test_moments_in_turn_are_those_of_all_outcomes(
    q: tuple[Fraction, ...], c: Fraction
) -> None:
    b, s = (ONE, Fraction(-2)), Fraction(1, 3)
    found = in_turn((HALF, HALF), q, c, b, (s, s), 2, Fraction(1, 10))
    assert (found.mean, found.square, found.drift) == enumerated(q, c, b, 2, s)


@pytest.mark.parametrize("c", [ONE, -ONE])
def test_many_visits_are_summed_as_few_are_followed(c: Fraction) -> None:
    """Nine visits by geometric sums are one more step after eight."""
    eta, one = Fraction(1, 100), (ONE,)
    nine, eight = (in_turn(one, one, c, one, one, p, eta) for p in (9, 8))
    kept = 1 - eta * c
    variance = (eight.square - eight.mean**2) * kept**2 + eta**2
    assert nine.mean == kept * eight.mean + eta
    assert nine.square == nine.mean**2 + variance


def test_rotated_steps_are_the_coupled_ones() -> None:
    g, G, c, m, eta = ONE, Fraction(3), Fraction(2), 3, Fraction(1, 50)
    u = v = Fraction(0)
    for _ in range(7):
        u, v = u - eta * (g + c * v), v - eta * m**2 * (G + c * u)
    assert visited_blocks._rotated(g, G, c, m, 7, eta) == u


def test_a_fixed_point_is_fixed() -> None:
    """The run that stays where it is: its round ends at its start."""
    a, q, S, p = (HALF, HALF), (ONE, ONE), ONE, 8
    eta = 1 / (8 * S * p)
    still, tilted = (
        in_turn(a, q, S, (2 - g, -2 - g), (0 * ONE, 0 * ONE), p, eta).mean
        for g in (Fraction(0), ONE)
    )
    g = still / (still - tilted)
    zero = (0 * ONE, 0 * ONE)
    assert g != 0
    assert in_turn(a, q, S, (2 - g, -2 - g), zero, p, eta).mean == 0


@pytest.mark.long
def test_every_witness_states_what_it_assumes() -> None:
    certificate = recursion("any", SECOND)
    for source in (
        visited_blocks.of_v2, visited_blocks.of_partial_v2, visited_rounds.one,
    ):  # fmt: skip
        for witness in source(certificate, ""):
            assert all(found.passed for found in witness.checks.values()), witness.setup


def test_a_form_is_written_as_squares() -> None:
    u, v = vectors("u v")
    k = free("k")[0]
    domain = Domain("k >= 0", {}, (k,))
    right = (2 + k) * norm2(u) + norm2(v)
    for cross, possible in ((1, True), (2, False)):
        left = -cross * (norm2(u + v) - norm2(u) - norm2(v))
        stated = Certificate("any", left, right, (), domain)
        found = in_squares(stated)
        assert (found is not None) is possible
        if found is not None:
            check(found, "any")


def test_semidefinite_is_decided_exactly() -> None:
    almost = Fraction(1) - Fraction(1, 10**30)
    form = {("u", "u"): ONE, ("v", "v"): almost, ("u", "v"): ONE, ("v", "u"): ONE}
    assert not semidefinite(["u", "v"], form)
    assert semidefinite(["u", "v"], {**form, ("v", "v"): ONE})
    assert not semidefinite(["u", "v"], {("u", "v"): ONE, ("v", "u"): ONE})


def test_other_atoms_are_no_form() -> None:
    domain = Domain("nothing", {}, ())
    stated = Certificate("any", sp.Integer(0), sp.Integer(1), (), domain)
    assert in_squares(stated) is not None


def test_twice_the_rate_follows_only_from_twice_the_rate() -> None:
    original = non_convex_blocks.drift("any", "v2")
    doubled = next(m for m in mutants(original) if m.operator == "step size doubled")
    for times, proof in ((1, ""), (2, "a sharper statement")):
        sharper = non_convex_visits.drift("any", "v2", times)
        assert Prover(original, (sharper,)).proof(doubled) == proof


def test_a_larger_left_side_is_no_sharper_statement() -> None:
    """With the noise of a step ten times as large nothing proves (44)."""
    original = recursion("any", SECOND)
    found = [m for m in mutants(original) if "<xi^{i-1},xi^{i-1}>" in m.change]
    assert found
    for mutant in found:
        left = original.left + 10 * (mutant.certificate.left - original.left)
        changed = replace(mutant.certificate, left=left)
        assert not Prover(original).proof(replace(mutant, certificate=changed))
