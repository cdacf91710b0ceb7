r"""The true lines of one round: (55), (56), (58), (59) and their counterparts.

They hold for one block because they bound squares only, and a block of a vector is at
most as long as the vector. A client's weight is $w_n=a_n$ for SFL-V1's server and the
client side, $w_n=1$ for SFL-V2's server. $v_n^i=\nabla_sF_n(p_n^i)$ is the gradient at
the client's own local point, $\xi_n^i$ the noise of the stochastic gradient
$g_n^i=v_n^i+\xi_n^i$ taken there, of which the server's block enters.
"""

from __future__ import annotations

from typing import Any

from sfl_theory.audits.han2024.convex_round import BOUNDED, G2, UNBIASED, eta, tau
from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    atom,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.derivation import Instance, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.kernel import (
    KERNEL,
    Family,
    bounded,
    bounded_partial_sums,
    jensen,
)

N, W2, noise2, noise1 = positive(
    "N sum_w_n^2 sum_w_n^2_sigma_n^2 sum_a_n_sigma_n^2",
)
VARIANCE = "Assumption 3.2, variance"
DEFINITION = "definition of grad_s f at the local points"


def _domain() -> Domain:
    k, n, e, G, w, v, u = free("k n e G w v u")
    return Domain(
        "tau, N >= 1; eta, G^2, sigma_n^2, weights >= 0",
        {tau: 1 + k, N: 1 + n, eta: e, G2: G, W2: w, noise2: v, noise1: u},
        (k, n, e, G, w, v, u),
    )


def first_part(claim: str, weight: str = "a_n") -> Certificate:
    r"""Return (55) or (92): the square of $x_s-x_s^*-\eta M$ multiplied out.

    $M=\sum_{i<\tau}\sum_nw_nv_n^i$, which the paper calls
    $\sum_i\nabla_sf(x_c^{t,i},x_s^{t,i})$, has $N\tau$ terms.

    Args:
        claim: identifier of the claim.
        weight: $w_n$ in words, "a_n" or "1".

    Returns:
        The certificate.
    """
    u, M = vectors("x_s-x_s* M")
    terms = Family(f"{weight} v_n^i; n <= N, i < tau; weights 1", N * tau)
    named = Fact(
        f"M = sum_i sum_n {weight} v_n^i",
        terms.norm2_of_sum - norm2(M),
        DEFINITION,
        equality=True,
    )
    right = norm2(u) + eta**2 * tau * N * terms.sum_of_norm2 - 2 * eta * inner(u, M)
    return Certificate(
        claim,
        norm2(u - M * eta),
        right,
        (KERNEL, DEFINITION),
        _domain(),
        uses=((jensen(terms), eta**2), (named, eta**2)),
        statement="E||x_s - x_s* - eta M||^2 <= E||x_s - x_s*||^2 + eta^2 tau N "
        f"sum_n sum_i {weight}^2 E||v_n^i||^2 - 2 eta E<x_s - x_s*, M>",
    )


def _moments() -> tuple[Any, Any, Family]:
    r"""Return $\sum w_n^2\mathbb E\|v\|^2$, $\dots\|\xi\|^2$ and the family of g."""
    gradients = atom("sum_n sum_i w_n^2 E||v_n^i||^2")
    noise = atom("sum_n sum_i w_n^2 E||xi_n^i||^2")
    return gradients, noise, Family("g_n^i; n, i < tau; weights w_n^2", tau * W2)


def moment_split(claim: str) -> Certificate:
    r"""Return the first inequality of (56), (93) (printed "="), true with slack.

    $\mathbb E\|v\|^2=\mathbb E\|g\|^2-\mathbb E\|\xi\|^2$, as the noise is orthogonal
    to the gradient.
    """
    gradients, noise, stochastic = _moments()
    variance = Fact(
        "E||g||^2 = E||v||^2 + E||g - v||^2",
        stochastic.sum_of_norm2 - gradients - noise,
        UNBIASED,
        equality=True,
    )
    factor = eta**2 * tau * N
    return Certificate(
        claim,
        factor * gradients,
        factor * (noise + stochastic.sum_of_norm2),
        (UNBIASED, KERNEL),
        _domain(),
        uses=((variance, factor), (Fact("a square", noise, KERNEL), 2 * factor)),
        statement="eta^2 tau N sum w_n^2 E||v||^2 <= eta^2 tau N sum w_n^2 "
        "(E||v - g||^2 + E||g||^2)",
    )


