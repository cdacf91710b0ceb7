"""(78)-(89) of han2024 and their counterparts: statuses, instances, mutants."""

from dataclasses import replace
from fractions import Fraction

import pytest

from sfl_theory.audits.han2024.equations import (
    non_convex_blocks,
    non_convex_conditions,
    non_convex_merge,
)
from sfl_theory.audits.han2024.equations.non_convex_claims import CLAIMS
from sfl_theory.audits.han2024.equations.non_convex_refuted_blocks import block_fails
from sfl_theory.audits.han2024.equations.non_convex_refuted_rounds import server_climbs
from sfl_theory.audits.han2024.equations.non_convex_sections import (
    SECTIONS,
    BlockBounds,
    descent_bound,
)
from sfl_theory.audits.han2024.printed import Setting
from sfl_theory.evidence.certificate import Rejected, check, norm2
from sfl_theory.evidence.instance import replay
from sfl_theory.evidence.kernel import value
from sfl_theory.evidence.ledger import decide

PROVED = {
    *(f"eq-{k}" for k in (86, 87, 88, 89, 153, 154, 155)),
    *(f"cond-{letter}.3" for letter in "DEFG"),
}
NUMBERS = (*range(79, 90), *range(115, 126), *range(145, 156), *range(175, 186))


# Statuses


def test_every_numbered_equation_is_entered_once():
    names = [claim.id.removeprefix("han2024/") for claim in CLAIMS]
    assert sorted(names) == sorted(
        [f"eq-{k}" for k in NUMBERS]
        + [f"cond-{letter}.3" for letter in "DEFG"]
        + ["eq-87/lines"]
    )


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_status(claim):
    outcome = decide(claim.id, claim.evidence)
    name = claim.id.removeprefix("han2024/")
    assert outcome.status == ("proved" if name in PROVED else "refuted"), outcome.lines
    if claim.repair is not None:
        repaired = decide(f"{claim.id}#repair", claim.repair.evidence)
        assert repaired.status == "proved", repaired.lines


# Instances


def test_printed_right_sides_of_a_block():
    """The numbers beside the instances are (78)-(83) with S = 1, sigma = eps = 0."""
    N, eta, p, C, g2, sums = 3, Fraction(1, 7), 5, Fraction(2, 11), 13, Fraction(17)
    bounds = BlockBounds(N, eta, p, C, Fraction(g2))
    assert bounds.inner(sums) == -eta * p / 2 * g2 + N * eta / 2 * sums
    assert bounds.drift() == 2 * p**2 * (8 * p * eta**2 * g2)
    assert bounds.inner_end() == (-eta * p / 2 + 8 * N * eta**3 * p**3 * C) * g2
    assert bounds.square(sums) == N * eta**2 * p / 2 * (sums + C * p * g2)
    assert bounds.gradient_drift() == 8 * p**3 * eta**2 * g2
    by_clients = N * eta**2 * p / 2 * C * (p + 8 * p**3 * eta**2) * (2 * g2)
    assert bounds.square_end() == by_clients


@pytest.mark.parametrize("letter", "EG")
def test_printed_right_side_of_one_round(letter):
    """(123) and (183) at two clients."""
    a, eta = (Fraction(1, 4), Fraction(3, 4)), Fraction(1, 1000)
    q = Fraction(1, 3) if letter == "G" else Fraction(1)
    setting = Setting(a, epsilon2=Fraction(2), sigma=Fraction(3), q=q, tau=5)
    noise = sum((x**2 + 1) / q * (3**2 + 2) for x in a)
    right = -eta * 5 / 4 * 7 + 2 * 2 * eta**2 * 25 * noise
    assert descent_bound(SECTIONS[letter], setting, eta, Fraction(7)) == right


@pytest.mark.parametrize("letter", "EG")
def test_equal_weights_do_not_break_one_round(letter):
    half = Fraction(1, 2)
    with pytest.raises(Rejected, match="no violation"):
        replay(server_climbs(letter, "descent", (half, half)))


@pytest.mark.parametrize("step", ["drift", "inner_end", "square", "square_end"])
def test_one_step_does_not_break_a_block(step):
    """Within one step no block feels the other: the lemmas hold there."""
    with pytest.raises(Rejected, match="no violation"):
        replay(block_fails("D", step, tau=1))


def test_a_rate_that_is_not_admitted_is_rejected():
    finding = block_fails("G", "inner")
    bad = [
        replace(one, passed=False) if "learning rate" in one.assumption else one
        for one in finding.checks
    ]
    with pytest.raises(Rejected, match="learning rate"):
        replay(replace(finding, checks=tuple(bad)))


# Mutants


def without(certificate, part):
    return replace(certificate, right=certificate.right - part)


@pytest.mark.parametrize("dropped", ["noise orthogonal", "gradients at local"])
def test_every_rule_of_the_merge_is_needed(dropped):
    """(86) without the bound of the noise, or of the local gradients."""
    good = non_convex_merge.blocks_together("x", True)
    check(good, "x")
    kept = tuple(use for use in good.uses if not use[0].name.startswith(dropped))
    assert len(kept) == len(good.uses) - 1
    with pytest.raises(Rejected, match="identity fails"):
        check(replace(good, uses=kept), "x")


@pytest.mark.parametrize("order", [True, False])
def test_a_faster_descent_is_rejected(order):
    """(87) with -eta tau_min/2 instead of -eta tau_min/4."""
    least = non_convex_merge.tau_server if order else non_convex_merge.tau
    good = non_convex_merge.descent("x", order, False)
    faster = non_convex_merge.eta * least / 4
    squares = tuple((vector, weight - faster) for vector, weight in good.squares)
    claimed = faster * sum(norm2(g) for g in non_convex_merge.GRADIENT)
    bad = replace(good, right=good.right - claimed, squares=squares)
    with pytest.raises(Rejected, match="weight"):
        check(bad, "x")


def test_a_forged_merge_is_not_used():
    """(87) rests on the certificate of (86), not on its words."""
    good = non_convex_merge.descent("x", True, True)
    ((fact, multiplier),) = good.uses
    forged = replace(fact, expr=fact.expr + value("f", "x"))
    with pytest.raises(Rejected, match="not what the earlier step proves"):
        check(replace(good, uses=((forged, multiplier),)), "x")


@pytest.mark.parametrize("kind", non_convex_blocks.KINDS)
def test_mutants_of_the_blocks(kind):
    S, eta, D = non_convex_blocks.S, non_convex_blocks.eta, non_convex_blocks.D
    first = non_convex_blocks.inner_product("x", kind)
    second = non_convex_blocks.drift("x", kind)
    for certificate, part in (
        (first, eta * S**2 / 4 * D),
        (second, second.right / 4 * 3),
        (non_convex_blocks.square("x"), non_convex_blocks.square("x").right / 2),
    ):
        check(certificate, "x")
        with pytest.raises(Rejected):
            check(without(certificate, part), "x")


def test_a_weaker_condition_does_not_suffice():
    good = non_convex_conditions.factor("x", sequential=False)
    check(good, "x")
    with pytest.raises(Rejected):
        check(replace(good, left=good.left + Fraction(1, 100)), "x")
