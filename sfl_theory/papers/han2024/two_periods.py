r"""SFL-V1's sections D.3 and F.3: two numbers of local steps, min and max.

Minima and maxima have no term. In hypotheses each of them stands for two inequalities;
where one stands in a bound, the statement has two parts, by which side makes
:math:`d\ge0` steps more.

Where a statement has two parts, the client's side makes more steps in the first one,
the server's side in the second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from sfl_theory.evidence import (
    Claim,
    Kind,
    Part,
    Proof,
    Repair,
    Says,
    meeting,
    proved,
    repaired,
)
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Participants, Side
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Number, Run
from sfl_theory.papers.han2024 import blocks, setting
from sfl_theory.papers.han2024.blocks import SIDES, Blocks, Descent, Section
from sfl_theory.papers.han2024.setting import N, S, a, eps2, eta, n, run, sigma2, tau
from sfl_theory.proofs import block_steps, non_convex
from sfl_theory.proofs.local_steps import Round
from sfl_theory.proofs.non_convex import TwoPaces

d = w.natural("d")
WAITS = "; a side that has made its steps waits"
"""App. C.2 does not say what a client's model is after tau of tau_server steps."""
LONGER = {
    Side.CLIENT: r"$\tau=\tilde\tau+d$ with $d\ge0$" + WAITS,
    Side.SERVER: r"$\tilde\tau=\tau+d$ with $d\ge0$" + WAITS,
}
PRINTED_STEPS = {Side.CLIENT: tau, Side.SERVER: setting.tau_server}


@dataclass(frozen=True)
class TwoPeriods:
    """A section on SFL-V1.

    Attributes:
        theorem: its number.
        who: who takes part.
    """

    theorem: str
    who: Participants = Participants.EVERYONE

    @property
    def share(self) -> Number:
        """a_n^2, or a_n^2/q_n where clients are drawn."""
        everyone = self.who is Participants.EVERYONE
        return a() ** 2 if everyone else a() ** 2 * w.inverse_chance(n)

    @property
    def shares(self) -> Number:
        """The sum of these over clients."""
        return w.over_clients(n, self.share)

    def _called(self, *rates: Assumed) -> tuple[Assumed, ...]:
        name = f"the learning rate of Theorem {self.theorem}"
        return tuple(one.called(name) for one in rates)

    def printed(self) -> Blocks:
        """Return the section for any numbers of steps."""
        both = tuple(PRINTED_STEPS.values())
        first = [w.at_most(16 * S * eta() * one, 1) for one in both]
        second = [
            w.at_most(8 * S * N * one**2 * eta() * self.shares, other)
            for one in both
            for other in both
        ]
        this, spread = run(Version.V1, setting.tau_server, who=self.who), self._spread()
        rates = self._called(*first, *second)
        return Blocks(this, PRINTED_STEPS, spread, rates, self._draws(this))

    def _spread(self) -> dict[Side, Number | None]:
        return dict.fromkeys(Side, self.share)

    def ordered(self, longer: Side) -> Blocks:
        """Return the section where one side makes d >= 0 steps more."""
        steps = dict(PRINTED_STEPS)
        (low,) = (number for side, number in steps.items() if side is not longer)
        steps[longer] = w.called(low + d, steps[longer].tex)
        client, server = steps[Side.CLIENT], steps[Side.SERVER]
        this = run(Version.V1, server, who=self.who, client_steps=client)
        return Blocks(this, steps, self._spread(), (), self._draws(this))

    def _draws(self, this: Run) -> tuple[Assumed, ...]:
        if self.who is Participants.EVERYONE:
            return ()
        return (w.participation(this).called("App. C.2"),)

    def descent(self, longer: Side) -> Descent:
        """Return what the section concludes where one side makes more steps."""
        b = self.ordered(longer)
        (low,) = (number for side, number in b.steps.items() if side is not longer)
        low, high = w.called(low, r"\tau_{\min}"), self.most(longer)
        first = w.at_most(16 * S * eta() * high, 1)
        second = w.at_most(8 * S * N * high**2 * eta() * self.shares, low)
        noise = w.over_clients(n, self.share * (sigma2() + eps2))
        both = b.steps[Side.CLIENT] ** 2 + b.steps[Side.SERVER] ** 2
        rates = self._called(first, second)
        return Descent(b.run, low, both, both / low, noise, rates, b.more)

    def most(self, longer: Side) -> Number:
        r"""Return the larger number of steps, as :math:`\tau_{\max}`."""
        return w.called(self.ordered(longer).steps[longer], r"\tau_{\max}")

    def _parts(
        self,
        says: Callable[[Side], Says],
        theorem: Callable[[TwoPaces], Theorem],
        words: str,
        reading: str,
    ) -> tuple[Part, ...]:
        partial_ = self.who is not Participants.EVERYONE

        def part(longer: Side) -> Part:
            what, p = says(longer), TwoPaces(longer, partial_)
            proof = Proof(partial(theorem, p), words, meeting(what, t=0))
            return Part(what, proof, "; ".join(filter(None, (LONGER[longer], reading))))

        return tuple(map(part, Side))

    def by_order(
        self,
        says: Callable[[Blocks], Says],
        theorem: Callable[[TwoPaces], Theorem],
        words: str,
        reading: str = "",
    ) -> tuple[Part, ...]:
        """Return two parts on blocks: the client's side makes more, or the server's."""
        return self._parts(lambda s: says(self.ordered(s)), theorem, words, reading)

    def concluded(
        self,
        says: Callable[[Descent], Says],
        theorem: Callable[[TwoPaces], Theorem],
        words: str,
        reading: str = "",
    ) -> tuple[Part, ...]:
        """Return two parts on what the section concludes."""
        return self._parts(lambda s: says(self.descent(s)), theorem, words, reading)


