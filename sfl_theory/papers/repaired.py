r"""True statements nearest to the refuted theorems of ``han2024``.

What had to change, and why, is said by the ledger (``python -m bounds.audit``):

- strongly convex: $\tau=\tilde\tau$; for SFL-V2 equal weights and the server's rate
  divided by N (the server then steps along $\sum_na_n\nabla F_n$).
- general convex: the bound speaks of the weighted mean of the gaps, not of the last
  iterate, and keeps the learning rate, which the printed one had optimised away.
- non-convex, SFL-V2: equal weights and the server's rate divided by N.

Two constants depend on the algorithm: $c_1$ bounds the second moment of the update and
$c_d$ the drift (``sfl_theory.evidence.local_sgd``).
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
from sfl_theory.symbols import (
    F_err,
    G,
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
    q,
    sigma,
    t,
    tau,
)

GAMMA = {gamma: 8 * S / mu - 1}
third = sp.Rational(1, 3)
inverse = over_clients(a[n] / q[n])
inverse_square = over_clients(a[n] ** 2 / q[n] ** 2)


@dataclass(frozen=True)
class Setting:
    """What the repaired bounds of a theorem differ in.

    Attributes:
        number: of the theorem.
        c1: bound of the second moment of the update over tau^2 G^2.
        cd: bound of the drift over eta^2 tau^3 G^2.
        server: the server's rate over the client's.
        conditions: beyond the paper's assumptions.
    """

    number: str
    c1: Any
    cd: Any
    server: Any
    conditions: tuple[str, ...]


ONE_TAU = "tau_server = tau"
EQUAL = "equal weights a_n = 1/N, server rate divided by N"
SETTINGS = (
    Setting("3.6", sp.Integer(1), third, sp.Integer(1), (ONE_TAU,)),
    Setting("3.7", sp.Integer(1), sp.Rational(4, 3), 1 / N, (EQUAL,)),
    Setting(
        "3.8",
        1 + over_clients(a[n] ** 2 * (1 - q[n]) / q[n]),
        third,
        sp.Integer(1),
        (ONE_TAU,),
    ),
    Setting(
        "3.9",
        inverse + inverse_square / 7,
        third + inverse + inverse_square,
        1 / N,
        (EQUAL,),
    ),
)


def strongly_convex(setting: Setting) -> Bound:
    """Return the repaired strongly convex case."""
    rate = 4 / (mu * tau * (gamma + t))
    c1, cd = setting.c1, setting.cd
    return Bound(
        parts={
            "gradient noise": 8 * S * c1 * G**2 / (mu**2 * (gamma + T)),
            "client drift": 64 * S**2 * cd * G**2 / (mu**3 * (gamma + T) * (gamma + 1)),
            "initial distance": S * (gamma + 1) * I_err / (2 * (gamma + T)),
        },
        metric=OBJECTIVE_GAP,
        step_size=StepSize(rate, rate * setting.server, "=", GAMMA),
        conditions=(
            "3.1 smooth",
            "3.2 unbiased",
            "3.3 bounded gradients",
            "C.2 with mu > 0",
            *setting.conditions,
        ),
        source=Source("repaired", f"Theorem {setting.number}", "strongly convex"),
        definitions=GAMMA,
        version="repaired",
    )


def general_convex(setting: Setting) -> Bound:
    """Return the repaired general convex case."""
    c1, cd = setting.c1, setting.cd
    largest = 1 / (2 * S * tau)
    return Bound(
        parts={
            "initial distance": I_err / (2 * tau * T),
            "gradient noise": c1 * tau * G**2 / (2 * T) * over_rounds(eta(t) ** 2),
            "client drift": S * cd * tau**2 * G**2 / T * over_rounds(eta(t) ** 3),
        },
        metric=WEIGHTED_GAP,
        step_size=StepSize(largest, largest * setting.server, "<="),
        conditions=(
            "3.1 smooth",
            "3.2 unbiased",
            "3.3 bounded gradients",
            "C.2 with mu = 0",
            "a minimiser exists",
            *setting.conditions,
        ),
        source=Source("repaired", f"Theorem {setting.number}", "general convex"),
        version="repaired",
        notes=("holds for every learning rate; the printed condition is kept",),
    )


def non_convex_v2() -> Bound:
    """Return the repaired non-convex case of Theorem 3.7."""
    largest = 1 / (16 * S * tau)
    noise = (
        over_clients(a[n] ** 2 * sigma[n] ** 2)
        + over_clients(a[n] * sigma[n] ** 2) / 8
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
            "C.1 (24) Lipschitz gradients",
            "3.2 unbiased, bounded variance",
            "3.4 bounded heterogeneity",
            EQUAL,
        ),
        source=Source("repaired", "Theorem 3.7", "non-convex"),
        version="repaired",
    )


REPAIRED = {
    **{(s.number, "strongly_convex"): strongly_convex(s) for s in SETTINGS},
    **{(s.number, "general_convex"): general_convex(s) for s in SETTINGS},
    ("3.7", "non_convex"): non_convex_v2(),
}
