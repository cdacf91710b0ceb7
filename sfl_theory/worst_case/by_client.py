"""The inequalities of a certificate on given clients, derived from the assumptions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived
from sfl_theory.proofs.by_number import client, m, of_client
from sfl_theory.proofs.notation import combine, sum_over
from sfl_theory.proofs.unrolled import block, n
from sfl_theory.worst_case.assembly import SIDES
from sfl_theory.worst_case.certificate import Atom, Certificate, Inequality, Point
from sfl_theory.worst_case.noisy_visits import NoisyVisits
from sfl_theory.worst_case.setting import ONE
from sfl_theory.worst_case.single_clients import SingleClients
from sfl_theory.worst_case.stated import STAR, Stated
from sfl_theory.worst_case.visited import Visited

FIELDS = {
    "start-distance": "",
    "start-gap": "",
    "heterogeneity": "",
    "interpolation": "client at other",
    "dissimilarity": "client at",
    "bounded-gradient": "client at",
    "variance": "client at",
    "unbiased": "client at vector space",
    "lowest": "at",
    "at-least": "at",
}
"""What the inequalities of each kind name; anything else has to be left out."""
WHOLE = {"start-distance", "start-gap", "at-least"}
Drawn = tuple[int, int, int]
"""Client, round and step of a noise."""


@dataclass(frozen=True)
class ByClient(Stated):
    """Inequalities on given clients.

    Attributes:
        sparse: whether squares may be replaced by fewer of positions.
    """

    sparse: bool = False

    def proved(self, certificate: Certificate, target: k.Lin) -> Theorem:
        """Return the theorem ``target >= 0``.

        Args:
            certificate: with vectors of single clients.
            target: bound minus metric.

        Returns:
            The theorem.

        Raises:
            ValueError: the certificate does not prove it.
        """
        setting = self.setting
        short = self.sparse and setting.stepwise
        visited = NoisyVisits if setting.sigma2 else Visited
        parts = (visited if short else SingleClients)(
            self.numbers, setting.S, setting.sigma2 > 0, target
        )
        if setting.zeta2 == 0:
            parts.flat = self.spread()
        self.add(certificate, parts)
        return self.generalised(parts.proved(certificate.squares))

    def generalised(self, found: Theorem) -> Theorem:
        """Return a theorem that assumes of all clients what it does of single ones."""
        for whole in self.assumed:
            if isinstance(whole, h.Every) and whole.binder is k.CLIENTS:
                v, inside = whole.opened()
                for q in map(client, self.numbers.clients):
                    if k.at(inside, {v: q}) in found.hypotheses:
                        found = rules.specialise(found, whole, q)
        return found

    def add(self, certificate: Certificate, parts: SingleClients) -> None:
        """Add the certificate's inequalities.

        Raises:
            ValueError: no derivation of one is known.
        """
        beside: dict[Drawn, list[tuple[Inequality, Fraction]]] = defaultdict(list)
        for says, factor in certificate.uses:
            named = FIELDS.get(says.kind, "").split()
            for name in ("client", "at", "other", "vector", "space"):
                if (getattr(says, name) is not None) != (name in named):
                    raise ValueError(f"no derivation of {says}")
            if says.kind == "unbiased" and parts.orthogonal:
                continue
            if says.kind == "unbiased" and says.at and says.at.kind == "local":
                drawn = (says.client or 0, says.at.t, says.at.i)
                beside[drawn].append((says, factor))
            else:
                parts.use(self.derived(says, parts), factor)
        for drawn, uses in beside.items():
            for theorem in self.unbiased(drawn, uses, parts):
                parts.use(theorem, ONE)

    def unbiased(
        self,
        drawn: Drawn,
        uses: Iterable[tuple[Inequality, Fraction]],
        parts: SingleClients,
    ) -> list[Theorem]:
        """Return ``-<xi, u> >= 0`` for all that a noise is orthogonal to.

        What SFL-V2's other clients have in this round comes from visits before; of each
        client the last one that matters is named. Otherwise others are independent, but
        MiniBatch-SFL's have seen all steps before.

        Raises:
            ValueError: it is not known before.
        """
        q, s, step = drawn
        own, others = k.Vec({}), dict[int, tuple[int, k.Vec]]()
        for says, factor in uses:
            atom = says.vector or Atom("start")
            at, who = atom.point or Point("star"), atom.client or 0
            side = SIDES[says.space.side] if says.space else None
            visited = self.run.kind.visits and at.kind == "local" and at.t == s
            name = n if who == q else m if visited else client(who)
            u = block(side, parts.drawn(atom, name)) * -factor
            if name is not m:
                own = own + u
            else:
                last, before = others.get(who, (0, k.Vec({})))
                others[who] = max(last, at.i), before + u
        own = k.vec_at(own, {n: client(q)})
        found = [self.numbers.apart((q, step), s, own)]
        for p, (last, u) in others.items():
            found.append(self.numbers.orthogonal((q, step), (p, last), s, u))
        return found

    def derived(self, says: Inequality, parts: SingleClients) -> Theorem:
        """Return an inequality as a theorem.

        Raises:
            ValueError: no derivation is known.
        """
        if says.kind == "heterogeneity":
            return self.spread()
        at, p = says.at, says.client
        if says.kind == "lowest" and at is not None and at.kind == "round":
            return self.lowest(k.iterate(self.run, at.t))
        noisy = parts.orthogonal and at is not None and at.kind == "local"
        known = self.on_client(says, lambda point: parts.at(point, n))
        if says.kind == "bounded-gradient" and at is not None and noisy:
            known = self.bounded_gradient(at)
        if known is not None and says.kind in {
            "start-distance",
            "start-gap",
            "at-least",
        }:
            return known
        if known is None or p is None or p not in self.numbers.clients:
            raise ValueError(f"no derivation of {says}")
        return of_client(known, p)

    def spread(self) -> Theorem:
        """Return ``zeta^2 - sum_p v_p ||grad F_p(x*)||^2 >= 0``, v the weights."""
        g, bound = k.gradient(k.Local(n), STAR), self.setting.zeta2 or Fraction(0)
        return self.numbers.spread(rules.assume(self.heterogeneity), g, bound)

    def lowest(self, x: k.Vec) -> Theorem:
        """Return ``f* <= f(x) - ||grad f(x)||^2/(2S)``."""
        S, gf = ratio(self.setting.S), k.gradient(k.MEAN, x)
        z = x - gf * (1 / S)
        each = rules.smooth(k.Local(n), S, x, z)
        g = k.gradient(k.Local(n), x) * k.weight(n)
        return combine(
            sum_over(each, k.CLIENTS, n, k.weight(n)),
            rules.mean_value(x),
            (rules.mean_value(z), -1),
            rules.linear(k.CLIENTS, n, g, z - x),
            rules.mean_gradient(x, z - x),
            derived.lowest(k.MEAN, z),
        )
