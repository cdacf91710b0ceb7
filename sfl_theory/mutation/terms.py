"""The terms of a statement ``left <= right``, and which of its symbols are atoms."""

from __future__ import annotations

from typing import Any

import sympy as sp

from sfl_theory.evidence.certificate import Certificate, atom

ATOM = type(atom("any"))


def atoms_of(expr: Any) -> frozenset[str]:
    """Return the names of the atoms in an expression."""
    return frozenset(str(a) for a in (sp.Integer(0) + expr).atoms(ATOM))


def stated_atoms(certificate: Certificate) -> frozenset[str]:
    """Return the names of the atoms that the statement itself speaks of."""
    return atoms_of(certificate.left) | atoms_of(certificate.right)


def is_square(name: str) -> bool:
    """Return whether an atom is a squared norm ``<v,v>``."""
    first, _, second = name[1:-1].partition(",")
    return is_product(name) and first == second


def is_product(name: str) -> bool:
    """Return whether an atom is an inner product ``<u,v>``."""
    return name.startswith("<") and name.endswith(">")


def terms(expr: Any) -> list[Any]:
    """Return the terms of an expression as a reader of the formula sees them.

    A product with a sum is multiplied out where that separates what is said of an atom:
    (1 - eta tau mu/2) Delta is two terms, 2 S eta^2 (tau^2 + tau_s^2) sigma^2 is one. A
    sum that is the square of a sum of vectors (it holds a product of two different
    vectors) stays one factor, for its pieces mean nothing by themselves.

    Args:
        expr: a side of a statement.

    Returns:
        Terms that add up to it.
    """
    found = []
    for part in sp.Add.make_args(sp.Integer(0) + expr):
        factors = sp.Mul.make_args(part)
        sums = [f for f in factors if f.is_Add and not _is_expanded_square(f)]
        if not sums or len(factors) == 1 or not atoms_of(part):
            found.append(part)
            continue
        others = sp.Mul(*(f for f in factors if f is not sums[0]))
        for piece in sums[0].args:
            found += terms(others * piece)
    return found


def _is_expanded_square(expr: Any) -> bool:
    return any(is_product(a) and not is_square(a) for a in atoms_of(expr))


def coefficient_sign(term: Any) -> int:
    """Return the sign of the rational coefficient of a term."""
    return -1 if (sp.Integer(0) + term).as_coeff_Mul()[0] < 0 else 1
