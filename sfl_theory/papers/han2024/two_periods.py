r"""SFL-V1's sections, D.3 and F.3: two numbers of local steps, min and max.

Minima and maxima have no term. In hypotheses each of them stands for two inequalities;
where one stands in a bound, the statement has two parts, by which side makes
:math:`d\ge0` steps more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from sfl_theory import written as w
from sfl_theory.claims import Part, Proof, Says
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Kind, Participants, Side
from sfl_theory.papers.han2024.blocks import Blocks, Descent
from sfl_theory.papers.han2024.one_round import at_start
from sfl_theory.papers.han2024.setting import (
    N,
    S,
    a,
    eps2,
    eta,
    n,
    run,
    sigma2,
    tau,
    tau_server,
)
from sfl_theory.proofs.non_convex import TwoPaces
from sfl_theory.written import Assumed, Number, Run

d = w.natural("d")
LONGER = {
    Side.CLIENT: r"$\tau=\tilde\tau+d$ with $d\ge0$",
    Side.SERVER: r"$\tilde\tau=\tau+d$ with $d\ge0$",
}
PRINTED_STEPS = {Side.CLIENT: tau, Side.SERVER: tau_server}


def named(number: Number, tex: str) -> Number:
    """Return a number under a symbol of its own."""
    return replace(number, tex=tex, binding=w.ATOM, terms=())


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
        this, spread = run(Kind.V1, tau_server, who=self.who), self._spread()
        rates = self._called(*first, *second)
        return Blocks(this, PRINTED_STEPS, spread, rates, self._draws(this))

    def _spread(self) -> dict[Side, Number | None]:
        return dict.fromkeys(Side, self.share)

    def ordered(self, longer: Side) -> Blocks:
        """Return the section where one side makes d >= 0 steps more."""
        steps = dict(PRINTED_STEPS)
        (low,) = (number for side, number in steps.items() if side is not longer)
        steps[longer] = named(low + d, steps[longer].tex)
        client, server = steps[Side.CLIENT], steps[Side.SERVER]
        this = run(Kind.V1, server, who=self.who, client_steps=client)
        return Blocks(this, steps, self._spread(), (), self._draws(this))

    def _draws(self, this: Run) -> tuple[Assumed, ...]:
        if self.who is Participants.EVERYONE:
            return ()
        return (w.participation(this).called("App. C.2"),)

    def descent(self, longer: Side) -> Descent:
        """Return what the section concludes where one side makes more steps."""
        b = self.ordered(longer)
        (low,) = (number for side, number in b.steps.items() if side is not longer)
        low, high = named(low, r"\tau_{\min}"), self.most(longer)
        first = w.at_most(16 * S * eta() * high, 1)
        second = w.at_most(8 * S * N * high**2 * eta() * self.shares, low)
        noise = w.over_clients(n, self.share * (sigma2() + eps2))
        both = b.steps[Side.CLIENT] ** 2 + b.steps[Side.SERVER] ** 2
        rates = self._called(first, second)
        return Descent(b.run, low, both, both / low, noise, rates, b.more)

    def most(self, longer: Side) -> Number:
        r"""Return the larger number of steps, as :math:`\tau_{\max}`."""
        return named(self.ordered(longer).steps[longer], r"\tau_{\max}")

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
            proof = Proof(partial(theorem, p), words, at_start(what))
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
