r"""From a float solution to a certificate: rounding, balancing, squares.

Multipliers become dyadic rationals. What rounding leaves of the values' balance is sent
to x* (to x(0) without convexity) along a tree of the largest multipliers; where one
would become negative, a nonnegative amount is added to one of the two interpolation
inequalities with x*. The matrix left over is $LL^\top+R$ with a rounded Cholesky factor
L and a remainder R, which is diagonally dominant, hence a sum of squares
$|R_{ij}|\,\|v_i\pm v_j\|^2$ and a diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from sfl_theory.worst_case.certificate import STAR, Atom, Certificate, Space, Square
from sfl_theory.worst_case.chains import chains
from sfl_theory.worst_case.exact import Scaled, imbalance, leftover
from sfl_theory.worst_case.program import Constraint, Program
from sfl_theory.worst_case.setting import ONE, ZERO

BITS = 52


class NotRoundedError(ArithmeticError):
    """A float solution is too inaccurate to become a certificate."""


@dataclass
class _Multipliers:
    """Multipliers under repair, by the constraint's place in a list that grows."""

    program: Program
    constraints: list[Constraint]
    amounts: list[Fraction]
    places: dict[object, int] = field(init=False)

    def __post_init__(self) -> None:
        self.places = {one.inequality: k for k, one in enumerate(self.constraints)}

    def add(self, constraint: Constraint, amount: Fraction) -> None:
        """Add to a constraint's multiplier; it may be new."""
        k = self.places.setdefault(constraint.inequality, len(self.constraints))
        if k == len(self.constraints):
            self.constraints.append(constraint)
            self.amounts.append(ZERO)
        self.amounts[k] += amount

    @property
    def uses(self) -> list[tuple[Constraint, Fraction]]:
        """Constraints with nonzero multipliers."""
        pairs = zip(self.constraints, self.amounts, strict=True)
        return [(one, by) for one, by in pairs if by]

    def total(self, kind: str) -> Fraction:
        """Return the sum of the multipliers of a kind."""
        return sum((by for one, by in self.uses if one.inequality.kind == kind), ZERO)


def certified(
    program: Program, constraints: Sequence[Constraint], multipliers: Sequence[float]
) -> Certificate:
    """Return the certificate that a float dual solution rounds to.

    Args:
        program: the program.
        constraints: those with multipliers.
        multipliers: in float64, with a positive definite slack.

    Returns:
        An exact certificate.

    Raises:
        NotRoundedError: if the slack is not positive definite enough.
    """
    pairs = [*zip(constraints, multipliers, strict=True)]
    largest = max(abs(by) * program.unit(one) for one, by in pairs)
    finest = Fraction(2) ** (int(np.ceil(np.log2(largest))) - BITS)
    amounts = []
    for one, by in pairs:
        unit = finest / Fraction(program.unit(one))
        kept = one.equality or by > 0
        amounts.append(round(Fraction(by) / unit) * unit if kept else ZERO)
    mine = _Multipliers(program, list(constraints), amounts)
    _balance(program, mine)
    _orthogonal(program, mine)
    uses = mine.uses
    squares: list[Square] = []
    for space, left in leftover(program, uses).items():
        squares += _squares(program, space, left)
    return Certificate(
        program.setting,
        sum((by * one.bound for one, by in uses), ZERO),
        tuple((one.inequality, by) for one, by in uses),
        tuple(squares),
    )


def _balance(program: Program, mine: _Multipliers) -> None:
    """Make the function values cancel, with multipliers that stay nonnegative.

    Raises:
        NotRoundedError: if they do not.
    """
    by_kind = {one.inequality.kind: one for one in program.given}
    if program.setting.reading == "minimum":
        spare = ONE - mine.total("at-least")
        weights = [
            (amount, k)
            for k, amount in enumerate(mine.amounts)
            if mine.constraints[k].inequality.kind == "at-least"
        ]
        mine.amounts[max(weights)[1]] += spare
    if program.setting.mu is None and "lowest" in by_kind:
        spare = mine.total("lowest") - mine.total("start-gap")
        mine.add(by_kind["start-gap" if spare > 0 else "lowest"], abs(spare))
    convex = program.setting.mu is not None
    pinned = any(node.value is None for node in program.nodes)
    homes = {
        node.client: k
        for k, node in reversed([*enumerate(program.nodes)])
        if (node.point == STAR if convex else node.value is None or not pinned)
    }
    left = imbalance(program, mine.uses)
    for k, parent, place, sign in reversed(_tree(program, mine, homes)):
        value, other = program.nodes[k].value, program.nodes[parent].value
        if value is None or mine.amounts[place] + sign * left[value] < 0:
            continue
        mine.amounts[place] += sign * left[value]
        if other is not None:
            left[other] += left[value]
        left[value] = ZERO
    if program.setting.adrift:
        _from_start(program, mine, left, by_kind["start-gap"])
    for k, node in enumerate(program.nodes):
        home = homes[node.client]
        if k == home or node.value is None or not left[node.value]:
            continue
        rest = left[node.value]
        edge = (home, k) if rest > 0 else (k, home)
        mine.add(program.interpolation(*edge), abs(rest))
    if any(imbalance(program, mine.uses)):
        raise NotRoundedError("the function values cannot be balanced")


def _from_start(
    program: Program, mine: _Multipliers, left: list[Fraction], gap: Constraint
) -> None:
    """Let the start's gap pay for what no inequality that bounds F(x*) may."""
    shares = dict(gap.values)
    first = {
        node.client: k for k, node in enumerate(program.nodes) if node.value in shares
    }
    for k, node in enumerate(program.nodes):
        start = first[node.client]
        value, paying = node.value, program.nodes[start].value
        if value is None or paying is None or k == start or left[value] <= 0:
            continue
        mine.add(program.interpolation(start, k), left[value])
        left[paying] += left[value]
        left[value] = ZERO
    extra = max(left[value] / share for value, share in shares.items())
    if extra > 0:
        mine.add(gap, extra)
        for value, share in shares.items():
            left[value] -= share * extra


