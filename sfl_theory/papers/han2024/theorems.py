r"""Theorems 3.6 to 3.9 and their convex cases.

Updates are aggregated, as App. C.2 analyses; the order of the visits is arbitrary.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfl_theory import written as w
from sfl_theory.claims import Claim, Kind, Model, Part, Proof, Repair, Says, Severity
from sfl_theory.claims import says as at_most
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Participants, Side
from sfl_theory.models.federation import federation, parabola
from sfl_theory.papers.han2024 import appendix_d, appendix_e
from sfl_theory.papers.han2024.appendix_e import EQUAL
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
    tau_server,
)
from sfl_theory.papers.han2024.two_periods import LONGER, TwoPeriods, d
from sfl_theory.proofs import drawn_rounds, non_convex, partial_visits
from sfl_theory.proofs.export import ModelData
from sfl_theory.written import Form

THEOREM_36 = Claim(
    "han2024/thm-3.6/non_convex",
    "Theorem 3.6, (13)",
    Kind.THEOREM,
    "The mean squared gradient, weighted with the learning rates.",
    appendix_d.EQ_89.parts,
    scope="as printed for any numbers of steps, gradients read as S-Lipschitz (24); "
    "the proof uses that clients' samples are independent, which 3.2 does not say",
    words="A proof of its own: the paper's rests on (78), (79), (81) and (82), which "
    "are false.",
    uses="eq-78 lemma-C.6 lemma-C.7 prop-C.4 eq-89 cond-3.6/non_convex",
    first_failure="han2024/eq-78",
)

# Theorem 3.7: SFL-V2, full participation ---------------------------------------------

THEOREM_37 = Claim(
    "han2024/thm-3.7/non_convex",
    "Theorem 3.7, (16)",
    Kind.THEOREM,
    "The mean squared gradient, weighted with the learning rates.",
    (appendix_e.ALL_ROUNDS,),
    severity=Severity.THEOREM,
    cause="SFL-V2's server steps carry no a_n: it follows sum_n grad F_n, not grad f.",
    scope="refuted for unequal weights, shown for (3/4, 1/4); true as printed for "
    "equal ones",
    uses="lemma-C.6 lemma-C.7 prop-C.4 eq-125 cond-3.7/non_convex",
    first_failure="han2024/eq-115",
    repair=appendix_e.REPAIRED,
)

# Theorem 3.8: SFL-V1, clients take part at random ------------------------------------

TWO_PERIODS = TwoPeriods("3.8", Participants.UPDATES)
MODELS_AGGREGATED = TwoPeriods("3.8", Participants.MODELS)
TITLE = "The mean squared gradient, weighted with the learning rates."
DECIDED = TWO_PERIODS.concluded(
    Descent.all_rounds,
    non_convex.theorem,
    r"As (13). Drawing clients adds "
    r"$\sum_na_n^2(\frac1{q_n}-1)\mathbb E\|\sum_ig_n^{t,i}\|^2$ to the squared move: "
    r"Young with 1/4 between gradients and noise, and as much again of the drift.",
    "updates are aggregated, as App. C.2 analyses",
)

THEOREM_38 = Claim(
    "han2024/thm-3.8/non_convex",
    "Theorem 3.8, (19)",
    Kind.THEOREM,
    TITLE,
    DECIDED,
    scope="as printed for any numbers of steps, gradients read as S-Lipschitz (24), "
    "updates aggregated; the proof uses that clients' samples are independent, which "
    "3.2 does not say; for models aggregated as in (3) refuted, see .../eq-3",
    words="A proof of its own: the paper's rests on Lemmas C.6 and C.7 for blocks, "
    "which are false.",
    uses="lemma-C.6 lemma-C.7 prop-C.4 eq-155 cond-3.8/non_convex",
    first_failure="han2024/eq-145",
)


def leaves_its_minimum() -> ModelData:
    """Return two equal clients at their minimum (0, 1), one drawn half of the time."""
    return federation(
        [parabola(1, (0, 1))] * 2,
        (0, 1),
        participation=(1, "1/2"),
        rounds=2,
        numbers={T: 2, S: 1, eps2: 0, tau_server: 1, d: 0},
        families={"sigma2": (0, 0)},
        rates={"eta": Fraction(1, 16)},
        best={f: (0, 1)},
    )


EQUATION_3 = Claim(
    "han2024/thm-3.8/non_convex/eq-3",
    "Theorem 3.8, (19), with Sec. 2.3 (3) and Algorithm 1",
    Kind.THEOREM,
    "The same for SFL-V1 whose servers aggregate models as in (3).",
    (
        Part(
            MODELS_AGGREGATED.descent(Side.CLIENT).all_rounds(),
            Model(
                leaves_its_minimum,
                r"$F_1=F_2=\frac12\|x-x^*\|^2$ from $x^0=x^*=(0,1)$, $q=(1,1/2)$, no "
                r"noise: the right side is 0. (3) multiplies the model by "
                r"$\frac12+\frac{I_2}{2q_2}$, which is 1/2 or 3/2, so $x^1\ne x^*$.",
            ),
            f"{LONGER[Side.CLIENT]}; the sum over an empty round would be 0, but "
            "client 1 takes part in every round",
        ),
    ),
    severity=Severity.THEOREM,
    cause="(3) multiplies the model by a random factor of mean square 1 + "
    "sum a_n^2 (1/q_n - 1); without noise and heterogeneity it leaves its minimum.",
    scope="for q_n < 1; at q_n = 1 the two aggregations agree",
    uses="eq-3",
    first_failure="han2024/eq-145",
    repair=Repair(DECIDED, "the aggregation of updates, as App. C.2 analyses"),
)

# Theorem 3.9: SFL-V2, clients take part at random ------------------------------------

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

THEOREM_39 = Claim(
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

CLAIMS = (
    THEOREM_36,
    THEOREM_37,
    THEOREM_38,
    EQUATION_3,
    THEOREM_39,
)
