r"""Blocks at their sections' rates: (62), (69), (72), (99), (106), (109).

gamma is :math:`\frac{8S}\mu-1`, SFL-V2's server has :math:`\gamma_s=
\frac{8S}{N\mu}-1`, read as positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfl_theory import written as w
from sfl_theory.claims import (
    Claim,
    Kind,
    Model,
    Part,
    Repair,
    Says,
    Severity,
    says,
)
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Rate, Side
from sfl_theory.models.federation import federation, quadratic
from sfl_theory.papers.han2024.induction import (
    FEW,
    FIRST,
    GAMMA,
    LARGE,
    READ_S,
    gamma_s,
    v,
)
from sfl_theory.papers.han2024.one_round import (
    JOINT,
    JOINT_WEIGHTED,
    READ_33,
    Block,
    asked,
    ordered,
    shown,
)
from sfl_theory.papers.han2024.setting import (
    G2,
    N,
    excess,
    f,
    mu,
    t,
    tau,
    tau_server,
)
from sfl_theory.proofs import joint_distance as joint
from sfl_theory.proofs.export import ModelData
from sfl_theory.written import Form, Number

READ_RATES = (
    "each side at the rate of its own subsection; a side that has made its steps keeps "
    "its value while the other goes on"
)
READ_FEW = f"gamma_s > 0, {READ_S}; {READ_RATES}"
GAMMA_C = w.called(8 * FEW / mu - 1, r"\gamma")
SLOWER = w.equals(N * (gamma_s + 1), GAMMA + 1)
r"""The definition of :math:`\gamma_s`."""
CAUSE = (
    "The block that starts at its minimiser is driven away by the other one, whose "
    "distance the bound does not contain."
)


def _rate(steps: Number, gamma: Number, clients: Number | int = 1) -> Rate:
    """Return ``4/(mu tau_b (gamma + t))``, with N below for SFL-V2's server."""
    below = mu * steps if clients == 1 else clients * mu * steps
    return w.rate(lambda time: 4 / (below * (gamma + time)))


def parallel(side: Side | None, client: Number, server: Number) -> Block:
    """Return a block of SFL-V1 at the rates of D.1.1 and D.1.2."""
    rates = _rate(client, GAMMA), _rate(server, GAMMA)
    return Block(Version.V1, side, server, client, rates, smoothness=LARGE)


def sequential(side: Side | None) -> Block:
    """Return a block of SFL-V2 at the rates of E.1.1 and E.1.2."""
    clients = (GAMMA + 1) / (gamma_s + 1)
    rates = _rate(tau, GAMMA), _rate(tau, gamma_s, clients)
    return Block(Version.V2, side, rates=rates, smoothness=LARGE, more=SLOWER)


def without_excess(side: Side) -> Block:
    """Return it with S written by gamma_s, for lines that only differ in gamma."""
    rates = _rate(tau, GAMMA_C), _rate(tau, gamma_s, N)
    return Block(Version.V2, side, rates=rates, smoothness=FEW)


def both(kind: Version) -> Block:
    """Return the whole vector where both sides make tau steps at one rate."""
    one = Block(kind, None, rates=(_rate(tau, GAMMA),) * 2, smoothness=LARGE)
    return one


def bound(block: Block, gamma: Number, at: Number) -> Form:
    """Return the right side of (69)."""
    out = 16 * N * block.noise(True) / (mu**2 * (gamma + at))
    drift = 1536 * block.smoothness * block.noise(False)
    out = out + drift / (mu**3 * (gamma + at) * (gamma + 1))
    return w.as_form(out) + (gamma + 1) * block.distance(0) / (gamma + at)


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
        return READ_FEW if self.shared else f"{READ_S}; {READ_RATES}"

    def coupled(
        self, what: Says, S: int, own: Fraction, time: int, words: str
    ) -> Model:
        """Return one client whose other block drives the block."""
        server = self.block.side is Side.SERVER
        start = (1, 0, own) if server else (own, 0, 1)
        zero = Fraction(0)
        box = [(zero, Fraction(1)), (zero, zero), (Fraction(-1, 2), zero)]

        def data() -> ModelData:
            numbers: dict[str | Number, w.Exact] = {mu: 1, G2: 5, t: time}
            numbers |= {tau: 1, tau_server: 1, FIRST: own**2}
            numbers |= {gamma_s: 8 * S - 1, excess: S - 1}
            numbers[v] = max(80 + Fraction(960), 8 * S * own**2)
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
        model = self.coupled(what, 1000, Fraction(-1, 4), 1, words)
        return Claim(
            f"han2024/eq-{number}",
            f"App. {self.section}, ({number})",
            Kind.EQUATION,
            r"The recursion at the chosen rates, $\Delta_t\le v/(\gamma+t)$ assumed.",
            (Part(what, model, self.reading),),
            severity=Severity.PROOF,
            scope="refuted in round 1, where the rate is admitted",
            words=READ_33,
            cause="A block near its minimiser is driven outward by the other block at "
            "first order in eta; the right side allows second order.",
            uses=uses,
        )

    def in_every_round(self, number: int, uses: str) -> Claim:
        """Return (69), (72), (106), (109)."""
        block, gamma = self.block, self.gamma
        assumed = block.assumed(mu, small=False)
        what = says(block.distance(t), bound(block, gamma, t), *assumed)
        words = (
            "The block starts at its minimiser, so the bound has noise terms only, "
            r"$\frac{208G^2}{\gamma+t}$; from the other block's 1 it is driven to more "
            r"than $\frac17$ in 2900 rounds."
        )
        model = self.coupled(what, 6000, Fraction(0), 2900, words)
        whole = both(Version.V2_WEIGHTED if self.shared else Version.V1)
        right = bound(whole, GAMMA, t)
        repaired = says(whole.distance(t), right, *whole.assumed(mu, small=False))
        return Claim(
            f"han2024/eq-{number}",
            f"App. {self.section}, ({number})",
            Kind.EQUATION,
            "The distance of the block falls like 1/t.",
            (Part(what, model, f"end to end; {self.reading}"),),
            severity=Severity.PROOF,
            scope="refuted for S = 6000 mu; whether also for small S/mu is not known",
            words=READ_33,
            cause=CAUSE,
            uses=uses,
            repair=Repair(
                (
                    shown(
                        repaired,
                        lambda: [(joint.rate(whole.kind), 1)],
                        r"The whole vector's recursion, $\Delta_{t+1}\le(1-\frac2u)"
                        r"\Delta_t+\frac{16G^2}{\mu^2u^2}+\frac{128cSG^2}{\mu^3u^3}$ "
                        r"with $u=\gamma+t$, $c\le1$, and an induction like (62)-(68).",
                        READ_S,
                    ),
                ),
                JOINT_WEIGHTED if self.shared else JOINT,
            ),
        )


D_SERVER = Rated(parallel(Side.SERVER, tau, tau_server), GAMMA, "D.1.1")
D_CLIENT = Rated(parallel(Side.CLIENT, tau, tau_server), GAMMA, "D.1.2")
E_SERVER = Rated(sequential(Side.SERVER), gamma_s, "E.1.1")
E_CLIENT = Rated(sequential(Side.CLIENT), GAMMA, "E.1.2")
