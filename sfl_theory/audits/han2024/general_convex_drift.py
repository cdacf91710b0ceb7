r"""General convex cases, equal periods: half of the drift is enough.

Lemma C.3 has $S\|z-x\|^2$ so that it can hold for strongly convex h, too. For
$\mu=0$ convexity from x to y and smoothness from x to z give
$\langle\nabla h(x),z-y\rangle\ge h(z)-h(y)-\frac S2\|z-x\|^2$.
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from sfl_theory.audits.han2024 import convex, repairs
from sfl_theory.audits.han2024.convex_round import (
    CONVEX,
    G2,
    SMOOTH,
    UNBIASED,
    S,
    c1,
    cd,
    eta,
    mu,
    one_round,
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
from sfl_theory.evidence.domain import Domain, positive
from sfl_theory.evidence.kernel import convex_lower, smooth_upper, value
from sfl_theory.evidence.round_sum import RoundSum, rate_sum


def three_points(claim: str) -> Certificate:
    r"""Return $\langle\nabla h(x),z-y\rangle\ge h(z)-h(y)-\frac S2\|z-x\|^2$."""
    x, y, z, g = vectors("x y z grad_h(x)")
    (s,) = positive("s")
    return Certificate(
        claim,
        value("h", "z") - value("h", "y") - S / 2 * norm2(z - x),
        inner(g, z - y),
        (SMOOTH, CONVEX),
        Domain("S > 0", {S: s}, (s,)),
        uses=(
            (smooth_upper("h", "x", "z", z - x, g, S, SMOOTH), 1),
            (convex_lower("h", "x", "y", y - x, g, 0, CONVEX), 1),
        ),
        statement="<grad h(x), z-y> >= h(z) - h(y) - S/2 ||z-x||^2",
    )


def round_without_mu(claim: str) -> Certificate:
    r"""Return ``one_round`` with $\mu=0$ and $Sc_d$ in place of $2Sc_d$."""
    loose = one_round(claim)
    P, gap, now, D = (atom(name) for name in ("P", "gap_t", "Delta_t", "D"))
    lemma = Use(
        three_points(claim),
        at={"s": S},
        # x^t is the origin; P, tau gap, D are the sums over n and i
        vectors={"z": Vector({})},
        atoms={
            "<grad_h(x),y>": -P,
            "h(z)": tau * gap,
            "h(y)": sp.Integer(0),
            "<x,x>": D,
        },
        family="clients and local steps, weights a_n or a_n I_n/q_n",
    )
    known = Fact(
        "convexity and smoothness at every local gradient, summed",
        P - tau * gap + S / 2 * D,
        UNBIASED,
        derived=Instance(lemma),
    )
    update, _, second, (drift, factor) = loose.uses
    free = tuple(v for v in loose.domain.free if str(v) not in {"m", "s"})
    (s,) = positive("s")
    values = {**loose.domain.values, S: s}
    values.pop(mu)
    return replace(
        loose,
        right=now - 2 * eta * tau * gap
        + c1 * eta**2 * tau**2 * G2 + S * cd * eta**3 * tau**3 * G2,
        domain=Domain("S, eta > 0, tau >= 1, G^2, c_1, c_d >= 0", values, (s, *free)),
        uses=(update, (known, 2 * eta), second, (drift, factor / 2)),
        statement="Delta_t+1 <= Delta_t - 2 eta tau (E f(x^t) - f*) + c_1 eta^2 tau^2 "
        "G^2 + S c_d eta^3 tau^3 G^2",
    )  # fmt: skip


def half_of_the_drift(claim: str) -> Certificate:
    """Return the repaired general convex bound with half of the client drift."""
    loose = convex.general_convex_end(claim, repairs.general_convex_right)
    (total, share), *others = loose.uses
    one = Use(
        round_without_mu(claim),
        {"s": S, "e": convex.rate, "k": tau - 1, "G": G2, "a": c1, "b": cd},
    )
    cubes = rate_sum(convex.rate, 3)
    less = S * cd * tau**3 * G2 * cubes
    fact = replace(
        total,
        expr=total.expr - less,
        derived=RoundSum(one, convex.rate, telescopes=convex.TELESCOPES),
    )
    return replace(
        loose,
        right=loose.right - less * share,
        uses=((fact, share), *others),
        statement="sharper: the bound with half of the client drift",
    )
