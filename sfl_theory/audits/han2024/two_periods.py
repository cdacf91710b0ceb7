r"""SFL-V1, convex, for any periods: from the recursions of one round to T rounds.

With $\theta_t=\eta_c^t\tau=\eta_s^t\tilde\tau=4/(\mu(\gamma+t))$ an induction gives
$\Delta_t\le v/(\gamma+t)$, $v=b_1+b_2/\gamma+(\gamma+1)I_{err}$, where
$b_1=c_1\alpha^2G^2$, $b_2=2Sc_d\alpha^3G^2$, $\alpha=4/\mu$. With $\gamma$ in place of
the paper's $\gamma+1$ under $b_2$ the step at t = 0 is like any other and asks nothing
of $c_d$. With $\mu=0$ Gronwall's sum bounds the weighted mean of the gaps.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import sympy as sp

from sfl_theory import symbols
from sfl_theory.audits.han2024 import convex
from sfl_theory.audits.han2024.two_periods_round import (
    ASSUMED,
    DRIFT,
    G2,
    SECOND,
    S,
    general_terms,
    mu,
    one_round,
    one_round_without_mu,
    ratio,
    rho,
    theta,
)
from sfl_theory.evidence.certificate import Certificate, Fact, atom
from sfl_theory.evidence.derivation import INDUCTION, Instance, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.growing_sum import GrowingSum, exponential
from sfl_theory.evidence.induction import Induction
from sfl_theory.evidence.round_sum import rate_sum, summed
from sfl_theory.papers import repaired
from sfl_theory.papers.repaired import Setting

gamma, t, v, start2, tau = positive("gamma t v I_err tau")
(rate,) = positive("eta^t")

MINIMUM = convex.MINIMUM
START = convex.START
DISTANCE = "Delta_t = E||x^t - x*||^2"
NOW = {"<x-x*,x-x*>": atom("Delta_t")}


def _v(extra: Any) -> Any:
    r"""Return $b_1+b_2/\gamma$ and what v exceeds it by."""
    return 16 * SECOND * G2 / mu**2 + 128 * S * DRIFT * G2 / (mu**3 * gamma) + extra


def induction(claim: str) -> Certificate:
    r"""Return the step of $\Delta_t\le v/(\gamma+t)$, for every $t\ge0$."""
    now, then, gap = atom("Delta_t"), atom("Delta_t+1"), atom("gap_t")
    s, k, G, a, h, u = free("s k G a h u")
    (m,) = positive("m")
    domain = Domain(
        "S >= mu > 0, t >= 0, v >= b_1 + b_2/gamma",
        {
            mu: m, S: m + s, gamma: 8 * S / mu - 1, t: k, G2: G, rho: a,
            ratio: 1 / (1 + h), v: _v(u),
        },
        (m, s, k, G, a, h, u),
    )  # fmt: skip
    step = 4 / (mu * (gamma + t))
    at = {"m": mu, "s": S - mu, "theta_0": step, "G": G2, "a": rho, "h": 1 / ratio - 1}
    recursion = Fact(
        "one round at theta = 4/(mu(gamma+t))",
        (1 - step * mu / 2) * now - 2 * step * gap
        + SECOND * step**2 * G2 + 2 * S * DRIFT * step**3 * G2 - then,
        "",
        derived=Instance(Use(one_round(claim), at, NOW)),
    )  # fmt: skip
    before = Fact("Delta_t <= v/(gamma+t)", v / (gamma + t) - now, INDUCTION)
    return Certificate(
        claim,
        then,
        v / (gamma + t + 1),
        (*ASSUMED, INDUCTION, MINIMUM),
        domain,
        uses=(
            (recursion, 1),
            (before, 1 - step * mu / 2),
            (Fact("f(x^t) >= f*", gap, MINIMUM), 2 * step),
        ),
        statement="Delta_t <= v/(gamma+t) implies Delta_t+1 <= v/(gamma+t+1), t >= 0",
    )


def strongly_convex_end(claim: str, setting: Setting) -> Certificate:
    r"""Return the end: Prop. 3.5 and $v=b_1+b_2/\gamma+(\gamma+1)I_{err}$.

    Args:
        claim: identifier of the claim.
        setting: of the bound.

    Returns:
        The certificate, ending in the bound.
    """
    gap, end = atom("gap_T"), atom("Delta_T")
    client, server = atom("E||x_c^T-x_c*||^2"), atom("E||x_s^T-x_s*||^2")
    s, k, G, d, h, r = free("s k G d h r")
    (m,) = positive("m")
    domain = Domain(
        "S >= mu > 0, T >= 0",
        {
            mu: m, S: m + s, gamma: 8 * S / mu - 1, t: k, G2: G, start2: d,
            ratio: 1 / (1 + h), rho: _spread(setting, r), v: _v((gamma + 1) * start2),
        },
        (m, s, k, G, d, h, r),
    )  # fmt: skip
    (index,) = free("t'")
    known = {"m": mu, "s": S - mu}
    limit = (gamma + 1) * start2
    chain = Induction(
        claim=v / (gamma + index) - atom("Delta_t"),
        index=index,
        end=t,
        base=Use(convex.base(claim), {**known, "u": v - limit, "d": start2}),
        steps=(
            Use(
                induction(claim),
                {
                    **known, "k": index, "G": G2, "a": rho, "h": 1 / ratio - 1,
                    "u": v - _v(0),
                },
            ),
        ),
        moves={"Delta_t": ("Delta_0", "Delta_t+1", "Delta_T")},
    )  # fmt: skip
    blocks = Use(
        convex.decomposition("han2024/prop-3.5"),
        at={"s": S},
        atoms={
            "f(x^T)": gap,
            "f(x*)": sp.Integer(0),
            "<x_c-x_c*,x_c-x_c*>": client,
            "<x_s-x_s*,x_s-x_s*>": server,
        },
        family="the draws",
    )
    proposition = Fact(
        "Prop. 3.5", S / 2 * (client + server) - gap, "", derived=Instance(blocks)
    )
    both = Fact("both blocks", end - client - server, DISTANCE, equality=True)
    last = Fact("Delta_T <= v/(gamma+T)", v / (gamma + t) - end, "", derived=chain)
    bound = repaired.strongly_convex(setting)
    return Certificate(
        claim,
        gap,
        sum(_in_parameters(part) for part in bound.parts.values()),
        (*ASSUMED, convex.SMOOTH, MINIMUM, START, DISTANCE),
        domain,
        uses=((proposition, 1), (both, S / 2), (last, S / 2)),
        statement="E f(x^T) - f* <= the bound",
    )


def general_convex_end(claim: str, setting: Setting) -> Certificate:
    r"""Return the sum over rounds of the recursion with $\mu=0$, $\theta=\eta^t\tau$.

    Args:
        claim: identifier of the claim.
        setting: of the bound.

    Returns:
        The certificate, ending in the bound.
    """
    weighted, start = summed(rate, 1, "gap_t"), atom("Delta_0")
    squares, cubes = rate_sum(rate, 2), rate_sum(rate, 3)
    k, G, d, h, r, last = free("k G d h r last")
    (s,) = positive("s")
    growth, noise, drift = general_terms()
    exponent = growth.subs(theta, tau) * squares
    bound = repaired.general_convex_two_periods(setting)
    domain = Domain(
        "S > 0, G^2, I_err >= 0, T, tau >= 1, any learning rates",
        {
            S: s, tau: 1 + k, G2: G, start2: d, ratio: 1 / (1 + h),
            rho: _spread(setting, r), symbols.T: 1 + last,
        },
        (s, k, G, d, h, r, last, squares, cubes, exponential(exponent)),
    )  # fmt: skip
    at = {"s": S, "theta_0": rate * tau, "G": G2, "a": rho, "h": 1 / ratio - 1}
    second, third = (term.subs(theta, tau) for term in (noise, drift))
    total = Fact(
        "sum of the recursion over t < T",
        exponential(exponent) * (start + second * squares + third * cubes)
        - 2 * tau * weighted,
        "",
        derived=GrowingSum(
            Use(one_round_without_mu(claim), at, NOW),
            rate,
            ("Delta_t", "Delta_t+1", "Delta_0"),
            {"gap_t": MINIMUM, "Delta_t+1": DISTANCE},
            exponent,
        ),
    )
    share = 1 / (2 * tau * symbols.T)
    same = Fact("Delta_0 = I_err", start2 - start, START, equality=True)
    return Certificate(
        claim,
        weighted / symbols.T,
        sum(_in_parameters(part) for part in bound.parts.values()),
        (*ASSUMED, MINIMUM, DISTANCE, START),
        domain,
        uses=((total, share), (same, exponential(exponent) * share)),
        statement="(1/T) sum_t eta^t (E f(x^t) - f*) <= the bound",
    )


def _spread(setting: Setting, some: Any) -> Any:
    r"""Return $\rho$: 0 where everyone takes part."""
    return some if sp.sympify(setting.c1).has(repaired.excess) else sp.Integer(0)


def _in_parameters(expr: Any) -> Any:
    """Return a formula of ``papers.repaired`` in the parameters of this module."""
    learning_rate = symbols.eta(symbols.t)
    (larger,) = positive("tau_max")
    periods = symbols.tau, symbols.tau_server
    replaced = sp.sympify(expr).xreplace({
        sp.Min(*periods): ratio * larger,
        sp.Max(*periods): larger,
        symbols.over_rounds(learning_rate**2): rate_sum(rate, 2),
        symbols.over_rounds(learning_rate**3): rate_sum(rate, 3),
        repaired.excess: rho,
        symbols.I_err: start2,
        symbols.G: sp.sqrt(G2),
        symbols.T: symbols.T if sp.sympify(expr).has(symbols.eta) else t,
        symbols.tau: tau,
    })
    return replaced.replace(sp.exp, exponential)


def strongly_convex(claim: str, setting: Setting) -> tuple[Any, ...]:
    """Return builders of all certificates of the strongly convex case."""
    return (
        partial(one_round, claim),
        partial(convex.base, claim),
        partial(induction, claim),
        partial(strongly_convex_end, claim, setting),
    )


def general_convex(claim: str, setting: Setting) -> tuple[Any, ...]:
    """Return builders of all certificates of the general convex case."""
    return (
        partial(one_round_without_mu, claim),
        partial(general_convex_end, claim, setting),
    )
