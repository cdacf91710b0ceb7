"""Li et al., *On the Convergence of FedAvg on Non-IID Data*, ICLR 2020, 1907.02189."""

from sfl_theory.papers.li2020.bounds import THEOREMS

SECTIONS = ("section_3", "appendix_a")
"""Modules that hold the claims, in the paper's order."""

__all__ = ["SECTIONS", "THEOREMS"]
