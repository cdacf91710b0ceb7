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

from sfl_theory.kernel import terms as k
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs.notation import Use, combine
from sfl_theory.proofs.outcomes import Path, last_drawn
from sfl_theory.worst_case.by_outcome import ByOutcome, InOutcomes
from sfl_theory.worst_case.certificate import (
    Atom,
    Certificate,
    Inequality,
    Point,
    Square,
)
from sfl_theory.worst_case.scenarios import outcomes
from sfl_theory.worst_case.single_clients import STAR


class InChain(InOutcomes):
    """Theorems beside one indicator; their sum's values cancel with other chains'."""

    def _values(self) -> None:
        self._means()


@dataclass
class Said:
    """What a certificate says beside an indicator."""

    uses: list[tuple[Inequality, Fraction]] = field(default_factory=list)
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
        link = self.link()
        uses: list[Use] = [(link.theorem, 1)]
        said = self.by_chain(certificate)
        for path in {**said, **link.parts}:
            there = link.parts.get(path, k.Lin({})) * -self.chance(path)
            parts = InChain(
                self.places, self.present, self.setting.S, there, self.far(path)
            )
            here = said.get(path, Said())
            self.add(replace(certificate, uses=tuple(here.uses)), parts)
            found = combine(*parts.added(here.squares))
            uses += self.expected(found, path, found.form - there)
        return self.generalised(combine(*uses, target=target))

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

    def far(self, path: Path) -> Iterable[tuple[Fraction, k.Vec]]:
        """Yield where x(T) is in outcomes of a chain, if its distance is asked for."""
        places, T = self.places, self.setting.rounds
        for one in places.paths(T) if self.setting.metric == "distance" else ():
            y, _ = places.model(one)
            if one[: last_drawn(k.norm2(y - STAR))] == path:
                yield self.chance(one), y

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
            rounds = last_drawn(atom)
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
            points = (says.at, says.other)
            chains = [self.of_point(one, says.client) for one in points if one]
            if says.kind in {"unbiased", "variance"} and says.at:
                chains = [self.path(says.at)[: says.at.t]]
            if says.vector:
                chains.append(self.of_atom(says.vector))
            found[longest(chains)].uses.append((says, by))
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
        return self.path(atom.point)[: atom.point.t]

    def of_point(self, point: Point, p: int | None) -> Path:
        """Return the chain of a point."""
        parts = InOutcomes(self.places, self.present, self.setting.S, k.Lin({}))
        y = parts.place(point, k.Numbered(p or 0))
        return parts.path(point)[: last_drawn(k.norm2(y))]


def longest(chains: Iterable[Path]) -> Path:
    """Return the longest chain; the others are its beginnings.

    Raises:
        ValueError: they are not.
    """
    whole = max(chains, key=len, default=())
    if any(one != whole[: len(one)] for one in chains):
        raise ValueError("points of two pasts cannot be compared")
    return whole
