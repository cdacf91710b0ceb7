r"""Sharper rules for one round of SFL-V1 whose sides step side by side.

Notation of ``rates_descent_rules``. At its step i a client takes one stochastic
gradient $g^i=\nabla F(p^i)+\xi^i$ for both sides; a side that has made its steps keeps
its value.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from sfl_theory.audits.han2024.convex import BOUNDED, G2, S
from sfl_theory.audits.han2024.equations.rates_descent_rules import Blocks, alpha, c1
from sfl_theory.evidence.certificate import Fact, norm2


def drift_side_by_side(drift: Any) -> Fact:
    r"""$D\le2\alpha^2G^2$, the D of ``averaged_deviation``.

    Proof: say $\tau\ge\tilde\tau$. When a side has made k of its $\tau_b$ steps, its
    block is off by at most $\alpha^2G^2k^2/\tau_b^2$ in the mean (Cauchy-Schwarz). The
    mean of $i^2/\tau_b^2$ over $i<\tau_b$ is at most $\frac13$. At the client's steps
    its own block adds $\frac13$ at most and the server's 1; at the server's steps its
    own adds $\frac13$, and the client's, $i/\tau\le i/\tilde\tau$ of its way along,
    $\frac13$. Together $\frac13+1+\frac13+\frac13=2$.

    Args:
        drift: D.

    Returns:
        The fact.
    """
    gap = 2 * alpha**2 * G2 - drift
    return Fact("drift of the local points, side by side", gap, BOUNDED)


def second_moment_side_by_side(update: Blocks) -> Fact:
    r"""$\sum_b\mathbb E\|M_b\|^2\le c_1(\frac32+48S^2\alpha^2)G^2$.

    $c_1=1+\sum_na_n^2\frac{1-q_n}{q_n}$. Proof: as in ``second_moment_of_blocks`` it is
    enough that $\sum_b\mathbb E\|\bar g_b\|^2\le(\frac32+48S^2\alpha^2)G^2$ for every
    client. $\bar g_b=(\nabla_bF(x)+\bar\xi_b)+\delta_b$, where $\bar\xi_b$ is the mean
    of $\xi_b^i$ over $i<\tau_b$ and $\sum_b\mathbb E\|\delta_b\|^2\le4S^2\alpha^2G^2$
    (``averaged_deviation``, ``drift_of_both_sides``). By Young, $c=\frac1{11}$, it is
    enough that $\|\nabla F(x)\|^2+\sum_b\mathbb E\|\bar\xi_b\|^2\le\frac{11}8G^2$.

    The $\xi^i$ are martingale differences, so $\mathbb E\|\bar\xi_b\|^2=\tau_b^{-2}
    \sum_{i<\tau_b}\mathbb E\|\xi_b^i\|^2$, and $\mathbb E\|\xi^i\|^2\le G^2$. With m, M
    the smaller and the larger period: $\|\nabla F(x)\|^2$ and the terms of $i=0$ are at
    most $\|\nabla F(x)\|^2+\mathbb E\|\xi^0\|^2=\mathbb E\|g^0\|^2\le G^2$; those of
    $1\le i<m$ at most $\frac{m-1}{m^2}G^2$; those of $m\le i<M$ at most
    $\frac{M-m}{M^2}G^2\le\frac1{4m}G^2$. And $\frac{m-1}{m^2}+\frac1{4m}=
    \frac{5m-4}{4m^2}\le\frac38$ for $m=1,2,\dots$ (it is $\frac14$, $\frac38$,
    $\frac{11}{36}$, and at most $\frac5{4m}\le\frac5{16}$ from $m=4$ on).

    Args:
        update: $M_b$ of both blocks.

    Returns:
        The fact.
    """
    bound = c1 * (sp.Rational(3, 2) + 48 * S**2 * alpha**2) * G2
    gap = bound - sum(norm2(m) for m in update)
    return Fact("second moment of the update, side by side", gap, BOUNDED)
