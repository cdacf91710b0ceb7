r"""SFL-V2, non-convex, partial participation: weighted server steps.

(22) is false for unequal weights, as the server steps by $\eta g_{s,n}/q_n$ whatever
$a_n$. With server steps $\eta\frac{a_n}{q_n}g_{s,n}$ (for $a_n=1/N$: the printed
algorithm with the server's rate divided by N), participants drawn independently of each
other and of the samples, any order of the visits and $\eta\le1/(8S\tau\kappa)$,
$\kappa=\sum_na_n/q_n$, one round satisfies

$$\frac{\eta\tau}4\|\nabla f(x)\|^2\le f(x)-\mathbb Ef(x')+\frac58S\eta^2
[\tau\sigma_q+2\rho\tau^2\epsilon^2]+S^2\eta^3\tau^2\left[\tfrac52\kappa^2\tau\epsilon^2
+\sigma_a+2\kappa\sigma_q\right],$$

$\rho=\sum_na_n^2\frac{1-q_n}{q_n}$, $\sigma_q=\sum_n\frac{a_n^2}{q_n}\sigma_n^2$,
$\sigma_a=\sum_na_n\sigma_n^2$. With $S\eta\tau\kappa\le\frac18$ the cubic terms become
quadratic ones, and what results is at most (22) as printed. Vectors and rules:
``sfl_theory.evidence.participation``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import sympy as sp

from sfl_theory import symbols
from sfl_theory.bound import Bound
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
from sfl_theory.evidence.kernel import value
from sfl_theory.evidence.local_sgd import heterogeneity, local_gradients
from sfl_theory.evidence.participation import (
    centred,
    deviation_variance,
    mean_deviation,
    participating_drift,
    participating_gradients,
    participating_noise,
)
from sfl_theory.evidence.round_sum import RoundSum, rate_sum, summed
from sfl_theory.papers import repaired, repaired_non_convex

S, eta, tau, kappa, rho = positive("S eta tau kappa rho")
sigma_a, sigma_q, eps2 = positive("sigma_a sigma_q epsilon2")
(rate,) = positive("eta^t")

SMOOTH = "Assumption C.1 (24), gradients S-Lipschitz"
NOISE = "Assumption 3.2, participation independent of the samples"
HETEROGENEOUS = "Assumption 3.4"
UPDATE = "SFL-V2 with server steps eta a_n/q_n g, noise as in Assumption 3.2"
HYPOTHESES = (SMOOTH, NOISE, HETEROGENEOUS, UPDATE)
RATES = "eta^t <= 1/(8 S tau sum a_n/q_n)"
MINIMUM = "x* minimises f"
START = "F_err = f(x^0) - f*"
C = sp.Rational(1, 4)
"""Constant of both uses of Young's inequality."""

SHARP = (
    sp.Rational(5, 8) * S * eta**2 * (tau * sigma_q + 2 * rho * tau**2 * eps2)
    + S**2 * eta**3 * tau**2
    * (sp.Rational(5, 2) * kappa**2 * tau * eps2 + sigma_a + 2 * kappa * sigma_q)
)  # fmt: skip
QUADRATIC = (
    S * eta**2 / 8
    * (tau * (7 * sigma_q + sigma_a)
       + sp.Rational(5, 2) * tau**2 * (4 * rho + kappa) * eps2)
)  # fmt: skip


def _domain() -> Domain:
    r"""Return the parameters; $\rho\le\sum_na_n\frac{1-q_n}{q_n}=\kappa-1$."""
    k, h, r, m, x, y, e = free("k h r m x y e")
    (s,) = positive("s")
    return Domain(
        "eta <= 1/(8 S tau sum a_n/q_n), sum a_n^2 (1-q_n)/q_n <= sum a_n/q_n - 1",
        {
            tau: 1 + k,
            S: s,
            rho: r,
            kappa: 1 + r + m,
            eta: 1 / (s * (1 + k) * (1 + r + m) * (8 + h)),
            sigma_a: x,
            sigma_q: y,
            eps2: e,
        },
        (k, h, r, m, x, y, e, s),
    )


