r"""The trusted rules for statements over any number of clients, steps and rounds.

A rule makes a fact (an expression that is never negative) about *families*: random
vectors $v_k$ with weights $w_k\ge0$ of total $W=\sum_kw_k$. A family names its own
atoms, so a rule cannot be applied to one family and used for another. Every rule is
proved in its docstring, and tested on small families as a quadratic form with an exact
LDL factorisation.

All expectations live in the Hilbert space of square-integrable random vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from sfl_theory.evidence.certificate import Fact, Vector, atom, inner, norm2

KERNEL = "kernel"


@dataclass(frozen=True)
class Family:
    r"""Random vectors v_k with non-negative weights w_k.

    Attributes:
        label: what they are, for instance "g_n^i; n, i < tau; weights a_n".
        total: $W=\sum_kw_k$.
    """

    label: str
    total: Any

    @property
    def norm2_of_sum(self) -> Any:
        r"""The atom $\mathbb E\|\sum_kw_kv_k\|^2$."""
        return atom(f"E||sum w v||^2 of {{{self.label}}}")

    @property
    def sum_of_norm2(self) -> Any:
        r"""The atom $\sum_kw_k\mathbb E\|v_k\|^2$."""
        return atom(f"sum w E||v||^2 of {{{self.label}}}")


def jensen(family: Family) -> Fact:
    r"""$\|\sum_kw_kv_k\|^2\le W\sum_kw_k\|v_k\|^2$.

    Proof: Cauchy-Schwarz for $\sqrt{w_k}$ and $\sqrt{w_k}v_k$:
    $\|\sum_k\sqrt{w_k}\sqrt{w_k}v_k\|^2\le(\sum_kw_k)(\sum_kw_k\|v_k\|^2)$.

    Args:
        family: the vectors and weights.

    Returns:
        The fact.
    """
    gap = family.total * family.sum_of_norm2 - family.norm2_of_sum
    return Fact(f"Jensen on {{{family.label}}}", gap, KERNEL)


def bounded(family: Family, bound: Any, hypothesis: str) -> Fact:
    r"""$\sum_kw_k\mathbb E\|v_k\|^2\le W\,b$ if $\mathbb E\|v_k\|^2\le b$ for all k.

    Proof: sum the hypotheses with weights $w_k\ge0$.

    Args:
        family: the vectors and weights.
        bound: b.
        hypothesis: that gives b.

    Returns:
        The fact.
    """
    gap = family.total * bound - family.sum_of_norm2
    return Fact(f"{hypothesis} summed over {{{family.label}}}", gap, hypothesis)


def partial_sums(drift: Any, family: Family, scale2: Any, steps: Any) -> Fact:
    r"""$\sum_{i<\tau}\|u_i\|^2\le c^2\frac{\tau(\tau-1)}2\sum_{j<\tau}\|v_j\|^2$.

    For $u_i=c\sum_{j<i}v_j$. Proof: Cauchy-Schwarz gives
    $\|u_i\|^2\le c^2\,i\sum_{j<i}\|v_j\|^2\le c^2\,i\sum_{j<\tau}\|v_j\|^2$; sum over i
    with $\sum_{i<\tau}i=\tau(\tau-1)/2$. Weights over further indices (clients, with
    expectation) multiply both sides.

    Args:
        drift: the atom on the left, weights and expectation included.
        family: the $v_j$ with the same weights.
        scale2: $c^2$.
        steps: $\tau$.

    Returns:
        The fact.
    """
    gap = scale2 * steps * (steps - 1) / 2 * family.sum_of_norm2 - drift
    return Fact(f"partial sums of {{{family.label}}}", gap, KERNEL)


def bounded_partial_sums(
    drift: Any, weight: Any, scale2: Any, steps: Any, bound: Any, hypothesis: str
) -> Fact:
    r"""$\sum_{i<\tau}\mathbb E\|u_i\|^2\le c^2b\,\frac{(\tau-1)\tau(2\tau-1)}6$.

    For $u_i=c\sum_{j<i}v_j$ with $\mathbb E\|v_j\|^2\le b$. Proof: Cauchy-Schwarz gives
    $\mathbb E\|u_i\|^2\le c^2i\sum_{j<i}\mathbb E\|v_j\|^2\le c^2i^2b$, and
    $\sum_{i<\tau}i^2=(\tau-1)\tau(2\tau-1)/6$. Weights of total ``weight`` over
    further indices multiply both sides.

    Args:
        drift: the atom on the left, weights and expectation included.
        weight: total weight over further indices (1 for $\sum_na_n$).
        scale2: $c^2$.
        steps: $\tau$.
        bound: b.
        hypothesis: that gives b.

    Returns:
        The fact.
    """
    squares = (steps - 1) * steps * (2 * steps - 1) / 6
    return Fact(
        f"partial sums of vectors bounded by {bound}",
        weight * scale2 * bound * squares - drift,
        hypothesis,
    )


def cauchy_schwarz_weights(power_sum: Any, count: Any) -> Fact:
    r"""$N\sum_na_n^2\ge1$ if $\sum_{n=1}^Na_n=1$.

    Proof: $1=(\sum_n1\cdot a_n)^2\le N\sum_na_n^2$.

    Args:
        power_sum: the parameter that stands for $\sum_na_n^2$.
        count: N.

    Returns:
        The fact.
    """
    return Fact("N sum a_n^2 >= 1", count * power_sum - 1, KERNEL)


def young(u: Vector, v: Vector, c: Any) -> Fact:
    r"""$\|u+v\|^2\le(1+c)\|u\|^2+(1+1/c)\|v\|^2$ for $c>0$.

    Proof: the difference is $\|\sqrt cu-v/\sqrt c\|^2$.

    Args:
        u: a vector.
        v: another.
        c: positive.

    Returns:
        The fact.
    """
    gap = (1 + c) * norm2(u) + (1 + 1 / sp.S(c)) * norm2(v) - norm2(u + v)
    return Fact("Young", gap, KERNEL)


def smooth_upper(
    h: str, x: str, y: str, step: Vector, gradient: Vector, S: Any, hypothesis: str
) -> Fact:
    r"""$h(y)\le h(x)+\langle\nabla h(x),y-x\rangle+\frac S2\|y-x\|^2$.

    The definition of S-smoothness in Assumption 3.1 (for a mean over clients: the
    mean of their inequalities).

    Args:
        h: name of the function.
        x: name of the point.
        y: name of the other point.
        step: $y-x$.
        gradient: $\nabla h(x)$.
        S: smoothness constant.
        hypothesis: that h is S-smooth.

    Returns:
        The fact.
    """
    gap = value(h, x) + inner(gradient, step) + S / 2 * norm2(step) - value(h, y)
    return Fact(f"{h} smooth, {x} -> {y}", gap, hypothesis)


def convex_lower(
    h: str, x: str, y: str, step: Vector, gradient: Vector, mu: Any, hypothesis: str
) -> Fact:
    r"""$h(y)\ge h(x)+\langle\nabla h(x),y-x\rangle+\frac\mu2\|y-x\|^2$.

    Args:
        h: name of the function.
        x: name of the point.
        y: name of the other point.
        step: $y-x$.
        gradient: $\nabla h(x)$.
        mu: strong convexity constant, 0 for convex functions.
        hypothesis: that h is mu-strongly convex.

    Returns:
        The fact.
    """
    gap = value(h, y) - value(h, x) - inner(gradient, step) - mu / 2 * norm2(step)
    return Fact(f"{h} convex, {x} -> {y}", gap, hypothesis)


def value(h: str, x: str) -> Any:
    """Return the atom h(x)."""
    return atom(f"{h}({x})")
