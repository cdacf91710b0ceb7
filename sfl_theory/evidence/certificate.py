r"""Certificates: a claim as a non-negative combination of facts plus squares.

A claim ``left <= right`` is linear in *atoms* (inner products, function values,
expectations and sums of them) with coefficients that are rational in named parameters.
It is proved by

    right - left = sum_k multiplier_k * fact_k + sum_j weight_j * ||vector_j||^2 + slack

where each fact is an expression known to be non-negative, under a named hypothesis or
because earlier certificates prove it (``Link``), and multipliers, weights and the slack
(free of atoms) are non-negative on the whole parameter domain. ``check`` uses exact
arithmetic only: no solver, no floating point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from sfl_theory.evidence.domain import Domain
from sfl_theory.evidence.linear import (
    Atom,
    Rejected,
    Vector,
    atom,
    coefficients,
    inner,
    norm2,
    vectors,
)

__all__ = [
    "Certificate",
    "Fact",
    "Link",
    "Rejected",
    "Replay",
    "Vector",
    "atom",
    "check",
    "coefficients",
    "inner",
    "norm2",
    "replay",
    "vectors",
]


class Link(ABC):
    """How a fact follows from earlier certificates (``derivation`` has the rules)."""

    @abstractmethod
    def verify(
        self, fact: Fact, user: Certificate, trail: tuple[Certificate, ...]
    ) -> tuple[str, tuple[Certificate, ...]]:
        """Replay the earlier certificates and derive the fact from them.

        Args:
            fact: what must follow.
            user: the certificate that uses it.
            trail: the certificates being replayed, the outermost first.

        Returns:
            The rule in words, and the earlier certificates.

        Raises:
            Rejected: if it does not follow.
        """


@dataclass(frozen=True)
class Fact:
    """An expression that is non-negative under a hypothesis, or by earlier proofs.

    Attributes:
        name: which rule, at which points.
        expr: linear in atoms; >= 0.
        hypothesis: the assumption or definition that gives it; "" where ``derived``
            needs none beyond those of the earlier certificates.
        exact: whether it is (part of) an exact interpolation condition.
        equality: the expression is zero, so its multiplier may have any sign.
        derived: how it follows from earlier certificates.
    """

    name: str
    expr: Any
    hypothesis: str
    exact: bool = False
    equality: bool = False
    derived: Link | None = None


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

    @property
    def conclusion(self) -> Any:
        """What is shown to be non-negative."""
        return self.right - self.left


@dataclass(frozen=True)
class Replay:
    """What a check found, step by step.

    Attributes:
        lines: one line per check, in the order of the checks.
        unused: hypotheses that no fact uses.
    """

    lines: tuple[str, ...]
    unused: tuple[str, ...] = field(default=())


def check(
    certificate: Certificate, claim: str, earlier: Sequence[Certificate] = ()
) -> Replay:
    """Replay a certificate, and the certificates that its facts are derived from.

    Args:
        certificate: what is to be checked.
        claim: the identifier that it must prove.
        earlier: the steps before it in its proof; they only give the replay's lines
            their numbers, for every earlier certificate is replayed where it is used.

    Returns:
        The checks made.

    Raises:
        Rejected: if one fails.
    """
    if certificate.claim != claim:
        raise Rejected(f"this certificate is for {certificate.claim}, not for {claim}")
    return replay(certificate, (), tuple(earlier))


def replay(
    certificate: Certificate,
    trail: tuple[Certificate, ...],
    earlier: tuple[Certificate, ...] = (),
) -> Replay:
    """Replay a certificate within the replay of those that use it.

    Args:
        certificate: what is to be checked.
        trail: the certificates being replayed, the outermost first.
        earlier: the numbered steps before it.

    Returns:
        The checks made.

    Raises:
        Rejected: if one fails.
    """
    if any(certificate is other for other in trail):
        raise Rejected(
            f"circular: '{certificate.statement or certificate.claim}' rests on itself"
        )
    trail = (*trail, certificate)
    domain = certificate.domain
    lines = [
        f"claim: {certificate.statement or certificate.claim}",
        f"domain: {domain.words}",
        f"assumes: {'; '.join(certificate.hypotheses) or 'nothing'}",
    ]
    _refuse_undefined(certificate)
    used = []
    for fact, multiplier in certificate.uses:
        proved = ""
        if fact.derived is not None:
            if fact.equality:
                raise Rejected(f"'{fact.name}': what is derived is an inequality")
            rule, sources = fact.derived.verify(fact, certificate, trail)
            used += [h for source in sources for h in source.hypotheses]
            proved = f"; {rule}, {_named(sources, certificate, earlier)}"
        if fact.hypothesis not in certificate.hypotheses and (
            fact.hypothesis or fact.derived is None
        ):
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
        if fact.derived is not None:
            kind = "derived"
        lines.append(f"uses {multiplier} x [{fact.name}] ({kind}{proved})")
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
        raise Rejected("the constant left over is not shown non-negative")
    for name, coefficient in found.items():
        if not domain.zero(coefficient):
            raise Rejected(f"identity fails at '{name}': coefficient is not zero")
    exact = "nothing" if domain.zero(slack) else "a non-negative constant"
    lines.append(f"identity: every coefficient vanishes, {exact} is left over")
    lines.append("direction: left <= right follows")
    unused = tuple(h for h in certificate.hypotheses if h not in used)
    _remember(certificate)
    return Replay(tuple(lines), unused)


_PROVED: ContextVar[dict[str, list[Certificate]] | None] = ContextVar(
    "proved", default=None
)


@contextmanager
def once() -> Iterator[None]:
    """Replay no certificate twice while one claim is decided.

    An earlier step that was replayed in full within this context, equal in every part,
    is not replayed again where it is used.

    Yields:
        Nothing.
    """
    token = _PROVED.set({})
    try:
        yield
    finally:
        _PROVED.reset(token)


def proved_before(certificate: Certificate) -> bool:
    """Return whether an equal certificate was replayed within ``once``.

    Args:
        certificate: an earlier step.

    Returns:
        Whether it need not be replayed again.
    """
    known = _PROVED.get()
    return known is not None and certificate in known.get(certificate.statement, ())


def _remember(certificate: Certificate) -> None:
    known = _PROVED.get()
    if known is not None:
        known.setdefault(certificate.statement, []).append(certificate)


def _named(
    sources: tuple[Certificate, ...],
    user: Certificate,
    earlier: tuple[Certificate, ...],
) -> str:
    """Return where the earlier certificates stand."""
    names: dict[str, None] = {}
    steps: dict[str, None] = {}
    for source in sources:
        numbers = [k for k, step in enumerate(earlier, 1) if step == source]
        if numbers:
            steps[str(numbers[0])] = None
        elif source.claim == user.claim:
            names[f"a step replayed here, '{source.statement}'"] = None
        else:
            names[f"{source.claim}, replayed here"] = None
    if steps:
        word = "step" if len(steps) == 1 else "steps"
        names[f"{word} {', '.join(steps)} of this proof"] = None
    return f"proved by {' and '.join(names)}"


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
    if not domain.inhabited():
        raise Rejected(f"no point of the domain '{domain.words}' was found")
    for factor in (*factors, *domain.free, *domain.values.values(), *domain.given):
        if (sp.Integer(0) + factor).atoms(Atom):
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
