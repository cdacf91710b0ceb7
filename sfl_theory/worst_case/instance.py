r"""From below: an admissible problem whose run reaches a value, in exact numbers.

An instance gives the atoms of every space as rational vectors (up to a common rational
factor of the Gram matrix) and a rational value per node; the points of the run follow
from the atoms. If all interpolation inequalities and all assumptions hold exactly, there
are functions with these values and gradients, so the metric's value on the instance is
at most the worst case. With all N at once two clients reach it: vectors
$(\bar u,\tilde u)$ and $(\bar u,-\tilde u)$, with equal function values.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from sfl_theory.worst_case.certificate import Space
from sfl_theory.worst_case.columns import Found
from sfl_theory.worst_case.exact import Scaled, table
from sfl_theory.worst_case.interior import Grams
from sfl_theory.worst_case.program import Constraint, Program
from sfl_theory.worst_case.setting import ZERO

BITS = 60


@dataclass(frozen=True)
class Instance:
    """A problem and its run.

    Attributes:
        words: what it is.
        clients: how many it has.
        dimension: of its space.
        factors: coordinates of every space's atoms, a row each.
        weight: the Gram matrices are ``weight * rows @ rows.T``.
        values: the clients' function values at the nodes.
        value: of the metric, exactly.
    """

    words: str
    clients: int
    dimension: int
    factors: dict[Space, Scaled]
    weight: Fraction
    values: tuple[Fraction, ...]
    value: Fraction


def reached(
    program: Program,
    words: str,
    factors: dict[Space, Scaled],
    weight: Fraction,
    values: tuple[Fraction, ...],
) -> Instance | str:
    """Decide exactly whether data are an admissible problem.

    Args:
        program: whose run and class they belong to.
        words: what they are.
        factors: see ``Instance``.
        weight: see ``Instance``.
        values: see ``Instance``.

    Returns:
        The instance with its metric, or what it breaks.
    """
    grams = {
        space: _gram(program, space, factors[space], weight) for space in program.spaces
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
    dimension = sum(
        int(factors[space].numerators.any(axis=0).sum()) for space in program.spaces
    )
    clients = 2 if place.everyone else len(place.shares)
    value = left(program.objective)
    return Instance(words, clients, dimension, factors, weight, values, value)


def rounded(program: Program, found: Found) -> Instance | str:
    """Round the latest point of the solver that lies inside all constraints.

    Args:
        program: the program.
        found: the solver's last points; each is strictly inside its constraints, but
            for residuals, which grow towards the end.

    Returns:
        The instance, or what rounding breaks.
    """
    instance: Instance | str = "no point of the solver is inside"
    for grams, values in found.solution.trail:
        instance = _rounded(program, grams, values)
        if isinstance(instance, Instance):
            return instance
    return instance


def _rounded(
    program: Program, grams: Grams, values: NDArray[np.float64]
) -> Instance | str:
    factors = {}
    for space, gram in grams.items():
        levels, directions = np.linalg.eigh(gram)
        root = directions * np.sqrt(np.maximum(levels, 0.0))
        factors[space] = _dyadic(root)
    exact = tuple(Fraction(float(value)) for value in values)
    return reached(program, "by rounding", factors, Fraction(1), exact)


def parabola(program: Program, curvature: Fraction) -> Instance | str:
    r"""Return the run on $\frac c2x^2$, every client's function, started far off.

    Args:
        program: of strongly convex or convex functions.
        curvature: $c$, between mu and S.

    Returns:
        The instance that starts as far off as the assumptions allow, or what it breaks.
    """
    setting, c = program.setting, curvature
    starts = {
        "distance": setting.initial,
        "gap": 2 * setting.initial / c,
        "gradients": (setting.G2 or ZERO) / c**2,
    }
    if setting.mu is None:
        return "x* is needed"
    return _followed(program, c, starts[setting.start])


def _followed(program: Program, c: Fraction, start: Fraction) -> Instance | str:
    """Follow the run on a parabola from |x0|^2 = start, in the first space."""
    home = program.spaces[0]
    known: dict[object, Fraction] = {
        atom: Fraction(0) for space in program.spaces for atom in program.basis[space]
    }
    for atom in known:
        if getattr(atom, "kind", "") == "start":
            known[atom] = Fraction(1)
    positions = {}
    for node in program.nodes:
        form = program.vectors[node.x].forms.get(home, {})
        x = sum((amount * known[atom] for atom, amount in form.items()), ZERO)
        positions[node.value] = x
        for atom, amount in program.vectors[node.gradient].forms.get(home, {}).items():
            if amount == 1:
                known[atom] = c * x
    values = tuple(
        c / 2 * start * positions[k] ** 2 if k in positions else ZERO
        for k in range(program.values)
    )
    factors = {}
    for space in program.spaces:
        rows = [[known[atom] if space == home else ZERO] for atom in program.basis[space]]
        factors[space] = _over_one(rows)
    return reached(program, f"{c}/2 x^2 on every client", factors, start, values)


def _gram(program: Program, space: Space, rows: Scaled, weight: Fraction) -> Scaled:
    """Return the Gram matrix of the program's vectors in a space."""
    vectors = table(program, space)
    at = vectors.numerators @ rows.numerators
    below = (vectors.denominator * rows.denominator) ** 2 * weight.denominator
    return Scaled(at @ at.T * weight.numerator, below)


def _dyadic(matrix: NDArray[np.float64]) -> Scaled:
    largest = float(np.abs(matrix).max(initial=1e-300))
    bits = 2 ** max(0, BITS - int(np.floor(np.log2(largest))))
    rows = [[round(Fraction(float(entry)) * bits) for entry in row] for row in matrix]
    return Scaled(np.array(rows, dtype=object).reshape(matrix.shape), bits)


def _over_one(rows: list[list[Fraction]]) -> Scaled:
    below = lcm(*(entry.denominator for row in rows for entry in row))
    found = [[int(entry * below) for entry in row] for row in rows]
    return Scaled(np.array(found, dtype=object).reshape(len(rows), -1), below)
