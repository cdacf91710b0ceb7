"""Entries of D.3-G.3: (79)-(89), (115)-(125), (145)-(155), (175)-(185)."""

from __future__ import annotations

from sfl_theory.audits.han2024.equations import (
    non_convex_claims_blocks,
    non_convex_claims_rounds,
)
from sfl_theory.evidence.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    *non_convex_claims_blocks.CLAIMS,
    *non_convex_claims_rounds.CLAIMS,
)
