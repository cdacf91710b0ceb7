"""All entries of ``han2024``: claims, how they are read, and what decides them."""

from __future__ import annotations

from sfl_theory.audits.han2024 import (
    background_claims,
    lemma_claims,
    step_claims,
    theorem_claims,
)
from sfl_theory.audits.han2024.dependence import connected
from sfl_theory.audits.han2024.equations import (
    non_convex_claims,
    one_round_claims,
    rates_claims,
)

CLAIMS = connected((
    *theorem_claims.THEOREMS,
    *lemma_claims.ASSUMPTIONS,
    *lemma_claims.LEMMAS,
    *step_claims.STEPS,
    *step_claims.TABLES,
    *background_claims.CLAIMS,
    *one_round_claims.CLAIMS,
    *rates_claims.CLAIMS,
    *non_convex_claims.CLAIMS,
))
