r"""Blocks at their sections' rates: (62), (69), (72), (99), (106), (109).

gamma is :math:`\frac{8S}\mu-1`, SFL-V2's server has :math:`\gamma_s=
\frac{8S}{N\mu}-1`, read as positive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from sfl_theory import evidence
from sfl_theory.evidence import Claim, Kind, Model, Part, Says, Severity, broken, says
from sfl_theory.kernel.algebra import Number as Exact
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import MEAN, Participants, Rate, Side
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.models.federation import coin, federation, parabola, quadratic
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form, Number
from sfl_theory.papers.han2024 import conditions, induction, one_round
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.contraction import d
from sfl_theory.papers.han2024.induction import FEW, FIRST, GAMMA, LARGE, gamma_s, v
from sfl_theory.papers.han2024.one_round import JOINT, READ_33, Block, asked, ordered
from sfl_theory.papers.han2024.setting import G2, N, excess, f, mu, t, tau, tau_server
from sfl_theory.proofs import derived
from sfl_theory.proofs import joint_distance as joint
from sfl_theory.proofs.export import ModelData

READ_RATES = (
    "each side at the rate of its own subsection; a side that has made its steps keeps "
    "its value while the other goes on"
)
READ_FEW = f"gamma_s > 0, {induction.READ_S}; {READ_RATES}"
GAMMA_C = w.called(8 * FEW / mu - 1, r"\gamma")
SLOWER = w.equals(N * (gamma_s + 1), GAMMA + 1)
r"""The definition of :math:`\gamma_s`."""
CAUSE = (
    "A block near its minimiser is driven away by the other one, whose distance the "
    "bound does not contain."
)
NEAR = Fraction(-1, 4)
"""Where the block starts; the other one at 1 pulls it to less."""


def _rate(steps: Number, gamma: Number, clients: Number | int = 1) -> Rate:
    """Return ``4/(mu tau_b (gamma + t))``, with N below for SFL-V2's server."""
    below = mu * steps if clients == 1 else clients * mu * steps
    return w.rate(lambda time: 4 / (below * (gamma + time)))


EVERYONE, UPDATES = Participants.EVERYONE, Participants.UPDATES


def parallel(
    side: Side | None, client: Number, server: Number, who: Participants = EVERYONE
) -> Block:
    """Return a block of SFL-V1 at the rates of D.1.1 and D.1.2."""
    rates = _rate(client, GAMMA), _rate(server, GAMMA)
    return Block(Version.V1, side, server, client, rates, smoothness=LARGE, who=who)


def sequential(side: Side | None, who: Participants = EVERYONE) -> Block:
    """Return a block of SFL-V2 at the rates of E.1.1 and E.1.2."""
    clients = (GAMMA + 1) / (gamma_s + 1)
    rates = _rate(tau, GAMMA), _rate(tau, gamma_s, clients)
    one = Block(Version.V2, side, rates=rates, smoothness=LARGE, more=SLOWER)
    return replace(one, who=who)


def without_excess(side: Side, who: Participants = EVERYONE) -> Block:
    """Return it with S written by gamma_s, for lines that only differ in gamma."""
    rates = _rate(tau, GAMMA_C), _rate(tau, gamma_s, N)
    return Block(Version.V2, side, rates=rates, smoothness=FEW, who=who)


def at_gamma(who: Participants = EVERYONE) -> tuple[Block, Block]:
    """Return SFL-V2's server and clients with gamma for gamma_s in its rate."""
    rates = _rate(tau, GAMMA), _rate(tau, GAMMA, N)
    server = Block(Version.V2, Side.SERVER, rates=rates, smoothness=LARGE, who=who)
    return server, replace(server, side=Side.CLIENT)


def both(kind: Version, who: Participants = EVERYONE) -> Block:
    """Return the whole vector where both sides make tau steps at one rate."""
    rate = _rate(tau, GAMMA)
    return Block(kind, None, rates=(rate, rate), smoothness=LARGE, who=who)


def bound(block: Block, gamma: Number, at: Number) -> Form:
    """Return the right side of (69)."""
    out = 16 * N * block.noise(True) / (mu**2 * (gamma + at))
    drift = 1536 * block.smoothness * block.noise(False)
    out = out + drift / (mu**3 * (gamma + at) * (gamma + 1))
    return w.as_form(out) + (gamma + 1) * block.distance(0) / (gamma + at)


def proved_bound(block: Block, at: Number) -> Form:
    """Return what is proved of the whole vector: (69), (130).

    Where SFL-V2's clients are drawn, the drift has a larger factor.
    """
    if not (block.drawn and block.kind.visits):
        return bound(block, GAMMA, at)
    out = 16 * block.spread * G2 / (mu**2 * (GAMMA + at))
    drift = 132 * block.c * block.smoothness * G2
    out = out + drift / (mu**3 * (GAMMA + at) * (GAMMA + 1))
    return w.as_form(out) + (GAMMA + 1) * block.distance(0) / (GAMMA + at)


def rate(block: Block) -> Theorem:
    """Return that bound, the kernel's."""
    visited = block.drawn and block.kind.visits
    return (joint.rate if visited else joint.printed_rate)(block.kind, block.who)


