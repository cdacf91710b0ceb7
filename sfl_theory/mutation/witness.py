"""Readings: what the atoms of a statement mean, and objects that give them values.

A witness is a real object (functions, vectors, a run with its draws enumerated, or, for
a statement about numbers, numbers) with exact values of parameters and atoms. It stands
for a statement only if it is a point of the domain and carries a check, passed, of
everything that the statement's hypotheses demand. Besides, every fact of the original
proof that it can evaluate must be true on it: a reading that misunderstands a name is
found out there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import wraps

import sympy as sp

from sfl_theory.evidence.certificate import Certificate, Rejected
from sfl_theory.evidence.instance import Check, Finding, replay
from sfl_theory.evidence.interval import Interval
from sfl_theory.mutation.assumptions import topics
from sfl_theory.mutation.exact import Values, at, complete
from sfl_theory.mutation.operators import LAWS
from sfl_theory.mutation.terms import atoms_of, stated_atoms


@dataclass(frozen=True)
class Witness:
    """A real object that meets hypotheses.

    Attributes:
        setup: the object in words.
        parameters: name -> value.
        atoms: name -> value, at least those of the statement.
        checks: topic of ``assumptions`` -> the check of it.
    """

    setup: str
    parameters: Values
    atoms: Values = field(default_factory=dict)
    checks: Mapping[str, Check] = field(default_factory=dict)

    def meets(
        self, hypotheses: Iterable[str], paper: str = ""
    ) -> tuple[Check, ...] | None:
        """Return the checks of hypotheses, None if one fails or is missing.

        Args:
            hypotheses: of a statement.
            paper: whose words they are.

        Returns:
            The checks, all passed.
        """
        found: dict[str, Check] = {}
        for hypothesis in hypotheses:
            for topic in topics(hypothesis, paper) or ("not known",):
                check = self.checks.get(topic)
                if check is None or not check.passed:
                    return None
                found[topic] = check
        return tuple(found.values())


Source = Callable[[Certificate, str], Iterator[Witness]]


def shared(source: Source) -> Source:
    """Return a source whose witnesses are made once, whatever the certificate.

    Args:
        source: that does not look at its certificate.

    Returns:
        The same witnesses, kept.
    """
    made: dict[str, tuple[Witness, ...]] = {}

    @wraps(source)
    def kept(certificate: Certificate, without: str) -> Iterator[Witness]:
        if without not in made:
            made[without] = tuple(source(certificate, without))
        return iter(made[without])

    return kept


@dataclass(frozen=True)
class Reading:
    """What a statement is about.

    Attributes:
        kind: of statement, as the table shows it.
        atoms: of the statement, exactly these.
        source: yields witnesses of a statement that lacks the hypothesis named
            ("" if it lacks none).
        valuation: its witnesses are numbers that meet the facts used, not objects.
    """

    kind: str
    atoms: frozenset[str]
    source: Source
    valuation: bool = False

    def fits(self, certificate: Certificate) -> bool:
        """Return whether it is about the statement of a certificate."""
        return stated_atoms(certificate) == self.atoms


def stands_for(
    witness: Witness,
    original: Certificate,
    mutant: Certificate,
    valuation: bool = False,
) -> Mapping[str, Fraction] | None:
    """Return all values of a witness if it is one of the mutant's, else None.

    Args:
        witness: the object.
        original: the certificate whose facts it must meet, but those of a hypothesis
            that the mutant lacks.
        mutant: whose domain it must lie in and whose hypotheses it must meet.
        valuation: only the facts must be met, for the witness is made of numbers.

    Returns:
        Values of parameters, free variables and atoms.
    """
    if not valuation and witness.meets(*_assumed(mutant)) is None:
        return None
    known = complete(mutant.domain, witness.parameters)
    if known is None:
        return None
    values = {**known, **witness.atoms}
    removed = set(original.hypotheses) - set(mutant.hypotheses)
    for fact, _ in original.uses:
        if fact.hypothesis and fact.hypothesis not in mutant.hypotheses:
            continue
        if fact.derived is not None and removed:  # may rest on what is removed
            continue
        if not atoms_of(fact.expr) <= witness.atoms.keys():
            continue
        try:
            value = at(fact.expr, values)
        except (KeyError, ValueError, ZeroDivisionError):  # not given, no number
            continue
        if value < 0 or (fact.equality and value != 0):
            return None
    return values


def broken_by(
    mutant: Certificate, witness: Witness, values: Mapping[str, Fraction]
) -> Finding | None:
    """Return both sides of a mutant on a witness if it breaks it.

    Args:
        mutant: the statement.
        witness: that stands for it.
        values: of the witness.

    Returns:
        The finding, replayed, or None.
    """
    try:
        if at(sp.Integer(0) + mutant.right - mutant.left, values) >= 0:
            return None
    except (KeyError, ValueError, ZeroDivisionError):  # not given, or no number
        return None
    left, right = (_exact(at(side, values)) for side in (mutant.left, mutant.right))
    inside = complete(mutant.domain, witness.parameters) is not None
    checks = (
        Check("parameters", inside, f"a point of: {mutant.domain.words}"),
        *(witness.meets(*_assumed(mutant)) or ()),
    )
    finding = Finding(witness.setup, checks, left, right)
    try:
        replay(finding)
    except Rejected:  # a valuation, or a margin lost in an enclosure
        return None
    return finding


def _exact(value: Fraction) -> Interval:
    """Return a number, or a narrow enclosure where it is too long to show."""
    found = Interval.of(value)
    long = max(value.numerator.bit_length(), value.denominator.bit_length()) > 4000
    return found.rounded() if long else found


def _assumed(certificate: Certificate) -> tuple[tuple[str, ...], str]:
    """Return the assumptions and the paper of a statement."""
    named = tuple(h for h in certificate.hypotheses if h not in LAWS)
    return named, certificate.claim.split("/")[0]
