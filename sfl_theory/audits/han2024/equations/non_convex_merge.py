r"""(86)-(88): both blocks of SFL-V1 together, which is true though (80)-(85) are not.

$\kappa=N\sum_na_n^2$, $\sigma_w=N\sum_na_n^2\sigma_n^2$. With the rules for the whole
vector, Lemma C.6's condition and no other, the sum of the blocks' inner products and
squares in Prop. C.4 is at most (86); the step from there to (87) is the paper's own.
Vectors and atoms are those of ``non_convex_v1``, D and $\Gamma$ having weights
$b_n=Na_n^2$.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import sympy as sp

from sfl_theory.audits.han2024.non_convex_v1 import (
    EVERYONE,
    HETEROGENEOUS,
    HYPOTHESES,
    NOISE,
    SMOOTH,
    UPDATE,
    N,
    S,
    domains,
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


def periods_and_rates(order: bool) -> tuple[Domain, Any]:
    r"""Return the domain of (86), and the larger period in free variables.

    Args:
        order: whether $\tau\ge\tilde\tau$.

    Returns:
        Both.
    """
    h, n = free("h n")
    (s,) = positive("s")
    values, variables, larger = _periods(order)
    values |= {N: 1 + n, S: s, eta: 1 / (s * larger * (LEAST + h))}
    words = (
        f"{_order_words(order)}, eta <= 5/(14 S tau_max), which is more than "
        "1/(sqrt(8) S tau_max)"
    )
    return Domain(words, values, (*variables, h, n, s, kappa, sigma_w, eps2)), larger


def both_blocks(
    claim: str, order: bool, rest: Any, young: Any = 2, twice: bool = False
) -> Certificate:
    r"""Return: inner products and squares of both blocks are at most (86).

    With $u=S\eta\tau_{max}$ Young's inequality $\|M_b+Z_b\|^2\le\frac1u\|M_b\|^2
    +\frac1{1-u}\|Z_b\|^2$ leaves of the squares what the inner products pay for.

    Args:
        claim: identifier of the claim.
        order: whether $\tau\ge\tilde\tau$.
        rest: what is added to the multiple of $\|\nabla f\|^2$.
        young: constant of Young's inequality for the gradients at local points.
        twice: whether the squares of the moves count twice.

    Returns:
        The certificate.
    """
    domain, _ = periods_and_rates(order)
    Mc, Ms, Zc, Zs = vectors("M_c M_s Z_c Z_s")
    gc, gs = GRADIENT
    D, Gamma, F = atom("D"), atom("Gamma"), atom("F")
    gradient2 = norm2(gc) + norm2(gs)
    most = tau if order else tau_server
    theta = eta**2 * most * (most - 1)
    lam_d = eta / 2 * S**2 / (1 - (1 + 1 / sp.S(young)) * S**2 * theta)
    lam_gamma = lam_d * theta
    lam_f = (1 + young) * most * lam_gamma
    factor, _ = printed_86(order)
    half = S / 2 * eta**2
    moves = norm2(Mc + Zc) + norm2(Ms + Zs)
    full = 2 * half if twice else half
    # full (1 + c) = eta/(2 tau_max)
    c = eta / (2 * most * full) - 1

    def kept(period: Any) -> Any:
        return factor + eta * period / 2 - 2 * kappa * lam_f

    together = -eta * (inner(gc, Mc + Zc) + inner(gs, Ms + Zs)) + half * moves
    return Certificate(
        claim,
        together,
        factor * gradient2 + rest - (full - half) * moves,
        HYPOTHESES,
        domain,
        uses=(
            (unbiased(gc, Zc, NOISE), eta),
            (unbiased(gs, Zs, NOISE), eta),
            (deviation(D, ((gc, Mc, tau), (gs, Ms, tau_server)), S, SMOOTH), eta / 2),
            (orthogonal_noise((Zc, Zs), most * sigma_w / N, NOISE), full * (1 + 1 / c)),
            (noisy_drift(D, theta, Gamma, sigma_w, UPDATE), lam_d),
            (local_gradients(Gamma, F, D, most, S, young, SMOOTH), lam_gamma),
            (heterogeneity(F, gradient2, eps2, kappa, 2, HETEROGENEOUS), lam_f),
        ),
        squares=(
            (c * Mc - Zc, full / c),
            (c * Ms - Zs, full / c),
            (Mc, eta / (2 * tau) - eta / (2 * most)),
            (Ms, eta / (2 * tau_server) - eta / (2 * most)),
            (gc, kept(tau)),
            (gs, kept(tau_server)),
        ),
        statement="the sum of both blocks' E<grad_b f, x_b' - x_b> + S/2 "
        "E||x_b' - x_b||^2 <= (86)",
    )


@cache
def blocks_together(claim: str, order: bool) -> Certificate:
    r"""Return: inner products and squares of both blocks are at most (86).

    Args:
        claim: identifier of the claim.
        order: whether $\tau\ge\tilde\tau$.

    Returns:
        The certificate.
    """
    return both_blocks(claim, order, printed_86(order)[1])


@cache
def merged(claim: str, order: bool) -> Certificate:
    r"""Return (86) itself.

    Args:
        claim: identifier of the claim.
        order: whether $\tau\ge\tilde\tau$.

    Returns:
        The certificate.
    """
    return of_function(blocks_together(claim, order))


def of_function(source: Certificate) -> Certificate:
    """Return a bound of f's change from one of both blocks (Prop. C.4, smoothness).

    Args:
        source: bounds the sum of the blocks' inner products and squares.

    Returns:
        The certificate, with the facts of the source.
    """
    change = value("f", "x'") - value("f", "x")
    absent = S / 2 * eta**2 * atom("P")
    smooth = Fact(
        "f smooth, x -> x' (noise and participation averaged)",
        source.left + absent - change,
        SMOOTH,
    )
    everyone = Fact("everyone takes part: P = 0", atom("P"), EVERYONE, equality=True)
    return replace(
        source,
        left=change,
        hypotheses=(*source.hypotheses, EVERYONE),
        uses=((smooth, 1), (everyone, -S / 2 * eta**2), *source.uses),
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
    domain = piece(order, wide)
    source = merged(EQ_86, order)
    most = tau if order else tau_server
    at = {str(v): v for v in source.domain.free}
    at |= {"h": 1 / (S * eta * most) - LEAST, "kappa": kappa}
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
        source.hypotheses,
        domain,
        uses=((fact, 1),),
        squares=tuple((g, spare) for g in GRADIENT),
        statement="E f(x') - f(x) <= -eta tau_min/4 ||grad f(x)||^2 + 2 N S eta^2 "
        "(tau^2 + tau_server^2) sum_n a_n^2 (sigma_n^2 + eps^2)",
    )


@cache
def piece(order: bool, wide: bool) -> Domain:
    """Return a piece of the theorem's domain, everyone taking part."""
    found = domains()[2 * (not order) + wide]
    return replace(found, words=found.words.replace("a_n^2/q_n", "a_n^2"))


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
        uses=((derived("one round", source), 4 / least),),
        statement="eta ||grad f(x)||^2 <= 4/tau_min (f(x) - E f(x')) + 8 N S eta^2 "
        f"(tau^2 + tau_server^2)/tau_min sum_n {weight} (sigma_n^2 + eps^2)",
    )


def derived(name: str, source: Certificate) -> Fact:
    """Return the conclusion of a certificate with the same parameters and atoms."""
    at = {str(v): v for v in source.domain.free}
    return Fact(name, source.conclusion, "", derived=Instance(Use(source, at)))
