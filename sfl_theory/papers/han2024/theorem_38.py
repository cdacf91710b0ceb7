"""Theorem 3.8: SFL-V1, clients take part at random."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.claims import Claim, Kind, Model, Part, Repair, Severity
from sfl_theory.kernel.terms import Participants, Side
from sfl_theory.models.federation import federation, parabola
from sfl_theory.papers.han2024.blocks import Descent
from sfl_theory.papers.han2024.setting import S, T, eps2, f, tau_server
from sfl_theory.papers.han2024.two_periods import LONGER, TwoPeriods, d
from sfl_theory.proofs import non_convex
from sfl_theory.proofs.export import ModelData

UPDATES = TwoPeriods("3.8", Participants.UPDATES)
MODELS = TwoPeriods("3.8", Participants.MODELS)
TITLE = "The mean squared gradient, weighted with the learning rates."
DECIDED = UPDATES.concluded(
    Descent.all_rounds,
    non_convex.theorem,
    r"As (13). Drawing clients adds "
    r"$\sum_na_n^2(\frac1{q_n}-1)\mathbb E\|\sum_ig_n^{t,i}\|^2$ to the squared move: "
    r"Young with 1/4 between gradients and noise, and as much again of the drift.",
    "updates are aggregated, as App. C.2 analyses",
)

NON_CONVEX = Claim(
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
            MODELS.descent(Side.CLIENT).all_rounds(),
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

CLAIMS = (NON_CONVEX, EQUATION_3)
