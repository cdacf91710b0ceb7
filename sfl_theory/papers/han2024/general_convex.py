r"""D.2.3 to G.2.3: the blocks of the general convex case merged, and the bounds.

(76), (113), (143), (173) add the two blocks up, so that the gap is earned twice; (77),
(114), (144), (174) claim the theorems' bounds for the last iterate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from sfl_theory import evidence as entered
from sfl_theory.evidence import (
    Claim,
    Kind,
    Part,
    Says,
    Severity,
    broken,
    repaired,
    says,
)
from sfl_theory.kernel import rules
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Side
from sfl_theory.models.federation import coin, federation, huber
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form, Number
from sfl_theory.papers.han2024 import defects, one_round
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.contraction import ZERO, Contraction, whole_and_blocks
from sfl_theory.papers.han2024.one_round import (
    JOINT,
    Block,
    asked,
    bent,
    half,
    ordered,
    shown,
)
from sfl_theory.papers.han2024.setting import G2, N, S, T, a, best, eta, f, n, t, tau
from sfl_theory.proofs import joint_distance as joint
from sfl_theory.proofs.export import ModelData

root2, root3 = w.nonnegative("r2", "r_2"), w.nonnegative("r3", "r_3")
constant_rate = w.positive("eta", r"\eta")
HUBERS = bent(huber((1, 0), 0, 1), huber((0, 1), 0, 1))


@dataclass(frozen=True)
class Merged:
    """D.2.3, E.2.3, F.2.3 or G.2.3.

    Attributes:
        server: the server's block.
        section: "D.2.3".
        number: of the merged recursion, 76.
        blocks: the numbers of those of the blocks, 74 and 75.
    """

    server: Block
    section: str
    number: int
    blocks: tuple[int, int]

    @property
    def second(self) -> Number:
        """The noise of a client, with that of the draws."""
        out = 2 * s.sigma2() + G2
        return out + G2 * w.inverse_chance(n) if self.server.drawn else out

    @property
    def client(self) -> Block:
        """The clients' block."""
        return replace(self.server, side=Side.CLIENT)

    @property
    def whole(self) -> Block:
        """Both."""
        return replace(self.server, side=None)

    @property
    def shared(self) -> bool:
        """Whether it is SFL-V2's."""
        return self.server.kind.visits

    @property
    def change(self) -> str:
        """What the repairs change."""
        return one_round.JOINT_WEIGHTED if self.shared else JOINT

    def noise(self, power: int) -> Number:
        """Return the merged sum of the noise."""
        own = a() ** 2 if power == 2 else a()
        second = self.second if power == 2 else 2 * s.sigma2() + G2
        if self.shared:
            return w.over_clients(n, (own + 1) * second)
        more = s.tau_server**2 + tau**2 if power == 2 else s.tau_server**3 + tau**3
        return w.over_clients(n, own * more * second)

    def added(self) -> Form:
        """Return the second line: the right sides of (74) and (75) added."""
        e, gap = eta(), self.whole.gap
        if not self.shared:
            return self.server.recursion(ZERO) + self.client.recursion(ZERO)
        out = self.server.distance(t) - 2 * e * tau * gap
        out = out + self.client.distance(t) - 2 * e * tau * gap
        return out + self.shared_noise()

    def last(self) -> Form:
        """Return the last line."""
        e, out = eta(), self.whole.distance(t)
        if self.shared:
            out = out - 4 * e * tau * self.whole.gap
            return out + self.shared_noise()
        out = out - 4 * e * s.tau_min * self.whole.gap
        noise, drift = e**2 * N * self.noise(2), 24 * S * e**3 * self.noise(1)
        return out + one_round.noise_and_drift(noise, drift)

    def shared_noise(self) -> Form:
        """Return the noise and the drift of (113)."""
        e = eta()
        drift = 24 * S * tau**3 * e**3 * self.noise(1)
        return one_round.noise_and_drift(e**2 * tau**2 * N * self.noise(2), drift)

    def outside(
        self, what: Says, steps: tuple[int, int] = (1, 1)
    ) -> Callable[[], ModelData]:
        """Return a Huber function beyond its kink, where the gap is 3/2."""
        own, other = steps
        numbers: dict[str | Number, w.Exact] = {S: 1, G2: 2, t: 0, tau: own}
        data = federation(
            [HUBERS],
            (0, 2),
            order=ordered(self.whole),
            numbers=numbers | {s.tau_server: other, s.tau_min: min(steps)},
            families={"sigma2": (0,)},
            rates={"eta": Fraction(1, 100)},
            best={f: (0, 0)},
            **half(self.whole),
        )
        return lambda: asked(what, data)

    def recursion(self) -> Claim:
        """Return (76), (113)."""
        number, one = self.number, self.whole
        both = () if self.shared else (self.server.small(),)
        hypotheses = (*one.assumed(ZERO), *both)
        smallest = () if self.shared else w.minimum(s.tau_min, tau, s.tau_server)
        new = self.server.distance(t + 1) + self.client.distance(t + 1)
        words = (
            r"One client, $F=h(x_c)+h(x_s)$, h Huber, $x=(0,2)$, one step: the gap is "
            r"$\frac32$ and $\langle\nabla f,x-x^*\rangle=2$, less than twice the gap."
        )
        twice = says(new, self.added(), *hypotheses)
        ends = says(one.distance(t + 1), self.last(), *hypotheses, *smallest)
        same = entered.equal(self.added(), self.last(), *hypotheses, *smallest)
        if self.shared:
            link = shown(same, lambda: blocks(one), "The blocks are orthogonal.")
        else:
            link = broken(
                same,
                self.outside(same, (2, 1)),
                r"$\tau=2$, $\tilde\tau=1$: $2\tau+2\tilde\tau=6$ against "
                r"$4\tau_{\min}=4$.",
            )
        return Kind.EQUATION(
            f"han2024/eq-{number}",
            f"App. {self.section}, ({number})",
            "Both blocks merged.",
            whole_and_blocks(one),
            broken(twice, self.outside(twice), words),
            link,
            broken(ends, self.outside(ends), words, "from end to end"),
            severity=Severity.PROOF,
            scope="refuted for one client and equal numbers of steps"
            + ("" if self.shared else '; the last "=" is "<=" for unequal numbers'),
            cause="The gap is earned once, by both blocks together, not once by each.",
            uses=f"eq-{self.blocks[0]} eq-{self.blocks[1]}",
            repair=repaired(
                f"the gap once, {self.change}",
                one_round.sharp(one, ZERO),
                *(() if one.drawn and self.shared else (one_round.merged(one, ZERO),)),
            ),
        )

    def bound(self, theorem: str) -> Claim:
        """Return (77), (114): the last iterate's gap."""
        number, block = self.number + 1, self.whole
        start = w.norm2(block.run.x(0) - best)
        ratio = (s.tau_server**2 + tau**2) / s.tau_min**2
        square, drift = N * self.plain(2), 24 * S * self.plain(1)
        if not self.shared:
            square, drift = ratio * square, ratio * drift
        longest = tau if self.shared else s.tau_max
        small = w.at_most(eta(), 1 / (2 * S * longest))
        extra = (
            ()
            if self.shared
            else (
                *w.minimum(s.tau_min, tau, s.tau_server),
                *w.maximum(s.tau_max, tau, s.tau_server),
            )
        )
        what = says(
            f(block.run.x(T)) - f(best),
            w.as_form(root2 / 2 + root3 / 2) + S * start / (2 * (T + 1)),
            *block.assumed(ZERO, small=False),
            w.every_natural(t, small),
            w.at_most(square * start / (T + 1), root2**2),
            w.at_most(drift * start / (T + 1), root3**3),
            *extra,
        )

        def data() -> ModelData:
            numbers: dict[str | Number, w.Exact] = {S: 1, G2: 3, T: 1, tau: 1}
            numbers |= {root2: Fraction(1, 300), root3: Fraction(1, 15)}
            short = federation(
                [HUBERS],
                (0, Fraction(1, 1000)),
                noise=[coin(0, 1)],
                order=ordered(block),
                rounds=1,
                numbers=numbers | {s.tau_server: 1, s.tau_min: 1, s.tau_max: 1},
                families={"sigma2": (1,)},
                rates={"eta": Fraction(1, 2)},
                best={f: (0, 0)},
                participation=half(block).get("participation", ()),
            )
            return asked(what, short)

        gap = r"\frac14" if block.drawn else r"\frac18"
        return Kind.EQUATION(
            f"han2024/eq-{number}",
            f"App. {self.section}, ({number})",
            f"The last iterate meets the bound of Theorem {theorem}, general convex.",
            broken(
                what,
                data,
                r"One client, $F=h(x_c)+h(x_s)$, noise $\pm1$ in $x_s$, one "
                r"step at $\eta=\frac12$ from a point $10^{-3}$ beside $x^*$: "
                rf"the noise makes the gap ${gap}$, every term of the bound "
                r"falls with $\|x^0-x^*\|$." + " $q=1/2$." * block.drawn,
                "for every admitted rate; r_2 and r_3 are any numbers that are at "
                "least the square and the cube root, which the bound grows with"
                + "; G_n^2 is printed for G^2"
                * block.drawn,
            ),
            severity=Severity.THEOREM,
            scope="refuted for the largest admitted rate; for well chosen rates see "
            f"thm-{theorem}/general_convex",
            cause="The bound contains no learning rate and speaks of the last iterate; "
            "near x* noise makes the gap positive for every rate, the bound is near 0.",
            root=defects.NO_RATE,
            uses=f"eq-{number - 1}",
            repair=repaired(
                f"the mean gap of the rounds at a constant rate, {self.change}",
                self.mean_gap(),
            ),
        )

    def plain(self, power: int) -> Number:
        """Return the sum of the noise in (77), (114)."""
        own = a() ** 2 if power == 2 else a()
        factor = (own + 1) if self.shared else own
        second = self.second if power == 2 else 2 * s.sigma2() + G2
        return w.over_clients(n, factor * second)

    def mean_gap(self) -> Part:
        """Return the mean of the rounds' gaps."""
        rate = constant_rate
        kind = Version.V2_WEIGHTED if self.shared else self.server.kind
        block = Block(kind, None, rates=(w.rate(rate),) * 2, who=self.server.who)
        right = w.norm2(block.run.x(0) - best) / (2 * rate * tau * T)
        noise = rate * tau * G2 / 2
        noise = block.spread * noise if block.drawn else noise
        right = right + w.as_form(noise + block.c * S * rate**2 * tau**2 * G2)
        mean = 1 / T * w.below(t, T, w.bracket(f(block.run.x(t)) - f(best)))
        what = says(mean, right, *block.assumed(ZERO, small=False))
        return shown(
            what,
            lambda: [(joint.mean_gap(kind, block.who), 1)],
            r"The whole vector's recursion with $\mu=0$, summed over the rounds: the "
            "distances telescope. Convexity bounds the mean model's gap by it.",
        )


