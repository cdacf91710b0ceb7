r"""Entries of D.1-G.1: the first rates, and the inductions of (62)-(68), (99)-(105)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sfl_theory.audits.han2024.equations import (
    rates_induction,
    rates_refuted_blocks,
    rates_refuted_merges,
)
from sfl_theory.audits.han2024.readings import BALL, PAPER, WAITS
from sfl_theory.audits.han2024.refuted_conditions import first_rate, sequential_rate
from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.claim import Claim, Paper, Proof, Refutation, Repair
from sfl_theory.evidence.instance import Finding

RATES = (
    "rounds are those of App. C.2 (tau steps of the client side, tau_server of the "
    f"server side, one aggregation), {WAITS}; every side steps with the rate that its "
    "own subsection chooses, 4/(mu tau (gamma+t)) with its own period (N tau, gamma_s "
    "for SFL-V2's server)"
)
ONE_LINE = "one line of the derivation: the expression before it against this one"

full = Paper(PAPER, f"{BALL}; {RATES}")
line = Paper(PAPER, f"{ONE_LINE}; Delta_t, v, B_1, B_2 as defined there")


def _proof(name: str, words: str, *builders: Callable[[str], Certificate]) -> Proof:
    return Proof(tuple(partial(b, f"{PAPER}/{name}") for b in builders), words)


def _first_rate(
    name: str, where: str, rate: str, instance: Callable[[], Finding], sequential: bool
) -> Claim:
    holds = partial(rates_induction.rate_from_first_round, sequential=sequential)
    words = "False at t = 0: 4/(8S - mu) > 1/(2S)."
    if sequential:
        words = (
            "False at t = 0; for large N gamma_s falls below 0 and the rate with it."
        )
    return line.claim(
        name,
        f"App. {where}",
        "condition",
        f"eta^t = {rate} <= 1/(2 S tau) for all t >= 0.",
        Refutation(instance, words),
        repair=Repair(
            f"eta^t = {rate} <= 1/(2 S tau) for all t >= 1",
            _proof(f"{name}#repair", "8S + N mu (t-1) >= 8S.", holds),
            "t >= 1",
        ),
    )


CLIENT_RATE = "4/(mu tau (gamma_c+t)), gamma_c = 8S/mu - 1,"
FIRST_RATES = (
    _first_rate(
        "app-D.1.2/first-rate",
        "D.1.2, below (71)",
        CLIENT_RATE,
        rates_refuted_merges.first_client_rate,
        sequential=False,
    ),
    _first_rate(
        "app-E.1.2/first-rate",
        "E.1.2, below (108)",
        CLIENT_RATE,
        rates_refuted_merges.first_client_rate,
        sequential=False,
    ),
    _first_rate(
        "app-F.1/first-rate",
        "F.1.1, below (129), tau_server in the place of tau",
        "4/(mu tau_server (gamma_s+t)), gamma_s = 8S/mu - 1,",
        first_rate,
        sequential=False,
    ),
    _first_rate(
        "app-F.1.2/first-rate",
        "F.1.2, below (134)",
        CLIENT_RATE,
        rates_refuted_merges.first_client_rate,
        sequential=False,
    ),
    _first_rate(
        "app-G.1/first-rate",
        "G.1.1, below (159)",
        "4/(N mu tau (gamma_s+t)), gamma_s = 8S/(N mu) - 1,",
        sequential_rate,
        sequential=True,
    ),
    _first_rate(
        "app-G.1.2/first-rate",
        "G.1.2, below (164)",
        CLIENT_RATE,
        rates_refuted_merges.first_client_rate,
        sequential=False,
    ),
)

NOISE = "(eta tau)^2/4 B_1 + (eta tau)^3/8 B_2"
SHOWN = "beta^2 B_1/u^2 + beta^3 B_2/u^3"
LEVEL = "max{4 B_1/mu^2 + 8 B_2/(mu^3 (gamma+1)), (gamma+1) Delta_0}"
REWRITTEN = (
    "max{beta^2 B_1/(beta mu-1) + beta^3 B_2/((beta mu-1)(gamma+1)), (gamma+1) Delta_0}"
)
KEPT = f"(u-1)/u^2 v + {SHOWN} - (beta mu-1)/u^2"
BLOCK_ROUND = (
    "A block at distance 0 or close to it is driven outward by the other block at "
    "first order in eta; the right side allows second order."
)
TRUE_INDUCTION = "Delta_t <= v/u times 1 - mu beta/u >= 0"

INDUCTION_D = (
    full.claim(
        "eq-62",
        "App. D.1.1, (62)",
        "equation",
        "E||x_s^t+1 - x_s*||^2 = Delta_t+1 <= (1 - eta tau_server mu/2) Delta_t + "
        "(eta tau_server)^2/4 B_1 + (eta tau_server)^3/8 B_2 at eta^t = 4/(mu "
        "tau_server (gamma+t))",
        Refutation(partial(rates_refuted_blocks.one_round, "D", "server"), BLOCK_ROUND),
        "lemma-D.1 app-D.1/first-rate",
    ),
    line.claim(
        "eq-63",
        "App. D.1.1, (62)-(63)",
        "equation",
        f"Delta_t <= v/u implies (1 - eta tau mu/2) Delta_t + {NOISE} <= "
        f"(1 - mu beta/u) v/u + {NOISE}, u = gamma + t",
        _proof(
            "eq-63",
            f"{TRUE_INDUCTION}, as u >= 7.",
            partial(rates_induction.hypothesis_used, clients=1),
        ),
    ),
    line.claim(
        "eq-64",
        "App. D.1.1, (63)-(64)",
        "equation",
        f"(1 - mu beta/u) v/u + {NOISE} = {KEPT} v, eta tau = 2 beta/u",
        Proof(rates_induction.rate_inserted(f"{PAPER}/eq-64"), "Both directions."),
    ),
    line.claim(
        "eq-65",
        "App. D.1.1, (64)-(65)",
        "equation",
        f"{KEPT} v = {KEPT} {LEVEL}",
        Proof(
            rates_induction.maximum_inserted(f"{PAPER}/eq-65", sequential=False),
            "The definition of v, in both directions.",
        ),
    ),
    line.claim(
        "eq-66",
        "App. D.1.1, (65)-(66)",
        "equation",
        f"{KEPT} {LEVEL} = {KEPT} {REWRITTEN}, beta = 2/mu",
        Proof(
            rates_induction.argument_rewritten(f"{PAPER}/eq-66"),
            "The first arguments of the maximum are equal, all else is the same.",
        ),
    ),
    line.claim(
        "eq-68",
        "App. D.1.1, (67)-(68)",
        "equation",
        "(u-1)/u^2 v <= v/(u+1), u = gamma + t, v >= 0",
        Proof(
            rates_induction.last_line(f"{PAPER}/eq-68", sequential=False),
            "u^2 - 1 <= u^2.",
        ),
    ),
)


def _sequential_repair(
    name: str, statement: str, change: str, build: Callable[[str], Certificate]
) -> Repair:
    return Repair(statement, _proof(f"{name}#repair", change, build), change)


INDUCTION_E = (
    full.claim(
        "eq-99",
        "App. E.1.1, (99)",
        "equation",
        "E||x_s^t+1 - x_s*||^2 = Delta_t+1 <= (1 - N eta tau mu/2) Delta_t + "
        f"{NOISE} at eta^t = 4/(N mu tau (gamma_s+t))",
        Refutation(partial(rates_refuted_blocks.one_round, "E", "server"), BLOCK_ROUND),
        "lemma-E.1 app-E.1/first-rate",
    ),
    line.claim(
        "eq-100",
        "App. E.1.1, (99)-(100)",
        "equation",
        f"Delta_t <= v/u implies (1 - N eta tau mu/2) Delta_t + {NOISE} <= "
        f"(1 - mu beta/u) v/u + {NOISE}, u = gamma_s + t",
        Refutation(
            rates_refuted_merges.negative_factor,
            "1 - mu beta/u = 1 - 2/u is negative where 0 < u < 2: at t = 0 for N > "
            "8S/(3 mu), at t = 1 for N > 4S/mu.",
        ),
        repair=_sequential_repair(
            "eq-100",
            "(99) <= (100) where gamma_s + t >= 2",
            "gamma_s + t >= 2",
            rates_induction.hypothesis_used,
        ),
    ),
    line.claim(
        "eq-101",
        "App. E.1.1, (100)-(101)",
        "equation",
        f"(1 - mu beta/u) v/u + {NOISE} = {KEPT} v, eta tau = 2 beta/(N u)",
        Refutation(
            rates_refuted_merges.lost_factor,
            "(eta tau)^2/4 is beta^2/(N u)^2: 1/N^2 and 1/N^3 are lost; for N >= 2 the "
            "two sides differ.",
        ),
        repair=_sequential_repair(
            "eq-101",
            "(100) <= (101) where gamma_s + t > 0",
            "<= in the place of =, gamma_s + t > 0",
            rates_induction.rate_inserted_sequential,
        ),
    ),
    line.claim(
        "eq-102",
        "App. E.1.1, (101)-(102)",
        "equation",
        f"{KEPT} v = {KEPT} {LEVEL}, gamma = gamma_s",
        Proof(
            rates_induction.maximum_inserted(f"{PAPER}/eq-102", sequential=True),
            "The definition of v, in both directions, for u > 0 and u < 0.",
        ),
    ),
    line.claim(
        "eq-103",
        "App. E.1.1, (102)-(103)",
        "equation",
        f"{KEPT} {LEVEL} = {KEPT} {REWRITTEN}, beta = 2/mu, gamma = gamma_s",
        Proof(
            rates_induction.argument_rewritten(f"{PAPER}/eq-103"),
            "The first arguments of the maximum are equal, all else is the same.",
        ),
    ),
    line.claim(
        "eq-104",
        "App. E.1.1, (103)-(104)",
        "equation",
        f"{KEPT} v <= (u-1)/u^2 v for every t >= 0, u = gamma_s + t",
        Refutation(
            partial(rates_refuted_merges.noise_at_zero, 1),
            "At t = 0 it needs 1/gamma_s <= 1/(gamma_s+1), as (67) does.",
            (partial(rates_refuted_merges.noise_at_zero, 2),),
        ),
        repair=_sequential_repair(
            "eq-104",
            "(103) <= (104) for t >= 1",
            "t >= 1",
            rates_induction.noise_absorbed,
        ),
    ),
    line.claim(
        "eq-105",
        "App. E.1.1, (104)-(105)",
        "equation",
        "(u-1)/u^2 v <= v/(u+1), u = gamma_s + t different from 0, v >= 0",
        Proof(
            rates_induction.last_line(f"{PAPER}/eq-105", sequential=True),
            "u^2 - 1 <= u^2 and u > -1.",
        ),
    ),
)

CLAIMS: tuple[Claim, ...] = (*FIRST_RATES, *INDUCTION_D, *INDUCTION_E)
