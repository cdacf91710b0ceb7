r"""SFL-V2's blocks in E.3 and G.3 of ``han2024`` with smaller constants.

``participation.visited_drift`` counts only the visits before a gradient is taken, and
needs Young's inequality only for what the gradients change within the round:
$D\le4p^3\eta^2\kappa^2(\|\nabla f\|^2+\epsilon^2)+\eta^2p^2\sigma$, for twice the
learning rate with $2\sigma$. What follows from D follows with smaller constants.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy as sp

from sfl_theory.audits.han2024.equations.non_convex_blocks import (
    D,
    F,
    g,
    inner_product,
    square_end,
    whole,
    whole2,
)
from sfl_theory.audits.han2024.equations.non_convex_kinds import (
    HETEROGENEOUS,
    KINDS,
    NOISE,
    SMOOTH,
    Kind,
    p,
    sigma,
    sigma_a,
    sigma_q,
)
from sfl_theory.audits.han2024.non_convex_v1 import S, eps2, eta
from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    Vector,
    atom,
    norm2,
    vectors,
)
from sfl_theory.evidence.derivation import Instance, Use
from sfl_theory.evidence.domain import Domain
from sfl_theory.evidence.kernel import KERNEL
from sfl_theory.evidence.local_sgd import heterogeneity
from sfl_theory.evidence.participation import (
    centred,
    deviation_variance,
    local_deviation,
    participating_gradients,
    participating_noise,
    visited_drift,
)

DELTA = atom("Delta")
C = sp.Rational(1, 2)
"""Constant of Young's inequality in the drift."""


def _domain(one: Kind, times: int) -> Domain:
    """Return the domain for a multiple of the learning rate."""
    domain = one.domain()
    if times == 1:
        return domain
    words = f"{times} times the rate of: {domain.words}"
    values = {**domain.values, eta: times * domain.values[eta]}
    return Domain(words, values, domain.free)


def drift(claim: str, kind: str, times: int = 1) -> Certificate:
    r"""Return $D\le4p^3\eta^2\kappa^2(\|\nabla f\|^2+\epsilon^2)+m\eta^2p^2\sigma$.

    Args:
        claim: identifier of the claim.
        kind: "v2" or "v2-partial".
        times: m; the learning rate may be m times as large, 1 or 2.

    Returns:
        The certificate.
    """
    one = KINDS[kind]
    growth, noise = one.spread, one.variance()
    scale = eta**2 * p**2 / 2
    lam_d = 1 / (1 - scale * (1 + 1 / C) * growth * S**2)
    lam_delta = lam_d * scale * (1 + 1 / C) * growth
    lam_f = lam_d * scale * (1 + C) * growth * p
    largest = 4 * p**3 * eta**2 * growth
    rule = visited_drift(D, F, DELTA, eta, p, one.total, noise, C, one.update)
    return Certificate(
        claim,
        D,
        largest * (whole2 + eps2) + times * eta**2 * p**2 * noise,
        (SMOOTH, HETEROGENEOUS, one.update),
        _domain(one, times),
        uses=(
            (rule, lam_d),
            (local_deviation(DELTA, D, S, SMOOTH), lam_delta),
            (heterogeneity(F, whole2, eps2, 1, 1, HETEROGENEOUS), lam_f),
        ),
        squares=((whole, largest - lam_f),),
        statement=f"D <= 4 p^3 eta^2 {growth} (||grad f||^2 + eps^2) + {times} eta^2 "
        f"p^2 ({noise})",
    )


def _moved(claim: str, kind: str, times: int) -> Fact:
    source = drift(claim, kind, times)
    same = {str(v): v for v in source.domain.free}
    return Fact("drift", source.conclusion, "", derived=Instance(Use(source, same)))


def inner_product_end(claim: str, kind: str, times: int = 1) -> Certificate:
    r"""Return (117), (121), (177), (181) with 2 for 8, the noise with $\frac m2p^2$.

    Args:
        claim: identifier of the claim.
        kind: "v2" or "v2-partial".
        times: m; the learning rate may be m times as large, 1 or 2.

    Returns:
        The certificate.
    """
    one = KINDS[kind]
    first = inner_product(claim, kind)
    at = {"k": p - 1, "s": S, "e": eta}
    sides = Fact("one block", first.conclusion, "", derived=Instance(Use(first, at)))
    moved = _moved(claim, kind, times)
    factor = eta * S**2 / 2
    return Certificate(
        claim,
        first.left,
        -eta * p / 2 * norm2(g) + factor * sp.expand(moved.expr + D),
        one.hypotheses,
        _domain(one, times),
        uses=((sides, 1), (moved, factor)),
        statement="E<grad_b f, x_b' - x_b> <= -eta p/2 ||grad_b f||^2 + eta S^2/2 "
        f"[4 p^3 eta^2 {one.spread} (||grad f||^2 + eps^2) + {times} eta^2 p^2 "
        f"({one.variance()})]",
    )