def in_the_round(block: Block) -> list[tuple[Theorem, Exact]]:
    """Return what the recursion at these rates follows from."""
    way = (block.eta * tau).value
    return [
        (joint.fast_round(block.kind, block.who), 1),
        (joint.weights_spread(), way**2 * G2.value),
        (derived.lowest(MEAN, block.run.x(t).value), 2 * way),
    ]


def drawn_clients(block: Block, what: Says) -> Callable[[], ModelData] | None:
    """Return two clients in a box, one drawn three times out of four.

    None where everyone takes part: the standard witness does.
    """
    if not block.drawn:
        return None
    numbers: dict[str | Number, w.Exact] = {mu: 1, excess: 0, G2: 4, t: 1, s.T: 1}
    numbers |= {tau: 1, tau_server: 1, d: 0, gamma_s: 3}
    data = federation(
        [parabola(1, (0, Fraction(1, 2))), parabola(1, (0, Fraction(-1, 2)))],
        (Fraction(1, 2), Fraction(1, 2)),
        noise=(coin(0, Fraction(1, 2)),) * 2,
        participation=(1, Fraction(3, 4)),
        order=ordered(block, 2),
        rounds=1,
        numbers=numbers,
        families={"sigma2": (Fraction(1, 4),) * 2},
        best={f: (0, 0)},
        box=[(-1, 1), (-1, 1)],
    )
    return lambda: asked(what, data)


@dataclass(frozen=True)
class Rated:
    """A block at its section's rates.

    Attributes:
        block: the block.
        gamma: gamma, or gamma_s.
        section: "D.1.1".
    """

    block: Block
    gamma: Number
    section: str

    @property
    def shared(self) -> bool:
        """Whether it is SFL-V2's."""
        return self.block.kind.visits

    @property
    def reading(self) -> str:
        """How the rates became terms."""
        return READ_FEW if self.shared else f"{induction.READ_S}; {READ_RATES}"

    def coupled(self, what: Says, S: int, time: int, words: str) -> Model:
        """Return one client whose other block drives the block."""
        server = self.block.side is Side.SERVER
        start = (1, 0, NEAR) if server else (NEAR, 0, 1)
        zero = Fraction(0)
        box = [(zero, Fraction(1)), (zero, zero), (Fraction(-1, 2), zero)]

        def data() -> ModelData:
            numbers: dict[str | Number, w.Exact] = {mu: 1, G2: 5, t: time}
            numbers |= {tau: 1, tau_server: 1, FIRST: NEAR**2}
            numbers |= {gamma_s: 8 * S - 1, excess: S - 1}
            numbers[v] = max(80 + Fraction(960), 8 * S * NEAR**2)
            return asked(
                what,
                federation(
                    [quadratic([(2, 0, 1), (0, S, 0), (1, 0, 2)], (0, 0, 0))],
                    start,
                    client_size=2,
                    order=ordered(self.block),
                    numbers=numbers,
                    families={"sigma2": (0,)},
                    best={f: (0, 0, 0)},
                    box=box if server else box[::-1],
                    rounds=time * self.block.drawn,
                ),
            )

        return Model(
            data,
            r"One client without noise, $F=x_c^2+x_cx_s+x_s^2+\frac S2z^2$, z a second "
            f"coordinate of the clients' block that stays 0, $S={S}$. {words}",
        )

    def in_a_round(self, number: int, uses: str) -> Claim:
        """Return (62), (99): the recursion at the rates, in the induction."""
        block, gamma = self.block, self.gamma
        B1, B2 = block.B1, block.B2
        least = 4 * B1 / mu**2 + 8 * B2 / (mu**3 * (gamma + 1))
        start = block.distance(0)
        what = says(
            block.distance(t + 1),
            block.rewritten(mu),
            *block.assumed(mu, small=False),
            *w.maximum(v, least, (gamma + 1) * FIRST),
            w.at_most(FIRST, start),
            w.at_most(start, FIRST),
            w.at_most(block.distance(t), v / (gamma + t)),
        )
        words = (
            r"From $-\frac14$, the other block at 1, the block moves outward in round "
            r"1 at first order in $\eta$; the right side allows second order."
        )
        model = self.coupled(what, 1000, 1, words)
        whole, change = self.whole
        mended = says(
            whole.distance(t + 1), whole.rewritten(mu), *whole.assumed(mu, small=False)
        )
        return Kind.EQUATION(
            f"han2024/eq-{number}",
            f"App. {self.section}, ({number})",
            r"The recursion at the chosen rates, $\Delta_t\le v/(\gamma+t)$ assumed.",
            Part(what, model, self.reading),
            severity=Severity.PROOF,
            scope="refuted in round 1, where the rate is admitted",
            words=READ_33,
            cause="A block near its minimiser is driven outward by the other block at "
            "first order in eta; the right side allows second order.",
            uses=uses,
            repair=evidence.repaired(
                change,
                one_round.shown(
                    mended,
                    lambda: in_the_round(whole),
                    one_round.TOGETHER + r" And $N\sum_na_n^2\ge1$.",
                    induction.READ_S,
                ),
            ),
        )

    @property
    def whole(self) -> tuple[Block, str]:
        """The whole vector, for the repairs, and what they change."""
        if self.shared:
            return both(Version.V2_WEIGHTED, self.block.who), one_round.JOINT_WEIGHTED
        return both(Version.V1, self.block.who), JOINT

    def in_every_round(self, number: int, uses: str) -> Claim:
        """Return (69), (72), (106), (109)."""
        block, gamma = self.block, self.gamma
        large, rounds = 6000, 1350 if block.drawn else 1250
        assumed = block.assumed(mu, small=False)
        what = says(block.distance(t), bound(block, gamma, t), *assumed)
        words = (
            "From $-\\frac14$, the other block at 1, the block moves outward: "
            rf"$\Delta_t$ grows from $\frac1{{16}}$ to more than $\frac1{{12}}$ in "
            rf"{rounds} rounds, the bound is not above $\frac1{{16}}+"
            rf"\frac{{{224 if block.drawn else 208}G^2}}{{\gamma+t}}$."
            + " The client always takes part."
            * block.drawn
        )
        model = self.coupled(what, large, rounds, words)
        whole, change = self.whole
        right = proved_bound(whole, t)
        mended = says(whole.distance(t), right, *whole.assumed(mu, small=False))
        return Kind.EQUATION(
            f"han2024/eq-{number}",
            f"App. {self.section}, ({number})",
            "The distance of the block falls like 1/t.",
            Part(what, model, f"end to end; {self.reading}"),
            severity=Severity.PROOF,
            scope=f"refuted for S = {large} mu"
            + " and q = 1 (in floats also for q = 1/2, after 1600 rounds)" * block.drawn
            + "; whether also for small S/mu is not known",
            words=READ_33,
            cause=CAUSE,
            uses=uses,
            repair=evidence.repaired(
                change,
                one_round.shown(
                    mended,
                    lambda: [(rate(whole), 1)],
                    r"The whole vector's recursion, $\Delta_{t+1}\le(1-\frac2u)"
                    r"\Delta_t+\frac{16G^2}{\mu^2u^2}+\frac{128cSG^2}{\mu^3u^3}$ "
                    r"with $u=\gamma+t$, $c\le1$, and an induction like (62)-(68).",
                    induction.READ_S,
                    model=drawn_clients(whole, mended),
                ),
            ),
        )


