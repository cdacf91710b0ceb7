"""Appendix F.2: SFL-V1, clients are drawn, general convex.

(138) and (141) are in `appendix_f_draws`.
"""

from __future__ import annotations

from dataclasses import replace

from sfl_theory.kernel.terms import Kind, Participants, Side
from sfl_theory.papers.han2024.appendix_f1 import READ_BAR
from sfl_theory.papers.han2024.general_convex import Merged, drawn_claims
from sfl_theory.papers.han2024.one_round import Block
from sfl_theory.papers.han2024.setting import tau, tau_server

SERVER = Block(Kind.V1, Side.SERVER, tau_server, tau, who=Participants.UPDATES)
PARALLEL = Merged(SERVER, "F.2.3", 143, (139, 142))

CLAIMS = drawn_claims(
    PARALLEL, replace(SERVER, full=True), "3.8", "lemma-D.1", READ_BAR
)
