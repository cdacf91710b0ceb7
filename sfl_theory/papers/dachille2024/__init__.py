"""Dachille, Huang, Liu, *The Impact of Cut Layer Selection in SFL*, arXiv 2412.15536.

Bounds, and the claims section by section.
"""

from sfl_theory.papers import Paper

PAPER = Paper(
    "The Impact of Cut Layer Selection in Split Federated Learning",
    ("Justin Dachille", "Chao Huang", "Xin Liu"),
    "arXiv 2412.15536",
    "https://arxiv.org/abs/2412.15536",
)

SECTIONS = (
    "section_1",
    "section_3",
    "section_4",
    "unequal_steps",
    "section_5",
    "appendix_b",
    "appendix_b_round",
)
"""Modules that hold the claims, in the paper's order."""

__all__ = ["PAPER", "SECTIONS"]
