r"""The semidefinite program of a setting, in exact numbers.

Unknown are the Gram matrices of the atoms, one per space, and the clients' function
values at the points where they are evaluated. A run is admissible if and only if values
and gradients of every client satisfy the interpolation inequality (Taylor, Hendrickx,
Glineur 2017) for all pairs of its points x, y: with $u=\nabla F(x)-\nabla F(y)$,

.. math:: F(x)\ge F(y)+\langle\nabla F(y),x-y\rangle+\frac{1}{2(1-\mu/S)}\Big(
   \frac{\|u\|^2}{S}+\mu\|x-y\|^2-\frac{2\mu}{S}\langle u,x-y\rangle\Big),

where $-S$ stands for $\mu$ without convexity. Assumptions on all x are imposed at the
points visited, so the value is an upper bound of such problems' worst case. Values are
relative to $F_n(x^*)$, without convexity to $f^*$.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from itertools import chain
from math import log2

import numpy as np
from numpy.typing import NDArray

from sfl_theory.worst_case.certificate import STAR, Atom, Inequality, Point, Space
from sfl_theory.worst_case.runs import Run
from sfl_theory.worst_case.setting import ONE, Setting
from sfl_theory.worst_case.vectors import Vector

Term = tuple[int, int, Fraction]
TOGETHER = 3
"""So many noises, in the order of a run, are in one clique."""


@dataclass(frozen=True)
class Constraint:
    r"""$\sum_jc_jf_j+\sum_kq_k\langle v_{a_k},v_{b_k}\rangle\le$ bound, or equal to it.

    Attributes:
        inequality: what it says.
        values: (index of a value, c).
        terms: (index of a vector, index of a vector, q).
        bound: the right side.
        equality: whether it is an equality.
        spaces: in which inner products are meant; empty: in all.
    """

    inequality: Inequality
    values: tuple[tuple[int, Fraction], ...]
    terms: tuple[Term, ...]
    bound: Fraction = Fraction(0)
    equality: bool = False
    spaces: tuple[Space, ...] = ()


@dataclass(frozen=True)
class Node:
    """A client's function at a point: indices of its vectors and its value.

    Attributes:
        client: n, or None.
        point: where.
        x: index of the point's vector.
        gradient: index of the gradient's vector.
        value: index of F(x), None for F(x*), which is 0.
    """

    client: int | None
    point: Point
    x: int
    gradient: int
    value: int | None


@dataclass(frozen=True)
class Units:
    """What lengths and gradients of a setting are measured in, as powers of two.

    The solver sees numbers near 1, whatever S and the start are.

    Attributes:
        x: of distances.
        g: of gradients, S times that.
        star: of gradients at x*.
        objective: of the metric.
    """

    x: float
    g: float
    star: float
    objective: float

    @classmethod
    def of(cls, setting: Setting) -> Units:
        """Return the units of a setting: the start's, or the bounds' if larger."""
        S = float(setting.S)
        slow = float(setting.mu or setting.S)
        start = {
            "distance": float(setting.initial),
            "gradients": float(setting.G2 or 0) / slow**2,
        }.get(setting.start, float(setting.initial) / S)
        if setting.initial_distance is not None:
            start = float(setting.initial_distance)
        bounds = [setting.zeta2, setting.eps2, setting.sigma2]
        if setting.start == "decrease":  # says little of how far a run is from x*
            bounds.append(setting.G2)
        far = max(start, *(float(bound or 0) / S**2 for bound in bounds))
        x, S = 2.0 ** round(log2(far) / 2), 2.0 ** round(log2(S))
        metric = {"distance": x * x, "gap": S * x * x, "gradient": (S * x) ** 2}
        star = 2.0 ** round(log2(setting.zeta2) / 2) if setting.zeta2 else S * x
        return cls(x, S * x, min(star, S * x), metric[setting.metric])

    def atom(self, atom: Atom) -> float:
        """Return what an atom is measured in."""
        if atom.point == STAR:
            return self.star
        return self.x if atom.kind == "start" else self.g

    def constraint(self, says: Inequality, convex: bool) -> float:
        """Return what both sides of a constraint are measured in."""
        if says.kind == "start-distance" or (says.kind == "decrease" and convex):
            return self.x**2
        if says.kind in {"interpolation", "start-gap", "decrease", "lowest"}:
            return self.x * self.g
        if says.kind == "heterogeneity":
            return self.star**2
        if says.kind == "unbiased" and says.vector:
            return self.g * self.atom(says.vector)
        return self.g**2


@dataclass(frozen=True)
class Program:
    """Maximise the objective over Gram matrices and values.

    Attributes:
        setting: what it is the program of.
        run: the points.
        vectors: what constraints speak of.
        nodes: where functions are evaluated.
        values: how many values there are.
        objective: the metric, as the left side of a constraint.
        given: all constraints but the interpolation inequalities.
    """

    setting: Setting
    run: Run
    vectors: tuple[Vector, ...]
    nodes: tuple[Node, ...]
    values: int
    objective: Constraint
    given: tuple[Constraint, ...]

    @property
    def spaces(self) -> tuple[Space, ...]:
        """The spaces that have atoms."""
        return tuple(
            space for space in self.run.coordinates.spaces if self.basis[space]
        )

    @cached_property
    def basis(self) -> dict[Space, tuple[Atom, ...]]:
        """The atoms of every space, in the order in which they appear."""
        found: dict[Space, dict[Atom, None]] = {
            space: {} for space in self.run.coordinates.spaces
        }
        for vector in self.vectors:
            for space, form in vector.forms.items():
                found[space].update(dict.fromkeys(form))
        return {space: tuple(atoms) for space, atoms in found.items()}

    @cached_property
    def units(self) -> Units:
        """Of lengths and gradients."""
        return Units.of(self.setting)

    def unit(self, constraint: Constraint) -> float:
        """Return what a constraint is measured in."""
        return self.units.constraint(constraint.inequality, self.setting.mu is not None)

    @cached_property
    def shifts(self) -> dict[Space, dict[Atom, dict[Atom, Fraction]]]:
        r"""What changes nothing: $F_n+\langle c_n,x\rangle$ with $\sum_na_nc_n=0$.

        If nothing bounds how clients differ, gradients at x* may be taken to be 0.

        Returns:
            Space -> atom of a gradient at x* -> what is added to every atom with it.
        """
        setting, place = self.setting, self.run.coordinates
        bounds = (setting.zeta2, setting.eps2, setting.G2)
        if setting.mu is None or any(bound is not None for bound in bounds):
            return {}
        found: dict[Space, dict[Atom, dict[Atom, Fraction]]] = {}
        for space, atoms in self.basis.items():
            for star in atoms:
                if star.kind == "gradient" and star.point == STAR:
                    n, last = star.client, len(place.shares) - 1
                    share = place.share(n) / place.share(last) if n is not None else ONE
                    found.setdefault(space, {})[star] = {
                        atom: ONE if atom.client == n else -share
                        for atom in atoms
                        if atom.kind == "gradient" and atom.client in {n, last}
                    }
        return found

    def kept(self, space: Space) -> list[int]:
        """Return the places of the atoms that are not taken to be 0."""
        gone = self.shifts.get(space, {})
        return [k for k, atom in enumerate(self.basis[space]) if atom not in gone]

    @cached_property
    def orthogonal(self) -> dict[tuple[Space, Atom, Atom], Inequality]:
        """Which noise and which atom that is kept have no inner product in a space."""
        found = {}
        for one in self.given:
            says = one.inequality
            if says.kind == "unbiased" and says.space and says.vector:
                noise = Atom("noise", says.client, says.at)
                if says.vector not in self.shifts.get(says.space, {}):
                    found[says.space, noise, says.vector] = says
        return found

    @cached_property
    def cliques(self) -> dict[Space, tuple[tuple[int, ...], ...]]:
        r"""Places of atoms in ``kept`` by groups, first those that are no noise.

        A Gram matrix that vanishes where a noise and what it is orthogonal to meet has
        a chordal pattern if noise of different groups is orthogonal: it is a sum of
        positive semidefinite ones on cliques, a group and what depends on it. Another
        group is a clique with the first; none has entries with a third.
        """
        found = {}
        for space in self.spaces:
            atoms = [self.basis[space][k] for k in self.kept(space)]
            pairs = {(a, b) for where, a, b in self.orthogonal if where == space}
            found[space] = _cliques(atoms, pairs | {(b, a) for a, b in pairs})
        return found

    @cached_property
    def apart(self) -> frozenset[Inequality]:
        """The orthogonalities of atoms that are in no clique together."""
        if not self.orthogonal:
            return frozenset()
        together = {
            (space, atoms[i], atoms[j])
            for space, cliques in self.cliques.items()
            for atoms in [[self.basis[space][k] for k in self.kept(space)]]
            for clique in cliques
            for i in clique
            for j in clique
        }
        return frozenset(
            says for pair, says in self.orthogonal.items() if pair not in together
        )

    @cached_property
    def tables(self) -> dict[Space, NDArray[np.float64]]:
        """The vectors in float64: a row per vector, a column per atom of the space."""
        found = {}
        for space in self.spaces:
            column = {atom: j for j, atom in enumerate(self.basis[space])}
            table = np.zeros((len(self.vectors), len(column)))
            for row, vector in enumerate(self.vectors):
                for atom, amount in vector.forms.get(space, {}).items():
                    table[row, column[atom]] = float(amount)
            found[space] = table
        return found

    def products(
        self, grams: Mapping[Space, NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Return the vectors' inner products, of Gram matrices of the atoms."""
        each = ((self.tables[space], grams[space]) for space in self.spaces)
        return np.asarray(sum(table @ gram @ table.T for table, gram in each))

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """All pairs of different nodes of one client: an interpolation inequality."""
        by_client: dict[int | None, list[int]] = {}
        for index, node in enumerate(self.nodes):
            by_client.setdefault(node.client, []).append(index)
        return tuple(
            (i, j) for mine in by_client.values() for i in mine for j in mine if i != j
        )

    def interpolation(self, at: int, other: int) -> Constraint:
        """Return the interpolation inequality for F(at) from F(other).

        Args:
            at: index of a node.
            other: index of another one, of the same client.

        Returns:
            ``F(other) + ... - F(at) <= 0``.
        """
        p, q = self.nodes[at], self.nodes[other]
        inequality = Inequality("interpolation", p.client, p.point, q.point)
        values = tuple(
            (node.value, sign)
            for node, sign in ((q, ONE), (p, -ONE))
            if node.value is not None
        )
        ids = (p.x, q.x, p.gradient, q.gradient)
        terms = tuple((ids[a], ids[b], c) for a, b, c in self.interpolating)
        return Constraint(inequality, values, terms)

    def bent(self, values: Iterable[tuple[int, Fraction]]) -> list[Term]:
        r"""Return what values stand for beside the solver's, in inner products.

        With $h=\nabla F(x)-\mu x$ and $z=x-h/(S-\mu)$ the interpolation inequality is
        $\tilde F(x)\ge\tilde F(y)+\langle h_y,z_x-z_y\rangle$, two squares instead of
        three, for $\tilde F=F-\frac\mu2\|x\|^2-\frac1{2(S-\mu)}\|h\|^2$.

        Args:
            values: (index of a value, c).

        Returns:
            $\sum c(F-\tilde F)$.
        """
        S, mu = self.setting.S, self.setting.mu
        mu = -S if mu is None else mu
        half = 1 / (2 * (S - mu))
        found: list[Term] = []
        for index, c in values:
            if index in self.homes:
                x, g = self.homes[index].x, self.homes[index].gradient
                found += [(g, g, c * half), (x, x, c * half * mu * S)]
                found.append((x, g, -2 * c * half * mu))
        return found

    @cached_property
    def homes(self) -> dict[int, Node]:
        """The nodes of values."""
        return {node.value: node for node in self.nodes if node.value is not None}

    def straight(
        self, grams: Mapping[Space, NDArray[np.float64]], values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return F of the solver's values, see ``bent``."""
        whole = self.products(grams)
        terms = (self.bent([(index, ONE)]) for index in range(self.values))
        bends = [sum(float(c) * whole[a, b] for a, b, c in each) for each in terms]
        return np.asarray(values + np.array(bends))

    @cached_property
    def interpolating(self) -> tuple[Term, ...]:
        """Quadratic terms in (x, y, grad F(x), grad F(y))."""
        S = self.setting.S
        mu = -S if self.setting.mu is None else self.setting.mu
        half = 1 / (2 * (1 - mu / S))
        u, v = ((2, ONE), (3, -ONE)), ((0, ONE), (1, -ONE))
        products = (
            (((3, ONE),), v, ONE),
            (u, u, half / S),
            (v, v, half * mu),
            (u, v, -2 * half * mu / S),
        )
        found: dict[tuple[int, int], Fraction] = {}
        for left, right, factor in products:
            for a, c in left:
                for b, d in right:
                    key = (min(a, b), max(a, b))
                    found[key] = found.get(key, Fraction(0)) + factor * c * d
        return tuple((a, b, c) for (a, b), c in found.items() if c)


@dataclass(frozen=True)
class Adrift(Program):
    r"""A program in which nothing bounds how far x(0) is from x*.

    No multiplier makes a square of $x^0-x^*$, so a certificate has no product with it
    either: none of an inequality that bounds $F_n(x^*)$ by another value. Without these
    the start is a shift of the clients' values that cancels, and is left out.
    """

    @classmethod
    def of(cls, whole: Program) -> Adrift:
        """Return the program without inequalities that a certificate cannot use."""
        same = {one.name: getattr(whole, one.name) for one in fields(whole)}
        vectors = (one.inequality.vector for one in whole.given)
        pairs = zip(whole.given, vectors, strict=True)
        given = (one for one, by in pairs if by is None or by.kind != "start")
        return cls(**{**same, "given": tuple(given)})

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs of nodes of which the first is not x*."""
        return tuple(one for one in super().pairs if self.nodes[one[0]].point != STAR)

    def kept(self, space: Space) -> list[int]:
        """Return the places of the atoms that are not taken to be 0."""
        atoms = self.basis[space]
        return [k for k in super().kept(space) if atoms[k].kind != "start"]


def _cliques(
    atoms: Sequence[Atom], orthogonal: Collection[tuple[Atom, Atom]]
) -> tuple[tuple[int, ...], ...]:
    """Return the places of what is no noise, then of groups with what depends on them.

    Noise that is not orthogonal is in one group, and so are ``TOGETHER`` in a row.
    """
    core = tuple(k for k, atom in enumerate(atoms) if atom.kind != "noise")

    def tied(one: int, group: Iterable[int]) -> bool:
        return any((atoms[one], atoms[k]) not in orthogonal for k in group)

    groups: list[list[int]] = []
    for k in sorted(set(range(len(atoms))).difference(core)):
        start = next((j for j, one in enumerate(groups) if tied(k, one)), len(groups))
        if groups and len(groups[-1]) < TOGETHER:
            start = min(start, len(groups) - 1)
        groups[start:] = [[*chain.from_iterable(groups[start:]), k]]
    return (core, *((*one, *(j for j in core if tied(j, one))) for one in groups))
