r"""Lemmas D.1 and E.1: the lines of their proofs, and a round put together.

D.1.1 weights the clients by a_n, E.1.1 has SFL-V2's sums without weights; otherwise the
lines are the same. ``M`` is the sum of the local gradients at each client's own local
points, which the paper writes :math:`\sum_i\nabla_sf(x_c^{t,i},x_s^{t,i})`.

(60) joins the steps of D.1.1, (61) leaves the gap out and writes the rest in B_1 and
B_2; E.1.1 does the same for SFL-V2's server, D.1.2 and E.1.2 quote the lemma for the
clients' block, D.2 and E.2 with mu = 0. All of them are false for a block and true for
the whole vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack

from sfl_theory import evidence
from sfl_theory.evidence import Claim, Kind, Model, Part, Says, Severity, repaired, says
from sfl_theory.kernel import rules
from sfl_theory.kernel.terms import MEAN, Side
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.models.federation import federation, parabola
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form, Number, Value, Vector, Written
from sfl_theory.papers.han2024 import one_round
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.one_round import AWAY, Block, merged, mu, sharp, shown
from sfl_theory.papers.han2024.setting import G2, N, S, best, eta, i, n, sigma2, t, tau
from sfl_theory.proofs import derived
from sfl_theory.proofs.export import ModelData

SERVER = Side.SERVER

CLOCKS = (
    r"$\tau=\tilde\tau+d$ for a natural d",
    r"$\tilde\tau=\tau+d$ for a natural d",
)
"""The two orders of the numbers of steps; a proved line has a part for each."""


@dataclass(frozen=True)
class Lines:
    """Statements of the six lines for a block of a section.

    Attributes:
        blocks: the block, once for each order of the numbers of steps.
        free: the block with both numbers free, where nothing depends on their order.
    """

    blocks: tuple[Block, ...]
    free: Block

    def gradient(self, block: Block) -> Vector:
        """Return the block of the local gradient."""
        return w.local(n).gradient(block.run.p(n, t, i), block.side)

    def stochastic(self, block: Block) -> Vector:
        """Return the block of the stochastic gradient."""
        return block.of(block.run.g(n, t, i))

    def summed(
        self, block: Block, each: Written[Value], power: int = 1
    ) -> Written[Value]:
        """Return ``sum_n a_n^power sum_i each``."""
        inside = w.below(i, block.steps, each)
        return w.over_clients(n, block.weighted(inside, power))

    def away(self, block: Block, at: w.Number) -> Vector:
        """Return ``x_b - x_b*``."""
        return block.of(block.run.x(at)) - block.of(best)

    def mean(self, block: Block) -> Vector:
        """Return M."""
        return self.summed(block, self.gradient(block))

    def noise(self, block: Block) -> Vector:
        """Return ``Z = sum_n a_n sum_i (g - grad F)``."""
        apart = self.stochastic(block) - self.gradient(block)
        return self.summed(block, apart)

    def square(self, block: Block) -> Says:
        """Return (54)."""
        right = w.norm2(self.away(block, t) - eta() * self.mean(block))
        right = right + eta() ** 2 * w.norm2(self.noise(block))
        return says(w.norm2(self.away(block, t + 1)), right, *block.assumed())

    def square_kept(self, block: Block) -> Says:
        """Return (54) with the cross term."""
        M, Z = self.mean(block), self.noise(block)
        right = w.norm2(self.away(block, t) - eta() * M)
        right = right + eta() ** 2 * w.norm2(M) + 2 * eta() ** 2 * w.norm2(Z)
        left = w.norm2(self.away(block, t + 1))
        return says(left, right, *block.assumed(small=False))

    def inner(self, block: Block) -> Form:
        """Return ``-2 eta sum_n sum_i a_n <x_b - x_b*, grad F>``."""
        product = w.inner(self.away(block, t), self.gradient(block))
        return -(2 * eta() * self.summed(block, product))

    def sizes(self, block: Block, each: Form) -> Form:
        """Return ``eta^2 tau N sum_n sum_i a_n^2 each``."""
        return eta() ** 2 * block.steps * N * self.summed(block, each, 2)

    def first(self, block: Block) -> Says:
        """Return (55)."""
        left = w.norm2(self.away(block, t) - eta() * self.mean(block))
        own = self.sizes(block, w.norm2(self.gradient(block)))
        right = block.distance(t) + own + self.inner(block)
        return says(left, right, *block.assumed())

    def moments(self, block: Block) -> tuple[Form, Form, Form]:
        """Return the three sides of (56)."""
        g, grad = self.stochastic(block), self.gradient(block)
        left = self.sizes(block, w.norm2(grad))
        middle = self.sizes(block, w.norm2(grad - g) + w.norm2(g))
        last = block.over(sigma2() + G2, 2)
        return left, middle, w.as_form(eta() ** 2 * block.steps**2 * N * last)

    def without_noise(self, block: Block) -> Says:
        """Return the first relation of (56) with the variance subtracted."""
        g, grad = self.stochastic(block), self.gradient(block)
        right = self.sizes(block, w.norm2(g) - w.norm2(grad - g))
        left = self.sizes(block, w.norm2(grad))
        return evidence.equal(left, right, *block.assumed())

    def progress(self, block: Block, whole: bool = False) -> Says:
        """Return (57), Lemma C.3 at the local points; `whole`: for both blocks."""
        x, p, local = block.run.x(t), block.run.p(n, t, i), w.local(n)

        def of(u: Vector) -> Vector:
            return u if whole else block.of(u)

        gradient = local.gradient(p) if whole else self.gradient(block)
        each = local(x) - local(best) + mu / 4 * w.norm2(of(x) - of(best))
        each = each - S * w.norm2(of(p) - of(x))
        right = -(2 * eta() * self.summed(block, w.bracket(each)))
        left = -(2 * eta() * self.summed(block, w.inner(of(x) - of(best), gradient)))
        return says(left, right, *block.assumed(small=not whole))

    def drift(self, block: Block) -> Form:
        """Return the left side of (58)."""
        p, x = block.run.p(n, t, i), block.run.x(t)
        return self.summed(block, w.norm2(block.of(p) - block.of(x)))

    def moved(self, block: Block) -> Says:
        """Return (58)."""
        each = block.steps**3 * eta() ** 2 * (2 * sigma2() + G2)
        right = 12 * w.over_clients(n, block.weighted(each))
        return says(self.drift(block), right, *block.assumed())

    def spread(self, block: Block) -> tuple[Form, Form, Form]:
        """Return the three sides of (59); Z's double sum in the other order."""
        apart = self.stochastic(block) - self.gradient(block)
        each = w.over_clients(n, block.weighted(apart))
        Z = w.below(i, block.steps, each)
        middle = block.steps * w.below(i, block.steps, w.norm2(each))
        last = N * block.over(sigma2(), 2) * block.steps**2
        return w.norm2(Z), middle, w.as_form(last)


