r"""``huang2023``: Propositions 1-2 and Theorem 1 as printed, in ``han2024``'s symbols.

Huang, Tian, Tang. *When MiniBatch SGD Meets SplitFed Learning*, arXiv 2308.11953.

Written here: $p_n$ as $a_n$, $w$ as $x$, $\delta$ as $\epsilon$, $EM$ (local steps per
round) as $\tau$. The statements speak of the last SGD step $TEM=T\tau$; learning rates
are functions of the SGD step, $\gamma=\max\{8S/\mu-1,EM\}$.
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from sfl_theory import conditions
from sfl_theory.bound import (
    CLIENT_DISTANCE,
    OBJECTIVE_GAP,
    SERVER_DISTANCE,
    Bound,
    Metric,
    Source,
)
from sfl_theory.conditions import BoundedVariance, Heterogeneity, Smooth, StronglyConvex
from sfl_theory.evidence import Part
from sfl_theory.kernel.terms import Side
from sfl_theory.papers.huang2023 import linear_speedup as own
from sfl_theory.papers.huang2023 import section_3_rates as rates
from sfl_theory.papers.huang2023 import setting as s
from sfl_theory.statement import Case, one_case
from sfl_theory.step_size import StepSize
from sfl_theory.symbolic import by_name, expression, named, summands
from sfl_theory.symbols import (
    F_err,
    Gamma,
    I_c,
    I_err,
    I_s,
    N,
    R,
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

PAPER = "huang2023"

GAMMA = {gamma: sp.Max(8 * S / mu - 1, tau)}
STEP = StepSize(
    client=2 / (mu * (gamma + t)),
    server=2 / (mu * (gamma + t)),
    relation="=",
    definitions=GAMMA,
    per_step=True,
)
ASSUMPTIONS = (
    Smooth("1 smooth"),
    StronglyConvex("2 strongly convex"),
    BoundedVariance("3 bounded variance"),
    conditions.BoundedGradients("4 bounded gradients"),
    conditions.EveryoneTakesPart(),
)
DIVERGENCE = Heterogeneity("5 bounded divergence")
FRESH = conditions.Unbiased("fresh mini-batches")
UNCLEAR_GAMMA = (
    "Gamma = F(w*) - sum_n p_n f_n(w*_{c,n}, w_s) does not say which w_s is meant; "
    "read as f* - sum_n a_n min F_n, as in the proof it follows (Li et al., ICLR 2020)"
)
UNIFORM_WEIGHTS = (
    "Prop. 1 is proved for the plain mean of the clients' gradients, 1/N for p_n"
)

HYPOTHESES = (
    Smooth("1 smooth, an upper bound"),
    StronglyConvex("2 strongly convex"),
    BoundedVariance("3 bounded variance, fresh mini-batches, clients independent"),
    DIVERGENCE,
    conditions.MinimiserExists(),
    conditions.EveryoneTakesPart(),
)
"""Without Assumption 4, which excludes Assumption 2 on R^d."""
RUN = rates.all_steps
EM = s.E * s.M
PARAMETERS = named({
    s.S: S,
    s.mu: mu,
    s.gamma: gamma,
    s.N: N,
    s.T: T,
    s.E: tau,
    s.M: sp.Integer(1),
    s.R2: R**2,
    s.delta2: epsilon**2,
    s.Gamma: Gamma,
    s.p(): a[n],
    s.sigma2(): sigma[n] ** 2,
    s.away(own.run.x(0)): I_err,
    s.F.gap(own.run.x(0)): F_err,
    s.away(RUN.x(0)): I_err,
    s.away(RUN.x(0), Side.SERVER): I_s,
    s.away(RUN.x(0), Side.CLIENT): I_c,
})
"""Parameters of the statements -> what they are called here; EM is tau."""
H = rates.constant_h(EM)
NAMES = PARAMETERS | named({
    4 * H: sp.Mul(4, expression(H, PARAMETERS), evaluate=False)
})
INITIAL, DRIVEN = "initial distance", ("gradient noise", "client drift")


def _case(what: own.Measured, name: str, proved: Part, printed: Bound) -> Case:
    """Return the case of a statement, with what is proved beside it."""
    stated = {name: proved}
    stated |= {each: part for (of, each), part in own.BOUNDS.items() if of == what}
    joint = (*ASSUMPTIONS[:2], FRESH, *ASSUMPTIONS[3:], DIVERGENCE)
    said = {
        name: ("gradient norm and drift", INITIAL),
        "linear_speedup": (INITIAL, *DRIVEN),
        "first_gap": ("initial gap", *DRIVEN),
    }
    source = replace(printed.source, paper="repaired", equation=JOINT)
    found = {
        each: (
            replace(
                printed,
                parts=by_name(part.says.right, NAMES, *said[each]),
                conditions=joint if each == name else HYPOTHESES,
                source=source,
                notes=(),
            ),
            (part,),
        )
        for each, part in stated.items()
    }
    key = f"{PAPER}/{own.STATEMENTS[what][0]}"
    return Case(key, "strongly_convex", printed, lambda: found)


JOINT = "joint distance of both blocks"
r"""What is true in place of Propositions 1 and 2, and sharper than Theorem 1; without
Assumption 4, noise is that of the mean of N clients (``linear_speedup.py``)."""


def _printed(
    parts: dict[str, sp.Expr],
    metric: Metric,
    source: tuple[str, str],
    *notes: str,
    more: tuple[conditions.Condition, ...] = (DIVERGENCE,),
) -> Bound:
    return Bound(
        parts=parts,
        metric=metric,
        step_size=STEP,
        conditions=(*ASSUMPTIONS, *more),
        source=Source(PAPER, *source),
        definitions=GAMMA,
        notes=notes,
    )


_ROUNDS = s.T * s.E * s.M
SERVER_SIDE = _printed(
    by_name(rates.server_bound(RUN, _ROUNDS), NAMES, "gradient norm", INITIAL),
    SERVER_DISTANCE,
    ("Proposition 1", "eq. (9)"),
    UNIFORM_WEIGHTS,
    more=(),
)
CLIENT_SIDE = _printed(
    by_name(
        rates.client_bound(RUN, _ROUNDS, EM), NAMES, "noise and heterogeneity", INITIAL
    ),
    CLIENT_DISTANCE,
    ("Proposition 2", "eq. (10)"),
    UNCLEAR_GAMMA,
)
_server, _near, _client, _ = (
    expression(term, NAMES) for term in summands(rates.theorem_1(RUN, EM))
)
BOTH_SIDES = _printed(
    {
        "server gradient norm": _server,
        "client noise and heterogeneity": _client,
        INITIAL: _near.xreplace({I_s: I_err}),
    },
    OBJECTIVE_GAP,
    ("Theorem 1", "eq. (11)"),
    "S (L_s + L_c)/2 written out; the two initial distances add up to I_err",
    UNIFORM_WEIGHTS,
    UNCLEAR_GAMMA,
)
TITLES = {
    Side.SERVER: "MiniBatch-SFL, server side",
    Side.CLIENT: "MiniBatch-SFL, client side",
    own.GAP: "MiniBatch-SFL",
}
THEOREMS = tuple(
    one_case(TITLES[what], "minibatch-sfl", _case(what, name, proved, printed))
    for what, name, claim, printed in (
        (Side.SERVER, "repaired", rates.PROP_1, SERVER_SIDE),
        (Side.CLIENT, "repaired", rates.PROP_2, CLIENT_SIDE),
        (own.GAP, "sharper", rates.THM_1, BOTH_SIDES),
    )
    if claim.repair
    for proved in claim.repair.parts[:1]
)