# The steps that D.3 and F.3 print alike: SFL-V1, everyone or those who are drawn -----

SERVER, CLIENT = SIDES


@dataclass(frozen=True)
class Steps:
    """The steps of a section.

    Attributes:
        section: who takes part.
        place: of the section.
        first: the number of its first equation.
        one_round: of what it concludes of a round.
        chance: q_n in the models.
        draws: what is said of who takes part, in words.
    """

    section: TwoPeriods
    place: str
    first: int
    one_round: int
    chance: Fraction = Fraction(1)
    draws: str = ""

    def eq(self, place: int) -> str:
        """Return the id of a step, counted from 0."""
        return f"eq-{self.first + place}"

    def claim(
        self,
        place: int,
        ahead: tuple[int, int],
        repair: Repair,
        uses: str = "",
        made: int = 2,
    ) -> Claim:
        """Return the refuted claim on a step, counted from 0."""
        printed = self.section.printed()
        steps = Section(self.place, self.first, printed, 16, self.chance)
        return steps.claim(self.first + place, ahead, repair, uses, made)

    def two_orders(
        self,
        side: Side,
        statement: Callable[..., Says],
        theorem: Callable[[TwoPaces, Side], Theorem],
        words: str,
        change: str,
        reading: str = "",
    ) -> Repair:
        """Return a repair for either order of the numbers of steps."""
        return repaired(
            change,
            *self.section.by_order(
                lambda b: statement(b, side, whole=True),
                lambda p: theorem(p, side),
                words,
                reading,
            ),
        )

    def first_order(self) -> Claim:
        """Return (78) or (145)."""
        repair = self.two_orders(
            SERVER,
            blocks.first_order,
            lambda p, side: block_steps.first_order(p.round, side),
            r"$-\langle\nabla_bf,M\rangle$ by polarisation, $M=\sum_na_n\sum_i\nabla_b"
            r"F_n(x_n^{t,i})$; Cauchy-Schwarz over clients and steps; Lipschitz "
            rf"gradients.{self.draws}",
            "the move of the whole vector on the right",
        )
        return self.claim(0, (-254, 511), repair)

    def drift(self) -> Claim:
        """Return (79) or (146)."""
        repair = self.two_orders(
            SERVER,
            blocks.drift,
            block_steps.drift,
            r"$\mathbb E\|x_n^{t,i}-x^t\|^2\le2\eta^2i(\sum_{j<i}\|\nabla F_n("
            r"x_n^{t,j})\|^2+\sigma_n^2)$ (noises of different steps are orthogonal), "
            r"summed over i; $\|\nabla F_n(x_n^{t,j})\|^2\le2\|\nabla F_n(x^t)\|^2"
            r"+2S^2\|x_n^{t,j}-x^t\|^2$; the drift on the right has a factor at most "
            "1/4.",
            "the move and the gradient of the whole vector",
            blocks.EACH,
        )
        return self.claim(1, (-1, 2), repair, "lemma-C.6", made=3)

    def first_order_closed(self, place: int, uses: str) -> Claim:
        """Return (80), (84), (147) or (151)."""
        repair = self.two_orders(
            SERVER if place < 6 else CLIENT,
            blocks.first_order_closed,
            block_steps.first_order_closed,
            f"The repaired ({self.first}), the repaired ({self.first + 1}).",
            "the gradient of the whole vector behind eta^3",
        )
        return self.claim(place, (-254, 511), repair, uses)

    def second_order(self) -> Claim:
        """Return (81) or (148)."""
        b = self.section.printed()
        twice = proved(
            blocks.second_order(b, SERVER, times=2),
            lambda: block_steps.second_order(Round(b.run.split), SERVER),
            "Cauchy-Schwarz over clients and steps, Young with factor 2, "
            f"variance.{self.draws}",
            blocks.SECOND_ORDER.reading,
        )
        repair = repaired("twice the right side", twice)
        return self.claim(3, (98, -193), repair)

    def change(self) -> Claim:
        """Return (82) or (149)."""
        repair = self.two_orders(
            SERVER,
            blocks.change,
            block_steps.change_closed,
            r"For $i\ge1$ the noise of step i is orthogonal to what came before, so "
            r"$\mathbb E\|g_n^{t,i}-g_n^t\|^2\le2S^2\mathbb E\|x_n^{t,i}-x^t\|^2"
            r"+3\sigma_n^2$; then the drift.",
            "the whole gradient of F_n, and the variance of the samples without eta^2",
            blocks.CHANGE.reading,
        )
        return self.claim(4, (-1, 2), repair, "lemma-C.7")

    def second_order_closed(self, place: int, uses: str) -> Claim:
        """Return (83), (85), (150) or (152)."""
        repair = self.two_orders(
            SERVER if place < 6 else CLIENT,
            blocks.second_order_closed,
            block_steps.second_order_closed,
            r"Young with 2/3 between gradients and noise, with 1/2 between gradients "
            r"at $x_n^{t,i}$ and at $x^t$; the drift as in the repaired "
            f"({self.first + 1}).{self.draws}",
            "5/2 times the right side, the whole gradient in its second-order term",
        )
        return self.claim(place, (-1, 2), repair, uses)

    def of_blocks(self) -> tuple[Claim, ...]:
        """Return the steps on one block."""
        return (
            self.first_order(),
            self.drift(),
            self.first_order_closed(2, f"{self.eq(0)} {self.eq(1)}"),
            self.second_order(),
            self.change(),
            self.second_order_closed(5, f"{self.eq(3)} {self.eq(4)}"),
            self.first_order_closed(6, f"{self.eq(0)} lemma-C.6"),
            self.second_order_closed(7, f"{self.eq(3)} lemma-C.7"),
        )

    def concluded(
        self,
        place: int,
        title: str,
        statement: Callable[[Descent], Says],
        theorem: Callable[[TwoPaces], Theorem],
        words: str,
        uses: str,
        reading: str = "",
    ) -> Claim:
        """Return a proved conclusion; `place` counts from that of one round."""
        where = self.one_round + place
        return Kind.EQUATION(
            f"han2024/eq-{where}",
            f"{self.place}.3, ({where})",
            title,
            *self.section.concluded(statement, theorem, words, reading),
            uses=uses,
        )

    def of_rounds(self, uses: str) -> tuple[Claim, Claim, Claim]:
        """Return one round, end to end, and the mean over rounds."""
        drawing = self.section.who is not Participants.EVERYONE
        drawn = (
            r" Drawing clients adds $\sum_na_n^2(\frac1{q_n}-1)\mathbb E\|\sum_ig_n"
            r"^{t,i}\|^2$ to the squared move: Young with 1/4 there, and as much again "
            "of the drift."
        )
        one = f"eq-{self.one_round}"
        return (
            self.concluded(
                0,
                "The change of f in a round, end to end.",
                Descent.one_round,
                block_steps.descent,
                r"Polarisation of $-\langle\nabla f,M\rangle$, Young with 1 between "
                r"$M$ and noise, drift $D\le\eta^2\tau_{\max}(\tau_{\max}-1)(\Gamma+"
                r"\sum b_n\sigma_n^2)$ with $b_n$ = N times the weight in the bound; "
                r"gradients at local points by those at $x^t$. The first rate makes "
                r"the drift's share of $D$ small, the second that of $\|\nabla f\|^2$."
                + drawn
                * drawing,
                uses,
            ),
            self.concluded(
                1,
                "The same, solved for the gradient.",
                Descent.rearranged,
                block_steps.rearranged,
                rf"({self.one_round}) times $4/\tau_{{\min}}$.",
                one,
                "f(x_s^{t+1}) is printed for f(x^{t+1})",
            ),
            self.concluded(
                2,
                "The mean over rounds.",
                Descent.all_rounds,
                non_convex.theorem,
                f"({self.one_round + 1}) summed; the values of f telescope, "
                r"$f(x^T)\ge f^*$.",
                f"eq-{self.one_round + 1}",
            ),
        )
