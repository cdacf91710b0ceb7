"""Squares of vectors, and of the clients' deviations from means, with few pairs.

A sum of squares is a theorem on free points first, in which each pair of points is left
once; then vectors are put in. So what a pair costs, an average over the clients for
instance, is paid for each pair of the form, not for each pair of every square.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs.notation import combine
from sfl_theory.worst_case.quadratic import Quadratic
from sfl_theory.worst_case.sparse import sizes

if TYPE_CHECKING:
    from sfl_theory.worst_case.assembly import Assembly, Name

ZERO, ONE = Fraction(0), Fraction(1)
Amount = int | Fraction


def squared(
    squares: Iterable[tuple[Mapping[Name, Amount], Fraction]],
    vectors: Mapping[Name, k.Vec],
    form: Quadratic[Name] | None = None,
) -> list[tuple[Theorem, Fraction]]:
    """Return that weighted squares of sums of named vectors are not negative.

    Args:
        squares: how much of each vector, and the weight.
        vectors: by their names.
        form: what is said instead, more by what is diagonally dominant if vectors are
            measured by their `sizes`; so it is said of such vectors first.

    Returns:
        The theorem, to be taken once; nothing without squares.
    """
    size = dict.fromkeys(vectors, ONE) | (sizes(form) if form else {})
    points = {name: k.Point(f"u{place}") for place, name in enumerate(vectors)}
    found = [
        (k.Vec({points[a]: ratio(c / size[a]) for a, c in row.items()}), by)
        for row, by in squares
    ]
    pairs = form.items() if form else ()
    says = k.Lin({
        k.Inner(points[a], points[b]): ratio(c / (size[a] * size[b]))
        for a, b, c in pairs
    })
    whole = combine(*found, target=says if form else None)
    values = tuple((u, vectors[a] * ratio(size[a])) for a, u in points.items())
    return [(rules.instantiate(whole, values, ()), ONE)] if found else []


def enter(
    parts: Assembly,
    squares: Iterable[tuple[Mapping[Name, Amount], Fraction]],
    form: Quadratic[Name] | None = None,
    made: Mapping[Name, Mapping[Name, Fraction]] | None = None,
) -> None:
    """Add squares of the clients' deviations from means.

    Args:
        parts: to which they are added.
        squares: of client n's vectors: how much of each, and the weight.
        form: what is said instead, see `squared`; it is changed.
        made: what combinations some vectors are names of.
    """
    squares, whole = [*squares], form or Quadratic["Name"]()
    for row, weight in () if form else squares:
        for place, (a, x) in enumerate(pairs := [*row.items()]):
            for b, y in pairs[: place + 1]:
                whole.add(a, b, Fraction(weight * x * y * (1 if a == b else 2)))
    away = {}
    for a in whole.rows:
        row = (made or {}).get(a, {a: ONE})
        means = {parts.mean(b): -c for b, c in row.items()}
        away[a] = parts.vector({**row, **means})
    parts.each += squared(squares, away, form)
    for a, row in (made or {}).items():
        whole.eliminate(a, row)
    beside: dict[Name, dict[Name, Fraction]] = {a: {} for a in whole.rows}
    for a, b, c in whole.items():
        parts.common.add(parts.mean(a), parts.mean(b), -c)
        for one, other in ((a, b), (b, a)):
            known = beside[one].get(parts.mean(other), ZERO)
            beside[one][parts.mean(other)] = known - c
    for u, row in beside.items():
        parts.linear(u, row, ONE)
