r"""Bounds of ``han2024`` without bounded gradients, proved beside the paper.

The statements are those of ``han2024/unbounded.py``. No strongly convex function on
$\mathbb R^d$ has bounded gradients (Assumption 3.3); these bounds do without. Noise
enters as $\sum_na_n^2\sigma_n^2/\tau$, a linear speed-up in $N\tau$; drift at its own
order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from sfl_theory import bound, symbols
from sfl_theory import conditions as con
from sfl_theory.bound import WEIGHTED_GAP, WEIGHTED_GRADIENT, Bound, Source, StepSize
from sfl_theory.conditions import Condition, Convex, Heterogeneity, Smooth, Unbiased
from sfl_theory.papers import repaired
from sfl_theory.papers.repaired import EQUAL, FULL, ONE_TAU, excess, inverse, noise_mean
from sfl_theory.symbols import F_err, G, I_err, N, S, T, a, eta, gamma, mu, n, t, tau

HYPOTHESES = (
    Smooth("C.1 (24) Lipschitz gradients"),
    con.BoundedVariance(),
    Heterogeneity(),
    con.MinimiserExists(),
)
noise_square = symbols.over_clients(a[n] ** 2 * symbols.sigma[n] ** 2)
heterogeneity = tau * symbols.epsilon**2
Q, one = sp.Rational, sp.Integer(1)
OWN = Q(5, 8) * noise_mean + Q(5, 12) * heterogeneity
VISITS = Q(2, 3) * (noise_mean + 2 * noise_square + 2 * heterogeneity)
DRAWN = repaired.noise_inverse + 2 * heterogeneity * excess
DRAWN_VISITS = Q(2, 3) * (
    noise_mean + 2 * inverse * repaired.noise_inverse + 2 * inverse**2 * heterogeneity
)


@dataclass(frozen=True)
class Setting:
    """What the bounds of a theorem differ in.

    Attributes:
        number: of the theorem.
        server: the server's rate over the client's.
        conditions: on the algorithm.
        samples: what samples, and draws, cost at second order.
        spread: what noise and heterogeneity of a round's drift cost.
        step: c of the rates c/(mu tau (gamma + t)), strongly convex.
        offset: gamma over S/mu.
        strong: factors of samples and spread, strongly convex.
        first: of the first gap, non-convex.
        mean: factors of samples and spread, non-convex.
        wide: the rates are at most 1/(8 S tau wide), general convex.
        most: the same, non-convex.
    """

    number: str
    server: Any
    conditions: tuple[Condition, ...]
    samples: Any
    spread: Any
    step: Any
    offset: Any
    strong: tuple[Any, Any]
    first: Any
    mean: tuple[Any, Any]
    wide: Any = one
    most: Any = one


SETTINGS = (
    Setting(
        "3.6",
        one,
        (FULL, ONE_TAU),
        noise_square,
        OWN,
        Q(41, 10),
        33,
        (Q(16, 5), 16),
        Q(81, 40),
        (Q(7, 6), 1),
    ),
    Setting(
        "3.7",
        1 / N,
        (FULL, EQUAL),
        noise_square,
        VISITS,
        Q(41, 10),
        33,
        (Q(16, 5), 17),
        Q(49, 24),
        (Q(7, 6), 1),
    ),
    Setting(
        "3.8",
        one,
        (repaired.PARTIAL, ONE_TAU),
        DRAWN,
        OWN,
        Q(19, 4),
        38 * (1 + 2 * excess),
        (Q(9, 2), 26),
        Q(12, 5),
        (Q(10, 7), Q(8, 7)),
        1 + 2 * excess,
        sp.Max(1, 2 * excess),
    ),
    Setting(
        "3.9",
        1 / N,
        (repaired.PARTIAL, EQUAL),
        DRAWN,
        DRAWN_VISITS,
        Q(19, 4),
        38 * (inverse + 2 * excess),
        (Q(23, 5), 41),
        Q(93, 40),
        (Q(3, 2), Q(15, 8)),
        inverse + 2 * excess,
        inverse + 2 * excess,
    ),
)


def strongly_convex(setting: Setting) -> Bound:
    r"""Return the gap of the last model at $\eta^t=\frac c{\mu\tau(\gamma+t)}$."""
    offset = {gamma: setting.offset * S / mu}
    rate, late = setting.step / (mu * tau * (gamma + t)), gamma + T
    samples, spread = setting.strong
    noise = samples * S * setting.samples / (mu**2 * tau * late)
    drift = spread * S**2 * setting.spread / (mu**3 * tau * late**2)
    return Bound(
        parts={
            "initial gap": (gamma / late) ** 4 * F_err,
            "gradient noise": noise,
            "client drift": drift,
        },
        metric=bound.OBJECTIVE_GAP,
        step_size=StepSize(rate, rate * setting.server, "=", offset),
        conditions=(*HYPOTHESES, con.StronglyConvex(), *setting.conditions),
        source=Source("repaired", f"Theorem {setting.number}", "strongly convex"),
        definitions=offset,
    )


def at_printed_rates(setting: Setting) -> Bound:
    """Return the gap of the last model of 3.6 at the rates printed for one period."""
    offset = {gamma: 8 * S / mu - 1}
    rate, late = 4 / (mu * tau * (gamma + t)), gamma + T
    return replace(
        strongly_convex(setting),
        parts={
            "initial gap": (gamma / late) ** 2 * F_err,
            "gradient noise": Q(53, 5) * S * noise_square / (mu**2 * tau * late),
            "client drift": 94 * S**2 * OWN / (mu**3 * tau * late**2),
        },
        step_size=StepSize(rate, rate, "=", offset),
        definitions=offset,
    )


def _mean(
    setting: Setting, first: tuple[str, Any], samples: Any, spread: Any
) -> dict[str, Any]:
    """Return the terms of a weighted mean over rounds."""
    name, start = first
    squares, cubes = (symbols.over_rounds(eta(t) ** power) for power in (2, 3))
    return {
        name: start / (tau * T),
        "gradient noise": samples * setting.samples / T * squares,
        "client drift": spread * tau * setting.spread / T * cubes,
    }


def _at_most(setting: Setting, wide: Any) -> StepSize:
    largest = 1 / (8 * S * tau * wide)
    return StepSize(largest, largest * setting.server, "<=")


def general_convex(setting: Setting) -> Bound:
    """Return the weighted mean of the gaps, for small rates."""
    first = ("initial distance", Q(5, 8) * I_err)
    return Bound(
        parts=_mean(setting, first, Q(25, 32), S),
        metric=WEIGHTED_GAP,
        step_size=_at_most(setting, setting.wide),
        conditions=(*HYPOTHESES, Convex(), *setting.conditions),
        source=Source("repaired", f"Theorem {setting.number}", "general convex"),
    )


def non_convex(setting: Setting) -> Bound:
    """Return the weighted mean squared gradient, for small rates."""
    samples, spread = setting.mean
    first = ("initial gap", setting.first * F_err)
    return Bound(
        parts=_mean(setting, first, samples * S, spread * S**2),
        metric=WEIGHTED_GRADIENT,
        step_size=_at_most(setting, setting.most),
        conditions=(*HYPOTHESES, *setting.conditions),
        source=Source("repaired", f"Theorem {setting.number}", "non-convex"),
    )


def at_every_rate(setting: Setting) -> Bound:
    """Return the weighted mean squared gradient of 3.9 under bounded gradients."""
    squares, cubes = (symbols.over_rounds(eta(t) ** power) for power in (2, 3))
    late = 1 + 2 * excess + 2 * inverse * excess
    largest = 1 / (8 * S * tau)
    return Bound(
        parts={
            "initial gap": 2 * F_err / (tau * T),
            "gradient noise": (1 + excess) * S * tau * G**2 / T * squares,
            "client drift": late * S**2 * tau**2 * G**2 / T * cubes,
        },
        metric=WEIGHTED_GRADIENT,
        step_size=StepSize(largest, largest * setting.server, "any"),
        conditions=(
            HYPOTHESES[0],
            Unbiased(),
            con.BoundedGradients(),
            HYPOTHESES[-1],
            *setting.conditions,
        ),
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
        One of "no_bounded_gradients", "linear_speedup"; "printed_rates" of Theorem
        3.6, "bounded_gradients" of Theorem 3.9.
    """
    (setting,) = (one for one in SETTINGS if one.number == number)
    name, make = CASES[case]
    found = {name: make(setting)}
    if (number, case) == ("3.6", "strongly_convex"):
        found["printed_rates"] = at_printed_rates(setting)
    if (number, case) == ("3.9", "non_convex"):
        found["bounded_gradients"] = at_every_rate(setting)
    return found
