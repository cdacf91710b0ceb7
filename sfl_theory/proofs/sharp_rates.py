r"""Without bounded gradients, from one round to T rounds: three rates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Lin, Rate, Split, Var, constant
from sfl_theory.proofs import sharp_draws, sharp_rounds
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.local_steps import Round, nearer, now, over_rounds
from sfl_theory.proofs.notation import combine, of_round
from sfl_theory.proofs.sharp_rounds import KEPT, LIMIT, Sharp
from sfl_theory.proofs.strongly_convex import mu
from sfl_theory.proofs.weighted_rounds import T, tau


def one_round(a: Sharp) -> Theorem:
    """Return ``(1 - lost) alpha/2 ||grad f||^2 <= f(x) - f(x') + cost``.

    For drawn clients of SFL-V1 under two limits of the rate, one for the draws.
    """
    if a.partial and a.kind.visits:
        return sharp_draws.one_round(a)
    return sharp_rounds.one_round(replace(a, apart=a.partial))


def approach(a: Sharp) -> Theorem:
    """Return how much nearer a round brings the model."""
    drawn = a.partial and a.kind.visits
    return sharp_draws.approach(a) if drawn else sharp_rounds.approach(a)


def non_convex(a: Sharp) -> Theorem:
    """Return the sum over rounds; the values of f telescope."""
    return over_rounds(one_round(a), a.round, T, 2 / (T * tau * (1 - a.lost)))


# Strongly convex ---------------------------------------------------------------------

SMOOTH = strong.S
BEYOND = Var("beyond", Sort.NONNEGATIVE)
WIDE = 1 + k.symbol(BEYOND)


@dataclass(frozen=True)
class Decay:
    """The recursion ``phi' <= (1 - p u) phi + A u^2 + B u^3``, u = 1/(gamma + t)."""

    a: Sharp

    @property
    def printed(self) -> bool:
        """Whether the rate is that of the paper, ``4/(mu tau (8 S/mu - 1 + t))``."""
        return self.a.limit != LIMIT

    @property
    def step(self) -> Fraction:
        """The rate is ``step/(mu tau (gamma + t))``: 4.1, with draws 4.75."""
        if self.printed:
            return Fraction(4)
        return Fraction(19, 4) if self.a.partial else Fraction(41, 10)

    @property
    def decay(self) -> int:
        """By which power the first gap falls."""
        return 2 if self.printed else 4

    @property
    def gamma(self) -> Ratio:
        """``33 S/mu``, with draws ``38 w S/mu``, w >= reach + 2 rho any number."""
        if self.printed:
            return strong.gamma
        return 38 * WIDE * SMOOTH / mu if self.a.partial else 33 * SMOOTH / mu

    @property
    def rate_of(self) -> Rate:
        """The rate."""
        return Rate(self.step / (mu * tau * (self.gamma + of_round())))

    def at_rate(self, theorem: Theorem) -> Theorem:
        """Return a theorem at this rate, for S = mu + s and w as large; it is small."""
        family = k.RoundFamily("eta", Sort.POSITIVE)
        values = ((family, self.rate_of), (strong.S_VARIABLE, SMOOTH))
        fast = rules.instantiate(theorem, values, ())
        alpha, wide = tau * self.rate_of.at(now), self.a.wide
        wider = [(rules.assume(self.enough), self.a.limit * SMOOTH * alpha)]
        limits = [wide]
        if self.a.partial and not self.a.kind.visits:
            limits = [self.a.reach, 2 * self.a.rho]
        for limit in limits:
            small = constant(1 - self.a.limit * limit * SMOOTH * alpha)
            uses = wider if self.a.partial else ()
            fast = rules.cut(fast, combine(*uses, target=small))
        return fast

    @property
    def enough(self) -> Lin:
        """``w - reach - 2 rho``."""
        return constant(WIDE - self.a.wide)

    @property
    def run(self) -> Split:
        """The run at this rate."""
        return self.a.weighted.at(self.rate_of)

    @property
    def power(self) -> Fraction:
        """P, more than `decay`."""
        return self.step * (1 - self.a.lost)

    @property
    def A(self) -> Ratio:
        """Of samples and draws."""
        samples = self.a.samples(self.a.full)
        return self.step**2 / 2 * SMOOTH * samples / (tau * mu**2)

    @property
    def B(self) -> Ratio:
        """Of the drift."""
        size = self.a.near * self.a.closed.factor / 2 * self.step**3
        return size * SMOOTH**2 * self.a.spread / (tau * mu**3)

    def gap(self, at: Ratio) -> Lin:
        """Return ``f(x(at)) - f*``."""
        return strong.gap(Round(self.run), at)

    def one_round(self) -> Theorem:
        """Return the recursion."""
        r, u = Round(self.run), 1 / (self.gamma + now)
        right = self.gap(now) * (1 - self.power * u)
        right = right + constant(self.A * u**2 + self.B * u**3)
        down = strong.gradient_domination(r.x)
        uses = [
            (self.at_rate(one_round(self.a)), ratio(1)),
            (down, self.power * u / 2 / mu),
        ]
        return combine(*uses, target=right - self.gap(now + 1))

    def rate(self) -> Theorem:
        """Return what is left after every round, by induction."""
        always = strong.by_recursion(
            Round(self.run),
            self.one_round(),
            self.A,
            self.B,
            self.power,
            self.gamma,
            self.decay,
        )
        if not self.a.partial:
            return always
        here = rules.instantiate(always, ((BEYOND, self.a.wide - 1),), ())
        return rules.cut(here, combine(target=constant(0)))


def mean_gap(a: Sharp) -> Theorem:
    """Return the sum over rounds; the distances telescope."""
    return nearer(approach(a), a.round, T, 1 / (KEPT * tau * T))
