r"""Blocks at the rates that their sections choose, and D.1.3 and E.1.3: both merged.

(69), (72), (106), (109) bound the distance of a block in every round; (73) and (110)
add them up. gamma is :math:`\frac{8S}\mu-1`, SFL-V2's server has :math:`\gamma_s=
\frac{8S}{N\mu}-1`, read as positive: S is written :math:`\frac{N\mu(\gamma_s+1)}8`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
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
    equal,
    says,
)
from sfl_theory.kernel import rules
from sfl_theory.kernel.terms import MEAN, Rate, Side
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.models.federation import federation, parabola, quadratic
from sfl_theory.papers.han2024.induction import (
    FEW,
    FIRST,
    GAMMA,
    LARGE,
    READ_S,
    gamma_s,
    later,
    v,
)
from sfl_theory.papers.han2024.one_round import (
    JOINT,
    JOINT_WEIGHTED,
    Block,
    asked,
    ordered,
    shown,
)
from sfl_theory.papers.han2024.setting import (
    G2,
    N,
    T,
    a,
    best,
    excess,
    f,
    mu,
    n,
    sigma2,
    t,
    tau,
    tau_server,
)
from sfl_theory.proofs import foundations, two_paces
from sfl_theory.proofs import joint_distance as joint
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.export import ModelData
from sfl_theory.written import Form, Number

READ_RATES = (
    "each side at the rate of its own subsection; a side that has made its steps keeps "
    "its value while the other goes on"
)
READ_FEW = f"S is N mu (gamma_s + 1)/8, with gamma_s > 0; {READ_RATES}"
GAMMA_C = w.called(8 * FEW / mu - 1, r"\gamma")
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
    rates = _rate(tau, GAMMA_C), _rate(tau, gamma_s, N)
    return Block(Version.V2, side, tau, tau, rates, smoothness=FEW)


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
        return self.block.kind.shared

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
        box = [(0, 1), (0, 0), (Fraction(-1, 2), 0)]

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
            r"From $-\frac14$, the other block at 1, the block moves outward in round 1 "
            r"at first order in $\eta$; the right side allows second order."
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


LONG = w.called(tau_server + w.natural("d"), tau.tex)
LONG_SERVER = w.called(tau + w.natural("d"), tau_server.tex)
CLOCKS = ((LONG, tau_server), (tau, LONG_SERVER))
READ_CLOCKS = (
    r"$\tau=\tilde\tau+d$ for a natural d",
    r"$\tilde\tau=\tau+d$ for a natural d",
)
D_SERVER = Rated(parallel(Side.SERVER, tau, tau_server), GAMMA, "D.1.1")
D_CLIENT = Rated(parallel(Side.CLIENT, tau, tau_server), GAMMA, "D.1.2")
E_SERVER = Rated(sequential(Side.SERVER), gamma_s, "E.1.1")
E_CLIENT = Rated(sequential(Side.CLIENT), GAMMA_C, "E.1.2")


@dataclass(frozen=True)
class Merged:
    """D.1.3 or E.1.3.

    Attributes:
        server: the server's block.
        client: the clients' block.
        section: "D.1.3".
        number: 73 or 110.
    """

    server: Rated
    client: Rated
    section: str
    number: int

    @property
    def shared(self) -> bool:
        """Whether it is SFL-V2's."""
        return self.server.shared

    def noise(self, power: int) -> Number:
        """Return ``sum (a_n^2 + 1)(...)`` for SFL-V2, ``sum a_n^2 (...)`` else."""
        own = a() ** 2 if power == 2 else a()
        factor = w.bracket(own + 1) if self.shared else own
        return w.over_clients(n, factor * w.bracket(2 * sigma2() + G2))

    def last(self, block: Block, gamma: Number, times: int = 1) -> Form:
        """Return the right side of (73), (110); `times`: noise terms larger."""
        S, x0 = block.smoothness, block.run.x(0)
        out = 8 * times * S * N * self.noise(2) / (mu**2 * (gamma + T))
        drift = 768 * times * S**2 * self.noise(1)
        out = out + drift / (mu**3 * (gamma + T) * (gamma + 1))
        start = S * (gamma + 1) * w.norm2(x0 - best) / (2 * (gamma + T))
        return w.as_form(out) + start

    def sides(self, block: Block) -> Form:
        """Return ``S/2 (||x_s - x_s*||^2 + ||x_c - x_c*||^2)`` after T rounds."""
        own = (
            replace(block, side=Side.SERVER).distance(T),
            replace(block, side=Side.CLIENT).distance(T),
        )
        return block.smoothness / 2 * w.bracket(own[0] + own[1])

    def gap(self, block: Block) -> Form:
        """Return ``f(x^T) - f(x*)``."""
        return f(block.run.x(T)) - f(best)

    def decomposed(self, block: Block, reading: str) -> Part:
        """Return the first relation, Proposition 3.5."""
        assumed = block.assumed(mu, small=False)
        x = block.run.x(T).value
        S, away = block.smoothness.value, x - strong.BEST

        def uses():  # type: ignore[no-untyped-def]
            smooth = foundations.smooth_mean(S, strong.BEST, x)
            flat = rules.stationary(MEAN, away)
            return [(smooth, 1), (flat, -1), (rules.blocks(away, away), -S / 2)]

        what = says(self.gap(block), self.sides(block), *assumed)
        model = None if not self.shared else self.witness(what)
        return shown(what, uses, "Proposition 3.5.", reading, model=model)

    def witness(self, what: Says, time: int = 1) -> Callable[[], ModelData]:
        """Return two equal clients with noise."""
        data = federation(
            [parabola(1, (0, 0))] * 2,
            (Fraction(1, 2), 0),
            order=ordered(self.server.block, 2),
            numbers={mu: 1, G2: 1, T: time, tau: 1, tau_server: 1}
            | {gamma_s: 3, excess: 0},
            families={"sigma2": (0, 0)},
            best={f: (0, 0)},
            box=[(0, 1), (0, 0)],
        )
        return lambda: asked(what, data)

    def merge(self) -> Claim:
        """Return that the two bounds add up to the last one."""
        one, two = self.server, self.client
        block, S = one.block, one.block.smoothness
        total = bound(one.block, one.gamma, T) + bound(two.block, two.gamma, T)
        left, assumed = S / 2 * w.bracket(total), block.assumed(mu, small=False)
        gamma = two.gamma
        what = says(left, self.last(block, gamma), *assumed)
        wrong = (
            "S/2 times both bounds has 16 S N and 1536 S^2, twice what the merged "
            "bound prints.",
            "The server's bound has gamma_s < gamma, the merged one gamma.",
        )[self.shared]
        start = (block.run.x(0) - best).value
        if self.shared:
            mended = says(left, self.mixed(block), *assumed)
            change = "gamma_s for gamma, but in the last numerator"
        else:
            mended = equal(left, self.last(block, gamma, times=2), *assumed)
            change = "the constants 16 and 1536"

        def uses():  # type: ignore[no-untyped-def]
            g, more = one.gamma.value, two.gamma.value
            scale = S.value * (more + 1) / (2 * (g + T.value))
            return [(rules.blocks(start, start), scale)]

        def squares():  # type: ignore[no-untyped-def]
            if not self.shared:
                return []
            g, more, at = one.gamma.value, two.gamma.value, T.value
            server, client = w.server, w.client
            x0, half = block.run.x(0), S.value / 2
            return [
                ((server(x0) - server(best)).value, half * (more - g) / (g + at)),
                (
                    (client(x0) - client(best)).value,
                    half * (more + 1) * (1 / (g + at) - 1 / (more + at)),
                ),
            ]

        return Claim(
            f"han2024/app-{self.section}/merge",
            f"App. {self.section}, ({self.number})",
            Kind.EQUATION,
            f"Half S times the bounds ({self.number - 4 if self.shared else 69}) and "
            f"({self.number - 1}) is at most ({self.number}).",
            (
                Part(
                    what,
                    Model(self.witness(what), "Two equal clients, $S=\\mu$, $T=1$."),
                    one.reading,
                ),
            ),
            severity=Severity.PROOF,
            scope="refuted for two clients and S = mu; "
            + ("the noise terms fail for every N >= 2" if self.shared else "always"),
            cause=wrong,
            repair=Repair(
                (
                    shown(
                        mended,
                        uses,
                        "The blocks are orthogonal; "
                        + (r"$\gamma_s\le\gamma$." if self.shared else "both are equal."),
                        one.reading,
                        squares=squares,
                        model=self.witness(mended),
                    ),
                ),
                change,
            ),
        )

    def mixed(self, block: Block) -> Form:
        """Return (110) with gamma_s, but in the last numerator."""
        S, x0 = block.smoothness, block.run.x(0)
        out = 8 * S * N * self.noise(2) / (mu**2 * (gamma_s + T))
        drift = 768 * S**2 * self.noise(1)
        out = out + drift / (mu**3 * (gamma_s + T) * (gamma_s + 1))
        start = S * (GAMMA_C + 1) * w.norm2(x0 - best) / (2 * (gamma_s + T))
        return w.as_form(out) + start


