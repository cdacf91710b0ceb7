"""Huang, Tian, Tang, *When MiniBatch SGD Meets SplitFed Learning*, arXiv 2308.11953."""

from sfl_theory.papers import Paper

PAPER = Paper(
    "When MiniBatch SGD Meets SplitFed Learning: "
    "Convergence Analysis and Performance Evaluation",
    ("Chao Huang", "Geng Tian", "Ming Tang"),
    "arXiv 2308.11953",
    "https://arxiv.org/abs/2308.11953",
)

SECTIONS = (
    "section_3",
    "section_3_rates",
    "section_4",
    "linear_speedup",
    "appendix_a_13",
    "appendix_a_14",
    "appendix_b",
    "appendix_c",
)
"""Modules that hold the claims, in the paper's order."""

__all__ = ["PAPER", "SECTIONS"]