def one_round(claim: str) -> Certificate:
    """Return the certificate of one round (formula in the module's docstring)."""
    g, B, L, V, Z = vectors("grad_f B L V Z")
    D, Gamma, F = atom("D"), atom("Gamma"), atom("F")
    gradient2 = norm2(g)
    update = tau * g + B + L + V + Z
    descent = Fact(
        "f smooth, x -> x' = x - eta (tau grad f(x) + B + L + V + Z)",
        value("f", "x")
        - eta * inner(g, update)
        + S / 2 * eta**2 * norm2(update)
        - value("f", "x'"),
        SMOOTH,
    )
    half = S / 2 * eta**2
    # Multipliers of the facts about <g, .>, <B, .> and <L, Z>: they cancel the mixed
    # terms of the descent lemma.
    mixed = (*(eta - 2 * half * tau,) * 3, *(-2 * half,) * 3, -2 * half * (1 + C))
    lam_b, lam_v = eta / (2 * tau), half * (1 + 1 / C)
    theta = 2 * kappa**2 * eta**2 * tau**2
    lam_d = (
        (lam_b * tau + lam_v * kappa * tau) * S**2 / (1 - (1 + 1 / C) * S**2 * theta)
    )
    lam_gamma = lam_d * theta
    lam_f = lam_gamma * (1 + C) * tau
    zero = centred((g, B), L, V, Z, NOISE)
    drift = participating_drift(D, Gamma, eta, tau, kappa, sigma_a, sigma_q, UPDATE)
    spread = participating_gradients(L, gradient2, eps2, tau, rho, HETEROGENEOUS)
    uses: tuple[tuple[Fact, Any], ...] = (
        (descent, 1),
        *zip(zero, mixed, strict=True),
        (mean_deviation(B, D, tau, S, SMOOTH), lam_b),
        (deviation_variance(B, V, D, tau, kappa, S, SMOOTH), lam_v),
        (spread, half * (1 + C)),
        (participating_noise(Z, tau, sigma_q, NOISE), half * (1 + C)),
        (drift, lam_d),
        (local_gradients(Gamma, F, D, tau, S, C, SMOOTH), lam_gamma),
        (heterogeneity(F, gradient2, eps2, 1, 1, HETEROGENEOUS), lam_f),
    )
    return Certificate(
        claim=claim,
        left=eta * tau / 4 * gradient2,
        right=value("f", "x") - value("f", "x'") + SHARP,
        hypotheses=HYPOTHESES,
        domain=_domain(),
        uses=uses,
        squares=(
            (tau * g + B, eta / (2 * tau) - half),
            (L + Z - V * (1 / C), half * C),
            (B, lam_v),
            (g, eta * tau / 4 - 2 * half * (1 + C) * rho * tau**2 - lam_f),
        ),
        statement="eta tau/4 ||grad f(x)||^2 <= f(x) - E f(x') + 5/8 S eta^2 [tau "
        "sum a_n^2/q_n sigma_n^2 + 2 tau^2 rho eps^2] + S^2 eta^3 tau^2 [5/2 kappa^2 "
        "tau eps^2 + sum a_n sigma_n^2 + 2 kappa sum a_n^2/q_n sigma_n^2]",
    )


def quadratic(claim: str) -> Certificate:
    r"""Return the same with $S\eta\tau\kappa\le\frac18$ put into the cubic terms."""
    gradient2, before, after = _objects()
    sharp = Fact(
        "one round",
        before - after + SHARP - eta * tau / 4 * gradient2,
        "",
        derived=Instance(_use(one_round(claim), eta)),
    )
    return Certificate(
        claim,
        eta * tau / 4 * gradient2,
        before - after + QUADRATIC,
        HYPOTHESES,
        _domain(),
        uses=((sharp, 1),),
        statement="eta tau/4 ||grad f(x)||^2 <= f(x) - E f(x') + S eta^2/8 "
        "[tau sum_n (7 a_n^2/q_n + a_n) sigma_n^2 + 5/2 tau^2 (4 rho + kappa) eps^2]",
    )


def summed_rounds(
    claim: str, bound: Bound, sharp: bool, twice: Certificate | None = None
) -> Certificate:
    """Return the sum over rounds that ends in a repaired (22).

    Args:
        claim: identifier of the claim.
        bound: the repaired (22), in quadratic or in sharp form.
        sharp: which of them.
        twice: a round with twice the squared gradient; half of the bound follows.

    Returns:
        The certificate.
    """
    one = twice or (one_round(claim) if sharp else quadratic(claim))
    gain = 2 if twice else 1
    terms = sp.Poly(SHARP if sharp else QUADRATIC, eta).terms()
    noise = sum(c * rate_sum(rate, power) for (power,), c in terms)
    gradient2, before, after = _objects()
    start, end = atom("f(x^0)"), atom("f(x^T)")
    weighted = summed(rate, 1, str(gradient2))
    floor = atom("f*")
    domain = _domain().extended(
        values={symbols.T: 1 + free("T-1")[0]},
        free=(free("T-1")[0], symbols.F_err, rate_sum(rate, 2), rate_sum(rate, 3)),
    )
    total = Fact(
        "sum of one round over t < T",
        start - end + noise - gain * tau / 4 * weighted,
        "",
        derived=RoundSum(
            _use(one, rate),
            rate,
            telescopes={str(before): (str(after), str(start), str(end))},
            condition=(1 - 8 * S * tau * kappa * rate,),
            words=RATES,
        ),
    )
    share = 4 / (gain * tau * symbols.T)
    return Certificate(
        claim,
        weighted / symbols.T,
        sum(_in_parameters(part) for part in bound.parts.values()) / gain,
        (*HYPOTHESES, RATES, MINIMUM, START),
        domain,
        uses=(
            (total, share),
            (Fact("f(x^T) >= f*", end - floor, MINIMUM), share),
            (Fact("F_err", symbols.F_err - start + floor, START, equality=True), share),
        ),
        statement="(1/T) sum_t eta^t E||grad f(x^t)||^2 <= "
        + ("half the bound" if twice else "the bound"),
    )


