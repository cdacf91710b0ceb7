r"""Appendix G.3: the non-convex case of Theorem 3.9, SFL-V2, clients are drawn.

Means are over who takes part, too; a client that does not is where it would be. (Read
as given that it takes part, the steps on blocks fail as well: with q_n = 1 they are
(115) to (122).) The order of the visits is arbitrary. Repairs that change the algorithm
give the server's steps the weight :math:`a_n`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from sfl_theory import evidence
from sfl_theory.evidence import Kind, Part, Says, Severity, proved, repaired, says
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import CLIENTS, Participants, Side
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Form, Number
from sfl_theory.papers.han2024 import blocks, defects, theorems
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.appendix_e import AGAINST, EQUAL, pulled_apart
from sfl_theory.papers.han2024.blocks import SIDES, Blocks, Descent, Section
from sfl_theory.papers.han2024.setting import N, S, a, eps2, eta, i, n, sigma2, t, tau
from sfl_theory.proofs import partial_visits, visits_convex
from sfl_theory.proofs.block_steps import change_of_gradient, v_n
from sfl_theory.proofs.notation import sum_over

SERVER, CLIENT = SIDES
UPDATES = Participants.UPDATES
HALF = Fraction(1, 2)
chance = w.inverse_chance(n)
STRICTER = w.at_most(8 * S * N**2 * tau * eta() * w.over_clients(n, chance), 1)
STEPS = dict.fromkeys(Side, tau)


def drawn(kind: Version) -> tuple[w.Run, tuple[Assumed, ...]]:
    """Return the algorithm and that clients are drawn."""
    this = s.run(kind, who=UPDATES)
    return this, (w.participation(this).called("App. C.2"),)


THIS, DRAWS = drawn(Version.V2)
PRINTED = Blocks(
    THIS,
    STEPS,
    {CLIENT: a() ** 2 * chance, SERVER: chance},
    (*theorems.RATES, STRICTER.called("App. G.3, below (183)")),
    DRAWS,
)
BLOCKS = Section("App. G.3", 175, PRINTED, 128, HALF)
OTHER, OTHER_DRAWS = drawn(Version.V2_WEIGHTED)
WEIGHTED = Blocks(OTHER, STEPS, dict.fromkeys(Side, a()), (), OTHER_DRAWS)
KAPPA = w.called(w.over_clients(n, a() * chance), r"\kappa")
SIGMA_Q = w.over_clients(n, a() ** 2 * chance * sigma2())
SIGMAS = w.over_clients(n, a() * sigma2()) + 2 * KAPPA * SIGMA_Q
WHERE = r"with $\kappa=\sum_na_n/q_n$"
SMALL = w.at_most(16 * (S * eta() * tau * KAPPA) ** 2, 1)
WEIGHTS = "weighted server steps"


# Steps of one block ----------------------------------------------------------------


def moves(each: Number) -> Form:
    """Return the drift, sum over clients, weighted."""
    return w.over_clients(n, each * w.below(i, tau, WEIGHTED.away()))


def spread(side: Side | None) -> Form:
    """Return the squared gradient or a block of it, and heterogeneity."""
    return WEIGHTED.slope(side) + eps2


def first_order(side: Side) -> Says:
    """Return (175) with the move of the whole vector."""
    moved = moves(a() * chance)
    right = -(eta() * tau / 2) * WEIGHTED.slope(side) + eta() * S**2 / 2 * moved
    return says(WEIGHTED.pull(side), right, *WEIGHTED.assumed)


EQUALLY = replace(PRINTED, rates=(), more=(*DRAWS, *EQUAL))


def first_order_equally() -> Says:
    """Return (177) for equal weights."""
    b, most = EQUALLY, w.over_clients(n, chance)
    noise = w.over_clients(n, sigma2()) + 2 * most * w.over_clients(
        n, chance * sigma2()
    )
    late = 3 * N * eta() ** 3 * S**2 * tau**3 * most**2 * (b.slope() + eps2)
    last = w.number(Fraction(3, 5)) * eta() ** 3 * S**2 * tau**2 * noise
    right = -(eta() * tau / 2) * b.slope(SERVER) + late + last
    rate = w.at_most(8 * S * eta() * tau * most, 1)
    return says(b.pull(SERVER), right, *b.assumed, rate)


def drifted() -> Form:
    """Return the bound on the drift."""
    first = 16 * tau**3 * eta() ** 2 * KAPPA**2 * spread(None)
    return first + 2 * tau**2 * eta() ** 2 * SIGMAS


def drift() -> Says:
    """Return (176) for all clients together, with the whole vectors."""
    return says(moves(a()), drifted(), *WEIGHTED.assumed, SMALL)


def first_order_closed(side: Side) -> Says:
    """Return (177) or (181)."""
    third = 8 * eta() ** 3 * S**2 * tau**3 * KAPPA**2 * spread(None)
    right = -(eta() * tau / 2) * WEIGHTED.slope(side) + third
    right = right + eta() ** 3 * S**2 * tau**2 * SIGMAS
    return says(WEIGHTED.pull(side), right, *WEIGHTED.assumed, SMALL)


def second_order() -> Says:
    """Return twice (178), the change of the gradients with 1/q_n^2."""
    local = w.local(n).gradient(PRINTED.run.x(t))
    still = tau * (w.norm2(w.part(SERVER, local)) + sigma2())
    each = chance**2 * changed() + chance * still
    right = S * N * eta() ** 2 * tau * w.over_clients(n, each)
    return says(S / 2 * w.norm2(PRINTED.move(SERVER)), right, *PRINTED.assumed)


def changed() -> Form:
    """Return the change of the server's stochastic gradients in a round."""
    far = w.norm2(PRINTED.gradient(SERVER) - PRINTED.first_gradient(SERVER))
    return w.below(i, tau, far)


