"""Certificates over outcomes with noise in several rounds, as theorems of the kernel.

Noise of a round may depend on who took part before. So points that it makes are terms
only beside the indicator K of the rounds before, their chain; inequalities and squares
of one chain are added up there, and then expected. What is left of each form depends on
fewer rounds: beside the K' of these its mean is its share of K'.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs.by_number import client
from sfl_theory.proofs.notation import Use, combine
from sfl_theory.proofs.outcome_means import Mean
from sfl_theory.proofs.outcomes import Path
from sfl_theory.proofs.unrolled import atom_of, block
from sfl_theory.worst_case.by_outcome import ByOutcome, InOutcomes, weighted
from sfl_theory.worst_case.certificate import (
    Atom,
    Certificate,
    Inequality,
    Point,
    Square,
)
from sfl_theory.worst_case.scenarios import outcomes
from sfl_theory.worst_case.setting import ONE
from sfl_theory.worst_case.single_clients import STAR


class InChain(InOutcomes):
    """Theorems beside one indicator; their sum's values cancel with other chains'."""

    def _values(self) -> None:
        self._means()

    def read(self, form: k.Lin, factor: Fraction) -> None:
        """Enter a form that is added beside the indicator."""
        self._read(self.short(form), factor)

    def still(self, spread: Theorem, rest: k.Lin, K: Ratio) -> tuple[list[Use], k.Lin]:
        """Return ``-K <g, u> = 0`` for gradients g at x*, and the rest without them.

        That they vanish is known on average, so K stands in u.
        """
        self.flat, uses = spread, list[Use]()
        for p in self.numbers.clients:
            g, none = self._flat_at(p)
            for side in self.sides:
                one, u = atom_of(block(side, g)), k.Vec({})
                for atom, by in rest.coefficients.items():
                    if isinstance(atom, k.Inner) and one in {atom.left, atom.right}:
                        other = atom.right if atom.left is one else atom.left
                        u = u + k.vec(other) * by
                uses.append((rules.vanish(none, g, block(side, u) * K), -1))
                rest = rest - k.inner(block(side, g), u)
        return uses, rest


@dataclass
class Said:
    """What a certificate says beside an indicator."""

    uses: list[tuple[Inequality, Fraction]] = field(default_factory=list)
    bounds: list[tuple[Inequality, Fraction]] = field(default_factory=list)
    squares: list[Square] = field(default_factory=list)


@dataclass(frozen=True)
class ByChain(ByOutcome):
    """Inequalities on given clients, chain by chain."""

    def proved(self, certificate: Certificate, target: k.Lin) -> Theorem:
        """Return the theorem ``target >= 0``.

        Args:
            certificate: of inequalities and squares of one chain each.
            target: bound minus metric.

        Returns:
            The theorem.

        Raises:
            ValueError: the certificate does not prove it.
        """
        least, others = self.split(certificate)
        link = weighted([(self.link(), ONE), *least])
        uses: list[Use] = [(link.theorem, 1), *others]
        said = self.by_chain(certificate)
        for path in {**said, **link.parts}:
            there = link.parts.get(path, k.Lin({})) * -self.chance(path)
            parts = InChain(
                self.places, self.present, self.setting.S, there, self.far(path)
            )
            here, K = said.get(path, Said()), self.places.indicator(path)
            c, more = self.chance(path), k.Lin({})
            for says, by in here.bounds:
                known, form = self.bounded(says)
                uses.append((known, by / c))
                parts.read(form, by)
                more = more + form * by
            self.add(replace(certificate, uses=tuple(here.uses)), parts)
            found = combine(*parts.added(here.squares))
            rest = found.form - there + more
            if self.setting.zeta2 == 0:
                still, rest = parts.still(self.spread(), rest, K * (1 / c))
                uses += still
            uses += self.expected(found, path, rest)
        return self.generalised(combine(*uses, target=target))

    def split(
        self, certificate: Certificate
    ) -> tuple[list[tuple[Mean, Fraction]], list[Use]]:
        """Return what is expected of the least metric, and that it is the least.

        Raises:
            ValueError: a certificate speaks of another one.
        """
        means, uses = list[tuple[Mean, Fraction]](), list[Use]()
        for says, by in certificate.uses:
            if says.kind == "at-least":
                t = says.at.t if says.at else self.setting.rounds
                at = Inequality("at-least", at=Point("round", t))
                if says != at or t >= self.setting.rounds:
                    raise ValueError(f"no derivation of {says}")
                means.append((self.places.slope2(t), by))
                uses.append((rules.assume(self.least(t)), by))
        return means, uses

    def bounded(self, says: Inequality) -> tuple[Theorem, k.Lin]:
        """Return ``K (G2 - ||grad F_p(y)||^2 - ||xi||^2) >= 0``, and it without K.

        Raises:
            ValueError: no derivation is known.
        """
        p, at, places = says.client, says.at, self.places
        plain = Inequality("bounded-gradient", p, at)
        if p is None or p not in self.numbers.clients or at is None or says != plain:
            raise ValueError(f"no derivation of {says}")
        path, visit, G2 = self.path(at), (p, at.i), ratio(self.setting.G2 or 0)
        y = self.where(at, p)
        g = k.gradient(k.Local(client(p)), y)
        xi = k.noise(self.run, client(p), at.t, at.i)
        K = places.indicator(places.known(path))
        form = k.constant(G2) - k.norm2(g) - k.norm2(xi)
        apart = self.numbers.apart(visit, at.t, g)
        known = places.bounded(G2, path, visit)
        return combine(known, (apart, K * 2), target=form * K), form

    @property
    def present(self) -> list[tuple[int, ...]]:
        """Who takes part in each outcome of a round."""
        return [one.present or () for one in outcomes(self.setting)]

    def chance(self, path: Path) -> Fraction:
        """Return the probability of a path."""
        found = Fraction(1)
        for here in path:
            for p, q in enumerate(self.setting.participation):
                found *= q if p in here else 1 - q
        return found

    def far(self, path: Path) -> list[tuple[Fraction, k.Vec]]:
        """Return where x(T) is in outcomes of a chain, if its distance is asked for."""
        places, T, found = self.places, self.setting.rounds, []
        for one in places.paths(T) if self.setting.metric == "distance" else ():
            y, _ = places.model(one)
            if one[: places.decided(k.norm2(y - STAR))] == path:
                found.append((self.chance(one), y))
        return found

    def expected(self, found: Theorem, path: Path, rest: k.Lin) -> list[Use]:
        """Return what adds up to ``K form/c``, the rest of it as what is expected.

        K is the path's, c its chance. What is expected of a part of the rest, in which
        no noise is of later rounds than t, stands beside the indicator of t rounds.
        """
        places, c = self.places, self.chance(path)
        if not path:
            return [(found, 1)]
        K, parts = places.indicator(path), defaultdict[int, k.Lin](lambda: k.Lin({}))
        for atom, by in rest.coefficients.items():
            rounds = places.decided(atom)
            parts[rounds] = parts[rounds] + k.lifted(atom) * by
        uses: list[Use] = [(combine((found, K), signs=[places.sign(path)]), 1 / c)]
        for rounds, form in parts.items():
            if rounds < len(path):
                mean, _ = places.averaged(path, form, rounds)
                uses.append((mean, -1 / c))
        return uses

    # Which chain --------------------------------------------------------------------

    def by_chain(self, certificate: Certificate) -> dict[Path, Said]:
        """Return a certificate by chains.

        Raises:
            ValueError: it says something of two.
        """
        found = defaultdict[Path, Said](Said)
        for says, by in certificate.uses:
            if says.kind == "at-least":
                continue
            points = (says.at, says.other)
            chains = [self.of_point(one, says.client) for one in points if one]
            if says.kind in {"unbiased", "variance", "bounded-gradient"} and says.at:
                chains = [self.places.known(self.path(says.at))]
            if says.vector:
                chains.append(self.of_atom(says.vector))
            said = found[longest(chains)]
            bound = says.kind == "bounded-gradient"
            (said.bounds if bound else said.uses).append((says, by))
        for square in certificate.squares:
            chains = [self.of_atom(atom) for atom, _ in square.form]
            found[longest(chains)].squares.append(square)
        return found

    def path(self, point: Point) -> Path:
        """Return who takes part up to a point."""
        return tuple(self.present[one] for one in point.past)

    def of_atom(self, atom: Atom) -> Path:
        """Return the chain of a vector."""
        if atom.point is None or atom.kind != "noise":
            return self.of_point(atom.point, atom.client) if atom.point else ()
        return self.places.known(self.path(atom.point))

    def of_point(self, point: Point, p: int | None) -> Path:
        """Return the chain of a point."""
        return self.path(point)[
            : self.places.decided(k.norm2(self.where(point, p or 0)))
        ]

    def where(self, point: Point, p: int) -> k.Vec:
        """Return where a point of client p is."""
        parts = InOutcomes(self.places, self.present, self.setting.S, k.Lin({}))
        return parts.place(point, client(p))


def longest(chains: Iterable[Path]) -> Path:
    """Return the longest chain; the others are its beginnings.

    Raises:
        ValueError: they are not.
    """
    whole = max(chains, key=len, default=())
    if any(one != whole[: len(one)] for one in chains):
        raise ValueError("points of two pasts cannot be compared")
    return whole
