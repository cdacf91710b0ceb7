"""What a statement speaks of, read off its terms."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.terms import subterms
from sfl_theory.proofs.export import Statement

OTHERS = (k.Function, k.VecAtom, k.Descent, k.Split, k.OfDraws)
"""What a statement about numbers alone does not speak of."""


def opened(one: h.Hypothesis) -> h.Hypothesis:
    """Return a hypothesis without its quantifiers."""
    while isinstance(one, h.Every):
        one = one.body
    return one


@dataclass(frozen=True)
class Subject:
    """What a statement speaks of, read off its terms once."""

    statement: Statement
    extra: tuple[k.Term | k.Lin, ...] = ()

    @property
    def parts(self) -> tuple[Any, ...]:
        """Sides and hypotheses."""
        one = self.statement
        return (one.left, one.right, *sorted(one.hypotheses, key=str), *self.extra)


def many_rounds(statement: Statement, inside: Collection[k.Term]) -> bool:
    """Return whether a statement bounds what many rounds reach.

    There an iterate's round is an index of a sum, or differs from another iterate's by
    a parameter, or stands in a coefficient: ``E||x(t) - x*||^2 <= c/(g + t)``.
    """
    rounds = [ratio(one.round) for one in inside if isinstance(one, k.Iterate)]
    numbers = {
        symbol
        for side in (statement.left, statement.right)
        for c in side.coefficients.values()
        for part in (c.numerator, *dict(c.denominator))
        for symbol in part.parts
    }
    many = any(
        isinstance(s, k.BoundNat) or s in numbers
        for one in rounds
        for s in one.numerator.parts
    )
    return many or any((one - rounds[0]).numerator.parts for one in rounds)


@dataclass(frozen=True)
class Read:
    """The variables of a statement by kind, and whether it bounds many rounds.

    It is one about `numbers` if it speaks of no function, vector or run.
    """

    inside: frozenset[k.Term]
    wholes: tuple[k.Var, ...]
    reals: tuple[k.Var, ...]
    families: tuple[k.ClientFamily, ...]
    rounds: tuple[k.RoundFamily, ...]
    named: tuple[k.NamedFunction, ...]
    points: tuple[k.Point, ...]
    splits: tuple[k.Split, ...]
    stars: tuple[k.Function, ...]
    kinds: frozenset[type]
    many: bool
    numbers: bool

    @staticmethod
    def of(one: Subject) -> Read:
        """Return the variables of a statement.

        Returns:
            Them, by kind.
        """
        free: list[Any] = sorted({v for p in one.parts for v in p.free}, key=str)
        inside = subterms(*one.parts)

        def kind(cls: type, whole: bool | None = None) -> tuple[Any, ...]:
            own: list[Any] = [v for v in free if isinstance(v, cls)]
            return tuple(v for v in own if whole is None or v.sort.whole is whole)

        stars = {s.function for s in inside if isinstance(s, k.Star | h.Minimiser)}
        kinds = frozenset(type(opened(x)) for x in one.statement.hypotheses)
        numbers = not any(isinstance(x, OTHERS) for x in inside)
        return Read(
            frozenset(inside),
            kind(k.Var, True),
            kind(k.Var, False),
            kind(k.ClientFamily),
            kind(k.RoundFamily),
            kind(k.NamedFunction),
            kind(k.Point),
            tuple(s for s in inside if isinstance(s, k.Split)),
            tuple(sorted(stars, key=str)),
            kinds,
            many_rounds(one.statement, inside),
            numbers and kinds <= {h.Holds},
        )
