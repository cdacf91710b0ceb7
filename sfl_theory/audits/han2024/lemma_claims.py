"""Entries of Prop. 3.5, the lemmas, and the first assumptions that clash."""

from __future__ import annotations

from functools import partial

from sfl_theory.audits.han2024 import appendix_c, convex
from sfl_theory.audits.han2024.assumption_clash import bounded_diameter
from sfl_theory.audits.han2024.entries import identifier, proved, refuted
from sfl_theory.evidence.claim import Claim, Proof, Repair

ASSUMPTIONS = (
    Claim(
        identifier("assumption-3.3/strongly_convex"),
        "Sec. 3.1 and App. C.3",
        "assumption",
        "Where Assumption 3.3 and strong convexity (C.2, mu > 0) hold together, any "
        "two points are at most 2G/mu apart, so they cannot both hold on R^d.",
        proved(
            "assumption-3.3/strongly_convex",
            "Both directions of strong convexity, the gradient bound at both points.",
            bounded_diameter,
        ),
        reading="the strongly convex theorems are vacuous on R^d; they are read on a "
        "set that contains every iterate",
    ),
    Claim(
        identifier("app-C.3/smoothness"),
        "Sec. 3.1 (4), App. C.1 (24)-(25)",
        "assumption",
        "(4) for all x, y implies (24): gradients are S-Lipschitz.",
        refuted(
            "app-C.3/smoothness",
            "(4) bounds curvature from above only; a concave function meets it with "
            "any S. The non-convex proofs use (24).",
        ),
    ),
)

LEMMAS = (
    Claim(
        identifier("prop-3.5"),
        "Proposition 3.5, (9)",
        "proposition",
        "E f(x^T) - f* <= S/2 (E||x_s^T - x_s*||^2 + E||x_c^T - x_c*||^2)",
        proved(
            "prop-3.5",
            "Smoothness at the minimiser.",
            convex.decomposition,
            scope="as printed",
        ),
    ),
    Claim(
        identifier("lemma-C.3"),
        "Lemma C.3, (31)",
        "lemma",
        "<grad h(x), z-y> >= h(z) - h(y) + mu/4 ||y-z||^2 - S ||z-x||^2",
        proved(
            "lemma-C.3",
            "Smoothness x to z, strong convexity x to y, Young.",
            convex.lemma_c3,
        ),
    ),
    Claim(
        identifier("prop-C.4"),
        "Proposition C.4, (35)-(36)",
        "proposition",
        "E f(x^t+1) - f(x^t) splits into the two blocks' inner products and squares.",
        proved("prop-C.4", "Smoothness by blocks.", appendix_c.proposition_c4),
    ),
    Claim(
        identifier("lemma-C.5"),
        "Lemma C.5, (37)",
        "lemma",
        "eta <= 1/(sqrt(6) S tau) implies sum_i E||x_n^t,i - x^t||^2 <= "
        "12 tau^3 eta^2 (2 sigma_n^2 + G^2)",
        proved(
            "lemma-C.5",
            "Bounded gradients bound the drift directly; no step-size condition.",
            appendix_c.lemma_c5,
        ),
    ),
    Claim(
        identifier("lemma-C.6"),
        "Lemma C.6, (42)",
        "lemma",
        "eta <= 1/(sqrt(8) S tau) implies sum_i E||x_n^t,i - x^t||^2 <= "
        "16 tau^3 eta^2 (sigma_n^2 + eps^2 + ||grad f(x^t)||^2)",
        proved(
            "lemma-C.6",
            "Drift, Young and heterogeneity for one client.",
            appendix_c.lemma_c6,
        ),
        reading="for the whole vector x_n and local steps on both blocks",
    ),
    Claim(
        identifier("lemma-C.7"),
        "Lemma C.7, (46)",
        "lemma",
        "eta <= 1/(2 S tau) implies sum_i E||g_n^t,i - g_n^t||^2 <= "
        "8 tau^3 eta^2 S^2 (||grad F_n(x^t)||^2 + sigma_n^2)",
        refuted(
            "lemma-C.7",
            "Stochastic gradients of different steps have different samples; "
            "smoothness of F_n does not make g_n Lipschitz.",
        ),
        repair=Repair(
            "E||g_n^i - g_n^0||^2 <= 2 S^2 E||x_n^i - x^t||^2 + 4 sigma_n^2",
            Proof(
                (
                    partial(
                        appendix_c.lemma_c7_repaired,
                        f"{identifier('lemma-C.7')}#repair",
                    ),
                ),
                "Young, orthogonality of different samples, Lipschitz gradients.",
                (
                    partial(
                        appendix_c.lemma_c7_sharper,
                        f"{identifier('lemma-C.7')}#repair",
                    ),
                ),
            ),
            "the variance enters without the factor eta^2",
        ),
    ),
    *(
        Claim(
            identifier(name),
            where,
            "lemma",
            "The distance of the server block alone contracts and earns the gap: "
            f"E||x_s^t+1 - x_s*||^2 <= {first} - 2 eta {steps} E[f(x^t) - f*] + ...",
            refuted(
                name,
                "A lemma for the whole vector applied to a block: where x_s = x_s* "
                "already, the right side is negative for small eta.",
            ),
            (identifier("lemma-C.3"), identifier("lemma-C.5")),
            repair=Repair(
                "Delta_t+1 <= (1 - eta tau mu/2) Delta_t - 2 eta tau (E f(x^t) - f*) + "
                "c_1 eta^2 tau^2 G^2 + 2 S c_d eta^3 tau^3 G^2 for the whole vector, "
                f"tau_server = tau; {constants}",
                Proof(
                    (partial(convex.one_round, f"{identifier(name)}#repair"),),
                    "Square of the update, Lemma C.3 summed, second moment, drift.",
                ),
                "both blocks together, any learning rate",
            ),
        )
        for name, where, first, steps, constants in (
            (
                "lemma-D.1",
                "Lemma D.1, (53)",
                "(1 - eta tau_server mu/2) E||x_s^t - x_s*||^2",
                "tau_server",
                "c_1 = 1, c_d = 1/3",
            ),
            (
                "lemma-E.1",
                "Lemma E.1, (90)",
                "(1 - N eta tau mu/2) E||x_s^t - x_s*||^2",
                "tau",
                "server steps eta a_n g; c_1 = 1, c_d = 4/3",
            ),
        )
    ),
)
