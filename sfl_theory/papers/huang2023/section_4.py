"""Performance evaluation: Observations 1-5, which rest on figures."""

from __future__ import annotations

from sfl_theory.claims import Claim, Kind

FIGURES = "Rests on figures without printed numbers; nothing to compute."


def observation(number: int, title: str, words: str = "") -> Claim:
    """Return the entry of an observation."""
    return Claim(
        f"huang2023/observation-{number}",
        f"Observation {number}",
        Kind.TEXT,
        title,
        words=f"{FIGURES} {words}".strip(),
    )


CLAIMS = (
    observation(
        1,
        "Accuracy under MiniBatch-SFL generally increases in L_c.",
        "No quantity of Theorem 1 depends on L_c.",
    ),
    observation(
        2,
        "The average gradient variances, at a client and across clients, generally "
        "decrease in L_c.",
        "They are divided by L_c, so they fall for many profiles.",
    ),
    observation(
        3,
        "The accuracies under FL, SFL-V2 and MiniBatch-SFL decrease in the non-IID "
        "ratio.",
    ),
    observation(
        4,
        "The accuracies under FL, SFL-V2 and MiniBatch-SFL decrease in the number of "
        "clients.",
        "Compared are N = 10 with L_c = 2 and N = 100 with L_c = 4.",
    ),
    observation(
        5,
        "MiniBatch-SFL outperforms FL and SFL-V2, by up to 17.1 % and 24.1 %.",
        "Sec. 4.3 of the supplement reports FL ahead on FMNIST with N = 10.",
    ),
)
