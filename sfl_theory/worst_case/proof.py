"""From a certificate to a theorem of the kernel: FedAvg, SFL-V1, MiniBatch-SFL.

A certificate says how much of which inequality to take. Here each one is derived from
the assumptions by the kernel's rules; `assembly` adds them up. Where N is not given the
theorem is for all N and for arbitrary weights, not only for equal ones.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Rejected, ratio
from sfl_theory.kernel.moments import evaluated
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived
from sfl_theory.proofs.export import ModelData, Statement, document, model_of
from sfl_theory.proofs.notation import combine, sum_over
from sfl_theory.proofs.unrolled import (
    block,
    mean,
    n,
    small_deviation,
    small_mean,
    t,
    vanishing,
)
from sfl_theory.worst_case.assembly import SIDES, Assembly
from sfl_theory.worst_case.by_chain import ByChain
from sfl_theory.worst_case.by_client import ByClient
from sfl_theory.worst_case.by_outcome import ByOutcome
from sfl_theory.worst_case.certificate import Certificate, Inequality, Point
from sfl_theory.worst_case.chains import noise_after_draws
from sfl_theory.worst_case.noisy import Noisy
from sfl_theory.worst_case.positions import Positions
from sfl_theory.worst_case.scenarios import count
from sfl_theory.worst_case.setting import ONE, Setting
from sfl_theory.worst_case.stated import Stated

MOST_RATES, MOST_OUTCOMES = 60, 64
FIELDS = {
    "start-distance": "",
    "start-gap": "",
    "heterogeneity": "",
    "interpolation": "at other",
    "dissimilarity": "at",
    "bounded-gradient": "at",
    "variance": "at space",
    "unbiased": "at vector space",
    "across": "at vector space",
    "lowest": "at",
    "at-least": "at",
}
"""What the inequalities of each kind name; anything else has to be left out."""
_ORTHOGONAL = ("own", "common", "across")
"""A noise is orthogonal to what n has seen, to averages, to what other clients have."""
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


def prove(certificate: Certificate, sparse: bool = False) -> Proved:
    """Return the theorem that a certificate proves.

    Args:
        certificate: in means and deviations, not of SFL-V2.
        sparse: whether its squares may be replaced by fewer of positions.

    Returns:
        Statement and theorem.

    Raises:
        ValueError: no derivation is known, or the certificate proves no such bound.
    """
    setting = certificate.setting
    refuse(setting)
    given = ByClient
    if setting.partial:
        given = ByChain if noise_after_draws(setting) else ByOutcome
    kind = Alike if setting.interchangeable else given
    derivation = kind(setting, sparse)
    statement = derivation.stated(certificate.bound)
    theorem = derivation.proved(certificate, statement.right - statement.left)
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
    refused = (
        (setting.visits is not None, "no proof of SFL-V2's visits for all N at once"),
        (setting.two_point, "no proof of noise of two values, one by one"),
        (
            setting.partial and count(setting) > MOST_OUTCOMES,
            f"no proof of more than {MOST_OUTCOMES} outcomes",
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
class Alike(Stated):
    """Inequalities on client n and averages, where clients are interchangeable.

    Attributes:
        sparse: whether squares may be replaced by fewer of positions.
    """

    sparse: bool = False

    def proved(self, certificate: Certificate, target: k.Lin) -> Theorem:
        """Return the theorem ``target >= 0``.

        Args:
            certificate: in means and deviations.
            target: bound minus metric.

        Returns:
            The theorem.
        """
        setting = self.setting
        noisy = setting.sigma2 > 0
        short = self.sparse and setting.stepwise
        positions = Noisy if noisy else Positions
        parts = (positions if short else Assembly)(
            self.run, setting.rounds, setting.S, noisy, target
        )
        if setting.zeta2 == 0:
            parts.vanish(rules.assume(self.heterogeneity))
        self.add(certificate, parts)
        return parts.proved(certificate.squares)

    def add(self, certificate: Certificate, parts: Assembly) -> None:
        """Add the certificate's inequalities.

        Raises:
            ValueError: no derivation of one is known.
        """
        groups: dict[str, dict[Where, k.Vec]]
        groups = {kind: defaultdict(lambda: k.Vec({})) for kind in _ORTHOGONAL}
        for says, factor in certificate.uses:
            named = FIELDS.get(says.kind, "").split()
            others = {"client", "at", "other", "vector", "space"} - {*named}
            if any(getattr(says, name) is not None for name in others):
                raise ValueError(f"no derivation of {says}")
            if says.kind not in {"unbiased", "across"}:
                parts.use(self.derived(says, parts), factor)
                continue
            if says.kind == "unbiased" and parts.orthogonal:
                continue
            at, space, vector = says.at, says.space, says.vector
            if at is None or space is None or vector is None or at.kind != "local":
                raise ValueError(f"no derivation of {says}")
            u = block(SIDES[space.side], parts.drawn(vector)) * -factor
            apart, shared = space.part == "deviation", vector.kind == "start"
            found: dict[str, k.Vec] = {}
            if says.kind == "across":
                found["across"] = u
            elif not apart:
                found["common"] = u if shared else mean(u)
            elif not shared:
                found = {"own": u, "common": -mean(u)}
            for kind, v in found.items():
                groups[kind][at.t, at.i] = groups[kind][at.t, at.i] + v
        derive = (self.unbiased, self.unbiased, self.across)
        for kind, theorem in zip(_ORTHOGONAL, derive, strict=True):
            for (s, i), u in groups[kind].items():
                parts.use(theorem(s, i, u), ONE)

    def unbiased(self, s: int, i: int, u: k.Vec) -> Theorem:
        """Return ``<xi(n,s,i), u> = 0`` for u that clients have seen."""
        return derived.unbiased(self.run, n, ratio(s), ratio(i), u)

    def across(self, s: int, i: int, u: k.Vec) -> Theorem:
        """Return ``N <xi(n,s,i), mean u> - <xi(n,s,i), u> >= 0`` for N given, u any."""
        N, other = self.setting.clients or 1, k.Client("m")
        xi = k.noise(self.run, n, s, i)
        each = k.vec_at(u, {n: other}) * k.weight(other)
        away = rules.unbiased_across(self.run, n, ratio(s), ratio(i), other, each)
        signs = tuple(map(rules.assume, self.equal))
        own = vanishing(N * k.weight(n) - 1, xi, u, signs)
        target = k.inner(xi, mean(u)) * N - k.inner(xi, u)
        return combine((away, N), own, target=target)

    def derived(self, says: Inequality, parts: Assembly) -> Theorem:
        """Return an inequality as a theorem, on client n or averaged.

        Raises:
            ValueError: no derivation is known.
        """
        if says.kind == "heterogeneity":
            return rules.assume(self.heterogeneity)
        at = says.at
        if says.kind == "variance" and says.space is not None and at is not None:
            return self.small(at, says.space.part == "deviation")
        if says.kind == "lowest" and at is not None and at == Point("round", at.t):
            return self.lowest(at.t)
        noisy = parts.orthogonal and at is not None and at.kind == "local"
        if says.kind == "bounded-gradient" and at is not None and noisy:
            return self.bounded_gradient(at)
        known = self.on_client(says, parts.at)
        if known is None:
            raise ValueError(f"no derivation of {says}")
        return known

    def small(self, at: Point, apart: bool) -> Theorem:
        """Return the bound of a noise's mean or of its deviations, for N given.

        Raises:
            ValueError: it is of no local step.
        """
        if at.kind != "local":
            raise ValueError(f"no noise is drawn at {at}")
        sigma2 = ratio(self.setting.sigma2)
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
            derived.lowest(k.MEAN, z),
        )
