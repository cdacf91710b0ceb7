r"""Theorems 3.8 and 3.9 for the aggregation (3) of models, which Sec. 2.3 prints.

(3) multiplies a block by the random number :math:`\sum_na_nI_n/q_n`. SFL-V2 has it on
the client side only.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.evidence import Claim, Kind, Part, Severity, broken, repaired
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Participants, Side
from sfl_theory.models.federation import federation, parabola
from sfl_theory.notation.written import Number
from sfl_theory.papers.han2024 import defects, theorems
from sfl_theory.papers.han2024.setting import S, T, eps2, f, tau, tau_server
from sfl_theory.papers.han2024.theorems import DECIDED, EQUAL_WEIGHTS, descent
from sfl_theory.papers.han2024.two_periods import LONGER, TwoPeriods, d
from sfl_theory.proofs.export import ModelData

MODELS_AGGREGATED = TwoPeriods("3.8", Participants.MODELS)
CAUSE = (
    "(3) multiplies the model by a random factor of mean square 1 + sum a_n^2 (1/q_n - "
    "1); without noise and heterogeneity it leaves its minimum."
)
SCOPE = "for q_n < 1; at q_n = 1 the two aggregations agree"


def leaves_its_minimum(best: tuple[int, int], version: Version) -> ModelData:
    """Return two equal clients at their minimum, one drawn half of the time."""
    shared = version.visits
    paces: dict[str | Number, int] = {tau: 1} if shared else {tau_server: 1, d: 0}
    return federation(
        [parabola(1, best)] * 2,
        best,
        participation=(1, "1/2"),
        order=((0, 0), (1, 0)) if shared else (),
        rounds=2,
        numbers={T: 2, S: 1, eps2: 0, **paces},
        families={"sigma2": (0, 0)},
        rates={"eta": Fraction(1, 32 if shared else 16)},
        best={f: best},
    )


EQUATION_3 = Kind.THEOREM(
    "han2024/thm-3.8/non_convex/eq-3",
    "Theorem 3.8, (19), with Sec. 2.3 (3) and Algorithm 1",
    "The same for SFL-V1 whose servers aggregate models as in (3).",
    broken(
        MODELS_AGGREGATED.descent(Side.CLIENT).all_rounds(),
        lambda: leaves_its_minimum((0, 1), Version.V1),
        r"$F_1=F_2=\frac12\|x-x^*\|^2$ from $x^0=x^*=(0,1)$, $q=(1,1/2)$, no "
        r"noise: the right side is 0. (3) multiplies the model by "
        r"$\frac12+\frac{I_2}{2q_2}$, which is 1/2 or 3/2, so $x^1\ne x^*$.",
        f"{LONGER[Side.CLIENT]}; the sum over an empty round would be 0, but "
        "client 1 takes part in every round",
    ),
    severity=Severity.THEOREM,
    cause=CAUSE,
    root=defects.SCALED,
    scope=SCOPE,
    uses="eq-3",
    first_failure="han2024/eq-145",
    repair=repaired("the aggregation of updates, as App. C.2 analyses", *DECIDED),
)


EQUATION_3_V2 = Kind.THEOREM(
    "han2024/thm-3.9/non_convex/eq-3",
    "Theorem 3.9, (22), with Sec. 2.3 (3) and Algorithm 2",
    "The same for SFL-V2 whose fed server aggregates models as in (3).",
    broken(
        descent(Version.V2, Participants.MODELS).all_rounds(),
        lambda: leaves_its_minimum((1, 0), Version.V2),
        r"$F_1=F_2=\frac12\|x-x^*\|^2$ from $x^0=x^*=(1,0)$, $q=(1,1/2)$, no noise, "
        r"equal weights: the right side is 0, and $x_c^1$ is 1/2 or 3/2.",
        "client 1 takes part in every round, so no round is empty",
    ),
    severity=Severity.THEOREM,
    cause=CAUSE,
    root=defects.SCALED,
    scope=f"{SCOPE}; already for equal weights, for which (22) is true as App. C.2 "
    "aggregates",
    uses="eq-3",
    first_failure="han2024/eq-175",
    repair=repaired(
        "equal weights, and the aggregation of updates, as App. C.2 analyses",
        EQUAL_WEIGHTS,
    ),
)


def open_strongly(number: str, equation: int) -> Claim:
    """Return (17) or (20) for (3), which nothing here decides."""
    return Kind.THEOREM(
        f"han2024/thm-{number}/strongly_convex/eq-3",
        f"Theorem {number}, ({equation}), with Sec. 2.3 (3)",
        "The strongly convex case for servers that aggregate models as in (3).",
        Part(
            theorems.strongly_convex(number, Participants.MODELS),
            None,
            reading="Assumption 3.3 along the run, in every outcome",
        ),
        words="Open here, and most likely false. In floats (17) breaks for SFL-V1: two "
        "clients, a_n = 1/2, q = (1, 1 - 5/2000), F_n = (x - 1)^2/2, x^0 = x* = 1, one "
        "local step, T = 2000: the gap is 0.0798, and the right side 0.0558 with "
        "G^2 = 1, which bounds the gradients in every outcome of these T rounds. The "
        "kernel has no model of it: the factor of (3) is above 1 where nobody misses, "
        "so no box is invariant for all rounds, which is how a model meets Assumption "
        "3.3, and 2^2000 outcomes are not replayed. Wanted: that condition for T "
        "rounds only. In (20) the client side alone is multiplied, by the same factor.",
        uses="eq-3",
    )


CLAIMS = (
    EQUATION_3,
    EQUATION_3_V2,
    open_strongly("3.8", 17),
    open_strongly("3.9", 20),
)
