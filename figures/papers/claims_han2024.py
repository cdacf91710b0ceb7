"""What ``han2024`` reads off its figures (Sec. 4.2-4.3, App. I).

The sentences about its Tables 1-4, which hold formulas, are entries of the audit. The
curves of a test of SFL-V1 and SFL-V2 are the panels (a), (c) and (b), (d).
"""

from __future__ import annotations

from collections.abc import Sequence

from figures.claims import Claim, Within
from figures.effects import Effect, along, average, level, slope

V1, V2 = (0, 2), (1, 3)
BOTH = (0, 1, 2, 3)
FIG = "han2024/fig-"
IN_CUT = (
    'Sec. 1.3 ("SFL achieves a better performance when clients maintain a larger '
    'portion of the global model")',
    "App. I.4",
)


def _slope(figure: int, panels: Sequence[int], summary: str = "final") -> Effect:
    """Return the slope along a panel's curves, on average over panels."""
    return average([along(f"{FIG}{figure}", panel, summary) for panel in panels])


def _ahead(
    figure: int, panel: int, one: str, other: str, summary: str = "final"
) -> Effect:
    """Return the level of one method minus that of another."""
    key = f"{FIG}{figure}"
    return level(key, panel, one, summary) - level(key, panel, other, summary)


CUT = (
    "We observe that for both SFL-V1 and SFL-V2, the performance increases in Lc "
    "(i.e., clients have a larger proportion of the global model)."
)
BETA = (
    "We observe that a higher level of data heterogeneity (i.e., a smaller β) leads to "
    "slower algorithm convergence and a lower accuracy for both SFL-V1 and SFL-V2."
)
SHARE = (
    "We observe that a lower level of participation leads to less stable convergence "
    "and also a smaller accuracy."
)
LOSS = (
    "In general, we see similar (but opposite) trends with the observations in the "
    "main paper. That is, a higher accuracy is associated with a smaller loss."
)
DIVERGENCE = (
    "We see for SFL-V1 and SFL-V2, the gradient divergence decreases as we choose a "
    "latter cut layer (a larger Lc)."
)
V1_CUT = ("han2024/text/sec-2.2/fl",)
ONE_RUN = (
    " (the run is one at all cuts, so this sum over the client's layers cannot fall)"
)

