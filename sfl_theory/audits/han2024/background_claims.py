"""Entries of ``han2024`` outside its proofs' appendices: all of this part."""

from __future__ import annotations

from sfl_theory.audits.han2024 import (
    appendix_c_claims,
    box_claims,
    foundation_claims,
    table_claims,
    text_claims,
)

CLAIMS = (
    *appendix_c_claims.CLAIMS,
    *foundation_claims.CLAIMS,
    *box_claims.CLAIMS,
    *table_claims.CLAIMS,
    *text_claims.CLAIMS,
)
