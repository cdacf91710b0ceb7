"""What ``huang2023`` reads off the figures of its supplement, Sec. 4."""

from __future__ import annotations

from figures.claims import Claim, Within
from figures.effects import average, level, slope
from figures.papers.effects_huang2023 import (
    ACCURACY_14,
    COMMON,
    FIG,
    OURS,
    RATIOS,
    RIVALS,
    ahead,
    by_cut,
    by_cut_and_ratio,
    levels,
)

AGAIN = "We have made similar observations as in Observations 3-5."

CLAIMS = (
    Claim(
        f"{FIG}6-7/cut",
        "From Figs. 6-7, we observe that the loss decreases while the model accuracy "
        "increases in L_c, and the impact is more significant when the non-IID ratio "
        "is higher.",
        "Supplement 4.1, Figs. 6-7",
        "slopes in Lc, mean of the ratios: minus the loss's, and the accuracy's",
        {"loss": -by_cut(6, RATIOS), "accuracy": by_cut(7, RATIOS)},
        also=(
            'Sec. VI ("a simpler 4-layer CNN and observed similar trends as in Figs. '
            '2-3")',
        ),
        audit=("huang2023/observation-1",),
    ),
    Claim(
        f"{FIG}6-7/cut-by-ratio",
        "From Figs. 6-7, we observe that the loss decreases while the model accuracy "
        "increases in L_c, and the impact is more significant when the non-IID ratio "
        "is higher.",
        "Supplement 4.1, Figs. 6-7",
        "slopes in r of these slopes",
        {"loss": -by_cut_and_ratio(6, RATIOS), "accuracy": by_cut_and_ratio(7, RATIOS)},
    ),
    Claim(
        f"{FIG}8/cut",
        "From Fig. 8, we observe that the loss generally decreases in L_c, meaning "
        "that a larger L_c corresponds to a better trained model.",
        "Supplement 4.2, Fig. 8",
        "minus the slope of the test loss in Lc, mean of the ratios",
        {"MiniBatch-SFL": -by_cut(8, RATIOS)},
        also=('Sec. VI ("similar (but opposite) trends")',),
        audit=("huang2023/observation-1",),
    ),
    Claim(
        f"{FIG}9-10/best",
        "From both Figs. 9 and 10, we observe that MiniBatch-SFL achieves a smaller "
        "loss than FL and SFL-V2.",
        "Supplement 4.2, Figs. 9-10",
        "test loss of each minus that of MiniBatch-SFL in each figure, mean of the "
        "ratios",
        {
            f"{other} - MiniBatch-SFL, Fig. {figure}": -average(
                ahead(figure, RATIOS, other)
            )
            for figure in (9, 10)
            for other in RIVALS
        },
        also=('Sec. VI ("similar (but opposite) trends")',),
        audit=("huang2023/observation-5",),
    ),
    Claim(
        f"{FIG}11/minor-iid",
        "From Fig. 11, we observe that the impact of cut later is minor at r% = 0.",
        "Supplement 4.3, Fig. 11 (b)",
        "accuracy at Lc = 2, 3, 4 minus that at 1, each within one point",
        {
            f"Lc = {c + 1}": level(f"{FIG}11", 1, c) - level(f"{FIG}11", 1, 0)
            for c in (1, 2, 3)
        },
        Within(),
    ),
    Claim(
        f"{FIG}11/cut",
        "The impact becomes a bit more significant when r% = 0.5, where a larger L_c "
        "corresponds to a smaller loss and larger accuracy.",
        "Supplement 4.3, Fig. 11 (c), (d)",
        "slopes in Lc at r = 0.5: minus that of the loss, that of the accuracy",
        {"loss": -by_cut(11, (2,)), "accuracy": by_cut(11, (3,))},
    ),
    Claim(
        f"{FIG}11/cut-by-ratio",
        "The impact becomes a bit more significant when r% = 0.5, where a larger L_c "
        "corresponds to a smaller loss and larger accuracy.",
        "Supplement 4.3, Fig. 11",
        "these slopes at r = 0.5 minus those at r = 0",
        {
            "loss": by_cut(11, (0,)) - by_cut(11, (2,)),
            "accuracy": by_cut(11, (3,)) - by_cut(11, (1,)),
        },
    ),
    Claim(
        f"{FIG}14/best",
        "From Fig. 14, we observe that the proposed MiniBatch-SFL has has a slightly "
        "lower loss and higher accuracy than FL and SFL.",
        "Supplement 4.3, Fig. 14",
        "MiniBatch-SFL against each, mean of the ratios, in loss and accuracy",
        {
            f"{what}, {other}": average(ahead(14, panels, other)) * sign
            for what, panels, sign in (
                ("loss", (0, 1, 2), -1.0),
                ("accuracy", ACCURACY_14, 1.0),
            )
            for other in RIVALS
        },
        audit=("huang2023/observation-5",),
    ),
    Claim(
        f"{FIG}14/less-than-cifar10",
        "We argue that the improvement is not so significant mainly because FMNIST is "
        "easier to train than CIFAR-10.",
        "Supplement 4.3, Figs. 5 and 14",
        "lead on CIFAR-10 minus lead on FMNIST, N = 100, mean of r = 0, 0.5, 0.9",
        {
            f"MiniBatch-SFL - {other}": average(ahead(5, COMMON, other))
            - average(ahead(14, ACCURACY_14, other))
            for other in RIVALS
        },
    ),
    Claim(
        f"{FIG}12-13/fl-ahead",
        "Interestingly, from Figs. 12-13, we observe that FL has a better performance "
        "than MiniBatch-SFL.",
        "Supplement 4.3, Figs. 12-13",
        "FL against MiniBatch-SFL, mean of the ratios, in loss and accuracy",
        {
            "loss": average(ahead(12, (0, 1, 2), "FL")),
            "accuracy": -average(ahead(13, (0, 1, 2), "FL")),
        },
        audit=("huang2023/observation-5",),
    ),
    Claim(
        f"{FIG}12-13/speed",
        "Nevertheless, even if MiniBatch-SFL perform slightly worse than FL, it still "
        "converges faster than FL and SFL-V2.",
        "Supplement 4.3, Figs. 12-13",
        "early accuracy of MiniBatch-SFL minus each, mean of the ratios",
        {
            f"MiniBatch-SFL - {other}": average(ahead(13, (0, 1, 2), other, "early"))
            for other in RIVALS
        },
    ),
    Claim(
        f"{FIG}13-14/ratio",
        AGAIN,
        "Sec. VI; supplement 4.3, Figs. 13-14",
        "Observation 3 on FMNIST: minus the slope in r, mean of both figures",
        {
            name: -average([
                slope(levels(13, (0, 1, 2), name)),
                slope(levels(14, ACCURACY_14, name)),
            ])
            for name in OURS
        },
        audit=("huang2023/observation-3",),
    ),
    Claim(
        f"{FIG}13-14/clients",
        AGAIN,
        "Sec. VI; supplement 4.3, Figs. 13-14",
        "Observation 4 on FMNIST: N = 10 minus N = 100, mean of the ratios",
        {
            name: average(levels(13, (0, 1, 2), name))
            - average(levels(14, ACCURACY_14, name))
            for name in OURS
        },
        audit=("huang2023/observation-4",),
    ),
    Claim(
        f"{FIG}13-14/best-by-ratio",
        AGAIN,
        "Sec. VI; supplement 4.3, Figs. 13-14",
        'Observation 5 on FMNIST, "especially when the non-IID ratio is high": slope '
        "in r of MiniBatch-SFL minus each, mean of both figures",
        {
            f"MiniBatch-SFL - {other}": average([
                slope(ahead(13, (0, 1, 2), other)),
                slope(ahead(14, ACCURACY_14, other)),
            ])
            for other in RIVALS
        },
        audit=("huang2023/observation-5",),
    ),
)
