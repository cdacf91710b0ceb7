r"""``han2024``: Proposition 3.5 and Theorems 3.6-3.9 as printed.

Han, Huang, Tian, Tang, Liu. *Convergence Analysis of Split Federated Learning on
Heterogeneous Data*, NeurIPS 2024.

SFL-V1 keeps one server-side model per client, SFL-V2 a single one. Notation of Sec. 3:
$I_{err}=\|x^0-x^*\|^2$, $F_{err}=f(x^0)-f^*$, $\gamma=8S/\mu-1$,
$\tau_{min}=\min\{\tau,\tilde\tau\}$, $\tau_{max}=\max\{\tau,\tilde\tau\}$.
"""

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp

from sfl_theory import bound as bou
from sfl_theory import conditions, symbols
from sfl_theory.bound import OBJECTIVE_GAP, Bound, Finding, Source, StepSize
from sfl_theory.conditions import Condition, Convex, MinimiserExists, Smooth
from sfl_theory.papers.nearest import repaired, variants
from sfl_theory.statement import Case, Theorem, one_case
from sfl_theory.symbols import D_c, G, N, S, T, a, gamma, mu, n, over_clients, q, t, tau

PAPER = "han2024"

GAMMA = {gamma: 8 * S / mu - 1}
TAUS = {
    symbols.tau_min: sp.Min(tau, symbols.tau_server),
    symbols.tau_max: sp.Max(tau, symbols.tau_server),
}
ONE_TAU = {symbols.tau_server: tau}

noise = 2 * symbols.sigma[n] ** 2 + G**2
noise_partial = noise + G**2 / q[n]
drift = symbols.sigma[n] ** 2 + symbols.epsilon**2

CONVEX = (Smooth(), conditions.BoundedVariance(), conditions.BoundedGradients())
HYPOTHESES: dict[str, tuple[Condition, ...]] = {
    "strongly_convex": (*CONVEX, conditions.StronglyConvex()),
    "general_convex": (*CONVEX, Convex(), MinimiserExists()),
    "non_convex": (*CONVEX[:2], conditions.Heterogeneity()),
}

CUBE_ROOT = Finding(
    "parameter_scale",
    "not homogeneous: rescaling the parameters by k scales the last term by k^(-2/3) "
    "while the metric stays; a term (S I_err^2 B)^(1/3) / (T+1)^(2/3) would be "
    "homogeneous, (S I_err B)^(1/3) / (T+1)^(1/3) is not",
)
EXTRA_G2 = Finding(
    "full_participation",
    "at q = 1 it does not reduce to the bound under full participation: the term "
    "G^2/q_n stays as an extra G^2",
)
SWAPPED = (
    "printed step sizes: tau_server in the client's rate and tau in the server's; the "
    "proof (App. D.1) uses them the other way round (equal when tau = tau_server)"
)
SERVER_STEP = (
    "the proof (App. E.1.1) takes 4/(N mu tau (gamma_s + t)) with "
    "gamma_s = 8S/(N mu) - 1 on the server side, not the printed step size; SFL-V2 "
    "has no server aggregation period, tau_server is read as tau"
)


def strongly_convex(A: sp.Expr, B: sp.Expr) -> dict[str, sp.Expr]:
    """Return the terms of (11), (14), (17), (20), which share one shape."""
    return {
        "gradient noise": 8 * S * N * A / (mu**2 * (gamma + T)),
        "client drift": 768 * S**2 * B / (mu**3 * (gamma + T) * (gamma + 1)),
        "initial distance": S * (gamma + 1) * symbols.I_err / (2 * (gamma + T)),
    }


def general_convex(
    A: sp.Expr, B: sp.Expr, scale: sp.Expr | int = 1
) -> dict[str, sp.Expr]:
    """Return the terms of (12), (15), (18), (21); ``scale`` is 1 for SFL-V2."""
    return {
        "initial distance": S * symbols.I_err / (2 * (T + 1)),
        "gradient noise": _half_root(scale * symbols.I_err * N * A / (T + 1), 2),
        "client drift": _half_root(24 * scale * S * symbols.I_err * B / (T + 1), 3),
    }


