"""The ledger: what is known of the claims of the three papers, with evidence."""

from sfl_theory.audits import dachille2024, huang2023
from sfl_theory.audits.han2024 import claims as han2024
from sfl_theory.evidence.claim import Ledger

LEDGER = Ledger((*han2024.CLAIMS, *huang2023.CLAIMS, *dachille2024.CLAIMS))

COVERAGE = (
    "Not yet in the ledger: most numbered equations inside the proofs of han2024 "
    "(App. D-G), its Tables 2-4 and what its text reads off its figures. What is not "
    "in the ledger is not claimed."
)
"""What the ledger lacks; shown wherever it is."""

__all__ = ["COVERAGE", "LEDGER"]
