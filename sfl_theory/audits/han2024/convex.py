r"""Convex cases: one joint recursion for both blocks, and what follows from it.

The paper's recursions for one block (Lemmas D.1, E.1) are false: a block does not earn
the whole gap $f(x^t)-f^*$. The joint one is true for $\tau=\tilde\tau$ and needs no
step-size condition, for bounded gradients bound the drift directly:

$$\Delta_{t+1}\le\left(1-\tfrac{\eta\tau\mu}2\right)\Delta_t-2\eta\tau(\mathbb E
f(x^t)-f^*)+c_1\eta^2\tau^2G^2+2Sc_d\eta^3\tau^3G^2,\qquad\Delta_t=\mathbb
E\|x^t-x^*\|^2,$$

with $c_1,c_d$ of the algorithm (``local_sgd.second_moment``, ``bounded_drift``). With
$\eta^t\tau=4/(\mu(\gamma+t))$ an induction gives $\Delta_t\le v/(\gamma+t)$; with
$\mu=0$ a telescoping sum bounds the weighted mean of the gaps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    atom,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.kernel import convex_lower, smooth_upper, value, young
from sfl_theory.evidence.local_sgd import bounded_drift, second_moment, summed_lemma

S, mu, eta, tau, G2, c1, cd = positive("S mu eta tau G2 c_1 c_d")
gamma, t, v, delta0, gap0 = positive("gamma t v Delta_0 gap")

LEMMA_C3 = "han2024/lemma-C.3"
SMOOTH = "Assumption 3.1"
CONVEX = "Assumption C.2"
BOUNDED = "Assumption 3.3"
UPDATE = "the algorithm's update, tau = tau_server"
ROUND = "the recursion of one round"
INDUCTION = "induction hypothesis"
DEFINITION = "definition"


def lemma_c3(claim: str) -> Certificate:
    r"""Return the proof of Lemma C.3.

    $\langle\nabla h(x),z-y\rangle\ge h(z)-h(y)+\frac\mu4\|y-z\|^2-S\|z-x\|^2$.
    """
    x, y, z, g = vectors("x y z grad_h(x)")
    m, s = free("m s")
    right = inner(g, z - y)
    left = value("h", "z") - value("h", "y") + mu / 4 * norm2(y - z)
    left -= S * norm2(z - x)
    return Certificate(
        claim,
        left,
        right,
        (SMOOTH, CONVEX, "kernel"),
        Domain("S >= mu >= 0", {mu: m, S: m + s}, (m, s)),
        uses=(
            (smooth_upper("h", "x", "z", z - x, g, S, SMOOTH), 1),
            (convex_lower("h", "x", "y", y - x, g, mu, CONVEX), 1),
            # ||y-z||^2 <= 2||y-x||^2 + 2||x-z||^2
            (young(y - x, x - z, 1), mu / 4),
        ),
        squares=((z - x, (S - mu) / 2),),
        statement="<grad h(x), z-y> >= h(z) - h(y) + mu/4 ||y-z||^2 - S ||z-x||^2",
    )


def decomposition(claim: str) -> Certificate:
    r"""Return the proof of Prop. 3.5; f is S-smooth as a mean of such functions."""
    xc, xs, gc, gs = vectors("x_c-x_c* x_s-x_s* grad_c_f(x*) grad_s_f(x*)")
    (s,) = positive("s")
    upper = Fact(
        "f smooth, x* -> x^T",
        value("f", "x*")
        + inner(gc, xc)
        + inner(gs, xs)
        + S / 2 * (norm2(xc) + norm2(xs))
        - value("f", "x^T"),
        SMOOTH,
    )
    stationary = [
        Fact("grad f(x*) = 0", inner(g, x), "x* minimises f", equality=True)
        for g, x in ((gc, xc), (gs, xs))
    ]
    return Certificate(
        claim,
        value("f", "x^T") - value("f", "x*"),
        S / 2 * (norm2(xc) + norm2(xs)),
        (SMOOTH, "x* minimises f"),
        Domain("S > 0", {S: s}, (s,)),
        uses=((upper, 1), (stationary[0], -1), (stationary[1], -1)),
        statement="f(x^T) - f* <= S/2 (||x_s - x_s*||^2 + ||x_c - x_c*||^2)",
    )


def one_round(claim: str) -> Certificate:
    """Return the joint recursion of one round."""
    now, then, gap, P, Q, D = (
        atom(name) for name in ("Delta_t", "Delta_t+1", "gap_t", "P", "Q", "D")
    )
    m, s, e, k, G, a, b = free("m s e k G a b")
    domain = Domain(
        "S >= mu >= 0, eta > 0, tau >= 1, G^2, c_1, c_d >= 0",
        {mu: m, S: m + s, eta: e, tau: 1 + k, G2: G, c1: a, cd: b},
        (m, s, e, k, G, a, b),
    )
    # ||x' - x*||^2 = ||x - x*||^2 - 2 eta <sum w h, x - x*> + eta^2 ||sum w h||^2
    update = Fact(
        "square of the update", then - now + 2 * eta * P - eta**2 * Q, UPDATE,
        equality=True,
    )  # fmt: skip
    right = (1 - eta * tau * mu / 2) * now - 2 * eta * tau * gap
    right += c1 * eta**2 * tau**2 * G2 + 2 * S * cd * eta**3 * tau**3 * G2
    return Certificate(
        claim,
        then,
        right,
        (UPDATE, LEMMA_C3, BOUNDED),
        domain,
        uses=(
            (update, -1),
            (summed_lemma(P, gap, now, D, tau, mu, S, LEMMA_C3), 2 * eta),
            (second_moment(Q, c1, tau, G2, BOUNDED), eta**2),
            (bounded_drift(D, cd, eta, tau, G2, BOUNDED), 2 * eta * S),
        ),
        statement="Delta_t+1 <= (1 - eta tau mu/2) Delta_t - 2 eta tau (E f(x^t) - f*)"
        " + c_1 eta^2 tau^2 G^2 + 2 S c_d eta^3 tau^3 G^2",
    )


def participation_distance(claim: str) -> Certificate:
    r"""Return the proof of (127) and (132).

    The update under participation, $X=\eta\sum_n\frac{a_nI_n}{q_n}h_n$, has the update
    under full participation as its mean over I, so
    $\mathbb E\|X-\mathbb E_IX\|^2\le\mathbb E\|X\|^2\le N\eta^2\sum_n\frac{a_n^2}{q_n}
    \mathbb E\|h_n\|^2$ (Cauchy-Schwarz over clients, $\mathbb EI_n^2=q_n$), and
    $\mathbb E\|h_n\|^2\le\tau^2G^2$.
    """
    distance, size = atom("E||X - E_I X||^2"), atom("E||X||^2")
    mean = atom("E||E_I X||^2")
    total = atom("sum a_n^2/q_n E||h_n||^2")
    N, weight = positive("N weight")
    e, k, G, n, w = free("e k G n w")
    domain = Domain(
        "eta, G^2, sum a_n^2/q_n >= 0, tau, N >= 1",
        {eta: e, tau: 1 + k, G2: G, N: 1 + n, weight: w},
        (e, k, G, n, w),
    )
    participating = "independent participation"
    return Certificate(
        claim,
        distance,
        N * tau**2 * eta**2 * G2 * weight,
        (participating, BOUNDED, "kernel"),
        domain,
        uses=(
            (
                Fact(
                    "E||X||^2 = E||X - E_I X||^2 + E||E_I X||^2",
                    size - distance - mean,
                    participating,
                    equality=True,
                ),
                1,
            ),
            (Fact("a squared norm", mean, "kernel"), 1),
            (
                Fact(
                    "Cauchy-Schwarz over clients, E I_n^2 = q_n",
                    N * eta**2 * total - size,
                    participating,
                ),
                1,
            ),
            (
                Fact("E||h_n||^2 <= tau^2 G^2", tau**2 * G2 * weight - total, BOUNDED),
                N * eta**2,
            ),
        ),
        statement="E||xbar - x||^2 <= N tau^2 eta^2 G^2 sum_n a_n^2/q_n",
    )


def _noise() -> tuple[Any, Any]:
    r"""Return $b_1,b_2$: $c_1\alpha^2G^2$ and $2Sc_d\alpha^3G^2$ at $\alpha=4/\mu$."""
    return 16 * c1 * G2 / mu**2, 128 * S * cd * G2 / mu**3


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
    s, k, G, a, b, u = free("s k G a b u")
    (m,) = positive("m")
    time = 0 if first else 1 + k
    domain = Domain(
        f"S >= mu > 0, c_d <= 7 c_1, {'t = 0' if first else 't >= 1'}, "
        "v >= b_1 + b_2/(gamma+1)",
        {
            mu: m,
            S: m + s,
            gamma: 8 * S / mu - 1,
            t: 0 * k + time,
            G2: G,
            c1: a + b / 7,
            cd: b,
            v: b1 + b2 / (gamma + 1) + u,
        },
        (m, s, k, G, a, b, u),
    )
    rate = 2 / (gamma + t)
    recursion = Fact(
        "one round at eta tau = 4/(mu(gamma+t))",
        (1 - rate) * now - 8 / (mu * (gamma + t)) * gap
        + b1 / (gamma + t) ** 2 + b2 / (gamma + t) ** 3 - then,
        ROUND,
    )  # fmt: skip
    before = Fact("Delta_t <= v/(gamma+t)", v / (gamma + t) - now, INDUCTION)
    positive_gap = Fact("f(x^t) >= f*", gap, "x* minimises f")
    return Certificate(
        claim,
        then,
        v / (gamma + t + 1),
        (ROUND, INDUCTION, "x* minimises f"),
        domain,
        uses=(
            (recursion, 1),
            (before, 1 - rate),
            (positive_gap, 8 / (mu * (gamma + t))),
        ),
        statement=f"Delta_t <= v/(gamma+t) implies Delta_t+1 <= v/(gamma+t+1), "
        f"{'t = 0' if first else 't >= 1'}",
    )


def base(claim: str) -> Certificate:
    r"""Return the start: $\Delta_0\le v/\gamma$ as $v\ge(\gamma+1)\Delta_0$."""
    start = atom("Delta_0")
    s, u = free("s u")
    (m,) = positive("m")
    domain = Domain(
        "S >= mu > 0", {mu: m, S: m + s, gamma: 8 * S / mu - 1, v: u}, (m, s, u)
    )
    definition = Fact("v >= (gamma+1) Delta_0", v - (gamma + 1) * start, DEFINITION)
    norm = Fact("Delta_0 >= 0", start, "kernel")
    return Certificate(
        claim,
        start,
        v / gamma,
        (DEFINITION, "kernel"),
        domain,
        uses=((definition, 1 / gamma), (norm, 1 / gamma)),
        statement="Delta_0 <= v/gamma",
    )


def strongly_convex_end(claim: str, right: Callable[[], Any]) -> Certificate:
    r"""Return the end: Prop. 3.5 and $v\le b_1+b_2/(\gamma+1)+(\gamma+1)I_{err}$.

    Args:
        claim: identifier of the claim.
        right: the bound in the symbols of this module, $I_{err}$ as ``delta0``.
    """
    gap, end, top = atom("gap_T"), atom("Delta_T"), atom("v")
    b1, b2 = _noise()
    s, k, G, a, b, d = free("s k G a b d")
    (m,) = positive("m")
    domain = Domain(
        "S >= mu > 0, T >= 0",
        {
            mu: m,
            S: m + s,
            gamma: 8 * S / mu - 1,
            t: k,
            G2: G,
            c1: a,
            cd: b,
            delta0: d,
        },
        (m, s, k, G, a, b, d),
    )
    largest = b1 + b2 / (gamma + 1) + (gamma + 1) * delta0
    return Certificate(
        claim,
        gap,
        right(),
        ("han2024/prop-3.5", INDUCTION, DEFINITION),
        domain,
        uses=(
            (Fact("Prop. 3.5", S / 2 * end - gap, "han2024/prop-3.5"), 1),
            (Fact("Delta_T <= v/(gamma+T)", top / (gamma + t) - end, INDUCTION), S / 2),
            (
                Fact("max <= sum of non-negatives", largest - top, DEFINITION),
                S / (2 * (gamma + t)),
            ),
        ),
        statement="E f(x^T) - f* <= the bound",
    )


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
    weighted, end = atom("sum eta gap"), atom("Delta_T")
    squares, cubes, rounds = positive("E2 E3 T")
    s, k, G, a, b, d, e2, e3, r = free("s k G a b d e2 e3 r")
    domain = Domain(
        "S > 0, mu = 0, any learning rates, T >= 1",
        {
            S: s,
            tau: 1 + k,
            G2: G,
            c1: a,
            cd: b,
            delta0: d,
            squares: e2,
            cubes: e3,
            rounds: 1 + r,
        },
        (s, k, G, a, b, d, e2, e3, r),
    )
    summed = Fact(
        "sum of the recursion over t < T (mu = 0)",
        delta0 - end - 2 * tau * weighted + c1 * tau**2 * G2 * squares
        + 2 * S * cd * tau**3 * G2 * cubes,
        ROUND,
    )  # fmt: skip
    norm = Fact("Delta_T >= 0", end, "kernel")
    return Certificate(
        claim,
        weighted / rounds,
        right(rounds, squares, cubes),
        (ROUND, "kernel"),
        domain,
        uses=((summed, 1 / (2 * tau * rounds)), (norm, 1 / (2 * tau * rounds))),
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
