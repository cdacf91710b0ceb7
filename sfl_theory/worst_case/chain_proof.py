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
from sfl_theory.kernel.algebra import Number, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived, interleaved
from sfl_theory.proofs.export import Statement
from sfl_theory.proofs.notation import combine, of, rates, steps, sum_over
from sfl_theory.proofs.unrolled import t
from sfl_theory.worst_case.proof import Proved
from sfl_theory.worst_case.round_by_round import Followed, Round, weights_of
from sfl_theory.worst_case.round_proof import STAR, Federation, gap, proved


def prove(followed: Followed, name: str = "round-by-round") -> Proved:
    """Return the bound after the last round as a theorem.

    Args:
        followed: certificates of single rounds.
        name: of the claim.

    Returns:
        The statement "for these numbers metric <= p/q" and the theorem that is it.

    Raises:
        ValueError: no derivation is known, or a certificate proves no such bound.
    """
    if followed.setting.reading != "last" and len(set(followed.steps)) > 1:
        raise ValueError("no derivation is known: a mean over rounds of falling steps")
    return _Chain(followed).proved(name)


def size(followed: Followed) -> int:
    """Return how many squares a proof of the bound has, for what it costs.

    Args:
        followed: certificates of single rounds.

    Returns:
        Their number in all certificates that the last round's bound is made of.
    """
    return sum(len(one.certificate.squares) for one in used(followed))


def used(followed: Followed) -> tuple[Round, ...]:
    """Return the certificates that give the bound after the last round.

    Args:
        followed: certificates of single rounds.

    Returns:
        All of them for the last iterate, one for a mean.
    """
    over, every = weights_of(followed.steps)[-1], followed.rounds
    if followed.setting.reading == "last":
        return every
    gap_, far = followed.values[0], followed.setting.initial_distance
    if far is None:
        return (min(every, key=lambda one: one.falling(over, gap_)),)
    rising, *others = every
    near = [(found, one) for one in others if (found := one.nearing(over, far))]
    least, best = min(near, key=lambda pair: pair[0], default=(None, rising))
    nearer = least is not None and least < rising.rising(over, gap_)
    return (best if nearer else rising,)


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
                target=k.constant(theta * self.federation.modulus - (setting.mu or 0)),
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

    def proved(self, name: str) -> Proved:
        """Return the statement and its theorem."""
        if self.followed.setting.reading == "last":
            metric, theorem = gap(self.x(self.rounds)), self.last()
        else:
            metric, theorem = self.mean, self.averaged()
        bound = k.constant(self.followed.values[-1])
        statement = Statement(name, self.assumed, metric, bound)
        return Proved(statement, combine(theorem, target=bound - metric), None)

    def last(self) -> Theorem:
        """Return the bound of ``f(x(T)) - f*``, one round after another."""
        found = self.start
        for one in self.followed.rounds:
            (largest,) = one.certificate.setting.client_steps
            for s in range(one.first, one.last):
                uses: list[tuple[Theorem, Number]] = [
                    (self.in_round(one, s), 1),
                    (found, one.slope),
                ]
                if not self.constant:
                    uses.append((self.rate(s)[0], one.rise / largest))
                known = k.constant(self.followed.values[s + 1])
                found = combine(*uses, target=known - gap(self.x(s + 1)))
        return found

    # Means over rounds of one step size -----------------------------------------------

    @property
    def now(self) -> k.Vec:
        """The model before round t."""
        return k.iterate(self.federation.run, of(t))

    def over_rounds(self, theorem: Theorem, factor: Number, *signs: Theorem) -> Theorem:
        """Return a theorem on round t, times a number, summed over the rounds."""
        return sum_over(theorem, steps(self.rounds), t, factor, signs)

    @property
    def mean(self) -> k.Lin:
        """The mean over the rounds of a gap, or of a squared gradient."""
        slope2 = k.norm2(k.gradient(k.MEAN, self.now))
        each = gap(self.now) if self.followed.setting.metric == "gap" else slope2
        return k.summed(steps(self.rounds), t, each) * Fraction(1, self.rounds)

    def averaged(self) -> Theorem:
        """Return the least bound of a mean over rounds that a certificate gives."""
        (one,) = used(self.followed)
        if self.followed.setting.metric == "gradient":
            return self.falling(one)
        nearing = one.certificate.setting.mu is not None
        return self.nearing(one) if nearing else self.rising(one)

    def falling(self, one: Round) -> Theorem:
        """Return the mean of squared gradients by which f falls."""
        T, f = self.rounds, k.value_of(k.MEAN, self.now)
        return combine(
            (self.over_rounds(proved(self.federation, one), 1), Fraction(1, T)),
            (derived.telescope(t, f, ratio(T)), one.slope / T),
            (derived.lowest(k.MEAN, self.x(T)), one.slope / T),
            (self.start, one.slope / T),
        )

    def rising(self, one: Round) -> Theorem:
        """Return the mean of gaps if f rises in every round by what it can."""
        T, left = self.rounds, self.rounds - 1 - of(t)
        f, none = k.value_of(k.MEAN, self.now), rules.assume(k.constant(left))
        slope2 = combine((k.gradient(k.MEAN, self.now), 1))
        share = 1 / (T * one.slope)
        return combine(
            (self.over_rounds(proved(self.federation, one), left, none), share),
            (self.over_rounds(slope2, left, none), share),
            (derived.telescope(t, f * (left + 1), ratio(T)), Fraction(1, T)),
            self.start,
        )

    def nearing(self, one: Round) -> Theorem:
        """Return the mean of gaps by which x comes nearer to x*.

        Raises:
            ValueError: the certificate says nothing of so many rounds.
        """
        T, left, more = self.rounds, self.rounds - 1 - of(t), one.growth(self.rounds)
        if more is None:
            raise ValueError("x* is too far for so many rounds")
        known, away = rules.assume(k.constant(left)), self.now - STAR
        weight = 1 + more * left
        positive = combine((known, more), target=k.constant(weight))
        first = 1 + more * T
        return combine(
            (
                self.over_rounds(proved(self.federation, one), weight, positive),
                Fraction(1, T),
            ),
            (
                derived.telescope(t, k.norm2(away) * (1 + more * (left + 1)), ratio(T)),
                one.slope / T,
            ),
            (self.over_rounds(combine((away, 1)), of(t)), one.far * more / T),
            (
                self.over_rounds(derived.lowest(k.MEAN, self.now), left, known),
                more / T,
            ),
            (self.x(T) - STAR, one.slope / T),
            (self.near, first * one.slope / T),
        )
