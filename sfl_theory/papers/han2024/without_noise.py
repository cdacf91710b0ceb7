r"""Theorems 3.6 and 3.7, strongly convex: what drift does, with and without noise.

Where stochastic gradients are exact, the bounds with a linear speed-up are far from
what happens: a parabola's gap falls like its eighth power of 1/T, and its drift
vanishes for one local step. The first statements are met by both, up to constants.
SFL-V2's server is visited in any order, which may change from round to round, so
successive rounds need not contract: there distance and gap are followed instead.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.evidence import Kind, Part, Says, meeting, proved, says
from sfl_theory.kernel import terms as k
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Number, Run
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.setting import G2, T, a, f, mu, n, sigma2
from sfl_theory.papers.han2024.strongly_convex_repairs import (
    EQUAL_PERIODS,
    GAMMA,
    TAU,
    WEIGHTED_RUNS,
    Algorithm,
    Line,
    S,
    after,
)
from sfl_theory.proofs import halfway_rates, moves, near_rounds


def assumed(r: Run, smooth: Number) -> tuple[Assumed, ...]:
    """Return what is assumed of a run whose gradients are exact."""
    return (
        s.assumption_31(smooth),
        w.unbiased(r).called("Assumption 3.2, (5)"),
        w.every_client(n, w.variance(r, n, w.number(0))).called("no noise"),
        s.assumption_33(r),
        s.assumption_C2(mu),
        s.minimum(),
    )


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
    return says(f.gap(r.x(T)), right, *assumed(r, S))


z = w.positive("z", "z")
"""``sqrt(4 kappa - 3) - 1``, so that S = mu + mu/4 (2 z + z^2)."""
STEEP = printed.Data(S=w.called(mu + mu / 4 * (2 * z + z**2), "S"))
S_Z, GAMMA_Z = STEEP.S, STEEP.gamma
PACE = w.pace(TAU, w.rate(lambda at: 4 / (mu * TAU * (GAMMA_Z + at))))
STEEPER = Run(k.Split(k.Kind.V1, k.Participants.EVERYONE, PACE, PACE), "SFL-v1")


def close() -> Says:
    """Return the bound whose drift vanishes with S - mu, to first order."""
    r, late, kappa = STEEPER, GAMMA_Z + T, S_Z / mu
    spread = 1 - 1 / TAU
    along = (1 + 2 * kappa / late) * (1 + 2 * (1 + z / 4) * spread / late) ** 2
    unit = w.number(Fraction(2, 3)) * G2 / mu * along
    falls = (GAMMA_Z * (GAMMA_Z + 1) / (late * (late + 1))) ** 4
    falls = falls * (late + 2 * GAMMA_Z + 1) / (3 * GAMMA_Z + 1)
    keeps = (2 * kappa + 15) / (30 * late**2)
    keeps = keeps + (kappa**2 / 4 + 13 * kappa + 10) / late**3
    far = w.number(Fraction(2, 9)) * (4 + z) ** 2 * kappa / late
    far = z**2 + far * (1 + 2 * kappa / late)
    both = spread * (2 - 1 / TAU)
    right: w.Terms = {
        "initial gap": w.as_form(unit * falls),
        "falling rate": w.as_form(unit * both * keeps),
        "client drift": w.as_form(G2 / (3 * mu * late**2) * both * far),
    }
    return says(f.gap(r.x(T)), right, *assumed(r, S_Z))


WORDS = (
    r"Beside round t stands round t + 1, its steps rescaled to the rate of round t. A "
    r"local step of both shrinks their distance by $1-\mu\eta^t$, up to the change of "
    r"the rate: $S\eta^t(\eta^t-\eta^{t+1})iG$. Averaged over clients it begins as "
    r"$x^{t+1}-x^t$ and ends as $\frac{\eta^t}{\eta^{t+1}}(x^{t+2}-x^{t+1})$, so "
    r"$U_t=\frac{x^t-x^{t+1}}{\eta^t\tau}$ falls as for a parabola. Smoothness and "
    r"convexity at all points met give $f(x^{t+1})-f^*\le\frac{\|U_t\|^2}{2\mu}"
    r"+\frac S2(1+\frac{S\eta^t\tau}2)D$, D the mean squared way of the local points."
)
FIRST, NEAR = statement(), close()
PART: Part = proved(
    FIRST,
    lambda: after(moves.rate()),
    WORDS,
    r"$\tau=\tilde\tau$, no noise",
    model=meeting(FIRST, Fraction(0), tau=2),
)
CLOSE_WORDS = (
    r"For $p$ a point met, $F_n(x)-F_n(x^*)\le\langle\nabla F_n(p),x-x^*\rangle"
    r"+(1+\frac z4)\mu\langle x-p,x-x^*\rangle-\frac38\mu\|x-x^*\|^2"
    r"+\frac\mu8z^2\|x-p\|^2$: three tangent parabolas, weighted by $\frac1{1+z}$ "
    r"and $\frac z{1+z}$. Averaged, gradients are $U_t=\frac{x^t-x^{t+1}}{\eta^t\tau}$ "
    r"and $x-p$ is $\frac{\eta^t(\tau-1)}2U_t$ up to how gradients change in a round. "
    r"Beside round t stands round t + 1, rescaled; what its points are off by "
    r"enters $\|U_{t+1}\|^2$ by its square, times $\frac S2\eta^t$ a step."
)
CLOSE: Part = proved(
    NEAR,
    lambda: after(near_rounds.rate()),
    CLOSE_WORDS,
    r"$\tau=\tilde\tau$, no noise; $z=\sqrt{4S/\mu-3}-1$, so $S>\mu$",
    model=meeting(NEAR, Fraction(0), tau=2, z=1),
)
CLOSE_LINE = Line(Algorithm("3.6"), STEEPER, CLOSE)
LINE = Line(Algorithm("3.6"), EQUAL_PERIODS, PART)
STEADY = (
    Kind.THEOREM(
        "han2024/thm-3.6/strongly_convex/without-noise",
        "not in the paper",
        "The gap of the last model without noise.",
        PART,
        scope="for sigma_n = 0, equal periods",
    ),
    Kind.THEOREM(
        "han2024/thm-3.6/strongly_convex/small-drift",
        "not in the paper",
        "The gap of the last model without noise: drift as of two opposed parabolas.",
        CLOSE,
        scope="for sigma_n = 0, equal periods, S > mu",
    ),
)

# Theorem 3.7: visits in any order, so distance and gap are followed -------------------

VISITS = Run(
    k.Split(k.Kind.V2_WEIGHTED, k.Participants.EVERYONE, PACE, PACE),
    f"SFL-{k.Kind.V2_WEIGHTED}",
)


def by_distance(noisy: bool) -> Says:
    """Return the bound on the last model's gap."""
    late, kappa = GAMMA_Z + T, S_Z / mu
    first = (4 + z) * (13 + 13 * z + 2 * z**2) / ((1 + 2 * z) * (9 + 4 * z))
    far = (2 + z) * (5 + z) * (kappa + 3) + 5 * kappa**2
    far = ((4 + z) / (3 + z) * far + 5 * kappa**2) / (7 + 2 * z)
    spread = 3 + (1 - 1 / TAU) * (2 - 1 / TAU)
    unit = w.number(Fraction(4, 15)) * G2 / mu * spread
    early = late + (24 * kappa + 6 if noisy else 11 * kappa + 4)
    right: dict[str, w.Side] = {
        "initial gap": first * (GAMMA_Z / late) ** 7 * f.gap(VISITS.x(0)),
        "client drift": w.as_form(unit * far * early / late**3),
    }
    if not noisy:
        return says(f.gap(VISITS.x(T)), right, *assumed(VISITS, S_Z))
    both = w.number(Fraction(10, 3)) * (2 * z + 11) + 36 * kappa / (2 + z)
    both = (4 + z) * (2 + z) / (2 * (7 + 2 * z)) * both + 9 * kappa
    noise = both / (15 + 4 * z) * (late + 30 * kappa + 4) / (mu * TAU * late**2)
    noise = noise * w.over_clients(n, a() ** 2 * sigma2())
    right["gradient noise"] = w.as_form(noise)
    own = [s.assumption_31(S_Z), *s.assumption_32(VISITS), s.assumption_33(VISITS)]
    own += [s.assumption_C2(mu), s.minimum()]
    return says(f.gap(VISITS.x(T)), right, *own)


