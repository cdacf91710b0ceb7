"""Appendix D.1: SFL-V1, full participation, strongly convex."""

from __future__ import annotations

from sfl_theory.kernel.terms import Kind, Side
from sfl_theory.papers.han2024 import (
    block_rates,
    induction,
    one_round_steps,
    superposition,
)
from sfl_theory.papers.han2024.contraction import Contraction
from sfl_theory.papers.han2024.one_round import Block
from sfl_theory.papers.han2024.setting import tau, tau_server

SERVER = Contraction(Block(Kind.V1, Side.SERVER, tau_server, tau), "D.1.1", "lemma-D.1")
CLIENT = Contraction(Block(Kind.V1, Side.CLIENT, tau_server, tau), "D.1.2", "lemma-D.1")

CLAIMS = (
    SERVER.the_lemma(53, "lemma-C.3 lemma-C.5 eq-60", "eq-54"),
    *one_round_steps.D.claims(),
    SERVER.joined(60, "eq-54 eq-55 eq-56 eq-57 eq-58 eq-59"),
    SERVER.without_gap(61, "eq-60"),
    induction.D_SERVER.first_rate("app-D.1"),
    block_rates.D_SERVER.in_a_round(62, "lemma-D.1 app-D.1/first-rate eq-61"),
    *induction.D_SERVER.claims(),
    block_rates.D_SERVER.in_every_round(
        69, "eq-62 eq-63 eq-64 eq-65 eq-66 eq-67 eq-68 app-D.1/first-rate"
    ),
    CLIENT.quoted(70),
    CLIENT.without_gap(71, "eq-70"),
    induction.D_CLIENT.first_rate("app-D.1.2"),
    block_rates.D_CLIENT.in_every_round(
        72, "lemma-D.1 eq-67 app-D.1.2/first-rate eq-71"
    ),
    block_rates.merged_rate(),
    superposition.D.merge(),
    superposition.parallel_bound(),
    superposition.middle(),
)
