r"""Pictures from run folders: the mean over seeds, and every seed.

Seeds are drawn one by one, since methods are compared seed by seed: bands about two
means overlap where their paired difference is far from zero.

Colours are those of Okabe and Ito; dashes and markers tell the curves apart in grey.
Nothing in a file depends on when or where it was drawn.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D

from figures.caption import caption
from figures.drawn import Drawn, numbers, read
from figures.figure import MEASURED, QUANTITIES, Figure
from figures.scale import Preset
from figures.series import Series

STYLES = (
    ("#0072B2", "o", "solid"),
    ("#D55E00", "s", (0, (6, 1.5))),
    ("#000000", "^", (0, (1.2, 1.6))),
    ("#009E73", "D", (0, (4, 1.5, 1, 1.5))),
    ("#CC79A7", "v", (0, (8, 1.5, 1, 1.5, 1, 1.5))),
    ("#56B4E9", "P", (0, (3, 2))),
)
"""Colour, marker and dashes of a curve, by its place in the figure."""
WIDTH, HEIGHT, ABOVE, LINE = 3.3, 2.35, 0.58, 0.145
"""Inches of a panel, of the heading, and of a line of the caption or a title."""
TITLE = 46
"""Characters of a line of a panel's title."""
GRIDS = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3, 8: 4}
"""Columns by number of panels."""
METADATA = {"pdf": {"CreationDate": None}, "png": {"Software": None}}
MARKERS = 6
"""On a curve, about."""


def files(figure: Figure, preset: Preset, root: Path) -> dict[str, bytes]:
    """Draw a figure.

    Args:
        figure: of kind "figure".
        preset: the sizes.
        root: folder of all runs.

    Returns:
        Contents by suffix: "pdf", "png" and "csv".
    """
    panels = read(figure, preset, root)
    drawn = picture(figure, preset, panels)
    contents = {}
    for kind, metadata in METADATA.items():
        buffer = io.BytesIO()
        drawn.savefig(buffer, format=kind, dpi=150, metadata=metadata)
        contents[kind] = buffer.getvalue()
    return contents | {"csv": numbers(panels).encode()}


