"""The theory's constants of every measured run, as a section of the report's page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from figures.grid import folder
from figures.papers import FIGURES
from figures.scale import Preset
from figures.series import standing
from sfl_train.deep.config import Config
from sfl_train.runs.files import RunError, read_json

COLUMNS = {
    "S": "S",
    "sigma2": "largest sigma<sub>n</sub><sup>2</sup>",
    "G2": "G<sup>2</sup>",
    "eps2": "epsilon<sup>2</sup>",
    "initial_gap": "f(x<sup>0</sup>)",
}


def section(preset: Preset, root: Path) -> str:
    """Return the section.

    Args:
        preset: the sizes.
        root: folder of all runs.

    Returns:
        HTML: one line per run.
    """
    rows = "".join(_row(config, root) for config in _measured(preset, root))
    head = '<h2 id="constants">Constants by run</h2>'
    if not rows:
        return f"{head}<p>No measured run is finished.</p>"
    names = "".join(f"<th>{name}</th>" for name in COLUMNS.values())
    return (
        f"{head}<p>The largest values met along each run, so lower estimates of the "
        "assumptions' constants; f(x<sup>0</sup>) stands for the initial gap.</p>"
        '<div class="wide" tabindex="0"><table><tr><th>run</th><th>algorithm</th>'
        f"<th>data</th><th>partition</th><th>Lc</th><th>seed</th>{names}</tr>"
        f"{rows}</table></div>"
    )


def _measured(preset: Preset, root: Path) -> Iterator[Config]:
    """Yield every finished measured run once."""
    seen = set()
    for figure in FIGURES:
        for config in figure.configs(preset):
            if config.measure != "off" and config.hash not in seen:
                seen.add(config.hash)
                if standing(config, root) == "finished":
                    yield config


def _row(config: Config, root: Path) -> str:
    path = folder(config, root) / "constants.json"
    content = read_json(path)
    try:
        values = [_largest(content["constants"][name]) for name in COLUMNS]
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(
            f"{path}: lacks a constant ({error}); another version of this program "
            "wrote it; choose another --runs, or remove the folder to make it again"
        ) from error
    cells = (
        f"<code>{path.parent.name}</code>",
        escape(config.algorithm),
        escape(config.dataset),
        escape(config.partition),
        str(config.cut),
        str(config.seed),
        *(f"{value:.4g}" for value in values),
    )
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _largest(value: Any) -> float:
    return float(max(value)) if isinstance(value, list) else float(value)
