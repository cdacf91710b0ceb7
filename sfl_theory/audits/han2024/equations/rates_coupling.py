r"""SFL-V2 with and without everybody: two runs compared over one visit.

The order of the visits is given; q is that of the client visited and
$\kappa=\frac1q-1$. y is the state (all client blocks and the server block) of the run
with participation, z that of full participation, same samples, same order;
$A=\mathbb E\|y-z\|^2$ before the visit, $A'$ after it. The stochastic gradients are
$\nabla F_n(x)+\xi(x)$, where $\xi(y)$ and $\xi(z)$ may be any two functions of the same
sample, and

$F=\mathbb E[\|\nabla F_n(y)\|^2\mid I_n=1]$, $Y=\mathbb E[\|\xi(y)\|^2\mid I_n=1]$,
$F'=\mathbb E\|\nabla F_n(z)\|^2$, $Z=\mathbb E\|\xi(z)\|^2$.

Assumption 3.3 gives $F+Y\le G^2$ and $F'+Z\le G^2$: where noise is large, gradients are
small.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from sfl_theory.audits.han2024.convex import BOUNDED, G2, S, eta
from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    atom,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.kernel import value

SMOOTH = "Assumptions 3.1 and C.2"
COUPLED = (
    "SFL-V2's update, both runs with the same samples in the same order, eta <= 2/S; "
    "Assumptions 3.1, C.2 and 3.2; I_n ~ Bernoulli(q_n), independent of the order and "
    "the samples"
)

ratio, kappa = positive("lambda kappa")
UNIT = eta**2 * G2
PRESENT, NOISE = atom("eta^2 F"), atom("eta^2 Y")
ABSENT, OTHER = atom("eta^2 F'"), atom("eta^2 Z")


def visit(now: Any, then: Any, part: Any, k: Any) -> Fact:
    r"""One visit, for every $\lambda>0$, with $q=\frac1{1+\kappa}$ of its client.

    $A'\le(1+\lambda)A+(1+\frac1\lambda)\eta^2\kappa[(1-q)F+qF']
    +\eta^2[(1+\frac1q)Y+2Z]$,

    Proof: let $D=y-z$. With $I_n=1$ the server of y moves by
    $-\frac\eta q(\nabla_sF_n(y)+\xi_s(y))$, the client block by the same with 1 for
    $\frac1q$, and z by $-\eta(\nabla F_n(z)+\xi(z))$. So $D'=[y-\eta\nabla F_n(y)-z
    +\eta\nabla F_n(z)]-\eta(\frac1q-1)\nabla_sF_n(y)-\eta\Xi$, where the bracket is no
    longer than D (``nonexpansive``) and $\|\Xi\|\le\frac1q\|\xi(y)\|+\|\xi(z)\|$ in
    mean square. With $I_n=0$ only z moves: $D'=D+\eta\nabla F_n(z)+\eta\xi(z)$. Given
    the past and who takes part $\xi$ has mean zero, so in both cases
    $\mathbb E\|D'\|^2\le\mathbb E(\|D\|+\eta h)^2+\eta^2M$ with
    $h=(\frac1q-1)\|\nabla F_n(y)\|$ or $\|\nabla F_n(z)\|$. By Young
    $(\|D\|+\eta h)^2\le(1+\lambda)\|D\|^2+(1+\frac1\lambda)\eta^2h^2$; z does not
    depend on $I_n$, so $\mathbb Eh^2=q(\frac1q-1)^2F+(1-q)F'=\kappa[(1-q)F+qF']$ and
    $M\le q(\frac1q\sqrt Y+\sqrt Z)^2+(1-q)Z=\frac Yq+2\sqrt{YZ}+Z\le(1+\frac1q)Y+2Z$.

    Args:
        now: A.
        then: A'.
        part: $\lambda$.
        k: $\kappa$.

    Returns:
        The fact.
    """
    q = 1 / (1 + k)
    expr = (1 + part) * now - then
    expr += (1 + 1 / part) * k * ((1 - q) * PRESENT + q * ABSENT)
    expr += (1 + 1 / q) * NOISE + 2 * OTHER
    return Fact("two runs coupled over one visit", expr, COUPLED)


def first_visit(then: Any, k: Any) -> Fact:
    r"""$A_1\le\kappa\eta^2G^2$.

    Proof: both runs start at the same point with the same sample, so D is
    $-\eta(\frac1q-1)g_{s,n}$ with probability q and $\eta g_n$ else;
    $q(\frac1q-1)^2+1-q=\kappa$.

    Args:
        then: $A_1$.
        k: $\kappa$.

    Returns:
        The fact.
    """
    return Fact("first visit, from one point", k * UNIT - then, COUPLED)


def nonexpansive(claim: str) -> Certificate:
    r"""Return $\|x-\eta\nabla F(x)-y+\eta\nabla F(y)\|\le\|x-y\|$, $\eta\le2/S$."""
    d, gx, gy = vectors("x-y grad_F(x) grad_F(y)")
    s, h = positive("s")[0], free("h")[0]
    change = norm2(gx - gy) / (2 * S)
    facts = tuple(
        Fact(name, gap, SMOOTH, exact=True)
        for name, gap in (
            ("x -> y", value("F", "x") - value("F", "y") - inner(gy, d) - change),
            ("y -> x", value("F", "y") - value("F", "x") + inner(gx, d) - change),
        )
    )
    return Certificate(
        claim,
        norm2(d - eta * (gx - gy)),
        norm2(d),
        (SMOOTH,),
        Domain("S > 0, 0 < eta <= 2/S", {S: s, eta: 2 / (S * (1 + h))}, (s, h)),
        uses=tuple((fact, 2 * eta) for fact in facts),
        squares=((gx - gy, eta * (2 / S - eta)),),
        statement="||x - eta grad F(x) - y + eta grad F(y)|| <= ||x - y||",
    )


def _visited(part: Any, together: Any) -> tuple[tuple[Fact, Any], ...]:
    """Return the visit, and G^2 for its gradients and noises.

    Args:
        part: lambda.
        together: the share of the gradients' factor that is bounded together with the
            noise at the same point, kappa (1-q) and kappa q times this.
    """
    q = 1 / (1 + kappa)
    uses = [(visit(atom("A_v"), atom("A_v+1"), part, kappa), sp.Integer(1))]
    for gradient, noise, weight, spread in (
        (PRESENT, NOISE, kappa * (1 - q), 1 + 1 / q),
        (ABSENT, OTHER, kappa * q, sp.Integer(2)),
    ):
        both, push = together * weight, (1 + 1 / part) * weight
        uses += [
            (
                Fact("gradient and noise", UNIT - gradient - noise, BOUNDED),
                both,
            ),
            (Fact("gradient", UNIT - gradient, BOUNDED), push - both),
            (Fact("noise", UNIT - noise, BOUNDED), spread - both),
        ]
    return tuple(uses)


def _one_visit(
    claim: str, domain: Domain, part: Any, together: Any, growth: Any, words: str
) -> Certificate:
    return Certificate(
        claim,
        atom("A_v+1"),
        (1 + part) * atom("A_v") + growth * UNIT,
        (COUPLED, BOUNDED),
        domain,
        uses=_visited(part, together),
        statement=f"A_v+1 <= {words} eta^2 G^2",
    )


def any_visit(claim: str) -> Certificate:
    r"""Return $A_{v+1}\le(1+\lambda)A_v+[(1+\frac1\lambda)\kappa+4]\eta^2G^2$."""
    e, G, k = free("e G k")
    (share,) = positive("share")
    domain = Domain(
        "lambda > 0, 0 < q <= 1, kappa = 1/q - 1",
        {eta: e, G2: G, kappa: k, ratio: share},
        (e, G, k, share),
    )
    growth = (1 + 1 / ratio) * kappa + 4
    words = "(1 + lambda) A_v + ((1 + 1/lambda) kappa + 4)"
    return _one_visit(claim, domain, ratio, sp.Integer(1), growth, words)


def rare_visit(claim: str) -> Certificate:
    r"""Return $A_{v+1}\le\frac32A_v+(3\kappa+3)\eta^2G^2$ for $q\le\frac23$."""
    e, G, k = free("e G k")
    domain = Domain(
        "0 < q <= 2/3, kappa = 1/q - 1",
        {eta: e, G2: G, kappa: sp.Rational(1, 2) + k},
        (e, G, k),
    )
    words = "3/2 A_v + (3 kappa + 3)"
    half = sp.Rational(1, 2)
    return _one_visit(claim, domain, half, 1 + 1 / kappa, 3 * kappa + 3, words)


def frequent_visit(claim: str) -> Certificate:
    r"""Return $A_{v+1}\le\frac54A_v+(3\kappa+4)\eta^2G^2$ for $q\ge\frac23$."""
    e, G, k = free("e G k")
    domain = Domain(
        "2/3 <= q <= 1, kappa = 1/q - 1",
        {eta: e, G2: G, kappa: k},
        (e, G, k),
        (1 - 2 * kappa,),
    )
    words = "5/4 A_v + (3 kappa + 4)"
    fourth = sp.Rational(1, 4)
    return _one_visit(claim, domain, fourth, sp.Integer(3), 3 * kappa + 4, words)
