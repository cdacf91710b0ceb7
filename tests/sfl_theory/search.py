r"""Searches for members of a class that violate a proved inequality.

A ``Search`` draws a member, evaluates both sides of the *statement* and names a factor
``slack``: with the right side divided by it the same search finds a violation. A search
that could find nothing is thereby found out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st

SETTINGS = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "suppress_health_check": list(HealthCheck),
}
TOLERANCE, ABSOLUTE = 1e-9, 1e-12
"""Of rounding errors, relative to both sides and for sides that vanish."""


@dataclass(frozen=True)
class Sides:
    """Both sides of a statement ``left <= right`` on one member.

    Attributes:
        left: left side.
        right: right side.
        member: in words, for the report of a violation.
    """

    left: float
    right: float
    member: str = ""

    def violated(self, slack: float = 1.0) -> bool:
        """Say whether left exceeds right, lowered to 1/slack of its size."""
        lowered = self.right - (1 - 1 / slack) * abs(self.right)
        rounding = ABSOLUTE + TOLERANCE * (abs(self.left) + abs(self.right))
        return bool(self.left > lowered + rounding)


def identity(left: Any, right: Any, member: str = "") -> tuple[Sides, Sides]:
    """Return an equality as its two inequalities."""
    one, two = float(left), float(right)
    return Sides(one, two, member), Sides(two, one, member)


@dataclass(frozen=True)
class Random:
    """What a search draws from.

    Attributes:
        draw: hypothesis' function.
        rng: for real numbers, seeded by hypothesis.
    """

    draw: Callable[[Any], Any]
    rng: np.random.Generator

    def of(self, *values: Any) -> Any:
        """Draw one of the values."""
        return self.draw(st.sampled_from(values))

    def vector(self, d: int, scale: float = 1.0) -> np.ndarray:
        return self.rng.normal(size=d) * scale


@dataclass(frozen=True)
class Search:
    """A search against one statement.

    Attributes:
        sides: draws a member and evaluates the statement on it, once or more often.
        slack: with the right side divided by it a violation is found.
        examples: how many members the search tries.
    """

    sides: Callable[[Random], Iterable[Sides]]
    slack: float
    examples: int = 30

    def strategy(self):
        @st.composite
        def evaluated(draw):
            seed = draw(st.integers(0, 2**32 - 1))
            return tuple(self.sides(Random(draw, np.random.default_rng(seed))))

        return evaluated()

    def violation(self, slack: float) -> tuple[Sides, ...]:
        """Return a member's sides that violate the statement lowered by ``slack``.

        Raises:
            NoSuchExample: if none is found.
        """
        return find(
            self.strategy(),
            lambda found: any(sides.violated(slack) for sides in found),
            settings=settings(max_examples=300, phases=[Phase.generate], **SETTINGS),
        )
