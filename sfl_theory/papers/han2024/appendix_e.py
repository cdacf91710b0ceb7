r"""Appendix E: SFL-V2, full participation.

The order of the visits is arbitrary. What is refuted is refuted for orders drawn at
random, too: by one client or equal ones, or by far more than the order changes. Repairs
are for the printed algorithm, whose server steps have no weight: where the gradient of
f occurs, for equal weights; (123) and (125) also for the algorithm with weighted server
steps.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

from sfl_theory.evidence import (
    Kind,
    Model,
    Part,
    Says,
    Severity,
    proved,
    repaired,
    says,
)
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Participants, Side
from sfl_theory.models.federation import federation, parabola
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form, Number
from sfl_theory.papers.han2024 import (
    block_rates,
    blocks,
    defects,
    induction,
    one_round_steps,
    superposition,
)
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.blocks import SIDES, Blocks, Descent, Section
from sfl_theory.papers.han2024.contraction import Contraction
from sfl_theory.papers.han2024.general_convex import Merged, claims
from sfl_theory.papers.han2024.one_round import Block
from sfl_theory.papers.han2024.printed import stuck
from sfl_theory.papers.han2024.setting import N, S, T, a, eps2, eta, f, i, n, t, tau
from sfl_theory.proofs import block_steps, drawn_visits, sharp_rounds, visits_convex
from sfl_theory.proofs.export import ModelData

CONVEX_SERVER = Contraction(Block(Version.V2, Side.SERVER), "E.1.1", "lemma-E.1")
CONVEX_CLIENT = Contraction(Block(Version.V2, Side.CLIENT), "E.1.2", "lemma-D.1")

# Appendix E.2: SFL-V2, full participation, general convex ----------------------------

SEQUENTIAL = Merged(Block(Version.V2, Side.SERVER), "E.2.3", 113, (111, 112))

# Appendix E.3: the non-convex case of Theorem 3.7, SFL-V2 with full participation ----

THEOREM_RATE = "the learning rate of Theorem 3.7"
SERVER, CLIENT = SIDES
EVERYONE = Participants.EVERYONE
RATES = tuple(
    w.at_most(one, 1).called(THEOREM_RATE)
    for one in (16 * S * eta() * tau, 8 * S * N**2 * tau * eta())
)
PRINTED = Blocks(
    s.run(Version.V2),
    {Side.CLIENT: tau, Side.SERVER: tau},
    {Side.CLIENT: a() ** 2, Side.SERVER: None},
    RATES,
)
BLOCKS = Section("App. E.3", 115, PRINTED, 32)
EQUAL = tuple(
    w.every_client(n, one).called("equal weights")
    for one in (w.at_most(N * a(), 1), w.at_most(1, N * a()))
)
EQUALLY = replace(PRINTED, more=EQUAL)
WHOLE = w.at_most(8 * (S * eta() * N * tau) ** 2, 1).called(
    "Lemma C.6's learning rate for N tau steps"
)
LATE = 16 * N**2 * tau**3 * eta() ** 2
VISITS = (
    "All visits before it move a point, at most N tau: Cauchy-Schwarz over them, "
    "noises of different visits are orthogonal. The drift of all clients together."
)


# Steps of one block ----------------------------------------------------------------


def drift() -> Says:
    """Return (116) for all clients together, with the whole vectors."""
    each = 8 * tau * eta() ** 2
    bracket = w.form(each * s.sigma2()) + each * eps2 + each * PRINTED.slope()
    left = w.over_clients(n, w.below(i, tau, PRINTED.away()))
    right = N**2 * w.over_clients(n, 2 * tau**2 * bracket)
    return says(left, right, *PRINTED.assumed, WHOLE)


def first_order_closed(side: Side) -> Says:
    """Return N times (117), with the whole gradient behind eta^3."""
    b = EQUALLY if side is SERVER else PRINTED
    each = w.over_clients(n, w.form(s.sigma2() + eps2) + b.slope())
    right = -(eta() * tau / 2) * b.slope(side)
    right = right + 8 * N**2 * eta() ** 3 * S**2 * tau**3 * each
    return says(b.pull(side), right, *b.assumed, WHOLE)


def change() -> Says:
    """Return (119) for all clients together."""
    local = w.local(n).gradient(PRINTED.run.x(t))
    far = w.norm2(PRINTED.gradient(SERVER) - PRINTED.first_gradient(SERVER))
    each = LATE * S**2 * (w.norm2(local) + s.sigma2()) + 3 * tau * s.sigma2()
    left = w.over_clients(n, w.below(i, tau, far))
    return says(left, w.over_clients(n, each), *PRINTED.assumed, WHOLE)


def second_order_closed(side: Side) -> Says:
    """Return 5/2 times (120) or (122)."""

    def bracket(of_block: Side | None) -> Form:
        return 2 * PRINTED.slope(of_block) + 2 * eps2 + s.sigma2()

    first = PRINTED.over(side, tau * bracket(side))
    both = first + w.over_clients(n, LATE * S**2 * bracket(None))
    c = S * N * eta() ** 2 * tau / 2
    left = S / 2 * w.norm2(PRINTED.move(side))
    right = w.number(Fraction(5, 2)) * c * both
    return says(left, right, *PRINTED.assumed, WHOLE)


EQ_115 = BLOCKS.claim(
    115,
    (-1022, 2047),
    repaired(
        "equal weights, and the move of the whole vector",
        proved(
            blocks.first_order(EQUALLY, SERVER, whole=True),
            drawn_visits.first_order_printed,
            r"$-\langle\nabla_sf,M\rangle$ by polarisation against $N\tau\nabla_sf$; "
            r"Jensen, Lipschitz gradients.",
        ),
    ),
    uses="app-E.1/sum-of-gradients",
)
EQ_116 = BLOCKS.claim(
    116,
    (-1, 2),
    repaired(
        "the sum over clients, N^2 times as much, and the whole vectors",
        proved(drift(), drawn_visits.drift_by_mean, VISITS),
    ),
    uses="lemma-C.6",
    made=3,
)
EQ_117 = BLOCKS.claim(
    117,
    (-1022, 2047),
    repaired(
        "equal weights, N times as much behind eta^3, and the whole gradient there",
        proved(
            first_order_closed(SERVER),
            lambda: drawn_visits.first_order_closed(SERVER),
            "The repaired (115) before it was weakened, the repaired (116).",
        ),
    ),
    uses="eq-115 eq-116",
)
EQ_118 = BLOCKS.claim(
    118,
    (98, -193),
    repaired(
        "twice the right side",
        proved(
            blocks.second_order(PRINTED, SERVER, times=2),
            lambda: block_steps.second_order(drawn_visits.ROUND_T, SERVER),
            "Cauchy-Schwarz over visits, Young with factor 2, variance.",
            blocks.SECOND_ORDER.reading,
        ),
    ),
)
EQ_119 = BLOCKS.claim(
    119,
    (-1, 2),
    repaired(
        "the sum over clients, 2 N^2 times as much, the whole gradient of F_n, and the "
        "variance of the samples without eta^2",
        proved(
            change(),
            drawn_visits.change,
            "The noise of a later step is orthogonal to what came before it; then the "
            "drift of all clients.",
        ),
    ),
    uses="lemma-C.7",
)
EQ_120 = BLOCKS.claim(
    120,
    (-1, 2),
    repaired(
        "5/2 times the right side; its late term 2 N^2 times, with the whole gradient",
        proved(
            second_order_closed(SERVER),
            lambda: drawn_visits.second_order_closed(SERVER),
            "Young twice: gradients and noise, local points and x^t. " + VISITS,
        ),
    ),
    uses="eq-118 eq-119",
)
EQ_121 = BLOCKS.claim(
    121,
    (-254, 511),
    repaired(
        "behind eta^3: N^2 for N a_n^2, and the whole gradient",
        proved(
            first_order_closed(CLIENT),
            lambda: drawn_visits.first_order_closed(CLIENT),
            "Jensen with the weights a_n; the server's block at a client's points has "
            "moved by all visits before, so the drift is that of (116), repaired.",
        ),
    ),
    uses="eq-84",
)
EQ_122 = BLOCKS.claim(
    122,
    (-1, 2),
    repaired(
        "5/2 times the right side; its late term with 2 N^2 for a_n^2, and with the "
        "whole gradient",
        proved(
            second_order_closed(CLIENT),
            lambda: drawn_visits.second_order_closed(CLIENT),
            "As (120), with the weights a_n; in the late term a_n <= 1.",
        ),
    ),
    uses="eq-85",
)

# Both blocks -----------------------------------------------------------------------

NOISE = w.over_clients(n, (a() ** 2 + 1) * (s.sigma2() + eps2))
DESCENT = Descent(PRINTED.run, tau, tau**2, tau, NOISE, RATES)
DESCENT_EQUAL = replace(DESCENT, more=EQUAL)
WEIGHTED = Descent(s.run(Version.V2_WEIGHTED), tau, tau**2, tau, NOISE, RATES[:1])
AGAINST = (
    f"{defects.NO_WEIGHTS.words} With unequal weights it may climb f by O(eta), the "
    "bound admits O(eta^2)."
)
SCOPE = "for unequal weights; true as printed for equal ones (see the repair)"
BY_VISITS = (
    r"$-\langle\nabla_bf,\nabla_bF_n(x_n^{t,i})\rangle$ by Young at $x^t$, where "
    r"$\sum_n\nabla_sF_n=N\nabla_sf$; Young with 1/4 between gradients at $x^t$ and "
    r"the rest; the drift as in (116), repaired. (183) is the same with draws. "
    r"$8SN^2\tau\eta\le1$ alone suffices."
)
BY_WEIGHTS = (
    r"One vector for both blocks: $-\langle\nabla f,M\rangle$ by polarisation, Jensen "
    r"with the weights $a_n$. Every term is larger than in a round of "
    "thm-3.7/non_convex/linear-speedup; its third-order one by "
    r"$S\eta^t\tau\le\frac1{16}$."
)


def pulled_apart(rate: Fraction, chance: Fraction = Fraction(1)) -> ModelData:
    """Return clients that pull x_s to 0 and to 1, with weights 3/4 and 1/4.

    Args:
        rate: the learning rate.
        chance: q_n.

    Returns:
        The model of one round.
    """
    return federation(
        [parabola(1, (0, 0)), parabola(1, (0, 1))],
        (0, "3/8"),
        weights=("3/4", "1/4"),
        participation=(chance, chance),
        rounds=int(chance != 1),
        order=[(0, 0), (1, 0)],
        numbers={t: 0, S: 1, eps2: "9/16", tau: 1},
        families={"sigma2": (0, 0)},
        rates={"eta": rate},
    )


def weighted_round() -> Says:
    """Return one round of the algorithm with weighted server steps."""
    b = WEIGHTED
    x, after = b.run.x(t), b.run.x(t + 1)
    right = -(eta() * tau / 4) * b.slope + S * eta() ** 2 * tau * weighted_noise()
    return says(f(after) - f(x), right, *b.assumed, *b.rates)


def weighted_noise() -> Number:
    """Return what its noise and heterogeneity cost."""
    own = w.over_clients(n, a() ** 2 * s.sigma2())
    return own + w.over_clients(n, a() * s.sigma2()) / 8 + tau * eps2 / 8


def weighted_rounds() -> Says:
    """Return the theorem of the algorithm with weighted server steps."""
    b = WEIGHTED
    left = w.number(1) / T * w.below(t, T, eta() * b.slope)
    squares = w.below(t, T, eta() ** 2)
    right: w.Terms = {
        "initial gap": w.number(4) / (T * tau) * f.gap(b.run.x(0)),
        "noise and heterogeneity": 4 * S * weighted_noise() / T * squares,
    }
    rates = [w.every_round(t, T, one) for one in b.rates]
    return says(left, right, *b.assumed, s.minimum(), *rates)


BROKEN = Model(
    lambda: pulled_apart(Fraction(1, 2048)),
    r"$a=(3/4,1/4)$, $F_n=\frac12(x_c^2+(x_s-b_n)^2)$, $b=(0,1)$, $x_s^t=3/8$ between "
    r"the minimisers 1/4 of f and 1/2 of $\sum_nF_n$: the server moves to the latter.",
)
EQ_123 = Kind.EQUATION(
    "han2024/eq-123",
    "App. E.3.3, (123)",
    "The change of f in a round, end to end.",
    Part(DESCENT.one_round(), BROKEN),
    severity=Severity.PROOF,
    cause=AGAINST,
    root=defects.NO_WEIGHTS,
    scope=SCOPE,
    uses="prop-C.4 eq-117 eq-120 eq-121 eq-122 cond-E.3",
    repair=repaired(
        "equal weights; or, for any weights and sharper, weighted server steps",
        proved(
            DESCENT_EQUAL.one_round(),
            partial(visits_convex.printed_round, EVERYONE),
            BY_VISITS,
        ),
        proved(weighted_round(), sharp_rounds.one_round_of_visits, BY_WEIGHTS),
    ),
)
EQ_124 = Kind.EQUATION(
    "han2024/eq-124",
    "App. E.3.3, (124)",
    "The same, solved for the gradient.",
    Part(
        DESCENT.rearranged(),
        BROKEN,
        "f(x_s^{t+1}) is printed for f(x^{t+1}), and (a_n^2+1)/tau for a_n^2+1",
    ),
    severity=Severity.PROOF,
    cause=AGAINST,
    root=defects.NO_WEIGHTS,
    scope=SCOPE,
    uses="eq-123",
    repair=repaired(
        "equal weights",
        proved(
            DESCENT_EQUAL.rearranged(),
            partial(visits_convex.rearranged, EVERYONE),
            BY_VISITS,
        ),
    ),
)
STUCK = Model(
    run=lambda: stuck("3.7", Fraction(1, 850), 1015),
    words=r"The same clients from $x^0=x^*=(0,1/4)$: $x_s$ tends to 1/2, where "
    r"$\|\nabla f\|^2=1/16$, so the left side tends to $\eta/16$; the right one is of "
    r"order $\eta^2$.",
)
ALL_ROUNDS = Part(DESCENT.all_rounds(), STUCK)
REPAIRED = repaired(
    "equal weights; or, for any weights and sharper, weighted server steps and rates "
    "up to 1/(16 S tau)",
    proved(
        DESCENT_EQUAL.all_rounds(), partial(visits_convex.theorem, EVERYONE), BY_VISITS
    ),
    proved(weighted_rounds(), sharp_rounds.rounds_of_visits, BY_WEIGHTS),
)
EQ_125 = Kind.EQUATION(
    "han2024/eq-125",
    "App. E.3.3, (125)",
    "The mean over rounds: the statement of Theorem 3.7.",
    ALL_ROUNDS,
    severity=Severity.THEOREM,
    cause=AGAINST,
    root=defects.NO_WEIGHTS,
    scope=SCOPE,
    uses="eq-124",
    repair=REPAIRED,
)

CLAIMS = (
    CONVEX_SERVER.the_lemma(90, "lemma-C.3 lemma-C.5 eq-97", "eq-91"),
    *one_round_steps.E.claims(),
    CONVEX_SERVER.joined(97, "eq-91 eq-92 eq-93 eq-94 eq-95 eq-96"),
    CONVEX_SERVER.without_gap(98, "eq-97"),
    induction.E_SERVER.first_rate("app-E.1"),
    block_rates.E_SERVER.in_a_round(99, "lemma-E.1 app-E.1/first-rate eq-98"),
    *induction.E_SERVER.claims(),
    block_rates.E_SERVER.in_every_round(
        106, "eq-99 eq-100 eq-101 eq-102 eq-103 eq-104 eq-105 app-E.1/first-rate"
    ),
    CONVEX_CLIENT.quoted(107),
    CONVEX_CLIENT.without_gap(108, "eq-107"),
    induction.E_CLIENT.first_rate("app-E.1.2"),
    block_rates.E_CLIENT.in_every_round(
        109, "lemma-D.1 eq-67 app-E.1.2/first-rate eq-108"
    ),
    superposition.E.merge(),
    superposition.sequential_bound(),
    *claims(SEQUENTIAL, "3.7", "lemma-E.1", ""),
    *(EQ_115, EQ_116, EQ_117, EQ_118, EQ_119, EQ_120),
    *(EQ_121, EQ_122),
    *(EQ_123, EQ_124, EQ_125),
)
