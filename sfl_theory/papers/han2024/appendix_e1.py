"""Appendix E.1."""
from sfl_theory.papers.han2024 import one_round_steps

CLAIMS = (*one_round_steps.E.claims(), one_round_steps.SUM_OF_GRADIENTS)
