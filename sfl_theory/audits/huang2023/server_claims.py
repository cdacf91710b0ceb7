"""``huang2023``: entries of the proof of Proposition 1, the server block."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from sfl_theory.audits.huang2023 import (
    expansions,
    lemmas,
    refuted_propositions,
    refuted_server,
)
from sfl_theory.audits.huang2023.readings import broken, claim, proof
from sfl_theory.evidence.claim import Repair

_QUARTER = Fraction(1, 4)


_P1 = "Proof of Proposition 1"


SERVER = (
    claim(
        "eq-12/weights",
        f"{_P1}, (12) line 1",
        "equation",
        "the update (3) is w_s - eta (1/N) sum_n grad f_n",
        broken(refuted_server.weights, "(3) has p_n; equal only for p_n = 1/N."),
    ),
    claim(
        "eq-12/local",
        f"{_P1}, (12) line 2",
        "equation",
        "the mean server gradient is grad_s F(w_c, w_s) in expectation",
        broken(
            refuted_server.local_models,
            "Client n's gradient is taken at w_{c,n}; between synchronisations these "
            "differ from w_c.",
        ),
    ),
    claim(
        "eq-12",
        f"{_P1}, (12) inequality",
        "equation",
        "-2 eta <grad_s F(w), w_s - w_s*> <= -mu eta ||w_s - w_s*||^2 - "
        "2 eta [F(w) - F(w_c, w_s*)]",
        proof(
            "eq-12",
            expansions.block_convexity,
            "Strong convexity from w to (w_c, w_s*).",
        ),
        "assumption-2 eq-12/weights eq-12/local",
    ),
    claim(
        "eq-13/1",
        f"{_P1}, (13) 1st inequality",
        "equation",
        "||a + b||^2 <= 2||a||^2 + 2||b||^2",
        proof("eq-13/1", expansions.young_two, "Young."),
    ),
    claim(
        "eq-13/2",
        f"{_P1}, (13) 2nd inequality",
        "equation",
        "||1/N sum a_n||^2 <= 1/N sum ||a_n||^2",
        proof("eq-13/2", expansions.jensen_mean, "Spread about the mean."),
    ),
    claim(
        "eq-13/3",
        f"{_P1}, (13) 3rd inequality",
        "equation",
        "E||1/N sum_n grad_s f_n(w*; z_n)||^2 <= R^2/N^2",
        broken(
            partial(refuted_propositions.mean_gradient, False),
            "Assumption 4 bounds every term by R^2, so the mean by R^2; independent "
            "terms of mean 0 by R^2/N; never by R^2/N^2.",
        ),
        "assumption-4",
        Repair(
            "E||1/N sum_n grad_s f_n(w*; z_n)||^2 <= 1/N sum_n E||grad f_n||^2 (<= "
            "R^2)",
            proof("eq-13/3", expansions.jensen_mean, "Jensen.", "#repair"),
            "R^2 for R^2/N^2",
        ),
    ),
    claim(
        "eq-13/4",
        f"{_P1}, (13) 4th inequality",
        "equation",
        "E||grad_s f_n(w;z) - grad_s f_n(w*;z)||^2 <= 2S E[f_n(w;z) - f_n(w*;z) - "
        "<grad f_n(w*;z), w - w*>]",
        broken(
            refuted_server.sample_cocoercivity,
            "Co-coercivity of f_n(.; z) needs each sample's loss convex and S-smooth; "
            "Assumptions 1-2 speak of the mean.",
        ),
        "assumption-1 assumption-2",
    ),
    claim(
        "eq-13/5",
        f"{_P1}, (13) last equality",
        "equation",
        "the mean of f_n(w) - f_n(w*) - <...> is F(w_c, w_s) - F(w_c, w_s*)",
        broken(
            refuted_server.other_gap, "It is F(w) - F(w*): w_c* is replaced by w_c."
        ),
    ),
    claim(
        "eq-13",
        f"{_P1}, (13)",
        "equation",
        "E||1/N sum grad_s f_n||^2 <= 4S E[F(w_c, w_s) - F(w_c, w_s*)] + 2R^2/N^2",
        broken(
            partial(refuted_propositions.mean_gradient, True),
            "At w*: 1/N against 2R^2/N^2.",
        ),
        "eq-13/1 eq-13/2 eq-13/3 eq-13/4 eq-13/5",
    ),
    claim(
        "eq-14",
        f"{_P1}, (14)",
        "equation",
        "E||w_s^i - w_s*||^2 <= (1 - mu eta) E||w_s^{i-1} - w_s*||^2 - eta E[F(w) - "
        "F(w_c, w_s*)] + 2 eta^2 R^2/N^2 (L read as S)",
        broken(
            partial(refuted_propositions.one_step_noise, _QUARTER), "One step from w*."
        ),
        "eq-12 eq-13",
    ),
    claim(
        "eq-15/sign",
        f"{_P1}, (15) 2nd inequality",
        "equation",
        "-eta [F(w_c, w_s) - F(w_c, w_s*)] <= 0",
        broken(refuted_server.block_gap, "w_s* minimises F(w_c*, .), not F(w_c, .)."),
    ),
    claim(
        "eq-15",
        f"{_P1}, (15); '(26)' there means (14)",
        "equation",
        "Delta^{i+1} <= (1 - mu eta) Delta^i + 2 eta^2 R^2/N^2",
        broken(
            partial(refuted_propositions.one_step_noise, _QUARTER), "One step from w*."
        ),
        "eq-14 eq-15/sign",
    ),
    claim(
        "eq-16",
        f"{_P1}, (16)",
        "equation",
        "if (15) holds for all i, then Delta^{i+1} <= v/(gamma + i + 1)",
        proof(
            "eq-16",
            partial(lemmas.induction, noise="B"),
            "The induction itself is right; its hypothesis (15) is not. The base case "
            "(i = -1, Delta^0 <= v/gamma) holds.",
        ),
    ),
    claim(
        "eq-17",
        f"{_P1}, (17)",
        "equation",
        "Delta^i <= max{8R^2/(mu^2 N^2), (gamma+1) Delta^0}/(gamma + i)",
        broken(refuted_propositions.server_noise, "At most (9), which fails."),
        "eq-15 eq-16",
    ),
    claim(
        "eq-18",
        f"{_P1}, (18)",
        "equation",
        "(17) at i = TEM",
        broken(refuted_propositions.server_noise, "The same right side as (9)."),
        "eq-17",
    ),
    claim(
        "text/server-non-iid",
        "Introduction, Sec. Convergence analysis",
        "text",
        "server-side updates do not depend on the non-IID degree of the clients' data",
        broken(
            refuted_server.heterogeneous_server,
            "Server gradients are taken at local client models, which drift apart: the "
            "same F spread differently over clients moves the server elsewhere.",
        ),
        "eq-12/local",
    ),
)
