r"""Rates of Table 1 (and 2, 3) of ``han2024`` against the theorems they summarise.

Reading: "omitting absolute constants" means: up to a factor K that depends on no
parameter. K = 1000 is used below; the ratio grows without limit in the parameter named,
so every other K fails in the same way further out. $a_n=1/N$, $\sigma_n=\sigma$ as in
App. H.2.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfl_theory import symbols
from sfl_theory.audits.han2024.both_sides import admitted, common_checks
from sfl_theory.audits.han2024.printed import Setting, right_side
from sfl_theory.evidence.instance import Finding
from sfl_theory.evidence.interval import Interval, evaluate
from sfl_theory.papers.baselines import rate_table

K = 1000


def non_convex_row(number: str) -> Finding:
    r"""Break "Table 1's non-convex rows bound the theorems' right sides".

    The rows replace $\frac1T\sum_t(\eta^t)^2$ by $\frac1T$: at a constant admitted rate
    the second term of (13), (16), (19), (22) does not fall with T, the row does.

    Args:
        number: "3.6" to "3.9".

    Returns:
        Left the theorem's bound, right K times the row.
    """
    one = Fraction(1)
    setting = Setting((one,), F_err=one, epsilon2=one, sigma=one)
    eta = Fraction(1, 16)
    rounds = 10**6
    return Finding(
        f"N = 1, S = sigma = epsilon = F_err = 1, tau = 1, eta = {eta}, K = {K}",
        (*common_checks(setting), admitted(number, "non_convex", setting, eta)),
        right_side(number, "non_convex", setting, rounds, eta),
        K * _row_value(number, "non_convex", setting, rounds),
        f"T = {rounds}; the ratio grows like T",
    )


def general_convex_row(number: str) -> Finding:
    r"""Break "Table 1's general convex rows bound the theorems' right sides".

    The rows drop $I_{err}$ from the roots. With $T=I_{err}^3$ the cube root of the
    theorem is of order $I_{err}^{-2/3}$ and every term of the row at most of order
    $I_{err}^{-1}$.

    Args:
        number: "3.6" to "3.9".

    Returns:
        Left the theorem's bound, right K times the row.
    """
    one = Fraction(1)
    far = Fraction(10**12)
    setting = Setting((one,), G2=one, I_err=far, sigma=one)
    rounds = 10**36
    return Finding(
        f"N = 1, S = sigma = G = 1, tau = 1, I_err = 10^12, K = {K}",
        common_checks(setting),
        right_side(number, "general_convex", setting, rounds),
        K * _row_value(number, "general_convex", setting, rounds),
        "T = 10^36; the ratio grows like I_err^(1/3)",
    )


def _row(number: str, case: str) -> Any:
    """Return the formula of Table 1 that belongs to a theorem."""
    method = "SFL-V1" if number in {"3.6", "3.8"} else "SFL-V2"
    participation = "full" if number in {"3.6", "3.7"} else "partial"
    (row,) = (
        r
        for r in rate_table(1)
        if (r.method, r.case, r.participation) == (method, case, participation)
    )
    return row.expr


def _row_value(number: str, case: str, setting: Setting, rounds: int) -> Interval:
    scalars = {**setting.scalars(), symbols.T: rounds}
    return evaluate(_row(number, case), scalars, setting.clients())
