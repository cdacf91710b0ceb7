r"""From below: an admissible problem whose run reaches a value, in exact numbers.

An instance gives the atoms of every space as rational vectors, whose axes have rational
squared lengths, and a rational value per node; the points of the run follow. If all
interpolation inequalities and all assumptions hold exactly, there are functions with
these values and gradients, so the metric's value on the instance is at most the worst
case. With all N at once two clients reach it: vectors $(\bar u,\tilde u)$ and
$(\bar u,-\tilde u)$, with equal function values; for N given the deviations are
$\tilde u$ along the N corners of a simplex.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from sfl_theory.worst_case.certificate import STAR, Atom, Space
from sfl_theory.worst_case.columns import Found
from sfl_theory.worst_case.exact import Scaled, table
from sfl_theory.worst_case.program import Constraint, Program
from sfl_theory.worst_case.restored import restored
from sfl_theory.worst_case.setting import ONE, ZERO

BITS = 60


@dataclass(frozen=True)
class Instance:
    """A problem and its run.

    Attributes:
        words: what it is.
        clients: how many it has.
        dimension: of its space.
        factors: coordinates of every space's atoms, a row each.
        weights: squared lengths of the coordinates' axes, per space; the Gram matrix is
            ``rows @ diag(weights) @ rows.T``.
        values: the clients' function values at the nodes.
        value: of the metric, exactly.
    """

    words: str
    clients: int
    dimension: int
    factors: dict[Space, Scaled]
    weights: dict[Space, tuple[Fraction, ...]]
    values: tuple[Fraction, ...]
    value: Fraction


def reached(
    program: Program,
    words: str,
    factors: dict[Space, Scaled],
    weights: dict[Space, tuple[Fraction, ...]],
    values: tuple[Fraction, ...],
) -> Instance | str:
    """Decide exactly whether data are an admissible problem.

    Args:
        program: whose run and class they belong to.
        words: what they are.
        factors: see ``Instance``.
        weights: see ``Instance``.
        values: see ``Instance``.

    Returns:
        The instance with its metric, or what it breaks.
    """
    grams = {
        space: _gram(program, space, factors[space], weights[space])
        for space in program.spaces
    }
    below = lcm(*(gram.denominator for gram in grams.values()))
    scaled = {
        space: gram.numerators * (below // gram.denominator)
        for space, gram in grams.items()
    }
    whole = sum(scaled.values())

    def left(one: Constraint) -> Fraction:
        total = sum((c * values[index] for index, c in one.values), ZERO)
        gram = sum(scaled[space] for space in one.spaces) if one.spaces else whole
        parts: dict[int, int] = defaultdict(int)
        for a, b, c in one.terms:
            parts[c.denominator] += c.numerator * int(gram[a, b])
        inner = sum((Fraction(part, d) for d, part in parts.items()), ZERO)
        return total + inner / below

    for one in program.given:
        amount = left(one)
        if amount > one.bound or (one.equality and amount != one.bound):
            return f"{one.inequality.kind} fails by {float(amount - one.bound):.1e}"
    for pair in program.pairs:
        one = program.interpolation(*pair)
        amount = left(one)
        if amount > 0:
            return f"an interpolation inequality fails by {float(amount):.1e}"
    place = program.run.coordinates
    clients = (program.setting.clients or 2) if place.everyone else len(place.shares)
    dimension = sum(
        int(factors[space].numerators.any(axis=0).sum())
        * (clients - 1 if space.part == "deviation" else 1)
        for space in program.spaces
    )
    value = left(program.objective)
    return Instance(words, clients, dimension, factors, weights, values, value)


def mended(program: Program, found: Found, enough: float) -> Instance | str:
    """Return an instance near the solver's points.

    Args:
        program: the program.
        found: what the solver found.
        enough: the metric's value from which on nothing better is looked for.

    Returns:
        The instance, or what is broken.
    """
    point = restored(program, found, enough)
    if isinstance(point, str):
        return point
    factors = {space: _dyadic(rows) for space, rows in point.factors.items()}
    axes = {space: (ONE,) * rows.shape[1] for space, rows in point.factors.items()}
    values = tuple(Fraction(float(value)) for value in point.values)
    return reached(program, "by rounding", factors, axes, values)


def parabola(program: Program, c: Fraction) -> Instance | str:
    r"""Return the run on $\frac c2x^2$, every client's function, started far off.

    Without convexity points are relative to the start, so the parabola's minimiser is
    elsewhere. Noise takes two values of equal probability at every step, so that
    squares are $\sigma^2$: an axis of its own.

    Args:
        program: of any class.
        c: between mu and S, positive.

    Returns:
        The instance that starts as far off as the assumptions allow, or what it breaks.
    """
    setting = program.setting
    gap, G2 = setting.initial_gap, setting.G2
    known = {"distance": setting.initial, "gap": 2 * setting.initial / c}
    starts = [known[setting.start]] if setting.start in known else []
    starts += [] if gap is None else [2 * gap / c]
    starts += [] if G2 is None else [(G2 - setting.sigma2) / c**2]
    start = min(starts, default=ZERO)
    if start <= 0:
        return "a start is needed"
    factors, axes = {}, {}
    for space in program.spaces:
        factors[space], axes[space] = _followed(program, c, start, space)
    values = [ZERO] * program.values
    tables = {space: table(program, space) for space in program.spaces}
    for node in program.nodes:
        if node.value is not None:
            for space, at in tables.items():
                rows, below = factors[space].numerators, factors[space].denominator
                slope = at.numerators[node.gradient] @ rows
                pairs = zip(slope, axes[space], strict=True)
                total = sum((int(e) ** 2 * w for e, w in pairs), ZERO)
                values[node.value] += total / (2 * c) / (below * at.denominator) ** 2
    words = f"{c / 2} x^2 on every client"
    return reached(program, words, factors, axes, tuple(values))


def _followed(
    program: Program, c: Fraction, start: Fraction, space: Space
) -> tuple[Scaled, tuple[Fraction, ...]]:
    """Return the atoms of a run on parabolas in a space, and the axes' squares.

    The start lies in the first space; noise of clients that are alike is split into its
    mean and deviations as that of N clients, one client for all N at once.
    """
    basis = program.basis[space]
    noises = program.setting.noises
    noises.setdefault("mean", noises.get("each", ZERO))
    axes: list[Fraction] = []
    row: dict[Atom, int] = {}
    origin: list[Fraction] = []
    if space == program.spaces[0]:
        axes, origin = [start], [ONE]
    for atom in basis:
        if atom.kind == "start" and origin:
            row[atom] = 0
        if atom.kind == "noise":
            row[atom] = len(axes)
            first = space.side in {"both", "client"}
            axes.append(noises.get(space.part, ZERO) if first else ZERO)
    known: dict[Atom, list[Fraction]] = {
        atom: [ONE if row.get(atom) == k else ZERO for k in range(len(axes))]
        for atom in basis
    }
    for node in program.nodes:
        form = program.vectors[node.x].forms.get(space, {})
        x = [
            sum((amount * known[atom][k] for atom, amount in form.items()), ZERO)
            for k in range(len(axes))
        ]
        if program.setting.mu is None and origin:
            x[0] += ONE
        for atom, amount in program.vectors[node.gradient].forms.get(space, {}).items():
            if amount == 1 and atom.point != STAR:
                known[atom] = [c * entry for entry in x]
    return _over_one([known[atom] for atom in basis]), tuple(axes)


def _gram(
    program: Program, space: Space, rows: Scaled, weights: tuple[Fraction, ...]
) -> Scaled:
    """Return the Gram matrix of the program's vectors in a space."""
    vectors = table(program, space)
    at = vectors.numerators @ rows.numerators
    below = lcm(*(weight.denominator for weight in weights))
    axes = np.array([int(weight * below) for weight in weights], dtype=object)
    whole = (vectors.denominator * rows.denominator) ** 2 * below
    return Scaled((at * axes) @ at.T, whole)


def _dyadic(matrix: NDArray[np.float64]) -> Scaled:
    heights = np.abs(matrix).max(axis=1, initial=1e-300)
    largest = float(heights[heights > 1e-12 * heights.max()].min())
    bits = 2 ** max(0, BITS - int(np.floor(np.log2(largest))))
    rows = [[round(Fraction(float(entry)) * bits) for entry in row] for row in matrix]
    return Scaled(np.array(rows, dtype=object).reshape(matrix.shape), bits)


def _over_one(rows: list[list[Fraction]]) -> Scaled:
    below = lcm(*(entry.denominator for row in rows for entry in row))
    found = [[int(entry * below) for entry in row] for row in rows]
    return Scaled(np.array(found, dtype=object).reshape(len(rows), -1), below)
