"""Searches against statements between numbers alone, over their parameters.

A certificate whose two sides hold no unknown but the parameters says everything by
them: both sides are evaluated in floating point at random points of the domain, which
uses none of the checker's reasoning about signs. Numbers printed in a table have no
parameter; there one evaluation says it all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

import sympy as sp
from search import Random, Search, Sides

from sfl_theory.evidence.certificate import Certificate, coefficients
from sfl_theory.evidence.claim import Proof

SLACK = 100.0
"""Factor within which such a statement is tight somewhere, unless said otherwise."""


def compiled(certificate: Certificate) -> Callable[[Random], list[Sides]]:
    """Return the evaluation of a certificate's sides at a point of its domain."""
    domain = certificate.domain
    left, right, *given = (
        sp.lambdify(domain.free, domain.in_free_variables(sp.Integer(0) + expr), "math")
        for expr in (certificate.left, certificate.right, *domain.given)
    )

    def at_a_point(r: Random) -> list[Sides]:
        point = []
        for variable in domain.free:
            zero = not variable.is_positive and r.of(False, False, True)
            point.append(0.0 if zero else float(10 ** r.rng.uniform(-3, 3)))
        if any(known(*point) < 0 for known in given):
            return []
        words = str(dict(zip(domain.free, point, strict=True)))
        return [Sides(float(left(*point)), float(right(*point)), words)]

    return at_a_point


class EveryCertificate:
    """Evaluates all certificates of a proof; they are compiled when first needed."""

    def __init__(self, certificates: tuple[Certificate, ...]) -> None:
        self._certificates = certificates

    @cached_property
    def _each(self) -> list[Callable[[Random], list[Sides]]]:
        return [compiled(one) for one in self._certificates]

    def __call__(self, r: Random) -> list[Sides]:
        return [sides for one in self._each for sides in one(r)]


def numbers_alone(certificates: Iterable[Certificate]) -> bool:
    """Say whether the certificates speak of nothing but parameters."""
    return all(
        set(coefficients(side)) == {"1"}
        for certificate in certificates
        for side in (certificate.left, certificate.right)
    )


def searches(
    proofs: Iterable[tuple[str, Proof]], known: Callable[[str], bool]
) -> dict[str, Search]:
    """Return a search for every proof about numbers alone that is not known yet."""
    found = {}
    for name, proof in proofs:
        if not known(name):
            certificates = tuple(build() for build in proof.certificates)
            if numbers_alone(certificates):
                examples = 1 if not certificates[0].domain.values else 30
                found[name] = Search(EveryCertificate(certificates), SLACK, examples)
    return found
