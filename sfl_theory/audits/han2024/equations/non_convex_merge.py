r"""(86)-(88): both blocks of SFL-V1 together, which is true though (80)-(85) are not.

$\kappa=N\sum_na_n^2$, $\sigma_w=N\sum_na_n^2\sigma_n^2$. With the rules for the whole
vector, Lemma C.6's condition and no other, the sum of the blocks' inner products and
squares in Prop. C.4 is at most (86); the step from there to (87) is the paper's own.
Vectors and atoms are those of ``non_convex_v1``, D and $\Gamma$ having weights
$b_n=Na_n^2$.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import sympy as sp

from sfl_theory.audits.han2024.non_convex_v1 import (
    HETEROGENEOUS,
    HYPOTHESES,
    NOISE,
    SMOOTH,
    UPDATE,
    N,
    S,
    eps2,
    eta,
    kappa,
    sigma_w,
    tau,
    tau_server,
)
from sfl_theory.audits.han2024.readings import PAPER
from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    atom,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.derivation import Instance, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.kernel import value
from sfl_theory.evidence.local_sgd import (
    deviation,
    heterogeneity,
    local_gradients,
    noisy_drift,
    orthogonal_noise,
    unbiased,
)

LEAST = sp.Rational(14, 5)
r"""$1/(S\eta\tau_{max})$ is at least this if $8(S\eta\tau_{max})^2\le1$."""

GRADIENT = vectors("grad_c grad_s")
SPREAD = sigma_w + kappa * eps2
r"""$N\sum_na_n^2(\sigma_n^2+\epsilon^2)$."""
EQ_86, EQ_87 = f"{PAPER}/eq-86", f"{PAPER}/eq-87"
ORDERS = (True, False)
"""Whether the client side makes at least as many steps as the server side."""


def printed_86(order: bool) -> tuple[Any, Any]:
    r"""Return (86): the factor of $\|\nabla f\|^2$, and what is added.

    Args:
        order: whether $\tau\ge\tilde\tau$.

    Returns:
        Both.
    """
    most, least = (tau, tau_server) if order else (tau_server, tau)
    factor = -eta * least / 2 + 8 * eta**3 * most**3 * S**2 * kappa
    factor += S * eta**2 * most * (most + 8 * most**3 * eta**2 * S**2) * kappa
    rest = 8 * eta**3 * S**2 * (tau**3 + tau_server**3) * SPREAD
    for p in (tau, tau_server):
        square = p * (p + 8 * p**3 * eta**2 * S**2)
        rest += S * eta**2 / 2 * square * (SPREAD + kappa * eps2)
    return factor, rest


def _periods(order: bool) -> tuple[dict[Any, Any], tuple[Any, ...], Any]:
    """Return both periods in free variables, and the larger one."""
    k, d = free("k d")
    most, least = (tau, tau_server) if order else (tau_server, tau)
    return {least: 1 + k, most: 1 + k + d}, (k, d), 1 + k + d


def _order_words(order: bool) -> str:
    return "tau >= tau_server" if order else "tau_server >= tau"


@cache
def blocks_together(claim: str, order: bool) -> Certificate:
    r"""Return: inner products and squares of both blocks are at most (86).

    Args:
        claim: identifier of the claim.
        order: whether $\tau\ge\tilde\tau$.

    Returns:
        The certificate.
    """
    h, n = free("h n")
    (s,) = positive("s")
    values, variables, larger = _periods(order)
    values |= {N: 1 + n, S: s, eta: 1 / (s * larger * (LEAST + h))}
    domain = Domain(
        f"{_order_words(order)}, eta <= 5/(14 S tau_max), which is more than "
        "1/(sqrt(8) S tau_max)",
        values,
        (*variables, h, n, s, kappa, sigma_w, eps2),
    )
    Mc, Ms, Zc, Zs = vectors("M_c M_s Z_c Z_s")
    gc, gs = GRADIENT
    D, Gamma, F = atom("D"), atom("Gamma"), atom("F")
    gradient2 = norm2(gc) + norm2(gs)
    most = tau if order else tau_server
    theta = eta**2 * most * (most - 1)
    lam_d = eta / 2 * S**2 / (1 - 2 * S**2 * theta)
    lam_gamma = lam_d * theta
    lam_f = 2 * most * lam_gamma
    factor, rest = printed_86(order)
    half = S / 2 * eta**2

    def kept(period: Any) -> Any:
        return factor + eta * period / 2 - 2 * kappa * lam_f

    together = -eta * (inner(gc, Mc + Zc) + inner(gs, Ms + Zs))
    together += half * (norm2(Mc + Zc) + norm2(Ms + Zs))
    return Certificate(
        claim,
        together,
        factor * gradient2 + rest,
        HYPOTHESES,
        domain,
        uses=(
            (unbiased(gc, Zc, NOISE), eta),
            (unbiased(gs, Zs, NOISE), eta),
            (deviation(D, ((gc, Mc, tau), (gs, Ms, tau_server)), S, SMOOTH), eta / 2),
            (orthogonal_noise((Zc, Zs), most * sigma_w / N, NOISE), 2 * half),
            (noisy_drift(D, theta, Gamma, sigma_w, UPDATE), lam_d),
            (local_gradients(Gamma, F, D, most, S, 1, SMOOTH), lam_gamma),
            (heterogeneity(F, gradient2, eps2, kappa, 2, HETEROGENEOUS), lam_f),
        ),
        squares=(
            (Mc - Zc, half),
            (Ms - Zs, half),
            (Mc, eta / (2 * tau) - 2 * half),
            (Ms, eta / (2 * tau_server) - 2 * half),
            (gc, kept(tau)),
            (gs, kept(tau_server)),
        ),
        statement="the sum of both blocks' E<grad_b f, x_b' - x_b> + S/2 "
        "E||x_b' - x_b||^2 <= (86)",
    )


@cache
def merged(claim: str, order: bool) -> Certificate:
    r"""Return (86) itself, from the sum of the blocks by smoothness (Prop. C.4).

    Args:
        claim: identifier of the claim.
        order: whether $\tau\ge\tilde\tau$.

    Returns:
        The certificate.
    """
    source = blocks_together(claim, order)
    factor, rest = printed_86(order)
    together = source.left
    smooth = Fact(
        "f smooth, x -> x' (noise averaged)",
        value("f", "x") + together - value("f", "x'"),
        SMOOTH,
    )
    return Certificate(
        claim,
        value("f", "x'") - value("f", "x"),
        factor * (norm2(GRADIENT[0]) + norm2(GRADIENT[1])) + rest,
        HYPOTHESES,
        source.domain,
        uses=((smooth, 1), (_derived("both blocks together", source), 1)),
        statement="E f(x') - f(x) <= (86)",
    )


@cache
def descent(claim: str, order: bool, wide: bool) -> Certificate:
    r"""Return (87) from (86) under the theorem's learning rate.

    With $r=\kappa\tau_{max}/\tau_{min}$ the rate is
    $1/(S\eta\tau_{max})\ge\max\{16,8r\}$.

    Args:
        claim: identifier of the claim.
        order: whether $\tau\ge\tilde\tau$.
        wide: whether $r\ge2$.

    Returns:
        The certificate.
    """
    h, n, w = free("h n w")
    (s,) = positive("s")
    values, variables, larger = _periods(order)
    k = variables[0]
    r = 2 + w if wide else 2 / (1 + w)
    speed = 8 * r + h if wide else 16 + h
    values |= {N: 1 + n, S: s, eta: 1 / (s * larger * speed)}
    values |= {kappa: r * (1 + k) / larger}
    domain = Domain(
        f"{_order_words(order)}, kappa tau_max/tau_min {'>=' if wide else '<='} 2, "
        "eta <= min(1/(16 S tau_max), tau_min/(8 S tau_max^2 kappa)), "
        "kappa = N sum a_n^2",
        values,
        (*variables, h, n, w, s, sigma_w, eps2),
    )
    source = merged(EQ_86, order)
    at = {str(v): v for v in source.domain.free}
    at |= {"h": speed - LEAST, "kappa": kappa}
    fact = Fact("(86)", source.conclusion, "", derived=Instance(Use(source, at)))
    factor, _ = printed_86(order)
    least = tau_server if order else tau
    spare = -eta * least / 4 - factor
    periods = tau**2 + tau_server**2
    return Certificate(
        claim,
        value("f", "x'") - value("f", "x"),
        -eta * least / 4 * (norm2(GRADIENT[0]) + norm2(GRADIENT[1]))
        + 2 * S * eta**2 * periods * SPREAD,
        HYPOTHESES,
        domain,
        uses=((fact, 1),),
        squares=tuple((g, spare) for g in GRADIENT),
        statement="E f(x') - f(x) <= -eta tau_min/4 ||grad f(x)||^2 + 2 N S eta^2 "
        "(tau^2 + tau_server^2) sum_n a_n^2 (sigma_n^2 + eps^2)",
    )


def rearranged(
    claim: str,
    build: Callable[[], Certificate],
    order: bool,
    participation: bool = False,
) -> Certificate:
    r"""Return (88), (154) from one round, times $4/\tau_{min}$.

    Args:
        claim: identifier of the claim.
        build: makes the certificate of one round, (87) or (153), in the atoms f(x),
            f(x') and the blocks of the gradient; the new one has its domain.
        order: whether $\tau\ge\tilde\tau$.
        participation: $\kappa$ and $\sigma_w$ have weights $Na_n^2/q_n$.

    Returns:
        The certificate.
    """
    source = build()
    least = tau_server if order else tau
    gradient2 = norm2(GRADIENT[0]) + norm2(GRADIENT[1])
    change = value("f", "x") - value("f", "x'")
    weight = "a_n^2/q_n" if participation else "a_n^2"
    return Certificate(
        claim,
        eta * gradient2,
        4 / least * change + 8 * S * eta**2 * (tau**2 + tau_server**2) / least * SPREAD,
        source.hypotheses,
        source.domain,
        uses=((_derived("one round", source), 4 / least),),
        statement="eta ||grad f(x)||^2 <= 4/tau_min (f(x) - E f(x')) + 8 N S eta^2 "
        f"(tau^2 + tau_server^2)/tau_min sum_n {weight} (sigma_n^2 + eps^2)",
    )


def _derived(name: str, source: Certificate) -> Fact:
    """Return the conclusion of a certificate with the same parameters and atoms."""
    at = {str(v): v for v in source.domain.free}
    return Fact(name, source.conclusion, "", derived=Instance(Use(source, at)))


def certificates_86(claim: str) -> tuple[Callable[[], Certificate], ...]:
    """Return builders of (86), the sum of the blocks first."""
    steps = (blocks_together, merged)
    return tuple(partial(step, claim, order) for step in steps for order in ORDERS)


def certificates_87(claim: str) -> tuple[Callable[[], Certificate], ...]:
    """Return builders of (87) on four pieces of the domain."""
    return tuple(
        partial(descent, claim, order, wide) for order in ORDERS for wide in ORDERS
    )


def certificates_88(claim: str) -> tuple[Callable[[], Certificate], ...]:
    """Return builders of (88) on the same pieces."""
    return tuple(
        partial(rearranged, claim, partial(descent, EQ_87, order, wide), order)
        for order in ORDERS
        for wide in ORDERS
    )
