"""Vectors as exact combinations of atoms, one combination per space."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal

from sfl_theory.worst_case.certificate import Atom, Space
from sfl_theory.worst_case.setting import ONE, ZERO

Form = Mapping[Atom, Fraction]
Sided = Callable[[Space], Fraction]
Key = frozenset[tuple[Space, frozenset[tuple[Atom, Fraction]]]]


@dataclass(frozen=True)
class Vector:
    """A vector: what is not named is 0.

    Attributes:
        forms: its coordinates in every space, in terms of atoms.
    """

    forms: Mapping[Space, Form] = field(default_factory=dict)

    @cached_property
    def key(self) -> Key:
        """The same for equal vectors, and hashable."""
        return frozenset(
            (space, frozenset(form.items())) for space, form in self.forms.items()
        )

    def plus(self, other: Vector, factor: Fraction | Sided = ONE) -> Vector:
        """Return self + factor * other; the factor may depend on the space."""
        found = {space: dict(form) for space, form in self.forms.items()}
        for space, form in other.forms.items():
            by = factor if isinstance(factor, Fraction) else factor(space)
            if not by:
                continue
            here = found.setdefault(space, {})
            for atom, amount in form.items():
                total = here.get(atom, ZERO) + by * amount
                if total:
                    here[atom] = total
                else:
                    here.pop(atom, None)
        return Vector({space: form for space, form in found.items() if form})

    def within(self, keep: Callable[[Space], bool]) -> Vector:
        """Return its part in some spaces."""
        return Vector({space: f for space, f in self.forms.items() if keep(space)})


@dataclass(frozen=True)
class Coordinates:
    r"""How the clients' vectors and their averages are written.

    With N given there is a Gram matrix per side and an atom per client. With all N at
    once (equal weights) averaging over the permutations of the clients leaves, for
    vectors u, v of client n,

    .. math:: \frac1N\sum_n\langle u_n,v_n\rangle=\langle\bar u,\bar v\rangle
              +\frac1N\sum_n\langle u_n-\bar u,v_n-\bar v\rangle,

    two Gram matrices, of means and of deviations, whose sizes do not depend on N; any
    two positive semidefinite ones are those of some clients for every N >= 2.

    Attributes:
        sides: ("both",), or ("client", "server").
        shares: $a_n$, or (1,) for all N at once.
        everyone: whether all N are meant at once.
    """

    sides: tuple[Literal["both", "client", "server"], ...]
    shares: tuple[Fraction, ...]
    everyone: bool

    @property
    def spaces(self) -> tuple[Space, ...]:
        """All spaces."""
        if not self.everyone:
            return tuple(Space(side) for side in self.sides)
        return tuple(
            space
            for side in self.sides
            for space in (Space(side, "mean"), Space(side, "deviation"))
        )

    @property
    def clients(self) -> tuple[int | None, ...]:
        """The clients that have atoms of their own."""
        return (None,) if self.everyone else tuple(range(len(self.shares)))

    def share(self, client: int | None) -> Fraction:
        """Return $a_n$."""
        return self.shares[client or 0]

    def common(self, atom: Atom) -> Vector:
        """Return an atom that is the same for every client."""
        return Vector({
            space: {atom: ONE} for space in self.spaces if space.part != "deviation"
        })

    def own(self, atom: Atom) -> Vector:
        """Return a client's atom."""
        return Vector({space: {atom: ONE} for space in self.spaces})

    def average(self, vectors: Iterable[Vector]) -> Vector:
        """Return the weighted mean of the clients' vectors, in the order of clients."""
        total = Vector()
        for share, vector in zip(self.shares, vectors, strict=True):
            total = total.plus(vector, share)
        return self.mean_part(total)

    def mean_part(self, vector: Vector) -> Vector:
        """Return the vector without deviations."""
        return vector.within(lambda space: space.part != "deviation")
