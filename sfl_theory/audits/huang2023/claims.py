"""The entries of ``huang2023``: its claims and what decides them."""

from __future__ import annotations

from sfl_theory.audits.huang2023.client_claims import CLIENT
from sfl_theory.audits.huang2023.readings import claim
from sfl_theory.audits.huang2023.server_claims import SERVER
from sfl_theory.audits.huang2023.statements import ASSUMPTIONS, STATEMENTS
from sfl_theory.evidence.claim import Claim, Open

OTHERS = (
    claim(
        "alg-1",
        "Algorithm 1",
        "algorithm",
        "the box is (3)-(5) with mini-batches of a random partition",
        Open(
            "The box samples a mini-batch per step, the text deals out each epoch; the "
            "analysis needs independent ones. Box and (3)-(5) agree otherwise by "
            "reading; no certificate is defined for that."
        ),
    ),
    *(
        claim(
            f"observation-{k}",
            f"Observation {k}",
            "text",
            statement,
            Open("Rests on figures without printed numbers; nothing to compute."),
        )
        for k, statement in enumerate(
            (
                "accuracy generally increases in L_c",
                "gradient variances generally decrease in L_c",
                "accuracies decrease in the non-IID ratio",
                "accuracies decrease in the number of clients",
                "MiniBatch-SFL outperforms FL and SFL-V2, by up to 17.1 % and 24.1 % "
                "(Sec. 4.3 of the supplement reports FL ahead on FMNIST with N = 10)",
            ),
            1,
        )
    ),
)


CLAIMS: tuple[Claim, ...] = (*ASSUMPTIONS, *STATEMENTS, *SERVER, *CLIENT, *OTHERS)
