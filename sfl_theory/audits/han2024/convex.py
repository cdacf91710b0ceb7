r"""Convex cases: from the joint recursion of one round to T rounds.

With $\eta^t\tau=4/(\mu(\gamma+t))$ an induction over the recursion gives
$\Delta_t\le v/(\gamma+t)$, with $v=b_1+b_2/(\gamma+1)+(\gamma+1)I_{err}$; with $\mu=0$
a telescoping sum bounds the weighted mean of the gaps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import sympy as sp

from sfl_theory.audits.han2024.convex_round import (
    ASSUMED,
    BOUNDED,
    CONVEX,
    G2,
    LEMMA_C3,
    SMOOTH,
    UPDATE,
    S,
    c1,
    cd,
    decomposition,
    eta,
    lemma_c3,
    mu,
    one_round,
    participation_distance,
    participation_variance,
    tau,
)
from sfl_theory.evidence.certificate import Certificate, Fact, atom
from sfl_theory.evidence.derivation import INDUCTION, Instance, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.induction import Induction
from sfl_theory.evidence.round_sum import RoundSum, rate_sum, summed

gamma, t, v, delta0 = positive("gamma t v Delta_0")
(rate,) = positive("eta^t")

PROP_35 = "han2024/prop-3.5"
MINIMUM = "x* minimises f"
START = "I_err = ||x^0 - x*||^2"
BLOCKS = "x = [x_c; x_s]"

__all__ = [
    "ASSUMED",
    "BOUNDED",
    "CONVEX",
    "G2",
    "INDUCTION",
    "LEMMA_C3",
    "SMOOTH",
    "UPDATE",
    "S",
    "c1",
    "cd",
    "decomposition",
    "eta",
    "lemma_c3",
    "mu",
    "one_round",
    "participation_distance",
    "participation_variance",
    "tau",
]


def _noise() -> tuple[Any, Any]:
    r"""Return $b_1,b_2$: $c_1\alpha^2G^2$ and $2Sc_d\alpha^3G^2$ at $\alpha=4/\mu$."""
    return 16 * c1 * G2 / mu**2, 128 * S * cd * G2 / mu**3


def _round(claim: str, strength: Any, rate_now: Any) -> Use:
    """Return the recursion of one round at a strong convexity and a learning rate."""
    at = {"m": strength, "s": S - strength, "e": rate_now, "k": tau - 1}
    return Use(one_round(claim), {**at, "G": G2, "a": c1, "b": cd})


def induction(claim: str, first: bool) -> Certificate:
    r"""Return the step of $\Delta_t\le v/(\gamma+t)$, from t to t + 1.

    $v\ge b_1+b_2/(\gamma+1)$. The paper's step needs $\gamma+t\ge\gamma+1$, which fails
    at t = 0; there the slack of $\gamma\ge7$ is used.

    Args:
        claim: identifier of the claim.
        first: the step from t = 0; otherwise t >= 1.
    """
    now, then, gap = atom("Delta_t"), atom("Delta_t+1"), atom("gap_t")
    b1, b2 = _noise()
    s, k, G, a, b, u, q = free("s k G a b u q")
    (m,) = positive("m")
    later = () if first else (k,)
    domain = Domain(
        f"S >= mu > 0, c_d <= 7 c_1, {'t = 0' if first else 't >= 1'}, "
        "v >= b_1 + b_2/(gamma+1)",
        {
            mu: m,
            S: m + s,
            gamma: 8 * S / mu - 1,
            t: sp.Integer(0) if first else 1 + k,
            tau: 1 + q,
            G2: G,
            c1: a + b / 7,
            cd: b,
            v: b1 + b2 / (gamma + 1) + u,
        },
        (m, s, *later, G, a, b, u, q),
    )
    shrink = 2 / (gamma + t)
    recursion = Fact(
        "one round at eta tau = 4/(mu(gamma+t))",
        (1 - shrink) * now - 8 / (mu * (gamma + t)) * gap
        + b1 / (gamma + t) ** 2 + b2 / (gamma + t) ** 3 - then,
        "",
        derived=Instance(_round(claim, mu, 4 / (mu * tau * (gamma + t)))),
    )  # fmt: skip
    before = Fact("Delta_t <= v/(gamma+t)", v / (gamma + t) - now, INDUCTION)
    positive_gap = Fact("f(x^t) >= f*", gap, MINIMUM)
    return Certificate(
        claim,
        then,
        v / (gamma + t + 1),
        (*ASSUMED, INDUCTION, MINIMUM),
        domain,
        uses=(
            (recursion, 1),
            (before, 1 - shrink),
            (positive_gap, 8 / (mu * (gamma + t))),
        ),
        statement=f"Delta_t <= v/(gamma+t) implies Delta_t+1 <= v/(gamma+t+1), "
        f"{'t = 0' if first else 't >= 1'}",
    )


def base(claim: str) -> Certificate:
    r"""Return the start: $\Delta_0\le v/\gamma$ as $v\ge(\gamma+1)I_{err}$."""
    start = atom("Delta_0")
    s, u, d = free("s u d")
    (m,) = positive("m")
    domain = Domain(
        "S >= mu > 0, v >= (gamma+1) I_err",
        {
            mu: m,
            S: m + s,
            gamma: 8 * S / mu - 1,
            delta0: d,
            v: (gamma + 1) * delta0 + u,
        },
        (m, s, u, d),
    )
    return Certificate(
        claim,
        start,
        v / gamma,
        (START,),
        domain,
        uses=((Fact("Delta_0 = I_err", delta0 - start, START, equality=True), 1),),
        statement="Delta_0 <= v/gamma",
    )


def _chain(claim: str, end: Any) -> Induction:
    r"""Return the induction: $\Delta_t\le v/(\gamma+t)$ for every t."""
    b1, b2 = _noise()
    (index,) = free("t'")
    step = {
        "m": mu,
        "s": S - mu,
        "G": G2,
        "a": c1 - cd / 7,
        "b": cd,
        "u": v - b1 - b2 / (gamma + 1),
        "q": tau - 1,
    }
    start = {"m": mu, "s": S - mu, "u": v - (gamma + 1) * delta0, "d": delta0}
    return Induction(
        claim=v / (gamma + index) - atom("Delta_t"),
        index=index,
        end=end,
        base=Use(base(claim), start),
        steps=(
            Use(induction(claim, True), step),
            Use(induction(claim, False), {**step, "k": index - 1}),
        ),
        moves={"Delta_t": ("Delta_0", "Delta_t+1", "Delta_T")},
    )


def strongly_convex_end(claim: str, right: Callable[[], Any]) -> Certificate:
    r"""Return the end: Prop. 3.5 and $v=b_1+b_2/(\gamma+1)+(\gamma+1)I_{err}$.

    Args:
        claim: identifier of the claim.
        right: the bound in the symbols of this module, $I_{err}$ as ``delta0``.
    """
    gap, end = atom("gap_T"), atom("Delta_T")
    client, server = atom("E||x_c^T-x_c*||^2"), atom("E||x_s^T-x_s*||^2")
    b1, b2 = _noise()
    s, k, G, a, b, d, q = free("s k G a b d q")
    (m,) = positive("m")
    domain = Domain(
        "S >= mu > 0, T >= 0, c_d <= 7 c_1",
        {
            mu: m,
            S: m + s,
            gamma: 8 * S / mu - 1,
            t: k,
            tau: 1 + q,
            G2: G,
            c1: a + b / 7,
            cd: b,
            delta0: d,
            v: b1 + b2 / (gamma + 1) + (gamma + 1) * delta0,
        },
        (m, s, k, G, a, b, d, q),
    )
    blocks = Use(
        decomposition(PROP_35),
        at={"s": S},
        atoms={
            "f(x^T)": gap,
            "f(x*)": sp.Integer(0),
            "<x_c-x_c*,x_c-x_c*>": client,
            "<x_s-x_s*,x_s-x_s*>": server,
        },
        family="the draws",
    )
    return Certificate(
        claim,
        gap,
        right(),
        (*ASSUMED, MINIMUM, START, BLOCKS),
        domain,
        uses=(
            (
                Fact(
                    "Prop. 3.5",
                    S / 2 * (client + server) - gap,
                    "",
                    derived=Instance(blocks),
                ),
                1,
            ),
            (
                Fact("both blocks", end - client - server, BLOCKS, equality=True),
                S / 2,
            ),
            (
                Fact(
                    "Delta_T <= v/(gamma+T)",
                    v / (gamma + t) - end,
                    "",
                    derived=_chain(claim, t),
                ),
                S / 2,
            ),
        ),
        statement="E f(x^T) - f* <= the bound",
    )


TELESCOPES = {"Delta_t": ("Delta_t+1", "Delta_0", "Delta_T")}


def general_convex_end(
    claim: str, right: Callable[[Any, Any, Any], Any]
) -> Certificate:
    r"""Return the telescoping sum of the recursion with $\mu=0$.

    $\frac1T\sum_t\eta^t(\mathbb Ef(x^t)-f^*)\le\frac{I_{err}}{2\tau T}
    +\frac{c_1\tau G^2}{2T}\sum_t(\eta^t)^2+\frac{Sc_d\tau^2G^2}T\sum_t(\eta^t)^3$.

    Args:
        claim: identifier of the claim.
        right: the bound from T, $\sum(\eta^t)^2$ and $\sum(\eta^t)^3$.
    """
    weighted = summed(rate, 1, "gap_t")
    start, end = atom("Delta_0"), atom("Delta_T")
    squares, cubes = rate_sum(rate, 2), rate_sum(rate, 3)
    (rounds,) = positive("T")
    k, G, a, b, d, r = free("k G a b d r")
    (s,) = positive("s")
    domain = Domain(
        "S > 0, mu = 0, any learning rates, T >= 1",
        {S: s, tau: 1 + k, G2: G, c1: a, cd: b, delta0: d, rounds: 1 + r},
        (s, k, G, a, b, d, r, squares, cubes),
    )
    total = Fact(
        "sum of the recursion over t < T (mu = 0)",
        start - end - 2 * tau * weighted + c1 * tau**2 * G2 * squares
        + 2 * S * cd * tau**3 * G2 * cubes,
        "",
        derived=RoundSum(
            _round(claim, sp.Integer(0), rate),
            rate,
            telescopes=TELESCOPES,
        ),
    )  # fmt: skip
    norm = Fact("Delta_T >= 0", end, "kernel")
    known = Fact("Delta_0 = I_err", delta0 - start, START, equality=True)
    share = 1 / (2 * tau * rounds)
    return Certificate(
        claim,
        weighted / rounds,
        right(rounds, squares, cubes),
        (*ASSUMED, START),
        domain,
        uses=((total, share), (norm, share), (known, share)),
        statement="(1/T) sum_t eta^t (E f(x^t) - f*) <= the bound",
    )


def strongly_convex(claim: str, right: Callable[[], Any]) -> tuple[Any, ...]:
    """Return builders of all certificates of a strongly convex case."""
    return (
        partial(one_round, claim),
        partial(base, claim),
        partial(induction, claim, True),
        partial(induction, claim, False),
        partial(strongly_convex_end, claim, right),
    )


def general_convex(
    claim: str, right: Callable[[Any, Any, Any], Any]
) -> tuple[Any, ...]:
    """Return builders of all certificates of a general convex case."""
    return (partial(one_round, claim), partial(general_convex_end, claim, right))
