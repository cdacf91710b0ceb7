"""Certificates in integers: what is left over, and whether an identity holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from sfl_theory.worst_case.assumptions import formulated
from sfl_theory.worst_case.certificate import Certificate, Inequality, Point, Space
from sfl_theory.worst_case.program import Constraint, Program
from sfl_theory.worst_case.setting import ONE, ZERO

Integers = NDArray[np.object_]


@dataclass(frozen=True)
class Scaled:
    """A matrix of rationals: integers over one denominator."""

    numerators: Integers
    denominator: int

    def __getitem__(self, place: tuple[int, int]) -> Fraction:
        return Fraction(self.numerators[place], self.denominator)


def table(program: Program, space: Space) -> Scaled:
    """Return the program's vectors in a space: a row per vector, a column per atom."""
    column = {atom: j for j, atom in enumerate(program.basis[space])}
    forms = [vector.forms.get(space, {}) for vector in program.vectors]
    below = lcm(*(amount.denominator for form in forms for amount in form.values()))
    found = np.zeros((len(forms), len(column)), dtype=object)
    for row, form in enumerate(forms):
        for atom, amount in form.items():
            found[row, column[atom]] = amount.numerator * (below // amount.denominator)
    return Scaled(found, below)


def leftover(
    program: Program, uses: Iterable[tuple[Constraint, Fraction]]
) -> dict[Space, Scaled]:
    r"""Return $\sum_k\lambda_kA_k-C$ of every space, exactly.

    Args:
        program: the program.
        uses: constraints with their multipliers.

    Returns:
        Symmetric matrices over the atoms of the spaces.
    """
    weighted = [*uses, (program.objective, -ONE)]
    found = {}
    for space in program.spaces:
        forms: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
        for constraint, by in weighted:
            if not constraint.spaces or space in constraint.spaces:
                for a, b, amount in constraint.terms:
                    forms[a, b] += by * amount
        vectors = table(program, space)
        below = 2 * lcm(*(amount.denominator for amount in forms.values()))
        applied = np.zeros(vectors.numerators.shape, dtype=object)
        for (a, b), amount in forms.items():
            half = amount.numerator * (below // amount.denominator) // 2
            applied[a] += half * vectors.numerators[b]
            applied[b] += half * vectors.numerators[a]
        found[space] = Scaled(
            vectors.numerators.T @ applied, below * vectors.denominator**2
        )
    return found


def imbalance(
    program: Program, uses: Iterable[tuple[Constraint, Fraction]]
) -> list[Fraction]:
    """Return what the multipliers leave of the objective's coefficients.

    Args:
        program: the program.
        uses: constraints with their multipliers.

    Returns:
        A number per value; all are 0 if function values cancel.
    """
    left = [ZERO] * program.values
    for constraint, by in [(program.objective, -ONE), *uses]:
        for index, amount in constraint.values:
            left[index] -= by * amount
    return left


def constraints(program: Program) -> Mapping[Inequality, Constraint]:
    """Return the constraints that are given, by what they say."""
    return {one.inequality: one for one in program.given}


def nodes(program: Program) -> Mapping[tuple[int | None, Point], int]:
    """Return the indices of the nodes, by client and point."""
    return {(node.client, node.point): k for k, node in enumerate(program.nodes)}


def check(certificate: Certificate, apart: bool = False) -> str | None:
    """Decide a certificate in exact arithmetic.

    Args:
        certificate: data from anywhere.
        apart: whether noise may differ where only who takes part does.

    Returns:
        None if the identity holds; else what is wrong.
    """
    program = formulated(certificate.setting, apart)
    known, places = constraints(program), nodes(program)
    uses = []
    for says, by in certificate.uses:
        constraint = known.get(says)
        if constraint is None and says.kind == "interpolation":
            at = places.get((says.client, says.at)) if says.at else None
            other = places.get((says.client, says.other)) if says.other else None
            if at is not None and other is not None and at != other:
                constraint = program.interpolation(at, other)
        if constraint is None or constraint.inequality != says:
            return f"no such inequality: {says}"
        if by < 0 and not constraint.equality:
            return f"a negative multiplier: {says}"
        uses.append((constraint, by))
    if sum((by * one.bound for one, by in uses), ZERO) != certificate.bound:
        return "the bound is not what the multipliers give"
    if any(imbalance(program, uses)):
        return "function values do not cancel"
    if any(square.weight < 0 for square in certificate.squares):
        return "a negative square"
    return _squares_fail(program, leftover(program, uses), certificate)


def _squares_fail(
    program: Program, left: Mapping[Space, Scaled], certificate: Certificate
) -> str | None:
    for square in certificate.squares:
        atoms = set(program.basis.get(square.space, ()))
        if not atoms.issuperset(atom for atom, _ in square.form):
            return "a square of vectors that the space does not have"
    for space, wanted in left.items():
        column = {atom: j for j, atom in enumerate(program.basis[space])}
        mine = [square for square in certificate.squares if square.space == space]
        root = lcm(*(c.denominator for square in mine for _, c in square.form))
        weight = lcm(*(square.weight.denominator for square in mine))
        total = np.zeros(wanted.numerators.shape, dtype=object)
        for square in mine:
            by = square.weight.numerator * (weight // square.weight.denominator)
            amounts: dict[int, int] = defaultdict(int)
            for atom, c in square.form:
                amounts[column[atom]] += c.numerator * (root // c.denominator)
            places = list(amounts)
            row = np.array(list(amounts.values()), dtype=object)
            total[np.ix_(places, places)] += by * np.outer(row, row)
        below = root**2 * weight
        if (total * wanted.denominator != wanted.numerators * below).any():
            return f"the squares of {space} are not what is left over"
    return None
