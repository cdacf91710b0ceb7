r"""``huang2023``: Propositions 1-2 and Theorem 1 as printed, in ``han2024``'s symbols.

Huang, Tian, Tang. *When MiniBatch SGD Meets SplitFed Learning*, arXiv 2308.11953.

Written here: $p_n$ as $a_n$, $w$ as $x$, $\delta$ as $\epsilon$, $EM$ (local steps per
round) as $\tau$. The statements speak of the last SGD step $TEM=T\tau$; learning rates
are functions of the SGD step, $\gamma=\max\{8S/\mu-1,EM\}$.
"""

from __future__ import annotations

import sympy as sp

from sfl_theory.bound import (
    CLIENT_DISTANCE,
    OBJECTIVE_GAP,
    SERVER_DISTANCE,
    Bound,
    Source,
    StepSize,
)
from sfl_theory.statement import Case, Theorem
from sfl_theory.symbols import (
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
    over_clients,
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
    "1 smooth",
    "2 strongly convex",
    "3 bounded variance",
    "4 bounded gradients",
)
UNCLEAR_GAMMA = (
    "Gamma = F(w*) - sum_n p_n f_n(w*_{c,n}, w_s) does not say which w_s is meant; "
    "read as f* - sum_n a_n min F_n, as in the proof it follows (Li et al., ICLR 2020)"
)
UNIFORM_WEIGHTS = (
    "Prop. 1 is proved for the plain mean of the clients' gradients, 1/N for p_n"
)

H = (
    6 * tau * R**2
    + 12 * tau**2 * epsilon**2
    + 6 * S * Gamma
    + over_clients(a[n] ** 2 * sigma[n] ** 2)
)
denominator = gamma + T * tau

PROPOSITION_1 = Theorem(
    key=f"{PAPER}/prop-1",
    number="1",
    title="MiniBatch-SFL, server side",
    algorithm="minibatch-sfl",
    participation="full",
    cases={
        "strongly_convex": Case(
            f"{PAPER}/prop-1",
            "strongly_convex",
            Bound(
                parts={
                    "gradient norm": 8 * R**2 / (mu**2 * N**2 * denominator),
                    "initial distance": (gamma + 1) * I_s / denominator,
                },
                metric=SERVER_DISTANCE,
                step_size=STEP,
                conditions=ASSUMPTIONS,
                source=Source(PAPER, "Proposition 1", "eq. (9)"),
                definitions=GAMMA,
                notes=(UNIFORM_WEIGHTS,),
            ),
        )
    },
)

PROPOSITION_2 = Theorem(
    key=f"{PAPER}/prop-2",
    number="2",
    title="MiniBatch-SFL, client side",
    algorithm="minibatch-sfl",
    participation="full",
    cases={
        "strongly_convex": Case(
            f"{PAPER}/prop-2",
            "strongly_convex",
            Bound(
                parts={
                    "noise and heterogeneity": 4 * H / (mu**2 * denominator),
                    "initial distance": (gamma + 1) * I_c / denominator,
                },
                metric=CLIENT_DISTANCE,
                step_size=STEP,
                conditions=(*ASSUMPTIONS, "5 bounded divergence"),
                source=Source(PAPER, "Proposition 2", "eq. (10)"),
                definitions=GAMMA,
                notes=(UNCLEAR_GAMMA,),
            ),
        )
    },
)

THEOREM_1 = Theorem(
    key=f"{PAPER}/thm-1",
    number="1",
    title="MiniBatch-SFL",
    algorithm="minibatch-sfl",
    participation="full",
    cases={
        "strongly_convex": Case(
            f"{PAPER}/thm-1",
            "strongly_convex",
            Bound(
                parts={
                    "server gradient norm": 4 * S * R**2 / (mu**2 * N**2 * denominator),
                    "client noise and heterogeneity": 2 * S * H / (mu**2 * denominator),
                    "initial distance": S * (gamma + 1) * I_err / (2 * denominator),
                },
                metric=OBJECTIVE_GAP,
                step_size=STEP,
                conditions=(*ASSUMPTIONS, "5 bounded divergence"),
                source=Source(PAPER, "Theorem 1", "eq. (11)"),
                definitions=GAMMA,
                notes=(
                    "S (L_s + L_c)/2 written out; the two initial distances add up to "
                    "I_err",
                    UNIFORM_WEIGHTS,
                    UNCLEAR_GAMMA,
                ),
            ),
        )
    },
)

THEOREMS = (PROPOSITION_1, PROPOSITION_2, THEOREM_1)