def picture(figure: Figure, preset: Preset, panels: Sequence[Drawn]) -> Picture:
    """Draw.

    Args:
        figure: what is drawn.
        preset: whose caption the picture carries.
        panels: with their series.

    Returns:
        The picture.
    """
    columns = GRIDS.get(len(panels), ceil(len(panels) ** 0.5))
    rows = ceil(len(panels) / columns)
    labels = list(dict.fromkeys(words for p in panels for words in p.legend))
    styles = {label: k % len(STYLES) for k, label in enumerate(labels)}
    width = max(WIDTH * columns, 2 * WIDTH)
    across = min(len(labels), int(width / 1.6))
    words = caption(figure, preset, panels, round(width * 17.5))
    titles = [_title(panel) for panel in panels]
    lines = max(title.count("\n") for title in titles)
    key = 0.24 * ceil(len(labels) / across)
    below = LINE * len(words) + key + 0.2
    height = (HEIGHT + LINE * lines) * rows + below + ABOVE
    drawn = Picture(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(drawn)
    drawn.get_layout_engine().set(  # type: ignore[union-attr]
        rect=(0, below / height, 1, 1 - (below + ABOVE) / height),
        w_pad=0.06,
        h_pad=0.06,
    )
    grid = drawn.subplots(rows, columns, squeeze=False)
    for axes, one, title in zip(grid.flat, panels, titles, strict=False):
        _panel(axes, one, styles)
        axes.set_title(title, fontsize=7.5)
        last = figure.config(one.panel, one.panel.curves[0], preset, 0).rounds
        axes.set_xlim(-0.03 * last, 1.03 * last)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    inch = 1 / height
    drawn.text(
        0.5, 1 - 0.1 * inch, f"{figure.key}: {figure.heading(preset)}", fontsize=11,
        ha="center", va="top",
    )  # fmt: skip
    drawn.text(
        0.5, 1 - 0.33 * inch, preset.caption, fontsize=8.5, ha="center", va="top",
        color="#A03000", style="italic",
    )  # fmt: skip
    drawn.legend(
        handles=[_handle(label, styles[label]) for label in labels],
        loc="lower center",
        bbox_to_anchor=(0.5, (LINE * len(words) + 0.08) * inch),
        ncols=across,
        fontsize=9,
        frameon=False,
        handlelength=3.8,
    )
    drawn.text(
        0.06 / width, 0.06 * inch, "\n".join(words), fontsize=7.5, color="0.25",
        va="bottom", linespacing=1.25,
    )  # fmt: skip
    return drawn


def _panel(axes: Axes, drawn: Drawn, styles: Mapping[str, int]) -> None:
    rising = drawn.panel.quantity == "test_accuracy"
    seen: set[tuple[bytes, bytes]] = set()
    coincide = len({_bits(found) for _, found in drawn.curves}) < len(drawn.curves)
    for place, (words, (_, found)) in enumerate(
        zip(drawn.legend, drawn.curves, strict=True)
    ):
        colour, marker, dashes = STYLES[styles[words]]
        at, factor = found.rounds, drawn.factor
        if _bits(found) not in seen:
            for one in found.values:
                axes.plot(at, factor * one, color=colour, alpha=0.4, linewidth=0.6)
        seen.add(_bits(found))
        every, first = max(1, ceil(len(at) / MARKERS)), 0
        if coincide:  # Their markers stand side by side.
            every = max(every, min(len(drawn.curves), len(at)))
            first = place * every // len(drawn.curves)
        axes.plot(
            at,
            factor * found.mean(),
            color=colour,
            linestyle=dashes,
            marker=marker,
            markevery=(first, every),
            markersize=4.5,
            linewidth=1.6,
        )
    axes.set_xlabel("Training round", fontsize=9)
    name = QUANTITIES[drawn.panel.quantity]
    name = name[0].upper() + name[1:] + " in %" * rising
    axes.set_ylabel(textwrap.fill(name, 26), fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    _limits(axes, drawn)
    notes = _panel_notes(drawn)
    if notes:  # where curves begin low, or end low
        axes.text(
            0.015 if rising else 0.985, 0.97, "\n".join(notes),
            transform=axes.transAxes, fontsize=7.5,
            ha="left" if rising else "right", va="top", color="0.15",
            bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1.5},
        )  # fmt: skip


def _title(drawn: Drawn) -> str:
    """Return a panel's title in lines that fit its width."""
    shown, stand_ins = drawn.title
    return "\n".join(
        line
        for part in (shown, stand_ins)
        for line in textwrap.wrap(part, TITLE, break_on_hyphens=False)
    )


def _bits(found: Series) -> tuple[bytes, bytes]:
    """Return what two series agree in exactly if they are one."""
    key = f"{found.seeds} {found.rounds.tolist()}"
    return key.encode(), found.values.tobytes()


def _panel_notes(drawn: Drawn) -> list[str]:
    """Return which curves lie on each other and which are not there."""
    same: dict[tuple[bytes, bytes], list[str]] = {}
    notes = []
    for words, (_, found) in zip(drawn.legend, drawn.curves, strict=True):
        if len(found.seeds):
            same.setdefault(_bits(found), []).append(words)
        else:
            notes.append(f"{words}: no finished run")
    if not same:
        return ["no finished run"]
    for labels in same.values():
        if len(labels) == len(drawn.curves) > 1:
            notes.append("all curves coincide exactly")
        elif len(labels) > 1:
            notes.append(f"{' and '.join(labels)} coincide exactly")
    return notes


def _limits(axes: Axes, drawn: Drawn) -> None:
    """Give axes the papers' limits: accuracy 0 to 100 %, everything else from 0.

    The means decide: a single seed may lie far above all of them.
    """
    if drawn.panel.quantity == "test_accuracy":
        axes.set_ylim(0, drawn.top)
        return
    top = drawn.top
    if 0 < top < float("inf"):
        axes.set_ylim(0, top)
    if drawn.panel.quantity in MEASURED:
        axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3))


def _handle(label: str, place: int) -> Line2D:
    colour, marker, dashes = STYLES[place]
    return Line2D(
        [], [], color=colour, marker=marker, linestyle=dashes, label=label,
        markersize=4.5, linewidth=1.5,
    )  # fmt: skip
