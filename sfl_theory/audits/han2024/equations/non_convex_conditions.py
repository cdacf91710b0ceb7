r"""The learning-rate conditions of D.3-G.3 of ``han2024`` and what their merges need.

(87), (123), (153), (183) first let $\eta\le\frac1{16S\tau_{max}}$, which must give the
conditions of Lemmas C.6 and C.7 and $1+8S\eta\tau+8S^2\eta^2\tau_{max}^2\le
1+\frac12+\frac1{32}\le2$, and then a second condition, which must make a factor at
least $\frac12$. SFL-V2 has one period.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import sympy as sp

from sfl_theory.audits.han2024 import conditions
from sfl_theory.audits.han2024.lazy_proofs import Several
from sfl_theory.audits.han2024.non_convex_v1 import N, S, eta
from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.domain import Domain, free, positive

most, least, total = positive("tau_max tau_min C")


def bracket(claim: str, power: int) -> Certificate:
    r"""Return $8S\eta\tau_{max}\le\frac12$ or $8(S\eta\tau_{max})^2\le\frac1{32}$.

    Args:
        claim: identifier of the claim.
        power: 1 or 2.

    Returns:
        The certificate.
    """
    k, h = free("k h")
    (s,) = positive("s")
    values = {most: 1 + k, S: s, eta: 1 / (s * (1 + k) * (16 + h))}
    limit = sp.Rational(1, 2) if power == 1 else sp.Rational(1, 32)
    shown = "8 S eta tau_max" if power == 1 else "8 (S eta tau_max)^2"
    return Certificate(
        claim,
        8 * (S * eta * most) ** power,
        limit,
        (),
        Domain("tau_max >= 1, eta <= 1/(16 S tau_max)", values, (k, h, s)),
        statement=f"{shown} <= {limit}",
    )


def factor(claim: str, sequential: bool) -> Certificate:
    r"""Return the factor of $-\frac{\eta\tau_{min}}2\|\nabla f\|^2$ in the last lines.

    $\frac12\le1-4NS\eta\frac{\tau_{max}^2}{\tau_{min}}C$ with $C=\sum_na_n^2$ or
    $\sum_na_n^2/q_n$ from $\eta\le\frac{\tau_{min}}{8SN\tau_{max}^2C}$; for SFL-V2
    $\frac12\le1-4N^2S\eta\tau C$ with $C=1$ or $\sum_n1/q_n$ from
    $\eta\le\frac1{8SN^2\tau C}$.

    Args:
        claim: identifier of the claim.
        sequential: SFL-V2.

    Returns:
        The certificate.
    """
    k, d, n, h = free("k d n h")
    (s,) = positive("s")
    values: dict[Any, Any] = {least: 1 + k, most: 1 + k + d, S: s, N: 1 + n}
    scale = N**2 * most * total if sequential else N * most**2 / least * total
    values[eta] = 1 / (8 * S * scale * (1 + h))
    shown = "N^2 tau C" if sequential else "N tau_max^2/tau_min C"
    return Certificate(
        claim,
        sp.Rational(1, 2),
        1 - 4 * S * eta * scale,
        (),
        Domain(
            f"1 <= tau_min <= tau_max, N >= 1, C > 0, eta <= 1/(8 S {shown})",
            values,
            (k, d, n, h, s, total),
        ),
        statement=f"1/2 <= 1 - 4 S eta {shown}",
    )


def builders(sequential: bool) -> tuple[Several | Callable[[str], Certificate], ...]:
    """Return what proves that the conditions suffice.

    Args:
        sequential: SFL-V2.

    Returns:
        Functions of the claim.
    """
    return (
        Several(conditions.of_lemmas_c6_and_c7, 2),
        partial(bracket, power=1),
        partial(bracket, power=2),
        partial(factor, sequential=sequential),
    )
