"""From a certificate to a theorem of the kernel: FedAvg, SFL-V1, MiniBatch-SFL.

A certificate says how much of which inequality to take. Here each one is derived from
the assumptions by the kernel's rules; `assembly` adds them up. Where N is not given the
theorem is for all N and for arbitrary weights, not only for equal ones.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Rejected, Sort, ratio
from sfl_theory.kernel.moments import evaluated
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs.export import ModelData, Statement, document, model_of
from sfl_theory.proofs.notation import combine, sum_over
from sfl_theory.proofs.single_noise import centred, small_deviation, small_mean
from sfl_theory.proofs.unrolled import block, interpolated, mean, n, t
from sfl_theory.worst_case.assembly import SIDES, Assembly
from sfl_theory.worst_case.certificate import Atom, Certificate, Inequality, Point
from sfl_theory.worst_case.setting import ONE, ZERO, Setting

STAR = k.vec(k.Star(k.MEAN))
LEAST = k.Var("m", Sort.NONNEGATIVE)
MOST_RATES = 60
FIELDS = {
    "start-distance": "",
    "start-gap": "",
    "heterogeneity": "",
    "interpolation": "at other",
    "dissimilarity": "at",
    "bounded-gradient": "at",
    "variance": "at space",
    "unbiased": "at vector space",
    "lowest": "at",
    "at-least": "at",
}
"""What the inequalities of each kind name; anything else has to be left out."""
Where = tuple[int, int]


@dataclass(frozen=True)
class Proved:
    """A certificate's statement and the theorem that is it.

    Attributes:
        statement: hypotheses, metric and bound in the kernel's terms.
        theorem: ``bound - metric >= 0`` from no more than these hypotheses.
        model: a run that meets the hypotheses, or None.
    """

    statement: Statement
    theorem: Theorem
    model: ModelData | None

    def document(self) -> str:
        """Return the file for the standalone checker.

        Returns:
            JSON, see ``docs/trusted-base.md``.
        """
        models = {self.statement.id: self.model} if self.model else {}
        return document([(self.statement, self.theorem)], witnesses=models)


def prove(certificate: Certificate) -> Proved:
    """Return the theorem that a certificate proves.

    Args:
        certificate: in means and deviations, not of SFL-V2.

    Returns:
        Statement and theorem.

    Raises:
        ValueError: no derivation is known, or the certificate proves no such bound.
    """
    setting = certificate.setting
    refuse(setting)
    derivation = _Derivation(setting)
    statement = derivation.stated(certificate.bound)
    target = statement.right - statement.left
    noisy = setting.sigma2 > 0
    parts = Assembly(derivation.run, setting.rounds, setting.S, noisy, target)
    if setting.zeta2 == 0:
        parts.vanish(rules.assume(derivation.heterogeneity))
    derivation.add(certificate, parts)
    theorem = parts.proved(certificate.squares)
    model = derivation.model
    return Proved(
        statement, theorem, model if model and _meets(model, statement) else None
    )


def _meets(model: ModelData, one: Statement) -> bool:
    """Return whether a model meets a statement's hypotheses, as far as can be seen."""
    try:
        evaluated(model_of(model), one.hypotheses, one.left, one.right)
    except Rejected:
        return False
    return True


def refuse(setting: Setting) -> None:
    """Refuse what no derivation is known for.

    Args:
        setting: a run and a class of problems.

    Raises:
        ValueError: says why.
    """
    several = (
        max(setting.tau, setting.late) > 1 and setting.algorithm != "minibatch-sfl"
    )
    refused = (
        (
            setting.algorithm == "sfl-v2",
            "sfl-v2: the kernel names no single client, and its proofs are of runs in "
            "which the clients are alike",
        ),
        (
            setting.clients is not None and not setting.symmetric,
            "the kernel names no single client: its proofs are for all N",
        ),
        (
            setting.symmetric and setting.sigma2 > 0 and several,
            "no proof of several noisy local steps for N given: it needs that a "
            "client's noise is orthogonal to the others' later steps",
        ),
        (
            setting.rounds > MOST_RATES and len(set(setting.client_steps)) > 1,
            f"no proof of more than {MOST_RATES} rounds with steps of their own",
        ),
    )
    for wrong, words in refused:
        if wrong:
            raise ValueError(words)


