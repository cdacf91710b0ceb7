r"""``dachille2024``: Proposition 1 as printed, in the symbols of ``han2024``.

Dachille, Huang, Liu. *The Impact of Cut Layer Selection in Split Federated Learning*.

Written here: $\theta$ as $x$, $\alpha_k$ as $a_n$, K clients as N. Clients and servers
aggregate at the same time, so there is one $\tau$; the bound names no cut.
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from sfl_theory import conditions
from sfl_theory.bound import WEIGHTED_GRADIENT, Bound, Source
from sfl_theory.conditions import BoundedVariance, EqualPeriods, Heterogeneity, Smooth
from sfl_theory.papers.dachille2024 import section_4
from sfl_theory.papers.dachille2024 import setting as s
from sfl_theory.statement import Case, one_case
from sfl_theory.step_size import StepSize
from sfl_theory.symbolic import Symbols, by_name, expression, named
from sfl_theory.symbols import (
    F_err,
    N,
    S,
    T,
    a,
    epsilon,
    eta,
    n,
    over_clients,
    sigma,
    t,
    tau,
)

PAPER = "dachille2024"

NAMES: Symbols = {
    s.S: S,
    s.K: N,
    s.T: T,
    s.tau: tau,
    s.eps2: epsilon**2,
    s.alpha: a[n],
    s.sigma2: sigma[n] ** 2,
    s.eta(): eta(t),
    s.f.gap(s.v1.x(0)): F_err,
}
"""Parameters of the statement -> what they are called here."""
LARGEST_STEP = sp.Min(
    1 / (16 * S * tau), 1 / (8 * S * N * tau * over_clients(a[n] ** 2))
)

PRINTED = Bound(
    parts=by_name(
        section_4.PRINTED.right,
        named(NAMES),
        "initial gap",
        "noise and heterogeneity",
    ),
    metric=WEIGHTED_GRADIENT,
    step_size=StepSize(LARGEST_STEP, LARGEST_STEP, "<="),
    conditions=(
        Smooth("2 smooth"),
        BoundedVariance("3 unbiased, bounded variance"),
        Heterogeneity("4 bounded heterogeneity"),
        conditions.EveryoneTakesPart(),
        EqualPeriods("one tau on both sides"),
    ),
    source=Source(PAPER, "Proposition 1", "eq. (6)"),
    notes=(
        "Assumption 1 (F_k is non-convex) is no hypothesis of the proof",
        "tau = ceil(E D_k / B_k) depends on the client; read as one tau",
    ),
)
ANY_STEP = 1 / (16 * S * tau)
LINEAR_SPEEDUP = replace(
    PRINTED,
    parts={
        name: expression(term, named(NAMES))
        for name, term in section_4.LINEAR_SPEEDUP.terms
    },
    step_size=StepSize(ANY_STEP, ANY_STEP, "<="),
    source=replace(PRINTED.source, paper="repaired"),
)
"""What is proved under the first condition on the rate alone."""

PROPOSITION_1 = one_case(
    "SFL-V1 at any cut layer",
    "sfl-v1",
    Case(
        f"{PAPER}/prop-1",
        "non_convex",
        PRINTED,
        lambda: {
            "printed": (PRINTED, section_4.PROP_1.parts),
            "linear_speedup": (LINEAR_SPEEDUP, section_4.SHARPER.parts),
        },
    ),
)

THEOREMS = (PROPOSITION_1,)
