r"""Convex cases: one round for the function value, sharper than for the distance.

$e_t=\mathbb Ef(x^t)-f^*$ contracts by itself, for $\|\nabla f\|^2\ge2\mu(f-f^*)$:

$$e_{t+1}\le(1-\tfrac54\alpha\mu)e_t+\tfrac12Sc_1\alpha^2G^2
+\tfrac23S^2c_d\alpha^3G^2,\qquad\alpha=\eta\tau,$$

with the $c_1,c_d$ of ``convex_round``. For any periods, each side's rate divided by its
own, $\alpha=\theta$ and $c_1=(2-\varrho)(1+\rho)$,

$$e_{t+1}\le(1-\theta\mu)e_t+\tfrac12Sc_1\theta^2G^2
+\left[\tfrac23+\tfrac5{16}(1-\varrho)^2\right]S^2\theta^3G^2.$$

From $\mathbb E\langle\nabla f(x),\sum_nw_n\sum_i\nabla F_n(p_n^i)\rangle$ by Young at
every local point; the rules are those of the recursions for the distance.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from sfl_theory.audits.han2024 import two_periods_round as paired
from sfl_theory.audits.han2024.convex_round import (
    BOUNDED,
    CONVEX,
    G2,
    SMOOTH,
    UNBIASED,
    UPDATE,
    S,
    c1,
    cd,
    eta,
    mu,
    tau,
)
from sfl_theory.audits.han2024.equations.rates_descent import (
    BLOCKS,
    gradient_domination,
)
from sfl_theory.audits.han2024.equations.rates_descent import UNBIASED as NOISE
from sfl_theory.audits.han2024.equations.rates_descent_rules import (
    alpha,
    averaged_deviation,
    drift_of_both_sides,
    second_moment_of_blocks,
)
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
from sfl_theory.evidence.local_sgd import bounded_drift, second_moment, unbiased
from sfl_theory.evidence.two_periods import mean_directions, paired_drift, unpaired

NOW, THEN = atom("e_t"), atom("e_t+1")
LENGTH = atom("E||grad f(x^t)||^2")
OF_BLOCKS = (SMOOTH, CONVEX, NOISE, BOUNDED, BLOCKS)
OF_ONE_PERIOD = (UPDATE, UNBIASED, SMOOTH, CONVEX, BOUNDED)
OF_TWO_PERIODS = (*paired.ASSUMED, SMOOTH)


def dominated(claim: str, convex: str, now: Any, length: Any) -> Fact:
    r"""Return $2\mu e\le\mathbb E\|\nabla f\|^2$ as a fact at the user's $\mu$."""
    use = Use(
        gradient_domination(claim, convex),
        at={"m": mu},
        atoms={
            "f(x)": now,
            "f(x*)": sp.Integer(0),
            "<grad_f(x),grad_f(x)>": length,
        },
        family="the draws before",
    )
    gap = length - 2 * mu * now
    return Fact("2 mu e <= E||grad f||^2", gap, "", derived=Instance(use))


def other_point(claim: str, kappa: Any) -> Certificate:
    r"""Return a lower bound of a local gradient's inner product with any vector g.

    $\langle\nabla h(p),g\rangle\ge\langle\nabla h(x),g\rangle-\frac1{2\kappa}\|g\|^2
    -\frac\kappa2S^2\|p-x\|^2$.

    Args:
        claim: identifier of the claim.
        kappa: positive, a number.
    """
    here, there, g, d = vectors("grad_h(x) grad_h(p) g p-x")
    (s,) = positive("s")
    lipschitz = S**2 * norm2(d) - norm2(there - here)
    return Certificate(
        claim,
        inner(here, g) - norm2(g) / (2 * kappa) - kappa / 2 * S**2 * norm2(d),
        inner(there, g),
        (SMOOTH,),
        Domain("S > 0", {S: s}, (s,)),
        uses=((Fact("grad h S-Lipschitz (24)", lipschitz, SMOOTH), kappa / 2),),
        squares=((there - here + g * (1 / kappa), kappa / 2),),
        statement="<grad h(p), g> >= <grad h(x), g> - ||g||^2/(2 kappa) - kappa/2 S^2 "
        "||p-x||^2",
    )


