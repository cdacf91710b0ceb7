r"""Multipliers of facts by linear algebra: $\sum_k\lambda_kf_k$ cancels every atom.

Where a mutation changes an atom that several facts speak of, no single multiplier takes
it up. The $\lambda_k$ solve a linear system over the rational functions of the domain's
free variables; those that it leaves free stay as they are. The checker decides whether
they are non-negative.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy as sp
from sympy.polys.matrices import DomainMatrix

from sfl_theory.evidence.certificate import Certificate, coefficients, norm2

MOST_FACTS = 8


def solved(certificate: Certificate) -> Certificate | None:
    """Return the certificate with multipliers that cancel all atoms, squares kept.

    Args:
        certificate: whose identity need not hold.

    Returns:
        The changed certificate; None where no multipliers cancel all atoms.
    """
    if not 0 < len(certificate.uses) <= MOST_FACTS:
        return None
    gap = sp.Integer(0) + certificate.right - certificate.left
    gap -= sum(w * norm2(v) for v, w in certificate.squares)
    wanted = _parts(certificate, gap)
    facts = [_parts(certificate, fact.expr) for fact, _ in certificate.uses]
    names = sorted(set(wanted).union(*facts))
    zero = sp.Integer(0)
    rows = [[*(f.get(n, zero) for f in facts), wanted.get(n, zero)] for n in names]
    if not rows:
        return None
    table, pivots = DomainMatrix.from_Matrix(sp.Matrix(rows)).to_field().rref()
    count = len(facts)
    if count in pivots:
        return None
    entries = table.to_Matrix()
    found = [
        certificate.domain.substitute(sp.Integer(0) + old)
        for _, old in certificate.uses
    ]
    free = [k for k in range(count) if k not in pivots]
    for row, k in enumerate(pivots):
        moved = sum((entries[row, f] * found[f] for f in free), zero)
        found[k] = sp.cancel(entries[row, count] - moved)
    uses = tuple(
        (fact, multiplier)
        for (fact, _), multiplier in zip(certificate.uses, found, strict=True)
    )
    return replace(certificate, uses=uses)


def _parts(certificate: Certificate, expr: Any) -> dict[str, Any]:
    """Return the coefficients of the atoms in free variables, without zeros."""
    found = coefficients(sp.Integer(0) + expr)
    found.pop("1")
    exact = {name: certificate.domain.substitute(c) for name, c in found.items()}
    return {name: c for name, c in exact.items() if c != 0}
