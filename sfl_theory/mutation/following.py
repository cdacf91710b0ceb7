"""Which runs both the crowd and the kernel can follow, and how.

Outcome by outcome, or by the moments of what noise and draws do.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.terms import subterms
from sfl_theory.mutation.building import Frame
from sfl_theory.mutation.reading import Read, opened

BITS = 5
"""Coins and draws of a model that is enumerated."""
NEAR = 12
"""Rounds from which on moments are followed even where nothing is random."""
LONG = 40
"""Rounds up to which the kernel follows every run in fractions."""
ONCE = 4
"""Coins and draws of one round of a run that is followed by moments."""
FARTHEST = 20_000
"""Rounds of a run that is followed by moments, at most."""
MIXED = 5_000
"""Rounds of one whose blocks are mixed: there the kernel has fractions alone."""
VISITS = 32
"""Local steps of all clients in one round of a long run."""

MADE = 40_000
"""Local steps of all clients in all rounds of a long run."""

SINGLE = (k.LocalPoint, k.Noise, k.Point, k.Expected, k.Draw, k.Descent)
"""What is known outcome by outcome only."""


def followed(
    read: Read,
    assumed: frozenset[h.Hypothesis],
    rounds: int,
    made: int,
    noise: Sequence[str],
    drawn: Sequence[bool],
) -> bool | None:
    """Return whether a run is followed by moments; None where it is too much."""
    each, draws = made * noise.count("coin") + sum(drawn), rounds * sum(drawn)
    few = rounds * each <= max(BITS, draws) and draws <= BITS + 2
    if few and rounds <= NEAR:
        return False
    if each <= ONCE and rounds <= limit(read, assumed):
        return True
    return False if few else None


def limit(read: Read, assumed: frozenset[h.Hypothesis]) -> int:
    """Return up to how many rounds a run may be followed by moments; 0: it may not.

    The kernel follows both sides by the moments of one run, but no condition on a later
    iterate, and no form that joins two rounds.
    """
    apart = len(read.splits) == 1 and all(
        type(run.pace(side)) is k.Pace and run.kind is not k.Kind.COUNTED
        for run in read.splits
        for side in k.Side
    )
    single = any(isinstance(one, SINGLE) for one in read.inside)
    if not apart or single or any(map(_watched, assumed)) or _joined(read):
        return 0
    return FARTHEST


def _watched(one: h.Hypothesis) -> bool:
    """Return whether a hypothesis is a condition on where a run is, after its start."""
    body = opened(one)
    return isinstance(body, h.Holds) and any(
        isinstance(x, k.Iterate) and bool(x.round.parts) for x in subterms(body.form)
    )


def short_enough(frame: Frame) -> bool:
    """Return whether both the crowd and the kernel can follow the run."""
    if frame.far:
        most, each = MIXED if frame.turned else FARTHEST, frame.steps * frame.clients
        return frame.rounds <= min(most, MADE // max(each, 1)) and each <= VISITS
    if frame.rounds <= LONG:
        return True
    quiet = "coin" not in frame.noise and not any(frame.drawn)
    return quiet and frame.rounds <= 2 * LONG and frame.steps * frame.clients <= VISITS


def _joined(read: Read) -> bool:
    """Return whether a form joins the iterates of two rounds."""
    for one in read.inside:
        if isinstance(one, k.Inner | k.Value):
            within = subterms(*one.parts)
            rounds = {x.round for x in within if isinstance(x, k.Iterate)}
            summed = (x for x in within if isinstance(x, k.VecSum))
            if len(rounds) > 1 or any(
                isinstance(x, k.Iterate) for v in summed for x in subterms(v)
            ):
                return True
    return False
