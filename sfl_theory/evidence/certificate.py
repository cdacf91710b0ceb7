r"""Certificates: a claim as a non-negative combination of facts plus squares.

A claim ``left <= right`` is linear in *atoms* (inner products, function values,
expectations and sums of them) with coefficients that are rational in named parameters.
It is proved by

    right - left = sum_k multiplier_k * fact_k + sum_j weight_j * ||vector_j||^2 + slack

where each fact is an expression known to be non-negative under a named hypothesis, and
multipliers, weights and the slack (free of atoms) are non-negative on the whole
parameter domain. ``check`` uses
exact arithmetic only: no solver, no floating point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from sfl_theory.evidence.domain import Domain


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
    return _Atom(name)


class _Atom(sp.Symbol):  # type: ignore[misc]
    """A real unknown; its own class, so a parameter is never taken for an atom."""

    def __new__(cls, name: str) -> Any:
        return super().__new__(cls, name, real=True)


@dataclass(frozen=True)
class Fact:
    """An expression that is non-negative under a hypothesis.

    Attributes:
        name: which rule, at which points.
        expr: linear in atoms; >= 0.
        hypothesis: the assumption, definition or proved claim that gives it.
        exact: whether it is (part of) an exact interpolation condition.
        equality: the expression is zero, so its multiplier may have any sign.
    """

    name: str
    expr: Any
    hypothesis: str
    exact: bool = False
    equality: bool = False


@dataclass(frozen=True)
class Certificate:
    """A proof of ``left <= right``.

    Attributes:
        claim: identifier of the claim.
        left: linear in atoms.
        right: linear in atoms.
        hypotheses: what the claim assumes.
        domain: the parameters.
        uses: facts with their multipliers.
        squares: vectors with their weights.
    """

    claim: str
    left: Any
    right: Any
    hypotheses: tuple[str, ...]
    domain: Domain
    uses: tuple[tuple[Fact, Any], ...] = ()
    squares: tuple[tuple[Vector, Any], ...] = ()
    statement: str = ""


@dataclass(frozen=True)
class Replay:
    """What a check found, step by step.

    Attributes:
        lines: one line per check, in the order of the checks.
        unused: hypotheses that no fact uses.
    """

    lines: tuple[str, ...]
    unused: tuple[str, ...] = field(default=())


def check(certificate: Certificate, claim: str) -> Replay:
    """Replay a certificate.

    Args:
        certificate: what is to be checked.
        claim: the identifier that it must prove.

    Returns:
        The checks made.

    Raises:
        Rejected: if one fails.
    """
    if certificate.claim != claim:
        raise Rejected(f"this certificate is for {certificate.claim}, not for {claim}")
    domain = certificate.domain
    lines = [
        f"claim: {certificate.statement or claim}",
        f"domain: {domain.words}",
        f"assumes: {'; '.join(certificate.hypotheses) or 'nothing'}",
    ]
    _refuse_undefined(certificate)
    used = []
    for fact, multiplier in certificate.uses:
        if fact.hypothesis not in certificate.hypotheses:
            raise Rejected(
                f"'{fact.name}' rests on '{fact.hypothesis}', which the claim does "
                "not assume"
            )
        if not fact.equality and not domain.nonnegative(sp.Integer(0) + multiplier):
            raise Rejected(
                f"the multiplier {multiplier} of '{fact.name}' is not shown "
                "non-negative on the domain"
            )
        used.append(fact.hypothesis)
        kind = "exact interpolation" if fact.exact else "necessary"
        if fact.equality:
            kind = "equality"
        lines.append(f"uses {multiplier} x [{fact.name}] ({kind})")
    for vector, weight in certificate.squares:
        if not domain.nonnegative(sp.Integer(0) + weight):
            raise Rejected(f"the weight {weight} of a square is not shown non-negative")
        shown = " + ".join(f"({c}) {name}" for name, c in vector.parts.items())
        lines.append(f"square {weight} x ||{shown}||^2")
    rest = certificate.right - certificate.left
    rest -= sum(m * fact.expr for fact, m in certificate.uses)
    rest -= sum(w * norm2(v) for v, w in certificate.squares)
    if rest.has(sp.Float):
        raise Rejected("a floating-point number entered the identity")
    found = coefficients(rest)
    slack = found.pop("1")
    if not domain.nonnegative(slack):
        raise Rejected(
            f"the constant left over, {sp.factor(domain.substitute(slack))}, is not "
            "shown non-negative"
        )
    for name, coefficient in found.items():
        if not domain.zero(coefficient):
            raise Rejected(
                f"identity fails at '{name}': coefficient "
                f"{sp.factor(domain.substitute(coefficient))} is not zero"
            )
    exact = "nothing" if domain.zero(slack) else "a non-negative constant"
    lines.append(f"identity: every coefficient vanishes, {exact} is left over")
    lines.append("direction: left <= right follows")
    unused = tuple(h for h in certificate.hypotheses if h not in used)
    return Replay(tuple(lines), unused)


def _refuse_undefined(certificate: Certificate) -> None:
    """Refuse what is not a real number everywhere on the domain.

    Atoms have no sign, so none is a free variable, a multiplier or a weight;
    coefficients of squares are real; nothing is divided by what may vanish.

    Raises:
        Rejected: if something is refused.
    """
    domain = certificate.domain
    factors = [m for _, m in certificate.uses]
    factors += [w for _, w in certificate.squares]
    factors += [c for v, _ in certificate.squares for c in v.parts.values()]
    for factor in (*factors, *domain.free, *domain.values.values()):
        if (sp.Integer(0) + factor).atoms(_Atom):
            raise Rejected(f"'{factor}' holds an atom, whose sign is not known")
    sides = [certificate.left, certificate.right]
    sides += [fact.expr for fact, _ in certificate.uses]
    divisors = {
        power
        for side in sides
        for power in (sp.Integer(0) + side).atoms(sp.Pow)
        if power.exp.is_negative
    }
    for expr in (*factors, *divisors):
        domain.zero(expr)


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
    atoms = sorted(expanded.atoms(_Atom), key=str)
    found: dict[str, Any] = {}
    rest = expanded
    for unknown in atoms:
        coefficient = expanded.coeff(unknown, 1)
        rest = rest - coefficient * unknown
        found[str(unknown)] = coefficient
    found["1"] = sp.expand(rest)
    for name, coefficient in found.items():
        if coefficient.atoms(_Atom):
            raise Rejected(f"not linear in atoms at '{name}'")
    return found
