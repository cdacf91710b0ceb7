"""From a certificate to a theorem of the kernel, for SFL-V1 and FedAvg and all N.

The certificate says how much of which inequality to take. Here each inequality is
derived from the assumptions by the kernel's rules; `assembly` adds them up. Without
noise the theorem is for arbitrary weights, not only for equal ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    ROUND,
    Kind,
    Lin,
    Local,
    Pace,
    Participants,
    Rate,
    Split,
    Star,
    Var,
    Vec,
    constant,
    gradient,
    iterate,
    local_point,
    natural,
    norm2,
    symbol,
    value_of,
    vec,
    weight,
)
from sfl_theory.proofs.export import Statement, document
from sfl_theory.proofs.notation import clients, combine, sum_over
from sfl_theory.proofs.unrolled import interpolated, mean, n
from sfl_theory.worst_case.assembly import Assembly
from sfl_theory.worst_case.certificate import Certificate, Inequality, Point
from sfl_theory.worst_case.setting import Setting

STAR = vec(Star(MEAN))
LEAST = symbol(Var("m", Sort.NONNEGATIVE))


@dataclass(frozen=True)
class Proved:
    """A certificate's statement and the theorem that is it.

    Attributes:
        statement: hypotheses, metric and bound in the kernel's terms.
        theorem: ``bound - metric >= 0`` from no more than these hypotheses.
    """

    statement: Statement
    theorem: Theorem

    def document(self) -> str:
        """Return the file for the standalone checker.

        Returns:
            JSON, see ``docs/trusted-base.md``.
        """
        return document([(self.statement, self.theorem)])


def prove(certificate: Certificate) -> Proved:
    """Return the theorem that a certificate proves.

    Args:
        certificate: of SFL-V1 or FedAvg for all N, without noise.

    Returns:
        Statement and theorem.

    Raises:
        ValueError: there is no such derivation, or the certificate proves no such bound.
    """
    return _Derivation(certificate.setting).proved(certificate)


@dataclass(frozen=True)
class _Derivation:
    setting: Setting

    def __post_init__(self) -> None:
        setting = self.setting
        refused = (
            (
                setting.algorithm not in {"fedavg", "sfl-v1"},
                f"{setting.algorithm}: proofs are made of fedavg and sfl-v1 only",
            ),
            (
                setting.clients is not None,
                "proofs are made for all N (--clients all): the kernel names no client",
            ),
            (setting.sigma2 > 0, "proofs are made without noise only"),
        )
        for wrong, words in refused:
            if wrong:
                raise ValueError(words)

    def proved(self, certificate: Certificate) -> Proved:
        """Return the theorem."""
        setting = self.setting
        target = constant(certificate.bound) - self.metric
        parts = Assembly(self.run, setting.rounds, setting.S, target)
        for inequality, factor in certificate.uses:
            for theorem, share in self.derived(inequality):
                parts.use(theorem, factor * share)
        theorem = parts.proved(certificate.squares)
        bound = constant(certificate.bound)
        statement = Statement(self.name, self.assumed, self.metric, bound)
        return Proved(statement, theorem)

    @property
    def name(self) -> str:
        """What the claim is called."""
        setting = self.setting
        return f"worst-case/{setting.algorithm}/{setting.metric}"

    @cached_property
    def run(self) -> Split:
        """The run, its steps as functions of the round."""
        setting = self.setting
        client, server = (
            Pace(natural(tau), Rate(through(rates)))
            for tau, rates in (
                (setting.tau, setting.client_steps),
                (setting.late, setting.server_steps),
            )
        )
        return Split(Kind.V1, Participants.EVERYONE, client, server)

    @property
    def modulus(self) -> Ratio:
        """mu, or -S: a function with S-Lipschitz gradient is (-S)-convex."""
        mu = self.setting.mu
        return ratio(-self.setting.S if mu is None else mu)

    def at(self, point: Point | None) -> Vec:
        """Return a point of client n."""
        if point is None:
            raise ValueError("the inequality names no point")
        T = self.setting.rounds
        if point.kind == "star":
            return STAR
        if point.kind == "round":
            return iterate(self.run, point.t)
        if point.kind == "average":
            parts = (iterate(self.run, t) for t in range(T))
            return sum(parts, Vec({})) * Fraction(1, T)
        return local_point(self.run, n, point.t, point.i)

    @cached_property
    def metric(self) -> Lin:
        """What is bounded."""
        setting, T = self.setting, self.setting.rounds
        x = iterate(self.run, T)
        if setting.metric == "distance":
            return norm2(x - STAR)
        if setting.metric == "gap":
            there = self.at(Point("average")) if setting.reading == "average" else x
            return value_of(MEAN, there) - value_of(MEAN, STAR)
        if setting.reading == "minimum":
            return constant(LEAST)
        total = sum(setting.client_steps)
        parts = (
            self.slope2(t) * (eta / total) for t, eta in enumerate(setting.client_steps)
        )
        return sum(parts, Lin({}))

    def slope2(self, t: int) -> Lin:
        """Return ``||grad f(x(t))||^2``."""
        return norm2(gradient(MEAN, iterate(self.run, t)))

    @property
    def assumed(self) -> frozenset[h.Hypothesis]:
        """What the statement assumes."""
        setting = self.setting
        found = {
            h.every(CLIENTS, n, h.Smooth(Local(n), ratio(setting.S))),
            h.every(CLIENTS, n, h.Convex(Local(n), self.modulus)),
            h.every(CLIENTS, n, h.Variance(self.run, n, ratio(0))),
            h.Minimiser(MEAN),
        }
        if setting.start != "gradients":
            found.add(h.Holds(self.start))
        if setting.zeta2 is not None:
            found.add(h.Holds(self.heterogeneity))
        if setting.eps2 is not None:
            found.add(h.Heterogeneity(ratio(setting.eps2)))
        if setting.G2 is not None:
            found.add(h.BoundedGradients(self.run, ratio(setting.G2)))
        if setting.reading == "minimum":
            found |= {h.Holds(self.least(t)) for t in range(setting.rounds)}
        return frozenset(found)

    @cached_property
    def start(self) -> Lin:
        """What is known of x(0), as a form >= 0."""
        x = iterate(self.run, 0)
        gap = value_of(MEAN, x) - value_of(MEAN, STAR)
        known = norm2(x - STAR) if self.setting.start == "distance" else gap
        return constant(self.setting.initial) - known

    @cached_property
    def heterogeneity(self) -> Lin:
        """``zeta^2 - sum_n a_n ||grad F_n(x*)||^2``."""
        each = norm2(gradient(Local(n), STAR)) * weight(n)
        return constant(self.setting.zeta2 or 0) - clients(n, each)

    def least(self, t: int) -> Lin:
        """Return ``||grad f(x(t))||^2 - m``, for m that is at most the least of them."""
        return self.slope2(t) - constant(LEAST)

    def derived(self, says: Inequality) -> Iterable[tuple[Theorem, Fraction]]:
        """Yield the theorems whose sum is an inequality, on client n or averaged."""
        one, S = Fraction(1), ratio(self.setting.S)
        if says.kind == "interpolation":
            x, y = self.at(says.at), self.at(says.other)
            yield interpolated(S, self.modulus, x, y), one
        elif says.kind == "start-distance":
            yield rules.assume(self.start), one
        elif says.kind == "start-gap":
            yield rules.assume(self.start), one
            x, p = iterate(self.run, 0), local_point(self.run, n, 0, 0)
            yield rules.smooth(Local(n), S, x, p), one
        elif says.kind == "heterogeneity":
            yield rules.assume(self.heterogeneity), one
        elif says.kind == "dissimilarity" and self.setting.eps2 is not None:
            point = says.at or Point("star")
            if point.kind == "local":
                point = Point("round", point.t)
            yield rules.heterogeneity(ratio(self.setting.eps2), n, self.at(point)), one
        elif (
            says.kind == "bounded-gradient" and self.setting.G2 is not None and says.at
        ):
            t, i = ratio(says.at.t), ratio(says.at.i)
            yield rules.bounded_gradient(self.run, ratio(self.setting.G2), n, t, i), one
        elif says.kind == "lowest":
            yield self.lowest(says.at), one
        elif says.kind == "at-least" and says.at:
            yield rules.assume(self.least(says.at.t)), one
        else:
            raise ValueError(f"no derivation of {says}")

    def lowest(self, point: Point | None) -> Theorem:
        """Return ``f* <= sum_n a_n F_n(p) - ||g||^2/(2S)``, g the mean of gradients."""
        if point is None:
            raise ValueError("the inequality names no point")
        S, x = ratio(self.setting.S), iterate(self.run, point.t)
        p = (
            x
            if point.t == self.setting.rounds
            else local_point(self.run, n, point.t, 0)
        )
        g = mean(gradient(Local(n), p))
        z = x - g * (1 / S)
        each = rules.smooth(Local(n), S, p, z)
        return combine([
            (sum_over(each, CLIENTS, n, weight(n)), 1),
            (rules.mean_value(z), 1),
            (rules.lowest(MEAN, z), 1),
        ])


def through(rates: tuple[Fraction, ...]) -> Ratio:
    """Return step sizes as a function of the round: constant, 1/linear or polynomial.

    Args:
        rates: of rounds 0, 1, ...

    Returns:
        A number of `ROUND` with these values.
    """
    t = symbol(ROUND)
    if len(set(rates)) == 1:
        return ratio(rates[0])
    if min(rates) > 0:
        first, second = 1 / rates[0], 1 / rates[1]
        slope = second - first
        if slope > 0 and all(1 / c == first + slope * r for r, c in enumerate(rates)):
            return 1 / (first + slope * t)
    out = ratio(0)
    for r, c in enumerate(rates):
        term = ratio(c)
        for other in range(len(rates)):
            if other != r:
                term = term * ((t - other) * Fraction(1, r - other))
        out = out + term
    return out
