r"""Rules for one round of local SGD, for any number of clients and steps.

Notation of a round from $x=x^t$: client n makes $\tau$ local steps; its i-th stochastic
gradient $g_n^i=\nabla F_n(p_n^i)+\xi_n^i$ is taken at the point $p_n^i$, $p_n^0=x$ on
its own side. Given the past (everything drawn before it), $\mathbb E\xi_n^i=0$ and
$\mathbb E\|\xi_n^i\|^2\le\sigma_n^2$; the draws of different clients are independent.
$h_n=\sum_{i<\tau}g_n^i$. Clients take part with independent $I_n\sim$Bernoulli$(q_n)$,
independent of the draws. "Whatever the order" means: the order in which a shared server
visits clients is drawn independently of the samples.

Each rule states an inequality between named expectations and proves it here.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from sfl_theory.evidence.certificate import Fact, Vector, inner, norm2

# Convex classes: bounded gradients


def summed_lemma(
    P: Any, gap: Any, delta: Any, drift: Any, tau: Any, mu: Any, S: Any, lemma: str
) -> Fact:
    r"""$P\ge\tau(f(x)-f^*)+\tau\frac\mu4\|x-x^*\|^2-S\,D$.

    With $P=\mathbb E\langle\sum_nw_n\sum_{i<\tau}g_n^i,x-x^*\rangle$ and
    $D=\sum_n\mathbb E\,w_n\sum_{i<\tau}\|p_n^i-x\|^2$, where $w_n=a_n$ or
    $w_n=a_nI_n/q_n$. Proof: $\mathbb E[g_n^i\mid\text{past},I]=\nabla F_n(p_n^i)$;
    Lemma C.3 of ``han2024`` for $h=F_n$ at $(p_n^i,x^*,x)$ gives
    $\langle\nabla F_n(p_n^i),x-x^*\rangle\ge F_n(x)-F_n(x^*)+\frac\mu4\|x-x^*\|^2
    -S\|p_n^i-x\|^2$; multiply by $w_n\ge0$, sum over i and n, take expectations;
    $\mathbb Ew_n=a_n$ and $w_n$ is independent of x.

    Args:
        P: the atom on the left.
        gap: $\mathbb E f(x)-f^*$.
        delta: $\mathbb E\|x-x^*\|^2$.
        drift: D.
        tau: local steps.
        mu: strong convexity constant.
        S: smoothness constant.
        lemma: identifier of Lemma C.3.

    Returns:
        The fact.
    """
    expr = P - tau * gap - tau * mu / 4 * delta + S * drift
    return Fact("Lemma C.3 at every local gradient, summed", expr, lemma)


def second_moment(Q: Any, c1: Any, tau: Any, G2: Any, hypothesis: str) -> Fact:
    r"""$\mathbb E\|\sum_nw_nh_n\|^2\le c_1\tau^2G^2$.

    $c_1=1$ for $w_n=a_n$: Jensen with weights $a_n$ over the $N\tau$ gradients, total
    $\tau$: $\|\sum_n\sum_ia_ng_n^i\|^2\le\tau\sum_n\sum_ia_n\|g_n^i\|^2$, and
    $\mathbb E\|g_n^i\|^2\le G^2$.

    $c_1=1+\sum_na_n^2\frac{1-q_n}{q_n}$ for $w_n=a_nI_n/q_n$ if the $h_n$ do not depend
    on I (SFL-V1): $\mathbb E_I\|\sum_nw_nh_n\|^2=\|\sum_na_nh_n\|^2
    +\sum_na_n^2\frac{1-q_n}{q_n}\|h_n\|^2$ and $\mathbb E\|h_n\|^2\le\tau^2G^2$.

    $c_1=\sum_na_n/q_n$ for $w_n=a_nI_n/q_n$ if they do (SFL-V2): Jensen with weights
    $a_n$ gives $\sum_na_n\mathbb E[\frac{I_n}{q_n^2}\|h_n\|^2]$, and
    $\mathbb E[\|h_n\|^2\mid I]\le\tau^2G^2$.

    Args:
        Q: the atom on the left.
        c1: as above.
        tau: local steps.
        G2: $G^2$.
        hypothesis: bounded gradients.

    Returns:
        The fact.
    """
    return Fact("second moment of the update", c1 * tau**2 * G2 - Q, hypothesis)


def bounded_drift(
    D: Any, cd: Any, eta: Any, tau: Any, G2: Any, hypothesis: str
) -> Fact:
    r"""$D\le c_d\,\eta^2\tau^3G^2$.

    $c_d=1/3$ for SFL-V1: $p_n^i-x=-\eta\sum_{j<i}g_n^j$, so
    $\mathbb E\|p_n^i-x\|^2\le\eta^2i^2G^2$ by Cauchy-Schwarz, and
    $\sum_{i<\tau}i^2\le\tau^3/3$; $\sum_na_n=1$; $I_n$ is independent of $p_n^i$.

    $c_d=4/3$ for SFL-V2 whose server steps by $\eta a_ng_{s,n}$: the client block moves
    as above; the server block is off by $\eta\sum a_mg_{s,m}$ over visits of total
    weight at most $\tau$, so by Jensen $\eta^2\tau^2G^2$ at most, whatever the order;
    $\tau$ of them make $\tau^3$, and $\frac13+1=\frac43$.

    $c_d=\frac13+\sum_n\frac{a_n}{q_n}+\sum_n\frac{a_n^2}{q_n^2}$ with participation,
    server steps $\eta\frac{a_n}{q_n}g_{s,n}$: Jensen with weights $a_m$ bounds the
    server's part by $\eta^2\sum_ma_m\frac{I_m}{q_m^2}\|\sum g_{s,m}\|^2$; multiplied by
    $\frac{I_n}{q_n}$, expectations are $\frac1{q_m}\tau^2G^2$ for $m\ne n$ and
    $\frac1{q_n^2}\tau^2G^2$ for $m=n$; weights $a_n$ and $\tau$ steps.

    Args:
        D: the atom on the left.
        cd: as above.
        eta: learning rate.
        tau: local steps.
        G2: $G^2$.
        hypothesis: bounded gradients.

    Returns:
        The fact.
    """
    return Fact("drift of the local points", cd * eta**2 * tau**3 * G2 - D, hypothesis)


# Non-convex class: bounded heterogeneity, gradients S-Lipschitz


def deviation(
    D: Any, blocks: tuple[tuple[Vector, Vector, Any], ...], S: Any, hypothesis: str
) -> Fact:
    r"""$\sum_b\frac1{\tau_b}\mathbb E\|\tau_b\nabla_bf(x)-M_b\|^2\le S^2D$, sides b.

    $M_b=\sum_na_n\sum_{i<\tau_b}\nabla_bF_n(p_n^i)$ on side b with $\tau_b$ steps and
    $D=\sum_nb_n\sum_{i<\tau_{max}}\mathbb E\|p_n^i-x\|^2$ with $b_n\ge Na_n^2$, or
    $b_n=a_n$. Proof: $\tau_b\nabla_bf(x)-M_b=\sum_na_n\sum_{i<\tau_b}\delta_{b,n,i}$
    with $\delta_{n,i}=\nabla F_n(x)-\nabla F_n(p_n^i)$. Over clients
    $\|\sum_na_nv_n\|^2\le N\sum_na_n^2\|v_n\|^2$ (Cauchy-Schwarz) or
    $\le\sum_na_n\|v_n\|^2$ (Jensen); over steps
    $\|\sum_{i<\tau_b}v_i\|^2\le\tau_b\sum_i\|v_i\|^2$. Divide by $\tau_b$ and add the
    sides: $\|\delta_c\|^2+\|\delta_s\|^2=\|\delta\|^2\le S^2\|p_n^i-x\|^2$.

    Args:
        D: drift.
        blocks: (gradient, M, steps) of every side.
        S: Lipschitz constant of the gradients.
        hypothesis: that they are.

    Returns:
        The fact.
    """
    expr = S**2 * D - sum(norm2(k * g - M) / k for g, M, k in blocks)
    return Fact("gradients at local points against those at x", expr, hypothesis)


def unbiased(g: Vector, Z: Vector, hypothesis: str) -> Fact:
    r"""$\mathbb E\langle\nabla f(x),Z\rangle=0$ for sums Z of noise drawn after x.

    Args:
        g: $\nabla f(x)$ or a block of it.
        Z: a weighted sum of $\xi_n^i$.
        hypothesis: unbiased gradients.

    Returns:
        The fact, an equality.
    """
    return Fact("unbiased noise", inner(g, Z), hypothesis, equality=True)


def orthogonal_noise(Z: tuple[Vector, ...], bound: Any, hypothesis: str) -> Fact:
    r"""$\sum_b\mathbb E\|Z_b\|^2\le\tau_{max}\sum_na_n^2\sigma_n^2$.

    $Z_b=\sum_na_n\sum_{i<\tau_b}\xi_{b,n}^i$. Proof: the $\xi_n^i$ are martingale
    differences over the steps of a client and, given the past, independent over
    clients, so cross terms have expectation 0 and
    $\mathbb E\|Z_b\|^2=\sum_na_n^2\sum_{i<\tau_b}\mathbb E\|\xi_{b,n}^i\|^2$; the
    blocks of one $\xi$ add up to $\sigma_n^2$ at most.

    Args:
        Z: the blocks.
        bound: $\tau_{max}\sum_na_n^2\sigma_n^2$, or more.
        hypothesis: unbiased gradients of bounded variance.

    Returns:
        The fact.
    """
    return Fact(
        "noise orthogonal over steps and clients",
        bound - sum(norm2(z) for z in Z),
        hypothesis,
    )


def noisy_drift(D: Any, factor: Any, Gamma: Any, sigma2: Any, hypothesis: str) -> Fact:
    r"""$D\le\theta(\Gamma+\sigma_w)$.

    $\Gamma=\sum_nb_n\sum_i\mathbb E\|\nabla F_n(p_n^i)\|^2$,
    $\sigma_w=\sum_nb_n\sigma_n^2$ and D with the same weights $b_n$.

    $\theta=\eta^2\tau(\tau-1)$ for SFL-V1 ($\tau$ the larger period):
    $p_n^i-x=-\eta\sum_{j<i}(\nabla F_n(p_n^j)+\xi_n^j)$, a side that is done
    contributing fewer terms; $\|u+v\|^2\le2\|u\|^2+2\|v\|^2$, Cauchy-Schwarz for the
    gradients and orthogonality for the noise give
    $\mathbb E\|p_n^i-x\|^2\le2\eta^2\,i(\sum_{j<\tau}\mathbb E\|\nabla F_n(p_n^j)\|^2
    +\sigma_n^2)$; sum over i: $2\sum_{i<\tau}i=\tau(\tau-1)$.

    $\theta=3\eta^2\tau^2$ for SFL-V2 with $b_n=a_n$ whose server steps by
    $\eta a_ng_{s,n}$: the client block as above; the server block is off by
    $\eta\sum a_m(\nabla_sF_m+\xi_{s,m})$ over the visits so far, at most
    $2\eta^2\tau\sum_m\sum_ja_m\|\nabla
    F_m(p_m^j)\|^2+2\eta^2\tau\sum_ma_m^2\sigma_m^2$ by Jensen (total weight at most
    $\tau$) and orthogonality; with weights $a_n$ over the $\tau$ steps that is
    $2\eta^2\tau^2(\Gamma+\sigma_w)$, as $a_m^2\le a_m$.

    Args:
        D: drift.
        factor: $\theta$.
        Gamma: the sum of squared gradients.
        sigma2: $\sigma_w$.
        hypothesis: the update analysed.

    Returns:
        The fact.
    """
    return Fact("drift", factor * (Gamma + sigma2) - D, hypothesis)


def local_gradients(
    Gamma: Any, F: Any, D: Any, tau: Any, S: Any, c: Any, hypothesis: str
) -> Fact:
    r"""$\Gamma\le(1+c)\tau F+(1+1/c)S^2D$, $F=\sum_nb_n\|\nabla F_n(x)\|^2$.

    Proof: Young for $\nabla F_n(p_n^i)=\nabla F_n(x)+\delta$ and
    $\|\delta\|\le S\|p_n^i-x\|$; sum over $i<\tau$ and n.

    Args:
        Gamma: the sum on the left.
        F: as above.
        D: drift.
        tau: number of steps.
        S: Lipschitz constant of the gradients.
        c: positive constant of Young's inequality.
        hypothesis: Lipschitz gradients.

    Returns:
        The fact.
    """
    expr = (1 + c) * tau * F + (1 + 1 / sp.S(c)) * S**2 * D - Gamma
    return Fact("Young: gradients at local points by those at x", expr, hypothesis)


def heterogeneity(
    F: Any, gradient2: Any, eps2: Any, kappa: Any, factor: Any, hypothesis: str
) -> Fact:
    r"""$F\le\kappa\,m(\|\nabla f(x)\|^2+\epsilon^2)$, $\kappa=\sum_nb_n$.

    $m=2$ for any weights: $\|\nabla F_n\|^2\le2\|\nabla f\|^2+2\|\nabla F_n-\nabla
    f\|^2$. $m=1$ for $b_n=a_n$: $\sum_na_n\|\nabla F_n\|^2=\|\nabla
    f\|^2+\sum_na_n\|\nabla F_n -\nabla f\|^2$ because $\sum_na_n\nabla F_n=\nabla f$.

    Args:
        F: the sum on the left.
        gradient2: $\|\nabla f(x)\|^2$.
        eps2: $\epsilon^2$.
        kappa: $\sum_nb_n$.
        factor: m.
        hypothesis: bounded heterogeneity.

    Returns:
        The fact.
    """
    expr = kappa * factor * (gradient2 + eps2) - F
    return Fact("heterogeneity", expr, hypothesis)


def participation(P: Any, H: Any, N: Any, hypothesis: str) -> Fact:
    r"""$P\le H/N$ for SFL-V1, $H=\sum_nb_n\mathbb E\|h_n\|^2$, $b_n=Na_n^2/q_n$.

    $P=\mathbb E\|\sum_n\frac{a_nI_n}{q_n}h_n\|^2-\mathbb E\|\sum_na_nh_n\|^2$. Proof:
    the $I_n$ are independent of each other and of the $h_n$, so
    $P=\sum_na_n^2\frac{1-q_n}{q_n}\mathbb E\|h_n\|^2\le\sum_n\frac{a_n^2}{q_n}
    \mathbb E\|h_n\|^2$.

    Args:
        P: the excess on the left.
        H: as above.
        N: number of clients.
        hypothesis: the update analysed.

    Returns:
        The fact.
    """
    return Fact("independent participation", H / N - P, hypothesis)


def stochastic_sums(
    H: Any, Gamma: Any, sigma2: Any, tau: Any, c: Any, hypothesis: str
) -> Fact:
    r"""$H\le(1+c)\tau\,\Gamma+(1+1/c)\tau\,\sigma_w$.

    Proof: Young for $h_n=\sum_i\nabla F_n(p_n^i)+\sum_i\xi_n^i$, Cauchy-Schwarz for the
    first sum, orthogonality for the second; weights $b_n$.

    Args:
        H: $\sum_nb_n\mathbb E\|h_n\|^2$.
        Gamma: $\sum_nb_n\sum_i\mathbb E\|\nabla F_n(p_n^i)\|^2$.
        sigma2: $\sum_nb_n\sigma_n^2$.
        tau: number of steps (the larger period).
        c: positive constant of Young's inequality.
        hypothesis: unbiased gradients of bounded variance.

    Returns:
        The fact.
    """
    expr = (1 + c) * tau * Gamma + (1 + 1 / sp.S(c)) * tau * sigma2 - H
    return Fact("sums of stochastic gradients", expr, hypothesis)
