r"""A sharper rule for one round of SFL-V1 with two periods.

Notation of ``rates_descent_rules``. A side that has made its steps keeps its value.
"""

from __future__ import annotations

from typing import Any

from sfl_theory.audits.han2024.convex import BOUNDED, G2
from sfl_theory.audits.han2024.equations.rates_descent_rules import alpha
from sfl_theory.evidence.certificate import Fact


def drift_in_any_order(drift: Any) -> Fact:
    r"""$D\le2\alpha^2G^2$, the D of ``averaged_deviation``.

    Proof: when a side has made k of its $\tau_b$ steps, its block is off by at most
    $\alpha^2G^2k^2/\tau_b^2$ in the mean square (Cauchy-Schwarz). A side's own block
    adds the mean of $i^2/\tau_b^2$ over $i<\tau_b$, at most $\frac13$. With x, y the
    parts of their steps that client and server have made, a client's step adds
    $y^2/\tau$ for the other block and a server's step $x^2/\tilde\tau$. In whatever
    order they step, or both at once, that is at most what $xy$ grows by, as
    $x,y\in[0,1]$, and it grows from 0 to 1. Together $\frac13+\frac13+1\le2$.

    Args:
        drift: D.

    Returns:
        The fact.
    """
    gap = 2 * alpha**2 * G2 - drift
    return Fact("drift of the local points, in any order", gap, BOUNDED)
