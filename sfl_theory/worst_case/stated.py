"""What a worst case says, in the kernel's terms: run, metric, what is assumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived
from sfl_theory.proofs.by_number import Numbers
from sfl_theory.proofs.export import ModelData, Statement
from sfl_theory.proofs.notation import combine
from sfl_theory.proofs.unrolled import bounded, interpolated, n, t
from sfl_theory.worst_case.certificate import Inequality, Point
from sfl_theory.worst_case.setting import ONE, ZERO, Setting

STAR = k.vec(k.Star(k.MEAN))
LEAST = k.Var("m", Sort.NONNEGATIVE)


@dataclass(frozen=True)
class Stated:
    """A worst case as a statement.

    Attributes:
        setting: a run and a class of problems.
    """

    setting: Setting

    def stated(self, bound: Fraction) -> Statement:
        """Return what is claimed of a bound."""
        setting = self.setting
        name = f"worst-case/{setting.algorithm}/{setting.metric}"
        return Statement(name, self.assumed, self.metric, k.constant(bound))

    @cached_property
    def run(self) -> k.Split:
        """The run, its steps as functions of the round."""
        setting = self.setting
        client, server = (
            k.Pace(k.natural(tau), k.Rate(through(rates)))
            for tau, rates in (
                (setting.tau, setting.client_steps),
                (setting.late, setting.server_steps),
            )
        )
        weighted = setting.server_moves == "weighted"
        kind = {
            "minibatch-sfl": k.Kind.MINIBATCH,
            "sfl-v2": k.Kind.V2_WEIGHTED if weighted else k.Kind.V2,
        }.get(setting.algorithm, k.Kind.V1)
        drawn = k.Participants.EVERYONE
        if setting.partial:
            mean = kind is k.Kind.MINIBATCH
            drawn = k.Participants.MEAN if mean else k.Participants.UPDATES
        return k.Split(kind, drawn, client, server)

    @cached_property
    def numbers(self) -> Numbers:
        """The clients by their numbers."""
        setting = self.setting
        turns, steps = setting.order == "interleaved", range(setting.tau)
        orders = tuple(
            tuple(setting.turn(s, i) for i in steps) for s in range(setting.rounds)
        )
        return Numbers(self.run, setting.shares, setting.rounds, turns, orders)

    @property
    def modulus(self) -> Ratio:
        """mu, or -S: a function with S-Lipschitz gradient is (-S)-convex."""
        mu = self.setting.mu
        return ratio(-self.setting.S if mu is None else mu)

    @cached_property
    def metric(self) -> k.Lin:
        """What is bounded."""
        setting, T = self.setting, self.setting.rounds
        x, models = k.iterate(self.run, T), [k.iterate(self.run, s) for s in range(T)]
        if setting.metric == "distance":
            return k.norm2(x - STAR)
        if setting.reading == "minimum":
            return k.constant(k.symbol(LEAST))
        total = sum(setting.client_steps)
        shares = [eta / total for eta in setting.client_steps]
        if setting.metric == "gap":
            there = {
                "last": [(x, ONE)],
                "average": [(sum(models, k.Vec({})) * Fraction(1, T), ONE)],
                "mean": [*zip(models, shares, strict=True)],
            }[setting.reading]
            values = (k.value_of(k.MEAN, one) * share for one, share in there)
            return sum(values, k.Lin({})) - k.value_of(k.MEAN, STAR)
        slopes = (self.slope2(s) * share for s, share in enumerate(shares))
        return sum(slopes, k.Lin({}))

    def slope2(self, s: int) -> k.Lin:
        """Return ``||grad f(x(s))||^2``."""
        return k.norm2(k.gradient(k.MEAN, k.iterate(self.run, s)))

    @property
    def assumed(self) -> frozenset[h.Hypothesis]:
        """What the statement assumes."""
        setting, run = self.setting, self.run
        found = {
            h.every(k.CLIENTS, n, h.Smooth(k.Local(n), ratio(setting.S))),
            h.every(k.CLIENTS, n, h.Convex(k.Local(n), self.modulus)),
            h.every(k.CLIENTS, n, h.Variance(run, n, ratio(setting.sigma2))),
            h.Minimiser(k.MEAN),
        }
        if setting.sigma2:
            apart = run.kind is k.Kind.V1 or (
                setting.clients is not None and not run.kind.visits
            )
            found |= {h.Unbiased(run), *([h.Independent(run)] if apart else [])}
        if setting.symmetric and setting.sigma2:
            found |= {h.every(k.CLIENTS, n, h.Holds(one)) for one in self.equal}
        if not setting.interchangeable:
            found |= self.numbers.assumed
        if setting.start != "gradients":
            found.add(h.Holds(self.start))
        if setting.zeta2 is not None:
            found.add(h.Holds(self.heterogeneity))
        if setting.eps2 is not None:
            found.add(h.Heterogeneity(ratio(setting.eps2)))
        if setting.G2 is not None:
            found.add(h.BoundedGradients(run, ratio(setting.G2)))
        if setting.reading == "minimum":
            found |= {h.Holds(self.least(s)) for s in range(setting.rounds)}
        return frozenset(found)

    @property
    def equal(self) -> tuple[k.Lin, ...]:
        """``a_n = 1/N`` where N is given, as two forms >= 0."""
        N = self.setting.clients
        away = k.constant(k.weight(n) - Fraction(1, N or 1))
        return () if N is None else (away, -away)

    @cached_property
    def start(self) -> k.Lin:
        """What is known of x(0), as a form >= 0."""
        x = k.iterate(self.run, 0)
        gap = k.value_of(k.MEAN, x) - k.value_of(k.MEAN, STAR)
        known = k.norm2(x - STAR) if self.setting.start == "distance" else gap
        return k.constant(self.setting.initial) - known

    @cached_property
    def heterogeneity(self) -> k.Lin:
        """``zeta^2 - sum_n a_n ||grad F_n(x*)||^2``."""
        each = k.norm2(k.gradient(k.Local(n), STAR)) * k.weight(n)
        return k.constant(self.setting.zeta2 or 0) - k.summed(k.CLIENTS, n, each)

    def least(self, s: int) -> k.Lin:
        """Return ``||grad f(x(s))||^2 - m``: m is at most the least of them."""
        return self.slope2(s) - k.constant(k.symbol(LEAST))

    @property
    def order(self) -> tuple[tuple[int, int], ...]:
        """The visits of round 0 in their order."""
        setting, steps = self.setting, range(self.setting.tau)
        if not self.run.kind.visits:
            return ()
        if setting.order == "interleaved":
            return tuple((p, i) for i in steps for p in setting.turn(0, i))
        return tuple((p, i) for p in setting.turn(0, 0) for i in steps)

    @property
    def model(self) -> ModelData | None:
        """Clients with ``q/2 x^2``, q = mu or S, started as far away as is allowed."""
        setting = self.setting
        rates, G2 = setting.client_steps, setting.G2
        q, falling = setting.mu or setting.S, sorted(rates, reverse=True) == [*rates]
        if q * rates[0] > 2 or not falling:
            return None
        weights = (
            setting.weights or (Fraction(1, count := setting.clients or 1),) * count
        )
        known = {"distance": ONE, "gap": 2 / q, "gradients": None}[setting.start]
        far = [] if known is None else [known * setting.initial]
        far += [] if G2 is None else [max(ZERO, G2 - setting.sigma2) / q**2]
        x = Fraction(isqrt(int(min(far) * 4**20)), 2**20)
        return ModelData(
            (x,),
            {LEAST: ZERO} if setting.reading == "minimum" else {},
            functions=((((q,),), (ZERO,), ()),) * len(weights),
            weights=weights,
            participation=setting.participation,
            order=self.order,
            rounds=setting.rounds,
            stars={k.MEAN: (ZERO,)},
            box=() if G2 is None else ((-x, x),),
        )

    def bounded_gradient(self, at: Point) -> Theorem:
        """Return ``||g||^2 <= G^2`` of the step at a local point, with any noise."""
        G2 = ratio(self.setting.G2 or 0)
        if not self.setting.sigma2:
            lemma = bounded(self.run, G2, at.i)
            return rules.instantiate(lemma, ((t, ratio(at.t)),), ())
        return derived.bounded_gradient(self.run, G2, n, ratio(at.t), ratio(at.i))

    def on_client(
        self, says: Inequality, at: Callable[[Point], k.Vec]
    ) -> Theorem | None:
        """Return what an assumption says of client n, or of the start.

        Args:
            says: which inequality.
            at: a point of client n.

        Returns:
            The theorem; None if the inequality is of another kind.
        """
        setting, run, point, S = self.setting, self.run, says.at, ratio(self.setting.S)
        if says.kind in {"start-distance", "start-gap"}:
            return rules.assume(self.start)
        if point is None:
            return None
        s, i, local = ratio(point.t), ratio(point.i), point.kind == "local"
        if says.kind == "at-least" and point == Point("round", point.t):
            return rules.assume(self.least(point.t))
        if says.kind == "interpolation" and says.other is not None:
            return interpolated(S, self.modulus, at(point), at(says.other))
        if says.kind == "dissimilarity" and setting.eps2 is not None and not point.i:
            x = at(Point("round", point.t) if local else point)
            return derived.heterogeneity(ratio(setting.eps2), n, x)
        if says.kind == "bounded-gradient" and setting.G2 is not None and local:
            known = self.bounded_gradient(point)
            if not setting.sigma2:
                return known
            g = k.gradient(k.Local(n), at(point))
            return combine(known, (derived.unbiased(run, n, s, i, g), 2))
        if says.kind == "variance" and local and says.space is None:
            return derived.variance(run, ratio(setting.sigma2), n, s, i)
        return None


def through(rates: tuple[Fraction, ...]) -> Ratio:
    """Return step sizes as a function of the round: constant, 1/linear or polynomial.

    Args:
        rates: of rounds 0, 1, ...

    Returns:
        A number of `ROUND` with these values.
    """
    round_ = k.symbol(k.ROUND)
    if len(set(rates)) == 1:
        return ratio(rates[0])
    if min(rates) > 0:
        first, slope = 1 / rates[0], 1 / rates[1] - 1 / rates[0]
        if slope > 0 and all(1 / c == first + slope * s for s, c in enumerate(rates)):
            return 1 / (first + slope * round_)
    out = ratio(0)
    for s, c in enumerate(rates):
        term = ratio(c)
        for other in {*range(len(rates))} - {s}:
            term = term * ((round_ - other) * Fraction(1, s - other))
        out = out + term
    return out
