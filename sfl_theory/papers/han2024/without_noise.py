r"""Theorem 3.6, strongly convex, where stochastic gradients are exact.

Without noise the bounds with a linear speed-up are far from what happens: a parabola's
gap falls like its eighth power of 1/T, and its drift vanishes for one local step. The
statement here is met by both, up to constants.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from sfl_theory import written as w
from sfl_theory.claims import Kind, Part, Says, proved, says
from sfl_theory.kernel.rules import Theorem
from sfl_theory.models.federation import federation, parabola
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.setting import G2, T, excess, f, mu, n
from sfl_theory.papers.han2024.strongly_convex_repairs import (
    EQUAL_PERIODS,
    GAMMA,
    TAU,
    Algorithm,
    Line,
    S,
    after,
)
from sfl_theory.proofs import quiet_gap
from sfl_theory.proofs.export import ModelData


def statement() -> Says:
    """Return the bound on the last model's gap."""
    r, s_ = EQUAL_PERIODS, GAMMA + T - 1
    spread, unit = 1 - 1 / TAU, G2 / (2 * mu)
    falls = (GAMMA * (GAMMA + 1) / (s_ * (s_ + 1))) ** 2
    keeps = w.number(Fraction(2, 3)) * S / mu * spread * (s_ + 10) / s_**2
    drift = w.number(Fraction(4, 3)) * S * G2 / (mu**2 * s_**2)
    drift = drift * spread * (2 - 1 / TAU) * (1 + 2 * S / (mu * s_))
    right: w.Terms = {
        "initial gap": w.as_form(unit * falls**2),
        "falling rate": w.as_form(unit * (2 * falls * keeps + keeps**2)),
        "client drift": w.as_form(drift),
    }
    return says(
        f.gap(r.x(T)),
        right,
        s.assumption_31(S),
        w.unbiased(r).called("Assumption 3.2, (5)"),
        w.every_client(n, w.variance(r, n, w.number(0))).called("no noise"),
        s.assumption_33(r),
        s.assumption_C2(mu),
        s.minimum(),
    )


def model() -> ModelData:
    """Return two parabolas that pull apart, one round of two steps."""
    return federation(
        [parabola(1, (0, "1/2")), parabola(1, (0, "-1/2"))],
        ("1/2", "1/2"),
        rounds=1,
        numbers={mu: 1, excess: 0, s.tau: 2, T: 1, G2: 4},
        best={f: (0, 0)},
        box=((-1, 1), (-1, 1)),
    )


def derived() -> Theorem:
    """Return the proof for T rounds."""
    return after(quiet_gap.rate())


WORDS = (
    r"Beside round t stands round t + 1, its steps rescaled to the rate of round t. A "
    r"local step of both shrinks their distance by $1-\mu\eta^t$, up to the change of "
    r"the rate: $S\eta^t(\eta^t-\eta^{t+1})iG$. Averaged over clients it begins as "
    r"$x^{t+1}-x^t$ and ends as $\frac{\eta^t}{\eta^{t+1}}(x^{t+2}-x^{t+1})$, so "
    r"$U_t=\frac{x^t-x^{t+1}}{\eta^t\tau}$ falls as for a parabola. Smoothness and "
    r"convexity at all points met give $f(x^{t+1})-f^*\le\frac{\|U_t\|^2}{2\mu}"
    r"+\frac S2(1+\frac{S\eta^t\tau}2)D$, D the mean squared way of the local points."
)
PART: Part = proved(
    statement(), derived, WORDS, r"$\tau=\tilde\tau$, no noise", model=partial(model)
)
LINE = Line(Algorithm("3.6"), EQUAL_PERIODS, PART)
CLAIMS = (
    Kind.THEOREM(
        "han2024/thm-3.6/strongly_convex/without-noise",
        "not in the paper",
        "The gap of the last model without noise.",
        PART,
        scope="sigma_n = 0, equal periods",
    ),
)
