"""Section 1, and Tables 3 and 4 as printed with comparisons of their means.

Both captions say "3 independent runs"; comparisons are of means, exact, and say nothing
of significance. p-values in words are Welch's for n = 3, two-sided, uncorrected.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.evidence import (
    Kind,
    Model,
    Part,
    Proof,
    Severity,
    equal,
    repaired,
    says,
)
from sfl_theory.kernel.rules import Theorem
from sfl_theory.models.federation import federation, parabola
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Number
from sfl_theory.papers.dachille2024.setting import decimal
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.notation import combine

STEP = decimal("0.01")


@dataclass(frozen=True)
class Column:
    """Test accuracies on one dataset: FedAvg, SFL-V1 and V2 with L_c = 1, ..., 4."""

    name: str
    fedavg: str
    v1: tuple[str, ...]
    v2: tuple[str, ...]

    def first_gap(self) -> Number:
        """Return SFL-V2 with L_c = 1 minus FedAvg."""
        return decimal(self.v2[0]) - decimal(self.fedavg)


def column(name: str, means: str) -> Column:
    """Return a column, its nine means in the rows' order."""
    fedavg, *rest = means.split()
    return Column(name, fedavg, tuple(rest[:4]), tuple(rest[4:]))


IID = (
    column("CIFAR10", "85.25 86.34 86.12 85.94 86.01 92.30 89.56 87.57 86.11"),
    column("CIFAR100", "48.48 49.56 50.28 49.29 46.59 56.00 45.93 41.29 45.98"),
    column("TinyImageNet", "47.49 48.73 49.26 49.11 48.11 54.77 50.86 44.15 43.85"),
)
"""Table 3."""

NON_IID = (
    column("HAM10000", "77.37 77.88 78.18 78.40 78.10 80.58 79.56 79.26 78.27"),
    column("CIFAR10", "67.59 66.38 65.64 65.36 64.51 67.58 59.98 61.73 69.45"),
    column("CIFAR100", "42.60 39.96 39.82 40.32 41.24 52.38 45.90 42.42 43.31"),
    column("TinyImageNet", "28.33 12.84 13.42 13.66 13.89 30.14 22.55 27.08 26.42"),
)
"""Table 4."""

HAM, C10, C100, TINY = NON_IID
SHARED = tuple((one, two) for one in IID for two in NON_IID if one.name == two.name)
"""IID and non-IID columns of the datasets that both tables have."""


def best(means: Iterable[str]) -> str:
    """Return the largest mean."""
    return max(means, key=Fraction)


def worst(means: Iterable[str]) -> str:
    """Return the smallest mean."""
    return min(means, key=Fraction)


def spread(means: tuple[str, ...]) -> Number:
    """Return the largest minus the smallest mean."""
    return decimal(best(means)) - decimal(worst(means))


def nothing() -> ModelData:
    """Return a federation; a comparison of numbers asks for nothing."""
    return federation([parabola(1, [0, 0])], [0, 0])


def at_most(left: Number | str, right: Number | str, reading: str = "") -> Part:
    """Return ``left <= right`` between numbers, proved or refuted as it is."""
    one, two = (decimal(x) if isinstance(x, str) else x for x in (left, right))
    statement = says(one, two)
    room = statement.right.value - statement.left.value

    def theorem() -> Theorem:
        return combine(target=room)

    true = two.value - one.value
    by = Proof(theorem) if true.nonnegative() else Model(nothing)
    return Part(statement, by, reading)


def less(left: str, right: str, reading: str = "") -> Part:
    """Return ``left < right`` for means, which have two decimals."""
    return at_most(decimal(left) + STEP, right, reading)


def same(left: Number | str, right: str, reading: str = "") -> Part:
    """Return that a number is the one in the text."""
    one = decimal(left) if isinstance(left, str) else left
    statement = equal(one, decimal(right))
    true = not statement.right.value - statement.left.value
    return Part(statement, Proof(combine) if true else Model(nothing), reading)


# Abstract and Section 1: what the experiments are said to show -----------------------

MEANS = "order of printed means; significance is separate (n = 3)"

V1_INVARIANT = Kind.TEXT(
    "dachille2024/tables/v1-invariant",
    "Abstract, Sec. 5.2",
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

FOUR = Kind.TEXT(
    "dachille2024/text/four-datasets",
    "Abstract, Sec. 1, Sec. 5.1",
    "Numerical experiments are on four datasets.",
    same(w.number(len({one.name for one in (*IID, *NON_IID)})), "4", "datasets"),
    scope="together; the IID table has three, for HAM10000 is 'highly label skewed' "
    "itself, and what is said of IID settings rests on three",
)

BEST_CUT = Kind.TEXT(
    "dachille2024/table-4/v2-best-cut",
    "Abstract",
    "SFL-V2 with an appropriate cut layer outperforms FedAvg on heterogeneous data.",
    *tuple(less(one.fedavg, best(one.v2), one.name) for one in NON_IID),
    scope="for means of the best cut, chosen on the same test data; not significant "
    "for n = 3 on CIFAR10 (p = 0.33) and TinyImageNet (p = 0.75)",
)

EARLY = tuple(less(one.fedavg, one.v2[0], one.name) for one in NON_IID)
EARLY_CUT = Kind.TEXT(
    "dachille2024/table-4/v2-early-cut",
    "Sec. 1, contributions",
    "SFL-V2 with an early cut layer significantly outperforms FedAvg on heterogeneous "
    "data.",
    *EARLY,
    severity=Severity.SLIP,
    scope=f"for every dataset at L_c = 1, {MEANS}: significant (p < 0.05) on "
    "HAM10000 and CIFAR100, not on TinyImageNet (p = 0.75) and CIFAR10 (p = 1.0)",
    cause="behind on non-IID CIFAR10 by 0.01",
    repair=repaired(
        "without CIFAR10",
        *tuple(
            part for part, one in zip(EARLY, NON_IID, strict=True) if one is not C10
        ),
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


BELOW = Kind.TEXT(
    "dachille2024/table-3/v1-below-v2",
    "Sec. 1, contributions",
    "SFL-V1 achieves lower accuracy than SFL-V2.",
    *below((1, 2, 3, 4)),
    severity=Severity.SLIP,
    scope="as read, at every cut layer; at L_c = 1 true in every column",
    cause="SFL-V1 is ahead in 7 of 28 cells, on IID CIFAR100 at L_c = 3 by 8 points",
    repair=repaired("at L_c = 1", *below((1,))),
)

SIMILAR = Kind.TEXT(
    "dachille2024/table-4/v1-similar-fl",
    "Sec. 1, contributions",
    "SFL-V1 achieves an accuracy similar to FL.",
    words="Open: 'similar' is no arithmetical statement. On non-IID TinyImageNet every "
    "SFL-V1 mean (12.84 to 13.89) is at most half of FedAvg's 28.33: at L_c = 4 Welch "
    "t = -24, p = 8e-4 for n = 3. Table 2 gives them different optimisers (Adam, SGD) "
    "and learning rates, so Proposition 1 does not apply and the comparison is not of "
    "methods.",
)

CLAIMS = (V1_INVARIANT, FOUR, BEST_CUT, EARLY_CUT, BELOW, SIMILAR)
