"""Entries of single steps, step-size sentences and the rows of Table 1."""

from __future__ import annotations

from functools import partial

from sfl_theory.audits.han2024 import convex
from sfl_theory.audits.han2024.entries import identifier, refuted
from sfl_theory.audits.han2024.equations import non_convex_blocks, rates_induction
from sfl_theory.audits.han2024.refutations import REFUTATIONS
from sfl_theory.evidence.claim import Claim, Proof, Refutation, Repair

STEPS = (
    Claim(
        identifier("thm-3.8/non_convex/eq-3"),
        "Theorem 3.8, (19), with Sec. 2.3 (3) and Algorithm 1",
        "theorem",
        "(19) for SFL-V1 whose servers aggregate models as in (3).",
        refuted(
            "thm-3.8/non_convex/eq-3",
            "(3) multiplies the model by a random factor of mean square 1/q; without "
            "noise and heterogeneity it still diverges.",
        ),
        (identifier("eq-3"),),
        reading="an empty round gives the empty sum 0; the nearest true statement is "
        "thm-3.8/non_convex, the aggregation of updates",
    ),
    Claim(
        identifier("eq-67"),
        "App. D.1, (65)-(67)",
        "equation",
        "The induction step (65) <= (67) for every t >= 0.",
        refuted(
            "eq-67",
            "At t = 0 it needs 8B_2/(mu^3 (gamma+1)) >= 8B_2/(mu^3 gamma).",
        ),
        repair=Repair(
            "(65) <= (67) for t >= 1",
            Proof(
                (
                    partial(
                        rates_induction.noise_absorbed,
                        f"{identifier('eq-67')}#repair",
                        "(65) <= (67)",
                    ),
                ),
                "gamma + t >= gamma + 1; t = 0 needs an argument of its own.",
            ),
            "t >= 1",
        ),
    ),
    Claim(
        identifier("app-D.1/first-rate"),
        "App. D.1.1, below (61)",
        "condition",
        "eta^t = 4/(mu tau_server (gamma+t)) <= 1/(2 S tau_server) for all t >= 0.",
        refuted("app-D.1/first-rate", "False at t = 0: 4/(8S - mu) > 1/(2S)."),
    ),
    Claim(
        identifier("app-E.1/first-rate"),
        "App. E.1.1, below (98)",
        "condition",
        "eta^t = 4/(N mu tau (gamma_s+t)) <= 1/(2 S tau), gamma_s = 8S/(N mu) - 1.",
        refuted(
            "app-E.1/first-rate",
            "For large N gamma_s falls below 0; the rate explodes or is negative.",
        ),
    ),
    Claim(
        identifier("eq-78"),
        "App. D.3.1, (78)",
        "equation",
        "E<grad_s f, x_s^t+1 - x_s^t> <= -eta tau_server/2 ||grad_s f||^2 + "
        "N eta S^2/2 sum_n a_n^2 sum_i E||x_s,n^t,i - x_s^t||^2",
        refuted(
            "eq-78",
            "The server's gradient changes when the client block moves; smoothness "
            "bounds it by the move of the whole vector.",
        ),
        repair=Repair(
            "E<grad_s f, x_s^t+1 - x_s^t> <= -eta tau_server/2 ||grad_s f||^2 + "
            "N eta S^2/2 sum_n a_n^2 sum_i E||x_n^t,i - x^t||^2",
            Proof(
                (
                    partial(
                        non_convex_blocks.inner_product,
                        f"{identifier('eq-78')}#repair",
                        "v1",
                    ),
                ),
                "Polarisation, Jensen, Lipschitz gradients.",
            ),
            "the move of the whole vector on the right",
        ),
    ),
    Claim(
        identifier("eq-127"),
        "App. F.1.1, (127)",
        "equation",
        "SFL-V1: E||xbar_s - x_s||^2 <= N tau_server^2 eta^2 G^2 sum_n a_n^2/q_n",
        Proof(
            (partial(convex.participation_distance, identifier("eq-127")),),
            "Bias and variance over participation, Cauchy-Schwarz over clients.",
            (partial(convex.participation_variance, identifier("eq-127")),),
        ),
    ),
    *(
        Claim(
            identifier(f"step-{number}/{side}"),
            f"Theorem {number}, strongly convex",
            "condition",
            f"The printed {side} step size meets the condition of Lemma D.1.",
            refuted(f"step-{number}/{side}", "tau and tau_server are swapped."),
        )
        for number in ("3.6", "3.8")
        for side in ("client", "server")
    ),
    Claim(
        identifier("step-3.9/non_convex"),
        "Theorem 3.9, non-convex, and App. G.3 (183)",
        "condition",
        "The printed condition (sum_n a_n^2/q_n) implies the one that (183) uses "
        "(sum_n 1/q_n).",
        refuted("step-3.9/non_convex", "It admits steps that are too large."),
    ),
    Claim(
        identifier("eq-3"),
        "Sec. 2.3 (3), Algorithms 1 and 2, App. C.2",
        "algorithm",
        "Aggregating models (3) is the update analysed in App. C.2.",
        refuted(
            "eq-3",
            "sum of a_n/q_n over the participants is not 1: (3) scales the model even "
            "where gradients vanish.",
        ),
    ),
    Claim(
        identifier("app-C.2/client-sum"),
        "App. C.2 against Algorithms 1 and 2",
        "algorithm",
        "The client sums of App. C.2, i = 0..tau, are the algorithms' local steps.",
        refuted("app-C.2/client-sum", "They have one gradient more."),
    ),
)

TABLES = tuple(
    Claim(
        key,
        "App. H, Table 1",
        "table",
        {
            "non_convex": "The row bounds the theorem's right side up to a constant.",
            "general_convex": "The row bounds the theorem's right side up to a "
            "constant.",
        }[key.split("/")[-1]]
        + f" (Theorem {key.split('/')[-2]}; up to a factor of 1000)",
        Refutation(
            instances[0],
            {
                "non_convex": "The row drops the learning rate: the theorem's second "
                "term does not fall with T.",
                "general_convex": "The row drops I_err from the roots.",
            }[key.split("/")[-1]],
        ),
        reading="for every admitted rate, constant ones included; 'absolute constants "
        "omitted' is up to a factor 1000"
        if key.endswith("/non_convex")
        else "",
    )
    for key, instances in REFUTATIONS.items()
    if "/table-1/" in key
)
