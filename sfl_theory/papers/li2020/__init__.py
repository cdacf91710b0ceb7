"""Li et al., *On the Convergence of FedAvg on Non-IID Data*, ICLR 2020, 1907.02189."""

SECTIONS = ("section_3", "appendix_a")
"""Modules that hold the claims, in the paper's order."""
