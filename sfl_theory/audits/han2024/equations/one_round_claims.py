"""Entries of one round in Appendices D-G, convex cases: its steps and its blocks."""

from __future__ import annotations

from sfl_theory.audits.han2024.equations import (
    one_round_claims_blocks,
    one_round_claims_steps,
)
from sfl_theory.evidence.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    *one_round_claims_steps.CLAIMS,
    *one_round_claims_blocks.CLAIMS,
)
