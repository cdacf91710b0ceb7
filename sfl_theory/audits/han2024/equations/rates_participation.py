r"""Full against partial participation in SFL-V2: what is true of (168) without noise.

In SFL-V2 the points at which gradients are taken depend on who takes part, so the model
$\bar x$ of full participation is not the mean of x over participation and the paper's
$\mathbb E\|X-\mathbb EX\|^2\le\mathbb E\|X\|^2$ does not apply. Without gradient noise
and for convex functions the two runs can be compared visit by visit instead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sfl_theory.audits.han2024.convex import BOUNDED, G2, S, eta, tau
from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    atom,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.kernel import value

SMOOTH = "Assumptions 3.1 and C.2"
COUPLED = "SFL-V2's update without noise, both runs in the same order, eta <= 2/S"
MOMENT = f"{BOUNDED}; I_n ~ Bernoulli(q_n), independent of the order"


def coupling(distance: Any, pushes: Any, count: Any, steps: Any) -> Fact:
    r"""$\mathbb E\|\bar x_s-x_s\|^2\le N\tau\eta^2P$.

    $P=\sum_n\mathbb E[c_n^2\sum_i\|g_n^i\|^2]$, $c_n=\frac{I_n}{q_n}-1$ and
    $g_n^i$ the gradient of client n at its i-th point in the run with participation (of
    one that is absent: at the state it would see).
    Proof: let y and z be the states (all client blocks and the server block) of the two
    runs, equal at first. A visit to client n takes z to $T_nz$, $T_n$ a gradient step
    on $F_n$, a convex S-smooth function of the whole state, so nonexpansive for
    $\eta\le2/S$. It takes y to $T_ny$ plus a vector no longer than
    $\eta|c_n|\|g_n^i\|$: if n takes part the server moves by $\eta(\frac1{q_n}-1)$
    times its gradient more, if not neither block moves. So $\|y-z\|$ grows by
    $\eta|c_n|\|g_n^i\|$ at most, and Cauchy-Schwarz over the $N\tau$ visits ends it;
    the server block is a part of the state.

    Args:
        distance: the atom on the left.
        pushes: P.
        count: N.
        steps: $\tau$.

    Returns:
        The fact.
    """
    gap = count * steps * eta**2 * pushes - distance
    return Fact("two runs coupled visit by visit", gap, COUPLED)


def nonexpansive(claim: str) -> Certificate:
    r"""Return $\|x-\eta\nabla F(x)-y+\eta\nabla F(y)\|\le\|x-y\|$, $\eta\le2/S$."""
    d, gx, gy = vectors("x-y grad_F(x) grad_F(y)")
    s, h = positive("s")[0], free("h")[0]
    change = norm2(gx - gy) / (2 * S)
    facts = tuple(
        Fact(name, gap, SMOOTH, exact=True)
        for name, gap in (
            ("x -> y", value("F", "x") - value("F", "y") - inner(gy, d) - change),
            ("y -> x", value("F", "y") - value("F", "x") + inner(gx, d) - change),
        )
    )
    return Certificate(
        claim,
        norm2(d - eta * (gx - gy)),
        norm2(d),
        (SMOOTH,),
        Domain("S > 0, 0 < eta <= 2/S", {S: s, eta: 2 / (S * (1 + h))}, (s, h)),
        uses=tuple((fact, 2 * eta) for fact in facts),
        squares=((gx - gy, eta * (2 / S - eta)),),
        statement="||x - eta grad F(x) - y + eta grad F(y)|| <= ||x - y||",
    )


def distance(claim: str) -> Certificate:
    r"""Return (168) without noise; $\frac{1-q_n}{q_n}$ for $\frac1{q_n}$ would do."""
    apart, pushes = atom("E||xbar_s-x_s||^2"), atom("sum E c_n^2 sum_i ||g_n^i||^2")
    N, inverse = positive("N inverse")
    e, k, G, n, w = free("e k G n w")
    domain = Domain(
        "eta, G^2 >= 0, tau, N >= 1, sum_n 1/q_n >= N",
        {eta: e, tau: 1 + k, G2: G, N: 1 + n, inverse: N + w},
        (e, k, G, n, w),
    )
    # E c_n^2 = (1 - q_n)/q_n and ||g_n^i||^2 <= G^2 whoever takes part
    moment = Fact(
        "E c_n^2 = (1-q_n)/q_n, gradients bounded by G",
        tau * G2 * (inverse - N) - pushes,
        MOMENT,
    )
    return Certificate(
        claim,
        apart,
        N * tau**2 * eta**2 * G2 * inverse,
        (COUPLED, MOMENT),
        domain,
        uses=(
            (coupling(apart, pushes, N, tau), 1),
            (moment, N * tau * eta**2),
        ),
        statement="E||xbar_s - x_s||^2 <= N tau^2 eta^2 G^2 sum_n (1-q_n)/q_n <= "
        "N tau^2 eta^2 G^2 sum_n 1/q_n",
    )


def certificates(claim: str) -> tuple[Callable[[], Certificate], ...]:
    """Return builders: the map of a visit, the distance."""
    return partial(nonexpansive, claim), partial(distance, claim)
