r"""App. F, (127), (132), (138), (141): partial against full participation in SFL-V1.

:math:`\bar x^{t+1}` is the model after the same round, the same samples, with every
client taking part; x^{t+1} is made by the clients that are drawn, updates averaged.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

from sfl_theory import written as w
from sfl_theory.claims import Claim, Kind, Part, Proof, says
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Participants, Side
from sfl_theory.models.federation import coin, federation, huber, plus, tilt
from sfl_theory.papers.han2024.setting import (
    G2,
    N,
    a,
    assumption_33,
    eta,
    i,
    n,
    run,
    t,
    tau,
    tau_server,
)
from sfl_theory.proofs import aggregation
from sfl_theory.proofs.export import ModelData
from sfl_theory.written import Number, Run

V1 = run(Version.V1, tau_server, who=Participants.UPDATES)
more = w.natural("d")
LONGER = run(Version.V1, tau + more, who=Participants.UPDATES)


def drawn(**periods: int) -> ModelData:
    """Return two clients with Huber functions and coins, the second drawn half."""
    one = plus(huber((1, 0), 0, 1), huber((0, 1), 0, 1))
    names = {"tau": tau, "tau_server": tau_server, "d": more}
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
    assumed = (w.participation(r), assumption_33(r), *longer)
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
        Part(says(left, right, *assumed), Proof(theorem, words, model), reading)
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
            *chain(LONGER, side, tau + more, printed, tau=1, d=1),
        )
    )
    return Claim(
        f"han2024/eq-{number}",
        f"App. {where}, ({number})",
        Kind.EQUATION,
        f"SFL-V1: what partial participation changes in the {side} block in a round.",
        parts,
        uses=uses,
        scope="Participation as App. C.2 analyses it: updates are averaged, clients "
        "take "
        "part independently, q_n > 0. At q = 1 the left side is 0, the right one is "
        "not.",
    )


CLAIMS = (
    equation(127, "F.1.1", Side.SERVER),
    equation(132, "F.1.2", Side.CLIENT),
    equation(138, "F.2.1", Side.SERVER, "eq-127"),
    equation(141, "F.2.2", Side.CLIENT, "eq-132"),
)
