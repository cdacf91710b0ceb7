"""The linear matrix inequality of a space, in float64, as products of vectors."""

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
Places = NDArray[np.int_]


TOGETHER = 64
"""So many constraints' products fit into a fast memory."""


@dataclass(frozen=True)
class Block:
    r"""The linear matrix inequality of a space, or of some of its atoms.

    $A_k=\sum_r\frac12(u_{kr}v_{kr}^\top+v_{kr}u_{kr}^\top)$. An interpolation
    inequality is one product in the solver's values; a difference of two squares would
    lose digits where one factor is long and the other is short.

    Attributes:
        left: the vectors u of all constraints, one constraint's after another's.
        right: the vectors v.
        starts: where a constraint's vectors begin; each has one at least.
        goal: C.
        scale: of the atoms that are kept.
        kept: their places in the basis.
        active: the constraints' places among all.
    """

    left: Array
    right: Array
    starts: Places
    goal: Array
    scale: Array
    kept: list[int]
    active: Places

    @property
    def size(self) -> int:
        """How many atoms."""
        return len(self.goal)

    def applied(self, X: Array) -> Array:
        """Return <A_k, X> for every k."""
        if not len(self.starts):
            return np.zeros(0)
        products = np.einsum("ij,ij->i", self.left @ X, self.right)
        return np.add.reduceat(products, self.starts)

    def combined(self, y: Array) -> Array:
        """Return sum_k y_k A_k."""
        found = self.left.T @ (self.right * y[self.owners][:, None])
        return (found + found.T) / 2

    def within(self, places: Sequence[int]) -> Block:
        """Return the part of some atoms, and of what speaks of them."""
        places = [*places]
        left, right = self.left[:, places], self.right[:, places]
        here = left.any(axis=1) & right.any(axis=1)
        owners = self.owners[here]
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        goal = self.goal[np.ix_(places, places)]
        kept = [self.kept[k] for k in places]
        active = self.active[owners[starts]]
        return Block(
            left[here], right[here], starts, goal, self.scale[places], kept, active
        )

    def normal(self, X: Array, Y: Array) -> Array:
        """Return the matrix <A_k, X X' A_l Y Y'>, which is symmetric.

        Of two factors it is positive semidefinite up to rounding, whatever X and Y are.
        """
        u, v, p, q = self.left @ X, self.right @ X, self.left @ Y, self.right @ Y
        m = len(self.starts)
        ends = np.append(self.starts[1:], len(u))
        found = np.zeros((m, m))
        for first in range(0, m, TOGETHER):
            last = min(first + TOGETHER, m)
            a, b = self.starts[first], ends[last - 1]
            product = np.zeros((b - a, b))
            for one, two, three, four in (
                (u, u, q, q), (v, v, p, p), (u, v, q, p), (v, u, p, q),
            ):  # fmt: skip
                product += (one[a:b] @ two[:b].T) * (three[a:b] @ four[:b].T)
            if b > last:
                product = np.add.reduceat(product, self.starts[first:last] - a, axis=0)
                product = np.add.reduceat(product, self.starts[:last], axis=1)
            found[first:last, :last] = product
            found[:first, first:last] = product[:, :first].T
        return found / 4

    @cached_property
    def owners(self) -> Places:
        """Whose vectors they are: places in ``active``."""
        counts = np.diff(self.starts, append=len(self.left))
        return np.repeat(np.arange(len(self.starts)), counts)


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
    left: list[Array] = []
    right: list[Array] = []
    starts: list[int] = []
    active: list[int] = []
    heights = np.abs(table).max(axis=1, initial=0.0)
    tallness = 2.0 ** np.round(np.log2(np.where(heights > 0, heights, 1.0)))
    tallness[heights == 0] = 0.0
    known: dict[tuple[object, ...], list[tuple[Array, Array]]] = {}
    for place, one in enumerate(constraints):
        if one.spaces and space not in one.spaces:
            continue
        terms = (*one.terms, *program.bent(one.values))
        ids = list(dict.fromkeys(k for a, b, _ in terms for k in (a, b)))
        where = {k: j for j, k in enumerate(ids)}
        shape = tuple((where[a], where[b], c) for a, b, c in terms)
        tall = tuple(float(tallness[k]) for k in ids)
        unit = program.unit(one)
        if (shape, tall, unit) not in known:
            known[shape, tall, unit] = _products(shape, np.array(tall), unit)
        near = table[ids] / np.array([length or 1.0 for length in tall])[:, None]
        pairs = [(u @ near, v @ near) for u, v in known[shape, tall, unit]]
        pairs = [(u, v) for u, v in pairs if u.any() and v.any()]
        if pairs:
            starts.append(len(left))
            active.append(place)
        left += [u for u, _ in pairs]
        right += [v for _, v in pairs]
    goal = np.zeros((size, size))
    for a, b, c in (*program.objective.terms, *program.bent(program.objective.values)):
        goal += float(c) * np.outer(table[a], table[b]) / program.units.objective
    return Block(
        np.array(left).reshape(-1, size),
        np.array(right).reshape(-1, size),
        np.array(starts, dtype=int),
        (goal + goal.T) / 2,
        scale,
        kept,
        np.array(active, dtype=int),
    )


def _products(
    shape: Sequence[tuple[int, int, Fraction]], tall: Array, unit: float
) -> list[tuple[Array, Array]]:
    """Return a form in vectors of some lengths, over a unit, as products.

    A positive and a negative square are a product: a^2 - b^2 = (a + b) (a - b).
    """
    form = np.zeros((len(tall), len(tall)))
    for a, b, c in shape:
        form[a, b] += float(c) * tall[a] * tall[b] / unit / 2
        form[b, a] += float(c) * tall[a] * tall[b] / unit / 2
    levels, directions = np.linalg.eigh(form)
    roots = directions * np.sqrt(np.abs(levels))
    seen = np.abs(levels) > 1e-12 * np.abs(levels).max()
    above, below = roots[:, seen & (levels > 0)].T, roots[:, seen & (levels < 0)].T
    both = min(len(above), len(below))
    found = [(a + b, a - b) for a, b in zip(above, below, strict=False)]
    found += [(a, a) for a in above[both:]]
    return found + [(b, -b) for b in below[both:]]


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
