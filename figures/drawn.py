"""What is drawn in a figure, read from run folders, and its numbers as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from figures.figure import Curve, Figure, Panel
from figures.scale import Preset
from figures.series import Series, series


@dataclass(frozen=True)
class Drawn:
    """A panel and what is drawn in it.

    Attributes:
        panel: its declaration.
        curves: with their series, in order.
    """

    panel: Panel
    curves: tuple[tuple[Curve, Series], ...]

    @property
    def factor(self) -> float:
        """From the quantity to the axis: accuracies are drawn in percent."""
        return 100.0 if self.panel.quantity == "test_accuracy" else 1.0

    @property
    def top(self) -> float:
        """Upper end of the axis: 100 % of an accuracy, else above the means."""
        if self.panel.quantity == "test_accuracy":
            return 100.0
        means = [found.mean() for _, found in self.curves if len(found.seeds)]
        return 1.2 * max((float(mean.max()) for mean in means), default=0.0)

    @property
    def cut_off(self) -> bool:
        """Whether a band reaches beyond the axis, which begins at zero."""
        ends = [self.factor * found.band()[side] for _, found in self.curves
                for side in (0, 1)]  # fmt: skip
        return any(bool(((end < 0) | (end > self.top)).any()) for end in ends)


def read(figure: Figure, preset: Preset, root: Path) -> tuple[Drawn, ...]:
    """Read the runs of all panels.

    Args:
        figure: of kind "figure".
        preset: the sizes.
        root: folder of all runs.

    Returns:
        The panels in order.
    """
    return tuple(
        Drawn(
            panel,
            tuple(
                (curve, series(figure, panel, curve, preset, root))
                for curve in panel.curves
            ),
        )
        for panel in figure.panels
    )


def numbers(panels: Sequence[Drawn]) -> str:
    """Return every number of a picture as CSV.

    Args:
        panels: that are drawn.

    Returns:
        One line per panel, curve and round: mean, ends of the band (empty with fewer
        than two seeds) in the axis's unit, and the number of seeds.
    """
    stream = io.StringIO()
    write = csv.writer(stream, lineterminator="\n").writerow
    write(("panel", "quantity", "curve", "round", "mean", "low", "high", "seeds"))
    for drawn in panels:
        for curve, found in drawn.curves:
            low, high = found.band()
            for row in zip(found.rounds, found.mean(), low, high, strict=True):
                write((
                    drawn.panel.title.replace("$", ""),
                    drawn.panel.quantity,
                    curve.label.replace("$", ""),
                    int(row[0]),
                    *(_number(drawn.factor * value) for value in row[1:]),
                    len(found.seeds),
                ))
    return stream.getvalue()


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.6g}"
