r"""Non-convex: the sums over rounds that end in (13), (19) and the repaired (16)."""

from __future__ import annotations

from typing import Any

from sfl_theory import symbols
from sfl_theory.audits.han2024 import non_convex_v1, non_convex_v2
from sfl_theory.audits.han2024.telescoping import Parameters, rate, sum_of_rounds
from sfl_theory.bound import Bound
from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.derivation import Cases, Use
from sfl_theory.evidence.domain import free, positive

SERVER_SHORTER, SERVER_LONGER, SAME = (
    "tau >= tau_server",
    "tau_server >= tau",
    "tau_server = tau",
)
"""Which side makes more steps; the certificates of one round are told apart by it."""


def v1_sum(claim: str, bound: Bound, is_partial: bool, order: str) -> Certificate:
    r"""Return the sum over rounds of SFL-V1, full or partial participation.

    $\kappa=N\sum_na_n^2/q_n$, $\sigma_w=N\sum_n\frac{a_n^2}{q_n}\sigma_n^2$, so that
    $\sum_n\frac{a_n^2}{q_n}(\sigma_n^2+\epsilon^2)=(\sigma_w+\kappa\epsilon^2)/N$.

    Args:
        claim: identifier of the claim.
        bound: (13), (19) or (6) of ``dachille2024``.
        is_partial: clients take part with probability $q_n$.
        order: which side makes more steps.

    Returns:
        The certificate.
    """
    a, q, n = symbols.a[symbols.n], symbols.q[symbols.n], symbols.n
    weight = a**2 / q if is_partial else a**2
    k, d, N, sigma_w, eps = free("k_ d_ n_ sigma_w epsilon_")
    (kappa,) = positive("kappa")
    less, more = symbols.tau_server, symbols.tau
    if order == SERVER_LONGER:
        less, more = more, less
    further = (d,) if order != SAME else ()
    values = {
        symbols.N: 1 + N,
        less: 1 + k,
        more: less + sum(further),
        symbols.tau_min: less,
        symbols.tau_max: more,
        symbols.epsilon: eps,
    }
    summand = weight * (symbols.sigma[n] ** 2 + symbols.epsilon**2)
    meaning = {
        symbols.over_clients(summand): (sigma_w + kappa * eps**2) / symbols.N,
        symbols.over_clients(weight): kappa / symbols.N,
    }
    words = f"N, tau, tau_server >= 1, {order}, kappa = N sum a_n^2/q_n > 0"
    parameters = Parameters(
        words, values, (k, N, sigma_w, eps, kappa, *further), meaning
    )
    at = {
        "k": less - 1,
        "d": more - less,
        "s": symbols.S,
        "n": symbols.N - 1,
        "sigma_w": sigma_w,
        "epsilon2": eps**2,
    }
    own = [
        domain
        for domain in non_convex_v1.domains()
        if domain.words.startswith(order if order != SAME else SERVER_SHORTER)
    ]
    small, large = (
        non_convex_v1.one_round(domain, claim, is_partial) for domain in own
    )
    ratio = kappa * more / less
    size = 1 / (symbols.S * rate * more)
    one_round = Cases(
        2 * less - kappa * more,
        Use(small, {**at, "w": 2 / ratio - 1, "h": size - 16}),
        Use(large, {**at, "w": ratio - 2, "h": size - 8 * ratio}),
    )
    return sum_of_rounds(claim, bound, one_round, parameters)


def v2_sum(claim: str, bound: Bound) -> Certificate:
    """Return the sum over rounds that ends in the repaired (16).

    Args:
        claim: identifier of the claim.
        bound: the repaired (16).

    Returns:
        The certificate.
    """
    n = symbols.n
    two = symbols.over_clients(symbols.a[n] ** 2 * symbols.sigma[n] ** 2)
    one = symbols.over_clients(symbols.a[n] * symbols.sigma[n] ** 2)
    k, x, y, eps = free("k_ x_ y_ epsilon_")
    parameters = Parameters(
        "tau >= 1, sum a_n^2 sigma_n^2 <= sum a_n sigma_n^2",
        {symbols.tau: 1 + k, symbols.epsilon: eps},
        (k, x, y, eps),
        {two: x, one: x + y},
    )
    at: dict[str, Any] = {
        "k": symbols.tau - 1,
        "h": 1 / (symbols.S * rate * symbols.tau) - 16,
        "x": x,
        "y": y,
        "e": eps**2,
        "s": symbols.S,
    }
    one_round = Use(non_convex_v2.one_round(claim), at)
    return sum_of_rounds(claim, bound, one_round, parameters)
