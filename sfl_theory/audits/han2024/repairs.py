r"""Proofs of the repaired bounds: certificates that end in the words of the bounds."""

from __future__ import annotations

from functools import partial
from typing import Any

import sympy as sp

from sfl_theory import symbols
from sfl_theory.audits.han2024 import (
    convex,
    non_convex_sums,
    non_convex_v1,
    non_convex_v2,
)
from sfl_theory.bound import Bound
from sfl_theory.evidence.certificate import Certificate, Fact, atom
from sfl_theory.evidence.derivation import Instance, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.kernel import cauchy_schwarz_weights
from sfl_theory.papers import repaired, repaired_non_convex
from sfl_theory.papers.repaired import Setting

inverse, inverse_square, excess = positive("inv inv2 rho")

SUMS = {
    repaired.inverse: inverse,
    repaired.inverse_square: inverse_square,
    symbols.over_clients(
        symbols.a[symbols.n] ** 2 * (1 - symbols.q[symbols.n]) / symbols.q[symbols.n]
    ): excess,
}
"""Sums over clients in $c_1,c_d$; all of them are non-negative."""

NAMES = {
    symbols.T: convex.t,
    symbols.I_err: convex.delta0,
    symbols.G: sp.sqrt(convex.G2),
}


def _symbolic() -> Setting:
    """Return a setting whose constants are the parameters of the convex proof."""
    return Setting("", convex.c1, convex.cd, sp.Integer(1), ())


def strongly_convex_right() -> Any:
    """Return the repaired strongly convex bound for any $c_1,c_d$."""
    bound = repaired.strongly_convex(_symbolic())
    return sum(part.xreplace(NAMES) for part in bound.parts.values())


def general_convex_right(T: Any, squares: Any, cubes: Any) -> Any:
    """Return the repaired general convex bound for any $c_1,c_d$."""
    rate = symbols.eta(symbols.t)
    names = {
        **NAMES,
        symbols.T: T,
        symbols.tau: convex.tau,
        symbols.over_rounds(rate**2): squares,
        symbols.over_rounds(rate**3): cubes,
    }
    bound = repaired.general_convex(_symbolic())
    return sum(part.xreplace(names) for part in bound.parts.values())


def at_constants(claim: str, setting: Setting) -> Certificate:
    r"""Return the strongly convex bound at the constants of a theorem.

    The induction needs $c_d\le7c_1$ in its first step: the free variable a of
    $c_1=a+c_d/7$ must be non-negative at these constants.

    Args:
        claim: identifier of the repair.
        setting: constants of the theorem.

    Returns:
        The certificate.
    """
    c1, cd = ((sp.Integer(0) + c).xreplace(SUMS) for c in (setting.c1, setting.cd))
    s, k, G, d, more, two, three, q = free("s k G d more two three q")
    (m,) = positive("m")
    # sum a_n/q_n >= sum a_n = 1 as q_n <= 1.
    domain = Domain(
        "S >= mu > 0, T >= 0, sum a_n/q_n >= 1, the other sums over clients >= 0",
        {
            convex.mu: m,
            convex.S: m + s,
            convex.gamma: 8 * convex.S / convex.mu - 1,
            convex.t: k,
            convex.tau: 1 + q,
            convex.G2: G,
            convex.delta0: d,
            inverse: 1 + more,
            inverse_square: two,
            excess: three,
            convex.c1: c1,
            convex.cd: cd,
        },
        (m, s, k, G, d, more, two, three, q),
    )
    bound = repaired.strongly_convex(setting)
    right = sum(part.xreplace({**SUMS, **NAMES}) for part in bound.parts.values())
    source = convex.strongly_convex_end(claim, strongly_convex_right)
    at = {
        "m": convex.mu,
        "s": convex.S - convex.mu,
        "k": convex.t,
        "G": convex.G2,
        "a": c1 - cd / 7,
        "b": cd,
        "d": convex.delta0,
        "q": convex.tau - 1,
    }
    gap = atom("gap_T")
    fact = Fact("the bound", right - gap, "", derived=Instance(Use(source, at)))
    return Certificate(
        claim,
        gap,
        right,
        source.hypotheses,
        domain,
        uses=((fact, 1),),
        statement=f"the bound with c_1 = {setting.c1}, c_d = {setting.cd}",
    )