D_SERVER = Rated(parallel(Side.SERVER, tau, tau_server), GAMMA, "D.1.1")
D_CLIENT = Rated(parallel(Side.CLIENT, tau, tau_server), GAMMA, "D.1.2")
E_SERVER = Rated(sequential(Side.SERVER), gamma_s, "E.1.1")
E_CLIENT = Rated(sequential(Side.CLIENT), GAMMA, "E.1.2")
F_SERVER = Rated(parallel(Side.SERVER, tau, tau_server, UPDATES), GAMMA, "F.1.1")
F_CLIENT = Rated(parallel(Side.CLIENT, tau, tau_server, UPDATES), GAMMA, "F.1.2")
G_SERVER = Rated(sequential(Side.SERVER, UPDATES), gamma_s, "G.1.1")
G_CLIENT = Rated(sequential(Side.CLIENT, UPDATES), GAMMA, "G.1.2")


def merged_rate(
    section: str = "D.1", bounds: str = "(69) and (72)", said: str = "by setting"
) -> Claim:
    """Return that the rates, `said` to meet it, meet the condition of both sides."""
    defined = w.maximum(s.tau_max, tau, tau_server)
    parts = []
    for own, name in ((tau_server, "server"), (tau, "client")):
        rate = 4 / (mu * own * (GAMMA + induction.later))
        what = says(rate, 1 / (2 * LARGE * s.tau_max), *defined)
        other = tau if own is tau_server else tau_server
        numbers: dict[str | Number, w.Exact] = {mu: 1, excess: 0, own: 1, other: 4}
        numbers |= {s.tau_max: 4, induction.later: 1}

        def data(numbers: dict[str | Number, w.Exact] = numbers) -> ModelData:
            return federation([parabola(1, (0, 0))], (0, 0), numbers=numbers)

        words = f"One step of the {name}'s side against four: 1/2 against 1/8 at t = 1."
        parts.append(broken(what, data, words, f"{name}'s side, t >= 1"))
    return Kind.CONDITION(
        f"han2024/app-{section}.3/merged-rate",
        f"App. {section}.3",
        f"The rates of {bounds} meet the condition of the merged bound.",
        *tuple(parts),
        severity=Severity.PROOF,
        scope="refuted where one side makes four times the other's steps; true from "
        "t = 1 on for equal numbers of steps",
        cause="The side with fewer steps has the larger rate, chosen for them alone.",
        words=f"'{said}' is read as of these rates; read as a further hypothesis, "
        "the merge speaks of no rate at early t",
        uses=f"app-{section}/first-rate app-{section}.2/first-rate",
        repair=evidence.repaired(
            "equal numbers of steps, t >= 1",
            conditions.late_enough(tau, conditions.printed(tau, conditions.later)),
        ),
    )