def blocks(block: Block) -> list[tuple[rules.Theorem, int]]:
    """Return that the squared distance is that of the blocks."""
    away = (block.run.x(t) - best).value
    return [(rules.blocks(away, away), 1)]


def claims(merged_: Merged, theorem: str, lemma: str, uses: str) -> tuple[Claim, ...]:
    """Return (74)-(77) or (111)-(114).

    Args:
        merged_: the section.
        theorem: whose bound is claimed.
        lemma: the server's lemma.
        uses: what the printed lines rest on besides, for the server and the clients.

    Returns:
        The claims in the paper's order.
    """
    server, client = rounds(merged_.server, merged_.section[0], lemma)
    return (
        server.flat(merged_.blocks[0], f"{lemma} {uses}".strip()),
        client.flat(merged_.blocks[1], f"lemma-D.1 {uses}".strip()),
        merged_.recursion(),
        merged_.bound(theorem),
    )


def rounds(server: Block, letter: str, lemma: str) -> tuple[Contraction, Contraction]:
    """Return a round of the server's and of the clients' block."""
    client = replace(server, side=Side.CLIENT)
    return (
        Contraction(server, f"{letter}.2.1", lemma),
        Contraction(client, f"{letter}.2.2", "lemma-D.1"),
    )


def drawn_claims(
    merged_: Merged, everyone: Block, theorem: str, lemma: str, reading: str = ""
) -> tuple[Claim, ...]:
    """Return (137), (139), (140), (142)-(144), or (167), ..., (174).

    Args:
        merged_: the section.
        everyone: the server's round if everyone took part.
        theorem: whose bound is claimed.
        lemma: the server's lemma.
        reading: of what full participation makes of the round.

    Returns:
        The claims in the paper's order.
    """
    letter = merged_.section[0]
    first, drawn = (
        rounds(everyone, letter, lemma),
        rounds(merged_.server, letter, lemma),
    )
    out: list[Claim] = []
    for full, part, number in zip(first, drawn, merged_.blocks, strict=True):
        out += [
            full.flat(number - 2, full.lemma, reading),
            part.flat(number, f"eq-{number - 2} eq-{number - 1}"),
        ]
    return *out, merged_.recursion(), merged_.bound(theorem)
