r"""Rules for one round of SFL-V2 whose clients take part at random.

Notation of ``local_sgd``; from $x=x^t$, given which all expectations are taken. Client
n takes part if $I_n=1$, $I_n\sim$Bernoulli$(q_n)$ independent of each other and of the
samples, and weighs $w_n=a_nI_n/q_n$: the shared server steps by $\eta w_ng_{s,n}$ at
every visit, the client side by $\eta\sum_nw_nh_{c,n}$ at the end. So
$x'=x-\eta\sum_nw_nh_n$, where the points $p_n^i$ depend on who takes part, for the
server has moved at the visits before. The order of the visits is drawn independently of
the samples, but may depend on who takes part. Given the participants and the order, the
$\xi_n^i$ are martingale differences along the sequence of visits.

$\mathbb Ew_n=a_n$, $\sum_nw_n\le\kappa=\sum_na_n/q_n$ in every outcome, and

- $\sum_nw_nh_n=\tau\nabla f(x)+L+\Delta+Z$ with $L=\tau\sum_n(w_n-a_n)\nabla F_n(x)$,
  $\Delta=\sum_nw_n\sum_i(\nabla F_n(p_n^i)-\nabla F_n(x))$, $Z=\sum_nw_n\sum_i\xi_n^i$,
- $B=\mathbb E\Delta$ and $V=\Delta-B$,
- $D=\mathbb E\sum_nw_n\sum_{i<\tau}\|p_n^i-x\|^2$ (drift),
- $\Gamma=\mathbb E\sum_nw_n\sum_{i<\tau}\|\nabla F_n(p_n^i)\|^2$.

``local_sgd.local_gradients`` holds for these D and $\Gamma$ as well, Young's inequality
being multiplied by $w_n\ge0$ before the expectation; its F is
$\mathbb E\sum_nw_n\|\nabla F_n(x)\|^2=\sum_na_n\|\nabla F_n(x)\|^2$.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from sfl_theory.evidence.certificate import Fact, Vector, inner, norm2


def centred(
    known: tuple[Vector, ...], L: Vector, V: Vector, Z: Vector, hypothesis: str
) -> tuple[Fact, ...]:
    r"""L, V and Z are orthogonal to what is fixed given x, and L to Z.

    Proof: $\mathbb EL=0$ by $\mathbb Ew_n=a_n$, $\mathbb EV=0$ by definition, and
    $\mathbb E[Z\mid I]=0$, for given I and the order every $\xi_n^i$ has mean zero
    given the visits before. L is a function of I, so $\mathbb E\langle L,Z\rangle=
    \mathbb E\langle L,\mathbb E[Z\mid I]\rangle=0$.

    Args:
        known: vectors fixed given x: the gradient and B.
        L: participation of the gradients at x.
        V: deviation of the local gradients, centred.
        Z: noise.
        hypothesis: unbiased gradients, participation independent of the samples.

    Returns:
        The facts, all equalities.
    """
    pairs = [(u, v) for u in known for v in (L, V, Z)] + [(L, Z)]
    return tuple(
        Fact("mean zero given x", inner(u, v), hypothesis, equality=True)
        for u, v in pairs
    )


def participating_gradients(
    L: Vector, gradient2: Any, eps2: Any, tau: Any, rho: Any, hypothesis: str
) -> Fact:
    r"""$\mathbb E\|L\|^2\le2\rho\tau^2(\|\nabla f(x)\|^2+\epsilon^2)$.

    $\rho=\sum_na_n^2\frac{1-q_n}{q_n}$. Proof: the $w_n-a_n$ are independent with mean
    zero and variance $a_n^2\frac{1-q_n}{q_n}$, the gradients at x are fixed, so
    $\mathbb E\|L\|^2=\tau^2\sum_na_n^2\frac{1-q_n}{q_n}\|\nabla F_n(x)\|^2$; and
    $\|\nabla F_n\|^2\le2\|\nabla f\|^2+2\|\nabla F_n-\nabla f\|^2$.

    Args:
        L: as above.
        gradient2: $\|\nabla f(x)\|^2$.
        eps2: $\epsilon^2$.
        tau: local steps.
        rho: as above.
        hypothesis: bounded heterogeneity.

    Returns:
        The fact.
    """
    expr = 2 * rho * tau**2 * (gradient2 + eps2) - norm2(L)
    return Fact("independent participation of the gradients at x", expr, hypothesis)


def participating_noise(Z: Vector, tau: Any, sigma_q: Any, hypothesis: str) -> Fact:
    r"""$\mathbb E\|Z\|^2\le\tau\sigma_q$, $\sigma_q=\sum_n\frac{a_n^2}{q_n}\sigma_n^2$.

    Proof: given I and the order, martingale differences are orthogonal, so
    $\mathbb E\|Z\|^2=\mathbb E\sum_nw_n^2\sum_{i<\tau}\|\xi_n^i\|^2\le\tau\sum_n
    \mathbb E[w_n^2]\sigma_n^2$, and $\mathbb Ew_n^2=a_n^2/q_n$.

    Args:
        Z: as above.
        tau: local steps.
        sigma_q: as above.
        hypothesis: unbiased gradients of bounded variance.

    Returns:
        The fact.
    """
    return Fact("noise of the participants", tau * sigma_q - norm2(Z), hypothesis)


def mean_deviation(B: Vector, D: Any, tau: Any, S: Any, hypothesis: str) -> Fact:
    r"""$\|B\|^2\le\tau S^2D$.

    Proof: $B=\mathbb E\sum_n\sum_{i<\tau}w_n\delta_n^i$ with $\delta_n^i=\nabla
    F_n(p_n^i)-\nabla F_n(x)$ is an integral with respect to the measure that weighs
    (outcome, n, i) with $w_n\,d\mathbb P$, of total mass $\tau\,\mathbb
    E\sum_nw_n=\tau$. Jensen: $\|B\|^2\le\tau\,\mathbb
    E\sum_n\sum_iw_n\|\delta_n^i\|^2$, and $\|\delta_n^i\|\le S\|p_n^i-x\|$.

    Args:
        B: as above.
        D: drift.
        tau: local steps.
        S: Lipschitz constant of the gradients.
        hypothesis: that they are.

    Returns:
        The fact.
    """
    expr = tau * S**2 * D - norm2(B)
    return Fact("mean deviation of the local gradients", expr, hypothesis)


def deviation_variance(
    B: Vector, V: Vector, D: Any, tau: Any, kappa: Any, S: Any, hypothesis: str
) -> Fact:
    r"""$\mathbb E\|V\|^2+\|B\|^2\le\kappa\tau S^2D$.

    Proof: the left side is $\mathbb E\|\Delta\|^2$. In every outcome Jensen with the
    weights $w_n$ over n and $i<\tau$, of total at most $\kappa\tau$, gives
    $\|\Delta\|^2\le\kappa\tau\sum_nw_n\sum_i\|\delta_n^i\|^2$; Lipschitz gradients;
    expectation.

    Args:
        B: mean deviation.
        V: centred deviation.
        D: drift.
        tau: local steps.
        kappa: $\sum_na_n/q_n$.
        S: Lipschitz constant of the gradients.
        hypothesis: that they are.

    Returns:
        The fact.
    """
    expr = kappa * tau * S**2 * D - norm2(V) - norm2(B)
    return Fact("second moment of the deviation", expr, hypothesis)


def participating_drift(
    D: Any,
    Gamma: Any,
    eta: Any,
    tau: Any,
    kappa: Any,
    sigma_a: Any,
    sigma_q: Any,
    hypothesis: str,
) -> Fact:
    r"""$D\le\eta^2\tau^2(2\kappa^2\Gamma+\sigma_a+2\kappa\sigma_q)$.

    $\sigma_a=\sum_na_n\sigma_n^2$, $\sigma_q=\sum_n\frac{a_n^2}{q_n}\sigma_n^2$. Proof:
    fix I and the order, so the $w_n$ are numbers with $W=\sum_nw_n\le\kappa$; $c$ and
    $s$ denote the two blocks of gradients and of the variance.

    Client block: $p_{c,n}^i-x_c=-\eta\sum_{j<i}(\nabla_cF_n(p_n^j)+\xi_{c,n}^j)$; by
    $\|u+v\|^2\le2\|u\|^2+2\|v\|^2$, Cauchy-Schwarz and orthogonality
    $\mathbb E\|p_{c,n}^i-x_c\|^2\le2\eta^2i(\sum_{j<\tau}\mathbb E\|\nabla_cF_n(p_n^j)
    \|^2+\sigma_n^2)$. Summed over i and with weights $w_n$:
    $\eta^2\tau(\tau-1)(\Gamma_c+\sum_nw_n\sigma_n^2)$.

    Server block: off by $\eta\sum w_m(\nabla_sF_m(p_m^j)+\xi_{s,m}^j)$ over the visits
    so far, whose weights have a total of at most $W\tau$; by Jensen with these weights
    and orthogonality at most $2\eta^2W\tau\,\Gamma_s+2\eta^2\tau\sum_mw_m^2\sigma_m^2$.
    Weights $w_n$ over n and $i<\tau$ have the total $W\tau$:
    $2\eta^2W^2\tau^2\Gamma_s+2\eta^2W\tau^2\sum_mw_m^2\sigma_m^2$.

    The sum is at most $\eta^2\tau^2(2\kappa^2(\Gamma_c+\Gamma_s)+\sum_nw_n\sigma_n^2+
    2\kappa\sum_nw_n^2\sigma_n^2)$, as $\kappa\ge1$; expectation over I and the order.

    Args:
        D: drift.
        Gamma: as above.
        eta: learning rate.
        tau: local steps.
        kappa: $\sum_na_n/q_n$.
        sigma_a: as above.
        sigma_q: as above.
        hypothesis: the update analysed.

    Returns:
        The fact.
    """
    noise = sigma_a + 2 * kappa * sigma_q
    expr = eta**2 * tau**2 * (2 * kappa**2 * Gamma + noise) - D
    return Fact("drift under participation", expr, hypothesis)


def visited_drift(
    D: Any,
    F: Any,
    Delta: Any,
    eta: Any,
    tau: Any,
    kappa: Any,
    noise: Any,
    c: Any,
    hypothesis: str,
) -> Fact:
    r"""$D\le\frac{\eta^2\tau^2}2[(1+c)(\kappa^2\tau F+\sigma)+(1+1/c)\kappa^2\Delta]$.

    $F=\sum_na_n\|\nabla F_n(x)\|^2$, $\Delta=\mathbb
    E\sum_nw_n\sum_{i<\tau}\|\delta_n^i\|^2$, $\delta_n^i=\nabla F_n(p_n^i)-\nabla
    F_n(x)$; $\sigma=\sigma_a+2\kappa\sigma_q$, or $\sigma=\sigma_a$ and $\kappa=1$
    where every client takes part. Proof: fix I and the order. A point is off by $-\eta$
    times a sum of $\nabla F_n(x)$, which is fixed given x, plus one of noise, of mean
    zero, plus one of $\delta$. So with
    $\|u+v\|^2\le(1+c)\|u\|^2+(1+\frac1c)\|v\|^2$ the squares of the first two add up.

    Client block: by orthogonality and Cauchy-Schwarz $\mathbb E\|p_{c,n}^i-x_c\|^2\le
    \eta^2[(1+c)(i^2\|\nabla_cF_n(x)\|^2+i\,\sigma_{c,n}^2)+(1+\frac1c)i\sum_j\mathbb
    E\|\delta_{c,n}^j\|^2]$. Summed over $i<\tau$ and with weights $w_n$, as
    $\sum_ii\le\frac{\tau^2}2$, $\sum_ii^2\le\frac{\tau^3}2$: the claim for the client
    block with $\kappa$ replaced by 1 and $\sigma$ by $\sum_nw_n\sigma_{c,n}^2$.

    Server block: visit v has the weight $w_v$ of its client and comes after visits of
    total weight $W_v$; all weights add up to $W\tau$. Before it the server is off by
    $\eta$ times a sum over $u<v$ with weights $w_u$, so in mean square by at most
    $\eta^2[(1+c)(W_v\sum_uw_u\|\nabla_sF_u(x)\|^2+\sum_{u<v}w_u^2\sigma_{s,u}^2)
    +(1+\frac1c)W_v\sum_uw_u\mathbb E\|\delta_{s,u}\|^2]$ (Jensen, orthogonality). With
    the weights $w_v$, as $\sum_vw_vW_v=\sum_{u<v}w_uw_v\le\frac12(W\tau)^2$, the
    gradients and $\delta$ are as claimed with W for $\kappa$. The noise is
    $(1+c)\eta^2\sum_uw_u^2\sigma_{s,u}^2R_u$, $R_u$ the weight of the visits after u.
    As $R_u\le W\tau$, that is $(1+c)\eta^2\tau^2W\sum_mw_m^2\sigma_{s,m}^2$ at most,
    whose expectation gives $\kappa\sigma_q$. If all take part, $W=1$ and
    $R_u\le\tau-(i+1)a_n$ for the i-th visit to client n, so that $\sum_ia_n^2R_u\le
    a_n\tau^2(a_n-\frac12a_n^2)\le\frac12a_n\tau^2$: $\frac12\sum_na_n\sigma_{s,n}^2$.

    Sum of the blocks, expectation over I and the order, $W\le\kappa$, $\kappa\ge1$.

    Args:
        D: drift.
        F: as above.
        Delta: as above.
        eta: learning rate.
        tau: local steps.
        kappa: $\sum_na_n/q_n$.
        noise: $\sigma$.
        c: positive constant of Young's inequality.
        hypothesis: the update analysed.

    Returns:
        The fact.
    """
    first = (1 + c) * (kappa**2 * tau * F + noise)
    expr = eta**2 * tau**2 / 2 * (first + (1 + 1 / sp.S(c)) * kappa**2 * Delta) - D
    return Fact("drift, visit by visit", expr, hypothesis)


def local_deviation(Delta: Any, D: Any, S: Any, hypothesis: str) -> Fact:
    r"""$\Delta\le S^2D$, by $\|\delta_n^i\|\le S\|p_n^i-x\|$.

    Args:
        Delta: $\mathbb E\sum_nw_n\sum_{i<\tau}\|\delta_n^i\|^2$.
        D: drift.
        S: Lipschitz constant of the gradients.
        hypothesis: that they are.

    Returns:
        The fact.
    """
    return Fact("local gradients against those at x", S**2 * D - Delta, hypothesis)