D = Merged(D_SERVER, D_CLIENT, "D.1.3", 73)
E = Merged(E_SERVER, E_CLIENT, "E.1.3", 110)


def merged_rate() -> Claim:
    """Return that the rates meet the condition of both sides."""
    largest = w.count("tau_max", r"\max\{\tau, \tilde{\tau}\}")
    defined = w.maximum(largest, tau, tau_server)
    parts = []
    for own, name in ((tau_server, "server"), (tau, "client")):
        rate = 4 / (mu * own * (GAMMA + later))
        what = says(rate, 1 / (2 * LARGE * largest), *defined)
        other = tau if own is tau_server else tau_server
        numbers: dict[str | Number, w.Exact] = {mu: 1, excess: 0, own: 1, other: 4}
        numbers |= {largest: 4, later: 1}

        def data(numbers: dict[str | Number, w.Exact] = numbers) -> ModelData:
            return federation([parabola(1, (0, 0))], (0, 0), numbers=numbers)

        words = f"One step of the {name}'s side against four: 1/2 against 1/8 at t = 1."
        parts.append(Part(what, Model(data, words), f"{name}'s side, t >= 1"))
    return Claim(
        "han2024/app-D.1.3/merged-rate",
        "App. D.1.3",
        Kind.CONDITION,
        "The rates of (69) and (72) meet the condition of the merged bound.",
        tuple(parts),
        severity=Severity.PROOF,
        scope="refuted where one side makes four times the other's steps; true from "
        "t = 1 on for equal numbers of steps",
        cause="The side with fewer steps has the larger rate, chosen for its own steps.",
        words="by setting is read as for these rates; read as a further hypothesis, "
        "the merge speaks of no rate at early t",
        uses="app-D.1/first-rate app-D.1.2/first-rate",
    )