BY_DISTANCE = (
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
SILENT, LOUD = by_distance(noisy=False), by_distance(noisy=True)
WRITTEN = r"$z=\sqrt{4S/\mu-3}-1$, so $S>\mu$; $\gamma=8S/\mu-1$"
ANY_ORDER: Part = proved(
    SILENT,
    lambda: after(halfway_rates.rate(halfway_rates.QUIET)),
    BY_DISTANCE,
    f"{WEIGHTED_RUNS}, no noise; {WRITTEN}",
    model=meeting(SILENT, Fraction(0), tau=2, z=1),
)
NOISY: Part = proved(
    LOUD,
    lambda: after(halfway_rates.rate(halfway_rates.NOISY)),
    f"{BY_DISTANCE} {WITH_NOISE}",
    f"{WEIGHTED_RUNS}; {WRITTEN}",
    model=meeting(LOUD, Fraction(1, 4), tau=2, z=1),
)
ANY_ORDER_LINE, NOISY_LINE = (
    Line(Algorithm("3.7"), VISITS, part) for part in (ANY_ORDER, NOISY)
)
DISTANCES = (
    Kind.THEOREM(
        "han2024/thm-3.7/strongly_convex/any-order",
        "not in the paper",
        "The gap of the last model without noise, visits in any order.",
        ANY_ORDER,
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

CLAIMS = (*STEADY, *DISTANCES)
