r"""Bounds of ``han2024`` without bounded gradients, proved beside the paper.

The statements are those of ``han2024/unbounded.py``. No strongly convex function on
$\mathbb R^d$ has bounded gradients (Assumption 3.3); these bounds do without. Noise
enters as $\sum_na_n^2\sigma_n^2/\tau$, a linear speed-up in $N\tau$; drift at its own
order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from sfl_theory.bound import (
    OBJECTIVE_GAP,
    WEIGHTED_GAP,
    WEIGHTED_GRADIENT,
    Bound,
    Source,
    StepSize,
)
from sfl_theory.papers.repaired import EQUAL, ONE_TAU, noise_mean
from sfl_theory.symbols import (
    F_err,
    I_err,
    N,
    S,
    T,
    a,
    epsilon,
    eta,
    gamma,
    mu,
    n,
    over_clients,
    over_rounds,
    sigma,
    t,
    tau,
)

HYPOTHESES = (
    "C.1 (24) Lipschitz gradients",
    "3.2 unbiased, bounded variance",
    "3.4 bounded heterogeneity",
    "a minimiser exists",
)
FULL = "everyone takes part"
noise_square = over_clients(a[n] ** 2 * sigma[n] ** 2)
heterogeneity = tau * epsilon**2
Q = sp.Rational


@dataclass(frozen=True)
class Setting:
    """What the bounds of a theorem differ in.

    Attributes:
        number: of the theorem.
        server: the server's rate over the client's.
        spread: what noise and heterogeneity of a round's drift cost.
        first: of the first gap, non-convex.
        late: of the drift, strongly convex.
        conditions: on the algorithm.
    """

    number: str
    server: Any
    spread: Any
    first: Any
    late: int
    conditions: tuple[str, ...]


SETTINGS = {
    one.number: one
    for one in (
        Setting(
            "3.6",
            sp.Integer(1),
            Q(5, 8) * noise_mean + Q(5, 12) * heterogeneity,
            Q(81, 40),
            16,
            (FULL, ONE_TAU),
        ),
        Setting(
            "3.7",
            1 / N,
            Q(2, 3) * (noise_mean + 2 * noise_square + 2 * heterogeneity),
            Q(49, 24),
            17,
            (FULL, EQUAL),
        ),
    )
}


def _at_most(setting: Setting) -> StepSize:
    largest = 1 / (8 * S * tau)
    return StepSize(largest, largest * setting.server, "<=")


def strongly_convex(setting: Setting) -> Bound:
    r"""Return the gap of the last model at $\eta^t=\frac{4.1}{\mu\tau(\gamma+t)}$."""
    offset = {gamma: 33 * S / mu}
    rate, late = Q(41, 10) / (mu * tau * (gamma + t)), gamma + T
    return Bound(
        parts={
            "initial gap": (gamma / late) ** 4 * F_err,
            "gradient noise": Q(16, 5) * S * noise_square / (mu**2 * tau * late),
            "client drift": setting.late * S**2 * setting.spread
            / (mu**3 * tau * late**2),
        },
        metric=OBJECTIVE_GAP,
        step_size=StepSize(rate, rate * setting.server, "=", offset),
        conditions=(*HYPOTHESES, "C.2 with mu > 0", *setting.conditions),
        source=Source("repaired", f"Theorem {setting.number}", "strongly convex"),
        definitions=offset,
    )  # fmt: skip


def general_convex(setting: Setting) -> Bound:
    r"""Return the weighted mean of the gaps, $\eta^t\le\frac1{8S\tau}$."""
    return Bound(
        parts={
            "initial distance": Q(5, 8) * I_err / (tau * T),
            "gradient noise": Q(25, 32) * noise_square / T * over_rounds(eta(t) ** 2),
            "client drift": S * tau * setting.spread / T * over_rounds(eta(t) ** 3),
        },
        metric=WEIGHTED_GAP,
        step_size=_at_most(setting),
        conditions=(*HYPOTHESES, "C.2 with mu = 0", *setting.conditions),
        source=Source("repaired", f"Theorem {setting.number}", "general convex"),
    )


def non_convex(setting: Setting) -> Bound:
    r"""Return the weighted mean squared gradient, $\eta^t\le\frac1{8S\tau}$."""
    squares, cubes = (over_rounds(eta(t) ** power) for power in (2, 3))
    return Bound(
        parts={
            "initial gap": setting.first * F_err / (tau * T),
            "gradient noise": Q(7, 6) * S * noise_square / T * squares,
            "client drift": S**2 * tau * setting.spread / T * cubes,
        },
        metric=WEIGHTED_GRADIENT,
        step_size=_at_most(setting),
        conditions=(*HYPOTHESES, *setting.conditions),
        source=Source("repaired", f"Theorem {setting.number}", "non-convex"),
    )


CASES = {
    "strongly_convex": ("no_bounded_gradients", strongly_convex),
    "general_convex": ("no_bounded_gradients", general_convex),
    "non_convex": ("linear_speedup", non_convex),
}
"""Case -> the version's name, and what makes the bound."""


def variants(number: str, case: str) -> dict[str, Bound]:
    """Return these bounds of a case by name.

    Args:
        number: of the theorem.
        case: its case.

    Returns:
        None or one of "no_bounded_gradients", "linear_speedup".
    """
    if number not in SETTINGS:
        return {}
    name, make = CASES[case]
    return {name: make(SETTINGS[number])}
