r"""SFL-V2, non-convex, full participation: one round with weighted server steps.

Theorem 3.7 lets the server step by $\eta g_{s,n}$, so it follows $\sum_n\nabla F_n$
instead of $\nabla f$, and (16) is false for unequal weights. With server steps $\eta
a_ng_{s,n}$ (for $a_n=1/N$: the printed algorithm with the server's rate divided by N)
and $\eta\le1/(16S\tau)$, whatever the visiting order,

$$\frac{\eta\tau}4\|\nabla f(x)\|^2\le f(x)-\mathbb Ef(x')+S\eta^2\left[\tau\sum_na_n^2
\sigma_n^2+\frac\tau8\sum_na_n\sigma_n^2+\frac{\tau^2}8\epsilon^2\right].$$

Notation as in ``non_convex_v1``, with weights $b_n=a_n$ and points $p_n^i$ at which the
server has already made the visits before.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

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
from sfl_theory.evidence.local_sgd import (
    deviation,
    heterogeneity,
    local_gradients,
    noisy_drift,
    orthogonal_noise,
    unbiased,
)

S, eta, tau, sigma_a, sigma_2, eps2 = positive("S eta tau sigma_a sigma_2 epsilon2")

SMOOTH = "Assumption C.1 (24), gradients S-Lipschitz"
NOISE = "Assumption 3.2"
HETEROGENEOUS = "Assumption 3.4"
UPDATE = "SFL-V2 with server steps eta a_n g"
C = sp.Rational(1, 4)


def one_round(claim: str) -> Certificate:
    """Return the certificate of one round (formula in the module's docstring)."""
    k, h, x, y, e = free("k h x y e")
    (s,) = positive("s")
    domain = Domain(
        "eta <= 1/(16 S tau), sum a_n^2 sigma_n^2 <= sum a_n sigma_n^2",
        {
            tau: 1 + k,
            S: s,
            eta: 1 / (s * (1 + k) * (16 + h)),
            sigma_2: x,
            sigma_a: x + y,
            eps2: e,
        },
        (k, h, x, y, e, s),
    )
    gc, gs, Mc, Ms, Zc, Zs = vectors("grad_c grad_s M_c M_s Z_c Z_s")
    D, Gamma, F = atom("D"), atom("Gamma"), atom("F")
    gradient2 = norm2(gc) + norm2(gs)
    descent = Fact(
        "f smooth, x -> x' = x - eta (M + Z)",
        value("f", "x")
        - eta * (inner(gc, Mc) + inner(gc, Zc) + inner(gs, Ms) + inner(gs, Zs))
        + S / 2 * eta**2 * (norm2(Mc + Zc) + norm2(Ms + Zs))
        - value("f", "x'"),
        SMOOTH,
    )
    theta = 3 * eta**2 * tau**2
    lam_d = eta / 2 * S**2 / (1 - (1 + 1 / C) * S**2 * theta)
    lam_gamma = lam_d * theta
    lam_f = lam_gamma * (1 + C) * tau
    rest = eta * tau / 4 - lam_f
    noise = tau * sigma_2 + tau * sigma_a / 8 + tau**2 * eps2 / 8
    uses: tuple[tuple[Fact, Any], ...] = (
        (descent, 1),
        (unbiased(gc, Zc, NOISE), eta),
        (unbiased(gs, Zs, NOISE), eta),
        (deviation(D, ((gc, Mc, tau), (gs, Ms, tau)), S, SMOOTH), eta / 2),
        (orthogonal_noise((Zc, Zs), tau * sigma_2, NOISE), S * eta**2),
        (noisy_drift(D, theta, Gamma, sigma_a, UPDATE), lam_d),
        (local_gradients(Gamma, F, D, tau, S, C, SMOOTH), lam_gamma),
        (heterogeneity(F, gradient2, eps2, 1, 1, HETEROGENEOUS), lam_f),
    )
    return Certificate(
        claim=claim,
        left=eta * tau / 4 * gradient2,
        right=value("f", "x") - value("f", "x'") + S * eta**2 * noise,
        hypotheses=(SMOOTH, NOISE, HETEROGENEOUS, UPDATE),
        domain=domain,
        uses=uses,
        squares=(
            (Mc - Zc, S / 2 * eta**2),
            (Ms - Zs, S / 2 * eta**2),
            (Mc, eta / (2 * tau) - S * eta**2),
            (Ms, eta / (2 * tau) - S * eta**2),
            (gc, rest),
            (gs, rest),
        ),
        statement="eta tau/4 ||grad f(x)||^2 <= f(x) - E f(x') + S eta^2 "
        "[tau sum a_n^2 sigma_n^2 + tau/8 sum a_n sigma_n^2 + tau^2/8 eps^2]",
    )
