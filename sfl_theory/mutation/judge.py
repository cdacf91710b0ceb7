"""Every mutant from both sides, and what follows from the two together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.claim import Claim, Proof
from sfl_theory.mutation.operators import SAME_GROUND, Mutant, mutants
from sfl_theory.mutation.prover import accepted, proof, settled
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
    """

    claim: str
    pieces: tuple[Certificate, ...]
    claims: tuple[str, ...]


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
    for name, certificate in _proved(claims):
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
        Statement(name, tuple(certificates), tuple(dict.fromkeys(users)))
        for name, certificates, users in merged.values()
    )


def _operators(certificate: Certificate) -> tuple[str, ...]:
    return tuple(mutant.operator for mutant in mutants(certificate))


def _proved(claims: Iterable[Claim]) -> Iterator[tuple[str, Certificate]]:
    for claim in claims:
        repaired = claim.repair.evidence if claim.repair is not None else None
        for name, evidence in (
            (claim.id, claim.evidence),
            (f"{claim.id}#repair", repaired),
        ):
            if isinstance(evidence, Proof):
                for build in evidence.certificates:
                    yield name, build()


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
    plain = tuple(settled(piece) for piece in originals)
    columns = zip(*(mutants(piece) for piece in originals), strict=True)
    for column in columns:
        first = column[0]
        if first.operator in SAME_GROUND:
            column = tuple(map(_on_settled, column, plain))
            decided, why = _decide(column, plain, refuters)
        else:
            decided, why = _decide(column, originals, refuters)
        yield verdict(first.operator, first.change, decided, why)


def _on_settled(mutant: Mutant, plain: Certificate) -> Mutant:
    """Return a mutant whose derived facts are taken as proved."""
    changed = replace(mutant.certificate, uses=plain.uses, hypotheses=plain.hypotheses)
    return replace(mutant, certificate=changed)


def _decide(
    pieces: tuple[Mutant, ...],
    originals: tuple[Certificate, ...],
    refuters: list[Refuter],
) -> tuple[str, str]:
    """Return the verdict on a mutant and its reason."""
    for piece, original, refuter in zip(pieces, originals, refuters, strict=True):
        found = refuter.counterexample(piece.certificate, piece.removed)
        if found is not None:
            why = f"{found.setup}: {found.left} > {found.right}"
            # the very piece that is broken: no certificate of it may pass
            if accepted(piece.certificate) or proof(piece.certificate, original):
                return WRONG, f"accepted, but {why}"
            return REFUTED, why
    ways = []
    for piece, original in zip(pieces, originals, strict=True):
        way = proof(piece.certificate, original)
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
