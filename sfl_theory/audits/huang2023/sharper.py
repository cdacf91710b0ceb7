r"""``huang2023``: more than (32) and the drift of the joint proof say.

(32) counts $\eta^2\|\bar g\|^2$ beside $\eta^2\sum_np_n\|g_n\|^2$. As
$\sum_np_n(\bar w-w_n)=0$, only $g_n-\bar g$ meets $\bar w-w_n$:

$$-2\eta\sum_np_n\langle\bar w-w_n,g_n\rangle\le\frac1c\sum_np_n\|\bar w-w_n\|^2+
c\eta^2\Bigl(\sum_np_n\|g_n\|^2-\|\bar g\|^2\Bigr),$$

so that $2S$ does for $4S$ (c = 1), or half the distances (c = 2).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy as sp

from sfl_theory.audits.huang2023.drift import B, ended
from sfl_theory.audits.huang2023.drift_any_rate import within_a_round
from sfl_theory.audits.huang2023.expansions import sum_of_steps, young_rate
from sfl_theory.audits.huang2023.notation import R2, Build, delta2, eta, j, x
from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    Vector,
    atom,
    norm2,
    vectors,
)
from sfl_theory.evidence.derivation import Instance, Use
from sfl_theory.symbols import S, mu, tau

AVERAGED = "gbar = sum p_n g_n, wbar = sum p_n w_n"


def steps_apart(claim: str) -> tuple[Build, ...]:
    r"""Return (32) with 2S for 4S, and with half the distances.

    Args:
        claim: identifier of the claim.

    Returns:
        The certificates.
    """
    return lambda: _sum_of_steps(claim, 1), lambda: _sum_of_steps(claim, 2)


def _sum_of_steps(claim: str, c: int) -> Certificate:
    (paper,) = sum_of_steps(claim)
    loose = paper()
    known = {fact.name: (fact, multiplier) for fact, multiplier in loose.uses}
    d, mean = vectors("wbar-w* gbar")
    apart, size = atom("sum p ||wbar-w_n||^2"), atom("sum p ||g_n||^2")
    cross, gap = atom("sum p <wbar-w_n, g_n>"), atom("sum p (f_n-f_n*)")
    other = atom("sum p (f_n-f_n(w_c*,w_s))")
    aside, along = atom("sum p <wbar-w_n, gbar>"), atom("sum p <g_n, gbar>")
    (young,) = young_rate("huang2023/eq-30")
    met = Fact(
        "Young for wbar - w_n and g_n - gbar",
        apart / (c * eta)
        + c * eta * (size - 2 * along + norm2(mean))
        + 2 * (cross - aside),
        "",
        derived=Instance(
            Use(
                young(),
                {"e": c * eta, "s": S, "m": mu},
                {
                    "<u,u>": apart,
                    "<g_n,g_n>": size,
                    "<g_n,u>": cross,
                    "<gbar,u>": aside,
                    "<g_n,gbar>": along,
                },
                {"g": Vector({"g_n": sp.Integer(1), "gbar": -sp.Integer(1)})},
                family="clients, weights p_n of total 1",
            )
        ),
    )
    uses: tuple[tuple[Fact, Any], ...] = (
        known["(29)"],
        (met, eta),
        (Fact("sum p <g_n, gbar>", along - norm2(mean), AVERAGED, equality=True),
         2 * c * eta**2),
        (Fact("sum p (wbar - w_n) = 0", aside, AVERAGED, equality=True), 2 * eta),
        (known["(28) self-bounding"][0], c * eta**2),
        known["(31)"],
        known["Jensen"],
        (Fact("sum p ||wbar-w_n||^2 >= 0", apart, "squares"), sp.Integer(0)),
    )  # fmt: skip
    half = sp.Rational(1, c)
    right = (1 - mu * eta) * norm2(d) + half * apart - 2 * eta * other
    words = "half the distances" if c == 2 else "2S for 4S"
    return Certificate(
        claim,
        loose.left,
        right + 2 * c * S * eta**2 * gap,
        loose.hypotheses,
        loose.domain,
        uses=uses,
        squares=((mean, (c - 1) * eta**2),),
        statement=f"(32) with {words}",
    )


def drift_within_a_round(claim: str) -> tuple[Build, ...]:
    r"""Return the drift of the joint proof with 3 for 8, by Lemma 4.

    Args:
        claim: identifier of the claim.

    Returns:
        The certificate.
    """
    return (lambda: _ended(claim),)


def _ended(claim: str) -> Certificate:
    loose = ended(claim)
    at = {"i_": j, "m_j": tau - 1 - j, "y_": x - j, "d_": delta2, "R_": R2, "m_": mu}
    found = Use(within_a_round("huang2023/lemma-4"), at)
    bound = 3 * j * eta**2 * B - loose.left
    fact = Fact("D_j <= 3 j eta^2 B", bound, "", derived=Instance(found))
    return replace(
        loose,
        right=3 * (tau - 1) * eta**2 * B,
        uses=((fact, sp.Integer(1)),),
        statement="sum p E||w_{c,n} - wbar_c||^2 <= 3 (tau - 1) eta^2 "
        "(R^2 + 2 tau delta^2) for gamma >= tau",
    )