CLAIMS = (
    Claim(
        f"{FIG}2/cut-v1",
        CUT,
        "Sec. 4.2, Fig. 2 (a), (c)",
        "slope of SFL-V1's accuracy in Lc, mean of both data sets",
        {"SFL-V1": _slope(2, V1)},
        also=IN_CUT,
        audit=V1_CUT,
    ),
    Claim(
        f"{FIG}2/cut-v2",
        CUT,
        "Sec. 4.2, Fig. 2 (b), (d)",
        "slope of SFL-V2's accuracy in Lc, mean of both data sets",
        {"SFL-V2": _slope(2, V2)},
        also=IN_CUT,
    ),
    Claim(
        f"{FIG}3/accuracy",
        BETA,
        "Sec. 4.2, Fig. 3",
        "slope of the final accuracy in β, for each variant",
        {"SFL-V1": _slope(3, V1), "SFL-V2": _slope(3, V2)},
        audit=("han2024/text/heterogeneity/non_convex",),
    ),
    Claim(
        f"{FIG}3/speed",
        BETA,
        "Sec. 4.2, Fig. 3",
        "slope of the early accuracy in β, for each variant",
        {"SFL-V1": _slope(3, V1, "early"), "SFL-V2": _slope(3, V2, "early")},
        audit=("han2024/text/heterogeneity/non_convex",),
    ),
    Claim(
        f"{FIG}4/stability",
        SHARE,
        "Sec. 4.2, Fig. 4",
        "minus the slope of the late unsteadiness in q, mean of the four panels",
        {"SFL": -_slope(4, BOTH, "unsteadiness")},
    ),
    Claim(
        f"{FIG}4/accuracy",
        SHARE,
        "Sec. 4.2, Fig. 4",
        "slope of the final accuracy in q, mean of the four panels",
        {"SFL": _slope(4, BOTH)},
        also=('Sec. 3.4 ("partial participation worsens SFL performance")',),
        audit=(
            "han2024/text/participation/decreases",
            "han2024/text/participation/worsens",
        ),
    ),
    Claim(
        f"{FIG}5/similar",
        "When data is mildly heterogeneous (i.e., β = 0.5), SFL and FL have similar "
        "convergence rates and accuracy performance.",
        "Sec. 4.3, Fig. 5 (a)",
        "SFL minus FL, early and final accuracy, each within one point",
        {
            f"{name} - FL, {summary}": _ahead(5, 0, name, "FL", summary)
            for name in ("SFL-V1", "SFL-V2")
            for summary in ("early", "final")
        },
        Within(),
        audit=("han2024/text/sec-2.2/fl",),
    ),
    Claim(
        f"{FIG}5/sl-behind",
        "Note that SL seems to under-perform SFL and FL.",
        "Sec. 4.3, Fig. 5 (a)",
        "SFL-V1, SFL-V2 and FL each minus SL",
        {f"{one} - SL": _ahead(5, 0, one, "SL") for one in ("SFL-V1", "SFL-V2", "FL")},
    ),
    Claim(
        f"{FIG}5/v2-ahead",
        "When data becomes more non-IID (i.e., β = 0.1), SFL-V2 tends to outperform FL "
        "and SL.",
        "Sec. 4.3, Fig. 5 (b)-(d)",
        "SFL-V2 minus FL and minus SL, mean of the three panels",
        {
            f"SFL-V2 - {other}": average([
                _ahead(5, panel, "SFL-V2", other) for panel in (1, 2, 3)
            ])
            for other in ("FL", "SL")
        },
        also=(
            'Sec. 4.3 ("By appropriately choosing the cut layer, SFL-V2 outperforms '
            'FL and SL")',
        ),
    ),
    Claim(
        f"{FIG}5/more-with-clients",
        "The improvement becomes more significant as the cohort size gets larger.",
        "Sec. 4.3, Fig. 5 (b)-(d)",
        "slope of SFL-V2 minus FL, and minus SL, along N = 10, 50, 100",
        {
            f"SFL-V2 - {other}": slope([
                _ahead(5, panel, "SFL-V2", other) for panel in (1, 2, 3)
            ])
            for other in ("FL", "SL")
        },
    ),
    Claim(
        f"{FIG}5/v2-ahead-large",
        "SFL outperforms FL and SL under highly heterogeneous data and a large client "
        "number.",
        "Sec. 4.3, Fig. 5 (d)",
        "SFL-V2 minus FL and minus SL at β = 0.1, N = 100",
        {f"SFL-V2 - {other}": _ahead(5, 3, "SFL-V2", other) for other in ("FL", "SL")},
        also=("Abstract", "Sec. 1.3 (ii)", "Sec. 5"),
    ),
    Claim(
        f"{FIG}6/best",
        "From the figures, we observe that SFL-V2 continues to be the best-performing "
        "algorithm.",
        "App. I.1, Fig. 6",
        "SFL-V2 minus each other method, mean of both panels",
        {
            f"SFL-V2 - {other}": average([
                _ahead(6, panel, "SFL-V2", other) for panel in (0, 1)
            ])
            for other in ("SFL-V1", "FL", "SL", "FedProx", "FedOpt")
        },
    ),
    Claim(
        f"{FIG}7/speed",
        "We observe that SFL generally converges faster with a larger τ, demonstrating "
        "the benefit of SFL in practical distributed systems.",
        "App. I.2, Fig. 7",
        "slope of the early accuracy in E, mean of the four panels",
        {"SFL": _slope(7, BOTH, "early")},
        audit=("han2024/text/learning-rate/tau",),
    ),
    *(
        Claim(
            f"{FIG}{figure}/cut",
            LOSS,
            f"App. I.3, Fig. {figure}",
            f"minus the slope of the {loss} loss in Lc, for each variant",
            {"SFL-V1": -_slope(figure, V1), "SFL-V2": -_slope(figure, V2)},
            audit=V1_CUT,
        )
        for figure, loss in ((8, "training"), (9, "test"))
    ),
    Claim(
        f"{FIG}10/beta",
        LOSS,
        "App. I.3, Fig. 10",
        "minus the slope of the training loss in β, for each variant",
        {"SFL-V1": -_slope(10, V1), "SFL-V2": -_slope(10, V2)},
    ),
    Claim(
        f"{FIG}11/participation",
        LOSS,
        "App. I.3, Fig. 11",
        "minus the slope of the training loss in q, mean of the panels",
        {"SFL": -_slope(11, BOTH)},
    ),
    *(
        Claim(
            f"{FIG}12/{name}",
            DIVERGENCE,
            f"App. I.4, Fig. 12 ({'ab'[panel]})",
            f"minus the slope in Lc of the logarithm of {variant}'s mean divergence"
            + note,
            {variant: -_slope(12, (panel,), "log_mean")},
            also=(
                'Sec. 4.2 ("the average client gradient variance gets smaller with '
                'Lc")',
            ),
            audit=audit,
        )
        for panel, name, variant, note, audit in (
            (0, "v1", "SFL-V1", ONE_RUN, V1_CUT),
            (1, "v2", "SFL-V2", "", ()),
        )
    ),
    Claim(
        f"{FIG}13/order",
        "We note that our key observation continues to hold. That is, SFL-V2 "
        "outperforms FL and SFL-V1 under-performs FL under heterogeneous data and a "
        "large number of clients.",
        "App. I.5, Fig. 13",
        "SFL-V2 minus FL, and FL minus SFL-V1",
        {
            "SFL-V2 - FL": _ahead(13, 0, "SFL-V2", "FL"),
            "FL - SFL-V1": _ahead(13, 0, "FL", "SFL-V1"),
        },
        audit=("han2024/text/sec-2.2/fl",),
    ),
)
