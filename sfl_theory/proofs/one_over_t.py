"""Gaps of SFL-V2 as printed below X/(gamma + t), for equal weights: (14) and (20).

The server moves N times as fast as the clients, so in early rounds the rate is too
large for a descent. There the gap is small by itself: gradients along the run are
bounded, and so is that of f at x(t). Later a recursion keeps the claim.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs.local_steps import G2, now, t
from sfl_theory.proofs.notation import (
    combine,
    count,
    equal_paces,
    nonnegative,
    of_round,
    positive,
)
from sfl_theory.proofs.strongly_convex import S_VARIABLE, gradient_domination

mu, excess, tau, T = positive("mu"), nonnegative("s"), count("tau"), count("T")
S = mu + excess
gamma = 8 * S / mu - 1
RATE = k.Rate(4 / (mu * tau * (gamma + of_round())))
BEST = k.vec(k.Star(k.MEAN))


@dataclass(frozen=True)
class OneOverT:
    """A claim ``gap <= X/(gamma + t)`` and what keeps it.

    Attributes:
        who: who takes part.
        X: the constant.
        slope: bounds the squared gradient of f at x(t), for any rates.
        descent: what f loses in a round.
        switch: from this value of gamma + t on the recursion is used.
        spare: what of X pays for the term of third order.
        share: G2 times it over mu (gamma + t) pays for ``gamma + t <= switch + 1``.
    """

    who: k.Participants
    X: Ratio
    slope: Theorem
    descent: Theorem
    switch: Ratio
    spare: Ratio
    share: Number

    @property
    def run(self) -> k.Split:
        """The run at the printed rates."""
        return equal_paces(k.Kind.V2, tau, RATE, self.who)

    def gap(self, at: Ratio) -> k.Lin:
        """Return ``f(x(at)) - f*``."""
        return k.value_of(k.MEAN, k.iterate(self.run, at)) - k.value_of(k.MEAN, BEST)

    def claim(self, at: Ratio) -> k.Lin:
        """Return ``X/(gamma + t) - gap``."""
        return k.constant(self.X / (gamma + at)) - self.gap(at)

    def early(self, at: Ratio, *small: tuple[Theorem, Number]) -> Theorem:
        """Return the claim where gamma + t is small, or t = 0."""
        near = rules.instantiate(at_rate(self.slope), ((t, at),), ())
        uses = [(gradient_domination(k.iterate(self.run, at)), 1 / (2 * mu))]
        return combine([*uses, (near, 1 / (2 * mu)), *small], target=self.claim(at))

    def late(self) -> Theorem:
        """Return the claim at t + 1 from that at t where gamma + t >= switch."""
        u, slow = 1 / (gamma + now), rules.assume(k.constant(self.slowness))
        return combine(
            [
                (at_rate(self.descent), 1),
                (gradient_domination(k.iterate(self.run, now)), 2 * u / mu),
                (rules.assume(self.claim(now)), 1 - 4 * u),
                (slow, self.spare * u**2),
            ],
            target=self.claim(now + 1),
        )

    @property
    def slowness(self) -> Ratio:
        """``1 - switch/(gamma + t)``."""
        return 1 - self.switch / (gamma + now)

    def rate(self) -> Theorem:
        """Return the claim for every t, by induction."""
        fast, then = rules.assume(k.constant(-self.slowness)), gamma + now + 1
        soon = combine([(fast, gamma + now)], target=k.constant(self.switch + 1 - then))
        early = self.early(now + 1, (soon, self.share * G2 / (mu * then)))
        step = rules.cases(self.late(), early, self.slowness)
        return rules.induct(self.early(ratio(0)), step, t, self.claim(now))

    def printed(self) -> Theorem:
        """Return the printed bound after T rounds; its last term is not needed."""
        last = rules.instantiate(self.rate(), ((t, T),), ())
        start = S * (gamma + 1) / (2 * (gamma + T))
        return combine([(last, 1)], [(k.iterate(self.run, 0) - BEST, start)])


def at_rate(theorem: Theorem) -> Theorem:
    """Return a theorem at the printed rate, for S = mu + s."""
    family = k.RoundFamily("eta", Sort.POSITIVE)
    return rules.instantiate(theorem, ((family, RATE), (S_VARIABLE, S)), ())
