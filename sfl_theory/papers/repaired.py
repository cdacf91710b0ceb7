r"""True statements nearest to the refuted theorems of ``han2024``.

What had to change, and why, is said by the ledger (``python -m bounds.audit``):

- strongly convex: $\tau=\tilde\tau$; for SFL-V2 equal weights and the server's rate
  divided by N (the server then steps along $\sum_na_n\nabla F_n$).
- general convex: the bound speaks of the weighted mean of the gaps, not of the last
  iterate, and keeps the learning rate, which the printed one had optimised away.
- non-convex, SFL-V2: equal weights and the server's rate divided by N.

Two constants depend on the algorithm: $c_1$ bounds the second moment of the update and
$c_d$ the drift (``sfl_theory.proofs``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from sfl_theory import conditions as con
from sfl_theory import symbols
from sfl_theory.bound import OBJECTIVE_GAP, WEIGHTED_GAP, Bound, Source, StepSize
from sfl_theory.conditions import Convex, MinimiserExists, OwnSteps, Smooth, Unbiased
from sfl_theory.symbols import G, N, S, T, a, eta, gamma, mu, n, over_clients, q, t, tau

GAMMA = {gamma: 8 * S / mu - 1}
third = sp.Rational(1, 3)
inverse = over_clients(a[n] / q[n])
inverse_square = over_clients(a[n] ** 2 / q[n] ** 2)
excess = over_clients(a[n] ** 2 * (1 - q[n]) / q[n])
noise_mean = over_clients(a[n] * symbols.sigma[n] ** 2)
noise_inverse = over_clients(a[n] ** 2 / q[n] * symbols.sigma[n] ** 2)
partial_noise = over_clients((7 * a[n] ** 2 / q[n] + a[n]) * symbols.sigma[n] ** 2)
partial_spread = over_clients(4 * a[n] ** 2 * (1 - q[n]) / q[n] + a[n] / q[n])


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
    conditions: tuple[con.Condition, ...]


BOUNDED = (Smooth(), Unbiased(), con.BoundedGradients())
FULL, PARTIAL = con.EveryoneTakesPart(), con.UpdatesAggregated()
ONE_TAU, UNSWAPPED = con.EqualPeriods(), OwnSteps()
EQUAL = con.WeightedServer()
SETTINGS = (
    Setting("3.6", sp.Integer(1), third, sp.Integer(1), (FULL, ONE_TAU)),
    Setting("3.7", sp.Integer(1), sp.Rational(4, 3), 1 / N, (FULL, EQUAL)),
    Setting(
        "3.8",
        1 + excess,
        third,
        sp.Integer(1),
        (PARTIAL, ONE_TAU),
    ),
    Setting(
        "3.9",
        inverse + inverse_square / 7,
        third + inverse + inverse_square,
        1 / N,
        (PARTIAL, EQUAL),
    ),
)

unequal = 1 - sp.Min(tau, symbols.tau_server) / sp.Max(tau, symbols.tau_server)
two_period_drift = sp.Rational(4, 3) + sp.Rational(5, 8) * unequal**2 * S / mu
TWO_PERIODS = tuple(
    Setting(
        number,
        (1 + unequal) * c1,
        two_period_drift * (gamma + 1) / gamma,
        tau / symbols.tau_server,
        (who, UNSWAPPED),
    )
    for number, c1, who in (
        ("3.6", sp.Integer(1), FULL),
        ("3.8", 1 + excess, PARTIAL),
    )
)
"""For any periods; the convex repairs in ``SETTINGS`` hold for equal ones only."""


def strongly_convex(setting: Setting) -> Bound:
    """Return the repaired strongly convex case."""
    rate = 4 / (mu * tau * (gamma + t))
    c1, cd = setting.c1, setting.cd
    return Bound(
        parts={
            "gradient noise": 8 * S * c1 * G**2 / (mu**2 * (gamma + T)),
            "client drift": 64 * S**2 * cd * G**2 / (mu**3 * (gamma + T) * (gamma + 1)),
            "initial distance": S * (gamma + 1) * symbols.I_err / (2 * (gamma + T)),
        },
        metric=OBJECTIVE_GAP,
        step_size=StepSize(rate, rate * setting.server, "=", GAMMA),
        conditions=(
            *BOUNDED,
            con.StronglyConvex(),
            *setting.conditions,
        ),
        source=Source("repaired", f"Theorem {setting.number}", "strongly convex"),
        definitions=GAMMA,
        version="repaired",
    )


DISTANCE_FREE = {"3.6": 4, "3.7": 5, "3.8": 4, "3.9": 8}
"""Theorem -> k of the bound k c_1 S G^2/(mu^2 (gamma+T))."""


def distance_free(setting: Setting) -> Bound:
    r"""Return a strongly convex bound without the initial distance.

    $E f(x^T)-f^*\le k\,c_1\frac{SG^2}{\mu^2(\gamma+T)}$, k as ``DISTANCE_FREE`` says;
    for any periods $4c_1+2$ in place of $k\,c_1$. Bounded gradients give
    $f(x^0)-f^*\le\frac{G^2}{2\mu}$, which this right side covers.

    Args:
        setting: of the theorem.

    Returns:
        The bound, smaller than ``strongly_convex``'s.
    """
    level = DISTANCE_FREE[setting.number] * setting.c1
    if setting in TWO_PERIODS:
        level = 4 * setting.c1 + 2
    return replace(
        strongly_convex(setting),
        parts={"gradient noise": level * S * G**2 / (mu**2 * (gamma + T))},
        version="sharper",
    )


def general_convex(setting: Setting) -> Bound:
    """Return the repaired general convex case."""
    c1, cd = setting.c1, setting.cd
    largest = 1 / (2 * S * tau)
    return Bound(
        parts={
            "initial distance": symbols.I_err / (2 * tau * T),
            "gradient noise": c1
            * tau
            * G**2
            / (2 * T)
            * symbols.over_rounds(eta(t) ** 2),
            "client drift": S
            * cd
            * tau**2
            * G**2
            / T
            * symbols.over_rounds(eta(t) ** 3),
        },
        metric=WEIGHTED_GAP,
        step_size=StepSize(largest, largest * setting.server, "any"),
        conditions=(
            *BOUNDED,
            Convex(),
            MinimiserExists(),
            *setting.conditions,
        ),
        source=Source("repaired", f"Theorem {setting.number}", "general convex"),
        version="repaired",
        notes=("the learning rate shown is the largest that the paper admits",),
    )


def general_convex_two_periods(setting: Setting) -> Bound:
    r"""Return the general convex case for any periods.

    $\eta^t$ is the client's rate, the server's is $\eta^t\tau/\tilde\tau$. For
    $\tau=\tilde\tau$ it is the repaired bound of ``general_convex``.

    Args:
        setting: one of ``TWO_PERIODS``.

    Returns:
        The bound.
    """
    squares = symbols.over_rounds(eta(t) ** 2)
    growth = sp.exp(unequal * S**2 * tau**2 * squares / 4)
    largest = 1 / (2 * S * tau)
    second = setting.c1 + sp.Rational(5, 4) * unequal
    return Bound(
        parts={
            "initial distance": growth * symbols.I_err / (2 * tau * T),
            "gradient noise": growth * second * tau * G**2 / (2 * T) * squares,
            "client drift": growth * S * tau**2 * G**2 / (3 * T)
            * symbols.over_rounds(eta(t) ** 3),
        },
        metric=WEIGHTED_GAP,
        step_size=StepSize(largest, largest * setting.server, "any"),
        conditions=(
            *BOUNDED,
            Convex(),
            MinimiserExists(),
            *setting.conditions,
        ),
        source=Source("repaired", f"Theorem {setting.number}", "general convex"),
        version="repaired",
        notes=(
            "holds for every learning rate; useful where the sum of squared learning "
            "rates stays bounded, as for rates of order 1/(S tau sqrt(T))",
        ),
    )  # fmt: skip


def own_periods(printed: Bound) -> Bound:
    r"""Return (11) or (17) as printed, with step sizes divided by a side's own steps.

    The printed step sizes have $\tau$ and $\tilde\tau$ swapped. With
    $\eta^t=\frac4{\mu\tau(\gamma+t)}$ on the client side and
    $\frac4{\mu\tilde\tau(\gamma+t)}$ on the server side the printed right side holds
    for any periods.

    Args:
        printed: the strongly convex case of Theorem 3.6 or 3.8.

    Returns:
        The repaired bound.
    """
    rate = 4 / (mu * tau * (gamma + t))
    return replace(
        printed,
        step_size=StepSize(rate, rate * tau / symbols.tau_server, "=", GAMMA),
        conditions=(*printed.conditions, UNSWAPPED),
        source=Source("repaired", printed.source.statement, "strongly convex"),
        version="repaired",
        findings=(),
        notes=(),
    )
