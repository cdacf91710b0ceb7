r"""Theorem 3.9: SFL-V2, clients take part at random.

Updates are aggregated, as App. C.2 analyses; the order of the visits is arbitrary.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfl_theory import written as w
from sfl_theory.claims import Claim, Kind, Model, Part, Proof, Repair, Says, Severity
from sfl_theory.claims import says as at_most
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Participants
from sfl_theory.papers.han2024.appendix_e3 import EQUAL
from sfl_theory.papers.han2024.blocks import Descent
from sfl_theory.papers.han2024.instances import stuck
from sfl_theory.papers.han2024.setting import (
    N,
    S,
    T,
    a,
    eps2,
    eta,
    f,
    minimum,
    n,
    run,
    sigma2,
    t,
    tau,
)
from sfl_theory.proofs import drawn_rounds, partial_visits
from sfl_theory.written import Form

CHANCE = Fraction(3, 4)
UPDATES, INVERSE = Participants.UPDATES, w.inverse_chance(n)
RATES = tuple(
    w.at_most(one, 1).called("the learning rate of Theorem 3.9")
    for one in (
        16 * S * eta() * tau,
        8 * S * N**2 * tau * eta() * w.over_clients(n, a() ** 2 * INVERSE),
    )
)
NOISE = w.over_clients(n, (a() ** 2 + 1) * INVERSE * (sigma2() + eps2))


def descent(version: Version) -> Descent:
    """Return what the section concludes for a version of the server's steps."""
    this = run(version, who=UPDATES)
    draws = (w.participation(this).called("App. C.2"),)
    return Descent(this, tau, tau**2, tau, NOISE, RATES, draws)


PRINTED = descent(Version.V2)
EQUALLY = replace(PRINTED, more=(*PRINTED.more, *EQUAL))


def weighted(noise: Form) -> Says:
    """Return the theorem of the algorithm with weighted server steps."""
    b = descent(Version.V2_WEIGHTED)
    rate = w.at_most(8 * S * eta() * tau * KAPPA, 1)
    left = w.number(1) / T * w.below(t, T, eta() * b.slope)
    right = w.number(4) / (T * tau) * f.gap(b.run.x(0)) + noise
    return at_most(left, right, *b.assumed, minimum(), w.every_round(t, T, rate))


KAPPA = w.over_clients(n, a() * INVERSE)
KAPPA = replace(KAPPA, tex=rf"\left({KAPPA.tex}\right)", binding=w.ATOM)
RHO = w.over_clients(n, a() ** 2 * (INVERSE - 1))
OWN = w.over_clients(n, a() * sigma2())
DRAWN = w.over_clients(n, a() ** 2 * INVERSE * sigma2())
SECOND, THIRD = (w.below(t, T, eta() ** power) for power in (2, 3))


def in_squares() -> Form:
    """Return noise and heterogeneity in the shape of (22)."""
    spread = w.number(Fraction(5, 4)) * tau * eps2 * (4 * RHO + KAPPA)
    return w.form(S / T * ((7 * DRAWN + OWN) / 2 + spread) * SECOND)


def in_cubes() -> Form:
    """Return the same with the drift at its own order."""
    draws = w.number(Fraction(5, 2)) * S / T * (DRAWN + 2 * tau * eps2 * RHO)
    drift = w.number(Fraction(5, 2)) * KAPPA**2 * tau * eps2 + OWN + 2 * KAPPA * DRAWN
    return w.form(draws * SECOND + 4 * S**2 * tau / T * drift * THIRD)


IDEA = (
    r"Given the draws, $w_nJ_n$ with $J_n=I_n/q_n$ and $\sum w_nJ_n\le\sum w_n/q_n$ "
    r"stands for $w_n$; only what is known at $x^t$ is averaged over them. "
    r"$-\langle\nabla_bf,\nabla_bF_n(x_n^{t,i})\rangle$ by Young at $x^t$; the second "
    r"moment of $\sum w_nJ_n\nabla F_n(x^t)$ exactly; Young with 1/4 for the rest; the "
    r"drift as in (116), repaired."
)

NON_CONVEX = Claim(
    "han2024/thm-3.9/non_convex",
    "Theorem 3.9, (22)",
    Kind.THEOREM,
    "The mean squared gradient, weighted with the learning rates.",
    (
        Part(
            PRINTED.all_rounds(),
            Model(
                run=lambda: stuck("3.9", Fraction(1, 1100), 1400, CHANCE),
                words=r"$a=(3/4,1/4)$, $q_n=3/4$, $F_n=\frac12(x_c^2+(x_s-b_n)^2)$, "
                r"$b=(0,1)$, from $x^0=x^*=(0,1/4)$: $x_s$ drifts to 1/2, where "
                r"$\nabla f\ne0$; the left side is of order $\eta$, the right one of "
                r"order $\eta^2$. $\eta=1/1100$, T = 1400.",
            ),
            "updates are aggregated",
        ),
    ),
    severity=Severity.THEOREM,
    cause="SFL-V2's server steps carry no a_n: it follows sum_n grad F_n, not grad f.",
    scope="refuted for unequal weights, shown for (3/4, 1/4); true as printed for "
    "equal ones",
    uses="lemma-C.6 lemma-C.7 prop-C.4 step-3.9/non_convex eq-185 cond-3.9/non_convex",
    first_failure="han2024/eq-175",
    repair=Repair(
        (
            Part(
                EQUALLY.all_rounds(),
                Proof(drawn_rounds.theorem, IDEA),
            ),
            Part(
                weighted(in_squares()),
                Proof(
                    partial_visits.quadratic,
                    "The next part, with the learning rate put into its cubes.",
                ),
            ),
            Part(
                weighted(in_cubes()),
                Proof(
                    partial_visits.theorem,
                    r"Polarisation with the conditional mean of "
                    r"$\sum a_nJ_n\sum_i(\nabla F_n(x_n^{t,i})-\nabla F_n(x^t))$ given "
                    r"$x^t$; its deviation and the noise by Young with 1/4.",
                ),
            ),
        ),
        "equal weights; or, for any weights and sharper, weighted server steps and "
        "rates up to 1/(8 S tau sum a_n/q_n)",
    ),
)

CLAIMS = (NON_CONVEX,)
