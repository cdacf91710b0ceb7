"""True statements nearest to the refuted non-convex cases of ``han2024``, SFL-V2.

Equal weights and the server's rate divided by N: the server then steps along
sum_n a_n grad F_n.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from sfl_theory import symbols
from sfl_theory.bound import WEIGHTED_GRADIENT, Bound, Source, StepSize
from sfl_theory.conditions import BoundedVariance, Heterogeneity, Smooth
from sfl_theory.papers import repaired
from sfl_theory.papers.repaired import EQUAL, FULL, excess, inverse, noise_inverse
from sfl_theory.symbols import F_err, N, S, T, a, epsilon, eta, n, over_rounds, t, tau

NON_CONVEX = (
    Smooth("C.1 (24) Lipschitz gradients"),
    BoundedVariance(),
    Heterogeneity(),
)


def non_convex_v2() -> Bound:
    """Return the repaired non-convex case of Theorem 3.7."""
    largest = 1 / (16 * S * tau)
    noise = (
        symbols.over_clients(a[n] ** 2 * symbols.sigma[n] ** 2)
        + symbols.over_clients(a[n] * symbols.sigma[n] ** 2) / 8
        + tau * epsilon**2 / 8
    )
    return Bound(
        parts={
            "initial gap": 4 * F_err / (T * tau),
            "noise and heterogeneity": 4 * S / T * noise * over_rounds(eta(t) ** 2),
        },
        metric=WEIGHTED_GRADIENT,
        step_size=StepSize(largest, largest / N, "<="),
        conditions=(
            *NON_CONVEX,
            FULL,
            EQUAL,
        ),
        source=Source("repaired", "Theorem 3.7", "non-convex"),
        version="repaired",
    )


def _partial_v2(parts: dict[str, Any], notes: tuple[str, ...]) -> Bound:
    """Return a bound of the non-convex case of Theorem 3.9."""
    largest = 1 / (8 * S * tau * inverse)
    return Bound(
        parts={"initial gap": 4 * F_err / (T * tau), **parts},
        metric=WEIGHTED_GRADIENT,
        step_size=StepSize(largest, largest / N, "<="),
        conditions=(
            *NON_CONVEX,
            repaired.PARTIAL,
            EQUAL,
        ),
        source=Source("repaired", "Theorem 3.9", "non-convex"),
        version="repaired",
        notes=notes,
    )


def non_convex_v2_partial() -> Bound:
    """Return the repaired non-convex case of Theorem 3.9, in the shape of (22)."""
    squares = over_rounds(eta(t) ** 2)
    return _partial_v2(
        {
            "noise": S / (2 * T) * repaired.partial_noise * squares,
            "participation and heterogeneity": 5 * S * tau * epsilon**2 / (4 * T)
            * repaired.partial_spread * squares,
        },
        ("at most (22) as printed",),
    )  # fmt: skip


def non_convex_v2_sharp() -> Bound:
    r"""Return the same with the drift at its own order, $(\eta^t)^3$."""
    drift = tau * epsilon**2 * inverse**2 * sp.Rational(5, 2)
    drift += repaired.noise_mean + 2 * inverse * noise_inverse
    participation = noise_inverse + 2 * tau * epsilon**2 * excess
    return _partial_v2(
        {
            "noise and participation": 5 * S / (2 * T) * participation
            * over_rounds(eta(t) ** 2),
            "client drift": 4 * S**2 * tau / T * drift * over_rounds(eta(t) ** 3),
        },
        ("sharper than the other repaired bound for small learning rates",),
    )  # fmt: skip
