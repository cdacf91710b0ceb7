"""``python -m figures list``: figures, what they need, and what is made already."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from figures import selection
from figures.figure import Figure
from figures.papers import FIGURES
from figures.scale import CPU, PAPER, Preset
from sfl_theory.command import CommandError, Parser
from sfl_train.deep.config import Config

HOW = {
    "cpu": "seconds on one core, start-up included, see figures/estimate.py",
    "paper": "hours on one GPU: training images x operations per image / 5e12 per "
    "second, han2024's 10 h per curve on an A100",
}
"""How the costs are estimated, by preset."""


@dataclass(frozen=True)
class Row:
    """A figure in the list.

    Attributes:
        key: of the figure.
        paper: its key.
        kind: "figure" or "table".
        title: what it shows.
        data: data sets in the paper's sizes, each with its files below --data-root.
        runs: number of distinct runs, with all seeds.
        finished: of them, those that are made; diverged ones count.
        unfinished: those that are begun.
        missing: those that are not.
        core_seconds: estimate of all its runs on one core, in the preset cpu.
        gpu_hours: estimate of all its runs on one GPU, in the preset paper.
    """

    key: str
    paper: str
    kind: str
    title: str
    data: dict[str, str]
    runs: int
    finished: int
    unfinished: int
    missing: int
    core_seconds: float
    gpu_hours: float


def add_arguments(parser: Parser) -> None:
    """Add the options of ``list``.

    Args:
        parser: of the sub-command.
    """
    selection.add_preset(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def work(options: argparse.Namespace) -> int:
    """Print the list.

    Args:
        options: parsed.

    Returns:
        0.

    Raises:
        CommandError: if a run folder is of another version.
    """
    preset = selection.preset(options)
    try:
        found = [row(figure, preset, options.runs) for figure in FIGURES]
        whole = _totals(preset, options.runs)
    except ValueError as error:
        raise CommandError(str(error)) from error
    if options.json:
        content = {
            "preset": preset.name,
            "seeds": list(preset.seeds),
            "estimates": HOW,
            "all": whole,
            "figures": [asdict(one) for one in found],
        }
        print(json.dumps(content, indent=1))
    else:
        print(_table(found, whole, preset, options.runs))
    return 0


def row(figure: Figure, preset: Preset, root: Path) -> Row:
    """Describe a figure.

    Args:
        figure: which.
        preset: whose runs are counted.
        root: folder of all runs.

    Returns:
        Its row.
    """
    from figures.estimate import entry
    from figures.series import standings

    runs = _distinct(figure.configs(preset))
    names = dict.fromkeys(config.dataset for config in figure.configs(PAPER))
    counts = standings(runs, root)
    return Row(
        figure.key,
        figure.paper,
        figure.kind,
        figure.heading(preset),
        {name: entry(name).files for name in names},
        len(runs),
        counts["finished"] + counts["diverged"],
        counts["unfinished"],
        counts["missing"],
        round(_cost([figure], replace(CPU, seeds=preset.seeds)), 1),
        round(_cost([figure], replace(PAPER, seeds=preset.seeds)), 1),
    )


def _totals(preset: Preset, root: Path) -> dict[str, Any]:
    """Return counts and costs of all figures together, which share runs."""
    from figures.series import standings

    runs = _distinct(c for figure in FIGURES for c in figure.configs(preset))
    counts = standings(runs, root)
    return {
        "runs": len(runs),
        "finished": counts["finished"] + counts["diverged"],
        "unfinished": counts["unfinished"],
        "missing": counts["missing"],
        "core_seconds": round(_cost(FIGURES, replace(CPU, seeds=preset.seeds)), 1),
        "gpu_hours": round(_cost(FIGURES, replace(PAPER, seeds=preset.seeds)), 1),
    }


def _distinct(configs: Any) -> list[Config]:
    from figures.engines.engine import distinct

    return distinct(configs)


def _cost(figures: Sequence[Figure], preset: Preset) -> float:
    """Return the estimated seconds on a core, or hours on a GPU."""
    from figures.estimate import core_seconds, gpu_hours

    runs = _distinct(c for figure in figures for c in figure.configs(preset))
    return gpu_hours(runs) if preset.name == PAPER.name else core_seconds(runs)


def _table(
    rows: Sequence[Row], whole: dict[str, Any], preset: Preset, root: Path
) -> str:  # fmt: skip
    from figures.estimate import entry

    def cost(seconds: float, hours: float) -> str:
        return f"{hours:.0f} h" if preset.name == PAPER.name else f"{seconds:.0f} s"

    cells = [("key", "made", "cost", "data", "what it shows")]
    cells += [
        (
            one.key,
            f"{one.finished}/{one.runs}" if one.runs else "no runs",
            cost(one.core_seconds, one.gpu_hours) if one.runs else "-",
            ", ".join(one.data)
            if preset.name == PAPER.name
            else "generated" * bool(one.runs),
            one.title,
        )
        for one in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if k in {1, 2} else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]
    lines += [
        "",
        f"preset {preset.name}, runs in {root}: {whole['finished']} of {whole['runs']} "
        f"distinct runs made, {whole['unfinished']} begun; figures share runs, all "
        f"together cost {cost(whole['core_seconds'], whole['gpu_hours'])}",
        f"cost: {HOW[preset.name]}",
    ]
    if preset.name == PAPER.name:
        lines.append("data, below --data-root (default: data):")
        names = dict.fromkeys(name for one in rows for name in one.data)
        lines += [
            f"  {name}: {entry(name).files}; from {entry(name).origin}"
            for name in names
        ]  # fmt: skip
    return "\n".join(lines)
