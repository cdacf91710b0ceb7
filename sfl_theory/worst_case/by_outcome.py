"""Certificates over all outcomes of who takes part, as theorems of the kernel.

A certificate's points are where the run is in each outcome: combinations of gradients,
each at such a point. Inequalities hold at any points, so they are derived there; that
the run's metric is their mean over outcomes is `proofs.outcomes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived
from sfl_theory.proofs.by_number import client, of_client
from sfl_theory.proofs.notation import combine
from sfl_theory.proofs.outcomes import Models, Outcomes, Path
from sfl_theory.proofs.unrolled import interpolated, n
from sfl_theory.worst_case.by_client import ByClient
from sfl_theory.worst_case.certificate import Certificate, Inequality, Point
from sfl_theory.worst_case.scenarios import outcomes
from sfl_theory.worst_case.setting import ONE
from sfl_theory.worst_case.single_clients import SingleClients
from sfl_theory.worst_case.stated import STAR


class InOutcomes(SingleClients):
    """Points are where a run without noise is in an outcome."""

    def __init__(
        self,
        places: Outcomes,
        present: list[tuple[int, ...]],
        S: Fraction,
        target: k.Lin,
    ) -> None:
        self.places, self.present = places, present
        self.visited: dict[k.Vec, None] = {}
        super().__init__(places.numbers, S, noisy=False, target=target)

    def _read(self, form: k.Lin, factor: Fraction) -> None:
        """Enter a form, and where f's gradients in it are."""
        for one in k.subterms(form):
            if isinstance(one, k.Gradient) and one.function is k.MEAN:
                self.visited[one.at] = None
        super()._read(form, factor)

    def models(self) -> Iterable[k.Vec]:
        """Return where f's gradients are."""
        return [x for x in self.visited if x != STAR]

    def first(self, s: int) -> Iterator[int]:
        """Yield nobody: p(n,s,0) is written as x(s)."""
        yield from ()

    def path(self, point: Point) -> Path:
        """Return who takes part up to a point.

        Raises:
            ValueError: there is no such outcome.
        """
        if any(one >= len(self.present) for one in point.past):
            raise ValueError(f"no outcome leads to {point}")
        return tuple(self.present[one] for one in point.past)

    def at(self, point: Point, q: k.ClientIndex) -> k.Vec:
        """Return where a point is.

        Raises:
            ValueError: its outcome has more or fewer rounds.
        """
        path, places, rounds = self.path(point), self.places, point.t
        if point.kind == "star":
            return STAR
        if point.kind == "local" and len(path) == rounds + 1:
            if not isinstance(q, k.Numbered) or q.number not in path[-1]:
                raise ValueError(f"client {q} is not at {point}")
            return places.local(path, (q.number, point.i))[0]
        rounds = self.rounds - 1 if point.kind == "average" else rounds
        if point.kind == "local" or len(path) != rounds:
            raise ValueError(f"no outcome leads to {point}")
        if point.kind == "round":
            return places.model(path)[0]
        parts = (places.model(path[:s])[0] for s in range(self.rounds))
        return sum(parts, k.Vec({})) * Fraction(1, self.rounds)


@dataclass(frozen=True)
class ByOutcome(ByClient):
    """Inequalities on given clients in every outcome."""

    @cached_property
    def places(self) -> Outcomes:
        """Where the run is in every outcome."""
        setting = self.setting
        odds = tuple(1 / q - 1 for q in setting.participation)
        return Outcomes(self.numbers, ratio(setting.S), odds)

    @property
    def assumed(self) -> frozenset[h.Hypothesis]:
        """What the statement assumes."""
        return super().assumed | self.places.assumed

    def proved(self, certificate: Certificate, target: k.Lin) -> Theorem:
        """Return the theorem ``target >= 0``.

        Args:
            certificate: with vectors of single clients in every outcome.
            target: bound minus metric.

        Returns:
            The theorem.

        Raises:
            ValueError: the certificate does not prove it.
        """
        setting, link = self.setting, self.link()
        present = [one.present or () for one in outcomes(setting)]
        parts = InOutcomes(self.places, present, setting.S, target - link.form)
        if setting.zeta2 == 0:
            parts.flat = self.spread()
        self.add(certificate, parts)
        found = combine(parts.proved(certificate.squares), link, target=target)
        return self.generalised(found)

    def link(self) -> Theorem:
        """Return ``mean over outcomes - metric >= 0``."""
        setting, T, places = self.setting, self.setting.rounds, self.places
        if setting.metric == "distance":
            return places.distance(T, STAR)
        total = sum(setting.client_steps)
        shares = [eta / total for eta in setting.client_steps]
        if setting.reading == "minimum":
            return combine(target=k.Lin({}))
        if setting.metric == "gradient":
            each = [(places.slope2(s), c) for s, c in enumerate(shares)]
            return combine(*each)
        if setting.reading == "mean":
            return combine(
                *((places.value(((s, ONE),)), c) for s, c in enumerate(shares))
            )
        last: Models = ((T, ONE),)
        average = tuple((s, Fraction(1, T)) for s in range(T))
        return places.value(last if setting.reading == "last" else average)

    def derived(self, says: Inequality, parts: SingleClients) -> Theorem:
        """Return an inequality as a theorem.

        Raises:
            ValueError: no derivation is known.
        """
        at, p, setting = says.at, says.client, self.setting
        if not isinstance(parts, InOutcomes):
            raise ValueError("no outcomes")
        if at is None:
            return super().derived(says, parts)
        if says.kind == "lowest" and p is None and at.kind == "round":
            return self.lowest(parts.at(at, n))
        if (
            says.kind == "at-least"
            and at == Point("round", at.t)
            and at.t < setting.rounds
        ):
            return combine(rules.assume(self.least(at.t)), self.places.slope2(at.t))
        if p is not None and p in self.numbers.clients:
            q = client(p)
            x = parts.at(at, q)
            if says.kind == "interpolation" and says.other is not None:
                ends = x, parts.at(says.other, q)
                each = interpolated(ratio(setting.S), self.modulus, *ends)
                return of_client(each, p)
            if says.kind == "dissimilarity" and setting.eps2 is not None:
                return of_client(derived.heterogeneity(ratio(setting.eps2), n, x), p)
            local = at.kind == "local"
            if says.kind == "bounded-gradient" and setting.G2 is not None and local:
                G2, path = ratio(setting.G2), parts.path(at)
                return self.places.bounded(G2, path, (p, at.i))
        raise ValueError(f"no derivation of {says}")