def change() -> Says:
    """Return (179), by the drift."""
    left = changed()
    right = 2 * S**2 * w.below(i, tau, PRINTED.away()) + 3 * tau * sigma2()
    return says(blocks.each_client(left), blocks.each_client(right), *PRINTED.assumed)


def second_order_closed(side: Side) -> Says:
    """Return (180) or (182)."""
    late = 16 * S**2 * eta() ** 2 * tau**3 * KAPPA**2 * spread(None)
    late = late + 2 * S**2 * eta() ** 2 * tau**2 * SIGMAS
    right = 2 * S * eta() ** 2 * KAPPA * tau * (tau * spread(side) + late)
    right = right + S * eta() ** 2 * tau * SIGMA_Q
    left = S / 2 * w.norm2(WEIGHTED.move(side))
    return says(left, right, *WEIGHTED.assumed, SMALL)


FIRST_ORDER_WORDS = (
    r"$\mathbb E[J_n]=1$ beside gradients at $x^t$; what local points add is $\Delta$, "
    r"$B=\mathbb E[\Delta\mid x^t]$, $\|B\|^2\le\tau S^2\sum_na_n\mathbb E[\sum_i"
    r"\|x_n^{t,i}-x^t\|^2\mid I_n^t=1]$; polarisation between $\nabla_bf$ and $B_b$; "
    r"$J_n\le1/q_n$."
)
DRIFT_WORDS = (
    "All visits before it move a point, at most with weights that add up to kappa; "
    "noises of different visits are orthogonal; gradients at local points by those at "
    "x^t, draws and gradients there have means."
)


def of_block(side: Side) -> tuple[evidence.Repair, evidence.Repair]:
    """Return the repairs of (177), (180) or (181), (182)."""
    closed = repaired(
        f"{WEIGHTS}, kappa^2 for N sum c_n, and the whole gradient behind eta^3",
        proved(
            first_order_closed(side),
            lambda: partial_visits.first_order_closed(side),
            "The repaired (175), the repaired (176).",
            WHERE,
        ),
    )
    second = repaired(
        f"{WEIGHTS}, four times the constants, and the whole gradient in the late term",
        proved(
            second_order_closed(side),
            lambda: partial_visits.second_order_closed(side),
            r"Young with 1 between gradients and noise; Jensen with weights $a_nJ_n$, "
            r"whose sum is at most $\kappa$; Young with 1 between local points and "
            "x^t; the repaired (176).",
            WHERE,
        ),
    )
    return closed, second


