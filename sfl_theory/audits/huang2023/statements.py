"""``huang2023``: entries of the assumptions and statements."""

from __future__ import annotations

from functools import partial

from sfl_theory.audits.huang2023 import (
    lemmas,
    printed_bound,
    refuted_client,
    refuted_propositions,
)
from sfl_theory.audits.huang2023.readings import (
    ASSUMED,
    JOINT,
    JOINT_WORDS,
    broken,
    claim,
    joint_repair,
    proof,
)
from sfl_theory.evidence.claim import Refutation, Repair

_A = "Sec. Convergence analysis"


ASSUMPTIONS = (
    claim("assumption-1", _A, "assumption", "every f_n is S-smooth", ASSUMED),
    claim("assumption-2", _A, "assumption", "every f_n is mu-strongly convex", ASSUMED),
    claim("assumption-3", _A, "assumption", "variance at most sigma_n^2", ASSUMED),
    claim("assumption-4", _A, "assumption", "E||grad f_n(w; z)||^2 <= R^2", ASSUMED),
    claim(
        "assumption-5", _A, "assumption", "||grad f_n - grad F||^2 <= delta^2", ASSUMED
    ),
    claim(
        "assumptions-2-4",
        f"{_A}, Assumptions 2 and 4",
        "assumption",
        "(entry of the audit) Assumptions 2 and 4 hold together only where "
        "||w - w_n*||^2 <= R^2/mu^2, so never on all of R^d",
        proof(
            "assumptions-2-4",
            lemmas.exclusion,
            "Strong convexity makes gradients grow; the assumptions exclude each other "
            "on R^d and are read on a set that contains what is visited.",
        ),
        "assumption-2 assumption-4",
    ),
)


STATEMENTS = (
    claim(
        "lemma-1",
        "(6)",
        "lemma",
        "E F(w^TEM) - F* <= S/2 (E||w_s - w_s*||^2 + E||w_c - w_c*||^2)",
        proof("lemma-1", lemmas.decomposition, "Smoothness of F at w*."),
        "eq-7 eq-8",
    ),
    claim(
        "eq-7",
        "(7)",
        "equation",
        "E F(w^TEM) - F* <= S/2 E||w^TEM - w*||^2",
        proof("eq-7", lemmas.decomposition, "Smoothness of F at w*, gradient 0 there."),
        "assumption-1",
    ),
    claim(
        "eq-8",
        "(8)",
        "equation",
        "||w - w*||^2 = ||w_c - w_c*||^2 + ||w_s - w_s*||^2",
        proof("eq-8", lemmas.pythagoras, "Blocks are orthogonal; both directions."),
    ),
    claim(
        "cond-eta",
        "Props. 1-2, proofs",
        "condition",
        "2/(mu (gamma + i)) <= 1/(4S) for all i >= 0, gamma = max(8S/mu - 1, EM)",
        broken(
            refuted_client.largest_rate,
            "At i = 0 and gamma = 8S/mu - 1 the rate is 2/(8S - mu) > 1/(4S).",
        ),
        repair=Repair(
            "holds for i >= 1, or for all i with gamma = max(8S/mu, EM)",
            proof("cond-eta", lemmas.later_rates, "gamma + i >= 8S/mu.", "#repair"),
            "gamma = max(8S/mu, EM) for max(8S/mu - 1, EM)",
        ),
    ),
    claim(
        "prop-1",
        "(9)",
        "proposition",
        "E||w_s^TEM - w_s*||^2 <= [8R^2 + mu^2 N^2 (gamma+1)||w_s^0 - w_s*||^2]/"
        "[mu^2 N^2 (gamma + TEM)]",
        Refutation(
            partial(refuted_propositions.server_noise, 100),
            "The bound is of order 1/N^2, the variance of a mean of N gradients 1/N. "
            "(It also fails without noise for N = 1: prop-1/coupling.)",
            (refuted_propositions.server_noise,),
            "with noise (shown at N = 37, 100, 1000); without for N = 1 (.../coupling)",
        ),
        "eq-18 cond-eta",
        joint_repair("prop-1", "joint distance of both blocks, R^2 without 1/N^2"),
    ),
    claim(
        "prop-1/coupling",
        "(9)",
        "proposition",
        "Proposition 1 for one client without noise",
        broken(
            partial(refuted_propositions.coupling, True),
            "The server block starts at its optimum and is pulled away by the client "
            "block, whose initial distance the bound does not contain.",
        ),
        "eq-18 cond-eta",
        joint_repair("prop-1/coupling", "initial distance of both blocks"),
    ),
    claim(
        "prop-2",
        "(10)",
        "proposition",
        "E||w_c^TEM - w_c*||^2 <= [4H + mu^2 (gamma+1) E||w_c^0 - w_c*||^2]/"
        "[mu^2 (gamma + TEM)], H = 6EMR^2 + 12E^2M^2 delta^2 + 6S Gamma + "
        "sum p_n^2 sigma_n^2",
        broken(
            partial(refuted_propositions.coupling, False),
            "The bound lacks the initial distance of the server block. The client "
            "block starts at its optimum and is pulled away by the server block; with "
            "S/mu = 500 the bound falls before the blocks come back.",
            "already for one client without noise (shown at S/mu = 500)",
        ),
        "eq-25 cond-eta",
        joint_repair("prop-2", "initial distance of both blocks"),
    ),
    claim(
        "thm-1",
        "(11)",
        "theorem",
        "E F(w^TEM) - F* <= S (L_s + L_c)/2, the right sides of (9) and (10)",
        proof(
            "thm-1",
            printed_bound.theorem_1,
            "The printed bound holds although Propositions 1 and 2, from which the "
            "paper "
            f"derives it, are false. {JOINT_WORDS} The sum L_s + L_c contains both "
            "initial distances and 24 EM R^2 + 48 E^2M^2 delta^2, more than 4V/3. "
            "Needs "
            "Gamma >= 0 and gamma >= EM; Assumption 3 is not used.",
            scope="for Gamma >= 0 and independent mini-batches",
        ),
        "lemma-1 prop-1 prop-2",
        Repair(
            f"E F(w^TEM) - F* <= S/2 times: {JOINT}",
            proof(
                "thm-1",
                printed_bound.sharper,
                JOINT_WORDS,
                "#repair",
            ),
            "sharper: no Gamma, no sigma_n, smaller constants",
        ),
    ),
)
