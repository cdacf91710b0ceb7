r"""Appendix G.1: SFL-V2, clients are drawn, strongly convex.

:math:`\bar x^{t+1}` is what a round of full participation makes of x^t: (156) and (161)
are Lemmas E.1 and D.1 for everyone's run, whose x^t may be any model. (157) and (162)
are in `appendix_g_draws`.
"""

from __future__ import annotations

from sfl_theory.kernel.terms import Kind, Participants, Side
from sfl_theory.papers.han2024 import block_rates, induction, superposition
from sfl_theory.papers.han2024.contraction import Contraction
from sfl_theory.papers.han2024.one_round import Block

UPDATES = Participants.UPDATES
EVERYONE = (
    "the round of full participation from x^t: the lemma's statement, for everyone's "
    "run, whose x^t may be any model"
)


def round_of(side: Side, who: Participants) -> Contraction:
    """Return a block's round."""
    place, lemma = (
        ("G.1.1", "lemma-E.1") if side is Side.SERVER else ("G.1.2", "lemma-D.1")
    )
    return Contraction(Block(Kind.V2, side, who=who), place, lemma)


SERVER, CLIENT = (round_of(side, UPDATES) for side in (Side.SERVER, Side.CLIENT))
FULL_SERVER, FULL_CLIENT = (
    round_of(side, Participants.EVERYONE) for side in (Side.SERVER, Side.CLIENT)
)

CLAIMS = (
    FULL_SERVER.quoted(156, EVERYONE),
    SERVER.drawn(158, "eq-156 eq-157"),
    SERVER.without_gap(159, "eq-158"),
    induction.G_SERVER.first_rate("app-G.1"),
    block_rates.G_SERVER.in_every_round(
        160, "lemma-E.1 eq-104 app-G.1/first-rate eq-159"
    ),
    FULL_CLIENT.quoted(161, EVERYONE),
    CLIENT.drawn(163, "eq-161 eq-162"),
    CLIENT.without_gap(164, "eq-163"),
    induction.G_CLIENT.first_rate("app-G.1.2"),
    block_rates.G_CLIENT.in_every_round(
        165, "lemma-D.1 eq-67 app-G.1.2/first-rate eq-164"
    ),
    superposition.G.merge(),
    superposition.sequential_bound(superposition.G),
)