EQ_175 = BLOCKS.claim(
    175,
    (-4094, 8191),
    repaired(
        "equal weights, or weighted server steps, and the move of the whole vector",
        proved(
            blocks.first_order(EQUALLY, SERVER, whole=True),
            visits_convex.first_order_printed,
            r"$\sum_n\nabla_sF_n=N\nabla_sf$, so $\mathbb E\langle\nabla_sf,"
            r"\sum_nJ_n\nabla_sF_n(x^t)\rangle=N\|\nabla_sf\|^2$; Young for the "
            r"rest, Lipschitz gradients, $J_n\le1/q_n$.",
        ),
        proved(
            first_order(SERVER),
            lambda: partial_visits.first_order_printed(SERVER),
            FIRST_ORDER_WORDS,
        ),
    ),
    uses="app-E.1/sum-of-gradients",
)
EQ_176 = BLOCKS.claim(
    176,
    (-1, 2),
    repaired(
        f"{WEIGHTS}, the sum over clients, and the whole vectors",
        proved(drift(), partial_visits.plain_drift, DRIFT_WORDS, WHERE),
    ),
    uses="lemma-C.6",
    made=3,
)
EQ_177 = BLOCKS.claim(
    177,
    (-4094, 8191),
    repaired(
        "equal weights, or weighted server steps; (sum 1/q_n)^2, or kappa^2, for the "
        "sum, and the whole gradient behind eta^3",
        proved(
            first_order_equally(),
            visits_convex.first_order_closed,
            "The repaired (175) before it was weakened; all visits before it move "
            "a point, at most with weights that add up to sum 1/q_n.",
        ),
        *of_block(SERVER)[0].parts,
    ),
    uses="eq-175 eq-176",
)
EQ_178 = BLOCKS.claim(
    178,
    (770, -1537),
    repaired(
        "twice the right side, and 1/q_n^2 before the change of the gradients, for own "
        "server steps are at its points only where a client takes part",
        proved(
            second_order(),
            partial_visits.second_order,
            r"Cauchy-Schwarz over visits, Young with factor 2, variance; $J_n^2\le "
            r"1/q_n^2$ beside local points, mean $1/q_n$ beside x^t.",
            blocks.SECOND_ORDER.reading,
        ),
    ),
)
EQ_179 = BLOCKS.claim(
    179,
    (-1, 2),
    repaired(
        "by the move of the whole vector, and the variance of the samples without "
        "eta^2",
        proved(
            change(),
            lambda: sum_over(
                change_of_gradient(partial_visits.PRINTED, SERVER), CLIENTS, n, v_n
            ),
            "The noise of a later step is orthogonal to what came before it.",
            blocks.CHANGE.reading,
        ),
    ),
    uses="lemma-C.7",
)
EQ_180 = BLOCKS.claim(
    180,
    (-1, 2),
    of_block(SERVER)[1],
    uses="eq-178 eq-179",
)
EQ_181 = BLOCKS.claim(
    181,
    (-4094, 8191),
    of_block(CLIENT)[0],
    uses="eq-151",
)
EQ_182 = BLOCKS.claim(
    182,
    (-1, 2),
    of_block(CLIENT)[1],
    uses="eq-152",
)

# Both blocks -----------------------------------------------------------------------

