"""Appendix F.3: the non-convex case of Theorem 3.8, SFL-V1, clients are drawn.

As D.3 with :math:`a_n^2/q_n` for :math:`a_n^2`: local points do not depend on who
takes part. Updates are aggregated, as App. C.2 analyses.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.papers.han2024.theorem_38 import UPDATES
from sfl_theory.papers.han2024.two_periods_steps import Steps

STEPS = Steps(
    UPDATES,
    "App. F.3",
    145,
    153,
    Fraction(1, 2),
    " Draws have mean 1 and mean square 1/q_n.",
)
CLAIMS = (
    *STEPS.of_blocks(),
    *STEPS.of_rounds("prop-C.4 eq-147 eq-150 eq-151 eq-152 cond-F.3"),
)
