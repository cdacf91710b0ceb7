r"""One round of the convex cases: the joint recursion and the lemmas that it uses.

The paper's recursions for one block (Lemmas D.1, E.1) are false: a block does not earn
the whole gap $f(x^t)-f^*$. The joint one is true for $\tau=\tilde\tau$ and needs no
step-size condition, for bounded gradients bound the drift directly:

$$\Delta_{t+1}\le\left(1-\tfrac{\eta\tau\mu}2\right)\Delta_t-2\eta\tau(\mathbb E
f(x^t)-f^*)+c_1\eta^2\tau^2G^2+2Sc_d\eta^3\tau^3G^2,\qquad\Delta_t=\mathbb
E\|x^t-x^*\|^2,$$

with $c_1,c_d$ of the algorithm (``local_sgd.second_moment``, ``bounded_drift``).
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    Vector,
    atom,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.derivation import Instance, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.kernel import convex_lower, smooth_upper, value, young
from sfl_theory.evidence.local_sgd import bounded_drift, second_moment, summed_lemma

S, mu, eta, tau, G2, c1, cd = positive("S mu eta tau G2 c_1 c_d")

LEMMA_C3 = "han2024/lemma-C.3"
SMOOTH = "Assumption 3.1"
CONVEX = "Assumption C.2"
UNBIASED = "Assumption 3.2, unbiased gradients"
BOUNDED = "Assumption 3.3"
UPDATE = "the algorithm's update, tau = tau_server"
ASSUMED = (UPDATE, UNBIASED, SMOOTH, CONVEX, BOUNDED, "kernel")
"""What the recursion of one round assumes."""


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
    lemma = Use(
        lemma_c3(LEMMA_C3),
        at={"m": mu, "s": S - mu},
        # x^t is the origin; P, tau gap, tau Delta, D are the sums over n and i
        vectors={"z": Vector({})},
        atoms={
            "<grad_h(x),y>": -P,
            "h(z)": tau * gap,
            "h(y)": sp.Integer(0),
            "<y,y>": tau * now,
            "<x,x>": D,
        },
        family="clients and local steps, weights a_n or a_n I_n/q_n",
    )
    at_gradients = replace(
        summed_lemma(P, gap, now, D, tau, mu, S, UNBIASED), derived=Instance(lemma)
    )
    right = (1 - eta * tau * mu / 2) * now - 2 * eta * tau * gap
    right += c1 * eta**2 * tau**2 * G2 + 2 * S * cd * eta**3 * tau**3 * G2
    return Certificate(
        claim,
        then,
        right,
        ASSUMED,
        domain,
        uses=(
            (update, -1),
            (at_gradients, 2 * eta),
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
        "eta, G^2 >= 0, tau, N >= 1, sum a_n^2/q_n >= 1/N by Cauchy-Schwarz",
        {eta: e, tau: 1 + k, G2: G, N: 1 + n, weight: 1 / N + w},
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


def participation_variance(claim: str) -> Certificate:
    r"""Return (127) without the factor N.

    The $I_n$ are independent of each other and of the $h_n$, so the terms of
    $X-\mathbb E_IX=\eta\sum_na_n(\frac{I_n}{q_n}-1)h_n$ are orthogonal:
    $\mathbb E\|X-\mathbb E_IX\|^2=\eta^2\sum_na_n^2\frac{1-q_n}{q_n}
    \mathbb E\|h_n\|^2\le\eta^2\sum_n\frac{a_n^2}{q_n}\mathbb E\|h_n\|^2$.
    """
    loose = participation_distance(claim)
    bounded, factor = loose.uses[-1]
    (N,) = positive("N")
    distance, total = loose.left, atom("sum a_n^2/q_n E||h_n||^2")
    variance = Fact(
        "variance over participation, client by client",
        eta**2 * total - distance,
        "independent participation",
    )
    return replace(
        loose,
        right=loose.right / N,
        uses=((variance, sp.Integer(1)), (bounded, factor / N)),
        hypotheses=loose.hypotheses[:2],
        statement="E||xbar - x||^2 <= tau^2 eta^2 G^2 sum_n a_n^2/q_n",
    )
