"""Which runs both the crowd and the kernel can follow, and how.

Outcome by outcome, or by the moments of what noise does.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.terms import subterms
from sfl_theory.mutation.building import Frame, Read, opened

BITS = 5
"""Coins and draws of a model that is enumerated."""
LONG = 40
"""Rounds from which on the kernel follows moments."""
FAR = 64
"""Coins of a model that is followed by moments."""
ONCE = 4
"""Coins of one round, where those of earlier rounds are put together."""
FARTHEST = 1000
"""Rounds of a run at most."""
VISITS = 12
"""Local steps of all clients in one round of a long run."""

SINGLE = {k.LocalPoint, k.Noise, k.Point, k.Expected, k.Draw}
"""What is known outcome by outcome only."""


def followed(
    read: Read,
    assumed: frozenset[h.Hypothesis],
    rounds: int,
    made: int,
    noise: Sequence[str],
    drawn: Sequence[bool],
) -> tuple[bool, bool] | None:
    """Return whether noise is spread, and whether folded; None where it is too much.

    The kernel follows both sides by moments, but no condition on a random iterate.
    """
    coins, draws = rounds * made * noise.count("coin"), rounds * sum(drawn)
    bits = coins + draws
    if bits <= max(BITS, draws):
        return False, False
    if any(drawn) or SINGLE & {*map(type, read.inside)} or any(map(_watched, assumed)):
        return None
    folded = rounds > 2 and not _joined(read)
    most = ONCE * rounds if folded else min(FAR, 4 * rounds)
    return (True, folded) if bits <= most else None


def _watched(one: h.Hypothesis) -> bool:
    """Return whether a hypothesis is a condition on where a run is."""
    body = opened(one)
    runs = (k.Iterate, k.LocalPoint, k.Noise)
    return isinstance(body, h.Holds) and any(
        isinstance(x, runs) for x in subterms(body.form)
    )


def short_enough(frame: Frame) -> bool:
    """Return whether both the crowd and the kernel can follow the run."""
    if frame.rounds <= LONG:
        return True
    quiet = "coin" not in frame.noise and not any(frame.drawn)
    exact = frame.shape == "bent" or frame.turned
    if exact and (frame.rounds > 2 * LONG or not quiet):
        return False
    return frame.rounds <= FARTHEST and frame.steps * frame.clients <= VISITS


def followed_long(frame: Frame, read: Read) -> bool:
    """Return whether the kernel follows the run by moments."""
    apart = not any(frame.drawn) and not SINGLE & {*map(type, read.inside)}
    straight = frame.shape != "bent" and not frame.turned
    return frame.spread or (frame.rounds > LONG and apart and straight)


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
