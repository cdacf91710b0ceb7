r"""SFL-V1, non-convex: one round, full and partial participation, any periods.

A proof of its own of (13) and (19), for it does not use Lemma C.7, which is false, nor
the block-wise use of Lemma C.6 in (78). Notation for one round from $x=x^t$:
$h_n$ is the sum of client n's stochastic gradients, $M_c,M_s$ and $Z_c,Z_s$ are the
means ($\sum_na_n$) of the sums of exact gradients and of the noise on either side, so
$x'-x=-\eta\sum_n\frac{a_nI_n}{q_n}h_n$ and without participation
$x'-x=-\eta[M_c+Z_c;M_s+Z_s]$. Weights $b_n=Na_n^2/q_n$, $\kappa=\sum_nb_n$:

- $D=\sum_nb_n\sum_{i<\tau_{max}}E\|x_n^i-x\|^2$ (drift),
- $\Gamma=\sum_nb_n\sum_{i<\tau_{max}}E\|\nabla F_n(x_n^i)\|^2$,
- $F=\sum_nb_n\|\nabla F_n(x)\|^2$, $H=\sum_nb_nE\|h_n\|^2$,
  $\sigma_w=\sum_nb_n\sigma_n^2$.

Reading of $\tau\ne\tilde\tau$: a side that has made its steps keeps its value while the
other goes on (App. C.2 leaves this open).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import sympy as sp

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
from sfl_theory.evidence.local_sgd import (
    deviation,
    heterogeneity,
    local_gradients,
    noisy_drift,
    orthogonal_noise,
    participation,
    stochastic_sums,
    unbiased,
)

S, eta, N = positive("S eta N")
sigma_w, eps2 = free("sigma_w epsilon2")
tau, tau_server, kappa = positive("tau tau_server kappa")

SMOOTH = "Assumption C.1 (24), gradients S-Lipschitz"
NOISE = "Assumption 3.2"
HETEROGENEOUS = "Assumption 3.4"
UPDATE = "App. C.2 update of SFL-V1"
HYPOTHESES = (SMOOTH, NOISE, HETEROGENEOUS, UPDATE)

EVERYONE = "every client takes part"
"""What full participation adds to ``HYPOTHESES``."""


@dataclass(frozen=True)
class Constants:
    r"""Constants of a proof of one round, chosen so that all signs work out.

    Attributes:
        away: multiplier of ``deviation``, times $\eta$. The inner product of gradient
            and move is then at least $\ell-\frac{(2\ell-1)^2}{4(\ell-m)}$ times
            $\eta\tau_b\|\nabla_bf\|^2$ for $\ell$ = ``away``, m = ``move``.
        move: what the squared move may cost: $\frac{m\eta}{\tau_b}\|M_b\|^2$.
        local: constant of Young's inequality for gradients at local points.
        noise: that for sums of gradients and noise, where clients may be absent.
    """

    away: Any
    move: Any
    local: Any
    noise: Any


USUAL = Constants(*map(sp.Rational, ("5/4", "1/8", "1/7", "3/14")))
SHARP = Constants(*map(sp.Rational, ("1", "1/4", "1/4", "1")))
SHARP_ABSENT = Constants(*map(sp.Rational, ("3", "1/16", "1/16", "1/4")))


@cache
def domains() -> tuple[Domain, ...]:
    r"""Return the parameter domain in four pieces that cover it.

    With $r=\kappa\tau_{max}/\tau_{min}$ the printed condition is
    $1/(S\eta\tau_{max})\ge\max\{16,8r\}$: one piece for $r\le2$ and one for $r\ge2$,
    each for $\tau\ge\tilde\tau$ and for $\tau\le\tilde\tau$.
    """
    k, d, h, w, n = free("k d h w n")
    (s,) = positive("s")
    pieces = []
    for more, less, order in (
        (tau, tau_server, "tau >= tau_server"),
        (tau_server, tau, "tau_server >= tau"),
    ):
        for r, L, words in (
            (2 / (1 + w), 16 + h, "kappa tau_max/tau_min <= 2"),
            (2 + w, 8 * (2 + w) + h, "kappa tau_max/tau_min >= 2"),
        ):
            values = {
                less: 1 + k,
                more: 1 + k + d,
                S: s,
                N: 1 + n,
                eta: 1 / (s * (1 + k + d) * L),
                kappa: r * (1 + k) / (1 + k + d),
            }
            words = (
                f"{order}, {words}, eta <= min(1/(16 S tau_max), "
                "tau_min/(8 S tau_max^2 kappa)), kappa = N sum a_n^2/q_n"
            )
            pieces.append(Domain(words, values, (k, d, h, w, n, s, sigma_w, eps2)))
    return tuple(pieces)


def one_round(
    domain: Domain, claim: str, is_partial: bool, sharp: bool = False
) -> Certificate:
    r"""Return the certificate of one round.

    $\frac{\eta\tau_{min}}4\|\nabla f(x)\|^2\le f(x)-\mathbb Ef(x')
    +2S(\tau^2+\tilde\tau^2)\eta^2(\sigma_w+\kappa\epsilon^2)$,
    which is (13) and (19) for one round, times $\tau_{min}/4$. More is true: with
    $\frac{\eta\tau_{min}}2$ on the left, and $\frac12S$ for 2S on the right where
    everyone takes part.

    Args:
        domain: one piece of ``domains``.
        claim: identifier of the claim.
        is_partial: clients take part with probability $q_n$.
        sharp: whether the second statement is proved.

    Returns:
        The certificate; its left side is the printed one.
    """
    gc, gs, Mc, Ms, Zc, Zs = vectors("grad_c grad_s M_c M_s Z_c Z_s")
    D, Gamma, F, H, P = (atom(name) for name in ("D", "Gamma", "F", "H", "P"))
    most = _larger(domain)
    least = tau + tau_server - most
    gradient2 = norm2(gc) + norm2(gs)
    half = S / 2 * eta**2
    descent = Fact(
        "f smooth, x -> x' (noise and participation averaged)",
        value("f", "x")
        - eta * (inner(gc, Mc) + inner(gc, Zc) + inner(gs, Ms) + inner(gs, Zs))
        + half * (norm2(Mc + Zc) + norm2(Ms + Zs))
        + half * P
        - value("f", "x'"),
        SMOOTH,
    )
    means_zero = [unbiased(gc, Zc, NOISE), unbiased(gs, Zs, NOISE)]
    sides = ((gc, Mc, tau), (gs, Ms, tau_server))
    theta = eta**2 * most * (most - 1)
    chosen = (SHARP_ABSENT if is_partial else SHARP) if sharp else USUAL
    growth, quotient = chosen.local, 1 + 1 / chosen.local
    # half (1 + c) ||M||^2 + half (1 + 1/c) ||Z||^2 is what ||M + Z||^2 costs
    cost = chosen.move * eta / most
    c = cost / half - 1
    uses: list[tuple[Fact, Any]] = [(descent, 1)]
    uses += [(fact, eta) for fact in means_zero]
    uses.append((deviation(D, sides, S, SMOOTH), chosen.away * eta))
    noise = orthogonal_noise((Zc, Zs), most * sigma_w / N, NOISE)
    uses.append((noise, half * (1 + 1 / c)))
    lam_h = sp.Integer(0)
    if is_partial:
        lam_h = half / N
        uses.append((participation(P, H, N, UPDATE), half))
        stochastic = stochastic_sums(H, Gamma, sigma_w, most, chosen.noise, NOISE)
        uses.append((stochastic, lam_h))
    else:
        everyone = Fact("everyone takes part: P = 0", P, EVERYONE, equality=True)
        uses.append((everyone, -half))
    extra = lam_h * (1 + chosen.noise) * most
    lam_d = (chosen.away * eta * S**2 + quotient * S**2 * extra) / (
        1 - quotient * S**2 * theta
    )
    lam_gamma = lam_d * theta + extra
    lam_f = lam_gamma * (1 + growth) * most
    uses += [
        (noisy_drift(D, theta, Gamma, sigma_w, UPDATE), lam_d),
        (local_gradients(Gamma, F, D, most, S, growth, SMOOTH), lam_gamma),
        (heterogeneity(F, gradient2, eps2, kappa, 2, HETEROGENEOUS), lam_f),
    ]
    # away p ||g||^2 - (2 away - 1)<g, M> + (away - move)/p ||M||^2, times eta
    left = chosen.away - chosen.move
    towards = (2 * chosen.away - 1) / (2 * left)
    kept = chosen.away - left * towards**2
    claimed = sp.Rational(1, 2) if sharp else sp.Rational(1, 4)
    squares = [
        (c * Mc - Zc, half / c),
        (c * Ms - Zs, half / c),
    ]
    for g, M, period in sides:
        squares += [
            (M - towards * period * g, left * eta / period),
            (M, chosen.move * eta / period - cost),
            (g, (kept * period - claimed * least) * eta - 2 * kappa * lam_f),
        ]
    right = value("f", "x") - value("f", "x'")
    factor = noise_factor(is_partial, sharp)
    right += factor * S * eta**2 * (tau**2 + tau_server**2) * (sigma_w + kappa * eps2)
    if sharp:
        right -= eta * least / 4 * gradient2
    return Certificate(
        claim=claim,
        left=eta * least / 4 * gradient2,
        right=right,
        hypotheses=HYPOTHESES if is_partial else (*HYPOTHESES, EVERYONE),
        domain=domain,
        uses=tuple(uses),
        squares=tuple(squares),
        statement="eta tau_min/4 ||grad f(x)||^2 <= f(x) - E f(x') + "
        "2 S (tau^2 + tau_server^2) eta^2 (sum_n b_n sigma_n^2 + kappa eps^2)",
    )


def noise_factor(is_partial: bool, sharp: bool) -> Any:
    """Return the factor of S in the noise term of ``one_round``."""
    return sp.Rational(1, 2) if sharp and not is_partial else sp.Integer(2)


def _larger(domain: Domain) -> Any:
    return tau if domain.words.startswith("tau >=") else tau_server


def certificates(claim: str, is_partial: bool, sharp: bool = False) -> tuple[Any, ...]:
    """Return builders of the one-round certificates that cover the domain.

    Args:
        claim: identifier of the claim.
        is_partial: clients take part with probability $q_n$.
        sharp: whether more is proved than is printed.

    Returns:
        One builder per piece of the domain.
    """
    return tuple(
        partial(one_round, domain, claim, is_partial, sharp) for domain in domains()
    )
