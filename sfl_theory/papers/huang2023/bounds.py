r"""``huang2023``: Propositions 1-2 and Theorem 1 as printed, in ``han2024``'s symbols.

Huang, Tian, Tang. *When MiniBatch SGD Meets SplitFed Learning*, arXiv 2308.11953.

Written here: $p_n$ as $a_n$, $w$ as $x$, $\delta$ as $\epsilon$, $EM$ (local steps per
round) as $\tau$. The statements speak of the last SGD step $TEM=T\tau$; learning rates
are functions of the SGD step, $\gamma=\max\{8S/\mu-1,EM\}$.
"""

from __future__ import annotations

import sympy as sp

from sfl_theory import bound, conditions, symbols
from sfl_theory.bound import CLIENT_DISTANCE, OBJECTIVE_GAP, Bound, Metric, Source
from sfl_theory.conditions import BoundedVariance, Heterogeneity, Smooth, StronglyConvex
from sfl_theory.statement import Case, one_case
from sfl_theory.symbols import I_c, I_err, N, R, S, T, a, gamma, mu, n, sigma, t, tau

PAPER = "huang2023"

GAMMA = {gamma: sp.Max(8 * S / mu - 1, tau)}
STEP = bound.StepSize(
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
UNCLEAR_GAMMA = (
    "Gamma = F(w*) - sum_n p_n f_n(w*_{c,n}, w_s) does not say which w_s is meant; "
    "read as f* - sum_n a_n min F_n, as in the proof it follows (Li et al., ICLR 2020)"
)
UNIFORM_WEIGHTS = (
    "Prop. 1 is proved for the plain mean of the clients' gradients, 1/N for p_n"
)

H = (
    6 * tau * R**2
    + 12 * tau**2 * symbols.epsilon**2
    + 6 * S * symbols.Gamma
    + symbols.over_clients(a[n] ** 2 * sigma[n] ** 2)
)
denominator = gamma + T * tau

V = R**2 + (tau - 1) * (R**2 + 2 * tau * symbols.epsilon**2)
JOINT = {
    "gradient norm and drift": 4 * V / (3 * mu**2 * denominator),
    "initial distance": gamma * I_err / denominator,
}
r"""Terms of $\mathbb E\|x^T-x^*\|^2\le$, both blocks together: what is true in place of
Propositions 1 and 2, and sharper than Theorem 1 (ledger: repairs of these claims)."""


def _joint(statement: str, metric: Metric, factor: sp.Expr | int = 1) -> Bound:
    """Return a bound that follows from the joint distance of both blocks."""
    return Bound(
        parts={name: factor * part for name, part in JOINT.items()},
        metric=metric,
        step_size=STEP,
        conditions=(*ASSUMPTIONS[:2], *ASSUMPTIONS[3:], DIVERGENCE),
        source=Source("repaired", statement, "joint distance of both blocks"),
        definitions=GAMMA,
        version="repaired",
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
_FAR = (denominator - 1) * (denominator - 2)
_apart = symbols.over_clients(a[n] * (1 - a[n]) * sigma[n] ** 2)
_level = _apart + (4 * tau + 1) * symbols.epsilon**2 / 3
_noise = symbols.over_clients(a[n] ** 2 * sigma[n] ** 2)
_initial = (gamma - 1) * (gamma - 2) * I_err / _FAR
_harmonic = symbols.reciprocals(gamma, tau, T)
WITHOUT_ASSUMPTION_4 = {
    "linear_speedup": {
        "initial distance": _initial,
        "gradient noise": 4 * tau * T * _noise / (mu**2 * _FAR),
        "client drift": sp.Rational(88, 7) * S * tau * (tau - 1) * _level
        * _harmonic / (mu**3 * _FAR),
    },
    "no_bounded_gradients": {
        "initial distance": _initial,
        "gradient noise": 4 * tau * T * _noise / (mu**2 * _FAR),
        "client drift": sp.Rational(88, 49) * tau * T * (tau - 1) * _level
        / (mu**2 * _FAR),
    },
}  # fmt: skip
r"""Terms of $\mathbb E\|x^T-x^*\|^2\le$ by version (``linear_speedup.py``).

Noise is that of the mean of N clients; drift falls with the square of the number of
steps but for a logarithm, or with the number of steps and a smaller constant.
"""


def _without_4(
    statement: str, metric: Metric, factor: sp.Expr | int = 1
) -> dict[str, Bound]:
    """Return the bounds that need no bounded gradients, by version."""
    return {
        name: Bound(
            parts={key: factor * part for key, part in parts.items()},
            metric=metric,
            step_size=STEP,
            conditions=HYPOTHESES,
            source=Source("repaired", statement, "joint distance of both blocks"),
            definitions=GAMMA,
        )
        for name, parts in WITHOUT_ASSUMPTION_4.items()
    }


PROPOSITION_1 = one_case(
    "MiniBatch-SFL, server side",
    "minibatch-sfl",
    Case(
        f"{PAPER}/prop-1",
        "strongly_convex",
        Bound(
            parts={
                "gradient norm": 8 * R**2 / (mu**2 * N**2 * denominator),
                "initial distance": (gamma + 1) * symbols.I_s / denominator,
            },
            metric=bound.SERVER_DISTANCE,
            step_size=STEP,
            conditions=ASSUMPTIONS,
            source=Source(PAPER, "Proposition 1", "eq. (9)"),
            definitions=GAMMA,
            notes=(UNIFORM_WEIGHTS,),
        ),
        _joint("Proposition 1", bound.SERVER_DISTANCE),
        _without_4("Proposition 1", bound.SERVER_DISTANCE),
    ),
)

PROPOSITION_2 = one_case(
    "MiniBatch-SFL, client side",
    "minibatch-sfl",
    Case(
        f"{PAPER}/prop-2",
        "strongly_convex",
        Bound(
            parts={
                "noise and heterogeneity": 4 * H / (mu**2 * denominator),
                "initial distance": (gamma + 1) * I_c / denominator,
            },
            metric=CLIENT_DISTANCE,
            step_size=STEP,
            conditions=(*ASSUMPTIONS, DIVERGENCE),
            source=Source(PAPER, "Proposition 2", "eq. (10)"),
            definitions=GAMMA,
            notes=(UNCLEAR_GAMMA,),
        ),
        _joint("Proposition 2", CLIENT_DISTANCE),
        _without_4("Proposition 2", CLIENT_DISTANCE),
    ),
)

THEOREM_1 = one_case(
    "MiniBatch-SFL",
    "minibatch-sfl",
    Case(
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
            conditions=(*ASSUMPTIONS, DIVERGENCE),
            source=Source(PAPER, "Theorem 1", "eq. (11)"),
            definitions=GAMMA,
            notes=(
                "S (L_s + L_c)/2 written out; the two initial distances add up to "
                "I_err",
                UNIFORM_WEIGHTS,
                UNCLEAR_GAMMA,
            ),
        ),
        variants={
            "sharper": _joint("Theorem 1", OBJECTIVE_GAP, S / 2),
            **_without_4("Theorem 1", OBJECTIVE_GAP, S / 2),
        },
    ),
)

THEOREMS = (PROPOSITION_1, PROPOSITION_2, THEOREM_1)
