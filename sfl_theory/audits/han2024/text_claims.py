"""Entries on sentences of Sec. 3 and 4 of ``han2024``."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from sfl_theory.audits.han2024 import refuted_text as broken
from sfl_theory.audits.han2024 import text_bounds as bounds
from sfl_theory.audits.han2024 import text_learning_rates as learning_rates
from sfl_theory.audits.han2024.lazy_proofs import Several, proof
from sfl_theory.audits.han2024.readings import PAPER
from sfl_theory.evidence.claim import Paper, Refutation

PRINTED = Paper(
    PAPER, "a sentence about the printed bounds, whether or not they hold themselves"
)
ANY_RATE = Paper(PAPER, "for every admitted rate; 'O' is up to a factor 1000")
PROCESS = Paper(
    PAPER, "a statement about the run, where the paper speaks of its bounds"
)
NUMBERS = ("3.6", "3.7", "3.8", "3.9")


def _theorems(case: str, numbers: tuple[str, ...] = NUMBERS) -> str:
    return " ".join(f"thm-{number}/{case}" for number in numbers)


RATES = (
    PRINTED.claim(
        "text/rate/strongly_convex",
        "Abstract, Sec. 1.3, Sec. 3.3",
        "text",
        "The strongly convex bounds (11), (14), (17), (20) are of order 1/T where some "
        "client has a_n sigma_n > 0, and O(1/T) always.",
        proof(
            "text/rate/strongly_convex",
            "T times a bound lies between its values at T = 1 and at infinity. (At "
            "sigma_n = G = I_err = 0 the bounds are 0.)",
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
        "The non-convex bounds (13), (16), (19), (22) are O(1/T), in the paper's "
        "metric, where sum_t (eta^t)^2 stays bounded.",
        proof(
            "text/rate/non_convex",
            "Part by part. (That metric weighs round t by eta^t.)",
            Several(bounds.square_summable_rate, 8),
        ),
        _theorems("non_convex"),
    ),
    ANY_RATE.claim(
        "cond/non_convex/any-rate",
        "Sec. 3.3, with the conditions of (13), (16), (19), (22)",
        "condition",
        "The non-convex bounds (13), (16), (19), (22) are O(1/T) at every admitted "
        "learning rate, constant ones included.",
        Refutation(
            partial(broken.non_convex_rate, "3.6"),
            "At a constant rate the second term does not fall with T.",
            tuple(partial(broken.non_convex_rate, number) for number in NUMBERS[1:]),
        ),
        "text/rate/non_convex",
    ),
)

CONSTANTS = (
    PRINTED.claim(
        "text/heterogeneity/non_convex",
        "Sec. 3.3 and Sec. 4.2",
        "text",
        "(13), (16) (and (19), (22)) do not decrease in eps^2.",
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
        "The convex bounds do not decrease in G^2, which heterogeneity bounds below: a "
        "divergence eps^2 needs G^2 >= eps^2/4 (assumption-3.4/divergence). eps^2 "
        "itself is absent from them.",
        proof(
            "text/heterogeneity/convex",
            "Every client's share, part by part; roots are monotone.",
            Several(bounds.increases_in_gradients, 24),
        ),
        "assumption-3.4/divergence "
        f"{_theorems('strongly_convex')} {_theorems('general_convex')}",
    ),
    PRINTED.claim(
        "text/participation/decreases",
        "Sec. 4.2",
        "text",
        "(20), and every bound of Theorems 3.8 and 3.9, does not increase in q_n.",
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
        "At tau_server = tau (16) and (13) with a_n^2 + 1 for a_n^2 are very similar: "
        "(16) <= (13)' <= 2 (16).",
        proof(
            "text/v1-v2/non_convex",
            "Every client's share, part by part. (Not equal: (13) has tau^2 + "
            "tau_server^2 where (16) has tau^2.)",
            Several(bounds.replaced_weights_non_convex, 4),
        ),
        _theorems("non_convex", ("3.6", "3.7")),
    ),
)

PRACTICE = (
    PRINTED.claim(
        "text/learning-rate/tau",
        "Sec. 3.3",
        "text",
        "One should use a smaller learning rate when tau increases: the printed and "
        "the largest admitted rates do not grow with tau, for tau >= tau_server and "
        "for tau_server = tau.",
        proof(
            "text/learning-rate/tau",
            "Term by term. (Not for tau < tau_server: the non-convex condition of "
            "SFL-V1 has tau_min = tau in the numerator of a term.)",
            Several(learning_rates.smaller_rates, 7),
        ),
    ),
    PRINTED.claim(
        "text/learning-rate/constant",
        "Sec. 3.3",
        "text",
        "A proper constant learning rate suffices: the printed bounds admit one and "
        "tend to 0, (12), (15), (18), (21) at any admitted constant rate, (13), "
        "divided by it, at eta0/sqrt(T) for T rounds (admitted where eta0 is).",
        proof(
            "text/learning-rate/constant",
            "(12), (15), (18), (21) hold no rate. (13) for every client's share.",
            Several(bounds.general_convex_rate, 4),
            learning_rates.rate_from_horizon,
        ),
        f"{_theorems('general_convex')} thm-3.6/non_convex",
    ),
    PROCESS.claim(
        "cond/general_convex/constant-rate",
        "Sec. 3.3, with the conditions of (12) and (13)",
        "condition",
        "At an admitted constant learning rate, the same for all T, E f(x^t) - f* -> 0 "
        "for SFL-V1 itself.",
        Refutation(
            broken.constant_rate_stalls,
            "Noise keeps the gap at eta^2/2 at least, for every eta.",
            (partial(broken.constant_rate_stalls, Fraction(1, 10**4)),),
        ),
        "text/learning-rate/constant",
    ),
)
CLAIMS = (*RATES, *CONSTANTS, *PRACTICE)
