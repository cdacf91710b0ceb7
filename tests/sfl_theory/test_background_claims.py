"""App. C, assumptions, boxes, conditions, tables and text of han2024: decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest

from sfl_theory.audits.han2024 import (
    algorithm_boxes,
    assumptions,
    refuted_boxes,
    refuted_comparisons,
    refuted_text,
    tables,
    text_bounds,
    unrolled_recursion,
)
from sfl_theory.audits.han2024 import appendix_c_steps as steps
from sfl_theory.audits.han2024.appendix_c_steps import FIRST, SECOND
from sfl_theory.audits.han2024.background_claims import CLAIMS
from sfl_theory.audits.han2024.conditions import (
    first_rounds,
    largest_general_convex_rate,
    later_rounds,
    of_lemmas_c6_and_c7,
)
from sfl_theory.audits.han2024.lazy_proofs import Several, proof
from sfl_theory.evidence.certificate import Certificate, Rejected, check
from sfl_theory.evidence.claim import Open, Proof, Refutation
from sfl_theory.evidence.instance import replay
from sfl_theory.evidence.ledger import decide

OPEN = {
    "table-2/mini-batch-sgd",
    "table-2/fl-10",
    "table-2/sl",
    "table-3/sgd/strongly_convex",
    "table-4/aggregation",
    "text/sec-4.1/tau",
}
PROVED = {
    "app-C.4/smooth-mean", "eq-2", "eq-33", "eq-34", "eq-38", "eq-39", "eq-41",
    "eq-43", "eq-44", "eq-3/unbiased", "text/sec-2.2/fl", "text/app-H.2/order",
    "assumption-3.1", "assumption-3.2", "assumption-3.3", "assumption-3.4",
    "assumption-C.1", "assumption-C.2", "assumption-C.2/strongly_convex",
    "assumption-3.3/ball", "assumption-3.2/variance", "assumption-3.4/divergence",
    *(f"cond-{number}/non_convex" for number in ("3.6", "3.7", "3.8", "3.9")),
    *(f"table-1/{number}/strongly_convex" for number in ("3.6", "3.7", "3.8", "3.9")),
    "eq-3/unbiased/weights", "text/rate/non_convex", "text/heterogeneity/convex",
    "text/v1-v2/non_convex", "text/learning-rate/tau", "text/learning-rate/constant",
    "table-4/communication",
    *(f"table-{t}/{n}/strongly_convex" for t in (2, 3) for n in ("3.6", "3.7")),
    "table-4/total", "table-4/time", "table-4/order", "text/rate/strongly_convex",
    "text/rate/general_convex", "text/heterogeneity/non_convex",
    "text/participation/decreases", "text/participation/worsens",
    "text/v1-v2/strongly_convex",
}  # fmt: skip
NUMBERS = ("3.6", "3.7", "3.8", "3.9")


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_the_status_is_the_one_meant(claim) -> None:
    name = claim.id.removeprefix("han2024/")
    meant = "unproved" if name in OPEN else "proved" if name in PROVED else "refuted"
    kind = {"unproved": Open, "proved": Proof, "refuted": Refutation}[meant]
    assert isinstance(claim.evidence, kind)
    outcome = decide(claim.id, claim.evidence)
    assert outcome.status == meant, outcome.lines
    if claim.repair is not None:
        repaired = decide(f"{claim.id}#repair", claim.repair.evidence)
        assert repaired.status == "proved", repaired.lines


def test_ids_are_distinct() -> None:
    names = [claim.id for claim in CLAIMS]
    assert len(names) == len(set(names))


# What must be rejected


def worse(certificate: Certificate, factor: Fraction) -> Certificate:
    return replace(certificate, right=certificate.right * factor)


ONE_SIDED: list[Callable[[], Certificate]] = [
    partial(steps.recursion, "c", FIRST),
    partial(steps.recursion, "c", SECOND),
    partial(steps.split, "c", FIRST),
    partial(steps.condition_used, "c", SECOND),
    partial(unrolled_recursion.unrolled, "c", FIRST),
    partial(assumptions.smooth, "c"),
    partial(assumptions.lipschitz, "c"),
    partial(assumptions.bounded_gradients, "c"),
    partial(assumptions.divergence_follows, "c"),
    lambda: assumptions.steps_stay("c")[0],
    lambda: later_rounds("c")[0],
    lambda: text_bounds.general_convex_rate("c")[0],
    lambda: tables.totals("c")[0],
    lambda: text_bounds.replaced_weights("c")[0],
    lambda: algorithm_boxes.offsets_bias("c")[0],
    lambda: algorithm_boxes.offsets_weights("c")[0],
]


@pytest.mark.parametrize("build", ONE_SIDED)
def test_a_certificate_of_something_smaller_is_rejected(build) -> None:
    check(build(), "c")
    with pytest.raises((Rejected, ValueError)):
        check(worse(build(), Fraction(1, 2)), "c")


def test_a_dropped_assumption_is_rejected() -> None:
    whole = steps.recursion("c", FIRST)
    for k in range(1, len(whole.uses)):
        fewer = replace(whole, uses=whole.uses[:k] + whole.uses[k + 1 :])
        with pytest.raises(Rejected):
            check(fewer, "c")


def test_the_factor_n_of_the_row_is_not_proved_away() -> None:
    """SFL-V1's row exceeds its theorem by N, which no constant bounds."""
    with pytest.raises(Rejected):
        check(tables.row_is_lower_bound("c", "3.6"), "c")


