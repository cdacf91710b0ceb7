"""Worst rounds of SFL-V1: their moments are those of runs followed step by step."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from sfl_theory.audits import LEDGER
from sfl_theory.audits.han2024 import non_convex_sharper, non_convex_sums, non_convex_v1
from sfl_theory.audits.han2024.equations import (
    non_convex_merge,
    non_convex_v1_block,
    non_convex_v1_proofs,
)
from sfl_theory.evidence.certificate import Certificate, Rejected, check
from sfl_theory.mutation import judge, statements, stuck_runs, worst_rounds
from sfl_theory.mutation.kinks import Move, coupled, kicked, quadratic, tilted
from sfl_theory.registry import theorem

F = Fraction
ETA, STEPS = F(1, 40), 4


def followed(clients, move: Move, value) -> None:
    """Compare moments with those of every outcome of the noise.

    ``clients`` are pairs of a gradient and the noise of every step.
    """
    M = MM = MZ = ZZ = end = drift = change = F(0)
    outcomes = [list(product(*([s, -s] if s else [s] for s in n))) for _, n in clients]
    weight = F(1, len(list(product(*outcomes))))
    for drawn in product(*outcomes):
        ends, sums, noises = [], [], []
        for (gradient, _), noise in zip(clients, drawn, strict=True):
            y, total = F(0), F(0)
            for xi in noise:
                drift += weight * y**2 / len(clients)
                total += gradient(y)
                y -= ETA * (gradient(y) + xi)
            ends.append(y)
            sums.append(total)
            noises.append(sum(noise))
        m, z, y = (sum(v, F(0)) / len(clients) for v in (sums, noises, ends))
        assert y == -ETA * (m + z)
        M, end, change = M + weight * m, end + weight * y, change + weight * value(y)
        MM, MZ, ZZ = MM + weight * m**2, MZ + weight * m * z, ZZ + weight * z**2
    found = move.M, move.MM, move.MZ, move.ZZ, move.end, move.drift, move.change
    assert found == (M, MM, MZ, ZZ, end, drift, change)


@pytest.mark.parametrize("slope", [F(0), F(1, 30), F(1, 2)])
def test_clients_on_both_sides_of_a_kink(slope: Fraction) -> None:
    """The closed forms, and that no step leaves its side of the kink."""
    S, e = F(2), F(1)
    clients = [
        (lambda y, s=sign: slope + s * e - S * abs(y), [F(0)] * STEPS)
        for sign in (1, -1)
    ]
    move = tilted(S, slope, e, ETA, STEPS)
    followed(clients, move, lambda y: slope * y - S / 2 * y * abs(y))


@pytest.mark.parametrize("slope", [F(0), F(1, 30), F(5)])
def test_noise_in_the_first_step(slope: Fraction) -> None:
    """The two outcomes."""
    S, s = F(2), F(3)
    noise = [s] + [F(0)] * (STEPS - 1)
    clients = [(lambda y: slope - S * abs(y), noise)]
    move = kicked(S, slope, s, ETA, STEPS)
    followed(clients, move, lambda y: slope * y - S / 2 * y * abs(y))


def test_noise_in_every_step() -> None:
    """All outcomes of the signs."""
    c, g, s = F(-3), F(1, 2), F(2)
    clients = [(lambda y: g + c * y, [s] * STEPS)]
    followed(clients, quadratic(c, g, s, ETA, STEPS), lambda y: g * y + c / 2 * y**2)


def test_coupled_blocks() -> None:
    """One step by hand: y' = y - eta S z, z' = z - eta S y."""
    S = F(2)
    one, two = (coupled(S, F(1), F(4), ETA, p) for p in (1, 2))
    assert one.M == 1
    assert two.M == 1 + 1 - ETA * S * 4
    assert two.drift == (ETA * 4) ** 2 + ETA**2
    y, z = F(2) - ETA, F(1, 2) - ETA * 4
    assert one.change == S * (y * z - 1)


def test_a_round_that_ends_where_it_began() -> None:
    """The clients' moves cancel and the gradient that is left is positive."""
    found = list(stuck_runs.stuck(F(1), F(1), F(1, 128), 8))
    for witness in found:
        assert all(known.passed for known in witness.checks.values())
        rate = witness.parameters["sum_t<T eta^t^2"] / witness.parameters["T"]
        assert rate == F(1, 128) ** 2
        assert sum(witness.atoms.values()) > 0


def test_worst_rounds_meet_what_they_say() -> None:
    """Every check is passed, unless a hypothesis is dropped on purpose."""
    for witness in worst_rounds.both(None, ""):
        assert all(known.passed for known in witness.checks.values()), witness.setup
    for witness in worst_rounds.both(None, "every client takes part"):
        if "q = 1/1000" in witness.setup:
            assert not witness.checks["everyone takes part"].passed


PRINTED = theorem("3.6").case("non_convex").printed
SHARPER = (
    lambda: non_convex_v1.one_round(non_convex_v1.domains()[0], "x", True, True),
    lambda: non_convex_v1.one_round(non_convex_v1.domains()[3], "x", False, True),
    lambda: non_convex_v1_proofs.proof_86("x", "").sharper[0](),
    lambda: non_convex_v1_proofs.proof_87("x", "").sharper[0](),
    lambda: non_convex_v1_proofs.proof_154("x", "y", "").sharper[-1](),
    lambda: non_convex_v1_block.inner_product_end("x"),
    lambda: non_convex_v1_block.square_end("x", fast=False),
    lambda: non_convex_v1_block.square_end("x", fast=True),
    lambda: non_convex_sharper.v1_sum(
        "x", PRINTED, False, non_convex_sums.SAME, ("c", "s")
    ),
)


@pytest.mark.parametrize("build", SHARPER)
def test_more_is_true_but_not_anything(build) -> None:
    """Accepted as it stands, rejected with a sixteenth of the noise."""
    good: Certificate = build()
    check(good, "x")
    parts = good.right.expand().as_ordered_terms()
    noise = sum(part for part in parts if {"sigma_w", "sigma"} & names(part))
    with pytest.raises(Rejected):
        check(replace(good, right=good.right - 15 * noise / 16), "x")


def names(expr) -> set[str]:
    """Return the names of the symbols of an expression."""
    return {str(symbol) for symbol in expr.free_symbols}


def test_full_participation_says_nothing_of_absent_clients() -> None:
    """A round in which everyone takes part proves no mutant of Theorem 3.8."""
    claims = [LEDGER.claim(f"han2024/thm-{k}/non_convex") for k in ("3.6", "3.8")]
    for statement in statements(claims):
        for piece, more in zip(statement.pieces, statement.sharper, strict=True):
            if non_convex_v1.EVERYONE not in piece.hypotheses:
                assert all(non_convex_v1.EVERYONE not in c.hypotheses for c in more)


def test_every_mutant_of_the_inner_product_is_refuted() -> None:
    """(78) repaired is sharp: no term of it can be halved."""
    (statement,) = statements([LEDGER.claim("han2024/eq-78")])
    assert {found.verdict for found in judge(statement)} == {"refuted"}


def test_pieces_are_those_of_the_theorem() -> None:
    """(87) is read on the domain of Theorem 3.6, piece by piece."""
    for (order, wide), domain in non_convex_v1_proofs.PARTIAL.items():
        found = non_convex_merge.piece(order, wide)
        assert found.words.startswith("tau >=" if order else "tau_server >=")
        assert (">= 2" in found.words) is wide
        assert found.values == domain.values
