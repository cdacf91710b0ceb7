"""Han et al., *Convergence Analysis of SFL on Heterogeneous Data*, NeurIPS 2024.

Bounds, and the claims section by section.
"""

from sfl_theory.papers import Paper

PAPER = Paper(
    "Convergence Analysis of Split Federated Learning on Heterogeneous Data",
    ("Pengchao Han", "Chao Huang", "Geng Tian", "Ming Tang", "Xin Liu"),
    "NeurIPS 2024",
    lacks="Rows of han2024's Tables 2-3 that belong to theorems of other papers are "
    "entered as unproved.",
)

SECTIONS = (
    "section_2",
    "section_2_3",
    "section_3",
    "section_3_runs",
    "section_3_text",
    "section_3_artefacts",
    "section_3_schedules",
    "section_3_4_text",
    "theorems",
    "theorems_eq_3",
    "one_sided",
    "unbounded",
    "last_iterate",
    "tuned_rates",
    "root_noise",
    "without_noise",
    "strongly_convex_repairs",
    "one_counter",
    "conditions",
    "constant_rates",
    "appendix_c",
    "appendix_c5",
    "appendix_c6",
    "appendix_d",
    "appendix_e",
    "appendix_f",
    "appendix_g",
    "appendix_g3",
    "appendix_h",
    "appendix_h2",
)
"""Modules that hold the claims, in the paper's order."""

__all__ = ["PAPER", "SECTIONS"]