@pytest.mark.parametrize("number", ["3.6", "3.8", "3.9"])
def test_a_row_for_all_weights_needs_a_constant_and_the_weights(number: str) -> None:
    whole = tables.row_for_all_weights("c", number)
    check(whole, "c")
    with pytest.raises(Rejected):
        check(worse(whole, Fraction(1, 100)), "c")
    total = tables.WEIGHTS if number == "3.6" else tables.WEIGHTED
    values = {k: v for k, v in whole.domain.values.items() if k != total}
    free = (*whole.domain.free, total)
    domain = replace(whole.domain, values=values, free=free)
    with pytest.raises(Rejected):
        check(replace(whole, domain=domain), "c")


def test_order_one_over_t_needs_variance() -> None:
    lower = text_bounds.strongly_convex_rate("c")[1]
    with pytest.raises((Rejected, ValueError)):
        check(replace(lower, domain=text_bounds.constants(zero=True)), "c")


@pytest.mark.parametrize(
    ("build", "constant_parts"),
    [
        # initial terms, and the drift of the convex cases, hold neither q nor epsilon
        (text_bounds.decreases_in_participation, 10),
        (text_bounds.participation_worsens, 10),
        (text_bounds.increases_in_divergence, 4),
        (text_bounds.increases_in_gradients, 8),
        # the first term, and (13)' <= 2 (16) for the second, are equalities
        (text_bounds.replaced_weights_non_convex, 2),
    ],
)
def test_a_certificate_of_change_is_no_identity(build, constant_parts: int) -> None:
    same = [c for c in build("c") if c.domain.zero(c.right - c.left)]
    assert len(same) == constant_parts


def test_a_wrong_count_of_certificates_earns_nothing() -> None:
    short = proof("x", "words", Several(of_lemmas_c6_and_c7, 1))
    assert decide("han2024/x", short).status == "unproved"


@pytest.mark.parametrize(
    "instance",
    [
        partial(refuted_boxes.clock_of_algorithm_1, 1),
        partial(refuted_boxes.visits_of_algorithm_2, 1),
        partial(refuted_boxes.objective_of_algorithm_2, Fraction(1, 2)),
        partial(refuted_text.non_convex_rate, "3.6", 100),
        partial(first_rounds, "3.6", 3),
    ],
)
def test_where_the_claim_holds_nothing_is_refuted(instance) -> None:
    with pytest.raises(Rejected, match=r"no violation|breaks"):
        replay(instance())


@pytest.mark.parametrize(
    "instance",
    [
        refuted_boxes.steps_of_algorithm_1,
        refuted_comparisons.federated_row,
        partial(largest_general_convex_rate, "3.6"),
        refuted_text.constant_rate_stalls,
    ],
)
def test_an_instance_that_breaks_an_assumption_is_rejected(instance) -> None:
    finding = instance()
    first, *rest = finding.checks
    with pytest.raises(Rejected, match="breaks"):
        replay(replace(finding, checks=(replace(first, passed=False), *rest)))
