"""Appendix D.1."""
from sfl_theory.papers.han2024 import one_round_steps

CLAIMS = one_round_steps.D.claims()
