r"""From the solver's points to vectors that keep to every constraint.

The Gram matrices of a float solver break constraints by its accuracy, and late points
of a run lie so close together that this is too much. Written by factors, $G=RR^\top$,
constraints are quadratic in $R$ and the values $f$, with multipliers $y$, and the
Lagrangian's curvature is the dual's slack $Z=\sum_ky_kA_k-C$, once for every column of
$R$: positive semidefinite where y is dual, and the best R lies where it vanishes. So a
step is Newton's, as in sequential quadratic programming,

.. math:: \min_d\ d^\top(Z\otimes I)d+\tfrac\lambda2\|d\|^2-\langle\nabla m,d\rangle
   \quad\text{such that}\quad r_k+\langle\nabla r_k,d\rangle\le0,

$m$ the metric over its value, $r_k$ how far a constraint is above its bound, with a
margin relative to the points' distance. The first y are the solver's, later ones the
step's. What is left of $r_k$ is of second order in $d$; a larger $\lambda$ makes it
less, and the metric smaller.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfl_theory.worst_case.certificate import Inequality, Space
from sfl_theory.worst_case.columns import Found
from sfl_theory.worst_case.interior import Grams
from sfl_theory.worst_case.least_step import NoStepError, least_step
from sfl_theory.worst_case.program import Constraint, Program

Array = NDArray[np.float64]

LEFT_OUT = 1e-3
"""Eigenvalues of a Gram matrix below this, relative to the largest, are left out."""
FEW, MOST_UNKNOWNS = 700, 2500
ROWS, USED = 2000, 1e-6
"""So many inequalities enter a step, the worst ones, and all that had such a weight."""
MARGIN, ROOM = 1e-7, 1e-13
"""Kept of the interpolation inequalities' room; of all constraints, in units."""
STEPS, STALLED, WORTH = 40, 4, 1 / 3
"""Steps at most; by so much less has to be broken after one; which share of what
is missing it has to gain where nothing is broken."""
LIGHT, HEAVIER = 1.0, 10.0
"""The first weight of a step's square; by so much it grows where steps stall."""


@dataclass(frozen=True)
class Point:
    """Vectors and values.

    Attributes:
        factors: coordinates of every space's atoms, a row each.
        values: the clients' function values at the nodes.
    """

    factors: Grams
    values: Array


def restored(program: Program, found: Found, enough: float) -> Point | str:
    """Return a point near the solver's that keeps to every constraint in float64.

    Args:
        program: the program.
        found: what the solver found.
        enough: the metric's value from which on nothing better is looked for.

    Returns:
        The point with the largest metric that was met, or why there is none.
    """
    solution = found.solution
    factors = _factors(program, solution.grams)
    height = abs(solution.upper) or program.units.objective
    system = _System(program, {s: one.shape[1] for s, one in factors.items()}, height)
    if system.unknowns > MOST_UNKNOWNS:
        return f"{system.unknowns} unknowns, the limit is {MOST_UNKNOWNS}"
    at = system.joined(Point(factors, solution.values))
    weights = system.weights(found)
    best, most, why = at, -np.inf, "constraints stay broken"
    before, lightest = np.inf, LIGHT
    light = lightest
    for _ in range(STEPS):
        point = system.point(at)
        inside = system.above(point, 0.0).max() < -ROOM / 10
        broken = float(system.above(point, MARGIN).max())
        metric = system.metric(point)
        if inside:
            if metric <= most:
                break
            best, most, lightest = at, metric, lightest / HEAVIER
            light = lightest
        elif broken > before / STALLED:
            light *= HEAVIER
        if most >= enough:
            break
        before = np.inf if inside else broken
        try:
            step, gain, weights = system.step(at, weights, light)
        except NoStepError as error:
            why = str(error)
            break
        if inside and gain * height < WORTH * (enough - metric):
            break
        at = at + step
    return why if most == -np.inf else system.point(best)


def _factors(program: Program, grams: Grams) -> Grams:
    """Return R for the largest eigenvalues of the Gram matrices, in units.

    Small ones, too, while few numbers are unknown: where gradients coincide, points of
    a lower rank may have nothing inside.
    """
    sizes = _sizes(program)
    parts = {
        s: np.linalg.eigh(gram / (sizes[s] * sizes[s].T)) for s, gram in grams.items()
    }
    every = [
        (x, s, k) for s, (levels, _) in parts.items() for k, x in enumerate(levels)
    ]
    every.sort(key=lambda one: -one[0])
    kept: dict[Space, list[int]] = {s: [] for s in grams}
    unknown = program.values
    for level, space, k in every:
        unknown += len(sizes[space])
        if level > 0 and (unknown <= FEW or level > LEFT_OUT * every[0][0]):
            kept[space].append(k)
    return {
        s: directions[:, kept[s]] * np.sqrt(levels[kept[s]]) * sizes[s]
        for s, (levels, directions) in parts.items()
    }


