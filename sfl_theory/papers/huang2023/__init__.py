"""Huang, Tian, Tang, *When MiniBatch SGD Meets SplitFed Learning*, arXiv 2308.11953."""

SECTIONS = (
    "section_3",
    "section_3_rates",
    "section_4",
    "linear_speedup",
    "appendix_a_12",
    "appendix_a_13",
    "appendix_a_14",
    "appendix_b",
    "appendix_c",
)
"""Modules that hold the claims, in the paper's order."""
