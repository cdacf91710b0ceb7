r"""Appendix G.1 and G.2: SFL-V2, clients take part at random, convex.

:math:`\bar x^{t+1}` is what a round of full participation makes of x^t: (156) and (161)
are Lemmas E.1 and D.1 for everyone's run, whose x^t may be any model.

In (157), (162), (168) and (171) that round has the same samples. The clients meet at
the server, so its local points are other ones than those of the drawn round: a second
run, coupled with the first. For one client and two steps they can be written out. The
other reading, that of App. F, is the sum over all clients at the drawn round's points.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from sfl_theory import evidence
from sfl_theory.evidence import Claim, Kind, Part, Severity, broken, proved, says
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Participants, Side
from sfl_theory.models.federation import federation, huber
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form, Vector, Written
from sfl_theory.papers.han2024 import block_rates, induction, superposition
from sfl_theory.papers.han2024.contraction import Contraction
from sfl_theory.papers.han2024.general_convex import Merged, drawn_claims
from sfl_theory.papers.han2024.one_round import Block, asked
from sfl_theory.papers.han2024.setting import G2, N, S, assumption_33, eta, i, n, t, tau
from sfl_theory.proofs import joint_distance as joint
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.local_steps import Round

UPDATES = Participants.UPDATES
EVERYONE = (
    "the round of full participation from x^t: the lemma's statement, for everyone's "
    "run, whose x^t may be any model"
)


def round_of(side: Side, who: Participants) -> Contraction:
    """Return a block's round."""
    place, lemma = (
        ("G.1.1", "lemma-E.1") if side is Side.SERVER else ("G.1.2", "lemma-D.1")
    )
    return Contraction(Block(Version.V2, side, who=who), place, lemma)


SERVER, CLIENT = (round_of(side, UPDATES) for side in (Side.SERVER, Side.CLIENT))
FULL_SERVER, FULL_CLIENT = (
    round_of(side, Participants.EVERYONE) for side in (Side.SERVER, Side.CLIENT)
)

# App. G, (157), (162), (168), (171): partial against full participation in SFL-V2 ----

TWO = w.called(w.number(2), r"\tau")
ZERO = w.number(0)
READ_BAR = (
    r"$\bar x^{t+1}$ in the line's own case of one client ($N\le1$) and two steps "
    r"($\tau=2$), where its points are $x^t$ and $x^t-\eta g_n^{t,0}$"
)
READ_OWN = r"$\bar x^{t+1}$ with the local points of the drawn round, as App. F has it"
SAME_POINTS = (
    "the local points of the drawn round in xbar, and 1/q_n - 1 for 1/q_n, whatever F_n"
)
SECOND_RUN = (
    "The model of full participation is that of a second run, which has the samples "
    "of the first and other local points; the two are not coupled here. "
)


