r"""General convex bounds of ``han2024``: the last model, and the mean once more.

The statements are those of ``han2024/last_iterate.py``. (12), (15), (18), (21) speak of
the last model; at a constant learning rate it is worse than the mean by a factor of
$1+\frac12+\dots+\frac1T$ in the terms with $G^2$.
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from sfl_theory import conditions
from sfl_theory.bound import OBJECTIVE_GAP, WEIGHTED_GAP, Bound, Source, StepSize
from sfl_theory.conditions import BoundedGradients, Convex, Smooth, Unbiased
from sfl_theory.papers import repaired
from sfl_theory.papers.repaired import SETTINGS, Setting, excess, inverse, third
from sfl_theory.symbols import G, I_err, S, T, eta, over_rounds, reciprocals, t, tau

LAST_GAP = replace(OBJECTIVE_GAP, first_round=1)
TUNED = "at the best constant learning rate O((log(T)/T)^(1/2))"
HYPOTHESES = (
    Smooth(),
    Unbiased(),
    BoundedGradients(),
    Convex(),
    conditions.MinimiserExists(),
)
half = sp.Rational(1, 2)


SECOND = {number: sp.Integer(1) for number in ("3.6", "3.7")}
SECOND |= dict.fromkeys(("3.8", "3.9"), 1 + excess)
"""c_1: of the second moment of a round's move over tau^2 G^2."""
DRIFT = {
    "3.6": third,
    "3.7": sp.Integer(1),
    "3.8": third,
    "3.9": third + inverse + repaired.inverse_square,
}
"""c_d: of the drift over eta^2 tau^3 G^2."""


def mean_gap(setting: Setting) -> Bound:
    """Return the weighted mean of the gaps."""
    largest, number = 1 / (2 * S * tau), setting.number
    squares, cubes = (over_rounds(eta(t) ** power) for power in (2, 3))
    return Bound(
        parts={
            "initial distance": I_err / (2 * tau * T),
            "gradient noise": half * SECOND[number] * tau * G**2 / T * squares,
            "client drift": half * S * DRIFT[number] * tau**2 * G**2 / T * cubes,
        },
        metric=WEIGHTED_GAP,
        step_size=StepSize(largest, largest * setting.server, "any"),
        conditions=(*HYPOTHESES, *setting.conditions),
        source=Source("repaired", f"Theorem {number}", "general convex"),
    )


def last_gap(setting: Setting) -> Bound:
    r"""Return the gap of the last model; $\eta$ is the mean of equal rates."""
    largest, number = 1 / (2 * S * tau), setting.number
    rate, sums = over_rounds(eta(t)) / T, 1 + reciprocals(1, 1, T)
    return Bound(
        parts={
            "initial distance": I_err / (2 * tau * (T + 1) * rate),
            "gradient noise": half * SECOND[number] * tau * G**2 * rate * sums,
            "client drift": half * S * DRIFT[number] * (tau * G * rate) ** 2 * sums,
        },
        metric=LAST_GAP,
        step_size=StepSize(largest, largest * setting.server, "any", constant=True),
        conditions=(
            *HYPOTHESES,
            *setting.conditions,
            BoundedGradients("3.3 also in a round that starts from the last model"),
        ),
        source=Source("repaired", f"Theorem {number}", "general convex"),
        notes=(TUNED,),
    )


def variants(number: str, case: str) -> dict[str, Bound]:
    """Return these bounds of a case by name.

    Args:
        number: of the theorem.
        case: its case.

    Returns:
        None, or "average_iterate" and "last_iterate".
    """
    if case != "general_convex" or number not in DRIFT:
        return {}
    (setting,) = (one for one in SETTINGS if one.number == number)
    return {"average_iterate": mean_gap(setting), "last_iterate": last_gap(setting)}
