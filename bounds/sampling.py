"""Statements in a random order of which every beginning is a fair sample.

Statements are drawn within kinds, and kinds come in turn as often as they are: the
first n have about as many of each kind as the whole has per n. What is said of their
mutants then holds for all up to chance, and the chance has an interval.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import sqrt

SEED = 0
Z = 1.959963984540054
"""Of the normal law, 95 % are within so many standard deviations."""


def ordered(kinds: Mapping[str, str], seed: int = SEED) -> list[str]:
    """Return names in a random order, kinds in proportion.

    The i-th of n in a kind comes at ``(i + u)/n`` of the way, u in [0, 1) one number
    of each kind.

    Args:
        kinds: of each name; their order is of no matter.
        seed: of the order.
    """
    among: dict[str, list[str]] = defaultdict(list)
    for name in sorted(kinds):
        among[kinds[name]].append(name)
    places: dict[str, float] = {}
    for kind, names in sorted(among.items()):
        dice = random.Random(f"{seed} {kind}")
        dice.shuffle(names)
        offset = dice.random()
        places |= {name: (i + offset) / len(names) for i, name in enumerate(names)}
    return sorted(places, key=lambda name: (places[name], name))


def interval(counts: Sequence[tuple[int, int]]) -> tuple[float, float] | None:
    """Return the 95 % interval of a share, of what was drawn in clusters.

    Wilson's (J. Amer. Statist. Assoc. 22, 1927) with as many trials as what was seen is
    worth: p (1 - p) over the variance of ``p = sum hits / sum trials`` among clusters,
    by the jackknife (each left out in turn), at most the trials. Mutants of one
    statement share their fate, so that is less than there are mutants. Of few clusters
    the variance itself is not known well: Student's quantile takes the normal one's
    place (its first correction). Where all clusters have one share, each counts once.

    Args:
        counts: hits and trials of each cluster.

    Returns:
        Its ends; None without trials.
    """
    seen = [(hits, trials) for hits, trials in counts if trials]
    if not seen:
        return None
    trials, size = sum(n for _, n in seen), len(seen)
    p = sum(hits for hits, _ in seen) / trials
    parts = (((hits - p * n) / (1 - n / trials)) ** 2 for hits, n in seen if n < trials)
    spread = sum(parts) * (size - 1) / size
    worth = trials**2 * p * (1 - p) / spread if spread else float(size)
    few = 1 + (Z * Z + 1) / (4 * max(size - 1, 1))
    n = min(worth, trials) / few**2 if size > 1 else 1.0
    middle, room = p + Z * Z / (2 * n), Z * sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    whole = 1 + Z * Z / n
    return max(0.0, (middle - room) / whole), min(1.0, (middle + room) / whole)
