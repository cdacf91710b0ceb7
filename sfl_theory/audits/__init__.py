"""The ledger: what is known of the claims of the three papers, with evidence."""

from sfl_theory.audits import dachille2024, huang2023
from sfl_theory.audits.han2024 import claims as han2024
from sfl_theory.evidence.claim import Ledger

LEDGER = Ledger((*han2024.CLAIMS, *huang2023.CLAIMS, *dachille2024.CLAIMS))

__all__ = ["LEDGER"]
