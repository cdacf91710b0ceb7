"""Every mutant from both sides, and what follows from the two together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import sympy as sp

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.claim import Claim, Proof
from sfl_theory.evidence.linear import coefficients
from sfl_theory.mutation.operators import Mutant, mutants, rate_doubled
from sfl_theory.mutation.prover import Prover, accepted
from sfl_theory.mutation.readings import GROUPS
from sfl_theory.mutation.refuter import Contradiction, Refuter

PROVED, REFUTED, UNDECIDED, WRONG = "proved", "refuted", "undecided", "wrongly proved"
VERDICTS = (PROVED, REFUTED, UNDECIDED, WRONG)


@dataclass(frozen=True)
class Statement:
    """A statement with its certificates, one per piece of its parameter domain.

    Attributes:
        claim: the first claim that uses it, "#repair" where a repair does.
        pieces: the certificates.
        claims: every claim that uses it.
        sharper: per piece, certificates of the same left side that assume no more, on
            the same domain or for twice the learning rate; they prove mutants that are
            true.
    """

    claim: str
    pieces: tuple[Certificate, ...]
    claims: tuple[str, ...]
    sharper: tuple[tuple[Certificate, ...], ...]


@dataclass(frozen=True)
class Verdict:
    """What both sides say of a mutant.

    Attributes:
        claim: whose certificate was mutated.
        statement: the original one in words.
        kind: what it is about.
        operator: of the mutation.
        change: what was changed.
        verdict: one of ``VERDICTS``.
        why: the proof or the instance.
    """

    claim: str
    statement: str
    kind: str
    operator: str
    change: str
    verdict: str
    why: str

    def as_dict(self) -> dict[str, str]:
        """Return the verdict under its JSON keys."""
        return dict(self.__dict__)


def statements(claims: Iterable[Claim]) -> tuple[Statement, ...]:
    """Return the different statements that certificates of claims and repairs prove.

    A statement that several claims share is returned once; certificates of the same
    words, right side and hypotheses are its pieces.

    Args:
        claims: of the ledger.

    Returns:
        The statements.
    """
    groups: dict[Any, list[Certificate]] = {}
    proofs = tuple(_proofs(claims))
    proved = [(name, build()) for name, proof in proofs for build in proof.certificates]
    more = [build() for _, proof in proofs for build in proof.sharper]
    known = _Known((*(certificate for _, certificate in proved), *more))
    for name, certificate in proved:
        words = certificate.statement or id(certificate)
        key = name, words, certificate.right, certificate.hypotheses
        groups.setdefault(key, []).append(certificate)
    found: dict[Any, tuple[str, list[Certificate]]] = {}
    for group, certificates in groups.items():
        for certificate in certificates:
            alike = () if len(certificates) == 1 else _operators(certificate)
            pieces = (*group, alike)
            found.setdefault(pieces, (group[0], []))[1].append(certificate)
    merged: dict[Any, tuple[str, list[Certificate], list[str]]] = {}
    for name, certificates in found.values():
        prints = tuple(_fingerprint(c) for c in certificates)
        merged.setdefault(prints, (name, certificates, []))[2].append(name)
    return tuple(
        Statement(
            name,
            tuple(certificates),
            tuple(dict.fromkeys(users)),
            tuple(known.sharper(certificate, users) for certificate in certificates),
        )
        for name, certificates, users in merged.values()
    )


def _operators(certificate: Certificate) -> tuple[str, ...]:
    return tuple(mutant.operator for mutant in mutants(certificate))


class _Known:
    """Certificates by their left sides and domains.

    Only those of the same claim are compared: another one may mean another algorithm by
    the same words.
    """

    def __init__(self, certificates: Iterable[Certificate]) -> None:
        self._found: dict[Any, list[Certificate]] = {}
        for certificate in certificates:
            self._found.setdefault(self._key(certificate), []).append(certificate)

    def sharper(
        self, certificate: Certificate, users: Iterable[str]
    ) -> tuple[Certificate, ...]:
        """Return others of the same left side and domain that assume no more.

        Those for twice the learning rate follow.
        """
        claims = frozenset(users)
        others = self._no_more(certificate, claims, (certificate.right,))
        for doubled in rate_doubled(certificate):
            others += self._no_more(doubled.certificate, claims, ())
        return others

    def _no_more(
        self, certificate: Certificate, claims: frozenset[str], known: tuple[Any, ...]
    ) -> tuple[Certificate, ...]:
        """Return those of the claims with other right sides that assume no more."""
        others: dict[Any, Certificate] = {}
        for other in self._found.get(self._key(certificate), ()):
            assumes_more = set(other.hypotheses) - set(certificate.hypotheses)
            same = other.claim in claims
            if same and not assumes_more and other.right not in known:
                others.setdefault(other.right, other)
        return tuple(others.values())

    def _key(self, certificate: Certificate) -> Any:
        domain = certificate.domain
        left = coefficients(sp.Integer(0) + certificate.left).items()
        return frozenset(left), tuple(domain.values.items()), domain.free, domain.given


def _proofs(claims: Iterable[Claim]) -> Iterator[tuple[str, Proof]]:
    for claim in claims:
        if isinstance(claim.evidence, Proof):
            yield claim.id, claim.evidence
        if claim.repair is not None and isinstance(claim.repair.evidence, Proof):
            yield f"{claim.id}#repair", claim.repair.evidence


def _fingerprint(certificate: Certificate) -> tuple[Any, ...]:
    return (
        certificate.left,
        certificate.right,
        certificate.hypotheses,
        tuple(certificate.domain.values.items()),
        certificate.domain.given,
        tuple((fact.expr, multiplier) for fact, multiplier in certificate.uses),
    )


def judge(statement: Statement) -> Iterator[Verdict]:
    """Yield the verdict on every mutant of a statement.

    A mutant of a statement in pieces is proved if every piece is, refuted if one is. A
    statement that the checker does not accept has no mutants.

    Args:
        statement: to be mutated.

    Yields:
        Verdicts.
    """
    if not all(accepted(piece) for piece in statement.pieces):
        return
    refuters = [Refuter(piece) for piece in statement.pieces]
    kind = refuters[0].kind
    originals = statement.pieces
    words = originals[0].statement or f"{originals[0].left} <= {originals[0].right}"

    def verdict(operator: str, change: str, decided: str, why: str) -> Verdict:
        return Verdict(statement.claim, words, kind, operator, change, decided, why)

    for refuter in refuters:
        try:
            refuter.standing()
        except Contradiction as broken:
            yield verdict("none", "the original itself", WRONG, str(broken))
    provers = [
        Prover(piece, sharper)
        for piece, sharper in zip(originals, statement.sharper, strict=True)
    ]
    for column in zip(*(mutants(piece) for piece in originals), strict=True):
        first = column[0]
        decided, why = _decide(column, provers, refuters)
        yield verdict(first.operator, first.change, decided, why)


def _decide(
    pieces: tuple[Mutant, ...], provers: list[Prover], refuters: list[Refuter]
) -> tuple[str, str]:
    """Return the verdict on a mutant and its reason."""
    for piece, prover, refuter in zip(pieces, provers, refuters, strict=True):
        found = refuter.counterexample(piece.certificate, piece.removed)
        if found is not None:
            why = f"{found.setup}: {found.left} > {found.right}"
            # the very piece that is broken: no certificate of it may pass
            if accepted(piece.certificate) or prover.proof(piece):
                return WRONG, f"accepted, but {why}"
            return REFUTED, why
    ways = []
    for piece, prover in zip(pieces, provers, strict=True):
        way = prover.proof(piece)
        if not way:
            break
        ways.append(way)
    else:
        return PROVED, " and ".join(dict.fromkeys(ways))
    for piece, refuter in zip(pieces, refuters, strict=True):
        if refuter.countermodel(piece.certificate, piece.removed):
            return UNDECIDED, "not a consequence of the facts used"
    return UNDECIDED, "neither side decides"


def summary(verdicts: Iterable[Verdict]) -> dict[str, dict[str, dict[str, int]]]:
    """Count verdicts by operator, by kind of statement and by group of kinds.

    Operators are counted in the first group only, the headline's.

    Args:
        verdicts: to be counted.

    Returns:
        "operator", "kind" and "group" -> row -> verdict -> number.
    """
    groups = {kind: group for group, kinds in GROUPS.items() for kind in kinds}
    headline = next(iter(GROUPS))
    tables: dict[str, dict[str, dict[str, int]]] = {
        "operator": {},
        "kind": {},
        "group": {group: dict.fromkeys(VERDICTS, 0) for group in GROUPS},
    }
    for found in verdicts:
        rows = {"kind": found.kind, "group": groups[found.kind]}
        if groups[found.kind] == headline:
            rows["operator"] = found.operator
        for table, name in rows.items():
            row = tables[table].setdefault(name, dict.fromkeys(VERDICTS, 0))
            row[found.verdict] += 1
    return tables