def _half_root(radicand: sp.Expr, degree: int) -> sp.Expr:
    """Return half the root in one piece, as printed, where sympy would split it."""
    root = sp.Pow(radicand, sp.Rational(1, degree), evaluate=False)
    return sp.Mul(sp.Rational(1, 2), root, evaluate=False)


def non_convex(period: sp.Expr, heterogeneity: sp.Expr) -> dict[str, sp.Expr]:
    """Return the terms of (13), (16), (19), (22); ``period`` is tau_min or tau."""
    return {
        "initial gap": 4 * symbols.F_err / (T * period),
        "noise and heterogeneity": heterogeneity
        * symbols.over_rounds(symbols.eta(t) ** 2)
        / T,
    }


STRONG_STEP = StepSize(
    client=4 / (mu * symbols.tau_server * (gamma + t)),
    server=4 / (mu * tau * (gamma + t)),
    relation="=",
    definitions=GAMMA,
)
STRONG_STEP_ONE_TAU = StepSize(
    STRONG_STEP.client, STRONG_STEP.server, "=", {**GAMMA, **ONE_TAU}
)


def _at_most(largest: sp.Expr, definitions: Mapping[sp.Symbol, sp.Expr]) -> StepSize:
    return StepSize(largest, largest, "<=", definitions)


def _theorem(
    number: str,
    title: str,
    algorithm: str,
    participation: str,
    equations: tuple[int, int, int],
    parts: tuple[dict[str, sp.Expr], dict[str, sp.Expr], dict[str, sp.Expr]],
    steps: tuple[StepSize, StepSize, StepSize],
    findings: dict[str, tuple[Finding, ...]],
    notes: dict[str, tuple[str, ...]],
) -> Theorem:
    """Join the three cases of a theorem; definitions follow from the algorithm.

    Returns:
        The theorem.
    """
    key = f"{PAPER}/thm-{number}"
    periods = TAUS if algorithm == "sfl-v1" else ONE_TAU
    who = (
        conditions.EveryoneTakesPart()
        if participation == "full"
        else conditions.UpdatesAggregated()
    )
    cases = {}
    for name, equation, terms, step in zip(
        HYPOTHESES, equations, parts, steps, strict=True
    ):
        bound = Bound(
            parts=terms,
            metric=bou.WEIGHTED_GRADIENT if name == "non_convex" else OBJECTIVE_GAP,
            step_size=step,
            conditions=(*HYPOTHESES[name], who),
            source=Source(PAPER, f"Theorem {number}", f"eq. ({equation})"),
            definitions=GAMMA if name == "strongly_convex" else periods,
            findings=findings.get(name, ()),
            notes=notes.get(name, ()),
        )
        nearest = repaired(number, name, bound)
        cases[name] = Case(key, name, bound, nearest, variants(number, name, bound))
    return Theorem(key, number, title, algorithm, participation, cases)


PROPOSITION_3_5 = one_case(
    "Convergence decomposition into client side and server side",
    "any",
    Case(
        f"{PAPER}/prop-3.5",
        "any",
        Bound(
            parts={"server side": S * symbols.D_s / 2, "client side": S * D_c / 2},
            metric=OBJECTIVE_GAP,
            step_size=None,
            conditions=(Smooth(), MinimiserExists("x* minimises f")),
            source=Source(PAPER, "Proposition 3.5", "eq. (9)"),
            notes=("the distances are those of the same round T",),
        ),
    ),
    participation="any",
)

BOTH_TAUS = symbols.tau_server**2 + tau**2

THEOREM_3_6 = _theorem(
    "3.6",
    "SFL-V1, full participation",
    "sfl-v1",
    "full",
    (11, 12, 13),
    (
        strongly_convex(over_clients(a[n] ** 2 * noise), over_clients(a[n] * noise)),
        general_convex(
            over_clients(a[n] ** 2 * noise),
            over_clients(a[n] * noise),
            BOTH_TAUS / symbols.tau_min**2,
        ),
        non_convex(
            symbols.tau_min,
            8 * N * S * BOTH_TAUS / symbols.tau_min * over_clients(a[n] ** 2 * drift),
        ),
    ),
    (
        STRONG_STEP,
        _at_most(1 / (2 * S * symbols.tau_max), TAUS),
        _at_most(
            sp.Min(
                1 / (16 * S * symbols.tau_max),
                symbols.tau_min
                / (8 * S * N * symbols.tau_max**2 * over_clients(a[n] ** 2)),
            ),
            TAUS,
        ),
    ),
    findings={"general_convex": (CUBE_ROOT,)},
    notes={"strongly_convex": (SWAPPED,)},
)

