"""D.1.3 and E.1.3: the bounds of both blocks merged, (73) and (110)."""

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
from sfl_theory.kernel.algebra import Number as Exact
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import MEAN, Side, Split, Vec
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.models.federation import federation, parabola
from sfl_theory.papers.han2024.block_rates import (
    D_CLIENT,
    D_SERVER,
    E_CLIENT,
    E_SERVER,
    GAMMA_C,
    READ_FEW,
    READ_RATES,
    Rated,
    both,
    bound,
    parallel,
    sequential,
    without_excess,
)
from sfl_theory.papers.han2024.induction import (
    GAMMA,
    LARGE,
    READ_S,
    gamma_s,
    later,
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
from sfl_theory.papers.han2024.one_round_lines import CLOCKS as READ_CLOCKS
from sfl_theory.papers.han2024.one_round_lines import LONG, LONG_SERVER
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

Uses = list[tuple[Theorem, Exact]]
CLOCKS = ((LONG, tau_server), (tau, LONG_SERVER))


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
        factor = (own + 1) if self.shared else own
        return w.over_clients(n, factor * (2 * sigma2() + G2))

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
        away = (block.run.x(T) - best).value
        blocks = rules.blocks(away, away), -block.smoothness.value / 2

        def uses() -> Uses:
            return [*by_distance(block), blocks]

        what = says(self.gap(block), self.sides(block), *assumed)
        model = None if not self.shared else self.witness(what)
        return shown(what, uses, "Proposition 3.5.", reading, model=model)

    def witness(self, what: Says, time: int = 1) -> Callable[[], ModelData]:
        """Return two equal clients with noise."""
        numbers: dict[str | Number, w.Exact] = {mu: 1, G2: 1, T: time, tau: 1}
        data = federation(
            [parabola(1, (0, 0))] * 2,
            (Fraction(1, 2), 0),
            order=ordered(self.server.block, 2),
            numbers=numbers | {tau_server: 1, gamma_s: 3, excess: 0},
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

        def uses() -> Uses:
            g, more = one.gamma.value, two.gamma.value
            scale = S.value * (more + 1) / (2 * (g + T.value))
            return [(rules.blocks(start, start), scale)]

        def squares() -> list[tuple[Vec, Exact]]:
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
            + ("its noise terms are too small for every N" + " >= 2" * self.shared),
            cause=wrong,
            words=READ_33,
            repair=Repair(
                (
                    shown(
                        mended,
                        uses,
                        "The blocks are orthogonal; "
                        + (
                            r"$\gamma_s\le\gamma$."
                            if self.shared
                            else "both are equal."
                        ),
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


def by_distance(block: Block) -> Uses:
    """Return ``f(x^T) - f(x*) <= S/2 ||x^T - x*||^2``."""
    x, S = block.run.x(T).value, block.smoothness.value
    flat = rules.stationary(MEAN, x - strong.BEST)
    return [(foundations.smooth_mean(S, strong.BEST, x), 1), (flat, -1)]


def whole_rate(kind: Version) -> Uses:
    """Return half S times (69) for the whole vector after T rounds."""
    at_T = ((w.variable(t), T.value),)
    return [(rules.instantiate(joint.rate(kind), at_T, ()), LARGE.value / 2)]


D = Merged(D_SERVER, D_CLIENT, "D.1.3", 73)
E = Merged(
    replace(E_SERVER, block=without_excess(Side.SERVER)),
    replace(E_CLIENT, block=without_excess(Side.CLIENT), gamma=GAMMA_C),
    "E.1.3",
    110,
)


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
        cause="The side with fewer steps has the larger rate, chosen for them alone.",
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

        def uses(split: Split = split) -> Uses:
            always = two_paces.rate(split)
            at_T = rules.instantiate(always, ((w.variable(t), T.value),), ())
            return [(at_T, 1)]

        parts.append(
            shown(
                what,
                uses,
                r"The function value itself contracts: $\alpha=\eta_b\tau_b=\frac4{\mu"
                r"(\gamma+t)}$, $e_{t+1}\le(1-\alpha\mu)e_t+S\alpha^2G^2+2S^2\alpha^3"
                r"G^2$ by descent, $\|\nabla f\|^2\ge2\mu(f-f^*)$ and bounded drift; "
                r"the induction has room: $w\ge104SG^2/\mu^2$.",
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


def middle() -> Claim:
    """Return the second relation of (73), for which no exact run is short enough."""
    block = parallel(None, tau, tau_server)
    assumed = block.assumed(mu, small=False)
    same = both(Version.V1)
    repaired = says(D.sides(same), D.last(same, GAMMA), *same.assumed(mu, small=False))
    away = (same.run.x(T) - best).value
    blocks = rules.blocks(away, away), LARGE.value / 2

    return Claim(
        "han2024/eq-73/middle",
        "App. D.1.3, (73)",
        Kind.EQUATION,
        "The second relation of (73): the distances of both blocks, for any two "
        "numbers of local steps.",
        (
            Part(
                says(D.sides(block), D.last(block, GAMMA), *assumed),
                None,
                f"{READ_S}; {READ_RATES}",
            ),
        ),
        words="Open here. It looks false: the side with fewer steps does not see what "
        "the other side's later steps change in its gradients, a drift that moves x "
        r"where f is flat. In floating point: two clients with equal weights, $\nabla "
        r"F_1=H_1x+b$, $\nabla F_2=x-b$, $H_1=I+4500(1,-1)^\top(1,-1)$, $b=(1,-2)$, "
        r"$\tau=8$, $\tilde\tau=1$, $x^0=x^*=0$: after 40000 rounds the left side is "
        "1.25 times the right one. Exact fractions do not reach that round, and a box "
        "that holds every local point makes G too large. True for equal numbers of "
        "steps.",
        uses="eq-69 eq-72 app-D.1.3/merge app-D.1.3/merged-rate",
        repair=Repair(
            (
                shown(
                    repaired,
                    lambda: [*whole_rate(Version.V1), blocks],
                    "(69) for the whole vector, times S/2.",
                    READ_S,
                ),
            ),
            JOINT,
        ),
    )


def sequential_bound() -> Claim:
    """Return (110): the gap of SFL-V2."""
    block = sequential(None)
    assumed = block.assumed(mu, small=False)
    what = says(E.gap(block), E.last(block, GAMMA), *assumed)
    weighted = both(Version.V2_WEIGHTED)
    weighted_assumed = weighted.assumed(mu, small=False)

    def data() -> ModelData:
        heavy = Fraction(3, 4)
        short = federation(
            [parabola(1, (0, 0)), parabola(1, (0, 1))],
            (0, Fraction(1, 2)),
            weights=(heavy, 1 - heavy),
            order=[(0, 0), (1, 0)],
            numbers={mu: 1, excess: 0, gamma_s: 3, tau: 1, G2: 1, T: 12000},
            families={"sigma2": (0, 0)},
            best={f: (0, 1 - heavy)},
            box=[(0, 0), (0, 1)],
        )
        return replace(short, long=True)

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
                    r"Two clients, $a=(.75,.25)$, $F_n=\frac12\|x-(0,b_n)\|^2$, "
                    r"$b=(0,1)$: $x_s$ tends to $\frac12$, the minimiser of $F_1+F_2$, "
                    r"not to $x_s^*=.25$; the gap tends to $\frac1{32}$, and the bound "
                    "is below it after 12000 rounds.",
                ),
                f"end to end; {READ_FEW}",
            ),
        ),
        severity=Severity.THEOREM,
        scope="refuted for the weights .75 and .25",
        cause="SFL-V2's server steps carry no a_n: for unequal weights x_s tends to "
        "the minimiser of sum_n F_n, the gap to a constant, the bound to 0.",
        words=READ_33,
        uses="eq-106 eq-109 prop-3.5 app-E.1.3/merge",
        repair=Repair(
            (
                shown(
                    says(E.gap(weighted), D.last(weighted, GAMMA), *weighted_assumed),
                    lambda: [*by_distance(weighted), *whole_rate(weighted.kind)],
                    "(69) for the whole vector and Proposition 3.5.",
                    READ_S,
                ),
            ),
            f"{JOINT_WEIGHTED}; then with (73)'s right side",
        ),
    )
