"""Expressions as functions of exact numbers, and points of a parameter domain."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any

import sympy as sp

from sfl_theory.evidence.domain import Domain

Values = Mapping[str, Fraction]
Function = Callable[[Values], Fraction]
Parameter = tuple[str, Any, tuple[str, ...]]
"""Name, meaning, and the names in the meaning."""

WHOLE = frozenset({
    "N", "T", "t", "tau", "tau_server", "tau_min", "tau_max", "p", "j", "i",
})  # fmt: skip
"""Parameters that stand for whole numbers."""

GRID = tuple(
    Fraction(g)
    for g in ("0", "1", "2", "1/2", "1/10", "5", "20", "100", "1/100", "1000")
)


@lru_cache(maxsize=100_000)
def function(expr: Any) -> Function:
    """Return a rational expression as an exact function of its symbols by name.

    Args:
        expr: built from rationals, symbols, sums, products, powers by whole numbers.

    Returns:
        The function; it raises ``KeyError`` where a symbol has no value.

    Raises:
        ValueError: if the expression is not of that kind.
    """
    if expr.is_Rational:
        number = Fraction(int(expr.p), int(expr.q))
        return lambda values: number
    if expr.is_Symbol:
        name = expr.name
        return lambda values: values[name]
    if expr.is_Add:
        parts = [function(part) for part in expr.args]
        return lambda values: sum((f(values) for f in parts), Fraction(0))
    if expr.is_Mul:
        parts = [function(part) for part in expr.args]
        return lambda values: prod((f(values) for f in parts), start=Fraction(1))
    if expr.is_Pow and expr.exp.is_Integer:
        base, power = function(expr.base), int(expr.exp)
        return lambda values: base(values) ** power
    raise ValueError(f"'{expr}' has no exact value")


def at(expr: Any, values: Values) -> Fraction:
    """Return the value of an expression."""
    return function(sp.Integer(0) + expr)(values)


def points(domain: Domain, seed: int, count: int) -> Iterator[dict[str, Fraction]]:
    """Yield points of a domain: free variables and the parameters that follow.

    Whole numbers are drawn for what ``WHOLE`` names. The first points are the corner
    and its neighbours.

    Args:
        domain: of the parameters.
        seed: of the draws.
        count: how many points at most.

    Yields:
        Values by name.
    """
    rng = random.Random(seed)
    whole = {
        symbol
        for name, _, needed in _plan(tuple(domain.values.items()))
        if name in WHOLE
        for symbol in needed
    }
    for k in range(count):
        values: dict[str, Fraction] = {}
        for variable in domain.free:
            grid = [
                g
                for g in GRID
                if (g or not variable.is_positive)
                and (g.denominator == 1 or variable.name not in whole)
            ]
            values[variable.name] = grid[0] if k == 0 else rng.choice(grid[: 1 + k])
        found = complete(domain, values)
        if found is not None and all(
            found[name].denominator == 1 for name in WHOLE & found.keys()
        ):
            yield found


def complete(domain: Domain, values: Values) -> dict[str, Fraction] | None:
    """Return all free variables and parameters of the domain, or None.

    Parameters that are given are solved for free variables that are not; a parameter
    that neither is given nor follows stays out, and so does a free variable.

    Args:
        domain: of the parameters.
        values: what is known, by name.

    Returns:
        All values, or None where the given ones are not a point of the domain.
    """
    known = dict(values)
    waiting = list(_plan(tuple(domain.values.items())))
    variables = {v.name: v for v in domain.free}
    while waiting:
        left = []
        for parameter in waiting:
            name, expr, needed = parameter
            missing = [s for s in needed if s not in known]
            if not missing:
                try:
                    value = at(expr, known)
                except (ZeroDivisionError, ValueError):
                    return None
                if known.setdefault(name, value) != value:
                    return None
            elif len(missing) == 1 and name in known and missing[0] in variables:
                root = _solve(expr, variables[missing[0]], known, known[name])
                if root is None:
                    return None
                known[missing[0]] = root
            else:
                left.append(parameter)
        if len(left) == len(waiting) and not _choose(left, known, variables):
            break
        waiting = left
    if any(name in values for name, _, _ in waiting):
        return None
    for name, variable in variables.items():
        value = known.get(name, Fraction(1))
        if value < 0 or (variable.is_positive and value == 0):
            return None
    return known if _meets(domain.given, known) else None


@lru_cache(maxsize=1000)
def _plan(items: tuple[tuple[Any, Any], ...]) -> tuple[Parameter, ...]:
    """Return name, expression and the names in it of every parameter."""
    exprs = [(p.name, sp.Integer(0) + expr) for p, expr in items]
    return tuple(
        (name, expr, tuple(sorted(s.name for s in expr.free_symbols)))
        for name, expr in exprs
    )


def _meets(given: tuple[Any, ...], known: Values) -> bool:
    """Return whether what restricts the domain is known to hold."""
    try:
        return all(at(expr, known) >= 0 for expr in given)
    except (KeyError, ValueError, ZeroDivisionError):
        return False


def _choose(
    waiting: list[Parameter], known: dict[str, Fraction], variables: Mapping[str, Any]
) -> bool:
    """Return whether one of several unknown variables of a parameter was set to 0."""
    for name, _, needed in waiting:
        if name in known:
            for missing in needed:
                free = missing in variables and not variables[missing].is_positive
                if free and missing not in known:
                    known[missing] = Fraction(0)
                    return True
    return False


def _solve(expr: Any, unknown: Any, known: Values, value: Fraction) -> Fraction | None:
    """Return the root of ``expr = value`` if it is linear-fractional in the unknown."""
    parts = _linear_parts(expr, unknown)
    if parts is None:
        return None
    name = unknown.name
    try:
        (a0, a1), (b0, b1) = [
            [at(part, {**known, name: Fraction(k)}) for k in (0, 1)] for part in parts
        ]
        return (value * b0 - a0) / (a1 - a0 - value * (b1 - b0))
    except ZeroDivisionError:
        return None


@lru_cache(maxsize=1000)
def _linear_parts(expr: Any, unknown: Any) -> tuple[Any, Any] | None:
    """Return numerator and denominator if both are linear in the unknown."""
    parts = sp.fraction(sp.together(sp.Integer(0) + expr))
    if any(sp.Poly(part, unknown).degree() > 1 for part in parts):
        return None
    return parts  # type: ignore[no-any-return]