def square(claim: str, kind: str, times: int = 1) -> Certificate:
    r"""Return (120), (122), (180), (182): half of ``square_end``, or twice the rate.

    Args:
        claim: identifier of the claim.
        kind: "v2" or "v2-partial".
        times: 1 halves the right side, 2 doubles the learning rate.

    Returns:
        The certificate.
    """
    one, source = KINDS[kind], square_end(claim, kind)
    moved = _moved(claim, kind, times)
    right = source.right / 2 if times == 1 else source.right
    uses: list[tuple[Fact, Any]] = []
    squared = -sp.expand(right).coeff(whole2)
    for fact, multiplier in source.uses:
        used = moved if fact.name == "drift" else fact
        if used.hypothesis == NOISE:  # the update's noise is as in Assumption 3.2
            used = replace(used, hypothesis=one.update)
        uses.append((used, multiplier))
        squared += multiplier * sp.expand(used.expr).coeff(whole2)
    return replace(
        source,
        right=right,
        hypotheses=tuple(h for h in source.hypotheses if h != NOISE),
        domain=_domain(one, times),
        uses=tuple(uses),
        squares=((whole, -squared),),
        statement=f"half of: {source.statement}" if times == 1 else source.statement,
    )


def square_in_parts(claim: str, kind: str) -> Certificate:
    r"""Return (120), (122), (180), (182) without a term that others outweigh.

    $\sum_nw_nh_n=p\nabla_bf+L+B+V+Z$ as in ``evidence.participation``; the square is at
    most $2p^2\|\nabla_bf\|^2+2\|B\|^2+2\|V\|^2+2\|L\|^2+2\|Z\|^2$. Where all take part
    $L=0$, so $\epsilon^2$ enters by the drift alone; otherwise $\sigma_a$ does, as the
    noise itself is $p\sigma_q$ at most.

    Args:
        claim: identifier of the claim.
        kind: "v2" or "v2-partial".

    Returns:
        The certificate.
    """
    one, source = KINDS[kind], square_end(claim, kind)
    moved = _moved(claim, kind, 1)
    half = S / 2 * eta**2
    b, B, V, Z = vectors("grad_b B V Z")
    L = vectors("L")[0] if kind == "v2-partial" else Vector({})
    update = Fact(
        "sum_n w_n h_n = p grad_b f + L + B + V + Z",
        norm2(p * b + B + L + V + Z) - source.left / half,
        one.update,
        equality=True,
    )
    mixed = (p, p, p, 1, 1, 1, 2)  # <g, .>, <B, .> and, twice more, <L, Z>
    # where all take part sigma_q = sum a_n^2 sigma_n^2 <= sigma
    whole_noise = sigma_q if kind == "v2-partial" else sigma
    spread = one.total - 1  # at least rho
    uses: list[tuple[Fact, Any]] = [
        (update, half),
        *(
            (fact, -2 * half * k)
            for fact, k in zip(centred((b, B), L, V, Z, NOISE), mixed, strict=True)
            if fact.expr != 0
        ),
        (deviation_variance(B, V, D, p, one.total, S, SMOOTH), 2 * half),
        (participating_noise(Z, p, whole_noise, NOISE), 2 * half),
        (moved, 2 * half * one.total * p * S**2),
    ]
    if spread != 0:
        fact = participating_gradients(L, whole2, eps2, p, spread, HETEROGENEOUS)
        uses.append((fact, 2 * half))
    gone = 4 * half * one.total * p**2
    gone *= sigma_a if kind == "v2-partial" else 2 * eps2
    right = source.right - gone
    squared = sum(m * sp.expand(fact.expr).coeff(whole2) for fact, m in uses)
    rest = sp.expand(right).coeff(whole2) - squared
    block = Fact("a block of grad f", whole2 - norm2(b), KERNEL)
    return replace(
        source,
        right=right,
        uses=(*uses, (block, 2 * half * p**2)),
        squares=(
            (p * b - B, half),
            (L + Z - V, half),
            (whole, rest - 2 * half * p**2),
        ),
        statement=f"{source.statement}, without {gone}",
    )
