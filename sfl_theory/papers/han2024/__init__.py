"""Han et al., *Convergence Analysis of SFL on Heterogeneous Data*, NeurIPS 2024.

Bounds, and the claims section by section.
"""

from sfl_theory.papers.han2024.bounds import GAMMA, THEOREMS

SECTIONS: tuple[str, ...] = ("section_3",)
"""Modules that hold the claims, in the paper's order."""

__all__ = ["GAMMA", "SECTIONS", "THEOREMS"]