DESCENT = replace(theorems.PRINTED, rates=PRINTED.rates)
SCOPE = "for unequal weights (shown at q = 1/2); true as printed for equal ones"
BROKEN = evidence.Model(
    lambda: pulled_apart(Fraction(1, 4096), HALF),
    r"$a=(3/4,1/4)$, $q=(1/2,1/2)$, $F_n=\frac12(x_c^2+(x_s-b_n)^2)$, $b=(0,1)$, "
    r"$x_s^t=3/8$ between the minimisers 1/4 of f and 1/2 of $\sum_nF_n$: on average "
    "the server moves to the latter.",
)
BY_WEIGHTS = (
    r"One vector for both blocks: $\tau\nabla f$, draws of the gradients at $x^t$ "
    r"($\rho=\sum a_n^2(1/q_n-1)$), what local points add, and noise; the drift is at "
    r"most $\eta^2\tau^2(2\kappa^2\Gamma+\sum a_n\sigma_n^2+2\kappa\sum\frac{a_n^2}"
    r"{q_n}\sigma_n^2)$."
)


def weighted_round() -> Says:
    """Return one round of the algorithm with weighted server steps."""
    b, e = WEIGHTED, eta()
    x, after = b.run.x(t), b.run.x(t + 1)
    rho = w.over_clients(n, a() ** 2 * (chance - 1))
    drawing = w.number(Fraction(5, 8)) * S * e**2
    drawing = drawing * (tau * SIGMA_Q + 2 * rho * tau**2 * eps2)
    drifting = w.number(Fraction(5, 2)) * KAPPA**2 * tau * eps2 + SIGMAS
    right = -(e * tau / 4) * b.slope() + drawing + S**2 * e**3 * tau**2 * drifting
    rate = w.at_most(8 * S * e * tau * KAPPA, 1)
    return says(s.f(after) - s.f(x), right, *b.assumed, rate)


@dataclass(frozen=True)
class Conclusion:
    """What the section concludes of a round."""

    number: int
    title: str
    says: Callable[[Descent], Says]
    theorem: Callable[[], Theorem]
    uses: str
    reading: str = ""

    def claim(self, change: str, *more: Part) -> evidence.Claim:
        """Return the refuted claim."""
        equally = proved(self.says(theorems.EQUALLY), self.theorem, theorems.IDEA)
        return Kind.EQUATION(
            f"han2024/eq-{self.number}",
            f"App. G.3.3, ({self.number})",
            self.title,
            Part(self.says(DESCENT), BROKEN, self.reading),
            severity=Severity.PROOF,
            cause=AGAINST,
            root=defects.NO_WEIGHTS,
            scope=SCOPE,
            uses=self.uses,
            repair=repaired(change, equally, *more),
        )


EQ_183 = Conclusion(
    183,
    "The change of f in a round, end to end.",
    Descent.one_round,
    partial(visits_convex.printed_round, UPDATES),
    "prop-C.4 eq-177 eq-180 eq-181 eq-182 cond-G.3",
).claim(
    "equal weights; or, for any weights and sharper, weighted server steps and rates "
    "up to 1/(8 S tau kappa)",
    proved(weighted_round(), partial_visits.one_round, BY_WEIGHTS, WHERE),
)
EQ_184 = Conclusion(
    184,
    "The same, solved for the gradient.",
    Descent.rearranged,
    partial(visits_convex.rearranged, UPDATES),
    "eq-183",
    "f(x_s^{t+1}) is printed for f(x^{t+1})",
).claim("equal weights")
EQ_185 = Kind.EQUATION(
    "han2024/eq-185",
    "App. G.3.3, (185)",
    "The mean over rounds: the statement of Theorem 3.9.",
    *theorems.THEOREM_39.parts,
    severity=Severity.THEOREM,
    cause=AGAINST,
    root=defects.NO_WEIGHTS,
    scope=theorems.THEOREM_39.scope,
    uses="eq-184",
    repair=theorems.THEOREM_39.repair,
)

CLAIMS = (
    *(EQ_175, EQ_176, EQ_177, EQ_178, EQ_179, EQ_180),
    *(EQ_181, EQ_182),
    *(EQ_183, EQ_184, EQ_185),
)