def strongly_convex(claim: str, setting: Setting) -> tuple[Any, ...]:
    """Return the certificates of a repaired strongly convex case.

    Args:
        claim: identifier of the repair.
        setting: constants of the theorem.

    Returns:
        Builders: round, start, both steps, end, and the end at the constants.
    """
    return (
        *convex.strongly_convex(claim, strongly_convex_right),
        partial(at_constants, claim, setting),
    )


def general_convex(claim: str) -> tuple[Any, ...]:
    """Return the certificates of a repaired general convex case."""
    return convex.general_convex(claim, general_convex_right)


def printed_follows(claim: str) -> Certificate:
    r"""Show that the repaired (11) is at most the printed (11).

    From $N\sum_na_n^2\ge1$: $N\sum_na_n^2(2\sigma_n^2+G^2)\ge G^2$, and
    $\sum_na_n(2\sigma_n^2+G^2)\ge G^2$.

    Args:
        claim: identifier of the claim.

    Returns:
        The certificate.
    """
    A2, noise2, noise1 = positive("A2 noise2 noise1")
    s, k, G, d, n, x, y, z = free("s k G d n x y z")
    (m,) = positive("m")
    N = symbols.N
    S, mu, gamma, t, G2 = convex.S, convex.mu, convex.gamma, convex.t, convex.G2
    square = atom("N sum a_n^2")
    domain = Domain(
        "S >= mu > 0, T >= 0, N >= 1",
        {
            mu: m, S: m + s, gamma: 8 * S / mu - 1, t: k, G2: G, convex.delta0: d,
            N: 1 + n, A2: x, noise2: y, noise1: z,
        },
        (m, s, k, G, d, n, x, y, z),
    )  # fmt: skip
    # sum a_n^2 (2 sigma_n^2 + G^2) = noise2 + G2 A2 with A2 = sum a_n^2, noise2 >= 0;
    # sum a_n (2 sigma_n^2 + G^2) = noise1 + G2 with noise1 >= 0.
    printed = 8 * S * (N * noise2 + G2 * square) / (mu**2 * (gamma + t))
    printed += 768 * S**2 * (noise1 + G2) / (mu**3 * (gamma + t) * (gamma + 1))
    printed += S * (gamma + 1) * convex.delta0 / (2 * (gamma + t))
    ours = strongly_convex_right().xreplace({
        convex.c1: sp.Integer(1),
        convex.cd: sp.Rational(1, 3),
    })
    weights = cauchy_schwarz_weights(square / N, N)
    return Certificate(
        claim,
        ours,
        printed,
        ("kernel",),
        domain,
        uses=((weights, 8 * S * G2 / (mu**2 * (gamma + t))),),
        statement="the repaired bound is at most (11) as printed",
    )


def non_convex_v1_certificates(claim: str, bound: Bound, is_partial: bool) -> Any:
    """Return all certificates of (13) or (19) as printed."""
    orders = (non_convex_sums.SERVER_SHORTER, non_convex_sums.SERVER_LONGER)
    return (
        *non_convex_v1.certificates(claim, is_partial),
        *(
            partial(non_convex_sums.v1_sum, claim, bound, is_partial, order)
            for order in orders
        ),
    )


def non_convex_v2_certificates(claim: str) -> Any:
    """Return all certificates of the repaired (16)."""
    return (
        partial(non_convex_v2.one_round, claim),
        partial(non_convex_sums.v2_sum, claim, repaired_non_convex.non_convex_v2()),
    )
