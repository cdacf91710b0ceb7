r"""Tables whose cells are trained: ours beside what the paper prints.

A cell is mean ± standard deviation over seeds, in percent, of the last round's test
accuracy and of the best over the rounds, which is what the papers' code reports.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from figures.caption import configuration, readings
from figures.figure import Curve, Figure
from figures.scale import Preset
from figures.series import Series, series
from figures.sheet import Sheet

BLANK = "–"


def files(figure: Figure, preset: Preset, root: Path) -> dict[str, bytes]:
    """Return the files of a table.

    Args:
        figure: of kind "table".
        preset: the sizes.
        root: folder of all runs.

    Returns:
        Contents by suffix: LaTeX, Markdown and CSV.
    """
    made = sheet(figure, preset, root)
    return {
        "tex": made.latex().encode(),
        "md": made.markdown().encode(),
        "csv": made.csv().encode(),
    }


def sheet(figure: Figure, preset: Preset, root: Path) -> Sheet:
    """Return a table filled from run folders.

    Args:
        figure: of kind "table".
        preset: the sizes.
        root: folder of all runs.

    Returns:
        One row per curve, and per panel the paper's number and ours.
    """
    if figure.theory is not None:
        return figure.theory()
    labels = list(dict.fromkeys(c.label for p in figure.panels for c in p.curves))
    rows = {label: [label] for label in labels}
    records: list[dict[str, Any]] = []
    lacking = 0
    for panel in figure.panels:
        curves = {curve.label: curve for curve in panel.curves}
        for label in labels:
            curve = curves.get(label)
            if curve is None:
                rows[label] += [BLANK] * 3
                continue
            found = series(figure, panel, curve, preset, root)
            lacking += len(found.lacking)
            last, best = _last(found), _best(found)
            printed = BLANK if curve.printed is None else _cell(*curve.printed)
            rows[label] += [printed, _spread(last), _spread(best)]
            title, _ = figure.panel_title(panel, preset)
            records.append(_record(title, curve, found, last, best))
    notes = [
        "mean ± standard deviation over seeds, test accuracy in %; last: of the last "
        "round, best: the best over the rounds",
        *(
            words.rstrip(".")
            for words in (*configuration(figure, preset), *readings(figure, preset))
        ),
    ]
    if lacking:
        notes.append(f"{lacking} runs are missing or diverged; they are in no number")
    return Sheet(
        f"{figure.key}. {figure.heading(preset)} ({preset.caption})",
        ("method", *("paper", "last", "best") * len(figure.panels)),
        tuple(tuple(row) for row in rows.values()),
        tuple(
            ("; ".join(filter(None, figure.panel_title(panel, preset))), 3)
            for panel in figure.panels
        ),
        tuple(notes),
        tuple(records),
    )


def _last(found: Series) -> NDArray[np.float64]:
    return 100 * found.values[:, -1] if len(found.seeds) else np.zeros(0)


def _best(found: Series) -> NDArray[np.float64]:
    return 100 * found.values.max(1) if len(found.seeds) else np.zeros(0)


def _cell(mean: float, deviation: float) -> str:
    return f"{mean:.2f} ± {deviation:.2f}"


def _spread(values: NDArray[np.float64]) -> str:
    """Return mean and sample standard deviation, as far as there are seeds."""
    if values.size < 2:
        return BLANK if not values.size else f"{values[0]:.2f}"
    return _cell(float(values.mean()), float(values.std(ddof=1)))


def _record(
    panel: str,
    curve: Curve,
    found: Series,
    last: NDArray[np.float64],
    best: NDArray[np.float64],
) -> dict[str, Any]:
    printed = curve.printed or ("", "")
    record: dict[str, Any] = {
        "panel": panel,
        "method": curve.label.replace("$", ""),
        "seeds": len(found.seeds),
        "paper_mean": printed[0],
        "paper_std": printed[1],
    }
    for name, values in (("last", last), ("best", best)):
        record[f"{name}_mean"] = f"{values.mean():.4f}" if values.size else ""
        record[f"{name}_std"] = f"{values.std(ddof=1):.4f}" if values.size > 1 else ""
    return record
