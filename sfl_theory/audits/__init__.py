"""The ledger: what is known of the claims of the three papers, with evidence."""

from sfl_theory.audits.dachille2024 import claims as dachille2024
from sfl_theory.audits.han2024 import claims as han2024
from sfl_theory.audits.huang2023 import claims as huang2023
from sfl_theory.claims import sections
from sfl_theory.evidence.claim import Claim, entered
from sfl_theory.evidence.ledger import Ledger
from sfl_theory.papers import PAPERS


def _joined() -> tuple[Claim, ...]:
    """Return the claims: those of the papers' sections in place of older entries."""
    older = (*han2024.CLAIMS, *huang2023.CLAIMS, *dachille2024.CLAIMS)
    claims = {claim.id: claim for claim in older}
    for paper in PAPERS:
        claims.update({claim.id: entered(claim) for claim in sections(paper)})
    return tuple(claims.values())


LEDGER = Ledger(_joined())

COVERAGE = (
    "Not in the ledger: what the papers read off figures without printed numbers, and "
    "definitions. Rows of han2024's Tables 2-3 that belong to theorems of other papers "
    "are entered as unproved. What is not in the ledger is not claimed."
)
"""What the ledger lacks; shown wherever it is."""

__all__ = ["COVERAGE", "LEDGER"]
