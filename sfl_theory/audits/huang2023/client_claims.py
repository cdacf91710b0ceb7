"""``huang2023``: entries of the proof of Proposition 2, the client block."""

from __future__ import annotations

from functools import partial

from sfl_theory.audits.huang2023 import (
    drift_any_rate,
    expansions,
    lemmas,
    refuted_client,
    refuted_propositions,
    sharper,
)
from sfl_theory.audits.huang2023.readings import broken, claim, proof

_P2 = "Proof of Proposition 2"


_L2 = "Deferred proof of Lemma 2"


CLIENT = (
    claim(
        "gradient-point",
        f"{_P2}, preliminaries",
        "equation",
        "the algorithm's mean gradient is sum p_n grad f_n(v_{c,n}^i, w_s^i)",
        broken(
            refuted_client.gradient_point,
            "After a synchronisation the algorithm takes it at w_{c,n}^i; elsewhere v "
            "= "
            "w. Read as w below.",
        ),
    ),
    claim(
        "lemma-2",
        "(19)",
        "lemma",
        "E||v_c^{i+1} - w_c*||^2 <= (1 - mu eta) E||w_c^i - w_c*||^2 + 2 sum p_n "
        "E||w_c^i - w_{c,n}^i||^2 + 6S eta^2 Gamma + eta^2 E||noise||^2",
        broken(
            partial(refuted_client.block_step, "step"),
            "A step of the client block is not zero at w_c = w_c* when w_s != w_s*: "
            "the "
            "lemma of Li et al. for the whole vector is applied to a block.",
        ),
        "eq-26 eq-34",
    ),
    claim(
        "lemma-3",
        "(20)",
        "lemma",
        "E||mean gradient - mean stochastic gradient||^2 <= sum p_n^2 sigma_n^2",
        proof("lemma-3", lemmas.independent_noise, "Independent clients."),
        "assumption-3",
    ),
    claim(
        "lemma-4",
        "(21)",
        "lemma",
        "sum p_n E||w_{c,n} - mean||^2 <= 3EM R^2 eta^2 + 6E^2M^2 eta^2 delta^2 for "
        "eta = 2/(mu (gamma + i)) and any gamma > 0",
        proof(
            "lemma-4",
            drift_any_rate.drift,
            "By another proof than the one it cites, for a constant or slowly "
            "decreasing step: induction over the steps of a round with the current "
            "rate, which strong convexity's contraction pays for; the first step at "
            "gamma + i <= 7/5 by mu ||w_n - mean|| <= R + delta.",
        ),
        "assumption-2 assumption-4 assumption-5",
    ),
    claim(
        "eq-22",
        f"{_P2}, (22); 'Lemmas 1-3' there means 2-4",
        "equation",
        "Delta_c^{i+1} <= (1 - mu eta) Delta_c^i + eta^2 H",
        broken(
            refuted_client.client_recursion,
            "With w_s off its optimum the client gradient can lead away from w_c*, to "
            "first order in eta.",
        ),
        "lemma-2 lemma-3 lemma-4",
    ),
    claim(
        "eq-23",
        f"{_P2}, (23)",
        "equation",
        "if (22) holds for all i, then Delta^{i+1} <= v/(gamma + i + 1)",
        proof(
            "eq-23",
            partial(lemmas.induction, noise="H"),
            "The induction is right (eta_s there means eta_c); its hypothesis is not.",
        ),
    ),
    claim(
        "eq-24",
        f"{_P2}, (24)",
        "equation",
        "Delta_c^i <= max{4H/mu^2, (gamma+1) Delta_c^0}/(gamma + i)",
        broken(
            partial(refuted_propositions.coupling, False), "At most (10), which fails."
        ),
        "eq-22 eq-23",
    ),
    claim(
        "eq-25",
        f"{_P2}, (25)",
        "equation",
        "(24) at i = TEM",
        broken(
            partial(refuted_propositions.coupling, False),
            "The same right side as (10).",
        ),
        "eq-24",
    ),
    claim(
        "eq-26",
        f"{_L2}, (26)",
        "equation",
        "||v_c^{i+1} - w_c*||^2 = A_1 + A_2 + eta^2 ||noise||^2",
        proof("eq-26", expansions.step_identities, "Expansion, both directions."),
    ),
    claim(
        "eq-27",
        f"{_L2}, (27)",
        "equation",
        "A_1 = ||w_c - w_c*||^2 + B_1 + B_2",
        proof("eq-27", expansions.gradient_identity, "Expansion, both directions."),
    ),
    claim(
        "eq-28",
        f"{_L2}, (28)",
        "equation",
        "||sum p_n grad f_n||^2 <= sum p_n ||grad f_n||^2 <= 2S sum p_n (f_n - f_n*)",
        proof(
            "eq-28",
            expansions.self_bounding,
            "Jensen (weights read as a probability), then a step of 1/S. f_n* is the "
            "minimum of f_n over both blocks.",
        ),
        "assumption-1",
    ),
    claim(
        "eq-29",
        f"{_L2}, (29)",
        "equation",
        "B_1 split at w_{c,n}",
        proof("eq-29", expansions.split_identity, "Bilinear, both directions."),
    ),
    claim(
        "eq-30",
        f"{_L2}, (30)",
        "equation",
        "-2<wbar - w_n, grad f_n> <= ||wbar - w_n||^2/eta + eta ||grad f_n||^2",
        proof("eq-30", expansions.young_rate, "One square."),
    ),
    claim(
        "eq-31",
        f"{_L2}, (31)",
        "equation",
        "-<w_{c,n} - w_c*, grad f_n> <= -(f_n - f_n(w_c*, w_s)) - mu/2 ||w_{c,n} - "
        "w_c*||^2",
        proof("eq-31", expansions.block_convexity, "Strong convexity, times 2 eta."),
        "assumption-2 gradient-point",
    ),
    claim(
        "eq-32",
        f"{_L2}, (32)",
        "equation",
        "A_1 <= (1 - mu eta)||wbar_c - w_c*||^2 + sum p_n ||wbar_c - w_{c,n}||^2 + C",
        proof(
            "eq-32",
            expansions.sum_of_steps,
            "(28)-(31), Jensen in the right direction.",
            sharper=sharper.steps_apart,
        ),
        "eq-27 eq-28 eq-29 eq-30 eq-31",
    ),
    claim(
        "eq-33/1",
        f"{_L2}, (33) 1st inequality",
        "equation",
        "C <= -gamma_c sum p_n (f_n - F*) + (2 eta - gamma_c) Gamma",
        broken(refuted_client.first_bound_of_C, "Uses F(w_c*, w_s) <= F*."),
    ),
    claim(
        "eq-33",
        f"{_L2}, (33)",
        "equation",
        "C <= 6S eta^2 Gamma + sum p_n ||w_{c,n} - w_c*||^2",
        broken(
            partial(refuted_client.block_step, "C"),
            "At w_c = w_c*, Gamma = 0 the right side is 0, C is not. ((34) has "
            "||wbar_c - w_{c,n}||^2 in its place: a misprint in one of them.)",
        ),
        "eq-33/1 cond-eta",
    ),
    claim(
        "eq-34",
        f"{_L2}, (34)",
        "equation",
        "A_1 <= (1 - mu eta)||wbar_c - w_c*||^2 + 2 sum p_n ||wbar_c - w_{c,n}||^2 + "
        "6S eta^2 Gamma",
        broken(
            partial(refuted_client.block_step, "step"), "At w_c = w_c*, w_s != w_s*."
        ),
        "eq-32 eq-33",
    ),
)
