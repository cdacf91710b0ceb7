"""Appendix F.1: SFL-V1, clients are drawn, strongly convex.

(127) and (132) are in `appendix_f_draws`.
"""

from __future__ import annotations

from dataclasses import replace

from sfl_theory.kernel.terms import Kind, Participants, Side
from sfl_theory.papers.han2024 import block_rates, induction, superposition
from sfl_theory.papers.han2024.contraction import Contraction
from sfl_theory.papers.han2024.one_round import Block
from sfl_theory.papers.han2024.setting import tau, tau_server

UPDATES = Participants.UPDATES
SERVER, CLIENT = (
    Contraction(Block(Kind.V1, side, tau_server, tau, who=UPDATES), place, "lemma-D.1")
    for side, place in ((Side.SERVER, "F.1.1"), (Side.CLIENT, "F.1.2"))
)


def everyone(one: Contraction) -> Contraction:
    """Return the section's round if everyone took part."""
    return replace(one, block=replace(one.block, full=True))


CLAIMS = (
    everyone(SERVER).quoted(126),
    SERVER.drawn(128, "eq-126 eq-127"),
    SERVER.without_gap(129, "eq-128"),
    induction.F_SERVER.first_rate("app-F.1"),
    block_rates.F_SERVER.in_every_round(
        130, "lemma-D.1 eq-127 eq-67 app-F.1/first-rate eq-129"
    ),
    everyone(CLIENT).quoted(131),
    CLIENT.drawn(133, "eq-131 eq-132"),
    CLIENT.without_gap(134, "eq-133"),
    induction.F_CLIENT.first_rate("app-F.1.2"),
    block_rates.F_CLIENT.in_every_round(
        135, "lemma-D.1 eq-67 app-F.1.2/first-rate eq-134"
    ),
    block_rates.merged_rate("F.1", "(130) and (135)"),
    superposition.F.merge(),
    superposition.parallel_bound(superposition.F),
    superposition.middle(superposition.F),
)
