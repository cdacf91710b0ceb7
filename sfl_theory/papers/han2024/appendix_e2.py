"""Appendix E.2: SFL-V2, full participation, general convex."""

from __future__ import annotations

from sfl_theory.kernel.terms import Kind, Side
from sfl_theory.papers.han2024.general_convex import Merged, claims
from sfl_theory.papers.han2024.one_round import Block

SEQUENTIAL = Merged(Block(Kind.V2, Side.SERVER), "E.2.3", 113, (111, 112))

CLAIMS = claims(SEQUENTIAL, "3.7", "lemma-E.1", "")
