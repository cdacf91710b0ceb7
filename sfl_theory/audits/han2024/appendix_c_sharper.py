r"""(39) and (44) of ``han2024`` with smaller constants.

The noise of a step is orthogonal to everything before it, so it needs no factor:
$A_i\le(1+a/\tau)A_{i-1}+2\eta^2\sigma^2+c\,\tau\eta^2(\dots)$. The other parts are left
as one quadratic form in $u=x^{i-1}-x^t$ and the parts of the gradient, whose squares
are written out for $u/(\eta\tau)$.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import sympy as sp
from sympy import Rational

from sfl_theory.audits.han2024.appendix_c import (
    BOUNDED,
    G2,
    HETEROGENEOUS,
    LIPSCHITZ,
    NOISE,
    eps2,
    eta,
    gradient2,
    sigma2,
    tau,
)
from sfl_theory.audits.han2024.appendix_c_steps import (
    DELTA,
    DIVERGENCE,
    FIRST,
    GRADIENT,
    MEAN,
    NAMED,
    S2,
    SECOND,
    XI,
    XI_0,
    LocalStep,
    U,
)
from sfl_theory.evidence.certificate import Certificate, Fact, Vector, norm2
from sfl_theory.evidence.local_sgd import unbiased


def recursion(
    claim: str, step: LocalStep, first: Any, lipschitz: Any, constant: Any
) -> Certificate:
    r"""Return $A_i\le(1+a/\tau)A_{i-1}+2\eta^2\sigma^2+c\,\tau\eta^2r$.

    $r=G^2$ for (39), $\epsilon^2+\|\nabla f(x^t)\|^2$ for (44).

    Args:
        claim: identifier of the claim.
        step: (39)'s or (44)'s.
        first: a.
        lipschitz: multiplier of Lipschitz continuity, divided by $\tau\eta^2$.
        constant: c.

    Returns:
        The certificate.
    """
    m = constant * tau * eta**2
    lam = lipschitz * tau * eta**2
    uses: tuple[tuple[Fact, Any], ...] = (
        (Fact("Lipschitz", S2 * norm2(U) - norm2(DELTA), LIPSCHITZ), lam),
        (Fact("variance of xi^{i-1}", sigma2 - norm2(XI), NOISE), 2 * eta**2),
        (unbiased(U, XI, NOISE), 2 * eta),
        *((unbiased(part, XI, NOISE), -2 * eta**2) for part in step.parts[1:]),
    )
    if step is FIRST:
        rest = G2
        uses += (
            (unbiased(GRADIENT, XI_0, NOISE), 2 * m),
            (Fact("(28)", G2 - norm2(GRADIENT + XI_0), BOUNDED), m),
        )
    else:
        rest = eps2 + gradient2
        named = Fact("gradient2 = ||gradf(x^t)||^2", gradient2 - norm2(MEAN),
                     NAMED, equality=True)  # fmt: skip
        uses += (
            (Fact("(29)", eps2 - norm2(DIVERGENCE), HETEROGENEOUS), m),
            (named, m),
        )
    return Certificate(
        claim,
        norm2(U - sum(step.parts[1:], step.parts[0]) * eta),
        (1 + first / tau) * norm2(U) + 2 * eta**2 * sigma2 + m * rest,
        tuple(dict.fromkeys(fact.hypothesis for fact, _ in uses)),
        step.domain(),
        uses=uses,
        squares=_squares(step, first, lipschitz, constant),
        statement=f"A_i <= (1 + {first}/tau) A_{{i-1}} + 2 eta^2 sigma^2 "
        f"+ {constant} tau eta^2 ({rest})",
    )


def _squares(
    step: LocalStep, first: Any, lipschitz: Any, constant: Any
) -> tuple[tuple[Vector, Any], ...]:
    """Return the squares of the recursion; S^2 is as large as the domain admits."""
    largest = 1 / sp.Integer(2 * len(step.parts))  # of S^2 eta^2 tau^2
    slack = lipschitz * tau * eta**2 * (largest / (eta * tau) ** 2 - S2)
    parts = tuple(
        (part, lipschitz if part is DELTA else constant) for part in step.parts[1:]
    )
    last = ((XI_0, tau * eta**2 * constant),) if step is FIRST else ()
    form = step_squares(U, parts, first - lipschitz * largest, eta, tau)
    return ((XI, eta**2), (U, slack), *form, *last)


def step_squares(
    u: Vector, parts: tuple[tuple[Vector, Any], ...], b: Any, eta: Any, tau: Any
) -> tuple[tuple[Vector, Any], ...]:
    r"""Return squares that add up to a form in a point and the parts of a step.

    $\tau\eta^2[b\|u'\|^2+2\langle u',w\rangle-\frac1\tau\|w\|^2
    +\sum_kc_k\|v_k\|^2]$ with $u'=u/(\eta\tau)$, $w=\sum_kv_k$. First
    $b\|u'+w/b\|^2$, which leaves $\frac1b+\frac1\tau$ times $\|w\|^2$ to be covered;
    then, part by part, $m\|v+r\|^2\le c\|v\|^2+\frac{cm}{c-m}\|r\|^2$.

    Args:
        u: the point.
        parts: $v_k$ and $c_k$.
        b: as above.
        eta: learning rate.
        tau: local steps.

    Returns:
        Vectors and weights; the checker decides whether these are non-negative.
    """
    scale = tau * eta**2
    whole = sum((part for part, _ in parts[1:]), parts[0][0])
    squares = [(u * (1 / (eta * tau)) + whole * (1 / b), scale * b)]
    need = sp.cancel(1 / b + 1 / tau)
    for k, (part, c) in enumerate(parts):
        rest = parts[k + 1 :]
        if rest:
            others = sum((other for other, _ in rest[1:]), rest[0][0])
            part = part - others * sp.cancel(need / (c - need))
        squares.append((part, scale * sp.cancel(c - need)))
        need = sp.cancel(c * need / (c - need)) if rest else need
    return tuple(squares)


RECURSIONS = {
    38: (
        partial(recursion, step=FIRST, first=2, lipschitz=5, constant=3),
        partial(
            recursion, step=FIRST, first=Rational(3, 2), lipschitz=5, constant=5
        ),
    ),
    43: (
        partial(
            recursion, step=SECOND, first=2, lipschitz=6, constant=Rational(13, 2)
        ),
    ),
}  # fmt: skip
"""Sharper forms of what follows from (38) and from (43)."""
