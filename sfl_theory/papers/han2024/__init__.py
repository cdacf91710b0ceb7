"""Han et al., *Convergence Analysis of SFL on Heterogeneous Data*, NeurIPS 2024.

Bounds, and the claims section by section.
"""

from sfl_theory.papers.han2024.bounds import GAMMA, THEOREMS

SECTIONS = (
    "section_2",
    "section_2_3",
    "section_3",
    "section_3_rates",
    "section_3_runs",
    "section_3_text",
    "section_3_4_text",
    "theorem_36",
    "theorem_37",
    "theorem_38",
    "theorem_39",
    "theorems_convex",
    "unbounded",
    "last_iterate",
    "conditions",
    "constant_rates",
    "appendix_c",
    "appendix_c5",
    "appendix_c6",
    "appendix_c7",
    "appendix_d1",
    "appendix_d2",
    "appendix_d3",
    "appendix_e1",
    "appendix_e2",
    "appendix_e3",
    "appendix_f1",
    "appendix_f_draws",
    "appendix_f2",
    "appendix_f3",
    "appendix_g1",
    "appendix_g_draws",
    "appendix_g2",
    "appendix_g3",
    "appendix_h",
    "appendix_h2",
    "appendix_h3",
)
"""Modules that hold the claims, in the paper's order."""

__all__ = ["GAMMA", "SECTIONS", "THEOREMS"]