def _tree(
    program: Program, mine: _Multipliers, homes: dict[int | None, int]
) -> list[tuple[int, int, int, int]]:
    """Return a tree of large multipliers that joins nodes to their client's home.

    Returns:
        For each node, after its parent: the node, the parent, the place of the
        inequality between them, and 1 if more of it lowers what is left at the node.
    """
    index = {(node.client, node.point): k for k, node in enumerate(program.nodes)}
    edges: dict[int, list[tuple[Fraction, int, int, int]]] = {}
    for place, (one, by) in enumerate(zip(mine.constraints, mine.amounts, strict=True)):
        says = one.inequality
        if says.kind == "interpolation" and says.at and says.other:
            p, q = (index[says.client, at] for at in (says.at, says.other))
            edges.setdefault(p, []).append((-by, q, place, 1))
            edges.setdefault(q, []).append((-by, p, place, -1))
    found, joined = list[tuple[int, int, int, int]](), set(homes.values())
    ways = [(*edge, home) for home in joined for edge in edges.get(home, [])]
    heapify(ways)
    while ways:
        _, k, place, sign, parent = heappop(ways)
        if k not in joined:
            joined.add(k)
            found.append((k, parent, place, sign))
            for edge in edges[k]:
                heappush(ways, (*edge, k))
    return found


def _orthogonal(program: Program, mine: _Multipliers) -> None:
    """Give noise and gradients at x* what no shift of the functions changes."""
    by_vector: dict[tuple[Space, Atom], list[tuple[Constraint, Fraction]]] = {}
    for one, by in mine.uses:
        says = one.inequality
        if says.kind == "unbiased" and says.space and says.vector:
            by_vector.setdefault((says.space, says.vector), []).append((one, by))
    for one in program.given:
        says = one.inequality
        moved = program.shifts.get(says.space, {}) if says.space else {}
        if says.kind != "unbiased" or says.vector not in moved or not says.space:
            continue
        for atom, share in moved[says.vector].items():
            for other, by in by_vector.get((says.space, atom), ()):
                if (other.inequality.client, other.inequality.at) == (
                    says.client,
                    says.at,
                ):
                    mine.add(one, -share * by)


def _squares(program: Program, space: Space, left: Scaled) -> list[Square]:
    """Return a positive definite matrix as a sum of squares.

    Atoms of long chains come first: where none meets one of another past, no square
    does.

    Raises:
        NotRoundedError: if it is not seen to be one.
    """
    past, names = chains(program), program.basis[space]
    kept = sorted(program.kept(space), key=lambda k: -len(past[names[k]]))
    left = Scaled(left.numerators[np.ix_(kept, kept)], left.denominator)
    size = len(left.numerators)
    floats = np.array([
        [float(left[i, j]) for j in range(size)] for i in range(size)
    ]).reshape(size, size)
    scale = np.sqrt(np.maximum(floats.diagonal(), 0.0))
    if not scale.all():
        raise NotRoundedError("a diagonal element is not positive")
    even = floats / np.outer(scale, scale)
    smallest = float(np.linalg.eigvalsh(even)[0])
    if smallest < 1e-14:
        raise NotRoundedError(f"the slack has the eigenvalue {smallest:.1e}")
    factor = np.linalg.cholesky(even - smallest / 2 * np.eye(size))
    root, bits = _dyadic(factor * scale[:, None])
    rest = left.numerators * bits**2 - root @ root.T * left.denominator
    off = np.abs(rest).sum(axis=1) - np.abs(rest.diagonal())
    spare = rest.diagonal() - off
    if min(spare) < 0:
        raise NotRoundedError("the remainder is not diagonally dominant")
    below = left.denominator * bits**2
    atoms = [program.basis[space][k] for k in kept]
    found = [
        Square(
            space,
            ONE,
            tuple(
                (atoms[i], Fraction(root[i, k], bits))
                for i in range(k, size)
                if root[i, k]
            ),
        )
        for k in range(size)
    ]
    found += [
        Square(space, Fraction(spare[i], below), ((atoms[i], ONE),))
        for i in range(size)
        if spare[i]
    ]
    found += [
        Square(
            space,
            Fraction(abs(rest[i, j]), below),
            ((atoms[i], ONE), (atoms[j], ONE if rest[i, j] > 0 else -ONE)),
        )
        for i in range(size)
        for j in range(i)
        if rest[i, j]
    ]
    return [_shifted(square, program) for square in found]


def _shifted(square: Square, program: Program) -> Square:
    """Return a square with the atoms that were taken to be 0: no shift changes it."""
    form = square.form
    for star, moved in program.shifts.get(square.space, {}).items():
        total = sum((c * moved.get(atom, ZERO) for atom, c in square.form), ZERO)
        form = (*form, (star, -total)) if total else form
    return Square(square.space, square.weight, form)


def _dyadic(matrix: NDArray[np.float64]) -> tuple[NDArray[np.object_], int]:
    """Return integers and a power of two: the matrix is about their quotient."""
    smallest = float(np.abs(matrix.diagonal()).min())
    bits = 2 ** max(0, BITS - int(np.floor(np.log2(smallest))))
    scaled = [[round(Fraction(entry) * bits) for entry in row] for row in matrix]
    return np.array(scaled, dtype=object), bits