def _objects() -> tuple[Any, Any, Any]:
    r"""Return the atoms $\|\nabla f(x)\|^2$, $f(x)$ and $f(x')$."""
    return atom("||grad f(x)||^2"), value("f", "x"), value("f", "x'")


def _use(one: Certificate, at: Any) -> Use:
    """Return a certificate of one round at the same parameters and some rate."""
    names = {
        "k": tau - 1,
        "s": S,
        "r": rho,
        "m": kappa - 1 - rho,
        "h": 1 / (S * tau * kappa * at) - 8,
        "x": sigma_a,
        "y": sigma_q,
        "e": eps2,
    }
    return Use(one, names, atoms={"<grad_f,grad_f>": _objects()[0]})


def _in_parameters(part: Any) -> Any:
    """Return a term of a bound in the parameters of this module."""
    learning_rate = symbols.eta(symbols.t)
    return part.xreplace({
        symbols.over_rounds(learning_rate**2): rate_sum(rate, 2),
        symbols.over_rounds(learning_rate**3): rate_sum(rate, 3),
        repaired.partial_noise: 7 * sigma_q + sigma_a,
        repaired.partial_spread: 4 * rho + kappa,
        repaired.inverse: kappa,
        repaired.excess: rho,
        repaired.noise_inverse: sigma_q,
        repaired.noise_mean: sigma_a,
        symbols.epsilon: sp.sqrt(eps2),
        symbols.S: S,
        symbols.tau: tau,
    })


def printed_follows(claim: str, printed: Bound) -> Certificate:
    r"""Show that the repaired (22) is at most (22) as printed.

    Term by term: the initial gap is the same, and for every client the coefficients of
    $\sigma_n^2$ and of $\epsilon^2$ in the sum over $(\eta^t)^2$ are no larger, as
    $0<a_n\le1$, $0<q_n\le1$, $N,\tau\ge1$.

    Args:
        claim: identifier of the claim.
        printed: (22).

    Returns:
        The certificate, for the summand of one client.
    """
    bound = repaired_non_convex.non_convex_v2_partial()
    rounds = symbols.over_rounds(symbols.eta(symbols.t) ** 2)
    a, q, sigma = (base[symbols.n] for base in (symbols.a, symbols.q, symbols.sigma))
    weight, chance, variance, squares = positive("a_n q_n sigma_n2 E2")
    names = {a: weight, q: chance, sigma: sp.sqrt(variance), rounds: squares}

    def of_one_client(part: Any) -> Any:
        inside = part.replace(
            lambda node: isinstance(node, sp.Sum) and node.limits[0][0] == symbols.n,
            lambda node: node.function,
        )
        return inside.xreplace(names)

    ours, theirs = (
        sum(of_one_client(part) for part in one.parts.values())
        for one in (bound, printed)
    )
    k, n, r, x, y, v = free("k n r x y v")
    (s,) = positive("s")
    domain = Domain(
        "0 < a_n <= 1, 0 < q_n <= 1, N, tau, T >= 1",
        {
            weight: 1 / (1 + x), chance: 1 / (1 + y), variance: v, symbols.S: s,
            symbols.N: 1 + n, symbols.tau: 1 + k, symbols.T: 1 + r,
        },
        (k, n, r, x, y, v, s, squares, symbols.epsilon, symbols.F_err),
    )  # fmt: skip
    return Certificate(
        claim,
        ours,
        theirs,
        (),
        domain,
        statement="the repaired bound is at most (22) as printed, client by client",
    )


def certificates(claim: str, printed: Bound) -> tuple[Any, ...]:
    """Return builders of all certificates of the repaired (22).

    Args:
        claim: identifier of the repair.
        printed: (22) as printed.

    Returns:
        Round, its quadratic form, both sums, and that (22) as printed follows.
    """
    return (
        partial(one_round, claim),
        partial(quadratic, claim),
        partial(
            summed_rounds, claim, repaired_non_convex.non_convex_v2_partial(), False
        ),
        partial(summed_rounds, claim, repaired_non_convex.non_convex_v2_sharp(), True),
        partial(printed_follows, claim, printed),
    )
