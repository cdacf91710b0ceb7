r"""Numbers at which a mutant fails, sought where the usual points do not break it.

A statement about parameters alone is evaluated at many points of its domain in floating
point; the points of least :math:`(r-l)/(|r|+|l|)` are varied. A statement about numbers
that meet facts is tried at more points. What is yielded is rational.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
import sympy as sp

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.domain import Domain
from sfl_theory.mutation.exact import WHOLE, complete
from sfl_theory.mutation.numbers import meeting_the_facts_at
from sfl_theory.mutation.terms import stated_atoms
from sfl_theory.mutation.witness import Witness

DRAWN, KEPT, VARIED = 1000, 10, 40
ROUNDS = 8
SHOWN, ROUNDING = 3, 1e-9
MORE_POINTS = 50
DECADES = 9.0

Points = np.ndarray[Any, np.dtype[np.float64]]


def worst_points(mutant: Certificate) -> Iterator[Witness]:
    """Yield points of the domain at which a mutant without atoms looks false.

    Args:
        mutant: a statement about parameters.

    Yields:
        The free variables' values.
    """
    domain = mutant.domain
    if stated_atoms(mutant) or not domain.free:
        return
    whole = _whole(domain)
    rng = np.random.default_rng(0)
    found = _drawn(rng, domain, whole, DRAWN)
    kept = found[:0]
    for number in range(ROUNDS):
        if number:
            found = _varied(rng, kept, domain, whole, 2.0 / number)
        found = np.concatenate([kept, found])
        gap = _gap(mutant, found)
        order = np.argsort(gap, kind="stable")[:KEPT]
        kept = found[order]
        for row in kept[gap[order] < ROUNDING][:SHOWN]:
            values = {
                v.name: _rational(x) for v, x in zip(domain.free, row, strict=True)
            }
            shown = ", ".join(f"{k} = {v}" for k, v in sorted(values.items()))
            yield Witness(f"free variables {shown}", values)


def more_numbers(
    original: Certificate, mutant: Certificate, removed: str
) -> Iterator[Witness]:
    """Yield numbers that meet the facts at many points of a mutant's domain.

    Args:
        original: whose facts they must meet.
        mutant: whose domain they lie in.
        removed: the hypothesis that it lacks.

    Yields:
        Numbers at the free variables' values.
    """
    domain = mutant.domain
    rng = random.Random(0)
    whole = _whole(domain)
    tried = (
        complete(domain, _point(rng, domain, whole)) for _ in range(4 * MORE_POINTS)
    )
    inside = (values for values in tried if values is not None)
    yield from meeting_the_facts_at(original, removed, islice(inside, MORE_POINTS))


def _whole(domain: Domain) -> tuple[bool, ...]:
    """Return which free variables are whole numbers: those in the counts.

    What the domain lets be any number, without a least one, is no count there.
    """
    counts = {
        symbol
        for parameter, expr in domain.values.items()
        if str(parameter) in WHOLE and expr not in domain.free
        for symbol in (sp.Integer(0) + expr).free_symbols
    }
    return tuple(v in counts for v in domain.free)


def _point(
    rng: random.Random, domain: Domain, whole: tuple[bool, ...]
) -> dict[str, Fraction]:
    values = {}
    for variable, count in zip(domain.free, whole, strict=True):
        value = Fraction(rng.choice((1, 1, 2, 3, 5, 10, 30, 1000)))
        if not count:
            value *= Fraction(10) ** rng.choice((-4, -2, -1, 0, 0, 1, 3))
        if not variable.is_positive and rng.random() < 1 / 3:
            value = Fraction(0)
        values[variable.name] = value
    return values


def _drawn(
    rng: np.random.Generator, domain: Domain, whole: tuple[bool, ...], count: int
) -> Points:
    """Return points whose coordinates spread over many orders of magnitude."""
    shape = count, len(domain.free)
    spread = rng.uniform(0.0, DECADES, (count, 1))
    powers = rng.uniform(-1.0, 1.0, shape)
    corner = rng.random((count, 1)) < 1 / 3
    found = 10.0 ** (np.where(corner, np.sign(powers), powers) * spread)
    may_vanish = np.array([not v.is_positive for v in domain.free])
    found[(rng.random(shape) < 1 / 4) & may_vanish] = 0.0
    return _counted(found, domain, whole)


def _varied(
    rng: np.random.Generator,
    kept: Points,
    domain: Domain,
    whole: tuple[bool, ...],
    size: float,
) -> Points:
    """Return points near those kept, some coordinates as they are."""
    rows = np.repeat(kept, VARIED, axis=0)
    factor = 10.0 ** (rng.normal(0.0, size, rows.shape))
    factor[rng.random(rows.shape) < 1 / 2] = 1.0
    return _counted(rows * factor, domain, whole)


def _counted(found: Points, domain: Domain, whole: tuple[bool, ...]) -> Points:
    """Return points whose counts are whole numbers, at least 1 where positive."""
    columns = np.array(whole)
    least = np.array([float(bool(v.is_positive)) for v in domain.free])[columns]
    found[:, columns] = np.maximum(np.floor(found[:, columns]), least)
    return found


@lru_cache(maxsize=4096)
def _compiled(expr: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return an expression as a function of arrays, and its symbols."""
    symbols = tuple(sorted(expr.free_symbols, key=str))
    return sp.lambdify(symbols, expr, "numpy"), symbols


def _gap(mutant: Certificate, found: Points) -> Points:
    """Return ``(right - left)/(|right| + |left|)``, infinite off the domain."""
    domain = mutant.domain
    known = dict(zip(domain.free, found.T, strict=True))

    def value(expr: Any) -> Points:
        function, symbols = _compiled(sp.Integer(0) + expr)
        for symbol in symbols:
            if symbol not in known:
                known[symbol] = value(domain.values[symbol])
        return np.broadcast_to(function(*(known[s] for s in symbols)), len(found))

    with np.errstate(all="ignore"):
        left, right = value(mutant.left), value(mutant.right)
        gap = (right - left) / (abs(right) + abs(left))
        for expr in domain.given:
            gap = np.where(value(expr) >= 0, gap, np.inf)
    return np.where(np.isfinite(gap), gap, np.inf)


def _rational(value: float) -> Fraction:
    """Return a short rational number near a floating-point one."""
    return Fraction(f"{value:.3g}")
