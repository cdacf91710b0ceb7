"""What is drawn in a figure, read from run folders, and its numbers as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from figures.figure import Curve, Figure, Panel
from figures.scale import Preset
from figures.series import Series, series


@dataclass(frozen=True)
class Drawn:
    """A panel and what is drawn in it.

    Attributes:
        panel: its declaration.
        title: what it shows in this size: what tells it from the others, and every
            other stand-in.
        curves: with their series, in order.
        legend: what the curves are called, in this order.
    """

    panel: Panel
    title: tuple[str, str]
    curves: tuple[tuple[Curve, Series], ...]
    legend: tuple[str, ...]

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
        """Whether a seed's curve reaches beyond the axis, which begins at zero."""
        drawn = [self.factor * found.values for _, found in self.curves]
        return any(bool(((one < 0) | (one > self.top)).any()) for one in drawn)


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
            figure.panel_title(panel, preset),
            tuple(
                (curve, series(figure, panel, curve, preset, root))
                for curve in panel.curves
            ),
            tuple(figure.legend(panel, curve, preset) for curve in panel.curves),
        )
        for panel in figure.panels
    )


def numbers(panels: Sequence[Drawn]) -> str:
    """Return every number of a picture as CSV.

    Args:
        panels: that are drawn.

    Returns:
        One line per panel, curve and round, in the axis's unit: the mean and the value
        of every seed (empty where its run is not there).
    """
    stream = io.StringIO()
    write = csv.writer(stream, lineterminator="\n").writerow
    seeds = sorted({
        seed
        for drawn in panels
        for _, found in drawn.curves
        for seed in (*found.seeds, *(seed for seed, _ in found.lacking))
    })
    write((
        "panel",
        "quantity",
        "curve",
        "round",
        "mean",
        *(f"seed {s}" for s in seeds),
    ))
    for drawn in panels:
        for words, (_, found) in zip(drawn.legend, drawn.curves, strict=True):
            each = dict(zip(found.seeds, drawn.factor * found.values, strict=True))
            for k, (at, mean) in enumerate(
                zip(found.rounds, found.mean(), strict=True)
            ):
                write((
                    drawn.title[0].replace("$", ""),
                    drawn.panel.quantity,
                    words.replace("$", ""),
                    int(at),
                    f"{drawn.factor * mean:.6g}",
                    *(f"{each[s][k]:.6g}" if s in each else "" for s in seeds),
                ))
    return stream.getvalue()
