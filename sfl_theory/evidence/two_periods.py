r"""Rules for one round of SFL-V1 with different periods, gradients bounded, F_n convex.

From $x=x^t$, every client makes $\tau$ steps on its own side with the rate
$\eta_c=\theta/\tau$ and $\tilde\tau$ steps on the server's side with the rate
$\eta_s=\theta/\tilde\tau$; a side that is done keeps its value while the other goes on.
$p_n^i=(c_n^i,s_n^i)$ is the point of the i-th step, so the client side after k of its
own steps is $c_n^k$, the server side $s_n^k$, and the gradients
$g_n^i=\nabla F_n(p_n^i)+\xi_n^i$ of every step have
$\mathbb E\|g_n^i\|^2\le G^2$, both blocks together. With
$d_n=[\frac1\tau\sum_{i<\tau}g_{c,n}^i;\frac1{\tilde\tau}\sum_{i<\tilde\tau}g_{s,n}^i]$
a round is $x'=x-\theta\sum_nw_nd_n$, where $w_n=a_n$ or $w_n=a_nI_n/q_n$ with $I_n\sim$
Bernoulli$(q_n)$ independent of each other and of the draws.

The blocks of $d_n$ are means over different points. For $s\in[0,1)$ let both sides be
the same *fraction* of their steps along: $r_n(s)=(c_n^i,s_n^j)$ with
$i=\lfloor s\tau\rfloor$, $j=\lfloor s\tilde\tau\rfloor$. Then $\mathbb E d_n=
\mathbb E\int_0^1\nabla F_n(r_n(s))\,ds+\mathbb E e_n$, where $e_n$ collects what it
costs that a gradient is taken at $p_n^i$ instead of $r_n(s)$:
$e_{c,n}=\int_0^1[\nabla_cF_n(p_n^{\lfloor s\tau\rfloor})-\nabla_cF_n(r_n(s))]ds$, and
the server's block likewise. $e=\sum_na_ne_n$,
$D=\sum_na_n\int_0^1\mathbb E\|r_n(s)-x\|^2ds$, and $\varrho=\tau_{min}/\tau_{max}$;
$e=0$ for $\varrho=1$.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from sfl_theory.evidence.certificate import Fact, Vector, inner, norm2

SHARE = sp.Rational(1, 4)
r"""$\alpha$ in ``paired_convexity``: leaves $\frac38\mu$ of $\frac12\mu$."""


def paired_convexity(
    P: Any, gap: Any, y: Vector, e: Vector, D: Any, mu: Any, S: Any, hypothesis: str
) -> Fact:
    r"""$P\ge f(x)-f^*+\frac38\mu\|y\|^2+\langle e,y\rangle-(\frac S2+\frac32\mu)D$.

    $P=\mathbb E\langle\sum_nw_nd_n,y\rangle$, $y=x-x^*$. Proof: $w_n$ is independent of
    $d_n$, so $P=\sum_na_n\int_0^1\mathbb E\langle\nabla F_n(r_n(s)),y\rangle ds+
    \langle e,y\rangle$. With $r=r_n(s)$, convexity from r to $x^*$ and smoothness from
    r to x give $\langle\nabla F_n(r),x-x^*\rangle\ge F_n(x)-F_n(x^*)
    +\frac\mu2\|r-x^*\|^2-\frac S2\|x-r\|^2$, and by Young
    $\|r-x^*\|^2\ge(1-\alpha)\|x-x^*\|^2-(\frac1\alpha-1)\|x-r\|^2$; $\alpha=\frac14$.

    Args:
        P: the atom on the left.
        gap: $\mathbb Ef(x)-f^*$.
        y: $x-x^*$.
        e: the cost of unequal periods.
        D: drift.
        mu: strong convexity constant, 0 for convex functions.
        S: smoothness constant.
        hypothesis: that every $F_n$ is smooth and convex.

    Returns:
        The fact.
    """
    expr = P - gap - inner(e, y) - mu / 2 * (1 - SHARE) * norm2(y)
    expr += (S / 2 + mu / 2 * (1 / SHARE - 1)) * D
    return Fact("convexity and smoothness at paired points", expr, hypothesis)


def unpaired(e: Vector, S: Any, theta: Any, G2: Any, hypothesis: str) -> Fact:
    r"""$\|e/(1-\varrho)\|^2\le\frac5{16}S^2\theta^2G^2$.

    For $\varrho=1$ the quotient stands for 0. Proof for $\tau\ge\tilde\tau$ (else the
    sides change places), so that $\varrho=\tilde\tau/\tau$ and $i\ge j$. Norms in the
    space of square-integrable vectors, by Minkowski.

    Where two points differ by z on one side only, say the server's, the gradients of a
    smooth convex function differ by $\delta$ with $\|\delta\|^2\le S\langle\delta,
    z\rangle$ (cocoercivity), so $\|\delta_c\|^2\le S\langle\delta_s,z\rangle
    -\|\delta_s\|^2\le\frac{S^2}4\|z\|^2$.

    At $p_n^i$ the server is $m=\min\{i,\tilde\tau\}\ge j$ steps along instead of j, and
    k of its steps move it by at most $\theta Gk/\tilde\tau$; so $\|e_{c,n}\|\le
    \frac{S\theta G}{2\tilde\tau}\int_0^1(m-j)ds$, where $\int m\,ds=
    \frac1\tau[\frac{\tilde\tau(\tilde\tau-1)}2+(\tau-\tilde\tau)\tilde\tau]$ and
    $\int j\,ds=\frac{\tilde\tau-1}2$, together $\frac{S\theta G}2\cdot
    \frac{1-\varrho}2(1+\frac1{\tilde\tau})\le\frac{S\theta G}2(1-\varrho)$. At $p_n^j$
    the client side is j steps along instead of i, so $\|e_{s,n}\|\le
    \frac{S\theta G}{2\tau}\int_0^1(i-j)ds=\frac{S\theta G}2\cdot\frac{1-\varrho}2$.
    $\frac14(1+\frac14)=\frac5{16}$, and Jensen over clients.

    Args:
        e: the vector $e/(1-\varrho)$.
        S: smoothness constant.
        theta: $\theta$.
        G2: $G^2$.
        hypothesis: bounded gradients.

    Returns:
        The fact.
    """
    bound = sp.Rational(5, 16) * S**2 * theta**2 * G2
    return Fact("cost of unequal periods", bound - norm2(e), hypothesis)


def paired_drift(D: Any, theta: Any, G2: Any, hypothesis: str) -> Fact:
    r"""$D\le\frac23\theta^2G^2$.

    Proof: $c_n^i-x_c=-\frac\theta\tau\sum_{k<i}g_{c,n}^k$, so by Cauchy-Schwarz
    $\mathbb E\|c_n^i-x_c\|^2\le\theta^2G^2i^2/\tau^2$, whose mean over $i<\tau$ is at
    most $\theta^2G^2/3$; the server side likewise; $\sum_na_n=1$.

    Args:
        D: drift.
        theta: $\theta$.
        G2: $G^2$.
        hypothesis: bounded gradients.

    Returns:
        The fact.
    """
    return Fact("drift of the paired points", 2 * theta**2 * G2 / 3 - D, hypothesis)


def mean_directions(Q: Any, ratio: Any, rho: Any, G2: Any, hypothesis: str) -> Fact:
    r"""$Q=\mathbb E\|\sum_nw_nd_n\|^2\le c_1G^2$, $c_1=(2-\varrho)(1+\rho)$.

    $\rho=0$ for $w_n=a_n$, $\rho=\sum_na_n^2\frac{1-q_n}{q_n}$ under participation.
    Proof: say $\tau\ge\tilde\tau$. With $u_i,v_i$ the second moments of the blocks of
    $g_n^i$, $u_i+v_i\le G^2$, Jensen gives $\mathbb E\|d_n\|^2\le
    \frac1\tau\sum_{i<\tau}u_i+\frac1{\tilde\tau}\sum_{i<\tilde\tau}v_i\le
    \frac1{\tilde\tau}\sum_{i<\tilde\tau}(u_i+v_i)
    +\frac1\tau\sum_{i=\tilde\tau}^{\tau-1}u_i\le(1+1-\varrho)G^2$. Over clients Jensen
    with weights $a_n$; under participation $\mathbb E_I\|\sum_nw_nd_n\|^2=
    \|\sum_na_nd_n\|^2+\sum_na_n^2\frac{1-q_n}{q_n}\|d_n\|^2$, for $d_n$ does not depend
    on I.

    Args:
        Q: the atom on the left.
        ratio: $\varrho$.
        rho: as above.
        G2: $G^2$.
        hypothesis: bounded gradients.

    Returns:
        The fact.
    """
    expr = (2 - ratio) * (1 + rho) * G2 - Q
    return Fact("second moment of the mean directions", expr, hypothesis)
