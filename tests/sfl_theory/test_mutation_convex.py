"""Witnesses of the convex cases: their moments are those of enumerated outcomes."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from sfl_theory.audits import LEDGER
from sfl_theory.mutation import (
    averaged_rounds,
    convex_rounds,
    inductions,
    judge,
    last_iterate,
    statements,
    two_sided_rounds,
)
from sfl_theory.mutation.convex_rounds import Round

ONE = Fraction(1)
NUMBERS = ("3.6", "3.7", "3.8", "3.9")
ROUNDS = (
    Round(Fraction(2), Fraction(1, 3), 3, Fraction(1, 4), Fraction(1, 2)),
    Round(Fraction(1), Fraction(5), 2, Fraction(3, 2), Fraction(1, 3)),
    Round(Fraction(2), Fraction(1), 2, Fraction(1, 4), ONE, Fraction(-3)),
)


def outcomes(one: Round, u: Fraction):
    """Yield chance, local points, sum of gradients and the next iterate."""
    for present, signs in product((1, 0), product((1, -1), repeat=one.steps)):
        chance = (one.q if present else 1 - one.q) / 2**one.steps
        point, points, total = u, [], Fraction(0)
        for sign in signs:
            points.append(point)
            gradient = one.k * one.c * point + sign * one.s
            total += gradient
            point -= one.eta * gradient
        weight = present / one.q
        yield chance, points, weight, total, u - one.eta * weight * total


@pytest.mark.parametrize("one", ROUNDS)
def test_moments_of_a_round_are_those_of_its_outcomes(one: Round) -> None:
    for u in (Fraction(0), ONE, Fraction(-7, 3)):
        runs = list(outcomes(one, u))
        P, Q, D, after = one.moments(u**2)
        assert sum(p * w * H * u for p, _, w, H, _ in runs) == P
        assert sum(p * (w * H) ** 2 for p, _, w, H, _ in runs) == Q
        assert sum(p * w * sum((x - u) ** 2 for x in xs) for p, xs, w, *_ in runs) == D
        assert after == sum(p * end**2 for p, *_, end in runs)
        local, furthest = one.reach(abs(u))
        assert local >= max(abs(x) for _, xs, *_ in runs for x in xs)
        assert furthest >= max(abs(end) for *_, end in runs)


def test_the_chain_of_coins_is_that_of_its_paths() -> None:
    """Gradients +-G with the slope as their mean, over four rounds."""
    G, eta = Fraction(2), Fraction(1, 3)
    run = averaged_rounds._coin(G, eta, 4)
    cap, y = Fraction(1, 5), Fraction(1, 6)
    states = {(): ONE}
    for gap in run.gaps:
        expected, later = Fraction(0), {}
        for path, chance in states.items():
            u = eta * G * sum(path)
            slope = max(-cap * G, min(cap * G, run.S * u))
            value = abs(u) * cap * G - (cap * G) ** 2 / (2 * run.S)
            inside = abs(slope) < cap * G
            expected += chance * (run.S * u**2 / 2 if inside else value)
            up = (1 - slope / G) / 2
            assert up * -G + (1 - up) * G == slope
            later[*path, 1], later[*path, -1] = chance * up, chance * (1 - up)
        assert gap == expected
        states = later
    assert y / eta == run.S


def test_two_clients_apart_are_those_of_who_comes() -> None:
    S, b, steps, eta = ONE / 8, Fraction(2), 2, Fraction(1, 2)
    run = averaged_rounds._apart(S, b, steps, eta)
    q, side = Fraction(1, 10), b / S
    kept = (1 - eta / steps * S) ** steps
    states = {Fraction(0): ONE}
    for gap in run.gaps[:4]:
        assert gap == sum(p * S / 2 * u**2 for u, p in states.items())
        later: dict[Fraction, Fraction] = {}
        for u, p in states.items():
            assert (abs(S * u) + b) ** 2 <= run.G2
            ends = [c + kept * (u - c) for c in (side, -side)]
            for who in product((0, 1), repeat=2):
                end = u - sum(
                    i / q / 2 * (u - e) for i, e in zip(who, ends, strict=True)
                )
                chance = p
                for i in who:
                    chance *= q if i else 1 - q
                later[end] = later.get(end, Fraction(0)) + chance
        states = later


@pytest.mark.parametrize(
    ("source", "without"),
    [
        (convex_rounds.any_constants, ""),
        (convex_rounds.two_periods, ""),
        (last_iterate.of_one_client, ""),
        (averaged_rounds.of_gaps, ""),
        (two_sided_rounds.descent, ""),
    ],
)
def test_checks_of_a_source_pass(source, without: str) -> None:
    """Nothing is planted where no hypothesis is removed."""
    made = list(source(None, without))
    assert len(made) > 50
    for witness in made:
        failed = [c for c in witness.checks.values() if not c.passed]
        assert not failed, (witness.setup, failed)


def test_a_removed_minimiser_lets_iterates_go_away_from_x() -> None:
    certificate = type("Any", (), {"hypotheses": ()})
    found = list(inductions.of_distances(certificate, "x* minimises f"))
    away = [w for w in found if "x* = " in w.setup]
    assert away
    assert all(w.atoms["gap_t"] < 0 for w in away)
    assert all(w.atoms["Delta_t+1"] > w.atoms["Delta_t"] for w in away)


@pytest.mark.parametrize(
    ("claim", "words", "undecided"),
    [
        ("thm-3.6/strongly_convex", "the bound with c_1", 0),
        ("thm-3.6/strongly_convex", "printed in Theorem 3.6", 0),
        ("thm-3.9/strongly_convex", "the bound with c_1", 0),
        ("thm-3.6/general_convex", "Delta_t+1 <= (1 - eta tau mu/2)", 0),
    ],
)
def test_verdicts_that_were_undecided(claim: str, words: str, undecided: int) -> None:
    found = [
        verdict.verdict
        for statement in statements([LEDGER.claim(f"han2024/{claim}")])
        if words in statement.pieces[0].statement
        for verdict in judge(statement)
    ]
    assert found
    assert found.count("undecided") == undecided
    assert "wrongly proved" not in found


def test_a_bound_at_the_constants_of_one_theorem_proves_none_of_another() -> None:
    """3.6 and 3.8 name their update alike; c_1 and c_d tell them apart."""
    claims = [LEDGER.claim(f"han2024/thm-{n}/strongly_convex") for n in NUMBERS]
    found = [
        (statement.claim, sharper.claim)
        for statement in statements(claims)
        if "the bound with c_1" in statement.pieces[0].statement
        for sharper in statement.sharper[0]
    ]
    assert {claim for claim, _ in found} == {f"{c.id}#repair" for c in claims}
    assert all(claim == other for claim, other in found)
