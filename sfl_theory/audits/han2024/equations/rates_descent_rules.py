r"""Rules for one round of SFL-V1 with $\eta_c\tau=\eta_s\tilde\tau=\alpha$.

Notation of ``local_sgd``; b is a side, client or server, with $\tau_b$ steps of length
$\eta_b$. The points $p_n^i$ at which side b takes its gradients are those of its own
steps $i<\tau_b$.
"""

from __future__ import annotations

from typing import Any

from sfl_theory.audits.han2024.convex import BOUNDED, G2, SMOOTH, S
from sfl_theory.evidence.certificate import Fact, Vector, norm2
from sfl_theory.evidence.domain import positive

alpha, c1 = positive("alpha c_1")
Blocks = tuple[Vector, Vector]


def averaged_deviation(gradient: Blocks, mean: Blocks, drift: Any) -> Fact:
    r"""$\sum_b\mathbb E\|\nabla_bf(x)-\bar M_b\|^2\le S^2D$.

    $\bar M_b=\sum_na_n\frac1{\tau_b}\sum_{i<\tau_b}\nabla_bF_n(p_n^i)$ and
    $D=\sum_b\sum_na_n\frac1{\tau_b}\sum_{i<\tau_b}\mathbb E\|p_n^i-x\|^2$. Proof: the
    weights $a_n/\tau_b$ have total 1, so Jensen gives
    $\|\nabla_bf(x)-\bar M_b\|^2\le\sum_na_n\frac1{\tau_b}\sum_i
    \|\nabla_bF_n(x)-\nabla_bF_n(p_n^i)\|^2$; a block of the difference is no longer
    than the whole, which is at most $S\|x-p_n^i\|$ by (24).

    Args:
        gradient: $\nabla_bf(x)$ of both blocks.
        mean: $\bar M_b$.
        drift: D.

    Returns:
        The fact.
    """
    gap = S**2 * drift - sum(norm2(g - m) for g, m in zip(gradient, mean, strict=True))
    return Fact("mean local gradients against those at x", gap, SMOOTH)


def drift_of_both_sides(drift: Any) -> Fact:
    r"""$D\le4\alpha^2G^2$ for $\eta_b\tau_b=\alpha$, the D of ``averaged_deviation``.

    Proof: block b of $p_n^i-x$ is $-\eta_b$ times a sum of at most $\tau_b$ stochastic
    gradients of mean square at most $G^2$; Cauchy-Schwarz gives
    $\eta_b^2\tau_b^2G^2=\alpha^2G^2$. Two blocks make $2\alpha^2G^2$ for every point,
    and D adds up two averages over points. In which order the sides step does not
    matter; a side that is done keeps its value (at the mean of all clients it could,
    too, if all of them take part).

    Args:
        drift: D.

    Returns:
        The fact.
    """
    return Fact("drift of the local points", 4 * alpha**2 * G2 - drift, BOUNDED)


def second_moment_of_blocks(update: Blocks) -> Fact:
    r"""$\sum_b\mathbb E\|M_b\|^2\le2c_1G^2$, $c_1=1+\sum_na_n^2\frac{1-q_n}{q_n}$.

    $M_b=\sum_n\frac{a_nI_n}{q_n}\bar g_{b,n}$, $\bar g_{b,n}$ the mean of client n's
    stochastic gradients over its $\tau_b$ steps. Proof: the $I_n$ are independent of
    each other and of the $\bar g_{b,n}$ (SFL-V1), so
    $\mathbb E\|M_b\|^2=\mathbb E\|\sum_na_n\bar g_{b,n}\|^2
    +\sum_na_n^2\frac{1-q_n}{q_n}\mathbb E\|\bar g_{b,n}\|^2$; Jensen bounds the first
    by $G^2$ and $\mathbb E\|\bar g_{b,n}\|^2\le G^2$. Full participation is $q_n=1$.

    Args:
        update: $M_b$ of both blocks.

    Returns:
        The fact.
    """
    gap = 2 * c1 * G2 - sum(norm2(m) for m in update)
    return Fact("second moment of the update", gap, BOUNDED)
