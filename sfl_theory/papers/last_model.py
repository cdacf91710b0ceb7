r"""Strongly convex bounds of ``han2024`` in which every term is at its own order.

With bounded gradients: noise enters as $\sum_na_n^2\sigma_n^2/\tau$, a linear speed-up
in $N\tau$, drift falls like $1/T^2$, the first gap like $1/T^4$. Every term is smaller
than its counterpart in (11), (14), (17). Proved in ``strongly_convex_repairs.py``,
``without_noise.py`` and ``last_model_drawn.py`` of ``han2024``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy as sp

from sfl_theory import symbols
from sfl_theory.bound import Bound, Source, StepSize
from sfl_theory.conditions import EqualWeights, NoNoise
from sfl_theory.papers.repaired import EQUAL, ONE_TAU, UNSWAPPED, excess, inverse
from sfl_theory.symbols import F_err, G, N, S, T, a, gamma, mu, n, t, tau, tau_server

noise = symbols.over_clients(a[n] ** 2 * symbols.sigma[n] ** 2)
AT_ONCE = {"3.6": sp.Rational(16, 3), "3.7": sp.Integer(16), "3.8": sp.Rational(16, 3)}
"""Theorem -> constant of the drift, for equal periods."""


def last_model(number: str, printed: Bound) -> dict[str, Bound]:
    """Return the bounds of the strongly convex case of a theorem.

    Args:
        number: of the theorem.
        printed: its bound as printed, whose learning rate is taken.

    Returns:
        "last_model" for equal periods, "without_noise" and "last_model_any_periods" for
        SFL-V1 where everyone takes part.
    """
    if number == "3.9":
        return {"last_model": _drawn_visits(printed)}
    if number not in AT_ONCE:
        return {}
    on = EQUAL if number == "3.7" else ONE_TAU
    found = {
        "last_model": replace(
            _bound(number, printed, 1 / tau, AT_ONCE[number]),
            conditions=(*printed.conditions, on),
            step_size=_rates(1 / N if number == "3.7" else sp.Integer(1)),
        )
    }
    if number == "3.6":
        found["without_noise"] = without_noise(printed)
        found["last_model_any_periods"] = replace(
            _bound(number, printed, 1 / tau + 1 / tau_server, sp.Integer(32)),
            conditions=(*printed.conditions, UNSWAPPED),
            step_size=_rates(tau / tau_server),
        )
    return found


def without_noise(printed: Bound) -> Bound:
    r"""Return the bound of Theorem 3.6 where stochastic gradients are exact.

    A round's move over its effective rate falls as a parabola's does,
    $\gamma^2(\gamma+1)^2/(s^2(s+1)^2)$ with $s=\gamma+T-1$, up to what the falling rate
    keeps; drift is that of i steps, $\sum_i i^2$, and vanishes at tau = 1.

    Args:
        printed: the strongly convex case as printed.

    Returns:
        The bound; T = 1 is the first round that it is sharp for.
    """
    s, spread = gamma + T - 1, (tau - 1) / tau
    falls = (gamma * (gamma + 1) / (s * (s + 1))) ** 2
    keeps = sp.Rational(2, 3) * S / mu * spread * (s + 10) / s**2
    unit = G**2 / (2 * mu)
    drift = sp.Rational(4, 3) * S * G**2 * spread * (2 * tau - 1)
    drift = drift * (1 + 2 * S / (mu * s)) / (mu**2 * tau * s**2)
    return replace(
        printed,
        parts={
            "initial gap": unit * falls**2,
            "falling rate": unit * (2 * falls * keeps + keeps**2),
            "client drift": drift,
        },
        conditions=(*printed.conditions, ONE_TAU, NoNoise()),
        step_size=_rates(sp.Integer(1)),
        source=Source("repaired", "Theorem 3.6", "strongly convex, no noise"),
        findings=(),
        notes=(),
    )


def equal_weights(printed: Bound) -> Bound:
    """Return what is printed on SFL-V2, algorithm and all, for equal weights."""
    return replace(
        printed,
        conditions=(*printed.conditions, EqualWeights()),
        source=replace(printed.source, paper="repaired"),
        findings=(),
        notes=(),
    )


def _drawn_visits(printed: Bound) -> Bound:
    r"""Return that of Theorem 3.9: $\rho=\sum_na_n^2(\frac1{q_n}-1)$ as in (17)."""
    draws = sp.Rational(8, 3) * S * G**2 * (1 + excess)
    drift = 16 * S**2 * G**2 * (1 + 2 * excess + 2 * inverse * excess)
    return replace(
        printed,
        parts={
            "initial gap": (gamma / (gamma + T)) ** 4 * F_err,
            "participation": draws / (mu**2 * (gamma + T)),
            "client drift": drift / (mu**3 * (gamma + T) ** 2),
        },
        conditions=(*printed.conditions, EQUAL),
        step_size=_rates(1 / N),
        source=Source("repaired", "Theorem 3.9", "strongly convex, last model"),
        findings=(),
        notes=(),
    )


def _bound(number: str, printed: Bound, per_step: Any, late: Any) -> Bound:
    parts = {
        "initial gap": (gamma / (gamma + T)) ** 4 * F_err,
        "gradient noise": sp.Rational(56, 9) * S * per_step * noise
        / (mu**2 * (gamma + T)),
        "client drift": late * S**2 * G**2 / (mu**3 * (gamma + T) ** 2),
    }  # fmt: skip
    if number == "3.8":
        drawn = sp.Rational(8, 3) * S * G**2 * excess
        parts["participation"] = drawn / (mu**2 * (gamma + T))
    source = Source("repaired", f"Theorem {number}", "strongly convex, last model")
    return replace(printed, parts=parts, source=source, findings=(), notes=())


def _rates(server: Any) -> StepSize:
    rate = 4 / (mu * tau * (gamma + t))
    return StepSize(rate, rate * server, "=", {gamma: 8 * S / mu - 1})
