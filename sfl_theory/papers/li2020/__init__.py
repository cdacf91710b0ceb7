"""Li et al., *On the Convergence of FedAvg on Non-IID Data*, ICLR 2020, 1907.02189."""

from sfl_theory.papers import Paper

PAPER = Paper(
    "On the Convergence of FedAvg on Non-IID Data",
    ("Xiang Li", "Kaixuan Huang", "Wenhao Yang", "Shusen Wang", "Zhihua Zhang"),
    "ICLR 2020, arXiv 1907.02189",
    "https://arxiv.org/abs/1907.02189",
    lacks="Of li2020, Theorems 2 and 3 with Lemmas 4 and 5 (K of N devices are drawn, "
    "where the kernel's runs draw each client by itself) and Theorem 4 (a fixed rate) "
    "are not entered.",
)

SECTIONS = ("section_3", "linear_speedup", "appendix_a")
"""Modules that hold the claims, in the paper's order."""

__all__ = ["PAPER", "SECTIONS"]
