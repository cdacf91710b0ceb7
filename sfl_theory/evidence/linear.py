"""Expressions that are linear in atoms: unknown reals, inner products of vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp


class Rejected(ValueError):  # noqa: N818 - a verdict on a certificate
    """The certificate does not prove its claim; the message says which check fails."""


@dataclass(frozen=True)
class Vector:
    """A linear combination of named vectors of a Hilbert space.

    Attributes:
        parts: name -> coefficient.
    """

    parts: Mapping[str, Any]

    def __add__(self, other: Vector) -> Vector:
        names = {**self.parts, **other.parts}
        return Vector({k: self.parts.get(k, 0) + other.parts.get(k, 0) for k in names})

    def __sub__(self, other: Vector) -> Vector:
        return self + other * -1

    def __mul__(self, factor: Any) -> Vector:
        return Vector({k: v * factor for k, v in self.parts.items()})

    __rmul__ = __mul__


def vectors(names: str) -> tuple[Vector, ...]:
    """Return one basis vector per name."""
    return tuple(Vector({name: sp.Integer(1)}) for name in names.split())


def inner(u: Vector, v: Vector) -> Any:
    """Return the inner product as a combination of atoms, one per unordered pair.

    Raises:
        ValueError: if a name holds what separates the names in an atom.
    """
    for name in (*u.parts, *v.parts):
        if set(name) & set("<,>"):
            raise ValueError(f"no vector may be called '{name}'")
    total = sp.Integer(0)
    for a, x in u.parts.items():
        for b, y in v.parts.items():
            total += x * y * atom(f"<{min(a, b)},{max(a, b)}>")
    return total


def norm2(u: Vector) -> Any:
    """Return the squared norm."""
    return inner(u, u)


def atom(name: str) -> Any:
    """Return the atom of that name; atoms are unknown real numbers.

    Raises:
        ValueError: if the name stands for the constant term.
    """
    if name == "1":
        raise ValueError("no atom may be called '1', which is the constant term")
    return Atom(name)


class Atom(sp.Symbol):  # type: ignore[misc]
    """A real unknown; its own class, so a parameter is never taken for an atom."""

    def __new__(cls, name: str) -> Any:
        """Return the atom of that name."""
        return super().__new__(cls, name, real=True)


def coefficients(expr: Any) -> dict[str, Any]:
    """Return the coefficient of every atom, and the constant term under "1".

    Args:
        expr: an expression.

    Returns:
        Name of the atom -> coefficient free of atoms.

    Raises:
        Rejected: if the expression is not linear in atoms.
    """
    expanded = sp.expand(expr)
    atoms = sorted(expanded.atoms(Atom), key=str)
    found: dict[str, Any] = {}
    rest = expanded
    for unknown in atoms:
        coefficient = expanded.coeff(unknown, 1)
        rest = rest - coefficient * unknown
        found[str(unknown)] = coefficient
    found["1"] = sp.expand(rest)
    for name, coefficient in found.items():
        if coefficient.atoms(Atom):
            raise Rejected(f"not linear in atoms at '{name}'")
    return found
