r"""``li2020``: Theorem 1 as printed and a sharper one, in ``han2024``'s symbols.

Written here: $p_k$ as $a_n$, $w$ as $x$, $L$ as $S$, $E$ (local steps per round) as
$\tau$. The paper's time counts steps from $w_1$, so the model after $T$ rounds is its
$w_{T\tau+1}$; step $t=0,1,\dots$ is its step $t+1$.
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from sfl_theory import conditions
from sfl_theory.bound import OBJECTIVE_GAP, Bound, Source
from sfl_theory.conditions import BoundedVariance, Smooth, StronglyConvex
from sfl_theory.evidence import Part
from sfl_theory.notation import written as w
from sfl_theory.papers.li2020 import linear_speedup, section_3
from sfl_theory.papers.li2020 import setting as s
from sfl_theory.statement import Case, one_case
from sfl_theory.step_size import StepSize
from sfl_theory.symbolic import Symbols, by_name, named
from sfl_theory.symbols import (
    G,
    Gamma,
    I_err,
    S,
    T,
    a,
    epsilon,
    gamma,
    mu,
    n,
    sigma,
    t,
    tau,
)

PAPER = "li2020"

GAMMA = {gamma: sp.Max(8 * S / mu, tau)}
RATE = 2 / (mu * (gamma + t + 1))
PROVED = section_3.THEOREM_1.parts[0]
NAMES: Symbols = {
    s.L: S,
    s.mu: mu,
    s.gamma: gamma,
    s.wide: gamma,
    s.E: tau,
    s.R: T,
    s.G2: G**2,
    s.delta2: epsilon**2,
    s.Gamma: Gamma,
    s.p(): a[n],
    s.sigma2(): sigma[n] ** 2,
    w.norm2(s.run.x(0) - s.best): I_err,
}
"""Parameters of the statement -> what they are called here."""

PRINTED = Bound(
    parts=by_name(
        PROVED.says.right,
        named(NAMES),
        "noise",
        "heterogeneity",
        "local steps",
        "initial distance",
    ),
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
)
SHARPER = {
    "linear_speedup": linear_speedup.LINEAR_SPEEDUP.parts[0],
    "no_bounded_gradients": linear_speedup.NO_BOUNDED_GRADIENTS.parts[0],
}
"""The library's name of a bound beside the printed one -> what is proved."""
BOUNDED = conditions.BoundedGradients
HYPOTHESES = {
    "linear_speedup": PRINTED.conditions,
    "no_bounded_gradients": (
        *(one for one in PRINTED.conditions if not isinstance(one, BOUNDED)),
        conditions.Heterogeneity("gradients of F_k and F near each other"),
    ),
}


def sharper(name: str, part: Part) -> Bound:
    """Return what is proved beside the printed bound, without Gamma."""
    terms = "initial distance", "gradient noise", "client drift"
    return replace(
        PRINTED,
        parts=by_name(part.says.right, named(NAMES), *terms),
        conditions=HYPOTHESES[name],
        source=replace(PRINTED.source, paper="repaired", equation="noise over N"),
        notes=(),
    )


THEOREM_1 = one_case(
    "FedAvg",
    "fedavg",
    Case(
        f"{PAPER}/thm-1",
        "strongly_convex",
        PRINTED,
        lambda: {
            "printed": (PRINTED, (PROVED,)),
            **{name: (sharper(name, part), (part,)) for name, part in SHARPER.items()},
        },
    ),
)

THEOREMS = (THEOREM_1,)