def _local_gradients(
    claim: str, product: Any, total: Any, drift: Any, kappa: Any, hypothesis: str
) -> tuple[Fact, Fact]:
    r"""Return ``other_point`` summed with weights $w_n$ of total ``total`` in the mean.

    $g=\nabla f(x)$; $\mathbb E\sum_nw_n\nabla F_n(x)=\nabla f(x)$ over who takes part,
    as $\mathbb Ew_n=a_n$.

    Args:
        claim: identifier of the claim.
        product: the atom of the sum on the left, stochastic or true gradients.
        total: the number of steps, 1 for a mean over them.
        drift: the atom of the sum of $\|p-x\|^2$.
        kappa: of ``other_point``.
        hypothesis: that gradients are unbiased.

    Returns:
        Two facts.
    """
    at_x = atom("E<sum w grad F_n(x), grad f(x)>")
    use = Use(
        other_point(claim, kappa),
        at={"s": S},
        atoms={
            "<g,grad_h(p)>": product,
            "<g,grad_h(x)>": at_x,
            "<g,g>": total * LENGTH,
            "<p-x,p-x>": drift,
        },
        family="clients and local steps, weights a_n or a_n I_n/q_n",
    )
    expr = product - at_x + total / (2 * kappa) * LENGTH + kappa / 2 * S**2 * drift
    return (
        Fact("every local gradient, summed", expr, hypothesis, derived=Instance(use)),
        Fact("sum a_n grad F_n = grad f", at_x - total * LENGTH, hypothesis,
             equality=True),
    )  # fmt: skip


def _descent(
    rate: Any, product: Any, square: Any, hypothesis: str
) -> tuple[tuple[Fact, Any], ...]:
    r"""Return $f(x')\le f(x)-\eta\langle\nabla f,H\rangle+\frac S2\eta^2\|H\|^2$.

    Args:
        rate: $\eta$, $x'-x=-\eta H$.
        product: the atom $\mathbb E\langle H,\nabla f(x)\rangle$.
        square: the atom $\mathbb E\|H\|^2$.
        hypothesis: the update.

    Returns:
        Facts and multipliers.
    """
    along, moved = atom("E<grad f(x),x'-x>"), atom("E||x'-x||^2")
    smooth = Fact("f smooth, x -> x'", NOW + along + S / 2 * moved - THEN, SMOOTH)
    first = Fact("x'-x = -eta H", along + rate * product, hypothesis, equality=True)
    second = Fact(
        "||x'-x||^2 = eta^2 ||H||^2", moved - rate**2 * square, hypothesis,
        equality=True,
    )  # fmt: skip
    return (smooth, sp.Integer(1)), (first, sp.Integer(-1)), (second, -S / 2)


def one_period(claim: str) -> Certificate:
    r"""Return the recursion for $\tau=\tilde\tau$; $\kappa=\frac43$ in Young."""
    product, square, drift = atom("E<H,grad f(x)>"), atom("Q"), atom("D")
    s, e, k, G, a, b = free("s e k G a b")
    (m,) = positive("m")
    kappa, rate = sp.Rational(4, 3), eta * tau
    local, at_x = _local_gradients(claim, product, tau, drift, kappa, UNBIASED)
    return Certificate(
        claim,
        THEN,
        (1 - sp.Rational(5, 4) * rate * mu) * NOW
        + S * c1 * rate**2 * G2 / 2
        + sp.Rational(2, 3) * S**2 * cd * rate**3 * G2,
        OF_ONE_PERIOD,
        Domain(
            "S >= mu > 0, eta, G^2, c_1, c_d >= 0, tau >= 1",
            {mu: m, S: m + s, eta: e, tau: 1 + k, G2: G, c1: a, cd: b},
            (m, s, e, k, G, a, b),
        ),
        uses=(
            *_descent(eta, product, square, UPDATE),
            (local, eta),
            (at_x, eta),
            (dominated(claim, CONVEX, NOW, LENGTH), sp.Rational(5, 8) * rate),
            (second_moment(square, c1, tau, G2, BOUNDED), S / 2 * eta**2),
            (bounded_drift(drift, cd, eta, tau, G2, BOUNDED), kappa / 2 * eta * S**2),
        ),
        statement="e_t+1 <= (1 - 5/4 eta tau mu) e_t + S c_1 eta^2 tau^2 G^2/2 + "
        "2/3 S^2 c_d eta^3 tau^3 G^2",
    )


