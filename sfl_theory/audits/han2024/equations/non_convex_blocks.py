r"""What is true of one block of the model in D.3-G.3 of ``han2024``.

The paper bounds a block by the drift and the gradient of that block; true bounds have
those of the whole vector, for every gradient depends on both blocks. For SFL-V2 the
server's steps carry $a_n$ (equal weights: the printed ones, the server's rate divided
by N). Three kinds of weights $w_n$ with drift $D=\mathbb E\sum_nw_n\sum_{i<p}
\|p_n^i-x\|^2$, $p_n^i$ being the point of client n's i-th gradient:

- SFL-V1: $w_n=b_n=Na_n^2$ or $Na_n^2/q_n$, $\kappa=\sum_nb_n$,
  $\sigma=\sum_nb_n\sigma_n^2$;
- SFL-V2, full participation: $w_n=a_n$, $\sigma=\sum_na_n\sigma_n^2$;
- SFL-V2, partial: $w_n=a_nI_n/q_n$, $\kappa=\sum_na_n/q_n$,
  $\sigma=\sum_na_n\sigma_n^2+2\kappa\sum_n\frac{a_n^2}{q_n}\sigma_n^2$.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from sfl_theory.audits.han2024.equations.non_convex_kinds import (
    HETEROGENEOUS,
    KINDS,
    NOISE,
    SMOOTH,
    p,
    sigma,
    sigma_a,
    sigma_q,
)
from sfl_theory.audits.han2024.non_convex_v1 import S, eps2, eta, kappa
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
from sfl_theory.evidence.kernel import KERNEL, Family, jensen
from sfl_theory.evidence.local_sgd import (
    deviation,
    heterogeneity,
    local_gradients,
    noisy_drift,
    stochastic_sums,
    unbiased,
)
from sfl_theory.evidence.participation import mean_deviation, participating_drift

D, Gamma, F = atom("D"), atom("Gamma"), atom("F")
g, whole, M, B, Z = vectors("grad_b grad_f M B Z")
whole2 = norm2(whole)


def inner_product(claim: str, kind: str) -> Certificate:
    r"""Return the true (78), (115), (145), (175), for any learning rate.

    $\mathbb E\langle\nabla_bf,x_b'-x_b\rangle\le-\frac{\eta p}2\|\nabla_bf\|^2
    +\frac{\eta S^2}2D$, the move being $-\eta(M+Z)$ on average over participation.

    Args:
        claim: identifier of the claim.
        kind: one of ``KINDS``.

    Returns:
        The certificate.
    """
    one = KINDS[kind]
    k = free("k")[0]
    s, e = positive("s e")
    mean, rule, factor = M, deviation(D, ((g, M, p),), S, SMOOTH), eta / 2
    if kind == "v2-partial":
        mean = p * g + B
        rule, factor = mean_deviation(B, D, p, S, SMOOTH), eta / (2 * p)
    return Certificate(
        claim,
        -eta * inner(g, mean + Z),
        -eta * p / 2 * norm2(g) + eta * S**2 / 2 * D,
        (SMOOTH, NOISE),
        Domain("p >= 1, S, eta > 0", {p: 1 + k, S: s, eta: e}, (k, s, e)),
        uses=((rule, factor), (unbiased(g, Z, NOISE), eta)),
        squares=((mean, eta / (2 * p)),),
        statement="E<grad_b f, x_b' - x_b> <= -eta p/2 ||grad_b f||^2 + eta S^2/2 D "
        f"({one.update})",
    )


def drift(claim: str, kind: str) -> Certificate:
    r"""Return the bound of D: Lemma C.6 for the whole vector, summed with $w_n$.

    Args:
        claim: identifier of the claim.
        kind: one of ``KINDS``.

    Returns:
        The certificate.
    """
    one = KINDS[kind]
    if kind == "v2-partial":
        theta = 2 * kappa**2 * eta**2 * p**2
        rule = participating_drift(
            D, Gamma, eta, p, kappa, sigma_a, sigma_q, one.update
        )
    else:
        theta = eta**2 * p * (p - 1) if kind == "v1" else 3 * eta**2 * p**2
        rule = noisy_drift(D, theta, Gamma, sigma, one.update)
    lam_d = 1 / (1 - 2 * S**2 * theta)
    lam_gamma = lam_d * theta
    lam_f = 2 * p * lam_gamma
    rest = (
        sp.expand(one.drift_bound(whole2)).coeff(whole2)
        - lam_f * _heterogeneous(kind)[1]
    )
    return Certificate(
        claim,
        D,
        one.drift_bound(whole2),
        (SMOOTH, HETEROGENEOUS, one.update),
        one.domain(),
        uses=(
            (rule, lam_d),
            (local_gradients(Gamma, F, D, p, S, 1, SMOOTH), lam_gamma),
            (_heterogeneous(kind)[0], lam_f),
        ),
        squares=((whole, rest),),
        statement=f"D <= 16 p^3 eta^2 {_times(one.spread)}(||grad f||^2 + eps^2) + "
        f"{one.noise} eta^2 p^2 {_words(one.variance())}",
    )


def inner_product_end(claim: str, kind: str) -> Certificate:
    r"""Return the true (80), (84), (117), (121), ...: the drift put in.

    $\mathbb E\langle\nabla_bf,x_b'-x_b\rangle\le-\frac{\eta p}2\|\nabla_bf\|^2
    +8\eta^3S^2p^3s(\|\nabla f\|^2+\epsilon^2)+\dots\sigma$ with ``Kind.spread`` s.

    Args:
        claim: identifier of the claim.
        kind: one of ``KINDS``.

    Returns:
        The certificate.
    """
    one = KINDS[kind]
    first, second = inner_product(claim, kind), drift(claim, kind)
    domain = second.domain
    at = {"k": p - 1, "s": S, "e": eta}
    sides = Fact("one block", first.conclusion, "", derived=Instance(Use(first, at)))
    same = {str(v): v for v in domain.free}
    moved = Fact("drift", second.conclusion, "", derived=Instance(Use(second, same)))
    # The printed noise term, 8 eta^3 S^2 p^3 sigma, is larger.
    right = -eta * p / 2 * norm2(g)
    right += 8 * eta**3 * S**2 * p**3 * one.spread * (whole2 + eps2)
    right += 8 * eta**3 * S**2 * p**3 * one.variance()
    return Certificate(
        claim,
        first.left,
        right,
        one.hypotheses,
        domain,
        uses=((sides, 1), (moved, eta * S**2 / 2)),
        statement="E<grad_b f, x_b' - x_b> <= -eta p/2 ||grad_b f||^2 + 8 eta^3 S^2 "
        f"p^3 [{_times(one.spread)}(||grad f||^2 + eps^2) + {one.variance()}]",
    )


def square_end(claim: str, kind: str) -> Certificate:
    r"""Return the true (83), (85), (120), (122), ...

    $\frac S2\mathbb E\|x_b'-x_b\|^2\le2S\eta^2Wp(p+8p^3\eta^2S^2\kappa_2)
    (m\|\nabla f\|^2+m\epsilon^2+\sigma)$, W from ``Kind.total``, $m=2\kappa$ for SFL-V1
    and 2 for SFL-V2, $\kappa_2=\kappa^2$ for partial SFL-V2 and 1 otherwise.

    Args:
        claim: identifier of the claim.
        kind: one of ``KINDS``.

    Returns:
        The certificate.
    """
    one = KINDS[kind]
    if kind == "v1":
        family = Family("a_n I_n/q_n h_n, h_n = sum_i g_n^i; weights 1; times N", 1)
    elif kind == "v2":
        family = Family("h_n = sum_i g_n^i; weights a_n", 1)
    else:
        family = Family(
            "h_n = sum_i g_n^i; weights a_n I_n/q_n, at most kappa in every outcome",
            kappa,
        )
    P, H = family.norm2_of_sum, family.sum_of_norm2
    source = drift(claim, kind)
    same = {str(v): v for v in source.domain.free}
    moved = Fact("drift", source.conclusion, "", derived=Instance(Use(source, same)))
    noise = sigma_a if kind == "v2-partial" else sigma
    m = 2 * kappa if kind == "v1" else sp.Integer(2)
    growth = kappa**2 if kind == "v2-partial" else sp.Integer(1)
    half = S / 2 * eta**2
    factor = 4 * half * one.total * p * (p + 8 * p**3 * eta**2 * S**2 * growth)
    lam_h, lam_gamma = half * one.total, half * one.total * 2 * p
    lam_d, lam_f = lam_gamma * 2 * S**2, lam_gamma * 2 * p
    spare = factor * m - lam_d * sp.expand(source.right).coeff(whole2)
    spare -= lam_f * _heterogeneous(kind)[1]
    return Certificate(
        claim,
        half * P,
        factor * (m * (whole2 + eps2) + one.variance()),
        (*one.hypotheses, KERNEL),
        source.domain,
        uses=(
            (jensen(family), half),
            (stochastic_sums(H, Gamma, noise, p, 1, NOISE), lam_h),
            (local_gradients(Gamma, F, D, p, S, 1, SMOOTH), lam_gamma),
            (moved, lam_d),
            (_heterogeneous(kind)[0], lam_f),
        ),
        squares=((whole, spare),),
        statement=f"S/2 E||x_b' - x_b||^2 <= 2 S eta^2 {_times(one.total)}p "
        f"(p + 8 {_times(growth)}p^3 eta^2 S^2) ({m} (||grad f||^2 + eps^2) + "
        f"{one.variance()})",
    )


def square(claim: str) -> Certificate:
    r"""Return the true (81), (118), (148), (178): Young's inequality with its factor.

    $\frac S2\mathbb E\|x_b'-x_b\|^2\le SN\eta^2p\sum_nc_n\sum_{i<p}(\mathbb
    E\|g_n^i-g_n\|^2+\|\nabla_bF_n(x)\|^2+\sigma_n^2)$ with $x_b'-x_b=-\eta\sum_n\sum_i
    \alpha_n\frac{I_n}{q_n}g_n^i$, $c_n=\alpha_n^2/q_n$, $\alpha_n=a_n$ or 1, whatever
    the points and the learning rate. For partial participation
    $\mathbb E\|g_n^i-g_n\|^2$ is taken given that client n takes part.

    Args:
        claim: identifier of the claim.

    Returns:
        The certificate.
    """
    (N,) = positive("N")
    k, n, v = free("k n v")
    s, e = positive("s e")
    family = Family("alpha_n I_n/q_n g_n^i; n, i < p; weights 1", N * p)
    each = atom("sum_n c_n sum_i E||g_n^i||^2")
    change = atom("sum_n c_n sum_i E||g_n^i - g_n||^2")
    first = atom("sum_n c_n E||g_n||^2")
    slope = atom("sum_n c_n ||grad_b F_n(x)||^2")
    half = S / 2 * eta**2
    chance = Fact(
        "E I_n/q_n^2 = 1/q_n, the gradients given that n takes part",
        each - family.sum_of_norm2,
        NOISE,
        equality=True,
    )
    young = Fact("Young, summed with c_n", 2 * change + 2 * p * first - each, KERNEL)
    variance = Fact("E||g_n||^2 = ||E g_n||^2 + variance", slope + v - first, NOISE)
    return Certificate(
        claim,
        half * family.norm2_of_sum,
        S * N * eta**2 * p * (change + p * (slope + v)),
        (NOISE, KERNEL),
        Domain(
            "N, p >= 1, S, eta > 0, v = sum_n c_n sigma_n^2 >= 0",
            {N: 1 + n, p: 1 + k, S: s, eta: e},
            (k, n, v, s, e),
        ),
        uses=(
            (jensen(family), half),
            (chance, half * N * p),
            (young, half * N * p),
            (variance, 2 * half * N * p**2),
        ),
        statement="S/2 E||x_b' - x_b||^2 <= S N eta^2 p sum_n c_n sum_i "
        "(E||g_n^i - g_n||^2 + ||grad_b F_n(x)||^2 + sigma_n^2)",
    )


def _heterogeneous(kind: str) -> tuple[Fact, Any]:
    """Return the bound of F, and the factor of the squared gradient in it."""
    total, factor = (kappa, 2) if kind == "v1" else (1, 1)
    rule = heterogeneity(F, whole2, eps2, total, factor, HETEROGENEOUS)
    return rule, total * factor


def _times(factor: Any) -> str:
    """Return a factor in words, nothing for 1."""
    return "" if factor == 1 else f"{factor} "


def _words(expr: Any) -> str:
    """Return a factor in words, in brackets if it is a sum."""
    return f"({expr})" if expr.is_Add else str(expr)
