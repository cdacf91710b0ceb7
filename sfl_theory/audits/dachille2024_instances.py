r"""``dachille2024``: instances against its lemmas and equations, and its certificates.

Noise: $F=\frac12\theta^2$, gradients $\theta+\xi$, $\xi=\pm1$, one client, from 0.
Coupling: $f=\frac12(c^2+s^2+cs)$, one client, no noise, S = 3/2; the gradient of one
block changes because the other moves. Lemmas 1-2 and what rests on them assume 2-4
only; Assumption 1 is read as "need not be convex".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import sympy as sp

from sfl_theory import symbols
from sfl_theory.audits.han2024 import non_convex_v1 as v1
from sfl_theory.audits.han2024.telescoping import telescoped
from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    atom,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.instance import Finding, at_most, equal
from sfl_theory.evidence.interval import Interval
from sfl_theory.papers import dachille2024

Build = Callable[[], Certificate]
S = Fraction(3, 2)
ETA = Fraction(1, 72)
A2, A3, A4 = (f"Assumption {k}" for k in (2, 3, 4))


def fresh_samples(smooth: bool) -> Finding:
    r"""Lemma 2, (12), (17), (22): $g^{t,1}$ and $g^{t,0}$ belong to different samples.

    $g^0=\xi_0$, $g^1=-\eta\xi_0+\xi_1$: $E|g^1-g^0|^2=1+(1+\eta)^2$.

    Args:
        smooth: (12), third inequality, else Lemma 2.

    Returns:
        Both sides.
    """
    eta, tau = Fraction(1, 100), 2
    signs = (1, -1)
    left = Fraction(0)
    for first in signs:
        for second in signs:
            left += (-eta * first + second - first) ** 2 / 4
    right = eta**2 if smooth else 8 * tau**3 * eta**2
    return Finding(
        setup="K = 1, F = theta^2/2 (S = 1; theta the server block), g = theta + xi, "
        "xi = +-1 independent, theta^t = 0, tau = 2, eta = 1/100",
        checks=(
            equal("Assumption 3: mean of xi", sum(signs), 0),
            equal("Assumption 3, sigma^2 = 1: variance", Fraction(1 + 1, 2), 1),
            equal("Assumption 4, epsilon = 0: one client", 0, 0),
            at_most("eta <= 1/(2 S tau), 1/(16 S tau)", eta, Fraction(1, 16 * tau)),
        ),
        left=Interval.of(left),
        right=Interval.of(right),
    )


def _run(
    along_s: Fraction, along_c: Fraction, tau: int
) -> tuple[list[Fraction], list[Fraction]]:
    """Return server blocks and server gradients of the steps, from these gradients."""
    c = (along_c - along_s / 2) / Fraction(3, 4)
    s = along_s - c / 2
    blocks, gradients = [s], []
    for _ in range(tau):
        g_s, g_c = s + c / 2, c + s / 2
        s, c = s - ETA * g_s, c - ETA * g_c
        blocks.append(s)
        gradients.append(g_s)
    return blocks, gradients


def coupled_block(equation: str) -> Finding:
    """One block's equation breaks because the other block moves.

    Args:
        equation: "18", "19", "20", "21" or "23" ((24), (25): blocks exchanged).

    Returns:
        Both sides.

    Raises:
        ValueError: if the step size breaks the condition of Proposition 1.
    """
    along_s, along_c, tau = {
        "18": (1, 200, 2),
        "19": (0, 100, 3),
        "20": (1, 200, 2),
        "21": (1, -10, 2),
        "23": (0, 100, 2),
    }[equation]
    rate = Fraction(1, 16 * tau) / S
    if rate < ETA:
        raise ValueError("the instance needs eta <= 1/(16 S tau): choose a smaller ETA")
    g = Fraction(along_s)
    blocks, gradients = _run(g, Fraction(along_c), tau)
    moved = blocks[-1] - blocks[0]
    drift = sum((s - blocks[0]) ** 2 for s in blocks[:-1])
    left = {
        "18": g * moved,
        "19": drift,
        "20": g * moved,
        "21": S / 2 * moved**2,
        "23": S / 2 * moved**2,
    }[equation]
    spread = sum((h - g) ** 2 + g**2 for h in gradients)
    right = {
        "18": -ETA * tau / 2 * g**2 + ETA * S**2 / 2 * drift,
        "19": 16 * tau**3 * ETA**2 * g**2,
        "20": (-ETA * tau / 2 + 8 * ETA**3 * tau**3 * S**2) * g**2,
        "21": S * ETA**2 * tau / 2 * spread,
        "23": S * ETA**2 * tau / 2 * (tau + 8 * tau**3 * ETA**2 * S**2) * 2 * g**2,
    }[equation]
    return Finding(
        setup="K = 1, no noise, f = (c^2 + s^2 + c s)/2, server gradient "
        f"{along_s} and client gradient {along_c} at theta^t, tau = {tau}, eta = 1/72",
        checks=(
            equal("Assumption 2: eigenvalues 1/2 and 3/2 = S", S + Fraction(1, 2), 2),
            equal("Assumptions 3, 4: sigma = epsilon = 0", 0, 0),
            at_most("eta <= 1/(16 S tau)", ETA, rate),
        ),
        left=Interval.of(left),
        right=Interval.of(right),
    )


def box_steps() -> Finding:
    """Return both sides on the instance.

    Algorithm 1 makes one server step per round where the analysis makes tau.
    """
    eta, s = Fraction(1, 48), Fraction(1)
    box = s - eta * s
    analysed = box - eta * box
    return Finding(
        setup="K = 1, f = (c^2 + s^2)/2, E = 2, one batch, s = 1, eta = 1/48: "
        "|server block after the box's round - after tau = 2 steps|",
        checks=(equal("tau = ceil(E D/B) with D = B", 2, 2),),
        left=Interval.of(abs(box - analysed)),
        right=Interval.of(0),
    )


def average(claim: str) -> tuple[Build, ...]:
    """Return the certificates.

    Proposition 1: one round of SFL-V1, then the sum over rounds as printed.
    """
    n, a = symbols.n, symbols.a
    bound = dachille2024.PROPOSITION_1.case("non_convex").bound("printed")
    clients = symbols.over_clients(
        a[n] ** 2 * (symbols.sigma[n] ** 2 + symbols.epsilon**2)
    )
    (W,) = free("W_k")
    # 2 S (tau^2 + tau^2) eta^2 K W per round, W = sum alpha_k^2 (sigma_k^2 + eps^2)
    per_round = 4 * symbols.S * symbols.tau**2 * symbols.N * W

    def total() -> Certificate:
        found = telescoped(claim, bound, symbols.tau, per_round, {clients: W})
        domain = found.domain
        return replace(found, domain=replace(domain, free=(*domain.free, W)))

    return (*v1.certificates(claim, False), total)


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


def arithmetic(
    claim: str, pairs: tuple[tuple[Fraction, Fraction], ...], words: str
) -> tuple[Build, ...]:
    """Return certificates of ``left <= right`` between rational numbers.

    Args:
        claim: identifier.
        pairs: (left, right), one certificate each.
        words: what is compared.

    Returns:
        One builder per pair.
    """
    (dummy,) = positive("unit_")
    domain = Domain("numbers", {}, (dummy,))

    def build(left: Fraction, right: Fraction) -> Certificate:
        return Certificate(
            claim, _number(left), _number(right), (), domain, statement=words
        )

    return tuple(partial(build, left, right) for left, right in pairs)


def _number(value: Fraction) -> sp.Rational:
    return sp.Rational(value.numerator, value.denominator)