def two_periods(claim: str) -> Certificate:
    r"""Return the recursion for any periods, each side's rate divided by its own.

    The blocks of a round's direction are gradients at paired points, plus e:
    $\mathbb E\langle H,\nabla f\rangle=\mathbb E\langle\sum_nw_n\int_0^1\nabla F_n(r_n
    (s))ds,\nabla f\rangle+\langle e,\nabla f\rangle$ (``evidence.two_periods``).
    """
    theta, ratio, rho = paired.theta, paired.ratio, paired.rho
    product, at_pairs = atom("E<H,grad f(x)>"), atom("E<H at paired points,grad f(x)>")
    square, drift = atom("Q"), atom("D")
    g, e = vectors("grad_f(x) e/(1-varrho)")
    s, G, a, h, step = free("s G a h theta_0")
    (m,) = positive("m")
    kappa = sp.Integer(2)
    local, at_x = _local_gradients(
        claim, at_pairs, sp.Integer(1), drift, kappa, paired.UPDATE
    )
    split = product - at_pairs - (1 - ratio) * inner(e, g)
    bound = sp.Rational(2, 3) + sp.Rational(5, 16) * (1 - ratio) ** 2
    half = sp.Rational(1, 2)
    return Certificate(
        claim,
        THEN,
        (1 - theta * mu) * NOW
        + S * paired.SECOND * theta**2 * G2 / 2
        + bound * S**2 * theta**3 * G2,
        OF_TWO_PERIODS,
        Domain(
            "S >= mu > 0, theta, G^2, rho >= 0, 0 < tau_min/tau_max <= 1",
            {mu: m, S: m + s, theta: step, G2: G, rho: a, ratio: 1 / (1 + h)},
            (m, s, G, a, h, step),
        ),
        uses=(
            *_descent(theta, product, square, paired.UPDATE),
            (Fact("blocks at their own points", split, paired.UPDATE, equality=True),
             theta),
            (local, theta),
            (at_x, theta),
            (Fact("||grad f||^2", LENGTH - norm2(g), paired.UPDATE, equality=True),
             theta / 4),
            (dominated(claim, paired.CONVEX, NOW, LENGTH), theta / 2),
            (mean_directions(square, ratio, rho, G2, BOUNDED), S / 2 * theta**2),
            (paired_drift(drift, theta, G2, BOUNDED), theta * S**2),
            (unpaired(e, S, theta, G2, BOUNDED), theta * (1 - ratio) ** 2),
        ),
        squares=((g * half + e * (1 - ratio), theta),),
        statement="e_t+1 <= (1 - theta mu) e_t + S c_1 theta^2 G^2/2 + (2/3 + 5/16 "
        "(1 - tau_min/tau_max)^2) S^2 theta^3 G^2",
    )  # fmt: skip


def of_blocks(claim: str) -> Certificate:
    r"""Return ``rates_descent.one_round`` with $\kappa=\frac43$ in Young.

    $e_{t+1}\le(1-\frac54\alpha\mu)e_t+Sc_1\alpha^2G^2+\frac83S^2\alpha^3G^2$,
    $c_1=1+\sum_na_n^2\frac{1-q_n}{q_n}$, for any periods.
    """
    gc, gs, mc, ms, zc, zs = vectors("g_c g_s M_c M_s Z_c Z_s")
    gradient, mean, noise = (gc, gs), (mc, ms), (zc, zs)
    update, drift = (mc + zc, ms + zs), atom("D")
    s, e, G, x = free("s e G x")
    (m,) = positive("m")
    pairs = tuple(zip(gradient, update, strict=True))
    smooth = NOW - THEN - alpha * sum(inner(g, u) for g, u in pairs)
    smooth += S / 2 * alpha**2 * sum(norm2(u) for u in update)
    blocks = sum(norm2(g) for g in gradient) - LENGTH
    kept, kappa = sp.Rational(5, 8), sp.Rational(4, 3)
    # <g, M> = 5/8 ||g||^2 - 2/3 ||g - M||^2 + 2/3 ||M - g/4||^2
    return Certificate(
        claim,
        THEN,
        (1 - 2 * kept * alpha * mu) * NOW
        + S * c1 * alpha**2 * G2
        + 2 * kappa * S**2 * alpha**3 * G2,
        OF_BLOCKS,
        Domain(
            "S >= mu > 0, alpha, G^2 >= 0, c_1 >= 1",
            {mu: m, S: m + s, alpha: e, G2: G, c1: 1 + x},
            (m, s, e, G, x),
        ),
        uses=(
            (Fact("f smooth, x -> x' = x - alpha M", smooth, SMOOTH), 1),
            *((unbiased(g, z, NOISE), alpha)
              for g, z in zip(gradient, noise, strict=True)),
            (dominated(claim, CONVEX, NOW, LENGTH), kept * alpha),
            (Fact("both blocks", blocks, BLOCKS, equality=True), kept * alpha),
            (averaged_deviation(gradient, mean, drift), kappa / 2 * alpha),
            (drift_of_both_sides(drift), kappa / 2 * alpha * S**2),
            (second_moment_of_blocks(update), S * alpha**2 / 2),
        ),
        squares=tuple(
            (m_ - g * (1 - 1 / kappa), kappa / 2 * alpha)
            for g, m_ in zip(gradient, mean, strict=True)
        ),
        statement="e_t+1 <= (1 - 5/4 alpha mu) e_t + 8/3 S^2 alpha^3 G^2 + "
        "S c_1 alpha^2 G^2",
    )  # fmt: skip
