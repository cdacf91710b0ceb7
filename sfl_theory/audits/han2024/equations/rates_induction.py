r"""The induction of (62)-(69) and (99)-(106), line by line, as certificates.

With $u=\gamma+t$ (D) or $u=\gamma_s+t$ (E), $\beta=2/\mu$ and $\eta\tau=2\beta/(Nu)$,
N = 1 for D:

$$\Bigl(1-\tfrac{N\eta\tau\mu}2\Bigr)\Delta_t+\tfrac{(\eta\tau)^2}4B_1+
\tfrac{(\eta\tau)^3}8B_2\le\Bigl(1-\tfrac{\mu\beta}u\Bigr)\tfrac vu+\dots
=\tfrac{u-1}{u^2}v+\tfrac{\beta^2B_1}{u^2}+\tfrac{\beta^3B_2}{u^3}
-\tfrac{\beta\mu-1}{u^2}v\le\tfrac{u-1}{u^2}v\le\tfrac v{u+1}.$$
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import sympy as sp

from sfl_theory.evidence.certificate import Certificate, Fact, atom
from sfl_theory.evidence.domain import Domain, free, positive

S, mu, eta, tau, N, u, beta, v, start = positive("S mu eta tau N u beta v gamma_1")
B1, B2 = positive("B_1 B_2")
HYPOTHESIS = "induction hypothesis"
DEFINITION = "definition of v"

Builders = tuple[Callable[[], Certificate], ...]


def _domain(words: str, least: Any, **more: Any) -> Domain:
    r"""Return S >= mu > 0, N, tau >= 1, B_1, B_2, v >= 0 and u at least ``least``.

    Args:
        words: what holds beyond that.
        least: lower end of u; 0 means u > 0.
        more: values of further parameters, by name.
    """
    s, k, n, b1, b2, w, x = free("s k n b1 b2 w x")
    m, z = positive("m z")
    values: dict[Any, Any] = {
        mu: m, S: m + s, tau: 1 + k, N: 1 + n, B1: b1, B2: b2, beta: 2 / m,
        u: z if least == 0 else least + x, v: w,
    }  # fmt: skip
    named = {str(p): p for p in (N, v, start, eta, u)}
    values |= {named[name]: value for name, value in more.items()}
    return Domain(
        f"S >= mu > 0, tau, N >= 1, B_1, B_2, v >= 0, {words}",
        values,
        (m, z, s, k, n, b1, b2, w, x),
    )


def _signs_of_u(sequential: bool) -> tuple[Domain, ...]:
    """Return u > 0 and, for E, where u = gamma_s + t > -1, also -1 < u < 0."""
    found = [_domain("u > 0", 0)]
    if sequential:
        (y,) = positive("y")
        below = _domain("-1 < u < 0", 0, u=-1 / (1 + y))
        found.append(Domain(below.words, below.values, (*below.free, y)))
    return tuple(found)


def _noise(step: Any) -> Any:
    return step**2 / 4 * B1 + step**3 / 8 * B2


def _expanded(noise: Any) -> Any:
    """Return the right side of (64), (101) for given noise terms."""
    return (u - 1) / u**2 * v + noise - (beta * mu - 1) / u**2 * v


def _shown() -> Any:
    """Return the noise as (64), (101) print it."""
    return beta**2 * B1 / u**2 + beta**3 * B2 / u**3


def hypothesis_used(claim: str, clients: Any = N) -> Certificate:
    r"""Return (62) <= (63), or (99) <= (100), where $\mu\beta/u=2/u\le1$.

    Args:
        claim: identifier of the claim.
        clients: 1 for D, where $u\ge\gamma\ge7$; N for E, where $u\ge2$ is assumed.

    Returns:
        The certificate.
    """
    now = atom("Delta_t")
    rate = {"eta": 2 * beta / (clients * tau * u)}
    least, words = (7, "u >= gamma >= 7") if clients == 1 else (2, "gamma_s + t >= 2")
    step = eta * tau
    return Certificate(
        claim,
        (1 - mu * clients * step / 2) * now + _noise(step),
        (1 - mu * beta / u) * v / u + _noise(step),
        (HYPOTHESIS,),
        _domain(words, least, **rate),
        uses=(
            (
                Fact("Delta_t <= v/u", v / u - now, HYPOTHESIS),
                1 - mu * clients * step / 2,
            ),
        ),
        statement="(1 - N eta tau mu/2) Delta_t + (eta tau)^2/4 B_1 + (eta tau)^3/8 B_2"
        " <= (1 - mu beta/u) v/u + the same noise",
    )  # fmt: skip


def rate_inserted(claim: str) -> Builders:
    r"""Return (63) = (64), both directions: $\eta\tau=2\beta/u$."""
    step = eta * tau
    left = (1 - mu * beta / u) * v / u + _noise(step)
    domain = _domain("u > 0", 0, eta=2 * beta / (tau * u))
    words = "(63) = (64) at eta tau = 2 beta/u"
    return _equality(claim, left, _expanded(_shown()), domain, words)


def rate_inserted_sequential(claim: str) -> Certificate:
    r"""Return (100) <= (101), where $\gamma_s+t>0$; $\eta\tau=2\beta/(Nu)$."""
    step = eta * tau
    return Certificate(
        claim,
        (1 - mu * beta / u) * v / u + _noise(step),
        _expanded(_shown()),
        (),
        _domain("gamma_s + t > 0", 0, eta=2 * beta / (N * tau * u)),
        statement="(100) <= (101) at eta tau = 2 beta/(N u)",
    )


def maximum_inserted(claim: str, sequential: bool) -> Builders:
    """Return (64) = (65), (101) = (102), both directions: v is the maximum.

    Args:
        claim: identifier of the claim.
        sequential: E, where u may be negative (never 0).

    Returns:
        Both directions for every sign of u.
    """
    level, top = atom("v"), atom("max{4 B_1/mu^2 + ..., (gamma+1) Delta_0}")
    definition = Fact("v is the maximum", level - top, DEFINITION, equality=True)
    # the sides are equal; that both are non-negative tells what else is true
    signs = tuple(
        (Fact(f"{name} >= 0", value, DEFINITION), sp.Integer(0))
        for name, value in (("v", level), ("the maximum", top))
    )
    common = (u - 1) / u**2 * level + _shown()
    factor = (beta * mu - 1) / u**2
    inserted = common - factor * level, common - factor * top
    both = ((*inserted, factor), (*reversed(inserted), -factor))
    return tuple(
        partial(
            Certificate,
            claim,
            left,
            right,
            (DEFINITION,),
            domain,
            uses=((definition, multiplier), *signs),
            statement="the maximum in the place of v",
        )
        for domain in _signs_of_u(sequential)
        for left, right, multiplier in both
    )


def argument_rewritten(claim: str) -> Builders:
    r"""Return (65) = (66), (102) = (103): the first argument of the maximum.

    $\frac{4B_1}{\mu^2}+\frac{8B_2}{\mu^3(\gamma+1)}=\frac{\beta^2B_1}{\beta\mu-1}+
    \frac{\beta^3B_2}{(\beta\mu-1)(\gamma+1)}$; all else is the same on both sides.

    Args:
        claim: identifier of the claim.

    Returns:
        Both directions.
    """
    (g,) = positive("g")
    left = 4 * B1 / mu**2 + 8 * B2 / (mu**3 * start)
    below = beta * mu - 1
    right = beta**2 * B1 / below + beta**3 * B2 / (below * start)
    domain = _domain("gamma + 1 > 0", 0)
    values = {**domain.values, start: g}
    domain = Domain(domain.words, values, (*domain.free, g))
    return _equality(claim, left, right, domain, "4/mu^2 = beta^2/(beta mu - 1), ...")


def noise_absorbed(claim: str, lines: str = "(103) <= (104)") -> Certificate:
    r"""Return (65) <= (67), (103) <= (104) for $t\ge1$: then $u\ge\gamma_s+1>0$.

    Args:
        claim: identifier of the claim.
        lines: the paper's numbers; $\gamma_s$ is $\gamma$ in (65).

    Returns:
        The certificate; v is at least $\beta^2B_1+\beta^3B_2/(\gamma_s+1)$.
    """
    g, s, k, b1, b2, w = positive("g") + free("s k b1 b2 w")
    (m,) = positive("m")
    least = beta**2 * B1 + beta**3 * B2 / start
    domain = Domain(
        "S >= mu > 0, gamma_s + 1 > 0, t >= 1, v >= beta^2 B_1 + beta^3 B_2/(gamma_s+1)"
        ", beta mu = 2",
        {
            mu: m, S: m + s, beta: 2 / m, start: g, u: g + k, B1: b1, B2: b2,
            v: least + w,
        },
        (m, g, s, k, b1, b2, w),
    )  # fmt: skip
    return Certificate(
        claim,
        _expanded(_shown()),
        (u - 1) / u**2 * v,
        (),
        domain,
        statement=f"{lines} for t >= 1",
    )


def last_line(claim: str, sequential: bool) -> Builders:
    r"""Return (67) <= (68), (104) <= (105): $\frac{u-1}{u^2}v\le\frac v{u+1}$.

    Args:
        claim: identifier of the claim.
        sequential: E, where u may be negative (never 0).

    Returns:
        One certificate per sign of u.
    """
    return tuple(
        partial(
            Certificate,
            claim,
            (u - 1) / u**2 * v,
            v / (u + 1),
            (),
            domain,
            statement="(u - 1)/u^2 v <= v/(u + 1)",
        )
        for domain in _signs_of_u(sequential)
    )


def rate_from_first_round(claim: str, sequential: bool) -> Certificate:
    r"""Return $\eta^t\le\frac1{2S\tau}$ for $t\ge1$, $\eta^t=\frac{2\beta}{N\tau u}$.

    $N\mu(\gamma_s+t)=8S+N\mu(t-1)\ge8S$.

    Args:
        claim: identifier of the claim.
        sequential: SFL-V2's server; otherwise N = 1.

    Returns:
        The certificate.
    """
    clients = N if sequential else 1
    s, k, n, x = free("s k n x")
    (m,) = positive("m")
    values = {
        mu: m, S: m + s, tau: 1 + k, N: 1 + n, beta: 2 / mu,
        u: 8 * S / (clients * mu) - 1 + (1 + x),
    }  # fmt: skip
    return Certificate(
        claim,
        2 * beta / (clients * tau * u),
        1 / (2 * S * tau),
        (),
        Domain(
            "S >= mu > 0, tau, N >= 1, t >= 1",
            values,
            (m, s, k, n, x),
        ),
        statement="eta^t <= 1/(2 S tau) for t >= 1",
    )


def _equality(
    claim: str, left: Any, right: Any, domain: Domain, words: str
) -> Builders:
    sides: Mapping[str, tuple[Any, Any]] = {"<=": (left, right), ">=": (right, left)}
    return tuple(
        partial(Certificate, claim, a, b, (), domain, statement=f"{words} ({sign})")
        for sign, (a, b) in sides.items()
    )
