"""What stands below a picture: what is drawn, what lacks, and how it was read."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

from figures.drawn import Drawn
from figures.figure import Figure
from figures.scale import PAPER, Preset

NAMES = {"batch_size": "batch", "lr": "learning rate"}


def caption(
    figure: Figure, preset: Preset, panels: Sequence[Drawn], columns: int
) -> list[str]:
    """Return the lines below a picture.

    Args:
        figure: what is drawn.
        preset: the sizes.
        panels: with their series.
        columns: of a line.

    Returns:
        Lines that say what is drawn, what lacks and what stands in.
    """
    counts = {len(found.seeds) for p in panels for _, found in p.curves}
    seeds = str(max(counts))
    if len(counts) > 1:
        seeds = f"{min(counts)} to {seeds}"
    bands = "bands: 95 % t intervals over seeds"
    if any(panel.cut_off for panel in panels):
        bands += ", cut off at the axes"
    words = [f"Lines: mean over {seeds} seeds; {bands}."]
    lacking = Counter(
        state for p in panels for _, found in p.curves for _, state in found.lacking
    )
    if lacking:
        parts = ", ".join(f"{count} {state}" for state, count in lacking.items())
        words.append(f"NOT DRAWN: {parts} of the curves' runs.")
    words += replaced(figure, preset)
    if figure.departures:
        words.append(f"Our reading: {'; '.join(figure.departures)}.")
    return textwrap.wrap(" ".join(words), columns)


def replaced(figure: Figure, preset: Preset) -> list[str]:
    """Return what stands in for the paper's data and sizes.

    Args:
        figure: with runs.
        preset: the sizes.

    Returns:
        Sentences; none in the papers' sizes.
    """
    words = []
    stand_ins = _stand_ins(figure, preset)
    if stand_ins:
        words.append(f"Data: {'; '.join(stand_ins)}.")
    sizes = _sizes(figure, preset)
    if sizes:
        words.append(f"In place of the printed sizes: {'; '.join(sizes)}.")
    return words


def _stand_ins(figure: Figure, preset: Preset) -> list[str]:
    """Return which data and partitions of the paper were replaced by which."""
    pairs = [
        (getattr(figure.config(p, c, PAPER, 0), name),
         getattr(figure.config(p, c, preset, 0), name))
        for name in ("dataset", "partition")
        for p in figure.panels
        for c in p.curves
    ]  # fmt: skip
    return [
        f"{used} in place of {printed}"
        for printed, used in dict.fromkeys(pairs)
        if printed != used
    ]


def _sizes(figure: Figure, preset: Preset) -> list[str]:
    """Return which numbers of the paper were replaced by which, option by option."""
    found = []
    for name in ("clients", "rounds", "epochs", "batch_size", "lr"):
        pairs = {
            (
                getattr(figure.config(p, c, PAPER, 0), name),
                getattr(figure.config(p, c, preset, 0), name),
            )
            for p in figure.panels
            for c in p.curves
        }
        changed = sorted((a, b) for a, b in pairs if a and b and a != b)
        if changed:
            label = NAMES.get(name, name)
            found.append(
                f"{label} " + ", ".join(f"{b:g} for {a:g}" for a, b in changed)
            )
    return found
