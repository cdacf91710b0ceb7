"""Statements about numbers: points of the domain, and numbers that meet the facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import combinations, islice

import sympy as sp

from sfl_theory.evidence.certificate import Certificate, coefficients
from sfl_theory.mutation.exact import at, points
from sfl_theory.mutation.terms import atoms_of, is_product, stated_atoms
from sfl_theory.mutation.witness import Witness

POINTS = 150
"""Points tried for a statement without atoms."""
POINTS_WITH_ATOMS = 12
MOST_ATOMS = 5

Row = tuple[tuple[Fraction, ...], Fraction]


def scalar(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield points of the domain of a statement that has no atoms."""
    del without
    for values in points(certificate.domain, 1, POINTS):
        shown = ", ".join(f"{k} = {v}" for k, v in sorted(values.items()))
        yield Witness(shown or "numbers", values)


def meeting_the_facts(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield numbers for all atoms at which every fact is met, most of them tightly.

    At a point of the domain every fact is a linear inequality between the atoms; the
    numbers are vertices of that polyhedron cut by "an atom is 0" and "an atom is 1".

    Args:
        certificate: whose atoms are numbers.
        without: a hypothesis whose facts need not be met.

    Yields:
        Points and numbers.
    """
    chosen = islice(points(certificate.domain, 2, 400), POINTS_WITH_ATOMS)
    yield from meeting_the_facts_at(certificate, without, chosen)


def meeting_the_facts_at(
    certificate: Certificate, without: str, chosen: Iterable[Mapping[str, Fraction]]
) -> Iterator[Witness]:
    """Yield numbers for all atoms at which every fact is met, at given points.

    Args:
        certificate: whose atoms are numbers.
        without: a hypothesis whose facts need not be met.
        chosen: values of free variables and parameters.

    Yields:
        Points and numbers.
    """
    facts = [f for f, _ in certificate.uses if f.hypothesis != without or not without]
    names = sorted(stated_atoms(certificate).union(*(atoms_of(f.expr) for f in facts)))
    if not names or len(names) > MOST_ATOMS or any(is_product(n) for n in names):
        return
    expanded = [coefficients(sp.Integer(0) + fact.expr) for fact in facts]
    for values in chosen:
        rows = []
        for fact, found_parts in zip(facts, expanded, strict=True):
            parts = dict(found_parts)
            constant = at(parts.pop("1"), values)
            row = tuple(at(parts.get(name, sp.Integer(0)), values) for name in names)
            rows.append(((row, -constant), fact.equality))
        for numbers in _vertices(rows, len(names)):
            found = dict(zip(names, numbers, strict=True))
            yield Witness(f"numbers {found} at {values}", values, found)


def _vertices(
    rows: list[tuple[Row, bool]], size: int
) -> Iterator[tuple[Fraction, ...]]:
    equalities = [row for row, equality in rows if equality]
    others = [row for row, equality in rows if not equality]
    for k in range(size):
        unit = tuple(Fraction(int(j == k)) for j in range(size))
        others += [(unit, Fraction(0)), (unit, Fraction(1))]
    seen = set()
    for chosen in combinations(others, max(size - len(equalities), 0)):
        numbers = _solved([*equalities, *chosen], size)
        if numbers is None or numbers in seen:
            continue
        seen.add(numbers)
        gaps = [
            (sum((a * b for a, b in zip(row, numbers, strict=True)), -limit), equality)
            for (row, limit), equality in rows
        ]
        if all(gap == 0 if equality else gap >= 0 for gap, equality in gaps):
            yield numbers


def _solved(rows: list[Row], size: int) -> tuple[Fraction, ...] | None:
    """Return the solution of a square linear system, None if it has not just one."""
    table = [[*row, limit] for row, limit in rows]
    if len(table) != size:
        return None
    for k in range(size):
        pivot = next((r for r in range(k, size) if table[r][k]), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [entry / table[k][k] for entry in table[k]]
        for r in range(size):
            if r != k and table[r][k]:
                factor = table[r][k]
                table[r] = [
                    a - factor * b for a, b in zip(table[r], table[k], strict=True)
                ]
    return tuple(row[size] for row in table)
