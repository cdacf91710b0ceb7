r"""SFL-V1, convex, one round with any periods $\tau,\tilde\tau$.

The printed step sizes divide by the other side's period. With each side's rate divided
by its own, $\eta_c\tau=\eta_s\tilde\tau=\theta$, one round satisfies

$$\Delta_{t+1}\le(1-\tfrac{\theta\mu}2)\Delta_t-2\theta(\mathbb Ef(x^t)-f^*)
+c_1\theta^2G^2+2Sc_d\theta^3G^2,\qquad
c_d=\tfrac43+\tfrac58(1-\varrho)^2\tfrac S\mu,$$

$\varrho=\tau_{min}/\tau_{max}$, $c_1=(2-\varrho)(1+\rho)$ with $\rho=0$ or
$\rho=\sum_na_n^2\frac{1-q_n}{q_n}$, and for every $\mu\ge0$

$$\Delta_{t+1}\le(1+\tfrac14(1-\varrho)S^2\theta^2)\Delta_t-2\theta(\mathbb Ef(x^t)-f^*)
+(c_1+\tfrac54(1-\varrho))\theta^2G^2+\tfrac23S\theta^3G^2.$$

The step that resists more: for unequal periods the blocks of a round's direction are
gradients at *different* points, so to first order it is $(I-\theta A)\nabla f$ with a
matrix A that is not symmetric, and $\langle A\nabla f,x-x^*\rangle$ has no sign. It is
absorbed by $\mu\|x-x^*\|^2$ (a factor $S/\mu$ on the drift) or, without $\mu$, lets the
distance grow by the factor above. Rules: ``sfl_theory.evidence.two_periods``.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    Vector,
    atom,
    norm2,
    vectors,
)
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.two_periods import (
    mean_directions,
    paired_convexity,
    paired_drift,
    unpaired,
)

S, mu, G2, rho, theta, ratio = positive("S mu G2 rho theta varrho")

CONVEX = "Assumptions 3.1 and C.2"
BOUNDED = "Assumption 3.3"
UPDATE = (
    "the algorithm's update with unbiased gradients, each side's rate divided by its "
    "own period"
)
ASSUMED = (UPDATE, CONVEX, BOUNDED)
SECOND = (2 - ratio) * (1 + rho)
"""$c_1$ of the recursion."""
DRIFT = sp.Rational(4, 3) + sp.Rational(5, 8) * (1 - ratio) ** 2 * S / mu
"""$c_d$ of the recursion."""


def _facts(m: Any) -> tuple[Any, tuple[Vector, Vector], tuple[Fact, ...]]:
    r"""Return $\Delta_{t+1}$, the vectors $y$ and $e/(1-\varrho)$, and what holds.

    Args:
        m: strong convexity constant.
    """
    then, gap, P, Q, D = (atom(k) for k in ("Delta_t+1", "gap_t", "P", "Q", "D"))
    y, e = vectors("x-x* e/(1-varrho)")
    facts = (
        Fact(
            "square of the update",
            then - norm2(y) + 2 * theta * P - theta**2 * Q,
            UPDATE,
            equality=True,
        ),
        paired_convexity(P, gap, y, e * (1 - ratio), D, m, S, CONVEX),
        mean_directions(Q, ratio, rho, G2, BOUNDED),
        paired_drift(D, theta, G2, BOUNDED),
        unpaired(e, S, theta, G2, BOUNDED),
    )
    return then, (y, e), facts


def one_round(claim: str) -> Certificate:
    r"""Return the recursion for $\mu>0$."""
    then, (y, e), facts = _facts(mu)
    gap = atom("gap_t")
    s, G, a, h = free("s G a h")
    m, step = positive("m theta_0")
    domain = Domain(
        "S >= mu > 0, theta > 0, 0 < tau_min/tau_max <= 1, G^2, rho >= 0",
        {mu: m, S: m + s, theta: step, G2: G, rho: a, ratio: 1 / (1 + h)},
        (m, s, step, G, a, h),
    )
    right = (1 - theta * mu / 2) * norm2(y) - 2 * theta * gap
    right += SECOND * theta**2 * G2 + 2 * S * DRIFT * theta**3 * G2
    factors = (
        -1,
        2 * theta,
        theta**2,
        2 * theta * (S / 2 + 3 * mu / 2),
        4 * theta / mu * (1 - ratio) ** 2,
    )
    return Certificate(
        claim,
        then,
        right,
        ASSUMED,
        domain,
        uses=tuple(zip(facts, factors, strict=True)),
        squares=((y + e * (4 / mu * (1 - ratio)), theta * mu / 4),),
        statement="Delta_t+1 <= (1 - theta mu/2) Delta_t - 2 theta (E f(x^t) - f*) + "
        "c_1 theta^2 G^2 + 2 S c_d theta^3 G^2, "
        "c_1 = (2 - tau_min/tau_max) (1 + rho), "
        "c_d = 4/3 + 5/8 (1 - tau_min/tau_max)^2 S/mu",
    )


def one_round_without_mu(claim: str) -> Certificate:
    r"""Return the recursion for $\mu=0$."""
    then, (y, e), facts = _facts(0)
    gap = atom("gap_t")
    G, a, h = free("G a h")
    s, step = positive("s theta_0")
    domain = Domain(
        "S > 0, mu = 0, theta > 0, 0 < tau_min/tau_max <= 1, G^2, rho >= 0",
        {S: s, theta: step, G2: G, rho: a, ratio: 1 / (1 + h)},
        (s, step, G, a, h),
    )
    growth, noise, drift = general_terms()
    right = (1 + growth) * norm2(y) - 2 * theta * gap + noise + drift
    factors = (-1, 2 * theta, theta**2, theta * S, 4 * (1 - ratio) / S**2)
    return Certificate(
        claim,
        then,
        right,
        ASSUMED,
        domain,
        uses=tuple(zip(facts, factors, strict=True)),
        squares=((y + e * (4 / (S**2 * theta)), growth),),
        statement="Delta_t+1 <= (1 + (1 - tau_min/tau_max) S^2 theta^2/4) Delta_t - "
        "2 theta (E f(x^t) - f*) + (c_1 + 5/4 (1 - tau_min/tau_max)) theta^2 G^2 + "
        "2/3 S theta^3 G^2",
    )


def general_terms() -> tuple[Any, Any, Any]:
    r"""Return growth, second-order and third-order term of a round with $\mu=0$."""
    noise = (SECOND + sp.Rational(5, 4) * (1 - ratio)) * theta**2 * G2
    return (1 - ratio) * S**2 * theta**2 / 4, noise, 2 * S * theta**3 * G2 / 3
