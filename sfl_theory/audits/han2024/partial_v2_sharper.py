r"""The repaired (22) of ``han2024`` with smaller constants.

As ``partial_v2.one_round``, with the drift counted visit by visit. Then
$\frac{\eta\tau}2\|\nabla f(x)\|^2$ instead of $\frac{\eta\tau}4$ has the same noise
terms, so that half of the bounds over T rounds is true; or the cubic terms are halved;
or the learning rate is twice as large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import sympy as sp

from sfl_theory.audits.han2024.partial_v2 import (
    HETEROGENEOUS,
    QUADRATIC,
    SHARP,
    SMOOTH,
    UPDATE,
    S,
    _objects,
    _use,
    eps2,
    eta,
    kappa,
    one_round,
    rho,
    sigma_a,
    sigma_q,
    summed_rounds,
    tau,
)
from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    atom,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.derivation import Instance
from sfl_theory.evidence.domain import Domain
from sfl_theory.evidence.kernel import value
from sfl_theory.evidence.local_sgd import heterogeneity
from sfl_theory.evidence.participation import (
    centred,
    deviation_variance,
    local_deviation,
    mean_deviation,
    participating_gradients,
    participating_noise,
    visited_drift,
)
from sfl_theory.papers import repaired_non_convex

C = sp.Rational(1, 4)
"""Constant of Young's inequality for V, and of that in the drift."""

CUBIC = sp.expand(SHARP).coeff(eta, 3) * eta**3
SPREAD = CUBIC.coeff(eps2) * eps2


@dataclass(frozen=True)
class Room:
    r"""What is gained on ``partial_v2.one_round``.

    Attributes:
        more: added to the factor $\frac14$ of $\eta\tau\|\nabla f(x)\|^2$.
        deviation: multiplier of the mean deviation's bound, in units of $\eta/\tau$.
        cubic: how much of the cubic terms stays of the noise.
        spread: how much of them stays of the heterogeneity.
        times: the learning rate may be this many times as large.
    """

    more: Any
    deviation: Any
    cubic: Any = 1
    spread: Any = 1
    times: int = 1


HALF = Room(sp.Rational(1, 4), sp.Rational(6, 7), spread=sp.Rational(1, 3))
HALF_CUBIC = Room(
    sp.Integer(0), sp.Rational(9, 20), sp.Rational(1, 2), sp.Rational(1, 4)
)
TWICE = Room(sp.Integer(0), sp.Rational(7, 10), times=2)


def round_with_room(claim: str, room: Room) -> Certificate:
    """Return one round; the update's noise is as in Assumption 3.2.

    Args:
        claim: identifier of the claim.
        room: what is gained.

    Returns:
        The certificate.
    """
    printed = one_round(claim)
    g, B, L, V, Z = vectors("grad_f B L V Z")
    D, Delta, F = atom("D"), atom("Delta"), atom("F")
    gradient2, half = norm2(g), S / 2 * eta**2
    update = tau * g + B + L + V + Z
    descent = Fact(
        "f smooth, x -> x' = x - eta (tau grad f(x) + B + L + V + Z)",
        value("f", "x") - eta * inner(g, update) + half * norm2(update)
        - value("f", "x'"),
        SMOOTH,
    )  # fmt: skip
    mixed = (*(eta - 2 * half * tau,) * 3, *(-2 * half,) * 3, -2 * half * (1 + C))
    zero = centred((g, B), L, V, Z, UPDATE)
    lam_b, lam_v = room.deviation * eta / tau, half * (1 + 1 / C)
    of_drift = (lam_b * tau + lam_v * kappa * tau) * S**2
    scale = eta**2 * tau**2 / 2
    lam_d = of_drift / (1 - scale * (1 + 1 / C) * kappa**2 * S**2)
    lam_delta = lam_d * scale * (1 + 1 / C) * kappa**2
    lam_f = lam_d * scale * (1 + C) * kappa**2 * tau
    noise = sigma_a + 2 * kappa * sigma_q
    spread = participating_gradients(L, gradient2, eps2, tau, rho, HETEROGENEOUS)
    uses: tuple[tuple[Fact, Any], ...] = (
        (descent, 1),
        *zip(zero, mixed, strict=True),
        (mean_deviation(B, D, tau, S, SMOOTH), lam_b),
        (deviation_variance(B, V, D, tau, kappa, S, SMOOTH), lam_v),
        (spread, half * (1 + C)),
        (participating_noise(Z, tau, sigma_q, UPDATE), half * (1 + C)),
        (visited_drift(D, F, Delta, eta, tau, kappa, noise, C, UPDATE), lam_d),
        (local_deviation(Delta, D, S, SMOOTH), lam_delta),
        (heterogeneity(F, gradient2, eps2, 1, 1, HETEROGENEOUS), lam_f),
    )
    # what is left of g and B: a ||g||^2 + mixed <g, B> + b ||B||^2
    a = eta * tau * (sp.Rational(3, 4) - room.more) - half * tau**2
    a -= 2 * half * (1 + C) * rho * tau**2 + lam_f
    b = lam_v + lam_b - half
    ratio = (eta - 2 * half * tau) / (2 * b)
    right = printed.right - room.more * eta * tau * gradient2
    right -= (1 - room.cubic) * (CUBIC - SPREAD) + (1 - room.spread) * SPREAD
    return Certificate(
        claim,
        printed.left,
        right,
        (SMOOTH, HETEROGENEOUS, UPDATE),
        doubled(printed.domain) if room.times == 2 else printed.domain,
        uses=uses,
        squares=(
            (L + Z - V * (1 / C), half * C),
            (B + g * ratio, b),
            (g, a - b * ratio**2),
        ),
        statement=f"one round with {room}",
    )


def doubled(domain: Domain) -> Domain:
    """Return the domain for twice the learning rate."""
    values = {**domain.values, eta: 2 * domain.values[eta]}
    return Domain(f"twice the rate of: {domain.words}", values, domain.free)


def quadratic(claim: str) -> Certificate:
    """Return ``partial_v2.quadratic`` with twice the squared gradient."""
    gradient2, before, after = _objects()
    source = round_with_room(claim, HALF)
    left = eta * tau / 4 * gradient2
    sharp = Fact(
        "one round", before - after + SHARP - 2 * left - (SPREAD - SPREAD / 3), "",
        derived=Instance(_use(source, eta)),
    )  # fmt: skip
    return Certificate(
        claim,
        left,
        before - after + QUADRATIC - left,
        source.hypotheses,
        source.domain,
        uses=((sharp, 1),),
        statement="quadratic form of a round with twice the squared gradient",
    )


def _half_summed(claim: str, sharp: bool) -> Certificate:
    """Return half of the bound over T rounds."""
    one = round_with_room(claim, HALF) if sharp else quadratic(claim)
    bound = (
        repaired_non_convex.non_convex_v2_sharp
        if sharp
        else repaired_non_convex.non_convex_v2_partial
    )
    return summed_rounds(claim, bound(), sharp, one)


def certificates(claim: str) -> tuple[Callable[[], Certificate], ...]:
    """Return builders of all of them.

    Args:
        claim: identifier of the repair.

    Returns:
        One round in three ways, its quadratic form, both sums over rounds.
    """
    return (
        *(partial(round_with_room, claim, room) for room in (HALF, HALF_CUBIC, TWICE)),
        partial(quadratic, claim),
        partial(_half_summed, claim, False),
        partial(_half_summed, claim, True),
    )
