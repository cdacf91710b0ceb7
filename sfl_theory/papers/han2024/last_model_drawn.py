r"""Theorem 3.9, strongly convex: the last model where SFL-V2's clients are drawn.

With server steps weighted by a_n and bounded gradients: what draws add to a round's
squared move is $\rho=\sum_na_n^2(\frac1{q_n}-1)$, as in (17), and drift falls like
$1/T^2$.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory import written as w
from sfl_theory.claims import Kind, Part, Proof, Says, meeting, says
from sfl_theory.kernel import terms as k
from sfl_theory.papers.han2024.setting import G2, T, f, mu
from sfl_theory.papers.han2024.strongly_convex_repairs import (
    GAMMA,
    RECURSION,
    SHARP_DRIFT,
    TAU,
    UPDATES,
    Algorithm,
    Line,
    S,
    after,
    more,
    run,
)
from sfl_theory.proofs import sharp_draws

RUN, DRAWN = run(k.Kind.V2_WEIGHTED, TAU, TAU, UPDATES), Algorithm("3.9")


def statement() -> Says:
    """Return the bound on the last model's gap."""
    late = GAMMA + T
    draws = w.number(Fraction(8, 3)) * S * G2 * (1 + more) / (mu**2 * late)
    far = 16 * S**2 * G2 / (mu**3 * late**2) * SHARP_DRIFT["3.9"]
    right: w.Terms = {
        "initial gap": (GAMMA / late) ** 4 * f.gap(RUN.x(0)),
        "participation": w.as_form(draws),
        "client drift": w.as_form(far),
    }
    return says(f.gap(RUN.x(T)), right, *DRAWN.assumed(RUN, S, mu))


WORDS = (
    f"{RECURSION} With $J_n=I_n/q_n$ and $W=\\sum a_nJ_n$ a round's squared move is at "
    r"most $(\eta\tau)^2G^2\,\mathbb EW^2=(\eta\tau)^2G^2(1+\rho)$, and its drift "
    r"has $\frac12(\mathbb EW+\mathbb EW^3)$, $\mathbb EW^3=1+3\rho+\sum a_n^3"
    r"(\frac1{q_n}-1)(\frac1{q_n}-2)$."
)
STATEMENT = statement()
PART = Part(
    STATEMENT,
    Proof(
        lambda: after(sharp_draws.strongly_convex()),
        WORDS,
        meeting(STATEMENT, s=3),
    ),
    f"{DRAWN.reading}; updates aggregated",
)
LINE = Line(DRAWN, RUN, PART)
CLAIMS = (
    Kind.THEOREM(
        "han2024/thm-3.9/strongly_convex/last-model",
        "not in the paper",
        "The gap of the last model, drift like 1/T^2.",
        PART,
        scope="for weighted server steps, updates aggregated",
    ),
)
