"""What the audit says of a case of a theorem: status, scope and cause."""

from __future__ import annotations

from dataclasses import dataclass

from sfl_theory.evidence.claim import Claim, Open, Proof, Refutation, Terms

DECLARED: dict[type[Proof | Refutation | Open], str] = {
    Proof: "proved",
    Refutation: "refuted",
    Open: "unproved",
}
"""What each kind of evidence is entered for; the ledger's test replays them all."""


@dataclass(frozen=True)
class Standing:
    """What the audit says of a claim.

    Attributes:
        claim: its id, to replay it.
        status: "proved", "refuted" or "unproved".
        scope: for which hypotheses the status holds, to follow it in a sentence.
        cause: what is wrong, in one line; "" unless refuted.
    """

    claim: str
    status: str
    scope: str
    cause: str

    @property
    def words(self) -> str:
        """Status and scope."""
        return f"{self.status} {self.scope}".rstrip()


def standing(theorem_key: str, case: str) -> Standing | None:
    """Return what the ledger holds for a case, without a replay.

    Args:
        theorem_key: of the theorem, for instance "han2024/thm-3.7".
        case: name of its case.

    Returns:
        The standing that its kind of evidence declares, or None without an entry.
    """
    claim = _claim(theorem_key, case)
    return None if claim is None else declared(claim)


def declared(claim: Claim) -> Standing:
    """Return the standing of a claim that its kind of evidence declares."""
    evidence = claim.evidence
    cause = evidence.cause if isinstance(evidence, Refutation | Terms) else ""
    if isinstance(evidence, Terms):
        return Standing(claim.id, evidence.declared, evidence.scope, cause)
    return Standing(claim.id, DECLARED[type(evidence)], evidence.scope, cause)


def replayed(theorem_key: str, case: str) -> Standing | None:
    """Return what the evidence for a case earns now.

    Args:
        theorem_key: of the theorem, for instance "han2024/thm-3.7".
        case: name of its case.

    Returns:
        The standing, or None without an entry.
    """
    from sfl_theory.audits import LEDGER

    claim = _claim(theorem_key, case)
    if claim is None:
        return None
    entry = LEDGER.entry(claim.id)
    return Standing(claim.id, entry.outcome.status, entry.scope, entry.cause)


def _claim(theorem_key: str, case: str) -> Claim | None:
    """Return the entry of a case: its own, or that of a statement with one case."""
    from sfl_theory.audits import LEDGER

    known = {claim.id: claim for claim in LEDGER.claims()}
    return known.get(f"{theorem_key}/{case}") or known.get(theorem_key)
