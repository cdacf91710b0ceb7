r"""Appendix F: SFL-V1, clients take part at random.

:math:`\bar x^{t+1}` is the model after the same round, the same samples, with every
client taking part; x^{t+1} is made by the clients that are drawn, updates averaged.

As D.3 with :math:`a_n^2/q_n` for :math:`a_n^2`: local points do not depend on who
takes part. Updates are aggregated, as App. C.2 analyses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise

from sfl_theory import evidence
from sfl_theory.evidence import Claim, Kind, Part, Proof, Says, broken, equal, says
from sfl_theory.evidence import Kind as ClaimKind
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Participants, Side
from sfl_theory.models.federation import coin, federation, huber, parabola, plus, tilt
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Number, Run
from sfl_theory.papers.han2024 import block_rates, induction, superposition
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.contraction import LONG_SERVER, Contraction, d
from sfl_theory.papers.han2024.general_convex import Merged, drawn_claims
from sfl_theory.papers.han2024.one_round import Block, mu, shown
from sfl_theory.papers.han2024.setting import G2, N, a, eta, f, i, n, t, tau, tau_server
from sfl_theory.papers.han2024.theorems import TWO_PERIODS
from sfl_theory.papers.han2024.two_periods import Steps
from sfl_theory.proofs import aggregation, derived
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.notation import combine

UPDATES = Participants.UPDATES
READ_BAR = (
    r"$\bar x_b^{t+1}=\sum_na_nx_{b,n}^{t,\tau_b}$: the last points of all clients"
)
SERVER, CLIENT = (
    Contraction(
        Block(Version.V1, side, tau_server, tau, who=UPDATES), place, "lemma-D.1"
    )
    for side, place in ((Side.SERVER, "F.1.1"), (Side.CLIENT, "F.1.2"))
)


def everyone(one: Contraction) -> Contraction:
    """Return the section's round if everyone took part."""
    return replace(one, block=replace(one.block, full=True))


def mean_update(power: int) -> Says:
    """Return the mean of the server's update over the draws, with a_n^power."""
    block = SERVER.block
    r, side = block.run, block.side
    inside = w.below(i, tau_server, block.of(r.g(n, t, i)))
    moved = block.of(r.x(t + 1)) - block.of(r.x(t))
    whole = moved + eta() * w.over_clients(n, block.weighted(inside, power))
    slope = f.gradient(r.x(t), side)
    return equal(w.inner(slope, whole), 0, *block.assumed())


def two_clients() -> ModelData:
    """Return two equal clients beside their minimum, each drawn half of the time."""
    half = Fraction(1, 2)
    return federation(
        [parabola(1, (0, 0))] * 2,
        (0, 1),
        participation=(half, half),
        rounds=1,
        numbers={s.S: 1, mu: 1, G2: 1, tau: 1, tau_server: 1, t: 0},
        families={"sigma2": (0, 0)},
        rates={"eta": Fraction(1, 4)},
        best={f: (0, 0)},
        box=[(0, 0), (0, 1)],
    )


SERVER_UPDATE = ClaimKind.EQUATION(
    "han2024/app-F.1/server-update",
    "App. F.1.1, below (127), against App. C.2",
    r"$x_s^{t+1}=x_s^t-\eta^t\sum_{n\in P}\sum_i\frac{a_n^2}{q_n}g_{s,n}^{t,i}$ is the "
    "update of App. C.2.",
    broken(
        mean_update(2),
        two_clients,
        r"Two clients, $F_n=\frac12\|x\|^2$, $a_n=q_n=\frac12$, from $x_s=1$: the "
        r"server moves by $-\eta$ on average, the printed sum by $-\eta/2$.",
        r"its mean over who takes part ($\mathbb E[I_n/q_n]=1$), as a product with "
        "the gradient at x^t",
    ),
    severity=evidence.Severity.SLIP,
    scope="for N >= 2",
    cause="a_n^2 is printed for a_n, which App. C.2, (127) and (132) have.",
    repair=evidence.repaired(
        "a_n for a_n^2",
        shown(
            mean_update(1),
            lambda: [(server_mean(), -1)],
            "The update of App. C.2, its draws averaged.",
        ),
    ),
)


