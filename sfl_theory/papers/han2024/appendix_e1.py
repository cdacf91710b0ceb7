"""Appendix E.1: SFL-V2, full participation, strongly convex."""

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

SERVER = Contraction(Block(Kind.V2, Side.SERVER), "E.1.1", "lemma-E.1")
CLIENT = Contraction(Block(Kind.V2, Side.CLIENT), "E.1.2", "lemma-D.1")

CLAIMS = (
    SERVER.the_lemma(90, "lemma-C.3 lemma-C.5 eq-97", "eq-91"),
    *one_round_steps.E.claims(),
    SERVER.joined(97, "eq-91 eq-92 eq-93 eq-94 eq-95 eq-96"),
    SERVER.without_gap(98, "eq-97"),
    induction.E_SERVER.first_rate("app-E.1"),
    block_rates.E_SERVER.in_a_round(99, "lemma-E.1 app-E.1/first-rate eq-98"),
    *induction.E_SERVER.claims(),
    block_rates.E_SERVER.in_every_round(
        106,
        "eq-99 eq-100 eq-101 eq-102 eq-103 eq-104 eq-105 app-E.1/first-rate",
    ),
    CLIENT.quoted(107),
    CLIENT.without_gap(108, "eq-107"),
    induction.E_CLIENT.first_rate("app-E.1.2"),
    block_rates.E_CLIENT.in_every_round(
        109, "lemma-D.1 eq-67 app-E.1.2/first-rate eq-108"
    ),
    superposition.E.merge(),
    superposition.sequential_bound(),
)
