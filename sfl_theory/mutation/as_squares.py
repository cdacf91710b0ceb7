r"""Quadratic forms as sums of squares: $Q=LDL^\top$ over rational functions.

What a mutation leaves over of a certificate is a quadratic form in its vectors. Pivot
by pivot, $q_{11}\|v_1+\frac{q_{12}}{q_{11}}v_2+\dots\|^2$ is split off; the checker
decides whether the weights are non-negative on the domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import Any

import sympy as sp

from sfl_theory.evidence.certificate import Certificate, Vector, coefficients
from sfl_theory.evidence.domain import Domain
from sfl_theory.mutation.exact import at, points
from sfl_theory.mutation.terms import is_product

POINTS = 25
"""Points of the domain at which the form is looked at beforehand."""

LARGEST = 300
"""Operations in a pivot beyond which the search is given up: it would take too long."""

Form = dict[tuple[str, str], Any]


def in_squares(certificate: Certificate) -> Certificate | None:
    """Return the certificate with squares made for what its facts leave over.

    Args:
        certificate: whose squares need not fit.

    Returns:
        The changed certificate; None where what is left over holds other atoms than
        inner products, or is negative somewhere.
    """
    rest = certificate.right - certificate.left
    rest -= sum(m * fact.expr for fact, m in certificate.uses)
    found = coefficients(sp.Integer(0) + rest)
    found.pop("1")
    domain = certificate.domain
    form: Form = {}
    for name, coefficient in found.items():
        if domain.zero(coefficient):
            continue
        if not is_product(name):
            return None
        u, _, v = name[1:-1].partition(",")
        exact = domain.substitute(coefficient)
        form[u, v] = form[v, u] = exact if u == v else exact / 2
    if not _non_negative_at_points(form, domain):
        return None
    squares = _pivots(form, domain)
    return None if squares is None else replace(certificate, squares=squares)


def _names(form: Form) -> list[str]:
    return sorted({u for u, _ in form})


def _pivots(form: Form, domain: Domain) -> tuple[tuple[Vector, Any], ...] | None:
    """Return vectors and weights, the simplest pivot first."""
    form, names = dict(form), _names(form)
    squares: list[tuple[Vector, Any]] = []
    while names:
        sizes = {u: sp.count_ops(form[u, u]) for u in names if (u, u) in form}
        if not sizes:
            return tuple(squares) if not form else None
        u = min(sizes, key=lambda name: (sizes[name], name))
        weight = form[u, u]
        if sizes[u] > LARGEST or not domain.nonnegative(weight):
            return None
        parts = {v: sp.cancel(form[u, v] / weight) for v in names if (u, v) in form}
        squares.append((Vector(parts), weight))
        names.remove(u)
        for v in names:
            for w in names:
                if v in parts and w in parts:
                    old = form.get((v, w), sp.Integer(0))
                    new = sp.cancel(old - weight * parts[v] * parts[w])
                    form.pop((v, w), None)
                    if new != 0:
                        form[v, w] = new
        form = {pair: q for pair, q in form.items() if u not in pair}
    return tuple(squares)


def _non_negative_at_points(form: Form, domain: Domain) -> bool:
    """Return whether the form is positive semidefinite at points of the domain."""
    names = _names(form)
    try:
        return all(
            semidefinite(names, {pair: at(q, values) for pair, q in form.items()})
            for values in islice(points(domain, 5, 2 * POINTS), POINTS)
        )
    except (ValueError, KeyError, ZeroDivisionError):
        return False


def semidefinite(names: list[str], form: Mapping[tuple[str, str], Fraction]) -> bool:
    """Return whether a form with exact coefficients is positive semidefinite.

    Args:
        names: of the vectors.
        form: coefficients of the products, both orders; 0 where missing.

    Returns:
        Whether every pivot is non-negative, and its row 0 where it is 0.
    """
    left = dict(form)
    for k, u in enumerate(names):
        weight, later = left.get((u, u), Fraction(0)), names[k + 1 :]
        row = {v: left.get((u, v), Fraction(0)) for v in later}
        if weight < 0 or (weight == 0 and any(row.values())):
            return False
        if weight == 0:
            continue
        for v in later:
            for w in later:
                old = left.get((v, w), Fraction(0))
                left[v, w] = old - row[v] * row[w] / weight
    return True
