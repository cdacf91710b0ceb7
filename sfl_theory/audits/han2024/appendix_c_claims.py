"""Entries on the numbered equations of App. C.4 of ``han2024``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sfl_theory.audits.han2024 import appendix_c, appendix_c_sharper
from sfl_theory.audits.han2024 import appendix_c_steps as steps
from sfl_theory.audits.han2024 import unrolled_recursion as unrolled
from sfl_theory.audits.han2024.appendix_c_steps import FIRST, SECOND
from sfl_theory.audits.han2024.assumptions import mean_is_smooth
from sfl_theory.audits.han2024.lazy_proofs import Several, proof
from sfl_theory.audits.han2024.readings import LIPSCHITZ, PAPER
from sfl_theory.audits.han2024.refuted_lemmas import lemma_c7
from sfl_theory.audits.han2024.refuted_steps import (
    gradient_recursion,
    unrolled_is_no_equality,
)
from sfl_theory.evidence.claim import Paper, Refutation, Repair

C4 = "App. C.4"
LOCAL = Paper(
    PAPER,
    f"{LIPSCHITZ}; for the whole vector x_n and local steps on both blocks, i >= 1",
)
PLAIN = Paper(PAPER, "")
RATE = {38: "eta <= 1/(sqrt(6) S tau)", 43: "eta <= 1/(sqrt(8) S tau)"}
ENDS = {
    38: "12 tau^3 eta^2 (2 sigma_n^2 + G^2)",
    43: "2 tau^2 (8 tau eta^2 (sigma_n^2 + eps^2 + ||gradf(x^t)||^2))",
}
NOT_EQUAL = (
    "The first '=' is wrong: {0} is an inequality, so its unrolled form is one. The "
    "lemma's conclusion survives (see the repair and {1})."
)
SAMPLES = (
    "Stochastic gradients of different steps have different samples; smoothness of F_n "
    "does not make g_n Lipschitz."
)

PROPOSITION_3_5 = (
    PLAIN.claim(
        "app-C.4/smooth-mean",
        "App. C.4, proof of Proposition 3.5",
        "text",
        "Since the F_n are S-smooth, f is S-smooth (gradients, (24)).",
        proof("app-C.4/smooth-mean", "Jensen over clients.", mean_is_smooth),
    ),
    PLAIN.claim(
        "eq-33",
        "App. C.4, (33)",
        "equation",
        "E f(x^T) - f(x*) <= E<x^T - x*, gradf(x*)> + S/2 E||x^T - x*||^2 = "
        "S/2 E||x^T - x*||^2",
        proof("eq-33", "Smoothness from x*, where gradf = 0.", steps.global_smoothness),
        "app-C.4/smooth-mean",
    ),
    PLAIN.claim(
        "eq-34",
        "App. C.4, (34)",
        "equation",
        "E||x^T - x*||^2 = E||x_c^T - x_c*||^2 + E||x_s^T - x_s*||^2",
        proof("eq-34", "Blocks are orthogonal.", Several(steps.blocks_add_up, 2)),
    ),
)


def _recursion(
    step: steps.LocalStep, chain: int, lemma: str, constant: str
) -> tuple[Any, ...]:
    """Return the entries of one local step, its recursion and the sum unrolled."""
    links: list[Callable[[str], Any] | Several] = [
        partial(steps.split, step=step),
        partial(steps.assumptions_put_in, step=step),
    ]
    if step is FIRST:
        links += [steps.collected]
    links.append(partial(steps.condition_used, step=step))
    if step is FIRST:
        links.append(Several(steps.second_moments, 2))
    after = f"eq-{chain + 1}"
    last = f"eq-{chain + 2}"
    closed = Several(partial(unrolled.closed, step=step), 3)
    bound = ENDS[chain]
    ends = [closed] if step is SECOND else []
    return (
        LOCAL.claim(
            f"eq-{chain}",
            f"{C4}, ({chain})",
            "equation",
            f"{RATE[chain]} implies, inequality by inequality, E||x_n^t,i - x^t||^2 <= "
            f"(1 + 2/tau) E||x_n^t,i-1 - x^t||^2 + {constant}",
            proof(f"eq-{chain}", "One certificate per inequality.", *links),
        ),
        LOCAL.claim(
            after,
            f"{C4}, ({chain + 1})",
            "equation",
            f"A^t,i <= C A^t,i-1 + B, A^t,i = E||x_n^t,i - x^t||^2, C = 1 + 2/tau, "
            f"B = {constant}",
            proof(
                after,
                "From end to end.",
                partial(steps.recursion, step=step),
                sharper=appendix_c_sharper.RECURSIONS[chain],
            ),
            f"eq-{chain}",
        ),
        LOCAL.claim(
            last,
            f"{C4}, ({chain + 2})",
            "equation",
            "sum_{i<tau} E||x_n^t,i - x^t||^2 = sum_{i<tau} B sum_{j<i} C^j"
            + (
                " = B/(2/tau) (((1 + 2/tau)^tau - 1)/(2/tau) - tau)"
                if step is FIRST
                else f" <= 2 tau^2 B <= {bound}"
            ),
            Refutation(
                partial(unrolled_is_no_equality, chain + 2),
                NOT_EQUAL.format(f"({chain + 1})", lemma),
            ),
            after,
            Repair(
                "sum_{i<tau} E||x_n^t,i - x^t||^2 <= sum_{i<tau} B sum_{j<i} C^j = "
                "B/(2/tau) (((1 + 2/tau)^tau - 1)/(2/tau) - tau)"
                + ("" if step is FIRST else f" <= 2 tau^2 B = {bound}"),
                proof(
                    last,
                    "Two inductions over local steps on the recursion as proved.",
                    partial(unrolled.unrolled, step=step),
                    *ends,
                    suffix="#repair",
                ),
                "'<=' for the first '='",
            ),
        ),
    )


LEMMA_C5 = (
    *_recursion(FIRST, 38, "lemma-C.5", "6 tau eta^2 (2 sigma_n^2 + G^2)"),
    LOCAL.claim(
        "eq-41",
        f"{C4}, (41)",
        "equation",
        "B/(2/tau) (((1 + 2/tau)^tau - 1)/(2/tau) - tau) <= tau^2 B/2 ((e^2-1)/2 - 1) "
        "<= 2 tau^2 B <= 2 tau^2 6 tau eta^2 (2 sigma_n^2 + G^2) <= "
        "12 tau^3 eta^2 (2 sigma_n^2 + G^2)",
        proof(
            "eq-41",
            "(1 + 2/tau)^tau <= e^2 <= 9.",
            Several(partial(unrolled.closed, step=FIRST), 3),
        ),
        "eq-40",
    ),
)
LEMMA_C6 = _recursion(
    SECOND, 43, "lemma-C.6", "8 tau eta^2 (sigma_n^2 + eps^2 + ||gradf(x^t)||^2)"
)


def _gradients(number: int, statement: str, depends_on: str = "") -> Any:
    name = f"eq-{number}"
    return LOCAL.claim(
        name,
        f"{C4}, ({number})",
        "equation",
        statement,
        Refutation(lemma_c7 if number == 52 else gradient_recursion, SAMPLES),
        depends_on,
        Repair(
            "E||g_n^i - g_n^0||^2 <= 2 S^2 E||x_n^i - x^t||^2 + 4 sigma_n^2",
            proof(
                name,
                "Young, orthogonality of different samples, Lipschitz gradients.",
                appendix_c.lemma_c7_repaired,
                suffix="#repair",
            ),
            "bounded directly, without a recursion; the variance enters without eta^2",
        ),
    )


LEMMA_C7 = (
    _gradients(
        47,
        "eta <= 1/(2 S tau) implies E||g_n^t,i - g_n^t||^2 <= (1 + 2/tau) "
        "E||g_n^t,i-1 - g_n^t||^2 + 2 (1 + tau) eta^2 S^2 E||g_n^t||^2",
    ),
    _gradients(
        51,
        "A^t,i <= C A^t,i-1 + B, A^t,i = E||g_n^t,i - g_n^t||^2, C = 1 + 2/tau, "
        "B = 2 (1 + tau) eta^2 S^2 E||g_n^t||^2",
        "eq-47",
    ),
    _gradients(
        52,
        "sum_{i<tau} E||g_n^t,i - g_n^t||^2 = sum_{i<tau} B sum_{j<i} C^j <= "
        "2 tau^2 B <= 8 tau^3 eta^2 S^2 (||gradF_n(x^t)||^2 + sigma_n^2)",
        "eq-51",
    ),
)

CLAIMS = (*PROPOSITION_3_5, *LEMMA_C5, *LEMMA_C6, *LEMMA_C7)
