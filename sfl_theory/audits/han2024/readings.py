"""How ``han2024`` is read where it is unclear or impossible; one wording for all."""

from __future__ import annotations

PAPER = "han2024"
BALL = (
    "Assumption 3.3 cannot hold on R^d for a strongly convex function; it is read on a "
    "set that contains every iterate"
)
WAITS = (
    "for tau != tau_server a side that has made its steps keeps its value while the "
    "other goes on"
)
LIPSCHITZ = (
    "S-smooth is read as (24), gradients S-Lipschitz, which the proofs use; tau local "
    f"steps (App. C.2's sums to tau - 1) with independent mini-batches; {WAITS}"
)
UPDATES = (
    "participation as App. C.2 analyses it: updates are aggregated, clients take part "
    "independently of each other and of the samples, q_n > 0 (with (3), models "
    "aggregated, see thm-3.8/non_convex/eq-3)"
)
