r"""SFL-V1: more than the true (80), (83), ... of ``non_convex_blocks`` say of a block.

The drift has constant 3 where 8 is printed. In the squared move Young's constant is
chosen for the learning rate: half of the multiple of $\|\nabla f\|^2+\epsilon^2$ is
enough, and twice the rate is admitted.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import sympy as sp

from sfl_theory.audits.han2024.equations import non_convex_blocks
from sfl_theory.audits.han2024.equations.non_convex_blocks import (
    D,
    F,
    Gamma,
    g,
    whole,
    whole2,
)
from sfl_theory.audits.han2024.equations.non_convex_kinds import (
    HETEROGENEOUS,
    KINDS,
    NOISE,
    SMOOTH,
    p,
    sigma,
)
from sfl_theory.audits.han2024.non_convex_v1 import S, eps2, eta, kappa
from sfl_theory.evidence.certificate import Certificate, Fact, norm2
from sfl_theory.evidence.derivation import Instance, Use
from sfl_theory.evidence.kernel import KERNEL, Family, jensen
from sfl_theory.evidence.local_sgd import (
    heterogeneity,
    local_gradients,
    noisy_drift,
    stochastic_sums,
)

V1 = KINDS["v1"]


def inner_product_end(claim: str) -> Certificate:
    r"""Return the true (80) with constants 3 and 1 instead of 8.

    $\mathbb E\langle\nabla_bf,x_b'-x_b\rangle\le-\frac{\eta p}2\|\nabla_bf\|^2
    +\eta^3S^2p^3(3\kappa(\|\nabla f\|^2+\epsilon^2)+\sigma)$.

    Args:
        claim: identifier of the claim.

    Returns:
        The certificate.
    """
    source = non_convex_blocks.inner_product(claim, "v1")
    at = {"k": p - 1, "s": S, "e": eta}
    sides = Fact("one block", source.conclusion, "", derived=Instance(Use(source, at)))
    theta = eta**2 * p * (p - 1)
    lam_d = eta * S**2 / 2 / (1 - 2 * S**2 * theta)
    lam_f = 2 * p * lam_d * theta
    cubic = eta**3 * S**2 * p**3
    return Certificate(
        claim,
        source.left,
        -eta * p / 2 * norm2(g) + cubic * (3 * kappa * (whole2 + eps2) + sigma),
        V1.hypotheses,
        V1.domain(),
        uses=(
            (sides, 1),
            (noisy_drift(D, theta, Gamma, sigma, V1.update), lam_d),
            (local_gradients(Gamma, F, D, p, S, 1, SMOOTH), lam_d * theta),
            (heterogeneity(F, whole2, eps2, kappa, 2, HETEROGENEOUS), lam_f),
        ),
        squares=((whole, 3 * cubic * kappa - 2 * kappa * lam_f),),
        statement="E<grad_b f, x_b' - x_b> <= -eta p/2 ||grad_b f||^2 + eta^3 S^2 p^3 "
        "[3 kappa (||grad f||^2 + eps^2) + sigma]",
    )


def square_end(claim: str, fast: bool) -> Certificate:
    r"""Return the true (83) with half of its gradients, or at twice the rate.

    Half: $S\eta^2p(2p+14p^3\eta^2S^2)\kappa(\|\nabla f\|^2+\epsilon^2)+2S\eta^2p
    (p+8p^3\eta^2S^2)\sigma$.

    Args:
        claim: identifier of the claim.
        fast: whether the rate is twice as large.

    Returns:
        The certificate.
    """
    printed = non_convex_blocks.square_end(claim, "v1")
    domain = printed.domain
    family = Family("a_n I_n/q_n h_n, h_n = sum_i g_n^i; weights 1; times N", 1)
    H = family.sum_of_norm2
    u2 = (S * eta * p) ** 2
    local, noise = (5 * u2, sp.Rational(1, 2)) if fast else (sp.Rational(2, 5),) * 2
    if fast:
        values = {**domain.values, eta: 2 * domain.values[eta]}
        domain = replace(domain, values=values, words=f"{domain.words}, for eta/2")
    theta = eta**2 * p * (p - 1)
    half = S / 2 * eta**2
    quotient = 1 + 1 / local
    lam_gamma = half * (1 + noise) * p / (1 - quotient * S**2 * theta)
    lam_f = lam_gamma * (1 + local) * p
    factor = S * eta**2 * p**2 * ((4 + 32 * u2) if fast else (2 + 14 * u2)) * kappa
    return Certificate(
        claim,
        half * family.norm2_of_sum,
        factor * (whole2 + eps2) + 2 * S * eta**2 * p**2 * (1 + 8 * u2) * sigma,
        (*V1.hypotheses, KERNEL),
        domain,
        uses=(
            (jensen(family), half),
            (stochastic_sums(H, Gamma, sigma, p, noise, NOISE), half),
            (
                noisy_drift(D, theta, Gamma, sigma, V1.update),
                lam_gamma * quotient * S**2,
            ),
            (local_gradients(Gamma, F, D, p, S, local, SMOOTH), lam_gamma),
            (heterogeneity(F, whole2, eps2, kappa, 2, HETEROGENEOUS), lam_f),
        ),
        squares=((whole, factor - 2 * kappa * lam_f),),
        statement=f"{printed.statement}, sharper",
    )


SHARPER: dict[str, tuple[partial[Certificate], ...]] = {
    "inner_end": (partial(inner_product_end),),
    "square_end": (partial(square_end, fast=False), partial(square_end, fast=True)),
}
"""Step of ``non_convex_claims_blocks`` -> what is more true of SFL-V1."""