d = w.natural("d")
LONG = w.called(s.tau_server + d, tau.tex)
LONG_SERVER = w.called(tau + d, s.tau_server.tex)
D1 = Lines(
    (
        Block(Version.V1, Side.SERVER, s.tau_server, LONG),
        Block(Version.V1, Side.SERVER, LONG_SERVER, tau),
    ),
    Block(Version.V1, Side.SERVER, s.tau_server, tau),
)
E1 = Lines((Block(Version.V2, Side.SERVER),), Block(Version.V2, Side.SERVER))

# Lemmas D.1 and E.1 and the lines that use them: one round of a block, put together

CAUSE = (
    "A block at its minimiser does not move; the right side subtracts the gap that the "
    "other block has and is negative for small eta."
)
CAUSE_DRIVEN = (
    "A block does not contract by itself: the other block drives it away at first "
    "order in eta, the right side allows second order."
)
ZERO = w.number(0)


@dataclass(frozen=True)
class Contraction:
    """What a section says of one round of its block.

    Attributes:
        block: the block.
        section: "D.1.1".
        lemma: the id of the lemma that it quotes or proves.
    """

    block: Block
    section: str
    lemma: str

    @property
    def change(self) -> str:
        """The smallest change of all of these lines."""
        return one_round.JOINT_WEIGHTED if self.block.kind.visits else one_round.JOINT

    def claim(
        self,
        number: int,
        title: str,
        parts: tuple[Part, ...],
        rests_on: str,
        **told: Unpack[evidence.Told],
    ) -> Claim:
        """Return a refuted equation of the section."""
        name, where = f"han2024/eq-{number}", f"App. {self.section}, ({number})"
        told["severity"], told["uses"] = Severity.PROOF, rests_on
        told.setdefault("words", one_round.READ_33)
        return Claim(name, where, Kind.EQUATION, title, parts, **told)

    def the_lemma(self, number: int, uses: str, failure: str) -> Claim:
        """Return Lemma D.1 or E.1."""
        name = self.lemma.removeprefix("lemma-")
        return Kind.LEMMA(
            f"han2024/{self.lemma}",
            f"Lemma {name}, ({number})",
            "The distance of the server block alone contracts and earns the gap.",
            Part(self.block.one_round(), one_round.at_minimiser(self.block)),
            severity=Severity.THEOREM,
            scope=f"refuted for mu = 1, for mu = 0 in the lines of {name[0]}.2. {AWAY}",
            cause=CAUSE,
            uses=uses,
            words=f"{one_round.READ_33} (29) of Assumption C.1, which no step of the "
            "proof uses, is left out; for one client it holds with any epsilon.",
            first_failure=failure,
            repair=repaired(
                f"{self.change}; then with smaller constants and at any rate",
                sharp(self.block),
            ),
        )

    def joined(self, number: int, uses: str) -> Claim:
        """Return (60) or (97): the lines joined, then sorted."""
        block = self.block
        e, b, D = block.eta, block.steps, block.distance(t)
        one = w.over_clients(n, s.a()) if not block.visited else w.number(1)
        earned = 2 * e * b * one * block.gap if not block.visited else None
        moved = 12 * block.over(S * b**3 * e**2 * (2 * sigma2() + G2))
        middle = D + w.as_form(e**2 * b**2 * N * block.over(sigma2() + G2, 2))
        middle = middle - (earned or 2 * e * b * block.gap)
        middle = middle - block.contracted(mu) * one / 2 * D
        noise = N * block.over(e**2 * sigma2() * b**2, 2)
        middle = middle + one_round.noise_and_drift(2 * e * moved, noise)
        last = block.recursion(mu)
        hypotheses = block.assumed()
        return self.claim(
            number,
            "The steps of the round put together.",
            (
                Part(
                    says(block.distance(t + 1), middle, *hypotheses),
                    one_round.at_minimiser(block),
                ),
                shown(says(middle, last, *hypotheses), list, "Both are the same."),
            ),
            uses,
            scope=f"in its first relation, for mu = 1. {AWAY}",
            cause=CAUSE,
            repair=repaired(self.change, merged(block)),
        )

    @property
    def owner(self) -> str:
        """Whose block it is."""
        return "server" if self.block.side is Side.SERVER else "clients"

    def quoted(self, number: int, reading: str = "") -> Claim:
        """Return (70), (107), (126), ...: the lemma for a block."""
        what = self.block.one_round()
        return self.claim(
            number,
            f"The lemma for the {self.owner}' block.".replace("server'", "server's"),
            (Part(what, one_round.at_minimiser(self.block), reading),),
            self.lemma,
            scope=f"refuted for mu = 1. {AWAY}",
            cause=CAUSE,
            repair=repaired(self.change, merged(self.block)),
        )

    def drawn(self, number: int, uses: str) -> Claim:
        """Return (128), (133), (158), (163): the round of those who are drawn."""
        what = self.block.one_round(mu, earned=False)
        return self.claim(
            number,
            "The round of those who are drawn, the gap left out.",
            (Part(what, one_round.driven(self.block)),),
            uses,
            scope="refuted for mu = 1 and q = 1/2",
            cause=CAUSE_DRIVEN,
            repair=repaired(self.change, merged(self.block, mu, earned=False)),
        )

    def flat(self, number: int, uses: str, reading: str = "") -> Claim:
        """Return (74), (75), (111), (112), ...: the lemma with mu = 0."""
        side = "server" if self.block.side is Side.SERVER else "client"
        what = self.block.one_round(ZERO)
        return self.claim(
            number,
            f"The lemma with mu = 0 for the {side}'s block.",
            (Part(what, one_round.at_minimiser(self.block, ZERO), reading),),
            uses,
            scope=f"refuted for two Huber functions. {AWAY}",
            words="The Huber functions meet Assumption 3.3 on the whole space.",
            cause=CAUSE,
            repair=repaired(self.change, merged(self.block, ZERO)),
        )

    def without_gap(self, number: int, uses: str) -> Claim:
        """Return (61), (98): rewritten; (71), (108) have only the ends."""
        block = self.block
        hypotheses = block.assumed()
        new, last = block.distance(t + 1), block.rewritten(mu)
        ends = says(new, last, *hypotheses)
        parts: tuple[Part, ...] = (
            Part(ends, one_round.driven(block), "from end to end"),
        )
        scope = "refuted for mu = 1"
        cause = CAUSE_DRIVEN
        if number in (61, 98):
            middle = self.unweighted()
            second = says(middle, last, *hypotheses)
            first = Part(says(new, middle, *hypotheses), one_round.at_minimiser(block))
            after = self.lost() if number == 61 else self.dropped(second)
            link = Part(second, after) if isinstance(after, Model) else after
            parts = (first, link, *parts)
            if number == 61:
                cause += " The middle line has lost a_n^2 and a_n."
                scope += "; the second relation for two equal clients"
        return self.claim(
            number,
            "The round as a recursion, "
            + ("$B_1=4N{}({}{})$, $B_2=192S{}({})$.").format(
                r"\sum_n" if block.visited else r"\sum_na_n^2",
                r"2\sigma_n^2+G^2",
                r"+\frac{G^2}{q_n}" if block.drawn else "",
                r"\sum_n" if block.visited else r"\sum_na_n",
                r"2\sigma_n^2+G^2",
            ),
            parts,
            uses,
            scope=scope,
            cause=cause,
            repair=repaired(self.change, self.recursion_of_both()),
        )

    def unweighted(self) -> Form:
        """Return the middle line of (61), (98): sums without weights."""
        block = self.block
        e, b = block.eta, block.steps
        noise = w.over_clients(n, (2 * sigma2() + G2))
        out = (1 - block.contracted(mu) / 2) * block.distance(t)
        out = out - 2 * e * b * block.gap
        return out + one_round.noise_and_drift(
            e**2 * b**2 * N * noise, 24 * S * b**3 * e**3 * noise
        )

    def dropped(self, what: Says) -> Part:
        """Return that the gap may be dropped."""
        block = self.block
        lowest = derived.lowest(MEAN, block.run.x(t).value)
        scale = 2 * block.eta.value * block.steps.value
        return shown(what, lambda: [(lowest, scale)], "The gap is not negative.")

    def lost(self) -> Model:
        """Return two equal clients, for which the weights matter."""
        block = self.block
        numbers: dict[str | Number, w.Exact] = {S: 1, mu: 1, t: 0, G2: 1}
        numbers |= {block.client_steps: 1, block.server_steps: 1}

        def data() -> ModelData:
            return federation(
                [parabola(1, (0, 0))] * 2,
                (Fraction(1, 10), 0),
                order=one_round.ordered(block, 2),
                numbers=numbers,
                families={"sigma2": (0, 0)},
                rates={"eta": Fraction(1, 2)},
                best={s.f: (0, 0)},
                box=[(0, 1), (0, 0)],
            )

        return Model(
            data,
            r"Two clients with $a_n=\frac12$ near the minimiser: the gap is small, and "
            r"$N\sum_n(2\sigma_n^2+G^2)=4$ against $N\sum_na_n^2(2\sigma_n^2+G^2)=1$.",
        )

    def recursion_of_both(self) -> Part:
        """Return the recursion for the whole vector."""
        one = self.block.together
        if one.drawn and one.kind.visits:
            return sharp(self.block)
        what = says(one.after, one.rewritten(mu), *one.assumed())
        return shown(
            what,
            lambda: one_round.recursion_of(one, mu, earned=False),
            "The lemma for the whole vector; the gap is not negative.",
        )


def whole_and_blocks(block: Block) -> Part:
    """Return ``||x||^2 <= ||x_s||^2 + ||x_c||^2`` for the distance after the round."""
    away = block.run.x(t + 1) - best
    server, client = w.server(block.run.x(t + 1)), w.client(block.run.x(t + 1))
    right = w.norm2(server - w.server(best)) + w.norm2(client - w.client(best))
    what = says(w.norm2(away), right, *block.assumed(ZERO))
    blocks = rules.blocks(away.value, away.value)
    return shown(what, lambda: [(blocks, -1)], "The blocks are orthogonal: equal.")
