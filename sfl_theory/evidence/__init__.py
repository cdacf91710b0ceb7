"""Certificates, instances and what decides a claim: all that an audit needs."""

from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    Rejected,
    atom,
    check,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.claim import Claim, Open, Proof, Refutation, Repair
from sfl_theory.evidence.derivation import INDUCTION, Instance, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.induction import Induction
from sfl_theory.evidence.instance import Check, Finding, at_most, equal
from sfl_theory.evidence.interval import Interval
from sfl_theory.evidence.ledger import Ledger

__all__ = [
    "INDUCTION",
    "Certificate",
    "Check",
    "Claim",
    "Domain",
    "Fact",
    "Finding",
    "Induction",
    "Instance",
    "Interval",
    "Ledger",
    "Open",
    "Proof",
    "Refutation",
    "Rejected",
    "Repair",
    "Use",
    "at_most",
    "atom",
    "check",
    "equal",
    "free",
    "inner",
    "norm2",
    "positive",
    "vectors",
]