@dataclass(frozen=True)
class _Derivation:
    setting: Setting

    def stated(self, bound: Fraction) -> Statement:
        """Return what is claimed."""
        setting = self.setting
        name = f"worst-case/{setting.algorithm}/{setting.metric}"
        return Statement(name, self.assumed, self.metric, k.constant(bound))

    # The statement -----------------------------------------------------------------

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
        shared = setting.algorithm == "minibatch-sfl"
        kind = k.Kind.MINIBATCH if shared else k.Kind.V1
        return k.Split(kind, k.Participants.EVERYONE, client, server)

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
            apart = setting.algorithm != "minibatch-sfl" or setting.clients is not None
            found |= {h.Unbiased(run), *([h.Independent(run)] if apart else [])}
            found |= {h.every(k.CLIENTS, n, h.Holds(one)) for one in self.equal}
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
    def model(self) -> ModelData | None:
        """Clients with ``q/2 x^2``, q = mu or S, started as far away as is allowed."""
        setting = self.setting
        rates, G2 = setting.client_steps, setting.G2
        q, falling = setting.mu or setting.S, sorted(rates, reverse=True) == [*rates]
        if q * rates[0] > 2 or not falling:
            return None
        count = setting.clients or 1
        known = {"distance": ONE, "gap": 2 / q, "gradients": None}[setting.start]
        far = [] if known is None else [known * setting.initial]
        far += [] if G2 is None else [max(ZERO, G2 - setting.sigma2) / q**2]
        x = Fraction(isqrt(int(min(far) * 4**20)), 2**20)
        return ModelData(
            (x,),
            {LEAST: ZERO} if setting.reading == "minimum" else {},
            functions=((((q,),), (ZERO,), ()),) * count,
            weights=(Fraction(1, count),) * count,
            rounds=setting.rounds,
            stars={k.MEAN: (ZERO,)},
            box=() if G2 is None else ((-x, x),),
        )

    # The inequalities ----------------------------------------------------------------

    def add(self, certificate: Certificate, parts: Assembly) -> None:
        """Add the certificate's inequalities.

        Raises:
            ValueError: no derivation of one is known.
        """
        own: dict[Where, k.Vec] = defaultdict(lambda: k.Vec({}))
        common: dict[Where, k.Vec] = defaultdict(lambda: k.Vec({}))
        for says, factor in certificate.uses:
            named = FIELDS.get(says.kind, "").split()
            others = {"client", "at", "other", "vector", "space"} - {*named}
            if any(getattr(says, name) is not None for name in others):
                raise ValueError(f"no derivation of {says}")
            if says.kind != "unbiased":
                parts.use(self.derived(says, parts), factor)
                continue
            if says.at is None or says.space is None or says.vector is None:
                raise ValueError(f"no derivation of {says}")
            where, apart = (says.at.t, says.at.i), says.space.part == "deviation"
            if says.at.kind != "local":
                raise ValueError(f"no derivation of {says}")
            u = block(SIDES[says.space.side], parts.drawn(says.vector)) * -factor
            shared = says.vector.kind == "start"
            if apart and not shared:
                own[where] = own[where] + u
            if not (apart and shared):
                one = u if shared else mean(u)
                common[where] = common[where] + (-one if apart else one)
        for (s, i), u in own.items():
            parts.use(rules.unbiased(self.run, n, ratio(s), ratio(i), u), ONE)
        for (s, i), u in common.items():
            parts.use(centred(self.run, ratio(s), ratio(i), u), ONE)

    def derived(self, says: Inequality, parts: Assembly) -> Theorem:
        """Return an inequality as a theorem, on client n or averaged.

        Raises:
            ValueError: no derivation is known.
        """
        setting, run, at, S = self.setting, self.run, says.at, ratio(self.setting.S)
        if says.kind in {"start-distance", "start-gap"}:
            return rules.assume(self.start)
        if says.kind == "heterogeneity":
            return rules.assume(self.heterogeneity)
        if at is None:
            raise ValueError(f"no derivation of {says}")
        s, i = ratio(at.t), ratio(at.i)
        if says.kind == "interpolation" and says.other is not None:
            return interpolated(S, self.modulus, parts.at(at), parts.at(says.other))
        if says.kind == "dissimilarity" and setting.eps2 is not None and not at.i:
            x = parts.at(Point("round", at.t) if at.kind == "local" else at)
            return rules.heterogeneity(ratio(setting.eps2), n, x)
        local = at.kind == "local"
        if says.kind == "bounded-gradient" and setting.G2 is not None and local:
            known = rules.bounded_gradient(run, ratio(setting.G2), n, s, i)
            if not setting.sigma2:
                return known
            g = parts.drawn(Atom("gradient", None, at))
            return combine(known, (rules.unbiased(run, n, s, i, g), 2))
        if says.kind == "variance":
            return self.variance(says)
        if says.kind == "lowest" and at == Point("round", at.t):
            return self.lowest(at.t)
        if says.kind == "at-least" and at == Point("round", at.t):
            return rules.assume(self.least(at.t))
        raise ValueError(f"no derivation of {says}")

    def variance(self, says: Inequality) -> Theorem:
        """Return the bound of a noise; for N given of its mean or its deviations.

        Raises:
            ValueError: it is of no local step.
        """
        at, sigma2 = says.at, ratio(self.setting.sigma2)
        if at is None or at.kind != "local":
            raise ValueError(f"no derivation of {says}")
        if says.space is None:
            return rules.variance(self.run, sigma2, n, ratio(at.t), ratio(at.i))
        apart = says.space.part == "deviation"
        small = (small_deviation if apart else small_mean)(self.run, sigma2, at.i)
        there = rules.instantiate(small, ((t, ratio(at.t)),), ())
        above, below = (rules.assume(one) for one in self.equal)
        side = above if apart else below
        return combine(there, (sum_over(side, k.CLIENTS, n, k.weight(n)), sigma2))

    def lowest(self, s: int) -> Theorem:
        """Return ``f* <= sum_n a_n F_n(p) - ||g||^2/(2S)``, g the mean gradient."""
        S, x = ratio(self.setting.S), k.iterate(self.run, s)
        p = x if s == self.setting.rounds else k.local_point(self.run, n, s, 0)
        z = x - mean(k.gradient(k.Local(n), p)) * (1 / S)
        each = rules.smooth(k.Local(n), S, p, z)
        return combine(
            sum_over(each, k.CLIENTS, n, k.weight(n)),
            rules.mean_value(z),
            rules.lowest(k.MEAN, z),
        )


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
