r"""Appendix C: the technical lemmas, each with a proof of its own.

Lemma C.5 needs no step-size condition, as bounded gradients bound the drift directly;
Lemma C.6 follows from the rules of ``local_sgd`` for a single client.
"""

from __future__ import annotations

from dataclasses import replace

from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    atom,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.kernel import bounded_partial_sums, value, young
from sfl_theory.evidence.local_sgd import (
    heterogeneity,
    local_gradients,
    noisy_drift,
    unbiased,
)

S, eta, tau, sigma2, G2, eps2, gradient2 = positive(
    "S eta tau sigma2 G2 epsilon2 grad_f_norm2"
)

SMOOTH = "Assumption C.1 (25)"
LIPSCHITZ = "Assumption C.1 (24)"
NOISE = "Assumption C.1 (26)-(27)"
BOUNDED = "Assumption C.1 (28)"
HETEROGENEOUS = "Assumption C.1 (29)"


def proposition_c4(claim: str) -> Certificate:
    """Return the proof of Prop. C.4, smoothness written by blocks."""
    (s,) = positive("s")
    dc, ds, gc, gs = vectors("dx_c dx_s grad_c grad_s")
    step = inner(gc, dc) + inner(gs, ds) + S / 2 * (norm2(dc) + norm2(ds))
    upper = Fact(
        "f smooth, x^t -> x^t+1",
        value("f", "x^t") + step - value("f", "x^t+1"),
        SMOOTH,
    )
    return Certificate(
        claim,
        value("f", "x^t+1") - value("f", "x^t"),
        step,
        (SMOOTH,),
        Domain("S > 0", {S: s}, (s,)),
        uses=((upper, 1),),
        statement="f(x^t+1) - f(x^t) <= sum over blocks of <grad, dx> + S/2 ||dx||^2",
    )


def lemma_c5(claim: str) -> Certificate:
    r"""Return the proof of (37), without a step-size condition."""
    D = atom("sum_i E||x_n^i - x^t||^2")
    k, e, v, G = free("k e v G")
    domain = Domain(
        "tau >= 1, eta, sigma_n^2, G^2 >= 0",
        {tau: 1 + k, eta: e, sigma2: v, G2: G},
        (k, e, v, G),
    )
    return Certificate(
        claim,
        D,
        12 * tau**3 * eta**2 * (2 * sigma2 + G2),
        (BOUNDED,),
        domain,
        uses=((bounded_partial_sums(D, 1, eta**2, tau, G2, BOUNDED), 1),),
        statement="sum_{i<tau} E||x_n^i - x^t||^2 <= "
        "12 tau^3 eta^2 (2 sigma_n^2 + G^2)",
    )


def lemma_c6(claim: str) -> Certificate:
    r"""Return the proof of (42) for $\eta\le1/(\sqrt8S\tau)$."""
    D, Gamma, F = atom("D"), atom("Gamma"), atom("F")
    k, h, v, x, g = free("k h v x g")
    (s,) = positive("s")
    u = positive("u")[0]
    # 8 S^2 eta^2 tau^2 = 1/(1+h), so eta^2 = u with u = 1/(8 S^2 tau^2 (1+h)).
    domain = Domain(
        "tau >= 1, 8 S^2 eta^2 tau^2 <= 1",
        {
            tau: 1 + k,
            S: s,
            u: 1 / (8 * s**2 * (1 + k) ** 2 * (1 + h)),
            sigma2: v,
            eps2: x,
            gradient2: g,
        },
        (k, h, v, x, g, s),
    )
    theta = u * tau * (tau - 1)
    lam_d = 1 / (1 - 2 * S**2 * theta)
    lam_gamma = lam_d * theta
    lam_f = 2 * tau * lam_gamma
    return Certificate(
        claim,
        D,
        16 * tau**3 * u * (sigma2 + eps2 + gradient2),
        (NOISE, LIPSCHITZ, HETEROGENEOUS),
        domain,
        uses=(
            (noisy_drift(D, theta, Gamma, sigma2, NOISE), lam_d),
            (local_gradients(Gamma, F, D, tau, S, 1, LIPSCHITZ), lam_gamma),
            (heterogeneity(F, gradient2, eps2, 1, 2, HETEROGENEOUS), lam_f),
        ),
        statement="sum_{i<tau} E||x_n^i - x^t||^2 <= 2 tau^2 (8 tau eta^2 sigma_n^2 + "
        "8 tau eta^2 eps^2 + 8 tau eta^2 ||grad f(x^t)||^2)",
    )


def lemma_c7_repaired(claim: str) -> Certificate:
    r"""Return the true bound of one stochastic gradient against the first one.

    $\mathbb E\|g_n^i-g_n^0\|^2\le2S^2\mathbb E\|x_n^i-x^t\|^2+4\sigma_n^2$.
    """
    delta, late, early, move = vectors("grad(x^i)-grad(x) xi^i xi^0 x^i-x")
    (s,) = positive("s")
    v = free("v")[0]
    domain = Domain("S > 0, sigma_n^2 >= 0", {S: s, sigma2: v}, (s, v))
    noise = [
        Fact(f"variance of {name}", sigma2 - norm2(xi), NOISE)
        for name, xi in (("xi^i", late), ("xi^0", early))
    ]
    lipschitz = Fact("Lipschitz", S**2 * norm2(move) - norm2(delta), LIPSCHITZ)
    return Certificate(
        claim,
        norm2(delta + late - early),
        2 * S**2 * norm2(move) + 4 * sigma2,
        (LIPSCHITZ, NOISE, "kernel"),
        domain,
        uses=(
            (young(delta, late - early, 1), 1),
            (unbiased(late, early, NOISE), 4),
            (noise[0], 2),
            (noise[1], 2),
            (lipschitz, 2),
        ),
        statement="E||g_n^i - g_n^0||^2 <= 2 S^2 E||x_n^i - x^t||^2 + 4 sigma_n^2",
    )


def lemma_c7_sharper(claim: str) -> Certificate:
    r"""Return the same with $3\sigma_n^2$: later noise is orthogonal to the move."""
    printed = lemma_c7_repaired(claim)
    delta, late, early, move = vectors("grad(x^i)-grad(x) xi^i xi^0 x^i-x")
    return replace(
        printed,
        right=2 * S**2 * norm2(move) + 3 * sigma2,
        hypotheses=(LIPSCHITZ, NOISE),
        uses=(
            (Fact("variance of xi^i", sigma2 - norm2(late), NOISE), 1),
            (Fact("variance of xi^0", sigma2 - norm2(early), NOISE), 2),
            (Fact("Lipschitz", S**2 * norm2(move) - norm2(delta), LIPSCHITZ), 2),
            (unbiased(late, early, NOISE), 2),
            (unbiased(late, delta, NOISE), -2),
        ),
        squares=((delta + early, 1),),
        statement="E||g_n^i - g_n^0||^2 <= 2 S^2 E||x_n^i - x^t||^2 + 3 sigma_n^2",
    )
