"""Theorem 3.7: SFL-V2, full participation."""

from __future__ import annotations

from sfl_theory.claims import Claim, Kind, Severity
from sfl_theory.papers.han2024 import appendix_e3

NON_CONVEX = Claim(
    "han2024/thm-3.7/non_convex",
    "Theorem 3.7, (16)",
    Kind.THEOREM,
    "The mean squared gradient, weighted with the learning rates.",
    (appendix_e3.ALL_ROUNDS,),
    severity=Severity.THEOREM,
    cause="SFL-V2's server steps carry no a_n: it follows sum_n grad F_n, not grad f.",
    scope="refuted for unequal weights, shown for (3/4, 1/4); true as printed for "
    "equal ones",
    uses="lemma-C.6 lemma-C.7 prop-C.4 eq-125 cond-3.7/non_convex",
    first_failure="han2024/eq-115",
    repair=appendix_e3.REPAIRED,
)

CLAIMS = (NON_CONVEX,)
