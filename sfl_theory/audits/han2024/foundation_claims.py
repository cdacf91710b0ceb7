"""Entries on the assumptions and learning-rate conditions of ``han2024``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sfl_theory.audits.han2024 import appendix_c, assumptions
from sfl_theory.audits.han2024.conditions import (
    first_rounds,
    largest_general_convex_rate,
    later_rounds,
    of_lemmas_c6_and_c7,
    of_lemmas_d1_and_e1,
)
from sfl_theory.audits.han2024.lazy_proofs import Several, proof
from sfl_theory.audits.han2024.readings import BALL, PAPER
from sfl_theory.evidence.claim import Paper, Refutation, Repair

PLAIN = Paper(PAPER, "")
ON_BALL = Paper(PAPER, BALL)

EXAMPLE = (
    "a federation that meets all the others too (assumption-C.1): F_n(x) = "
    "sqrt(1 + ||x||^2) + <b_n, x>, sum_n a_n b_n = 0, additive noise, any N, weights "
    "and dimension, on all of R^d"
)


def _assumption(
    name: str, says: str, where: str, *builders: Callable[[str], Any] | Several
) -> Any:
    return PLAIN.claim(
        f"assumption-{name}",
        where,
        "assumption",
        f"{says}, holds for {EXAMPLE}.",
        proof(f"assumption-{name}", "On the federation, for all points.", *builders),
    )


ALL = (
    assumptions.smooth,
    assumptions.lipschitz,
    assumptions.noise,
    assumptions.bounded_gradients,
    assumptions.divergence,
    assumptions.convex,
    assumptions.minimised,
)
ASSUMPTIONS = (
    _assumption("3.1", "Assumption 3.1, (4)", "Sec. 3.1", assumptions.smooth),
    _assumption("3.2", "Assumption 3.2, (5)-(6)", "Sec. 3.1", assumptions.noise),
    _assumption(
        "3.3", "Assumption 3.3, (7)", "Sec. 3.1", assumptions.bounded_gradients
    ),
    _assumption("3.4", "Assumption 3.4, (8)", "Sec. 3.1", assumptions.divergence),
    _assumption(
        "C.1",
        "Assumption C.1, (24)-(29), together with C.2, mu = 0, and a minimiser of f",
        "App. C.3",
        *ALL,
    ),
    _assumption(
        "C.2",
        "Assumption C.2, (30), with mu = 0, and a minimiser of f",
        "App. C.3",
        assumptions.convex,
        assumptions.minimised,
    ),
    PLAIN.claim(
        "assumption-C.2/strongly_convex",
        "App. C.3",
        "assumption",
        "Assumption C.2 with mu > 0 can hold together with 3.1, 3.2, 3.4 (without "
        "3.3) on R^d: F_n(x) = S/2 ||x||^2 - <b_n, x>, additive noise.",
        proof(
            "assumption-C.2/strongly_convex",
            "On the federation, for all points; (6) as in assumption-3.2.",
            Several(assumptions.strongly_convex, 4),
        ),
    ),
    ON_BALL.claim(
        "assumption-3.3/ball",
        "Sec. 3.1 and App. C.3",
        "assumption",
        "The reading of 3.3 on a set that contains every iterate is not vacuous in the "
        "strongly convex case of SFL-V1 under full participation: for F_n(x) = "
        "S/2 ||x||^2 - <b_n, x> and ||b_n - noise|| <= S R, local steps eta <= 1/S and "
        "averages stay in the ball of radius R, where E||g_n||^2 <= 4 S^2 R^2.",
        proof(
            "assumption-3.3/ball",
            "A step is an average of two points of the ball.",
            Several(assumptions.steps_stay, 3),
        ),
        "assumption-C.2/strongly_convex",
    ),
    PLAIN.claim(
        "assumption-3.2/variance",
        "Sec. 3.1, (5)-(7)",
        "assumption",
        "Assumption 3.3 with (5) implies (6) with sigma_n^2 = G^2: the variance is no "
        "constant of its own where 3.3 is assumed.",
        proof(
            "assumption-3.2/variance",
            "Second moment = mean squared + variance.",
            assumptions.variance_follows,
        ),
    ),
    PLAIN.claim(
        "assumption-3.4/divergence",
        "Sec. 3.1, (7)-(8)",
        "assumption",
        "Assumption 3.3 implies Assumption 3.4 with eps^2 = 4 G^2.",
        proof(
            "assumption-3.4/divergence",
            "Jensen over clients.",
            assumptions.divergence_follows,
        ),
    ),
)


def _conditions(number: str) -> tuple[Any, ...]:
    """Return the three entries of a theorem: its condition against the lemmas'."""
    lemma = "lemma-E.1" if number in {"3.7", "3.9"} else "lemma-D.1"
    needs = f"eta <= 1/(2 S tau_b) on each side b ({lemma}) and 1/(sqrt(6) S tau_b)"
    strongly, general, non_convex = (
        f"cond-{number}/{case}"
        for case in ("strongly_convex", "general_convex", "non_convex")
    )
    return (
        PLAIN.claim(
            strongly,
            f"Theorem {number}, strongly convex",
            "condition",
            f"For tau_server = tau the printed rates satisfy {needs} (lemma-C.5) for "
            "all t >= 0.",
            Refutation(
                partial(first_rounds, number),
                "At t = 0 the rate is 4/(tau (8S - mu)) > 1/(2 S tau).",
                (partial(first_rounds, number, 1),),
            ),
            f"{lemma} lemma-C.5",
            Repair(
                "for tau_server = tau: 1/(2 S tau) holds for t >= 1, "
                "1/(sqrt(6) S tau) for t >= 1 + 2 S/mu",
                proof(
                    strongly,
                    "gamma + t >= 8 S/mu, 10 S/mu.",
                    Several(later_rounds, 2),
                    suffix="#repair",
                ),
                "later rounds only",
            ),
        ),
        PLAIN.claim(
            general,
            f"Theorem {number}, general convex",
            "condition",
            f"The printed condition implies {needs} (lemma-C.5).",
            Refutation(
                partial(largest_general_convex_rate, number),
                "1/2 > 1/sqrt(6); harmless, as Lemma C.5 holds at every rate.",
                (partial(largest_general_convex_rate, number, 10),),
            ),
            f"{lemma} lemma-C.5",
            Repair(
                "it implies 1/(2 S tau_b), and Lemma C.5's conclusion holds at every "
                "rate",
                proof(
                    general,
                    "tau_b <= tau_max; Lemma C.5's own certificate.",
                    of_lemmas_d1_and_e1,
                    appendix_c.lemma_c5,
                    suffix="#repair",
                ),
                "Lemma C.5 without its condition",
            ),
        ),
        PLAIN.claim(
            non_convex,
            f"Theorem {number}, non-convex",
            "condition",
            "The printed condition implies eta <= 1/(sqrt(8) S tau_b) (lemma-C.6) and "
            "1/(2 S tau_b) (lemma-C.7) on each side b.",
            proof(
                non_convex,
                "Its first term is 1/(16 S tau_max).",
                Several(of_lemmas_c6_and_c7, 2),
            ),
            "lemma-C.6 lemma-C.7",
        ),
    )


CONDITIONS = tuple(
    claim for number in ("3.6", "3.7", "3.8", "3.9") for claim in _conditions(number)
)
CLAIMS = (*ASSUMPTIONS, *CONDITIONS)
