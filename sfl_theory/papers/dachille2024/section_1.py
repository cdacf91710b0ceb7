"""Abstract and Section 1: what the experiments are said to show."""

from __future__ import annotations

from sfl_theory import written as w
from sfl_theory.claims import Claim, Kind, Part, Repair, Severity
from sfl_theory.papers.dachille2024.tables import (
    C10,
    IID,
    NON_IID,
    best,
    less,
    same,
)

MEANS = "order of printed means; significance is separate (n = 3)"

V1_INVARIANT = Claim(
    "dachille2024/tables/v1-invariant",
    "Abstract, Sec. 5.2",
    Kind.TEXT,
    "SFL-V1's performance is invariant to the cut layer in IID and non-IID settings.",
    words="Open: equality of means in law cannot be proved or refuted by three runs. "
    "Largest range: 3.69 points on IID CIFAR100, not mentioned in the text (50.28 +- "
    "0.76 at L_c = 2, 46.59 +- 1.42 at L_c = 4): Welch t = 3.97, p = 0.028 for n = 3, "
    "the largest of many pairs, uncorrected. The two ranges in the text: t = 1.34, "
    "p = 0.25 (IID CIFAR10) and t = 1.12, p = 0.33 (non-IID CIFAR10). What is exact "
    "is text/fedavg: for plain gradient steps the cut changes nothing, so a spread is "
    "noise or implementation.",
    uses="text/fedavg",
)

FOUR = Claim(
    "dachille2024/text/four-datasets",
    "Abstract, Sec. 1, Sec. 5.1",
    Kind.TEXT,
    "Numerical experiments are on four datasets.",
    (same(w.number(len({one.name for one in (*IID, *NON_IID)})), "4", "datasets"),),
    scope="together; the IID table has three, for HAM10000 is 'highly label skewed' "
    "itself, and what is said of IID settings rests on three",
)

BEST_CUT = Claim(
    "dachille2024/table-4/v2-best-cut",
    "Abstract",
    Kind.TEXT,
    "SFL-V2 with an appropriate cut layer outperforms FedAvg on heterogeneous data.",
    tuple(less(one.fedavg, best(one.v2), one.name) for one in NON_IID),
    scope="means of the best cut, chosen on the same test data; not significant for "
    "n = 3 on CIFAR10 (p = 0.33) and TinyImageNet (p = 0.75)",
)

EARLY = tuple(less(one.fedavg, one.v2[0], one.name) for one in NON_IID)
EARLY_CUT = Claim(
    "dachille2024/table-4/v2-early-cut",
    "Sec. 1, contributions",
    Kind.TEXT,
    "SFL-V2 with an early cut layer significantly outperforms FedAvg on heterogeneous "
    "data.",
    EARLY,
    severity=Severity.SLIP,
    scope=f"every dataset, L_c = 1, {MEANS}: significant (p < 0.05) on HAM10000 and "
    "CIFAR100, not on TinyImageNet (p = 0.75) and CIFAR10 (p = 1.0)",
    cause="behind on non-IID CIFAR10 by 0.01",
    repair=Repair(
        tuple(part for part, one in zip(EARLY, NON_IID, strict=True) if one is not C10),
        "without CIFAR10",
    ),
)


def below(cuts: tuple[int, ...]) -> tuple[Part, ...]:
    """Return that SFL-V1 is below SFL-V2 at these cut layers, in every column."""
    tables = (("IID", IID), ("non-IID", NON_IID))
    return tuple(
        less(one.v1[cut - 1], one.v2[cut - 1], f"{setting} {one.name}, L_c = {cut}")
        for setting, table in tables
        for one in table
        for cut in cuts
    )


BELOW = Claim(
    "dachille2024/table-3/v1-below-v2",
    "Sec. 1, contributions",
    Kind.TEXT,
    "SFL-V1 achieves lower accuracy than SFL-V2.",
    below((1, 2, 3, 4)),
    severity=Severity.SLIP,
    scope="read at every cut layer; at L_c = 1 true in every column",
    cause="SFL-V1 is ahead in several cells, on IID CIFAR100 at L_c = 3 by 8 points",
    repair=Repair(below((1,)), "at L_c = 1"),
)

SIMILAR = Claim(
    "dachille2024/table-4/v1-similar-fl",
    "Sec. 1, contributions",
    Kind.TEXT,
    "SFL-V1 achieves an accuracy similar to FL.",
    words="Open: 'similar' is no arithmetical statement. On non-IID TinyImageNet every "
    "SFL-V1 mean (12.84 to 13.89) is at most half of FedAvg's 28.33: at L_c = 4 Welch "
    "t = -24, p = 8e-4 for n = 3. Table 2 gives them different optimisers (Adam, SGD) "
    "and learning rates, so Proposition 1 does not apply and the comparison is not of "
    "methods.",
)

CLAIMS = (V1_INVARIANT, FOUR, BEST_CUT, EARLY_CUT, BELOW, SIMILAR)
