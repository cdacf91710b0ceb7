r"""The nearest true statements to the false lines of one round.

(54), (91): the noise is not orthogonal to the gradients that follow it. (57), (94):
Lemma C.3 holds for the whole vector. (95): SFL-V2's server moves at $N\tau$ visits.
(157), (162): in SFL-V2 the mean over participation is not full participation.
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from sfl_theory.audits.han2024.convex_round import (
    BOUNDED,
    CONVEX,
    G2,
    LEMMA_C3,
    SMOOTH,
    UNBIASED,
    S,
    eta,
    lemma_c3,
    mu,
    tau,
)
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
from sfl_theory.evidence.kernel import KERNEL, bounded_partial_sums, young
from sfl_theory.evidence.local_sgd import summed_lemma

N, W2, Wq, total = positive("N sum_w_n^2 sum_w_n^2/q_n sum_w_n")
PARTICIPATION = "I_n ~ Bernoulli(q_n), independent of the samples"


def dependent_noise(claim: str) -> Certificate:
    r"""Return (54) with the cross term kept, by $2\langle M,Z\rangle\le M^2+Z^2$.

    $x_s^{t+1}=x_s-\eta(M+Z)$; Z has mean zero given $x^t$, so it is orthogonal to
    $x_s-x_s^*$, but M holds gradients taken after its first draws.
    """
    u, M, Z = vectors("x_s-x_s* M Z")
    e = free("e")[0]
    fresh = Fact("noise drawn after x^t", inner(u, Z), UNBIASED, equality=True)
    return Certificate(
        claim,
        norm2(u - (M + Z) * eta),
        norm2(u - M * eta) + eta**2 * norm2(M) + 2 * eta**2 * norm2(Z),
        (UNBIASED,),
        Domain("eta >= 0", {eta: e}, (e,)),
        uses=((fresh, 2 * eta),),
        squares=((M - Z, eta**2),),
        statement="E||x_s^t+1 - x_s*||^2 <= E||x_s - x_s* - eta M||^2 + "
        "eta^2 E||M||^2 + 2 eta^2 E||Z||^2",
    )


def whole_vector(claim: str) -> Certificate:
    r"""Return (57), (94) for both blocks together: Lemma C.3 at every local gradient.

    $P=\sum_nw_n\sum_i\mathbb E\langle\nabla F_n(p_n^i),x-x^*\rangle$, the gap is
    $\sum_nw_n\mathbb E(F_n(x)-F_n(x^*))$, $W=\sum_nw_n$.
    """
    P, gap, now, D = (atom(name) for name in ("P", "gap_t", "Delta_t", "D"))
    m, s, e, k, w = free("m s e k w")
    lemma = Use(
        lemma_c3(LEMMA_C3),
        at={"m": mu, "s": S - mu},
        vectors={"z": Vector({})},  # x^t is the origin
        atoms={
            "<grad_h(x),y>": -P,
            "h(z)": tau * gap,
            "h(y)": sp.Integer(0),
            "<y,y>": tau * total * now,
            "<x,x>": D,
        },
        family="clients and local steps, weights w_n",
    )
    fact = summed_lemma(P, gap, total * now, D, tau, mu, S, "")
    right = -2 * eta * (tau * gap + tau * total * mu / 4 * now - S * D)
    return Certificate(
        claim,
        -2 * eta * P,
        right,
        (SMOOTH, CONVEX, KERNEL),
        Domain(
            "S >= mu >= 0, eta >= 0, tau >= 1, sum_n w_n >= 0",
            {mu: m, S: m + s, eta: e, tau: 1 + k, total: w},
            (m, s, e, k, w),
        ),
        uses=((replace(fact, derived=Instance(lemma)), 2 * eta),),
        statement="-2 eta E sum_n sum_i w_n <x - x*, grad F_n(p_n^i)> <= -2 eta "
        "sum_n sum_i w_n E[F_n(x) - F_n(x*) + mu/4 ||x - x*||^2 - S ||p_n^i - x||^2]",
    )


def shared_server_drift(claim: str) -> Certificate:
    r"""Return (95) for one server that steps at all $N\tau$ visits, in any order.

    Before its k-th visit the server is off by $\eta$ times a sum of k stochastic
    gradients: the rule of partial sums with $N\tau$ steps.
    """
    drift = atom("sum_n sum_i E||x_s,n^i - x_s||^2")
    k, n, e, G = free("k n e G")
    visits = N * tau
    return Certificate(
        claim,
        drift,
        eta**2 * visits**3 * G2 / 3,
        (BOUNDED,),
        Domain(
            "tau, N >= 1, eta, G^2 >= 0",
            {tau: 1 + k, N: 1 + n, eta: e, G2: G},
            (k, n, e, G),
        ),
        uses=((bounded_partial_sums(drift, 1, eta**2, visits, G2, BOUNDED), 1),),
        statement="sum_n sum_i E||x_s,n^i - x_s||^2 <= eta^2 N^3 tau^3 G^2/3",
    )


def participation_distance(claim: str) -> Certificate:
    r"""Return (157), (162) with $1+\frac1{q_n}$ and a factor 2, for SFL-V2.

    $x'-x=-\eta\sum_nw_n\frac{I_n}{q_n}h_n$ and $\bar x'-x=-\eta\sum_nw_n\bar h_n$ are
    updates along two different runs. Cauchy-Schwarz over the clients bounds the first
    by $N\eta^2\sum_n\frac{w_n^2}{q_n^2}\mathbb E I_n\|h_n\|^2$, and given who takes
    part $\mathbb E\|h_n\|^2\le\tau^2G^2$; the second is the case $q_n=1$.
    """
    X, Y = vectors("x'-x xbar'-x")
    H, Hbar = atom("sum w_n^2/q_n^2 E I_n||h_n||^2"), atom("sum w_n^2 E||hbar_n||^2")
    present = atom("sum w_n^2/q_n E[||h_n||^2 | I_n = 1]")
    k, n, e, G, w, v = free("k n e G w v")
    factor = N * eta**2
    clients = "Cauchy-Schwarz over the clients"
    return Certificate(
        claim,
        norm2(X - Y),
        2 * N * tau**2 * eta**2 * G2 * (Wq + W2),
        (PARTICIPATION, BOUNDED, KERNEL),
        Domain(
            "tau, N >= 1, 0 < q_n <= 1, the rest >= 0",
            {tau: 1 + k, N: 1 + n, eta: e, G2: G, W2: w, Wq: w + v},
            (k, n, e, G, w, v),
        ),
        uses=(
            (young(X, Y * -1, 1), 1),
            (Fact(f"{clients}, x'", factor * H - norm2(X), KERNEL), 2),
            (Fact(f"{clients}, xbar'", factor * Hbar - norm2(Y), KERNEL), 2),
            (
                Fact(
                    "E I_n||h_n||^2 = q_n E[||h_n||^2 | I_n = 1]",
                    present - H,
                    PARTICIPATION,
                    equality=True,
                ),
                2 * factor,
            ),
            (
                Fact(
                    "E[||h_n||^2 | I_n = 1] <= tau^2 G^2",
                    tau**2 * G2 * Wq - present,
                    BOUNDED,
                ),
                2 * factor,
            ),
            (
                Fact("E||hbar_n||^2 <= tau^2 G^2", tau**2 * G2 * W2 - Hbar, BOUNDED),
                2 * factor,
            ),
        ),
        statement="E||x' - xbar'||^2 <= 2 N tau^2 eta^2 G^2 sum_n w_n^2 (1 + 1/q_n)",
    )
