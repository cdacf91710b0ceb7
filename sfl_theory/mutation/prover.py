"""The proving side: original multipliers, fitted multipliers, a sharper statement.

Whatever is fitted, the verdict is the checker's alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import sympy as sp

from sfl_theory.evidence import certificate as certificates
from sfl_theory.evidence.certificate import Certificate, Fact, Vector
from sfl_theory.evidence.derivation import Instance, Use
from sfl_theory.mutation.as_squares import in_squares
from sfl_theory.mutation.exact import at, points
from sfl_theory.mutation.multipliers import solved
from sfl_theory.mutation.operators import LAWS, SAME_GROUND, SETTLED, Mutant
from sfl_theory.mutation.terms import ATOM, atoms_of, is_product, is_square

TRIALS = 60
"""Points of the domain at which a leftover constant is looked at beforehand."""


def accepted(certificate: Certificate) -> bool:
    """Return whether the checker accepts a certificate."""
    try:
        certificates.check(certificate, certificate.claim)
    except ValueError:
        return False
    return True


def settled(original: Certificate) -> Certificate:
    """Return an accepted certificate whose derived facts are taken as proved.

    They follow from the hypotheses on the domain, as its replay showed, so they hold
    for every statement with the same hypotheses and the same domain.

    Args:
        original: which the checker accepts.

    Returns:
        The certificate without links to earlier ones.
    """
    if all(fact.derived is None for fact, _ in original.uses):
        return original
    uses = tuple(
        (
            fact
            if fact.derived is None
            else replace(fact, derived=None, hypothesis=SETTLED),
            multiplier,
        )
        for fact, multiplier in original.uses
    )
    return replace(original, uses=uses, hypotheses=(*original.hypotheses, SETTLED))


@dataclass
class Prover:
    """Proves mutants of one original statement.

    Attributes:
        original: the certificate that was accepted.
        sharper: certificates of the same left side, on the same domain or for twice
            the learning rate.
    """

    original: Certificate
    sharper: tuple[Certificate, ...] = ()

    def __post_init__(self) -> None:
        """Replay the certificates."""
        self._plain = settled(self.original)
        self._sharper = tuple(filter(accepted, self.sharper))

    def proof(self, mutant: Mutant) -> str:
        """Say how the checker could be convinced of a mutant.

        Args:
            mutant: of the original.

        Returns:
            "original multipliers", "fitted multipliers", "a sharper statement" or ""
            where none proves it.
        """
        original, certificate = self.original, mutant.certificate
        if mutant.operator in SAME_GROUND:
            # derived facts follow from the same hypotheses on the same domain
            original = self._plain
            certificate = replace(
                certificate, uses=original.uses, hypotheses=original.hypotheses
            )
        found = proof(certificate, original)
        if not found and any(
            _follows(mutant, source, self.original) for source in self._sharper
        ):
            return "a sharper statement"
        return found


def _follows(mutant: Mutant, source: Certificate, original: Certificate) -> bool:
    """Return whether a mutant follows from a sharper statement."""
    certificate = mutant.certificate
    if not set(source.hypotheses) <= set(certificate.hypotheses):
        return False
    if source.domain.values != certificate.domain.values:
        return False
    expr = sp.Integer(0) + source.right - source.left
    if mutant.operator in SAME_GROUND:  # replayed already
        fact = Fact("a sharper statement", expr, SETTLED)
        hypotheses = (*certificate.hypotheses, SETTLED)
    else:
        same = Use(source, {str(v): v for v in source.domain.free})
        fact = Fact("a sharper statement", expr, "", derived=Instance(same))
        hypotheses = certificate.hypotheses
    scales = (1, sp.Rational(1, 2)) if mutant.operator == "constant halved" else (1,)
    # facts of one atom's sign take up what is left over
    signs = tuple(
        (known, sp.Integer(0))
        for known, _ in (*original.uses, *source.uses)
        if known.derived is None and known.hypothesis in hypotheses
    )
    for scale in scales:
        restated = replace(
            certificate,
            right=scale * source.right,
            left=scale * source.left,
            hypotheses=hypotheses,
            uses=((fact, sp.Integer(1) * scale), *signs),
            squares=(),
        )
        changed = replace(restated, left=certificate.left, right=certificate.right)
        if proof(changed, restated):
            return True
    return mutant.operator in SAME_GROUND and _same_multipliers(certificate, source)


def _same_multipliers(certificate: Certificate, source: Certificate) -> bool:
    """Return whether the facts of a sharper statement, so weighed, prove another."""
    more = certificate.right - certificate.left - source.right + source.left
    parts = certificates.coefficients(sp.Integer(0) + more).items()
    if not any(
        is_product(name)
        and not (is_square(name) and certificate.domain.nonnegative(coefficient))
        for name, coefficient in parts
    ):
        return False  # then squares do not help
    plain = settled(source)
    hypotheses = tuple(dict.fromkeys((*certificate.hypotheses, *plain.hypotheses)))
    changed = replace(
        certificate, uses=plain.uses, hypotheses=hypotheses, squares=plain.squares
    )
    if proof(changed, replace(plain, hypotheses=hypotheses)):
        return True
    if _clearly_negative(changed):
        return False
    squared = in_squares(replace(changed, squares=()))
    return squared is not None and accepted(squared)


def proof(certificate: Certificate, original: Certificate) -> str:
    """Say how the checker could be convinced of a statement.

    Args:
        certificate: the statement with the multipliers of its original.
        original: which the checker accepts.

    Returns:
        "original multipliers", "fitted multipliers" or "" where neither proves it.
    """
    try:
        candidate, cancelled = fitted(certificate, original)
    except ValueError:  # not linear in atoms, or not rational on the domain
        return ""
    if not cancelled:
        other = None
        if not _clearly_negative(candidate):
            other = in_squares(candidate) or in_squares(_by_squares_alone(candidate))
        other = other or solved(certificate)
        if other is None:
            return ""
        candidate = other
    if _clearly_negative(candidate):
        return ""
    same = candidate == certificate
    words = "original multipliers" if same else "fitted multipliers"
    return words if accepted(candidate) else ""


def _by_squares_alone(certificate: Certificate) -> Certificate:
    """Return the certificate without the laws on inner products that it uses.

    Such a law is itself a sum of squares, but one fixed beforehand.
    """
    uses = tuple(
        (fact, multiplier)
        for fact, multiplier in certificate.uses
        if fact.hypothesis not in LAWS or not all(map(is_product, atoms_of(fact.expr)))
    )
    return replace(certificate, uses=uses)


def fitted(certificate: Certificate, original: Certificate) -> tuple[Certificate, bool]:
    """Return the certificate with multipliers that cancel what is left over.

    What the mutation leaves over of an atom is moved into the weight of its square, or
    into the multiplier of a fact that speaks of this atom alone. Nothing is assumed of
    signs; the checker decides.

    Args:
        certificate: whose identity need not hold.
        original: whose identity holds.

    Returns:
        The changed certificate, and whether every atom cancels.
    """
    uses, squares = list(certificate.uses), list(certificate.squares)
    cancelled = True
    for name, coefficient in _change(certificate, original).items():
        if name == "1" or certificate.domain.zero(coefficient):
            continue
        for k, (fact, multiplier) in enumerate(uses):
            alone = _multiple_of_atom(fact.expr, name)
            if alone is not None:
                uses[k] = fact, multiplier + coefficient / alone
                break
        else:
            bound = _bound_of_square(uses, name)
            if bound is not None and certificate.domain.nonnegative(-coefficient):
                fact, multiplier = uses[bound[0]]
                uses[bound[0]] = fact, multiplier + coefficient / bound[1]
            elif is_square(name):
                _add_square(squares, name[1:-1].partition(",")[0], coefficient)
            else:
                cancelled = False
    if (uses, squares) == (list(certificate.uses), list(certificate.squares)):
        return certificate, cancelled
    changed = replace(certificate, uses=tuple(uses), squares=tuple(squares))
    return changed, cancelled


def _change(certificate: Certificate, original: Certificate) -> dict[str, Any]:
    """Return what the mutation adds to the identity, per atom."""
    rest = certificate.right - certificate.left - original.right + original.left
    kept = list(certificate.uses)
    for use in original.uses:
        if use in kept:
            kept.remove(use)
        else:
            rest += use[1] * use[0].expr
    return certificates.coefficients(sp.Integer(0) + rest)


def _multiple_of_atom(expr: Any, name: str) -> Any:
    factor, symbol = (sp.Integer(0) + expr).as_coeff_Mul()
    alone = isinstance(symbol, ATOM) and str(symbol) == name
    return factor if alone else None


def _bound_of_square(uses: list[tuple[Fact, Any]], name: str) -> tuple[int, Any] | None:
    """Return which fact bounds a square by a constant, and the square's factor."""
    for k, (fact, _) in enumerate(uses):
        if is_square(name) and atoms_of(fact.expr) == {name}:
            return k, certificates.coefficients(sp.Integer(0) + fact.expr)[name]
    return None


def _add_square(squares: list[tuple[Vector, Any]], name: str, weight: Any) -> None:
    for k, (vector, old) in enumerate(squares):
        if dict(vector.parts) == {name: 1}:
            squares[k] = vector, old + weight
            return
    squares.append((Vector({name: sp.Integer(1)}), weight))


def _clearly_negative(certificate: Certificate) -> bool:
    """Return whether the constant left over is negative at a point of the domain.

    Then no checker may accept the certificate; saves its rejection, which is slow.
    """
    rest = certificate.right - certificate.left
    rest -= sum(m * fact.expr for fact, m in certificate.uses)
    rest -= sum(w * certificates.norm2(v) for v, w in certificate.squares)
    free_of_atoms = rest.xreplace({a: sp.Integer(0) for a in rest.atoms(ATOM)})
    try:
        return any(
            at(free_of_atoms, values) < 0
            for values in islice(points(certificate.domain, 0, TRIALS), TRIALS)
        )
    except (ValueError, KeyError, ZeroDivisionError):
        return False
