"""Appendix F.1: SFL-V1, clients are drawn, strongly convex.

(127) and (132) are in `appendix_f_draws`.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfl_theory import written as w
from sfl_theory.claims import Claim, Model, Part, Repair, Says, Severity, equal
from sfl_theory.claims import Kind as ClaimKind
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Kind, Participants, Side
from sfl_theory.models.federation import federation, parabola
from sfl_theory.papers.han2024 import block_rates, induction, superposition
from sfl_theory.papers.han2024.contraction import Contraction
from sfl_theory.papers.han2024.one_round import Block, mu, shown
from sfl_theory.papers.han2024.setting import (
    G2,
    S,
    eta,
    f,
    i,
    n,
    t,
    tau,
    tau_server,
)
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.notation import combine

UPDATES = Participants.UPDATES
READ_BAR = (
    r"$\bar x_b^{t+1}=\sum_na_nx_{b,n}^{t,\tau_b}$: the last points of all clients"
)
SERVER, CLIENT = (
    Contraction(Block(Kind.V1, side, tau_server, tau, who=UPDATES), place, "lemma-D.1")
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
        numbers={S: 1, mu: 1, G2: 1, tau: 1, tau_server: 1, t: 0},
        families={"sigma2": (0, 0)},
        rates={"eta": Fraction(1, 4)},
        best={f: (0, 0)},
        box=[(0, 0), (0, 1)],
    )


SERVER_UPDATE = Claim(
    "han2024/app-F.1/server-update",
    "App. F.1.1, below (127), against App. C.2",
    ClaimKind.EQUATION,
    r"$x_s^{t+1}=x_s^t-\eta^t\sum_{n\in P}\sum_i\frac{a_n^2}{q_n}g_{s,n}^{t,i}$ is the "
    "update of App. C.2.",
    (
        Part(
            mean_update(2),
            Model(
                two_clients,
                r"Two clients, $F_n=\frac12\|x\|^2$, $a_n=q_n=\frac12$, from $x_s=1$: "
                r"the server moves by $-\eta$ on average, the printed sum by "
                r"$-\eta/2$.",
            ),
            r"its mean over who takes part ($\mathbb E[I_n/q_n]=1$), as a product with "
            "the gradient at x^t",
        ),
    ),
    severity=Severity.SLIP,
    scope="for N >= 2",
    cause="a_n^2 is printed for a_n, which App. C.2, (127) and (132) have.",
    repair=Repair(
        (
            shown(
                mean_update(1),
                lambda: [(server_mean(), -1)],
                "The update of App. C.2, its draws averaged.",
            ),
        ),
        "a_n for a_n^2",
    ),
)


def server_mean() -> Theorem:
    """Return the mean of the update of App. C.2 over the draws."""
    run, now, side = SERVER.block.run.split, t.value, Side.SERVER
    slope = f.gradient(SERVER.block.run.x(t), side).value
    moves = rules.direction(run, now, side)
    averaged = rules.expect(run, now, k.inner(moves, slope))
    rate = eta().value
    return combine([(rules.update(run, side, now, slope), 1), (averaged, -rate)])


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
    block_rates.merged_rate("F.1", "(130) and (135)"),
    superposition.F.merge(),
    superposition.parallel_bound(superposition.F),
    superposition.middle(superposition.F),
)
