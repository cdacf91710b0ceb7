r"""What chance may do in a round: who takes part, and which values noise takes.

Outcomes of a round are independent of those before, so scenarios are a tree over rounds
whose paths share their past. A run's metric is the mean over its leaves. Functions do
not depend on chance: all scenarios' points are points of the same $F_n$, and where two
scenarios meet the same point they share its gradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod

from sfl_theory.worst_case.setting import ONE, Setting
from sfl_theory.worst_case.vectors import Vector

HALF = Fraction(1, 2)
Step = tuple[int, int]
MOST_SCENARIOS = 1024


@dataclass(frozen=True)
class Outcome:
    """What happens in a round.

    Attributes:
        chance: its probability.
        present: the clients that take part; None: all.
        signs: of two-point noise, by client and local step.
    """

    chance: Fraction
    present: tuple[int, ...] | None
    signs: Mapping[Step, int]


@dataclass(frozen=True)
class World:
    """A state of a run before a round.

    Attributes:
        chance: the probability of the scenarios that lead to it.
        x: the model.
        past: the rounds' outcomes in the first of these scenarios.
        total: the sum of the models before this one.
    """

    chance: Fraction
    x: Vector
    past: tuple[int, ...] = ()
    total: Vector = field(default_factory=Vector)


def outcomes(setting: Setting) -> Iterator[Outcome]:
    """Yield what may happen in a round.

    Args:
        setting: of the run.

    Yields:
        Outcomes with positive probabilities that sum to 1.
    """
    if not setting.enumerated:
        yield Outcome(ONE, None, {})
        return
    clients = range(len(setting.shares))
    some = [(True,) if setting.chance(n) == 1 else (True, False) for n in clients]
    for here in product(*some):
        pairs = [*zip(clients, here, strict=True)]
        chance = prod(
            (setting.chance(n) if takes else 1 - setting.chance(n))
            for n, takes in pairs
        )
        present = tuple(n for n, takes in pairs if takes)
        local = range(max(setting.tau, setting.late) if setting.two_point else 0)
        steps = [(n, i) for n in present for i in local]
        for signs in product((1, -1), repeat=len(steps)):
            share = chance * HALF ** len(steps)
            yield Outcome(share, present, dict(zip(steps, signs, strict=True)))


def count(setting: Setting) -> int:
    """Return how many scenarios a run has, before any are found to meet.

    Args:
        setting: of the run.

    Returns:
        The number of leaves of the tree.
    """
    steps = max(setting.tau, setting.late) if setting.two_point else 0
    each = (
        2**steps + (setting.chance(n) < 1)
        for n in range(len(setting.shares) if setting.enumerated else 0)
    )
    return int(prod(each) ** setting.rounds)


def merged(worlds: list[World]) -> tuple[World, ...]:
    """Return worlds of the same model and sum of models as one.

    Args:
        worlds: after a round.

    Returns:
        Worlds that differ.
    """
    found: dict[object, World] = {}
    for one in worlds:
        where = (one.x.key, one.total.key)
        if where in found:
            first = found[where]
            one = World(first.chance + one.chance, first.x, first.past, first.total)
        found[where] = one
    return tuple(found.values())
