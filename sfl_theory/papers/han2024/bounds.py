r"""``han2024``: Proposition 3.5 and Theorems 3.6-3.9 as printed.

Han, Huang, Tian, Tang, Liu. *Convergence Analysis of Split Federated Learning on
Heterogeneous Data*, NeurIPS 2024.

SFL-V1 keeps one server-side model per client, SFL-V2 a single one. Notation of Sec. 3:
$I_{err}=\|x^0-x^*\|^2$, $F_{err}=f(x^0)-f^*$, $\gamma=8S/\mu-1$,
$\tau_{min}=\min\{\tau,\tilde\tau\}$, $\tau_{max}=\max\{\tau,\tilde\tau\}$.
"""

from __future__ import annotations

from functools import partial

import sympy as sp

from sfl_theory import bound as bou
from sfl_theory import conditions as con
from sfl_theory import symbols
from sfl_theory.bound import OBJECTIVE_GAP, Bound, Finding, Source
from sfl_theory.conditions import Condition, Convex, MinimiserExists, Smooth
from sfl_theory.notation import written as w
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.statement import Case, Proved, Theorem, one_case
from sfl_theory.step_size import StepSize
from sfl_theory.symbolic import expression, named
from sfl_theory.symbols import (
    D_c,
    G,
    N,
    S,
    T,
    a,
    eta,
    gamma,
    mu,
    n,
    q,
    t,
    tau,
    tau_server,
)

GAMMA = {gamma: 8 * S / mu - 1}
PARAMETERS = named({
    s.S: S,
    s.mu: mu,
    s.N: N,
    s.T: T,
    s.tau: tau,
    s.tau_server: symbols.tau_server,
    s.G2: G**2,
    s.eps2: symbols.epsilon**2,
    s.sigma2(): symbols.sigma[n] ** 2,
    s.a(): a[n],
    w.inverse_chance(s.n): 1 / q[n],
    s.eta(): eta(t),
})
"""Parameters of the statements -> what they are called here."""


PAPER = "han2024"

DATA = printed.Data()
PRINTED = PARAMETERS | named({
    printed.tau_min: symbols.tau_min,
    printed.tau_max: symbols.tau_max,
    DATA.I_err: symbols.I_err,
    DATA.F_err: symbols.F_err,
    DATA.gamma: gamma,
})
BOTH, SQUARES = s.tau_server**2 + s.tau**2, tau_server**2 + tau**2
TAUS = {
    symbols.tau_min: sp.Min(tau, tau_server),
    symbols.tau_max: sp.Max(tau, tau_server),
}
ONE_TAU = {tau_server: tau}

CONVEX = (Smooth(), con.BoundedVariance(), con.BoundedGradients())
HYPOTHESES: dict[str, tuple[Condition, ...]] = {
    "strongly_convex": (*CONVEX, con.StronglyConvex()),
    "general_convex": (*CONVEX, Convex(), MinimiserExists()),
    "non_convex": (*CONVEX[:2], con.Heterogeneity()),
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


def _step(number: str, case: str) -> StepSize:
    """Return the learning-rate rule of a case as printed."""
    shared = printed.shared(number)
    if case == "strongly_convex":
        client = 4 / (mu * tau_server * (gamma + t))
        meanings = {**GAMMA, **(ONE_TAU if shared else {})}
        return StepSize(client, 4 / (mu * tau * (gamma + t)), "=", meanings)
    largest = sp.Min(*(
        expression(right, PRINTED) / expression(left, PRINTED) * eta(t)
        for left, right in printed.conditions(number, case, DATA, s.eta())
    ))  # fmt: skip
    return StepSize(largest, largest, "<=", ONE_TAU if shared else TAUS)


def _parts(number: str, case: str) -> dict[str, sp.Expr]:
    """Return the terms of a right side as printed.

    Half a root stands in one piece, and so does what is under it: sympy would split it.
    """
    found = printed.bound(number, case, DATA)
    known = PRINTED | named({24 * BOTH: sp.Mul(24, SQUARES, evaluate=False)})
    for one in found.roots:
        inside, power = expression(one.radicand, known), sp.Rational(1, one.degree)
        root = sp.Pow(inside, power, evaluate=False)
        half = sp.Mul(sp.Rational(1, 2), root, evaluate=False)
        known = known | named({one.value / 2: half})
    return {name: expression(term, known) for name, term in found.named.items()}


def _proved(number: str, case: str, own: Bound) -> Proved:
    from sfl_theory.papers.han2024.versions import versions

    return versions(number, case, own)


def _theorem(
    number: str,
    title: str,
    equations: tuple[int, int, int],
    findings: dict[str, tuple[Finding, ...]],
    notes: dict[str, tuple[str, ...]],
) -> Theorem:
    """Join the three cases of a theorem; what else there is follows from its number.

    Returns:
        The theorem.
    """
    key, drawn = f"{PAPER}/thm-{number}", printed.partial(number)
    periods = ONE_TAU if printed.shared(number) else TAUS
    who = con.UpdatesAggregated() if drawn else con.EveryoneTakesPart()
    cases = {}
    for name, equation in zip(HYPOTHESES, equations, strict=True):
        bound = Bound(
            parts=_parts(number, name),
            metric=bou.WEIGHTED_GRADIENT if name == "non_convex" else OBJECTIVE_GAP,
            step_size=_step(number, name),
            conditions=(*HYPOTHESES[name], who),
            source=Source(PAPER, f"Theorem {number}", f"eq. ({equation})"),
            definitions=GAMMA if name == "strongly_convex" else periods,
            findings=findings.get(name, ()),
            notes=notes.get(name, ()),
        )
        beside = partial(_proved, number, name, bound)
        cases[name] = Case(key, name, bound, beside)
    algorithm = "sfl-v2" if printed.shared(number) else "sfl-v1"
    draws = "partial" if drawn else "full"
    return Theorem(key, number, title, algorithm, draws, cases)


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

THEOREM_3_6 = _theorem(
    "3.6",
    "SFL-V1, full participation",
    (11, 12, 13),
    findings={"general_convex": (CUBE_ROOT,)},
    notes={"strongly_convex": (SWAPPED,)},
)

THEOREM_3_7 = _theorem(
    "3.7",
    "SFL-V2, full participation",
    (14, 15, 16),
    findings={"general_convex": (CUBE_ROOT,)},
    notes={"strongly_convex": (SERVER_STEP,)},
)

THEOREM_3_8 = _theorem(
    "3.8",
    "SFL-V1, partial participation",
    (17, 18, 19),
    findings={"strongly_convex": (EXTRA_G2,), "general_convex": (CUBE_ROOT, EXTRA_G2)},
    notes={"strongly_convex": (SWAPPED,)},
)

THEOREM_3_9 = _theorem(
    "3.9",
    "SFL-V2, partial participation",
    (20, 21, 22),
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
