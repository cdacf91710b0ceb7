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
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from sfl_theory.worst_case.certificate import STAR, Atom, Space
from sfl_theory.worst_case.columns import Found, violations
from sfl_theory.worst_case.exact import Scaled, table
from sfl_theory.worst_case.interior import Grams, Solution
from sfl_theory.worst_case.program import Constraint, Program
from sfl_theory.worst_case.setting import ONE, ZERO

BITS = 60
LEAST, MORE = 1e-10, 1.1
"""A point is moved by so much more, and so much more often, than float64 says."""
PARTS, WIDER = (2, 8, 32, 128), (1, 4, 64)


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


@dataclass(frozen=True)
class Mean:
    """A mean of points of the solver and of half an instance.

    Attributes:
        grams: the others' part.
        values: the others' part.
        excess: of the mean, see ``_excess``.
        inside: the instance.
        share: its weight.
    """

    grams: Grams
    values: NDArray[np.float64]
    excess: NDArray[np.float64]
    inside: Instance | None = None
    share: float = 0.0

    @property
    def value(self) -> float:
        """Of the metric."""
        return float(self.excess[-1])


def insides(program: Program) -> list[Mean]:
    """Return halves of parabolas' runs, which are inside all constraints.

    Args:
        program: the program.

    Returns:
        One for every curvature that was tried and is admissible.
    """
    mu = program.setting.mu or ZERO
    curves = [mu + (program.setting.S - mu) / part for part in PARTS]
    found = []
    for run in (parabola(program, curve) for curve in curves):
        if isinstance(run, Instance):
            half = _half(program, run)
            none = {space: 0 * gram for space, gram in half[0].items()}
            found.append(Mean(none, 0 * half[1], _excess(program, *half), run, 1.0))
    return found


def nearest(
    program: Program, solution: Solution, inside: Sequence[Mean]
) -> Mean | None:
    """Return the worst mean of the solver's points and of half a parabola's run.

    All constraints are affine in Gram matrices and values, so between two points it is
    known in float64 where all hold: one goes from a parabola's run, which is inside,
    to the solver's points, the latest of which are best and break constraints most.

    Args:
        program: the program.
        solution: with the solver's last points.
        inside: see ``insides``.

    Returns:
        The mean, None if there is nothing to take it of.
    """
    points = [Mean(*one, _excess(program, *one)) for one in solution.trail]
    means = []
    for far in inside:
        deep = [_moved(one, far, 2.0) for one in points]
        means += [_moved(a, b, 1.01) for a in points for b in (far, *deep)]
    return max(means, key=lambda one: one.value, default=None)


def rounded(
    program: Program, found: Found, inside: Sequence[Mean] | None = None
) -> Instance | str:
    """Round the worst mean of the solver's points and of half a parabola's run.

    Args:
        program: the program.
        found: the solver's last points.
        inside: see ``insides``; None: made now.

    Returns:
        The instance, or what rounding breaks.
    """
    inside = insides(program) if inside is None else inside
    best = nearest(program, found.solution, inside)
    if best is None:
        return "no run of a parabola is inside, or the solver has no point"
    instance: Instance | str = ""
    for wider in WIDER:
        instance = _rounded(program, best, min(ONE, Fraction(best.share) * wider))
        if isinstance(instance, Instance):
            break
    return instance


def _moved(point: Mean, inside: Mean, more: float) -> Mean:
    """Return a point moved until it is inside, times more."""
    by = min(1.0, LEAST + more * _least_share(point.excess, inside.excess))
    return Mean(
        {s: (1 - by) * g + by * inside.grams[s] for s, g in point.grams.items()},
        (1 - by) * point.values + by * inside.values,
        (1 - by) * point.excess + by * inside.excess,
        inside.inside,
        by * inside.share,
    )


def _least_share(near: NDArray[np.float64], far: NDArray[np.float64]) -> float:
    """Return how far a point has to be moved so that nothing is above its bound."""
    broken = near[:-1] > 0
    a, b = near[:-1][broken], np.minimum(far[:-1][broken], 0.0)
    return float(np.max(a / (a - b), initial=0.0))


def _excess(
    program: Program, grams: Grams, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how much every constraint is above its bound, last the metric."""
    every = np.array(program.pairs, dtype=int).reshape(-1, 2)
    whole = program.products(grams)
    given = [
        sum(float(c) * values[index] for index, c in one.values)
        + sum(float(c) * whole[a, b] for a, b, c in one.terms)
        - float(one.bound)
        for one in (*program.given, program.objective)
    ]
    pairs = violations(program, whole, values, every)
    return np.concatenate([given[:-1], pairs, given[-1:]])


def _half(program: Program, inside: Instance) -> tuple[Grams, NDArray[np.float64]]:
    """Return half an instance in float64."""
    grams = {}
    for space, rows in inside.factors.items():
        root = np.array([
            [entry / rows.denominator for entry in row] for row in rows.numerators
        ])
        weights = np.array([float(one) for one in inside.weights[space]])
        grams[space] = (root * weights) @ root.T / 2
    return grams, np.array([float(value) / 2 for value in inside.values])


def _rounded(program: Program, mean: Mean, share: Fraction) -> Instance | str:
    r"""Round a mean with another share of the instance.

    Args:
        program: the program.
        mean: of points.
        share: of the instance.

    Returns:
        The instance, or what the point breaks.
    """
    factors, axes = {}, {}
    if mean.inside is None or mean.share >= 1:
        return "nothing is inside"
    by = float(1 - share) / (1 - mean.share)
    for space, gram in mean.grams.items():
        levels, directions = np.linalg.eigh(by * gram)
        near = _dyadic(directions * np.sqrt(np.maximum(levels, 0.0)))
        far = mean.inside.factors[space]
        below = lcm(near.denominator, far.denominator)
        parts = [one.numerators * (below // one.denominator) for one in (near, far)]
        factors[space] = Scaled(np.hstack(parts), below)
        axes[space] = (ONE,) * len(gram)
        axes[space] += tuple(share / 2 * axis for axis in mean.inside.weights[space])
    pairs = zip(mean.values, mean.inside.values, strict=True)
    exact = tuple(Fraction(float(by * a)) + share / 2 * b for a, b in pairs)
    return reached(program, "by rounding", factors, axes, exact)


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
