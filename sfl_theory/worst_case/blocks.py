"""The linear matrix inequality of a space, in float64, as signed squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfl_theory.worst_case.certificate import Space
from sfl_theory.worst_case.program import Constraint, Program

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """The linear matrix inequality of a space, or of some of its atoms.

    Attributes:
        rows: the vectors u, shape (m, rank, n).
        signs: sigma, shape (m, rank).
        goal: C.
        scale: of the atoms that are kept.
        kept: their places in the basis.
        active: the constraints' places among all.
    """

    rows: Array
    signs: Array
    goal: Array
    scale: Array
    kept: list[int]
    active: NDArray[np.int_]

    @property
    def size(self) -> int:
        """How many atoms."""
        return len(self.goal)

    def applied(self, X: Array) -> Array:
        """Return <A_k, X> for every k."""
        m, rank, n = self.rows.shape
        flat = self.rows.reshape(m * rank, n)
        products = np.einsum("ij,ij->i", flat @ X, flat).reshape(m, rank)
        return np.asarray((products * self.signs).sum(axis=1))

    def combined(self, y: Array) -> Array:
        """Return sum_k y_k A_k."""
        m, rank, n = self.rows.shape
        flat = self.rows.reshape(m * rank, n)
        weights = (self.signs * y[:, None]).reshape(m * rank)
        return flat.T @ (flat * weights[:, None])

    def within(self, places: Sequence[int]) -> Block:
        """Return the part of some atoms, and of what speaks of them."""
        places = [*places]
        rows = self.rows[:, :, places]
        signs = np.where(rows.any(axis=2), self.signs, 0.0)
        here = signs.any(axis=1)
        goal = self.goal[np.ix_(places, places)]
        kept = [self.kept[k] for k in places]
        active = self.active[here]
        return Block(rows[here], signs[here], goal, self.scale[places], kept, active)

    def normal(self, X: Array, Y: Array) -> Array:
        """Return the matrix <A_k, X A_l Y>, which is symmetric.

        Constraints of few squares stand apart from those of many.
        """
        m, rank, _ = self.rows.shape
        found, turned = np.zeros((m, m)), np.zeros((m, m))
        signed = self.rows * self.signs[:, :, None]
        for r in range(rank):
            here = self.depth[r]
            left, right = self.rows[here, r] @ X, signed[here, r] @ Y
            for s in range(r + 1):
                there = self.depth[s]
                product = left @ self.rows[there, s].T
                product *= right @ signed[there, s].T
                into = found if s == r else turned
                if len(here) == len(there) == m:
                    into += product
                else:
                    into[np.ix_(here, there)] += product
        found += turned
        found += turned.T
        return found

    @cached_property
    def depth(self) -> list[NDArray[np.int_]]:
        """The constraints that have an r-th square, for every r."""
        return [np.flatnonzero(column) for column in self.signs.T]


def written(program: Program, constraints: Sequence[Constraint], space: Space) -> Block:
    """Return the constraints of a space, split into signed squares.

    Args:
        program: the program.
        constraints: those that are imposed.
        space: whose matrix it is.

    Returns:
        The linear matrix inequality, in the program's units.
    """
    kept, basis = program.kept(space), program.basis[space]
    scale = np.array([program.units.atom(basis[k]) for k in kept])
    table = program.tables[space][:, kept] * scale
    size = len(kept)
    found: list[list[tuple[float, Array]]] = []
    heights = np.abs(table).max(axis=1, initial=0.0)
    tallness = 2.0 ** np.round(np.log2(np.where(heights > 0, heights, 1.0)))
    tallness[heights == 0] = 0.0
    known: dict[tuple[object, ...], list[tuple[float, Array]]] = {}
    for one in constraints:
        if one.spaces and space not in one.spaces:
            found.append([])
            continue
        ids = list(dict.fromkeys(k for a, b, _ in one.terms for k in (a, b)))
        where = {k: j for j, k in enumerate(ids)}
        shape = tuple((where[a], where[b], c) for a, b, c in one.terms)
        tall = tuple(float(tallness[k]) for k in ids)
        unit = program.unit(one)
        if (shape, tall, unit) not in known:
            known[shape, tall, unit] = _signed_squares(shape, np.array(tall), unit)
        near = table[ids] / np.array([length or 1.0 for length in tall])[:, None]
        squares = [(sign, row @ near) for sign, row in known[shape, tall, unit]]
        found.append([(sign, row) for sign, row in squares if row.any()])
    rank = max(map(len, found), default=0) or 1
    rows, signs = np.zeros((len(found), rank, size)), np.zeros((len(found), rank))
    for k, squares in enumerate(found):
        for r, (sign, row) in enumerate(squares):
            rows[k, r], signs[k, r] = row, sign
    goal = np.zeros((size, size))
    for a, b, c in program.objective.terms:
        goal += float(c) * np.outer(table[a], table[b]) / program.units.objective
    active = np.arange(len(constraints))
    return Block(rows, signs, (goal + goal.T) / 2, scale, kept, active)


def _signed_squares(
    shape: Sequence[tuple[int, int, Fraction]], tall: Array, unit: float
) -> list[tuple[float, Array]]:
    """Return a form in vectors of some lengths, over a unit, as signed squares."""
    form = np.zeros((len(tall), len(tall)))
    for a, b, c in shape:
        form[a, b] += float(c) * tall[a] * tall[b] / unit / 2
        form[b, a] += float(c) * tall[a] * tall[b] / unit / 2
    levels, directions = np.linalg.eigh(form)
    return [
        (float(np.sign(level)), np.sqrt(abs(level)) * directions[:, k])
        for k, level in enumerate(levels)
        if abs(level) > 1e-12 * np.abs(levels).max()
    ]


def completed(matrix: Array, cliques: Sequence[Sequence[int]]) -> Array:
    """Return the positive definite matrix with the blocks of a given one.

    Args:
        matrix: whose blocks on the cliques are positive definite.
        cliques: the first has what two others share.

    Returns:
        The one whose inverse vanishes outside the cliques: its determinant is largest.
    """
    found = matrix.copy()
    first = set(cliques[0])
    done = list(cliques[0])
    for clique in cliques[1:]:
        group = [k for k in clique if k not in first]
        near = [k for k in clique if k in first]
        far = [k for k in done if k not in near]
        if far:
            link = matrix[np.ix_(group, near)]
            inner = np.linalg.solve(found[np.ix_(near, near)], found[np.ix_(near, far)])
            found[np.ix_(group, far)] = link @ inner
            found[np.ix_(far, group)] = found[np.ix_(group, far)].T
        done += group
    return found