def parallel_bound() -> Claim:
    """Return (73): the gap of SFL-V1, for any two numbers of steps."""
    parts = []
    for (client, server), clock in zip(CLOCKS, READ_CLOCKS, strict=True):
        block = parallel(None, client, server)
        assumed = block.assumed(mu, small=False)
        what = says(D.gap(block), D.last(block, GAMMA), *assumed)
        split = block.run.split
        reading = f"{clock}; {READ_S}; {READ_RATES}"

        def uses(split=split):  # type: ignore[no-untyped-def]
            always = two_paces.rate(split)
            at_T = rules.instantiate(always, ((w.variable(t), T.value),), ())
            return [(at_T, 1)]

        parts.append(
            shown(
                what,
                uses,
                r"The function value itself contracts: $\alpha=\eta_b\tau_b=\frac4{\mu"
                r"(\gamma+t)}$, $e_{t+1}\le(1-\alpha\mu)e_t+S\alpha^2G^2+2S^2\alpha^3G^2"
                r"$ by descent, $\|\nabla f\|^2\ge2\mu(f-f^*)$ and bounded drift; the "
                r"induction has room: $w\ge104SG^2/\mu^2$.",
                reading,
            )
        )
    return Claim(
        "han2024/eq-73",
        "App. D.1.3, (73)",
        Kind.EQUATION,
        "The gap of SFL-V1 falls like 1/T, for any two numbers of local steps.",
        tuple(parts),
        words="The outer inequality, by a proof of its own; the term between is "
        "eq-73/middle. Theorem 3.6 prints the two rates the other way round, which is "
        "false.",
        scope="each side at the rate of its own number of steps",
        uses="eq-69 eq-72 prop-3.5 app-D.1.3/merge app-D.1.3/merged-rate",
    )


def sequential_bound() -> Claim:
    """Return (110): the gap of SFL-V2."""
    block = sequential(None)
    assumed = block.assumed(mu, small=False)
    what = says(E.gap(block), E.last(block, GAMMA_C), *assumed)

    def data() -> ModelData:
        heavy = Fraction(19, 20)
        return federation(
            [parabola(1, (0, 0)), parabola(1, (0, 1))],
            (0, Fraction(1, 2)),
            weights=(heavy, 1 - heavy),
            order=[(0, 0), (1, 0)],
            numbers={mu: 1, gamma_s: 3, tau: 1, G2: 1, T: 3400},
            families={"sigma2": (0, 0)},
            best={f: (0, 1 - heavy)},
            box=[(0, 0), (0, 1)],
        )

    return Claim(
        "han2024/eq-110",
        "App. E.1.3, (110)",
        Kind.EQUATION,
        "The gap of SFL-V2 falls like 1/T.",
        (
            E.decomposed(block, READ_FEW),
            Part(
                what,
                Model(
                    data,
                    r"Two clients, $a=(.95,.05)$, $F_n=\frac12\|x-(0,b_n)\|^2$, $b=(0,1)"
                    r"$: $x_s$ tends to $\frac12$, the minimiser of $F_1+F_2$, not to "
                    r"$x_s^*=.05$; the gap stays above .1, the bound is below it after "
                    "3400 rounds.",
                ),
                f"end to end; {READ_FEW}",
            ),
        ),
        severity=Severity.THEOREM,
        scope="refuted for the weights .95 and .05",
        cause="SFL-V2's server steps carry no a_n: for unequal weights x_s tends to the "
        "minimiser of sum_n F_n, the gap to a constant, the bound to 0.",
        uses="eq-106 eq-109 prop-3.5 app-E.1.3/merge",
    )

