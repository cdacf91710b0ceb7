"""The refuting side: every witness of a statement's reading against its mutants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.instance import Finding
from sfl_theory.mutation.exact import Values
from sfl_theory.mutation.numbers import meeting_the_facts, scalar
from sfl_theory.mutation.readings import OTHER, reading
from sfl_theory.mutation.vectors import any_vectors, least_direction
from sfl_theory.mutation.witness import Witness, broken_by, stands_for
from sfl_theory.mutation.worst_numbers import more_numbers, worst_points

Standing = tuple[Witness, Values]


class Contradiction(ValueError):  # noqa: N818 - a proved statement is broken
    """A witness breaks a statement that its certificate proves."""


@dataclass
class Refuter:
    """Breaks mutants of one original statement.

    Attributes:
        original: the certificate that was accepted.
    """

    original: Certificate

    def __post_init__(self) -> None:
        """Find the reading of the statement."""
        self._reading = reading(self.original)
        self._valuation = self._reading is not None and self._reading.valuation
        self._known: dict[Any, tuple[list[Standing], Iterator[Standing]]] = {}

    @property
    def kind(self) -> str:
        """What the statement is about."""
        return OTHER if self._reading is None else self._reading.kind

    def counterexample(self, mutant: Certificate, removed: str = "") -> Finding | None:
        """Return an instance that breaks a mutant.

        Args:
            mutant: the statement.
            removed: the hypothesis that it lacks.

        Returns:
            The finding, replayed, or None.
        """
        for witness, values in self._standing(mutant, removed):
            found = broken_by(mutant, witness, values)
            if found is not None:
                return found
        for witness in self._sought(mutant, removed):
            known = stands_for(witness, self.original, mutant, self._valuation)
            found = None if known is None else broken_by(mutant, witness, known)
            if found is not None:
                return found
        return None

    def standing(self) -> int:
        """Count the witnesses that stand for the original; none may break it.

        Returns:
            How many there are.

        Raises:
            Contradiction: if one breaks it.
        """
        count = 0
        for witness, values in self._standing(self.original, ""):
            if broken_by(self.original, witness, values) is not None:
                raise Contradiction(f"{witness.setup} breaks the original")
            count += 1
        return count

    def countermodel(self, mutant: Certificate, removed: str = "") -> bool:
        """Return whether numbers meet the facts used but break the mutant.

        Then no choice of multipliers proves it from these facts; it may still be true.

        Args:
            mutant: the statement.
            removed: the hypothesis that it lacks.

        Returns:
            Whether such numbers were found.
        """
        return any(
            broken_by(mutant, witness, values) is not None
            for witness, values in self._standing(mutant, removed, numbers=True)
        )

    def _standing(
        self, mutant: Certificate, removed: str, numbers: bool = False
    ) -> Iterator[tuple[Witness, Values]]:
        """Yield the witnesses that stand for a mutant, with all their values."""
        key = removed, tuple(mutant.domain.values.items()), numbers
        if key not in self._known:
            source = meeting_the_facts if numbers else self._source
            facts_only = numbers or self._valuation
            self._known[key] = (
                [],
                (
                    (witness, values)
                    for witness in source(self.original, removed)
                    if (
                        values := stands_for(witness, self.original, mutant, facts_only)
                    )
                    is not None
                ),
            )
        made, more = self._known[key]
        yield from made
        for found in more:
            made.append(found)
            yield found

    def _sought(self, mutant: Certificate, removed: str) -> Iterator[Witness]:
        """Yield witnesses that are looked for with a mutant in view."""
        source = None if self._reading is None else self._reading.source
        if source is any_vectors:
            yield from least_direction(mutant)
        elif source is scalar:
            yield from worst_points(mutant)
        elif self._valuation:
            yield from more_numbers(self.original, mutant, removed)

    def _source(self, original: Certificate, removed: str) -> Iterator[Witness]:
        if self._reading is None:
            return iter(())
        return self._reading.source(original, removed)
