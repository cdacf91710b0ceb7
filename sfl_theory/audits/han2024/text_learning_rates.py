r"""What Sec. 3.3 of ``han2024`` says about learning rates and holds, with proofs."""

from __future__ import annotations

import sympy as sp

from sfl_theory import symbols
from sfl_theory.audits.han2024.text_bounds import SQUARES, constants, shares
from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.domain import Domain, free, positive


def smaller_rates(claim: str) -> tuple[Certificate, ...]:
    r"""Return that the printed rates fall with $\tau$.

    For $\tau\ge\tilde\tau$, $\tilde\tau$ as it is, and for $\tilde\tau=\tau$.
    $\tau_{max}=\tau$, $\tau_{min}=\tilde\tau$; $w=\sum_na_n^2$ or
    $\sum_na_n^2/q_n$; c is $\mu(\gamma+t)/4$.

    Args:
        claim: identifier of the claim.

    Returns:
        One certificate per term of the rates of 3.6-3.9, then one for the term with
        $\tilde\tau$ where $\tilde\tau=\tau$.
    """
    k, j, d, count = free("k j d n")
    s, w, c = positive("s w c")
    tau, server = symbols.tau, symbols.tau_server
    S, N = symbols.S, symbols.N
    domain = Domain(
        "tau >= tau_server >= 1, d >= 0",
        {server: 1 + j, tau: 1 + j + k, S: s, N: 1 + count},
        (k, j, d, count, s, w, c),
    )
    least = server / (8 * S * N * tau**2 * w)
    rates = (
        1 / (2 * S * tau),
        1 / (16 * S * tau),
        1 / (8 * S * N**2 * tau),
        1 / (8 * S * N**2 * tau * w),
        1 / (c * tau),
        least,
        least.xreplace({server: tau}),
    )
    return tuple(
        Certificate(
            claim, rate.xreplace({tau: tau + d}), rate, (), domain,
            statement=f"{rate} at tau + d <= at tau",
        )
        for rate in rates
    )  # fmt: skip


def rate_from_horizon(claim: str) -> Certificate:
    r"""Return: (13) at $\eta=\eta_0/\sqrt T$, divided by it, is $C/\sqrt T$.

    At a constant rate the left side of (13), divided by the rate, is the mean of
    $\mathbb E\|\nabla f(x^t)\|^2$, and $\sum_t(\eta^t)^2=T\eta^2=\eta_0^2$.

    Args:
        claim: identifier of the claim.

    Returns:
        The certificate, with $w=\sqrt T$.
    """
    w, start = positive("w eta0")
    printed = sum(shares("3.6", "non_convex").values()).xreplace({SQUARES: start**2})
    base = constants()
    values = {k: v for k, v in base.values.items() if k not in {symbols.T, SQUARES}}
    return Certificate(
        claim,
        printed.xreplace({symbols.T: w**2}) / (start / w),
        printed.xreplace({symbols.T: sp.Integer(1)}) / start / w,
        (),
        Domain(f"{base.words}; w = sqrt(T) > 0", values, (*base.free, w, start)),
        statement="(13) / eta <= C/sqrt(T), C free of T; every client's share",
    )
