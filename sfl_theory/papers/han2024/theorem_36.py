"""Theorem 3.6: SFL-V1, full participation."""

from __future__ import annotations

from sfl_theory.claims import Claim, Kind
from sfl_theory.papers.han2024 import appendix_d3

NON_CONVEX = Claim(
    "han2024/thm-3.6/non_convex",
    "Theorem 3.6, (13)",
    Kind.THEOREM,
    "The mean squared gradient, weighted with the learning rates.",
    appendix_d3.EQ_89.parts,
    scope="as printed for any numbers of steps, gradients read as S-Lipschitz (24); "
    "the proof uses that clients' samples are independent, which 3.2 does not say",
    words="A proof of its own: the paper's rests on (78), (79), (81) and (82), which "
    "are false.",
    uses="eq-78 lemma-C.6 lemma-C.7 prop-C.4 eq-89 cond-3.6/non_convex",
    first_failure="han2024/eq-78",
)

CLAIMS = (NON_CONVEX,)