def server_mean() -> Theorem:
    """Return the mean of the update of App. C.2 over the draws."""
    run, now, side = SERVER.block.run.split, t.value, Side.SERVER
    slope = f.gradient(SERVER.block.run.x(t), side).value
    moves = rules.direction(run, now, side)
    averaged = derived.expect(run, now, k.inner(moves, slope))
    rate = eta().value
    return combine(rules.update(run, side, now, slope), (averaged, -rate))


# App. F, (127), (132), (138), (141): partial against full participation in SFL-V1 ----

V1 = s.run(Version.V1, tau_server, who=Participants.UPDATES)
LONGER = s.run(Version.V1, LONG_SERVER, who=Participants.UPDATES)


def drawn(**periods: int) -> ModelData:
    """Return two clients with Huber functions and coins, the second drawn half."""
    one = plus(huber((1, 0), 0, 1), huber((0, 1), 0, 1))
    names = {"tau": tau, "tau_server": tau_server, "d": d}
    return federation(
        (plus(one, tilt("1/4", 0)), one),
        (1, "1/2"),
        weights=("3/4", "1/4"),
        noise=(coin(0, "1/2"), coin("1/2", 0)),
        participation=(1, "1/2"),
        rounds=1,
        numbers={
            G2: 4,
            t: 0,
            **{names[name]: value for name, value in periods.items()},
        },
        rates={"eta": "1/8"},
    )


def chain(
    r: Run, side: Side, period: Number, printed: bool, **periods: int
) -> tuple[Part, ...]:
    """Return the chain of a side, or only its ends."""
    block = w.client if side is Side.CLIENT else w.server
    everyone = w.over_clients(n, a() * r.p(n, t, period))
    factor = eta() ** 2 * a() ** 2 * w.inverse_chance(n)
    sizes = w.below(i, period, w.norm2(block(r.g(n, t, i))))
    bound = w.over_clients(n, a() ** 2 * w.inverse_chance(n))
    members = (
        w.norm2(block(everyone - r.x(t + 1))),
        w.norm2(block(r.x(t + 1) - r.x(t))),
        N * period * w.over_clients(n, factor * sizes),
        w.as_form(N * period**2 * eta() ** 2 * G2 * bound),
    )
    longer = (w.at_most(period, tau),) if r is V1 and side is Side.SERVER else ()
    assumed = (w.participation(r), s.assumption_33(r), *longer)
    if r is LONGER:
        reading = "tau_server = tau + d"
    else:
        reading = "tau_server <= tau" if longer else ""
    drawn_ = aggregation.Drawn(r.split, side)
    links: tuple[tuple[Callable[[], Theorem], str], ...] = (
        (
            drawn_.less_than_move,
            r"$\mathbb{E}\|X - \mathbb{E}X\|^2 \le \mathbb{E}\|X\|^2$.",
        ),
        (drawn_.move, r"Cauchy-Schwarz over clients and steps; $\mathbb{E}I_n = q_n$."),
        (partial(drawn_.bounded, G2.value), "Assumption 3.3."),
        (partial(drawn_.whole, G2.value), "The chain, end to end."),
    )
    ends = (*pairwise(members), (members[0], members[-1]))
    model = partial(drawn, **periods)
    parts = tuple(
        evidence.proved(
            says(left, right, *assumed), theorem, words, reading, model=model
        )
        for (left, right), (theorem, words) in zip(ends, links, strict=True)
    )
    return parts if printed else parts[-1:]


def equation(number: int, where: str, side: Side, uses: str = "") -> Claim:
    """Return one of the four equations; those of the general convex case are short."""
    printed = not uses
    parts = (
        chain(V1, side, tau, printed, tau=2, tau_server=1)
        if side is Side.CLIENT
        else (
            *chain(V1, side, tau_server, printed, tau=2, tau_server=1),
            *chain(LONGER, side, LONG_SERVER, printed, tau=1, d=1),
        )
    )
    return Kind.EQUATION(
        f"han2024/eq-{number}",
        f"App. {where}, ({number})",
        f"SFL-V1: what partial participation changes in the {side} block in a round.",
        *parts,
        uses=uses,
        scope="for participation as in App. C.2: updates are averaged, clients take "
        "part independently, q_n > 0. At q = 1 the left side is 0, the right one not.",
    )


