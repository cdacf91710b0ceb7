"""The picture of the experiment on the server's optimizer, readable in grey."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from figures import wording
from figures.paired import interval, slopes
from figures.server_optimizer import design

Accuracies = Mapping[str, NDArray[np.float64]]

STYLES = {
    "step": ("#D55E00", "o", "solid"),
    "step-scaled": ("#CC79A7", "^", (0, (1, 1.2))),
    "round": ("#000000", "s", (0, (6, 2))),
    "run": ("#0072B2", "D", (0, (3, 1.5, 1, 1.5))),
}


def picture(found: Accuracies) -> Figure:
    """Draw accuracies by cut, and the slopes of every seed with their intervals.

    Args:
        found: final accuracies by arm, shape (seeds, cuts).

    Returns:
        A figure of two panels.
    """
    figure = Figure(figsize=(9.6, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    figure.supxlabel(caption(), fontsize=8, color="0.25", x=0.01, ha="left")
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
    _levels(left, found)
    _slopes(right, found)
    for panel in (left, right):
        panel.grid(True, color="0.88", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    return figure


def caption() -> str:
    """Return what was run, from the runs' configuration."""
    words = [wording.named(name, value) for name, value in design.SETTING.items()]
    return textwrap.fill(f"Every run: {'; '.join(words)}.", 150)


def _levels(panel: Axes, found: Accuracies) -> None:
    for position, (arm, values) in enumerate(found.items()):
        colour, marker, dashes = STYLES[arm]
        each = [interval(column) for column in values.T]
        mean = np.array([one.mean for one in each])
        half = np.array([one.high - one.mean for one in each])
        panel.errorbar(
            np.array(design.CUTS) + 0.05 * (position - 1.5),
            100 * mean,
            100 * half,
            color=colour,
            marker=marker,
            linestyle=dashes,
            capsize=3,
            linewidth=1.6,
            markersize=5,
            label=design.LABELS[arm],
        )
    panel.set_xticks(design.CUTS)
    panel.set_xlabel("cut $L_c$")
    panel.set_ylabel("test accuracy in %")
    panel.set_title(
        f"means over {len(design.SEEDS)} seeds, 95 % intervals", fontsize=10
    )
    panel.legend(
        title="server's optimizer",
        fontsize=8,
        title_fontsize=8,
        frameon=False,
        handlelength=3.5,
    )


def _slopes(panel: Axes, found: Accuracies) -> None:
    panel.axhline(0.0, color="0.5", linewidth=1.0)
    for position, (arm, values) in enumerate(found.items()):
        colour, marker, _ = STYLES[arm]
        each = 100 * slopes(design.CUTS, values)
        whole = interval(each)
        panel.plot(
            np.full(each.size, position - 0.12), each, "o",
            color="none", markeredgecolor="0.45", markersize=4,
        )  # fmt: skip
        panel.errorbar(
            position + 0.12,
            whole.mean,
            whole.high - whole.mean,
            color=colour,
            marker=marker,
            capsize=4,
            linewidth=1.8,
            markersize=6,
        )
    short = {"step-scaled": "rebuilt,\nrate × 10", "round": "kept:\nround"}
    short |= {"step": "rebuilt\n(released)", "run": "kept:\nrun"}
    panel.set_xticks(range(len(found)), [short[arm] for arm in found], fontsize=8)
    panel.set_xlim(-0.5, len(found) - 0.5)
    panel.set_ylabel("slope in points per stage")
    panel.set_title("slope in $L_c$: seeds (rings), 95 % interval", fontsize=10)