def _sizes(program: Program) -> Grams:
    """Return what the atoms of every space are measured in, a column."""
    unit, basis = program.units, program.basis
    return {s: np.array([[unit.atom(a)] for a in basis[s]]) for s in program.spaces}


@dataclass(frozen=True)
class _System:
    """Constraints of a program as functions of what is unknown, all in units.

    Attributes:
        program: the program; its constraints are inequalities that speak of all spaces.
        ranks: columns of every space's factor.
        height: what the metric is measured in.
    """

    program: Program
    ranks: dict[Space, int]
    height: float = 1.0

    @cached_property
    def sizes(self) -> Grams:
        """What the atoms are measured in, a column."""
        return _sizes(self.program)

    @property
    def unknowns(self) -> int:
        """How many numbers are unknown."""
        of_factors = sum(len(self.sizes[s]) * rank for s, rank in self.ranks.items())
        return of_factors + self.program.values

    @property
    def worth(self) -> float:
        """What function values and interpolation inequalities are measured in."""
        return self.program.units.x * self.program.units.g

    def joined(self, point: Point) -> Array:
        """Return what is unknown as one vector."""
        parts = [(point.factors[s] / self.sizes[s]).ravel() for s in self.ranks]
        return np.concatenate([*parts, point.values / self.worth])

    def point(self, at: Array) -> Point:
        """Return the point of such a vector."""
        factors, start = {}, 0
        for space, rank in self.ranks.items():
            size = self.sizes[space]
            stop = start + len(size) * rank
            factors[space] = at[start:stop].reshape(len(size), rank) * size
            start = stop
        return Point(factors, at[start:] * self.worth)

    def vectors(self, point: Point) -> Array:
        """Return the program's vectors, a row each."""
        tables = self.program.tables
        return np.hstack([tables[s] @ point.factors[s] for s in self.ranks])

    @cached_property
    def pairs(self) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
        """Vectors (x, y, grad F(x), grad F(y)), values (F(x), F(y)) of every pair."""
        nodes, none = self.program.nodes, self.program.values
        x = np.array([node.x for node in nodes])
        g = np.array([node.gradient for node in nodes])
        f = np.array([none if node.value is None else node.value for node in nodes])
        p, q = np.array(self.program.pairs, dtype=int).reshape(-1, 2).T
        return np.array([x[p], x[q], g[p], g[q]]), np.array([f[p], f[q]])

    @cached_property
    def forms(self) -> tuple[Array, Array]:
        r"""An interpolation inequality and its room as forms in the four vectors.

        The room is $(\|u-\mu v\|^2+\|Sv-u\|^2)/(2(S-\mu))$, $v=x-y$: a share of it is
        about what a function has to spare that is less smooth and more curved.
        """
        form = np.zeros((4, 4))
        for a, b, amount in self.program.interpolating:
            form[a, b] += float(amount) / 2
            form[b, a] += float(amount) / 2
        S = float(self.program.setting.S)
        mu = -S if self.program.setting.mu is None else float(self.program.setting.mu)
        v, u = np.array([1.0, -1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0, -1.0])
        squares = [np.outer(w, w) for w in (u - mu * v, S * v - u)]
        return form, (squares[0] + squares[1]) / (2 * (S - mu))

    @property
    def padded(self) -> Array:
        """An interpolation inequality with its margin."""
        return self.forms[0] + MARGIN * self.forms[1]

    def above(self, point: Point, margin: float) -> Array:
        """Return by how much constraints are above their bounds, all pairs last.

        Args:
            point: where.
            margin: so much of their room is added to interpolation inequalities.
        """
        vectors = self.vectors(point)
        given = [
            (self._left(one, vectors, point.values) - float(one.bound))
            / self.program.unit(one)
            for one in self.program.given
        ]
        four, (p, q) = self.pairs
        each, values = vectors[four], np.append(point.values, 0.0)
        form = self.forms[0] + margin * self.forms[1]
        squares = np.einsum("ab,akc,bkc->k", form, each, each, optimize=True)
        return np.append(given, (values[q] - values[p] + squares) / self.worth)

    def metric(self, point: Point) -> float:
        """Return what is as large as possible."""
        return self._left(self.program.objective, self.vectors(point), point.values)

    @staticmethod
    def _left(one: Constraint, vectors: Array, values: Array) -> float:
        inner = sum(float(c) * (vectors[a] @ vectors[b]) for a, b, c in one.terms)
        return float(inner + sum(float(c) * values[k] for k, c in one.values))

    def weights(self, found: Found) -> Array:
        """Return the solver's multipliers of all constraints, in units."""
        program = self.program
        known = {
            one.inequality: float(y) * program.unit(one) / self.height
            for one, y in zip(
                found.constraints, found.solution.multipliers, strict=True
            )
        }
        given = [known.get(one.inequality, 0.0) for one in program.given]
        nodes = [(node.client, node.point) for node in program.nodes]
        pairs = (
            Inequality("interpolation", *nodes[p], nodes[q][1])
            for p, q in program.pairs
        )
        return np.array([*given, *(known.get(one, 0.0) for one in pairs)])

    def step(
        self, at: Array, weights: Array, light: float
    ) -> tuple[Array, float, Array]:
        """Return a step by which the worst constraints hold linearised.

        Args:
            at: from where.
            weights: multipliers of all constraints.
            light: the weight of the step's square.

        Returns:
            The step, the relative gain of the metric along it, and its multipliers.

        Raises:
            NoStepError: there is none, as far as is seen.
        """
        point, count = self.point(at), len(self.program.given)
        above = self.above(point, MARGIN)
        used = weights[count:] > USED * weights.max()
        used[np.argsort(-above[count:])[:ROWS]] = True
        pairs = np.flatnonzero(used)
        rows = np.append(np.arange(count), count + pairs)
        slopes, bounds = self.slopes(point, pairs), -above[rows] - ROOM
        wanted = self._slope(self.program.objective, self.vectors(point)) / self.height
        curved = self.curved(weights)
        curved[np.diag_indices_from(curved)] += light
        step, mine = least_step(slopes, bounds, wanted, curved, weights[rows])
        every = np.zeros_like(weights)
        every[rows] = mine
        return step, float(wanted @ step), every

    def curved(self, weights: Array) -> Array:
        """Return the Lagrangian's second derivative, without what is negative."""
        vectors = len(self.program.vectors)
        form = np.zeros((vectors, vectors))
        count = len(self.program.given)
        terms = [
            (a, b, float(c) * weight / self.program.unit(one))
            for one, weight in zip(self.program.given, weights[:count], strict=True)
            for a, b, c in one.terms
        ]
        terms += [
            (a, b, -float(c) / self.height) for a, b, c in self.program.objective.terms
        ]
        for a, b, c in terms:
            form[a, b] += c
        four, each = self.pairs[0], weights[count:] / self.worth
        for a, b in np.ndindex(4, 4):
            np.add.at(form, (four[a], four[b]), self.padded[a, b] * each)
        form = form + form.T
        found, start = np.zeros((self.unknowns, self.unknowns)), 0
        for space, rank in self.ranks.items():
            table = self.program.tables[space] * self.sizes[space].T
            levels, ways = np.linalg.eigh(table.T @ form @ table)
            positive = (ways * np.maximum(levels, 0)) @ ways.T
            stop = start + len(table.T) * rank
            found[start:stop, start:stop] = np.kron(positive, np.eye(rank))
            start = stop
        return found

    def slopes(self, point: Point, rows: NDArray[np.int_]) -> Array:
        """Return the derivatives of ``above`` with margins by what is unknown.

        Args:
            point: where.
            rows: of the pairs, those that are asked for; all given constraints are.
        """
        vectors = self.vectors(point)
        of_given = [
            self._slope(one, vectors) / self.program.unit(one)
            for one in self.program.given
        ]
        of_pairs = self._pair_slopes(vectors, rows) / self.worth
        return np.vstack([np.reshape(of_given, (-1, self.unknowns)), of_pairs])

    def _slope(self, one: Constraint, vectors: Array) -> Array:
        """Return the derivative of a left side by what is unknown."""
        turned = np.zeros_like(vectors)
        for a, b, c in one.terms:
            turned[a] += float(c) * vectors[b]
            turned[b] += float(c) * vectors[a]
        parts, start = [], 0
        for space, rank in self.ranks.items():
            by = self.program.tables[space].T @ turned[:, start : start + rank]
            parts.append((by * self.sizes[space]).ravel())
            start += rank
        values = np.zeros(self.program.values)
        for k, c in one.values:
            values[k] += float(c) * self.worth
        return np.concatenate([*parts, values])

    def _pair_slopes(self, vectors: Array, rows: NDArray[np.int_]) -> Array:
        """Return the derivatives of interpolation inequalities, a row each."""
        four, f = (one[:, rows] for one in self.pairs)
        turned = 2 * np.einsum("ab,bkc->akc", self.padded, vectors[four])
        parts, start = [], 0
        for space, rank in self.ranks.items():
            atoms = self.program.tables[space][four]
            by = np.einsum(
                "akn,akc->knc", atoms, turned[:, :, start : start + rank], optimize=True
            )
            parts.append((by * self.sizes[space]).reshape(len(rows), -1))
            start += rank
        values = np.zeros((len(rows), self.program.values + 1))
        at = np.arange(len(rows))
        values[at, f[0]] -= self.worth
        values[at, f[1]] += self.worth
        return np.hstack([*parts, values[:, :-1]])
