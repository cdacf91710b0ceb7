"""What ``huang2023`` reads off its figures (Sec. VI, supplement Sec. 4).

In Fig. 5 all split algorithms are cut at 4, in Fig. 4 at 2, so whatever compares the
two compares more than the number of clients; that is the paper's comparison.
"""

from __future__ import annotations

from collections.abc import Sequence

from figures.claims import Claim, Within
from figures.effects import Effect, along, average, largest, level, slope

FIG = "huang2023/fig-"
MB = "MiniBatch-SFL"
OURS = (MB, "FL", "SFL-V2")
RIVALS = ("FL", "SFL-V2")
RATIOS = tuple(range(5))
CIFAR, FMNIST = tuple(range(5)), (5, 6, 7)
ACCURACY_14 = (3, 4, 5)
COMMON = (0, 1, 3)
"""Panels of Fig. 5 with the ratios of Fig. 14: 0, 0.5, 0.9."""


def _cut(figure: int, panels: Sequence[int], summary: str = "final") -> Effect:
    """Return the slope in Lc, on average over panels."""
    return average([along(f"{FIG}{figure}", panel, summary) for panel in panels])


def _cut_by_ratio(figure: int, panels: Sequence[int]) -> Effect:
    """Return how much the slope in Lc grows from panel to panel."""
    return slope([along(f"{FIG}{figure}", panel) for panel in panels])


def _levels(figure: int, panels: Sequence[int], name: str) -> list[Effect]:
    return [level(f"{FIG}{figure}", panel, name) for panel in panels]


def _ahead(
    figure: int, panels: Sequence[int], other: str, summary: str = "final"
) -> list[Effect]:
    """Return MiniBatch-SFL minus another method in every panel."""
    key = f"{FIG}{figure}"
    return [
        level(key, panel, MB, summary) - level(key, panel, other, summary)
        for panel in panels
    ]


def _at_095(other: str) -> Effect:
    """Return the larger lead of Figs. 4 (e) and 5 (e)."""
    return largest([*_ahead(4, (4,), other), *_ahead(5, (4,), other)])


GAIN = (
    "When compared with SFL-V2 and FL, the accuracy improvement can be up to 24.1% and "
    "17.1% when the non-IID ratio is high (i.e., r% = 0.95), respectively."
)
AGAIN = "We have made similar observations as in Observations 3-5."
ALSO_GAIN = ("Abstract", "Sec. I, contributions", "Sec. VII")

CLAIMS = (
    Claim(
        f"{FIG}2/cut",
        "Observation 1. The accuracy under MiniBatch-SFL generally increases in L_c.",
        "Sec. VI, Fig. 2",
        "slope of the accuracy in Lc, mean of the ratios, on each data set",
        {"CIFAR-10": _cut(2, CIFAR), "FMNIST": _cut(2, FMNIST)},
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
                _cut_by_ratio(2, CIFAR[2:]),
                _cut_by_ratio(2, FMNIST),
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
            {words: -_cut(3, panels, "log_mean")},
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
            name: -average([slope(_levels(figure, RATIOS, name)) for figure in (4, 5)])
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
            name: average(_levels(4, RATIOS, name)) - average(_levels(5, RATIOS, name))
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
                _ahead(4, RATIOS, other) + _ahead(5, RATIOS, other)
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
                slope(_ahead(figure, RATIOS, other)) for figure in (4, 5)
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
            {f"MiniBatch-SFL - {other}": _at_095(other)},
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
                _ahead(4, RATIOS, other, "early") + _ahead(5, RATIOS, other, "early")
            )
            for other in RIVALS
        },
    ),
    Claim(
        f"{FIG}6-7/cut",
        "From Figs. 6-7, we observe that the loss decreases while the model accuracy "
        "increases in L_c, and the impact is more significant when the non-IID ratio "
        "is higher.",
        "Supplement 4.1, Figs. 6-7",
        "slopes in Lc, mean of the ratios: minus the loss's, and the accuracy's",
        {"loss": -_cut(6, RATIOS), "accuracy": _cut(7, RATIOS)},
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
        {"loss": -_cut_by_ratio(6, RATIOS), "accuracy": _cut_by_ratio(7, RATIOS)},
    ),
    Claim(
        f"{FIG}8/cut",
        "From Fig. 8, we observe that the loss generally decreases in L_c, meaning "
        "that a larger L_c corresponds to a better trained model.",
        "Supplement 4.2, Fig. 8",
        "minus the slope of the test loss in Lc, mean of the ratios",
        {"MiniBatch-SFL": -_cut(8, RATIOS)},
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
                _ahead(figure, RATIOS, other)
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
        {"loss": -_cut(11, (2,)), "accuracy": _cut(11, (3,))},
    ),
    Claim(
        f"{FIG}11/cut-by-ratio",
        "The impact becomes a bit more significant when r% = 0.5, where a larger L_c "
        "corresponds to a smaller loss and larger accuracy.",
        "Supplement 4.3, Fig. 11",
        "these slopes at r = 0.5 minus those at r = 0",
        {
            "loss": _cut(11, (0,)) - _cut(11, (2,)),
            "accuracy": _cut(11, (3,)) - _cut(11, (1,)),
        },
    ),
    Claim(
        f"{FIG}14/best",
        "From Fig. 14, we observe that the proposed MiniBatch-SFL has has a slightly "
        "lower loss and higher accuracy than FL and SFL.",
        "Supplement 4.3, Fig. 14",
        "MiniBatch-SFL against each, mean of the ratios, in loss and accuracy",
        {
            f"{what}, {other}": average(_ahead(14, panels, other)) * sign
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
            f"MiniBatch-SFL - {other}": average(_ahead(5, COMMON, other))
            - average(_ahead(14, ACCURACY_14, other))
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
            "loss": average(_ahead(12, (0, 1, 2), "FL")),
            "accuracy": -average(_ahead(13, (0, 1, 2), "FL")),
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
            f"MiniBatch-SFL - {other}": average(_ahead(13, (0, 1, 2), other, "early"))
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
                slope(_levels(13, (0, 1, 2), name)),
                slope(_levels(14, ACCURACY_14, name)),
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
            name: average(_levels(13, (0, 1, 2), name))
            - average(_levels(14, ACCURACY_14, name))
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
                slope(_ahead(13, (0, 1, 2), other)),
                slope(_ahead(14, ACCURACY_14, other)),
            ])
            for other in RIVALS
        },
        audit=("huang2023/observation-5",),
    ),
)
