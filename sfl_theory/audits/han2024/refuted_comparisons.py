r"""Rows of Tables 2, 3 and a sentence of App. H that fail, and by how much.

"Omitting absolute constants" is read as in ``refuted_tables``: up to K = 1000, the
ratio growing without limit in the parameter named.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfl_theory import symbols
from sfl_theory.audits.han2024.refuted_tables import K
from sfl_theory.evidence.instance import Finding, at_most, equal
from sfl_theory.evidence.interval import Interval, evaluate
from sfl_theory.papers.baselines import rate_table

ONE = Fraction(1)
UNIT: dict[Any, Fraction | int | Interval] = {
    symbols.S: ONE,
    symbols.mu: ONE,
    symbols.N: 1,
    symbols.tau: 1,
    symbols.I_err: ONE,
    symbols.F_err: Fraction(1, 2),
    symbols.Gamma: Fraction(0),
    symbols.G: Interval.of(2).root(2),
}


def _row(
    table: int, method: str, case: str, values: dict[Any, Any], sigma: Fraction
) -> Interval:
    (row,) = (
        found
        for found in rate_table(table)
        if found.case == case and found.method == method
    )
    scalars = {**UNIT, **values}
    return evaluate(row.expr, scalars, {symbols.sigma: (sigma,)})


def distributed_sgd(case: str) -> Finding:
    r"""Break "Distributed SGD" of Table 3, general convex or non-convex.

    N = 1, $f=x^2/2$, $x^0=1$, noise $\pm\sigma$, any constant step $\eta$. With
    $r=(1-\eta)^2<1$ (else $\mathbb Ex_t^2\ge1$):
    $\mathbb Ex_t^2=r^t+\frac\eta{2-\eta}\sigma^2(1-r^t)$. If $r^T\ge\frac14$ every one
    of them is at least $\frac14$. Else $\eta>\frac3{8T}$ (Bernoulli:
    $(1-\eta)^{2T}\ge1-2T\eta$), and for $t\ge T/2$ we have $r^t<\frac12$ and
    $\mathbb Ex_t^2\ge\frac{\eta\sigma^2}4$. So the mean over $t<T$ is at least
    $\min\{\frac14,\frac{3\sigma^2}{64T}\}$, and twice the gap and the squared gradient
    are $x^2$. The row has $\sigma^2/T^2$.

    Args:
        case: "general_convex" or "non_convex".

    Returns:
        Left that minimum (half of it for the gap), right K times the row.
    """
    rounds = 10**6
    variance = Fraction(rounds)
    least = min(Fraction(1, 4), 3 * variance / (64 * rounds))
    sigma = Fraction(10**3)
    if case == "general_convex":
        least /= 2
    return Finding(
        "N = 1, f = x^2/2, S = 1, x^0 = 1, noise +-1000, any constant step size",
        (
            equal("sigma^2", sigma**2, variance),
            equal("T even", rounds % 2, 0),
            at_most("smooth and convex: curvature", 1, 1),
        ),
        Interval.of(least),
        K * _row(3, "Distributed SGD [12]", case, {symbols.T: rounds}, sigma),
        "T = 10^6, mean over the rounds; the ratio grows like T at sigma^2 = T",
    )


def federated_row() -> Finding:
    r"""Break the row "FL [16]" of Table 2: $\mu\tau+T$ adds a curvature to a number.

    Scaling the loss by c leaves the iterates as they are (steps $\eta/c$), scales the
    gap by c and the row by about $c^2$. $f=\frac c2x^2$, N = 1, $\tau=T=1$, $x^0=1$,
    noise $\pm c$, any step with $0<\eta c\le1$: $\mathbb Ex_1^2=(1-u)^2+u^2\ge\frac12$,
    $u=\eta c$. Every iterate has $|x|\le1$, where $\mathbb Eg^2\le2c^2$.

    Returns:
        Left the least gap, right K times the row, at c = 10^-5.
    """
    c = Fraction(1, 10**5)
    values: dict[Any, Any] = {
        symbols.S: c,
        symbols.mu: c,
        symbols.G: (Interval.of(2) * c**2).root(2),
        symbols.T: 1,
    }
    return Finding(
        "N = 1, f = c x^2/2, c = S = mu = 10^-5, x^0 = 1, noise +-c, tau = 1",
        (
            equal("3.1 and C.2: curvature c", c, values[symbols.S]),
            at_most("3.3 on |x| <= 1: c^2 x^2 + c^2", c**2 + c**2, 2 * c**2),
            equal("Gamma = f* - F_1*", 0, 0),
        ),
        Interval.of(c / 4),
        K * _row(2, "FL [16]", "strongly_convex", values, c),
        "T = 1, any step 0 < eta <= 1/S; the ratio grows like 1/c",
    )


def same_rate_as_sgd(method: str) -> Finding:
    r"""Break "SFL shows the same convergence rate as distributed SGD" (Table 3).

    General convex: the table's own rows are of order $T^{-1/3}$ and $T^{-1}$.

    Args:
        method: "SFL-V1" or "SFL-V2".

    Returns:
        Left SFL's row, right K times that of distributed SGD.
    """
    values = {symbols.T: 10**6}
    case = "general_convex"
    return Finding(
        f"{method}, N = S = sigma = I_err = 1, G^2 = 2",
        (equal("sigma", ONE, 1),),
        _row(3, method, case, values, ONE),
        K * _row(3, "Distributed SGD [12]", case, values, ONE),
        "T = 10^6; the ratio grows like T^(2/3)",
    )
