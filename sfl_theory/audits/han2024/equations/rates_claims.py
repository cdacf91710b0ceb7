"""Entries of the inductions, rates and merges in Appendices D-G, convex cases."""

from __future__ import annotations

from sfl_theory.audits.han2024.equations import (
    rates_claims_general_convex,
    rates_claims_inductions,
    rates_claims_merges,
)
from sfl_theory.evidence.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    *rates_claims_inductions.CLAIMS,
    *rates_claims_merges.CLAIMS,
    *rates_claims_general_convex.CLAIMS,
)