def _variance(noise: Any) -> Fact:
    """Return the variance, summed over clients and steps; of a block at most."""
    return Fact("E||xi_n^i||^2 <= sigma_n^2, summed", tau * noise2 - noise, VARIANCE)


def moment_bound(claim: str) -> Certificate:
    """Return the second inequality of (56), (93): variance and second moment."""
    _, noise, stochastic = _moments()
    factor = eta**2 * tau * N
    return Certificate(
        claim,
        factor * (noise + stochastic.sum_of_norm2),
        eta**2 * tau**2 * N * (noise2 + W2 * G2),
        (VARIANCE, BOUNDED),
        _domain(),
        uses=(
            (_variance(noise), factor),
            (bounded(stochastic, G2, BOUNDED), factor),
        ),
        statement="<= eta^2 tau^2 N sum_n w_n^2 (sigma_n^2 + G^2)",
    )


def block_drift(claim: str) -> Certificate:
    r"""Return (58): every client's copy of the server block drifts by itself.

    $x_{s,n}^{t,i}-x_s^t=-\eta\sum_{j<i}g_{s,n}^j$ and $\mathbb E\|g_{s,n}^j\|^2\le
    \mathbb E\|g_n^j\|^2\le G^2$; no condition on the learning rate.
    """
    drift = atom("sum_n a_n sum_i E||x_s,n^i - x_s||^2")
    return Certificate(
        claim,
        drift,
        12 * tau**3 * eta**2 * (2 * noise1 + G2),
        (BOUNDED,),
        _domain(),
        uses=((bounded_partial_sums(drift, 1, eta**2, tau, G2, BOUNDED), 1),),
        statement="sum_n a_n sum_i E||x_s,n^i - x_s||^2 <= 12 sum_n a_n tau^3 eta^2 "
        "(2 sigma_n^2 + G^2)",
    )


def _noise_of_a_step() -> Any:
    return atom("sum_i E||sum_n w_n xi_n^i||^2")


def noise_over_steps(claim: str) -> Certificate:
    """Return the first inequality of (59), (96): Cauchy-Schwarz over the steps."""
    steps = Family("sum_n w_n xi_n^i; i < tau; weights 1", tau)
    named = Fact(
        "the family's sum of squares",
        steps.sum_of_norm2 - _noise_of_a_step(),
        "definition",
        equality=True,
    )
    return Certificate(
        claim,
        steps.norm2_of_sum,
        tau * _noise_of_a_step(),
        (KERNEL, "definition"),
        _domain(),
        uses=((jensen(steps), 1), (named, -tau)),
        statement="E||sum_i sum_n w_n xi_n^i||^2 <= tau sum_i E||sum_n w_n xi_n^i||^2",
    )


def _over_clients(claim: str) -> tuple[Certificate, Family]:
    """Return Cauchy-Schwarz over the clients, at one step, and its vectors."""
    clients = Family("w_n xi_n^i; n <= N; weights 1", N)
    n = free("n")[0]
    certificate = Certificate(
        claim,
        clients.norm2_of_sum,
        N * clients.sum_of_norm2,
        (KERNEL,),
        Domain("N >= 1", {N: 1 + n}, (n,)),
        uses=((jensen(clients), 1),),
        statement="E||sum_n w_n xi_n^i||^2 <= N sum_n w_n^2 E||xi_n^i||^2",
    )
    return certificate, clients


def noise_over_clients(claim: str) -> Certificate:
    """Return the second inequality of (59), (96): over clients, then the variance."""
    source, clients = _over_clients(claim)
    noise = _moments()[1]
    use = Use(
        source,
        at={"n": N - 1},
        atoms={
            str(clients.norm2_of_sum): _noise_of_a_step(),
            str(clients.sum_of_norm2): noise,
        },
        family="the steps i < tau",
    )
    at_every_step = Fact(
        "Cauchy-Schwarz over the clients, at every step",
        N * noise - _noise_of_a_step(),
        KERNEL,
        derived=Instance(use),
    )
    return Certificate(
        claim,
        tau * _noise_of_a_step(),
        N * noise2 * tau**2,
        (KERNEL, VARIANCE),
        _domain(),
        uses=((at_every_step, tau), (_variance(noise), tau * N)),
        statement="<= N sum_n w_n^2 sigma_n^2 tau^2",
    )


MOMENTS = (moment_split, moment_bound)
NOISE = (noise_over_steps, noise_over_clients)