@dataclass(frozen=True)
class Draws:
    """The lines on a block."""

    side: Side

    @property
    def block(self) -> Block:
        """The block."""
        return Block(Version.V2, self.side, who=UPDATES)

    @property
    def short(self) -> Block:
        """The block, for two steps."""
        return Block(Version.V2, self.side, TWO, TWO, who=UPDATES)

    def led(self, block: Block, each: Vector) -> Vector:
        """Return the block of the model to which steps of all clients lead."""
        move = w.over_clients(n, block.weighted(w.part(self.side, each)))
        value = block.of(block.run.x(t)).value - move.value * eta().value
        name = w.Name(r"\bar{x}", self.side.value[0], (t + 1).tex)
        return Written(value, str(name), w.ATOM, name)

    def everyone(self) -> Vector:
        """Return the block of the model of full participation, for two steps."""
        r, local = self.short.run, w.local(n)
        first = local.gradient(r.x(t)).value + r.xi(n, t, 0).value
        ahead = Written(r.x(t).value - first * eta().value, "")
        second = local.gradient(ahead).value + r.xi(n, t, 1).value
        return self.led(self.short, Written(first + second, ""))

    def own(self) -> Vector:
        """Return it with the local points of the drawn round."""
        return self.led(self.block, w.below(i, tau, self.block.run.g(n, t, i)))

    def apart(self, block: Block, everyone: Vector) -> Form:
        """Return how far the next model is from that of full participation."""
        return w.norm2(block.of(block.run.x(t + 1)) - everyone)

    def moved(self, block: Block) -> Form:
        """Return the squared move of the block."""
        run = block.run
        return w.norm2(block.of(run.x(t + 1)) - block.of(run.x(t)))

    def turned(self) -> ModelData:
        """Return a client whose two server steps cancel where it takes part."""
        return federation(
            [huber((1, 1), 0, 1, Fraction(1, 2))],
            (1, 0),
            participation=(Fraction(1, 15),),
            order=[(0, 0), (0, 1)],
            rounds=1,
            numbers={S: 1, G2: Fraction(1, 2), t: 0, tau: 2},
            families={"sigma2": (0,)},
            rates={"eta": Fraction(1, 4)},
            best={w.f: (0, 0)},
        )

    def less_than_move(self) -> tuple[Part, Part]:
        """Return the first relation, for either reading."""
        short, block = self.short, self.block
        one_client = w.at_most(N, 1)
        second = says(
            self.apart(short, self.everyone()),
            self.moved(short),
            *short.assumed(ZERO),
            one_client,
        )
        same = says(
            self.apart(block, self.own()), self.moved(block), *block.assumed(ZERO)
        )
        words = (
            r"One client, $F=\frac14(x_c+x_s)^2$ near 0, no noise, $q=\frac1{15}$, "
            r"$\eta=\frac14$, from (1, 0). Where it takes part, its first server step "
            r"is 15 times as long and turns the gradient round: the second takes it "
            r"back, $x_b^{t+1}=x_b^t$. Full participation moves on."
        )
        return (
            broken(second, lambda: asked(second, self.turned()), words, READ_BAR),
            broken(same, lambda: asked(same, self.turned()), words, READ_OWN),
        )

    def size(self) -> Part:
        """Return the other relations, end to end."""
        block = self.block
        bound = w.over_clients(n, block.weighted(w.inverse_chance(n), 2))
        right = N * tau**2 * eta() ** 2 * G2 * bound
        run = block.run
        what = says(self.moved(block), right, w.participation(run), assumption_33(run))
        return proved(
            what,
            partial(joint.averaged_move, Round(run.split), self.side),
            r"Given the draws $\mathbb E\|\sum_ig_n^{t,i}\|^2\le\tau^2G^2$; "
            r"Cauchy-Schwarz over clients, $\mathbb EJ_n^2=1/q_n$.",
            "the relations after the first one, end to end",
        )

    def same_points(self) -> Part:
        """Return the line with the local points of the drawn round."""
        block, run = self.block, self.block.run
        odds = block.weighted(w.inverse_chance(n) - 1, 2)
        right = N * tau**2 * eta() ** 2 * G2 * w.over_clients(n, odds)
        left = self.apart(block, self.own())
        return proved(
            says(left, right, w.participation(run), assumption_33(run)),
            partial(joint.averaged_move, Round(run.split), self.side, everyone=True),
            r"The difference is $\eta\sum_nc_n(J_n-1)\sum_ig_n^{t,i}$, $c_n$ = "
            r"$a_n$ or 1; given the draws as there; $\mathbb E(J_n-1)^2=1/q_n-1$.",
            READ_OWN,
        )

    def chain(self, number: int, ends: int) -> Claim:
        """Return (157) or (162)."""
        where = "G.1.1" if self.side is Side.SERVER else "G.1.2"
        return Kind.EQUATION(
            f"han2024/eq-{number}",
            f"App. {where}, ({number})",
            f"SFL-V2: what partial participation changes in the {self.side.value} "
            "block in a round.",
            *self.less_than_move(),
            self.size(),
            severity=Severity.PROOF,
            scope="in its first relation, for one client and mu = 0; the others hold "
            "together",
            cause="E||X - EX||^2 <= E||X||^2, but the server's later gradients depend "
            "on who takes part: xbar is not the mean of x over participation.",
            words=SECOND_RUN + "The whole, from end to end, is "
            f"eq-{ends}. Twice as large in each of the two moves, the bound "
            r"$2N\tau^2\eta^2G^2\sum_nc_n(1+\frac1{q_n})$ follows from the second part "
            "for both runs by Young.",
            repair=evidence.repaired(
                f"{SAME_POINTS}; in SFL-V1, (127), whose local points do not depend on "
                "who takes part, that is the line",
                self.same_points(),
            ),
        )


