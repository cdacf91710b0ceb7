r"""Theorem 3.7, strongly convex: the gap by distances, with and without noise.

The server of SFL-V2 is visited in any order, which may change from round to round, so
successive rounds need not contract: distance and gap are followed instead.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory import written as w
from sfl_theory.claims import Kind, Part, Says, meeting, proved, says
from sfl_theory.kernel import terms as k
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.setting import G2, T, a, f, mu, n, sigma2
from sfl_theory.papers.han2024.strongly_convex_repairs import (
    TAU,
    WEIGHTED_RUNS,
    Algorithm,
    Line,
    after,
)
from sfl_theory.papers.han2024.without_noise import GAMMA_Z, PACE, S_Z, assumed, z
from sfl_theory.proofs import halfway_rates
from sfl_theory.written import Run

RUN = Run(
    k.Split(k.Kind.V2_WEIGHTED, k.Participants.EVERYONE, PACE, PACE),
    f"SFL-{k.Kind.V2_WEIGHTED}",
)


def statement(noisy: bool) -> Says:
    """Return the bound on the last model's gap."""
    late, kappa = GAMMA_Z + T, S_Z / mu
    first = (4 + z) * (13 + 13 * z + 2 * z**2) / ((1 + 2 * z) * (9 + 4 * z))
    far = (2 + z) * (5 + z) * (kappa + 3) + 5 * kappa**2
    far = ((4 + z) / (3 + z) * far + 5 * kappa**2) / (7 + 2 * z)
    spread = 3 + (1 - 1 / TAU) * (2 - 1 / TAU)
    unit = w.number(Fraction(4, 15)) * G2 / mu * spread
    early = late + (24 * kappa + 6 if noisy else 11 * kappa + 4)
    right: dict[str, w.Side] = {
        "initial gap": first * (GAMMA_Z / late) ** 7 * f.gap(RUN.x(0)),
        "client drift": w.as_form(unit * far * early / late**3),
    }
    if not noisy:
        return says(f.gap(RUN.x(T)), right, *assumed(RUN, S_Z))
    both = w.number(Fraction(10, 3)) * (2 * z + 11) + 36 * kappa / (2 + z)
    both = (4 + z) * (2 + z) / (2 * (7 + 2 * z)) * both + 9 * kappa
    noise = both / (15 + 4 * z) * (late + 30 * kappa + 4) / (mu * TAU * late**2)
    noise = noise * w.over_clients(n, a() ** 2 * sigma2())
    right["gradient noise"] = w.as_form(noise)
    own = [s.assumption_31(S_Z), *s.assumption_32(RUN), s.assumption_33(RUN)]
    own += [s.assumption_C2(mu), s.minimum()]
    return says(f.gap(RUN.x(T)), right, *own)


WORDS = (
    r"Half the difference of the server's steps before a visit and of the others "
    r"weighs every gradient by $\pm\frac12$, so its square is at most "
    r"$\frac{(\eta\tau)^2}4G^2$ in any order; late, a round ends near where it began. "
    r"With $\alpha=\eta\tau$, A the drift seen from there: $\|x^{t+1}-x^*\|^2"
    r"+2\alpha\phi_{t+1}\le(1-\frac34\mu\alpha)\|x^t-x^*\|^2+\alpha(S+3\mu)A$ and "
    r"$\phi_{t+1}\le\phi_t-\frac\alpha2\|\nabla f\|^2+\frac\alpha2S^2A$, up to "
    r"$1+O(S\alpha)$. The first bounds distances, both $V=\|x-x^*\|^2+\frac4{(2+z)\mu}"
    r"\phi$, and $\|\nabla f\|^2\ge2c(\phi+\frac\mu2\|x-x^*\|^2)-c^2\|x-x^*\|^2$ for "
    r"c about $(2+\frac z2)\mu$ then bounds $\phi$."
)
WITH_NOISE = (
    r"Late, noise adds $\frac54\alpha^2\frac1\tau\sum a_n^2\sigma_n^2$ to a squared "
    r"distance, and $\frac9{16}S$ times its squared length to the gap."
)
SILENT, LOUD = statement(noisy=False), statement(noisy=True)
WRITTEN = r"$z=\sqrt{4S/\mu-3}-1$, so $S>\mu$; $\gamma=8S/\mu-1$"
PART: Part = proved(
    SILENT,
    lambda: after(halfway_rates.rate(halfway_rates.QUIET)),
    WORDS,
    f"{WEIGHTED_RUNS}, no noise; {WRITTEN}",
    model=meeting(SILENT, Fraction(0), tau=2, z=1),
)
NOISY: Part = proved(
    LOUD,
    lambda: after(halfway_rates.rate(halfway_rates.NOISY)),
    f"{WORDS} {WITH_NOISE}",
    f"{WEIGHTED_RUNS}; {WRITTEN}",
    model=meeting(LOUD, Fraction(1, 4), tau=2, z=1),
)
LINE, NOISY_LINE = (Line(Algorithm("3.7"), RUN, part) for part in (PART, NOISY))
CLAIMS = (
    Kind.THEOREM(
        "han2024/thm-3.7/strongly_convex/any-order",
        "not in the paper",
        "The gap of the last model without noise, visits in any order.",
        PART,
        scope="for sigma_n = 0, weighted server steps, S > mu",
    ),
    Kind.THEOREM(
        "han2024/thm-3.7/strongly_convex/by-distance",
        "not in the paper",
        "The gap of the last model by distances: noise like sqrt(kappa)/(mu T).",
        NOISY,
        scope="for weighted server steps, S > mu",
    ),
)
