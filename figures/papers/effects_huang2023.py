"""Effects that the sentences of ``huang2023`` share, on the panels of its figures."""

from __future__ import annotations

from collections.abc import Sequence

from figures.effects import Effect, along, average, largest, level, slope

FIG = "huang2023/fig-"
MB = "MiniBatch-SFL"
OURS = (MB, "FL", "SFL-V2")
RIVALS = ("FL", "SFL-V2")
RATIOS = tuple(range(5))
CIFAR, FMNIST = tuple(range(5)), (5, 6, 7)
ACCURACY_14 = (3, 4, 5)
COMMON = (0, 1, 3)
"""Panels of Fig. 5 with the ratios of Fig. 14: 0, 0.5, 0.9."""


def by_cut(figure: int, panels: Sequence[int], summary: str = "final") -> Effect:
    """Return the slope in Lc, on average over panels."""
    return average([along(f"{FIG}{figure}", panel, summary) for panel in panels])


def by_cut_and_ratio(figure: int, panels: Sequence[int]) -> Effect:
    """Return how much the slope in Lc grows from panel to panel."""
    return slope([along(f"{FIG}{figure}", panel) for panel in panels])


def levels(figure: int, panels: Sequence[int], name: str) -> list[Effect]:
    """Return the level of a method in every panel."""
    return [level(f"{FIG}{figure}", panel, name) for panel in panels]


def ahead(
    figure: int, panels: Sequence[int], other: str, summary: str = "final"
) -> list[Effect]:
    """Return MiniBatch-SFL minus another method in every panel."""
    key = f"{FIG}{figure}"
    return [
        level(key, panel, MB, summary) - level(key, panel, other, summary)
        for panel in panels
    ]


def ahead_at_095(other: str) -> Effect:
    """Return the larger lead of Figs. 4 (e) and 5 (e)."""
    return largest([*ahead(4, (4,), other), *ahead(5, (4,), other)])
