r"""``dachille2024``: certificates of Proposition 1 and of its steps that are true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from sfl_theory.audits.han2024 import non_convex_sharper, non_convex_sums
from sfl_theory.audits.han2024 import non_convex_v1 as v1
from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    atom,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.papers import dachille2024

Build = Callable[[], Certificate]


A2, A3, A4 = (f"Assumption {k}" for k in (2, 3, 4))


def average(claim: str) -> tuple[Build, ...]:
    """Return the certificates.

    Proposition 1: one round of SFL-V1, then the sum over rounds as printed.
    """
    bound = dachille2024.PROPOSITION_1.case("non_convex").bound("printed")
    total = partial(non_convex_sums.v1_sum, claim, bound, False, non_convex_sums.SAME)
    return (*v1.certificates(claim, False), total)


def average_sharper(claim: str) -> tuple[Build, ...]:
    """Return certificates of more than Proposition 1 and its round say."""
    bound = dachille2024.PROPOSITION_1.case("non_convex").bound("printed")
    return non_convex_sharper.v1(claim, bound, False, (non_convex_sums.SAME,))


def one_round(claim: str) -> tuple[Build, ...]:
    """Return the certificates.

    (26): the same certificate with half of the noise term, S (tau^2 + tau_s^2).
    """

    def halved(domain: Domain) -> Certificate:
        found = v1.one_round(domain, claim, False)
        noise = (v1.tau**2 + v1.tau_server**2) * (v1.sigma_w + v1.kappa * v1.eps2)
        return replace(
            found,
            right=found.right - v1.S * v1.eta**2 * noise,
            statement="eta tau/4 ||grad f||^2 <= f - E f' + 2KS eta^2 tau^2 "
            "sum alpha^2 (sigma^2 + eps^2), at tau_server = tau",
        )

    return tuple(partial(halved, domain) for domain in v1.domains())


def conditions(claim: str) -> tuple[Build, ...]:
    r"""Return the certificates.

    $1/(16S\tau)$ is at most $1/(2S\tau)$ and, squared, $1/(8S^2\tau^2)$.
    """
    one, two = positive("S_ tau_")
    domain = Domain("S, tau > 0", {}, (one, two))
    largest = 1 / (16 * one * two)
    return (
        lambda: Certificate(claim, largest, 1 / (2 * one * two), (), domain),
        lambda: Certificate(claim, largest**2, 1 / (8 * one**2 * two**2), (), domain),
    )


def drift(claim: str) -> tuple[Build, ...]:
    r"""Return the certificates.

    Lemma 1: $D\le16\tau^3\eta^2(\sigma^2+\epsilon^2+\|\nabla f\|^2)$.

    $\theta^i-\theta=-\eta\sum_{j<i}(\nabla F(\theta^j)+\xi^j)$, D its square summed
    over $i<\tau$, $\Gamma=\sum_jE\|\nabla F(\theta^j)\|^2$.
    """
    D, Gamma = atom("D"), atom("Gamma")
    (grad,) = vectors("grad_f")
    local = atom("||grad F_k||^2")
    k, h = free("k_ h_")
    s2, var, eps2 = positive("S2_ sigma2_ eps2_")
    tau = 1 + k
    e2 = 1 / (8 * s2 * tau**2 + h)
    domain = Domain("tau >= 1, eta <= 1/(sqrt(8) S tau)", {}, (k, h, s2, var, eps2))
    theta = e2 * tau * (tau - 1)
    facts = (
        Fact(
            "drift: Young, Cauchy-Schwarz, noise orthogonal over steps",
            theta * (Gamma + tau * var) - D,
            A3,
        ),
        Fact(
            "gradients at local models by those at theta",
            2 * tau * local + 2 * s2 * D - Gamma,
            A2,
        ),
        Fact("Young: grad F_k by grad f", 2 * norm2(grad) + 2 * eps2 - local, A4),
    )
    first = 1 / (1 - 2 * s2 * theta)
    third = first * theta * 2 * tau
    right = 16 * tau**3 * e2
    return (
        lambda: Certificate(
            claim,
            D,
            right * (var + eps2 + norm2(grad)),
            (A2, A3, A4),
            domain,
            uses=((facts[0], first), (facts[1], first * theta), (facts[2], third)),
            squares=((grad, right - 2 * third),),
            statement="sum_i E||theta^i - theta||^2 <= 16 tau^3 eta^2 (sigma^2 + "
            "eps^2 + "
            "||grad f||^2)",
        ),
    )


def drift_step(claim: str) -> tuple[Build, ...]:
    """Return the certificates.

    (8): one local step, with Young's 1/tau and four terms.
    """
    a, xi, p, q, r = vectors("a xi p q r")
    k, h = free("k_ h_")
    e, s, var, eps2 = positive("eta_ more_ sigma2_ eps2_")
    tau = 1 + k
    # 8 eta^2 S^2 tau^2 <= 1: S^2 = 1/(8 eta^2 tau^2 + ...)
    s2 = 1 / (8 * e**2 * tau**2 + h)
    domain = Domain("tau >= 1, eta <= 1/(sqrt(8) S tau)", {}, (k, h, e, s, var, eps2))
    total = xi + p + q + r
    pairs = (xi - p, xi - q, xi - r, p - q, p - r, q - r)
    facts = (
        (Fact("variance", var - norm2(xi), A3), 8 * tau * e**2),
        (Fact("Lipschitz gradient", s2 * norm2(a) - norm2(p), A2), 8 * tau * e**2),
        (Fact("heterogeneity", eps2 - norm2(q), A4), 8 * tau * e**2),
    )
    right = (1 + 2 / tau) * norm2(a) + 8 * tau * e**2 * (var + eps2 + norm2(r))
    # ||a - eta u||^2 <= (1 + 1/tau)||a||^2 + (1 + tau) eta^2 ||u||^2,
    # (1 + tau)||u||^2 <= 2 tau ||u||^2 <= 8 tau (sum of squares)
    squares = [
        (a + e * tau * total, 1 / tau),
        (total, (tau - 1) * e**2),
        *((vector, 2 * tau * e**2) for vector in pairs),
        (a, 1 / tau - 8 * tau * e**2 * s2),
    ]
    return (
        lambda: Certificate(
            claim,
            norm2(a) - 2 * e * inner(a, total) + e**2 * norm2(total),
            right,
            (A2, A3, A4),
            domain,
            uses=facts,
            squares=tuple(squares),
            statement="A_i <= (1 + 2/tau) A_{i-1} + 8 tau eta^2 (sigma^2 + eps^2 + "
            "||grad f||^2)",
        ),
    )
