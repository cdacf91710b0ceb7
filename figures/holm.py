r"""Holm's step-down method: which of several hypotheses may be rejected together.

The p values are taken in ascending order; the k-th of m is compared with
$\alpha/(m-k+1)$, and the first that exceeds its level ends the procedure. With
probability $1-\alpha$ no true hypothesis is rejected, whatever the dependence between
the p values (Holm 1979, *A simple sequentially rejective multiple test procedure*,
Scandinavian Journal of Statistics 6, 65-70).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Tested:
    """What became of a hypothesis.

    Attributes:
        rejected: whether it was.
        level: at which it was compared; for those behind the one that ended the
            procedure, the level at which it ended, which they exceed too.
    """

    rejected: bool
    level: float


def holm(values: Sequence[float], alpha: float) -> list[Tested]:
    """Test hypotheses together.

    Args:
        values: p values, each valid by itself; 1 for what could not be tested.
        alpha: probability of a wrong rejection among all.

    Returns:
        One result per value, in their order.
    """
    found: dict[int, Tested] = {}
    ended = None
    for step, k in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        level = alpha / (len(values) - step)
        if ended is None and values[k] > level:
            ended = level
        found[k] = Tested(ended is None, level if ended is None else ended)
    return [found[k] for k in range(len(values))]
