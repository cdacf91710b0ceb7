"""Where the pictures and tables of a figure lie."""

from __future__ import annotations

from pathlib import Path

from figures.figure import Figure
from figures.scale import Preset


def place(figure: Figure, preset: Preset, out: Path, suffix: str) -> Path:
    """Return the path of one file of a figure.

    Args:
        figure: what it shows.
        preset: the sizes; a table of the theory has none.
        out: folder of all.
        suffix: "pdf", "png" or "csv" of a figure, "tex", "md" or "csv" of a table.

    Returns:
        ``out/PRESET/PAPER-NAME.SUFFIX``; ``out/theory/...`` for a table that needs no
        run.
    """
    size = preset.name if figure.panels else "theory"
    return out / size / f"{figure.key.replace('/', '-')}.{suffix}"
