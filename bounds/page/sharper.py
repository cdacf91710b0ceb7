"""How much smaller than a printed bound the smallest proved one is."""

from __future__ import annotations

import numpy as np

from sfl_theory.evidence import Claim, Kind
from sfl_theory.lower import USUAL
from sfl_theory.registry import case_of

RESULTS = {Kind.THEOREM, Kind.PROPOSITION}
"""Kinds of claims that a paper states as what it found."""
AT = (100, 10_000)
"""Rounds at which bounds are compared."""
SETTING = "S = 1, \u03bc = 1/10, N = 2 equal clients, \u03c4 = 2"


def sharper(claim: Claim) -> str:
    """Return how much smaller than the printed bound the smallest proved one is."""
    if claim.kind not in RESULTS or (case := case_of(claim.id)) is None:
        return ""
    try:
        best = case.best(USUAL, AT)
        printed = case.printed.evaluate(USUAL, np.array(AT), best.schedule)
    except ValueError:
        return ""
    if best.metric != case.printed.metric:
        return "the proved bounds are on another left side: nothing to compare"
    told = (
        f"printed / best at T = {T}: {ratio:.3g} <small>({version})</small>"
        for T, ratio, version in zip(
            AT, printed / best.values, best.versions, strict=True
        )
        if ratio > 1.005
    )
    return "<br>".join(told) or "nothing smaller is proved"
