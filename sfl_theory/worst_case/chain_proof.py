r"""From certificates of single rounds to one theorem on all rounds of a run.

`round_proof` makes a theorem of each certificate, on any round t. They are put into the
rounds one after another, each with the step size that it has there, and added up: the
bound after T rounds is a theorem of the kernel, for these numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import interleaved
from sfl_theory.proofs.export import Statement
from sfl_theory.proofs.notation import combine, rates
from sfl_theory.proofs.unrolled import t
from sfl_theory.worst_case.proof import Proved
from sfl_theory.worst_case.round_by_round import Followed, Round
from sfl_theory.worst_case.round_proof import STAR, Federation, gap, proved

ONE = Fraction(1)


def prove(followed: Followed) -> Proved:
    """Return the bound after the last round as a theorem.

    Args:
        followed: certificates of single rounds.

    Returns:
        The statement "for these numbers metric <= p/q" and the theorem that is it.

    Raises:
        ValueError: no derivation is known, or a certificate proves no such bound.
    """
    return _Chain(followed).proved()


@dataclass(frozen=True)
class _Chain:
    followed: Followed

    @property
    def rounds(self) -> int:
        """T."""
        return len(self.followed.steps)

    @cached_property
    def constant(self) -> bool:
        """Whether all rounds have one step size."""
        return len({*self.followed.steps}) == 1

    @cached_property
    def federation(self) -> Federation:
        """The run, with its rates as a number or as one for every round."""
        first = self.followed.steps[0]
        rate = k.Rate(ratio(first)) if self.constant else rates("eta")
        return Federation(self.followed.setting, rate)

    def x(self, s: int) -> k.Vec:
        """Return a model."""
        return k.iterate(self.federation.run, s)

    def rate(self, s: int) -> tuple[Theorem, Theorem]:
        """Return that a round's rate is at most, and at least, its step size."""
        apart = k.constant(self.followed.steps[s] - self.federation.rate.at(ratio(s)))
        return rules.assume(apart), rules.assume(-apart)

    def in_round(self, one: Round, s: int) -> Theorem:
        """Return what a certificate says of a round, its rate being what it is."""
        later = (interleaved.later, ratio(self.rounds - 1 - s))
        found = rules.instantiate(self.theorems[one], ((t, ratio(s)), later), ())
        if self.constant:
            return found
        at_most, at_least = self.rate(s)
        setting = one.certificate.setting
        theta = self.federation.rate.at(ratio(s)) / setting.client_steps[0]
        per_step = 1 / setting.client_steps[0]
        known = [
            combine((at_most, per_step), target=k.constant(1 - theta)),
            combine(
                (at_least, self.federation.modulus * per_step),
                target=k.constant(theta * self.federation.modulus - setting.mu),
            ),
        ]
        for lemma in known:
            if h.Holds(lemma.form) in found.hypotheses:
                found = rules.cut(found, lemma)
        return found

    @cached_property
    def theorems(self) -> dict[Round, Theorem]:
        """What the certificates say of any round."""
        return {one: proved(self.federation, one) for one in self.followed.rounds}

    @cached_property
    def assumed(self) -> frozenset[h.Hypothesis]:
        """What the bound assumes."""
        found = set(self.federation.assumed(self.rounds)) | self.start.hypotheses
        if self.followed.setting.initial_distance is not None:
            found |= self.near.hypotheses
        for s in range(0 if self.constant else self.rounds):
            found |= {one for rate in self.rate(s) for one in rate.hypotheses}
        return frozenset(found)

    @cached_property
    def start(self) -> Theorem:
        """Return what is known of ``f(x(0)) - f*``."""
        known = k.constant(self.followed.values[0])
        return rules.assume(known - gap(self.x(0)))

    @cached_property
    def near(self) -> Theorem:
        """Return what is known of ``||x(0) - x*||^2``."""
        known = k.constant(self.followed.setting.initial_distance or 0)
        return rules.assume(known - k.norm2(self.x(0) - STAR))

    def proved(self) -> Proved:
        """Return the statement and its theorem."""
        setting = self.followed.setting
        if setting.reading == "last":
            metric, theorem = gap(self.x(self.rounds)), self.last()
        else:
            metric, theorem = self.mean, self.averaged()
        bound = k.constant(self.followed.values[-1])
        name = f"round-by-round/{setting.algorithm}/{setting.metric}"
        statement = Statement(name, self.assumed, metric, bound)
        return Proved(statement, combine(theorem, target=bound - metric), None)

    def last(self) -> Theorem:
        """Return the bound of ``f(x(T)) - f*``, one round after another."""
        found = self.start
        for one in self.followed.rounds:
            (largest,) = one.certificate.setting.client_steps
            for s in range(one.first, one.last):
                uses = [(self.in_round(one, s), 1), (found, one.slope)]
                if not self.constant:
                    uses.append((self.rate(s)[0], one.rise / largest))
                known = k.constant(self.followed.values[s + 1])
                found = combine(*uses, target=known - gap(self.x(s + 1)))
        return found

    @property
    def mean(self) -> k.Lin:
        """The mean over the rounds of a gap, or of a squared gradient."""
        models = [self.x(s) for s in range(self.rounds)]
        each = [
            gap(x)
            if self.followed.setting.metric == "gap"
            else k.norm2(k.gradient(k.MEAN, x))
            for x in models
        ]
        return sum(each, k.Lin({})) * Fraction(1, self.rounds)

    def averaged(self) -> Theorem:
        """Return the least bound of a mean over rounds that a certificate gives.

        Raises:
            ValueError: none gives it.
        """
        wanted = self.followed.values[-1]
        for one in self.followed.rounds:
            convex = one.certificate.setting.mu is not None
            if self.followed.setting.metric == "gradient":
                found = self.falling(one)
            else:
                found = self.nearing(one) if convex else self.rising(one)
            if (wanted - k.number_of(found.form + self.mean)).nonnegative():
                return found
        raise ValueError("no certificate gives the bound")

    def falling(self, one: Round) -> Theorem:
        """Return the mean of squared gradients by which f falls."""
        T = self.rounds
        uses = [(self.in_round(one, s), Fraction(1, T)) for s in range(T)]
        ends = [rules.lowest(k.MEAN, self.x(T)), self.start]
        return combine(*uses, *((end, one.slope / T) for end in ends))

    def rising(self, one: Round) -> Theorem:
        """Return the mean of gaps if f rises in every round by what it can."""
        T, uses = self.rounds, [(self.start, ONE)]
        for s in range(T - 1):
            share = Fraction(T - 1 - s, T) / one.slope
            x = self.x(s)
            uses += [
                (self.in_round(one, s), share),
                (k.gradient(k.MEAN, x), share),
            ]
        return combine(*uses)

    def nearing(self, one: Round) -> Theorem:
        """Return the mean of gaps by which x comes nearer to x*."""
        T, distance = self.rounds, self.near
        uses = [(self.near, one.slope / T)]
        steps = [self.in_round(one, s) for s in range(T)]
        for s, step in enumerate(steps):
            uses += [(step, Fraction(1, T)), (distance, one.far / T)]
            distance = combine(
                (step, 1 / one.slope),
                (rules.lowest(k.MEAN, self.x(s)), 1 / one.slope),
                (distance, 1 + one.far / one.slope),
            )
        last = self.x(T) - STAR
        return combine(*uses, (last, one.slope / T))
