r"""Theorem 3.7, strongly convex, where stochastic gradients are exact.

The server of SFL-V2 is visited in any order, which may change from round to round, so
successive rounds need not contract: distance and gap are followed instead.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory import written as w
from sfl_theory.claims import Kind, Part, Says, proved, says
from sfl_theory.kernel import terms as k
from sfl_theory.models.federation import federation, parabola
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.setting import G2, T, f, mu
from sfl_theory.papers.han2024.strongly_convex_repairs import (
    TAU,
    WEIGHTED_RUNS,
    Algorithm,
    Line,
    after,
)
from sfl_theory.papers.han2024.without_noise import GAMMA_Z, PACE, S_Z, assumed, z
from sfl_theory.proofs import halfway_rates
from sfl_theory.proofs.export import ModelData
from sfl_theory.written import Run

RUN = Run(
    k.Split(k.Kind.V2_WEIGHTED, k.Participants.EVERYONE, PACE, PACE),
    f"SFL-{k.Kind.V2_WEIGHTED}",
)


def statement() -> Says:
    """Return the bound on the last model's gap."""
    late, kappa = GAMMA_Z + T, S_Z / mu
    first = (4 + z) * (13 + 13 * z + 2 * z**2) / ((1 + 2 * z) * (9 + 4 * z))
    far = (2 + z) * (5 + z) * (kappa + 3) + 5 * kappa**2
    far = ((4 + z) / (3 + z) * far + 5 * kappa**2) / (7 + 2 * z)
    spread = 3 + (1 - 1 / TAU) * (2 - 1 / TAU)
    unit = w.number(Fraction(4, 15)) * G2 / mu * spread
    right: w.Terms = {
        "initial gap": first * (GAMMA_Z / late) ** 7 * f.gap(RUN.x(0)),
        "client drift": w.as_form(unit * far * (late + 11 * kappa + 4) / late**3),
    }
    return says(f.gap(RUN.x(T)), right, *assumed(RUN, S_Z))


def model() -> ModelData:
    """Return two parabolas that pull apart, visited one after the other."""
    return federation(
        [parabola(1, (0, "1/2")), parabola(1, (0, "-1/2"))],
        ("1/2", "1/2"),
        order=((0, 0), (0, 1), (1, 0), (1, 1)),
        rounds=1,
        numbers={mu: 1, z: 1, s.tau: 2, T: 1, G2: 4},
        best={f: (0, 0)},
        box=((-1, 1), (-1, 1)),
    )


WORDS = (
    r"Half the difference of the server's steps before a visit and of the others "
    r"weighs every gradient by $\pm\frac12$, so its square is at most "
    r"$\frac{(\eta\tau)^2}4G^2$ in any order; late, a round ends near where it began. "
    r"With $\alpha=\eta\tau$, A the drift seen from there: $\|x^{t+1}-x^*\|^2"
    r"+2\alpha\phi_{t+1}\le(1-\frac34\mu\alpha)\|x^t-x^*\|^2+\alpha(S+3\mu)A$ and "
    r"$\phi_{t+1}\le\phi_t-\frac\alpha2\|\nabla f\|^2+\frac\alpha2S^2A$, up to "
    r"$1+O(S\alpha)$. The first bounds distances, both $V=\|x-x^*\|^2+\frac4{(2+z)\mu}"
    r"\phi$, and $\|\nabla f\|^2\ge2c(\phi+\frac\mu2\|x-x^*\|^2)-c^2\|x-x^*\|^2$ for "
    r"$c\approx(2+\frac z2)\mu$ then bounds $\phi$."
)
PART: Part = proved(
    statement(),
    lambda: after(halfway_rates.rate()),
    WORDS,
    rf"{WEIGHTED_RUNS}, no noise; $z=\sqrt{{4S/\mu-3}}-1$, so $S>\mu$",
    model=model,
)
LINE = Line(Algorithm("3.7"), RUN, PART)
CLAIMS = (
    Kind.THEOREM(
        "han2024/thm-3.7/strongly_convex/any-order",
        "not in the paper",
        "The gap of the last model without noise, visits in any order.",
        PART,
        scope="for sigma_n = 0, weighted server steps, S > mu",
    ),
)
