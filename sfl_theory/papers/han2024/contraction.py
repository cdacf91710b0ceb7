r"""Lemmas D.1 and E.1 and the lines that use them: one round of a block, put together.

(60) joins the steps of D.1.1, (61) leaves the gap out and writes the rest in B_1 and
B_2; E.1.1 does the same for SFL-V2's server, D.1.2 and E.1.2 quote the lemma for the
clients' block, D.2 and E.2 with mu = 0. All of them are false for a block and true for
the whole vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack

from sfl_theory import written as w
from sfl_theory.claims import Claim, Kind, Model, Part, Repair, Says, Severity, says
from sfl_theory.kernel import rules
from sfl_theory.kernel.terms import MEAN, Side
from sfl_theory.models.federation import federation, parabola
from sfl_theory.papers.han2024.one_round import (
    AWAY,
    JOINT,
    JOINT_WEIGHTED,
    READ_33,
    Block,
    Told,
    at_minimiser,
    driven,
    merged,
    mu,
    noise_and_drift,
    ordered,
    recursion_of,
    sharp,
    shown,
)
from sfl_theory.papers.han2024.setting import G2, N, S, a, best, f, n, sigma2, t
from sfl_theory.proofs.export import ModelData
from sfl_theory.written import Form, Number

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
        return JOINT_WEIGHTED if self.block.kind.visits else JOINT

    def claim(
        self,
        number: int,
        title: str,
        parts: tuple[Part, ...],
        rests_on: str,
        **told: Unpack[Told],
    ) -> Claim:
        """Return a refuted equation of the section."""
        name, where = f"han2024/eq-{number}", f"App. {self.section}, ({number})"
        told["severity"], told["uses"] = Severity.PROOF, rests_on
        told.setdefault("words", READ_33)
        return Claim(name, where, Kind.EQUATION, title, parts, **told)

    def the_lemma(self, number: int, uses: str, failure: str) -> Claim:
        """Return Lemma D.1 or E.1."""
        name = self.lemma.removeprefix("lemma-")
        return Claim(
            f"han2024/{self.lemma}",
            f"Lemma {name}, ({number})",
            Kind.LEMMA,
            "The distance of the server block alone contracts and earns the gap.",
            (Part(self.block.one_round(), at_minimiser(self.block)),),
            severity=Severity.THEOREM,
            scope=f"refuted for mu = 1, for mu = 0 in the lines of {name[0]}.2. {AWAY}",
            cause=CAUSE,
            uses=uses,
            words=READ_33,
            first_failure=failure,
            repair=Repair(
                (sharp(self.block),),
                f"{self.change}; then with smaller constants and at any rate",
            ),
        )

    def joined(self, number: int, uses: str) -> Claim:
        """Return (60) or (97): the lines joined, then sorted."""
        block = self.block
        e, b, D = block.eta, block.steps, block.distance(t)
        one = w.over_clients(n, a()) if not block.visited else w.number(1)
        earned = 2 * e * b * one * block.gap if not block.visited else None
        moved = 12 * block.over(S * b**3 * e**2 * (2 * sigma2() + G2))
        middle = D + w.as_form(e**2 * b**2 * N * block.over(sigma2() + G2, 2))
        middle = middle - (earned or 2 * e * b * block.gap)
        middle = middle - block.contracted(mu) * one / 2 * D
        noise = N * block.over(e**2 * sigma2() * b**2, 2)
        middle = middle + noise_and_drift(2 * e * moved, noise)
        last = block.recursion(mu)
        hypotheses = block.assumed()
        return self.claim(
            number,
            "The steps of the round put together.",
            (
                Part(
                    says(block.distance(t + 1), middle, *hypotheses),
                    at_minimiser(block),
                ),
                shown(says(middle, last, *hypotheses), list, "Both are the same."),
            ),
            uses,
            scope=f"the first relation is refuted for mu = 1. {AWAY}",
            cause=CAUSE,
            repair=Repair((merged(block),), self.change),
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
            (Part(what, at_minimiser(self.block), reading),),
            self.lemma,
            scope=f"refuted for mu = 1. {AWAY}",
            cause=CAUSE,
            repair=Repair((merged(self.block),), self.change),
        )

    def drawn(self, number: int, uses: str) -> Claim:
        """Return (128), (133), (158), (163): the round of those who are drawn."""
        what = self.block.one_round(mu, earned=False)
        return self.claim(
            number,
            "The round of those who are drawn, the gap left out.",
            (Part(what, driven(self.block)),),
            uses,
            scope="refuted for mu = 1 and q = 1/2",
            cause=CAUSE_DRIVEN,
            repair=Repair((merged(self.block, mu, earned=False),), self.change),
        )

    def flat(self, number: int, uses: str, reading: str = "") -> Claim:
        """Return (74), (75), (111), (112), ...: the lemma with mu = 0."""
        side = "server" if self.block.side is Side.SERVER else "client"
        what = self.block.one_round(ZERO)
        return self.claim(
            number,
            f"The lemma with mu = 0 for the {side}'s block.",
            (Part(what, at_minimiser(self.block, ZERO), reading),),
            uses,
            scope=f"refuted for two Huber functions. {AWAY}",
            words="The Huber functions meet Assumption 3.3 on the whole space.",
            cause=CAUSE,
            repair=Repair((merged(self.block, ZERO),), self.change),
        )

    def without_gap(self, number: int, uses: str) -> Claim:
        """Return (61), (98): rewritten; (71), (108) have only the ends."""
        block = self.block
        hypotheses = block.assumed()
        new, last = block.distance(t + 1), block.rewritten(mu)
        ends = says(new, last, *hypotheses)
        parts: tuple[Part, ...] = (Part(ends, driven(block), "from end to end"),)
        scope = "refuted for mu = 1"
        cause = CAUSE_DRIVEN
        if number in (61, 98):
            middle = self.unweighted()
            second = says(middle, last, *hypotheses)
            first = Part(says(new, middle, *hypotheses), at_minimiser(block))
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
            repair=Repair((self.recursion_of_both(),), self.change),
        )

    def unweighted(self) -> Form:
        """Return the middle line of (61), (98): sums without weights."""
        block = self.block
        e, b = block.eta, block.steps
        noise = w.over_clients(n, (2 * sigma2() + G2))
        out = (1 - block.contracted(mu) / 2) * block.distance(t)
        out = out - 2 * e * b * block.gap
        return out + noise_and_drift(
            e**2 * b**2 * N * noise, 24 * S * b**3 * e**3 * noise
        )

    def dropped(self, what: Says) -> Part:
        """Return that the gap may be dropped."""
        block = self.block
        lowest = rules.lowest(MEAN, block.run.x(t).value)
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
                order=ordered(block, 2),
                numbers=numbers,
                families={"sigma2": (0, 0)},
                rates={"eta": Fraction(1, 2)},
                best={f: (0, 0)},
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
            lambda: recursion_of(one, mu, earned=False),
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
