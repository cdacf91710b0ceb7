"""Theorem 3.9: SFL-V2, clients take part at random."""

from __future__ import annotations

from sfl_theory.claims import Claim, Kind, Part, Severity
from sfl_theory.papers.han2024 import appendix_g3
from sfl_theory.papers.han2024.appendix_e3 import AGAINST
from sfl_theory.papers.han2024.appendix_g3 import SCOPE, STUCK, THEOREM

NON_CONVEX = Claim(
    "han2024/thm-3.9/non_convex",
    "Theorem 3.9, (22)",
    Kind.THEOREM,
    "The mean squared gradient, weighted with the learning rates.",
    (Part(THEOREM.all_rounds(), STUCK, "updates are aggregated, App. C.2"),),
    severity=Severity.THEOREM,
    cause=AGAINST,
    scope=SCOPE,
    uses="lemma-C.6 lemma-C.7 prop-C.4 step-3.9/non_convex eq-185 cond-3.9/non_convex",
    first_failure="eq-175",
    repair=appendix_g3.ROUNDS,
)

CLAIMS = (NON_CONVEX,)
