"""Certificates over all outcomes of who takes part, as theorems of the kernel.

A certificate's points are where the run is in each outcome: combinations of gradients,
each at such a point. Inequalities hold at any points, so they are derived there; that
the run's metric is their mean over outcomes is `proofs.outcomes`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived
from sfl_theory.proofs.by_number import client, of_client
from sfl_theory.proofs.notation import combine
from sfl_theory.proofs.outcome_means import Mean, Means, Models
from sfl_theory.proofs.outcomes import Outcomes, Path
from sfl_theory.proofs.unrolled import X, Y, atom_of, block, interpolated, n
from sfl_theory.worst_case.assembly import SIDES, Row, fraction
from sfl_theory.worst_case.by_client import ByClient, Drawn
from sfl_theory.worst_case.certificate import (
    Atom,
    Certificate,
    Inequality,
    Point,
    Square,
)
from sfl_theory.worst_case.scenarios import outcomes
from sfl_theory.worst_case.setting import ONE
from sfl_theory.worst_case.single_clients import SingleClients
from sfl_theory.worst_case.stated import STAR


class InOutcomes(SingleClients):
    """Points are where a run is in an outcome: long combinations of gradients.

    They have names, in which all is added up; what the names stand for is put in once.
    Theorems on the points themselves are added after that.
    """

    def __init__(
        self,
        places: Outcomes,
        present: list[tuple[int, ...]],
        S: Fraction,
        target: k.Lin,
        ends: Iterable[tuple[Fraction, k.Vec]] = (),
    ) -> None:
        """Take what is to be shown; in it are squared distances of ends, with shares.

        Of inner products it cannot be told which point they are of, so these are named.
        """
        self.places, self.present, self.whole = places, present, target
        self.visited: dict[k.Vec, None] = {}
        self.names: dict[k.Vec, k.Point] = {}
        self.after: list[tuple[Theorem, Fraction]] = []
        for share, x in ends:
            target = target + k.norm2(x - STAR) * share
        short = self.short(target)
        for share, x in ends:
            short = short - k.norm2(self.name(x) - STAR) * share
        super().__init__(places.numbers, S, places.noisy, short)

    def name(self, x: k.Vec) -> k.Vec:
        """Return the name of a point; one vector is its own."""
        if len(x.coefficients) == 1:
            return x
        return k.vec(self.names.setdefault(x, k.Point(f"y{len(self.names)}")))

    def short(self, form: k.C) -> k.C:
        """Return a combination with names for where functions are taken."""
        found = type(form)({})
        for atom, c in form.coefficients.items():
            new: Any = k.lifted(atom)
            if isinstance(atom, k.Gradient):
                new = k.gradient(atom.function, self.name(atom.at))
            elif isinstance(atom, k.Value):
                new = k.value_of(atom.function, self.name(atom.at))
            elif isinstance(atom, k.Part):
                new = k.part(atom.side, self.short(k.vec(atom.vector)))
            elif isinstance(atom, k.Inner):
                both = (self.short(k.vec(one)) for one in (atom.left, atom.right))
                new = k.inner(*both)
            found = found + new * c
        return found

    def long(self, u: k.Vec) -> k.Vec:
        """Return a combination with points for their names."""
        return k.vec_at(u, {name: x for x, name in self.names.items()})

    def use(self, theorem: Theorem, factor: Fraction) -> None:
        """Add a multiple of a theorem, on names or on points."""
        shown = self.short(theorem.form)
        if shown == theorem.form:
            super().use(theorem, factor)
        elif factor:
            self.after.append((theorem, factor))
            self._read(shown, factor)

    def proved(self, squares: Iterable[Square]) -> Theorem:
        """Return the theorem ``target >= 0``, points in the place of their names."""
        return combine(*self.added(squares), target=self.whole)

    def added(self, squares: Iterable[Square]) -> list[tuple[Theorem, Fraction]]:
        """Return what adds up to all that is used, on points."""
        found = self._whole(squares)
        names = tuple((name, x) for x, name in self.names.items())
        return [(rules.instantiate(found, names, ()), ONE), *self.after]

    def _put_in(self, side: k.Side | None) -> None:
        """Put in what the points that have names are, on names."""
        for x, name in [*self.names.items()]:
            short = block(side, self.short(x)).coefficients.items()
            by: Row = {atom: fraction(c) for atom, c in short}
            self.form.eliminate(atom_of(block(side, k.vec(name))), by)

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
        """Return the name of a point."""
        return self.name(self.place(point, q))

    def place(self, point: Point, q: k.ClientIndex) -> k.Vec:
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


def weighted(means: Iterable[tuple[Mean, Fraction]]) -> Mean:
    """Return the sum of multiples of means."""
    parts, uses = defaultdict[Path, k.Lin](lambda: k.Lin({})), []
    for one, share in means:
        uses.append((one.theorem, share))
        for path, there in one.parts.items():
            parts[path] = parts[path] + there * share
    return Mean(combine(*uses), parts)


@dataclass(frozen=True)
class ByOutcome(ByClient):
    """Inequalities on given clients in every outcome."""

    @cached_property
    def places(self) -> Means:
        """Where the run is in every outcome."""
        setting = self.setting
        odds = tuple(1 / q - 1 for q in setting.participation)
        return Means(self.numbers, ratio(setting.S), odds, setting.sigma2)

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
        setting, link = self.setting, self.link().theorem
        present = [one.present or () for one in outcomes(setting)]
        far = setting.metric == "distance"
        ends = self.places.ends(setting.rounds) if far else ()
        whole = target - link.form
        parts = InOutcomes(self.places, present, setting.S, whole, ends)
        if setting.zeta2 == 0:
            parts.flat = self.spread()
        self.add(certificate, parts)
        found = combine(parts.proved(certificate.squares), link, target=target)
        return self.generalised(found)

    def unbiased(
        self,
        drawn: Drawn,
        uses: Iterable[tuple[Inequality, Fraction]],
        parts: SingleClients,
    ) -> list[Theorem]:
        """Return ``-<xi, u> >= 0`` for all that a noise is orthogonal to.

        Raises:
            ValueError: it is not known before.
        """
        if not isinstance(parts, InOutcomes):
            raise ValueError("no outcomes")
        q, s, step = drawn
        u = k.Vec({})
        for says, factor in uses:
            atom = says.vector or Atom("start")
            name = client(0 if atom.client is None else atom.client)
            side = SIDES[says.space.side] if says.space else None
            u = u + block(side, parts.long(parts.drawn(atom, name))) * -factor
        return [self.numbers.apart((q, step), s, u)]

    def link(self) -> Mean:
        """Return ``mean over outcomes - metric >= 0``."""
        setting, T, places = self.setting, self.setting.rounds, self.places
        if setting.metric == "distance":
            return places.distance(T)
        total = sum(setting.client_steps)
        shares = [eta / total for eta in setting.client_steps]
        if setting.reading == "minimum":
            return Mean(combine(target=k.Lin({})), {})
        if setting.metric == "gradient":
            return weighted((places.slope2(s), c) for s, c in enumerate(shares))
        if setting.reading == "mean":
            return weighted(
                (places.value(((s, ONE),)), c) for s, c in enumerate(shares)
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
            least = rules.assume(self.least(at.t))
            return combine(least, self.places.slope2(at.t).theorem)
        if p is not None and p in self.numbers.clients:
            q = client(p)
            x = parts.at(at, q)
            if says.kind == "interpolation" and says.other is not None:
                ends = (X, x), (Y, parts.at(says.other, q))
                any_two = k.vec(X), k.vec(Y)
                each = interpolated(ratio(setting.S), self.modulus, *any_two)
                return rules.instantiate(of_client(each, p), ends, ())
            if says.kind == "dissimilarity" and setting.eps2 is not None:
                return of_client(derived.heterogeneity(ratio(setting.eps2), n, x), p)
            local = at.kind == "local"
            if says.kind == "variance" and local and says.space is None:
                sigma2 = ratio(setting.sigma2)
                each = derived.variance(self.run, sigma2, n, ratio(at.t), ratio(at.i))
                return of_client(each, p)
            if says.kind == "bounded-gradient" and setting.G2 is not None and local:
                G2, visit = ratio(setting.G2), (p, at.i)
                known = self.places.bounded(G2, parts.path(at), visit)
                if not setting.sigma2:
                    return known
                g = k.gradient(k.Local(q), parts.place(at, q))
                noise = self.numbers.apart((p, at.i), at.t, g)
                return combine(known, (noise, 2))
        raise ValueError(f"no derivation of {says}")
