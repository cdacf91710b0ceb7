r"""(8) of ``dachille2024`` with smaller constants.

The noise is orthogonal to everything before its step, so it needs no factor; and one of
$\epsilon^2$ and $\|\nabla f\|^2$ may have less than half of the printed $8\tau\eta^2$.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import sympy as sp

from sfl_theory.audits.dachille2024.certificates import A2, A3, A4, drift_step
from sfl_theory.audits.han2024.appendix_c_sharper import step_squares
from sfl_theory.evidence.certificate import Certificate, Fact, norm2, vectors
from sfl_theory.evidence.local_sgd import unbiased

LIPSCHITZ = 6
"""Multiplier of Lipschitz continuity, divided by tau eta^2."""


def local_step(claim: str, spread: bool) -> Certificate:
    r"""Return $A_i\le(1+\frac2\tau)A_{i-1}+2\eta^2\sigma^2+\dots$.

    $\dots=\tau\eta^2(c\,\epsilon^2+8\|\nabla f\|^2)$ or the other way round, with
    $\tau c=4+3\frac{(\tau-1)^2}\tau$.

    Args:
        claim: identifier of the claim.
        spread: whether $\epsilon^2$ has the smaller constant.

    Returns:
        The certificate.
    """
    printed = drift_step(claim)[0]()
    a, xi, p, q, r = vectors("a xi p q r")
    k, h, e, _, var, eps2 = printed.domain.free
    tau = 1 + k
    s2 = 1 / (8 * e**2 * tau**2 + h)
    small = (4 + 3 * k**2 / tau) / tau
    of_q, of_r = (small, 8) if spread else (8, small)
    scale = tau * e**2
    uses: tuple[tuple[Fact, Any], ...] = (
        (Fact("variance", var - norm2(xi), A3), 2 * e**2),
        (Fact("Lipschitz gradient", s2 * norm2(a) - norm2(p), A2), LIPSCHITZ * scale),
        (Fact("heterogeneity", eps2 - norm2(q), A4), of_q * scale),
        (unbiased(a, xi, A3), 2 * e),
        *((unbiased(part, xi, A3), -2 * e**2) for part in (p, q, r)),
    )
    parts = ((p, LIPSCHITZ), (q, of_q), (r, of_r))
    b = 2 - sp.Rational(LIPSCHITZ, 8)
    return Certificate(
        claim,
        printed.left,
        (1 + 2 / tau) * norm2(a)
        + 2 * e**2 * var
        + scale * (of_q * eps2 + of_r * norm2(r)),
        printed.hypotheses,
        printed.domain,
        uses=uses,
        squares=(
            (xi, e**2),
            (a, LIPSCHITZ * scale * (1 / (8 * e**2 * tau**2) - s2)),
            *step_squares(a, parts, b, e, tau),
        ),
        statement="A_i <= (1 + 2/tau) A_{i-1} + 2 eta^2 sigma^2 + tau eta^2 "
        + ("(c eps^2 + 8 ||grad f||^2)" if spread else "(8 eps^2 + c ||grad f||^2)")
        + ", tau c = 4 + 3 (tau-1)^2/tau",
    )


def local_steps(claim: str) -> tuple[Any, ...]:
    """Return the builders of both."""
    return tuple(partial(local_step, claim, spread) for spread in (True, False))
