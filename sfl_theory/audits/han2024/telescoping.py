r"""From one round to T rounds: the sum over t, ending in the words of the bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfl_theory import symbols
from sfl_theory.bound import Bound
from sfl_theory.evidence.certificate import Certificate, Fact, atom
from sfl_theory.evidence.domain import Domain, free, positive

squares, W, c = positive("E2 W c")

ROUND = "the certificate of one round, for every t < T"


def telescoped(
    claim: str, bound: Bound, period: Any, per_round: Any, meaning: Mapping[Any, Any]
) -> Certificate:
    r"""Return the sum of $\frac{\eta^tp}4g_t\le f_t-f_{t+1}+(\eta^t)^2r$ over $t<T$.

    With $f_T\ge f^*$: $\frac1T\sum_t\eta^tg_t\le\frac4{pT}(f_0-f^*)+\frac{4r}{pT}
    \sum_t(\eta^t)^2$, and that is at most the bound, formula by formula.

    Args:
        claim: identifier of the claim.
        bound: printed or repaired; its sum over $(\eta^t)^2$ becomes ``squares``.
        period: p.
        per_round: r, in the symbols of ``meaning``.
        meaning: what sums over clients in the bound stand for.

    Returns:
        The certificate.
    """
    weighted, last = atom("sum eta ||grad f||^2"), atom("f(x^T) - f*")
    S, N, T, tau, tau_server = free("s n r k d")
    rounds = symbols.over_rounds(symbols.eta(symbols.t) ** 2)
    replaced = {**meaning, rounds: squares}
    right = sum(part.xreplace(replaced) for part in bound.parts.values())
    domain = Domain(
        "T, N, tau, tau_server >= 1, the rest >= 0",
        {
            symbols.S: S,
            symbols.N: 1 + N,
            symbols.T: 1 + T,
            symbols.tau: 1 + tau,
            symbols.tau_server: 1 + tau_server,
        },
        (
            S,
            N,
            T,
            tau,
            tau_server,
            squares,
            W,
            c,
            symbols.F_err,
            symbols.tau_min,
            symbols.epsilon,
        ),
    )
    summed = Fact(
        "sum of one round over t < T",
        symbols.F_err - last + per_round * squares - period / 4 * weighted,
        ROUND,
    )
    floor = Fact("f(x^T) >= f*", last, "x* minimises f")
    factor = 4 / (period * symbols.T)
    return Certificate(
        claim,
        weighted / symbols.T,
        right,
        (ROUND, "x* minimises f"),
        domain,
        uses=((summed, factor), (floor, factor)),
        statement="(1/T) sum_t eta^t E||grad f(x^t)||^2 <= the bound of "
        + str(bound.source),
    )