THEOREM_3_7 = _theorem(
    "3.7",
    "SFL-V2, full participation",
    "sfl-v2",
    "full",
    (14, 15, 16),
    (
        strongly_convex(
            over_clients((a[n] ** 2 + 1) * noise), over_clients((a[n] + 1) * noise)
        ),
        general_convex(
            over_clients((a[n] ** 2 + 1) * noise), over_clients((a[n] + 1) * noise)
        ),
        non_convex(tau, 8 * N * S * tau * over_clients((a[n] ** 2 + 1) * drift)),
    ),
    (
        STRONG_STEP_ONE_TAU,
        _at_most(1 / (2 * S * tau), ONE_TAU),
        _at_most(sp.Min(1 / (16 * S * tau), 1 / (8 * S * N**2 * tau)), ONE_TAU),
    ),
    findings={"general_convex": (CUBE_ROOT,)},
    notes={"strongly_convex": (SERVER_STEP,)},
)

THEOREM_3_8 = _theorem(
    "3.8",
    "SFL-V1, partial participation",
    "sfl-v1",
    "partial",
    (17, 18, 19),
    (
        strongly_convex(
            over_clients(a[n] ** 2 * noise_partial), over_clients(a[n] * noise)
        ),
        general_convex(
            over_clients(a[n] ** 2 * noise_partial),
            over_clients(a[n] * noise),
            BOTH_TAUS / symbols.tau_min**2,
        ),
        non_convex(
            symbols.tau_min,
            8
            * N
            * S
            * BOTH_TAUS
            / symbols.tau_min
            * over_clients(a[n] ** 2 / q[n] * drift),
        ),
    ),
    (
        STRONG_STEP,
        _at_most(1 / (2 * S * symbols.tau_max), TAUS),
        _at_most(
            sp.Min(
                1 / (16 * S * symbols.tau_max),
                symbols.tau_min
                / (8 * S * N * symbols.tau_max**2 * over_clients(a[n] ** 2 / q[n])),
            ),
            TAUS,
        ),
    ),
    findings={"strongly_convex": (EXTRA_G2,), "general_convex": (CUBE_ROOT, EXTRA_G2)},
    notes={"strongly_convex": (SWAPPED,)},
)

THEOREM_3_9 = _theorem(
    "3.9",
    "SFL-V2, partial participation",
    "sfl-v2",
    "partial",
    (20, 21, 22),
    (
        strongly_convex(
            over_clients((a[n] ** 2 + 1) * noise_partial),
            over_clients((a[n] + 1) * noise),
        ),
        general_convex(
            over_clients((a[n] ** 2 + 1) * noise_partial),
            over_clients((a[n] + 1) * noise),
        ),
        non_convex(tau, 8 * N * S * tau * over_clients((a[n] ** 2 + 1) / q[n] * drift)),
    ),
    (
        STRONG_STEP_ONE_TAU,
        _at_most(1 / (2 * S * tau), ONE_TAU),
        _at_most(
            sp.Min(
                1 / (16 * S * tau),
                1 / (8 * S * N**2 * tau * over_clients(a[n] ** 2 / q[n])),
            ),
            ONE_TAU,
        ),
    ),
    findings={
        "strongly_convex": (EXTRA_G2,),
        "general_convex": (CUBE_ROOT, EXTRA_G2),
        "non_convex": (
            Finding(
                "full_participation_step",
                "at q = 1 its step-size condition is not that of Theorem 3.7: the "
                "printed factor sum a_n^2/q_n (at most 1 there) admits larger steps; "
                "the proof (App. G.3) needs 8 S N^2 tau sum 1/q_n",
            ),
        ),
    },
    notes={
        "strongly_convex": (SERVER_STEP,),
        "general_convex": ("G_n^2/q_n is printed; G_n is read as G",),
    },
)

THEOREMS = (PROPOSITION_3_5, THEOREM_3_6, THEOREM_3_7, THEOREM_3_8, THEOREM_3_9)