def open_bound(
    number: int, section: str, lines: Draws, rests_on: int, more: str
) -> Claim:
    """Return (168) or (171), which no term can say."""
    side = lines.side
    weight = r"\frac1{q_n}" if side is Side.SERVER else r"\frac{a_n^2}{q_n}"
    return Kind.EQUATION(
        f"han2024/eq-{number}",
        f"App. {section}, ({number})",
        "SFL-V2: the next model and that of full participation differ by at most "
        rf"$N\tau^2\eta^2G^2\sum_n{weight}$ in mean square, the {side.value} block.",
        words=SECOND_RUN + more,
        uses=f"eq-{rests_on}",
        repair=evidence.repaired(SAME_POINTS, lines.same_points()),
    )


DRAWN_SERVER, DRAWN_CLIENT = Draws(Side.SERVER), Draws(Side.CLIENT)

# Appendix G.2: SFL-V2, clients are drawn, general convex -----------------------------

GENERAL_SERVER = Block(Version.V2, Side.SERVER, who=Participants.UPDATES)
SEQUENTIAL = Merged(GENERAL_SERVER, "G.2.3", 173, (169, 172))

CLAIMS = (
    FULL_SERVER.quoted(156, EVERYONE),
    SERVER.drawn(158, "eq-156 eq-157"),
    SERVER.without_gap(159, "eq-158"),
    induction.G_SERVER.first_rate("app-G.1"),
    block_rates.G_SERVER.in_every_round(
        160, "lemma-E.1 eq-104 app-G.1/first-rate eq-159"
    ),
    FULL_CLIENT.quoted(161, EVERYONE),
    CLIENT.drawn(163, "eq-161 eq-162"),
    CLIENT.without_gap(164, "eq-163"),
    induction.G_CLIENT.first_rate("app-G.1.2"),
    block_rates.G_CLIENT.in_every_round(
        165, "lemma-D.1 eq-67 app-G.1.2/first-rate eq-164"
    ),
    superposition.G.merge(),
    superposition.sequential_bound(superposition.G),
    DRAWN_SERVER.chain(157, 168),
    DRAWN_CLIENT.chain(162, 171),
    open_bound(
        168,
        "G.2.1",
        DRAWN_SERVER,
        157,
        "By hand it is true, with 1/q_n - 1: for convex F_n and eta <= 2/S a step of "
        "full participation increases no distance, and a draw adds at most eta G "
        "sqrt(1/q_n - 1) to its root mean square (noise that does not depend on the "
        "point).",
    ),
    open_bound(
        171,
        "G.2.2",
        DRAWN_CLIENT,
        162,
        "It looks false: a client's gradients are taken where the server is, which "
        "others move when they take part, and their q_n is not on the right. In "
        "floating point: 90 clients of q = 1/10000 that move the server, 90 of q = 1 "
        "whose client gradients change with it.",
    ),
    *drawn_claims(
        SEQUENTIAL, Block(Version.V2, Side.SERVER), "3.9", "lemma-E.1", EVERYONE
    ),
)
