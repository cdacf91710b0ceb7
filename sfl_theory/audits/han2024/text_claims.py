"""Entries on sentences of Sec. 3 and 4 of ``han2024``."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from sfl_theory.audits.han2024 import refuted_text as broken
from sfl_theory.audits.han2024 import text_bounds as bounds
from sfl_theory.audits.han2024.lazy_proofs import Several, proof
from sfl_theory.audits.han2024.readings import PAPER
from sfl_theory.evidence.claim import Paper, Refutation, Repair

PRINTED = Paper(
    PAPER, "a sentence about the printed bounds, whether or not they hold themselves"
)
NUMBERS = ("3.6", "3.7", "3.8", "3.9")


def _theorems(case: str, numbers: tuple[str, ...] = NUMBERS) -> str:
    return " ".join(f"thm-{number}/{case}" for number in numbers)


RATES = (
    PRINTED.claim(
        "text/rate/strongly_convex",
        "Abstract, Sec. 1.3, Sec. 3.3",
        "text",
        "The strongly convex bounds (11), (14), (17), (20) are of order 1/T.",
        proof(
            "text/rate/strongly_convex",
            "T times a bound lies between its values at T = 1 and at infinity.",
            Several(bounds.strongly_convex_rate, 8),
        ),
        _theorems("strongly_convex"),
    ),
    PRINTED.claim(
        "text/rate/general_convex",
        "Abstract, Sec. 1.3, Sec. 3.3",
        "text",
        "The general convex bounds (12), (15), (18), (21) are O(T^(-1/3)).",
        proof(
            "text/rate/general_convex",
            "Each part is a power of (T+1)^(1/6) times what is free of T.",
            Several(bounds.general_convex_rate, 4),
        ),
        _theorems("general_convex"),
    ),
    PRINTED.claim(
        "text/rate/non_convex",
        "Sec. 3.3",
        "text",
        "The non-convex bounds (13), (16), (19), (22) are O(1/T) at every admitted "
        "learning rate, constant ones included.",
        Refutation(
            partial(broken.non_convex_rate, "3.6"),
            "At a constant rate the second term does not fall with T.",
            tuple(partial(broken.non_convex_rate, number) for number in NUMBERS[1:]),
        ),
        _theorems("non_convex"),
        Repair(
            "they are O(1/T) where sum_t (eta^t)^2 stays bounded",
            proof(
                "text/rate/non_convex",
                "Part by part.",
                Several(bounds.square_summable_rate, 8),
                suffix="#repair",
            ),
            "square-summable rates; the left side's weights eta^t then tend to 0 too",
        ),
    ),
)

CONSTANTS = (
    PRINTED.claim(
        "text/heterogeneity/non_convex",
        "Sec. 3.3 and Sec. 4.2",
        "text",
        "(13), (16) (and (19), (22)) increase in eps^2.",
        proof(
            "text/heterogeneity/non_convex",
            "Every client's share, part by part.",
            Several(bounds.increases_in_divergence, 8),
        ),
        _theorems("non_convex"),
    ),
    PRINTED.claim(
        "text/heterogeneity/convex",
        "Sec. 3.3",
        "text",
        "The convex bounds too increase in the level of heterogeneity, eps^2 (by at "
        "least 10^-9 between 0 and 10^9).",
        Refutation(
            partial(broken.heterogeneity_without_effect, "3.6", "strongly_convex"),
            "They do not hold eps^2: heterogeneity enters through G^2 only.",
            tuple(
                partial(broken.heterogeneity_without_effect, number, case)
                for number in NUMBERS
                for case in ("strongly_convex", "general_convex")
            )[1:],
        ),
        f"{_theorems('strongly_convex')} {_theorems('general_convex')}",
    ),
    PRINTED.claim(
        "text/participation/decreases",
        "Sec. 4.2",
        "text",
        "(20), and every bound of Theorems 3.8 and 3.9, decreases in q_n.",
        proof(
            "text/participation/decreases",
            "Every client's share, part by part; roots are monotone.",
            Several(bounds.decreases_in_participation, 16),
        ),
        " ".join(_theorems(case, ("3.8", "3.9")) for case in bounds.CASES),
    ),
    PRINTED.claim(
        "text/participation/worsens",
        "Sec. 3.4",
        "text",
        "The bounds under partial participation are at least those under full "
        "participation ((18) against (12) and all others).",
        proof(
            "text/participation/worsens",
            "Every client's share, part by part; roots are monotone.",
            Several(bounds.participation_worsens, 16),
        ),
        " ".join(_theorems(case) for case in bounds.CASES),
    ),
    PRINTED.claim(
        "text/v1-v2/strongly_convex",
        "Sec. 3.3, 'see (11) and (14)'",
        "text",
        "(14) is (11) with a_n^2 + 1 for a_n^2 and a_n + 1 for a_n.",
        proof(
            "text/v1-v2/strongly_convex",
            "Symbol by symbol, every client's share.",
            Several(bounds.replaced_weights, 2),
        ),
        _theorems("strongly_convex", ("3.6", "3.7")),
    ),
    PRINTED.claim(
        "text/v1-v2/non_convex",
        "Sec. 3.3",
        "text",
        "At tau_server = tau (16) is (13) with a_n^2 + 1 for a_n^2 (in particular not "
        "smaller).",
        Refutation(
            broken.not_only_weights, "(13) has a factor tau^2 + tau_server^2: twice."
        ),
        _theorems("non_convex", ("3.6", "3.7")),
    ),
)

PRACTICE = (
    PRINTED.claim(
        "text/learning-rate/tau",
        "Sec. 3.3",
        "text",
        "One should use a smaller learning rate when tau increases: the largest "
        "admitted rate does not grow with tau.",
        Refutation(
            partial(broken.larger_rate, "3.6"),
            "For tau < tau_server the non-convex condition of SFL-V1 has tau_min in "
            "its numerator.",
            (partial(broken.larger_rate, "3.8"),),
        ),
        "",
        Repair(
            "true for tau >= tau_server",
            proof(
                "text/learning-rate/tau",
                "Term by term.",
                Several(bounds.smaller_rates, 5),
                suffix="#repair",
            ),
            "tau >= tau_server",
        ),
    ),
    PRINTED.claim(
        "text/learning-rate/constant",
        "Sec. 3.3",
        "text",
        "A constant learning rate, the same for all T, suffices for convergence: "
        "E f(x^t) - f* -> 0.",
        Refutation(
            broken.constant_rate_stalls,
            "Noise keeps the gap at eta^2/2 at least, for every eta.",
            (partial(broken.constant_rate_stalls, Fraction(1, 10**4)),),
        ),
        "",
        Repair(
            "a rate constant in t that depends on the horizon, eta0/sqrt(T): (13), "
            "which is proved (thm-3.6/non_convex), divided by it is C/sqrt(T)",
            proof(
                "text/learning-rate/constant",
                "The printed (13), every client's share.",
                bounds.rate_from_horizon,
                suffix="#repair",
            ),
            "eta depends on T; the mean over rounds instead of the last iterate",
        ),
    ),
    PRINTED.claim(
        "text/sec-4.2/cut-layer",
        "Sec. 4.2, Fig. 2, with tau_server = tau (Sec. 4.1)",
        "text",
        "SFL-V1's loss falls as L_c grows, all else equal (by at least 10^-9).",
        Refutation(
            broken.cut_without_effect,
            "For tau_server = tau SFL-V1 is FedAvg at every cut: no effect at all.",
        ),
        "text/sec-2.2/fl",
    ),
)
CLAIMS = (*RATES, *CONSTANTS, *PRACTICE)
