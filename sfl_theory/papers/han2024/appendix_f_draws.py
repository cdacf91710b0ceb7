r"""App. F, (127), (132), (138), (141): partial against full participation in SFL-V1.

:math:`\bar x^{t+1}` is the model after the same round, the same samples, with every
client taking part; x^{t+1} is made by the clients that are drawn, updates averaged.
"""

from __future__ import annotations

from sfl_theory import written as w
from sfl_theory.claims import Claim, Kind, Part, Proof, says
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Participants, Side
from sfl_theory.models.federation import coin, federation, huber, plus, tilt
from sfl_theory.papers.han2024.setting import (
    G2,
    N,
    a,
    assumption_33,
    eta,
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


def apart(r: Run, side: Side, period: Number, reading: str, **periods: int) -> Part:
    """Return the distance of the two models on a side."""
    block = w.client if side is Side.CLIENT else w.server
    everyone = w.over_clients(n, a() * r.p(n, t, period))
    bound = w.over_clients(n, a() ** 2 * w.inverse_chance(n))
    longer = (w.at_most(period, tau),) if r is V1 and side is Side.SERVER else ()
    return Part(
        says(
            w.norm2(block(everyone - r.x(t + 1))),
            N * period**2 * eta() ** 2 * G2 * bound,
            w.participation(r),
            assumption_33(r),
            *longer,
        ),
        Proof(
            lambda: aggregation.drawn_or_all(r.split, side, G2.value),
            r"The difference is $\eta\sum_n a_n(1 - I_n/q_n)h_n$ with independent "
            r"$I_n$: $\eta^2\sum_n a_n^2(1/q_n - 1)\mathbb{E}\|h_n\|^2$, no N, and "
            r"$\mathbb{E}\|h_n\|^2 \le \tau^2G^2$ for the sum of $\tau$ gradients.",
            lambda: drawn(**periods),
        ),
        reading=reading,
    )


def equation(number: int, where: str, side: Side, uses: str = "") -> Claim:
    """Return one of the four equations: the side's, for a convex case."""
    parts = (
        (apart(V1, side, tau, "", tau=2, tau_server=1),)
        if side is Side.CLIENT
        else (
            apart(V1, side, tau_server, "tau_server <= tau", tau=2, tau_server=1),
            apart(LONGER, side, tau + more, "tau_server = tau + d", tau=1, d=1),
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
        "part independently, q_n > 0. At q = 1 the left side is 0 and the right "
        "side is not: the factor 1/q_n - 1 is lost.",
    )


CLAIMS = (
    equation(127, "F.1.1", Side.SERVER),
    equation(132, "F.1.2", Side.CLIENT),
    equation(138, "F.2.1", Side.SERVER, "eq-127"),
    equation(141, "F.2.2", Side.CLIENT, "eq-132"),
)
