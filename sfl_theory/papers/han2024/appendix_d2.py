"""Appendix D.2: SFL-V1, full participation, general convex."""

from __future__ import annotations

from sfl_theory.kernel.terms import Kind, Side
from sfl_theory.papers.han2024.general_convex import Merged, claims
from sfl_theory.papers.han2024.one_round import Block
from sfl_theory.papers.han2024.setting import tau, tau_server

PARALLEL = Merged(Block(Kind.V1, Side.SERVER, tau_server, tau), "D.2.3", 76, (74, 75))

CLAIMS = claims(PARALLEL, "3.6", "lemma-D.1", "eq-60")
