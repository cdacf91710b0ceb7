"""Appendix G.2: SFL-V2, clients are drawn, general convex.

(168) and (171) are in `appendix_g_draws`.
"""

from __future__ import annotations

from sfl_theory.kernel.terms import Kind, Participants, Side
from sfl_theory.papers.han2024.appendix_g1 import EVERYONE
from sfl_theory.papers.han2024.general_convex import Merged, drawn_claims
from sfl_theory.papers.han2024.one_round import Block

SERVER = Block(Kind.V2, Side.SERVER, who=Participants.UPDATES)
SEQUENTIAL = Merged(SERVER, "G.2.3", 173, (169, 172))

CLAIMS = drawn_claims(
    SEQUENTIAL, Block(Kind.V2, Side.SERVER), "3.9", "lemma-E.1", EVERYONE
)
