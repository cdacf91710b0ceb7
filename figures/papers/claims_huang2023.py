"""What ``huang2023`` reads off the figures of its Sec. VI.

In Fig. 5 all split algorithms are cut at 4, in Fig. 4 at 2, so whatever compares the
two compares more than the number of clients; that is the paper's comparison.
"""

from __future__ import annotations

from figures.claims import Claim, Within
from figures.effects import average, level, slope
from figures.papers.effects_huang2023 import (
    CIFAR,
    FIG,
    FMNIST,
    OURS,
    RATIOS,
    RIVALS,
    ahead,
    ahead_at_095,
    by_cut,
    by_cut_and_ratio,
    levels,
)

GAIN = (
    "When compared with SFL-V2 and FL, the accuracy improvement can be up to 24.1% and "
    "17.1% when the non-IID ratio is high (i.e., r% = 0.95), respectively."
)
ALSO_GAIN = ("Abstract", "Sec. I, contributions", "Sec. VII")

CLAIMS = (
    Claim(
        f"{FIG}2/cut",
        "Observation 1. The accuracy under MiniBatch-SFL generally increases in L_c.",
        "Sec. VI, Fig. 2",
        "slope of the accuracy in Lc, mean of the ratios, on each data set",
        {"CIFAR-10": by_cut(2, CIFAR), "FMNIST": by_cut(2, FMNIST)},
        also=("Abstract", "Sec. I, contributions", "Sec. VII"),
        audit=("huang2023/observation-1",),
    ),
    Claim(
        f"{FIG}2/cut-by-ratio",
        "In addition, as the non-IID degree of the clients' datasets increases (e.g., "
        "non-IID ratios change from 0.8 to 0.95), the impact of cut layer becomes more "
        "significant, under which a larger L_c is more beneficial.",
        "Sec. VI, Fig. 2 (c)-(h)",
        "slope in r of the slope in Lc, r = 0.8, 0.9, 0.95, mean of both data sets",
        {
            "MiniBatch-SFL": average([
                by_cut_and_ratio(2, CIFAR[2:]),
                by_cut_and_ratio(2, FMNIST),
            ])
        },
    ),
    *(
        Claim(
            f"{FIG}3/{name}",
            "Observation 2. Both the average gradient variances at a client and across "
            "clients generally decrease in L_c.",
            f"Sec. VI, Fig. 3 ({letters})",
            f"minus the slope in Lc of the logarithm of the mean variance {words}, "
            "mean of both data sets",
            {words: -by_cut(3, panels, "log_mean")},
            also=also,
            audit=("huang2023/observation-2",),
        )
        for name, words, letters, panels, also in (
            ("at-client", "at a client", "a, c", (0, 2), ()),
            (
                "across-clients",
                "across clients",
                "b, d",
                (1, 3),
                ("Abstract", "Sec. I, contributions", "Sec. VII"),
            ),
        )
    ),
    Claim(
        f"{FIG}4-5/ratio",
        "Observation 3. The accuracies under FL, SFL-V2, and MiniBatch-SFL decrease in "
        "the non-IID ratio.",
        "Sec. VI, Figs. 4-5",
        "minus the slope of each method's accuracy in r, mean of both figures",
        {
            name: -average([slope(levels(figure, RATIOS, name)) for figure in (4, 5)])
            for name in OURS
        },
        audit=("huang2023/observation-3",),
    ),
    Claim(
        f"{FIG}4-5/centralized",
        "The performance of centralized learning (CL), however, is not affected by the "
        "non-IID ratio.",
        "Sec. VI, Figs. 4-5",
        "CL at every other ratio minus CL at r = 0, within one point",
        {
            f"Fig. {figure}, panel {'abcde'[panel]}": level(
                f"{FIG}{figure}", panel, "CL"
            )
            - level(f"{FIG}{figure}", 0, "CL")
            for figure in (4, 5)
            for panel in RATIOS[1:]
        },
        Within(),
    ),
    Claim(
        f"{FIG}4-5/clients",
        "Observation 4. The accuracies under FL, SFL-V2, and MiniBatch-SFL decrease in "
        "the number of clients.",
        "Sec. VI, Figs. 4-5",
        "each method's accuracy at N = 10 minus that at N = 100, mean of the ratios",
        {
            name: average(levels(4, RATIOS, name)) - average(levels(5, RATIOS, name))
            for name in OURS
        },
        audit=("huang2023/observation-4",),
    ),
    Claim(
        f"{FIG}4-5/best",
        "Observation 5. MiniBatch-SFL outperforms FL and SFL-V2, especially when the "
        "non-IID ratio is high.",
        "Sec. VI, Figs. 4-5",
        "MiniBatch-SFL minus each, mean of the ratios and both figures",
        {
            f"MiniBatch-SFL - {other}": average(
                ahead(4, RATIOS, other) + ahead(5, RATIOS, other)
            )
            for other in RIVALS
        },
        also=ALSO_GAIN,
        audit=("huang2023/observation-5",),
    ),
    Claim(
        f"{FIG}4-5/best-by-ratio",
        "Observation 5. MiniBatch-SFL outperforms FL and SFL-V2, especially when the "
        "non-IID ratio is high.",
        "Sec. VI, Figs. 4-5",
        "slope in r of MiniBatch-SFL minus each, mean of both figures",
        {
            f"MiniBatch-SFL - {other}": average([
                slope(ahead(figure, RATIOS, other)) for figure in (4, 5)
            ])
            for other in RIVALS
        },
        audit=("huang2023/observation-5",),
    ),
    *(
        Claim(
            f"{FIG}4-5/gain-{name}",
            GAIN,
            "Sec. VI, Figs. 4-5 (e)",
            f"largest lead over {other} at r = 0.95 in the two figures, as printed",
            {f"MiniBatch-SFL - {other}": ahead_at_095(other)},
            Within(printed),
            also=ALSO_GAIN,
            audit=("huang2023/observation-5",),
            at_paper_size=True,
        )
        for name, other, printed in (("v2", "SFL-V2", 24.1), ("fl", "FL", 17.1))
    ),
    Claim(
        f"{FIG}4-5/speed",
        "We show that MiniBatch-SFL converges faster and achieves a higher accuracy "
        "than conventional SFL and FL.",
        "Sec. I, contributions; Figs. 4-5",
        "early accuracy of MiniBatch-SFL minus each, mean of ratios and both figures",
        {
            f"MiniBatch-SFL - {other}": average(
                ahead(4, RATIOS, other, "early") + ahead(5, RATIOS, other, "early")
            )
            for other in RIVALS
        },
    ),
)
