"""``python -m figures list``: figures, what they need, and what is made already."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from figures import selection
from figures.engines.engine import distinct
from figures.estimate import core_seconds, entry, gpu_hours
from figures.figure import Figure
from figures.papers import FIGURES
from figures.scale import CPU, PAPER, PRESETS, Preset
from figures.series import standings
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
    declared = {
        name: {figure.key: distinct(figure.configs(replace(size, seeds=preset.seeds)))
               for figure in FIGURES}
        for name, size in PRESETS.items()
    }  # fmt: skip
    try:
        found = [
            row(figure, {name: runs[figure.key] for name, runs in declared.items()},
                preset, options.runs)
            for figure in FIGURES
        ]  # fmt: skip
        together = {
            name: distinct(chain.from_iterable(runs.values()))
            for name, runs in declared.items()
        }
        whole = _counts(together, preset, options.runs)
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


def row(
    figure: Figure, runs: Mapping[str, Sequence[Config]], preset: Preset, root: Path
) -> Row:
    """Describe a figure.

    Args:
        figure: which.
        runs: behind it, by preset, each once.
        preset: whose runs are counted.
        root: folder of all runs.

    Returns:
        Its row.
    """
    names = dict.fromkeys(config.dataset for config in runs[PAPER.name])
    return Row(
        key=figure.key,
        paper=figure.paper,
        kind=figure.kind,
        title=figure.heading(preset),
        data={name: entry(name).files for name in names},
        **_counts(runs, preset, root),
    )


def _counts(
    runs: Mapping[str, Sequence[Config]], preset: Preset, root: Path
) -> dict[str, Any]:
    """Return how many of some runs are made, and what all of them cost."""
    counts = standings(runs[preset.name], root)
    return {
        "runs": len(runs[preset.name]),
        "finished": counts["finished"] + counts["diverged"],
        "unfinished": counts["unfinished"],
        "missing": counts["missing"],
        "core_seconds": round(core_seconds(runs[CPU.name]), 1),
        "gpu_hours": round(gpu_hours(runs[PAPER.name]), 1),
    }


def _table(
    rows: Sequence[Row], whole: dict[str, Any], preset: Preset, root: Path
) -> str:  # fmt: skip
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
