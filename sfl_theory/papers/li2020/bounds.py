r"""``li2020``: Theorem 1 as printed, in ``han2024``'s symbols.

Written here: $p_k$ as $a_n$, $w$ as $x$, $L$ as $S$, $E$ (local steps per round) as
$\tau$. The paper's time counts steps from $w_1$, so the model after $T$ rounds is its
$w_{T\tau+1}$; step $t=0,1,\dots$ is its step $t+1$.
"""

from __future__ import annotations

import sympy as sp

from sfl_theory import conditions, symbols
from sfl_theory.bound import OBJECTIVE_GAP, Bound, Source, StepSize
from sfl_theory.conditions import BoundedVariance, Smooth, StronglyConvex
from sfl_theory.statement import Case, one_case
from sfl_theory.symbols import G, Gamma, I_err, S, T, a, gamma, mu, n, sigma, t, tau

PAPER = "li2020"

GAMMA = {gamma: sp.Max(8 * S / mu, tau)}
RATE = 2 / (mu * (gamma + t + 1))
factor = S / mu / (gamma + T * tau)

THEOREM_1 = one_case(
    "FedAvg",
    "fedavg",
    Case(
        f"{PAPER}/thm-1",
        "strongly_convex",
        Bound(
            parts={
                "noise": factor
                * 2
                / mu
                * symbols.over_clients(a[n] ** 2 * sigma[n] ** 2),
                "heterogeneity": factor * 2 / mu * 6 * S * Gamma,
                "local steps": factor * 2 / mu * 8 * (tau - 1) ** 2 * G**2,
                "initial distance": factor * mu * gamma / 2 * I_err,
            },
            metric=OBJECTIVE_GAP,
            step_size=StepSize(RATE, RATE, "=", GAMMA, per_step=True),
            conditions=(
                Smooth("1 smooth"),
                StronglyConvex("2 strongly convex"),
                BoundedVariance("3 bounded variance"),
                conditions.BoundedGradients("4 bounded gradients"),
                conditions.EveryoneTakesPart(),
            ),
            source=Source(PAPER, "Theorem 1", "Sec. 3.2"),
            definitions=GAMMA,
            notes=(
                "gamma + T - 1 of the paper is gamma + T tau: w_1 is the first "
                "model, so after T rounds its time is T tau + 1",
            ),
        ),
    ),
)

THEOREMS = (THEOREM_1,)