def sharp(number: int, where: str, side: Side) -> Claim:
    """Return (127) or (132) with what drawing adds, which vanishes at q = 1."""
    period = tau if side is Side.CLIENT else tau_server
    block = w.client if side is Side.CLIENT else w.server
    everyone = w.over_clients(n, a() * V1.p(n, t, period))
    odds = w.over_clients(n, a() ** 2 * (w.inverse_chance(n) - 1))
    longer = (w.at_most(tau_server, tau),) if side is Side.SERVER else ()
    proof = Proof(
        partial(aggregation.Drawn(V1.split, side).sharp, G2.value),
        r"$\mathbb E\|X-\mathbb EX\|^2=\eta^2\sum_na_n^2(\frac1{q_n}-1)\mathbb E"
        r"\|\sum_ig_n\|^2$ for independent draws; Cauchy-Schwarz over steps.",
        partial(drawn, tau=2, tau_server=1),
    )
    return Kind.EQUATION(
        f"han2024/eq-{number}/sharp",
        f"App. {where}, ({number})",
        "(entry of the audit) The same with (1 - q_n)/q_n for 1/q_n and without the "
        "factor N: at q_n = 1 nothing changes.",
        Part(
            says(
                w.norm2(block(everyone - V1.x(t + 1))),
                period**2 * eta() ** 2 * G2 * odds,
                w.participation(V1),
                s.assumption_33(V1),
                *longer,
            ),
            proof,
            "tau_server <= tau" if longer else "",
        ),
        uses=f"eq-{number}",
    )


# Appendix F.2: SFL-V1, clients are drawn, general convex -----------------------------

GENERAL_SERVER = Block(
    Version.V1, Side.SERVER, tau_server, tau, who=Participants.UPDATES
)
PARALLEL = Merged(GENERAL_SERVER, "F.2.3", 143, (139, 142))

# Appendix F.3: the non-convex case of Theorem 3.8, SFL-V1, clients are drawn ---------

STEPS = Steps(
    TWO_PERIODS,
    "App. F.3",
    145,
    153,
    Fraction(1, 2),
    " Draws have mean 1 and mean square 1/q_n.",
)

CLAIMS = (
    SERVER_UPDATE,
    everyone(SERVER).quoted(126, READ_BAR),
    SERVER.drawn(128, "eq-126 eq-127"),
    SERVER.without_gap(129, "eq-128"),
    induction.F_SERVER.first_rate("app-F.1"),
    block_rates.F_SERVER.in_every_round(
        130, "lemma-D.1 eq-127 eq-67 app-F.1/first-rate eq-129"
    ),
    everyone(CLIENT).quoted(131, READ_BAR),
    CLIENT.drawn(133, "eq-131 eq-132"),
    CLIENT.without_gap(134, "eq-133"),
    induction.F_CLIENT.first_rate("app-F.1.2"),
    block_rates.F_CLIENT.in_every_round(
        135, "lemma-D.1 eq-67 app-F.1.2/first-rate eq-134"
    ),
    block_rates.merged_rate("F.1", "(130) and (135)", "For"),
    superposition.F.merge(),
    superposition.parallel_bound(superposition.F),
    superposition.middle(superposition.F),
    equation(127, "F.1.1", Side.SERVER),
    sharp(127, "F.1.1", Side.SERVER),
    equation(132, "F.1.2", Side.CLIENT),
    sharp(132, "F.1.2", Side.CLIENT),
    equation(138, "F.2.1", Side.SERVER, "eq-127"),
    equation(141, "F.2.2", Side.CLIENT, "eq-132"),
    *drawn_claims(
        PARALLEL, replace(GENERAL_SERVER, full=True), "3.8", "lemma-D.1", READ_BAR
    ),
    *STEPS.of_blocks(),
    *STEPS.of_rounds("prop-C.4 eq-147 eq-150 eq-151 eq-152 cond-F.3"),
)
