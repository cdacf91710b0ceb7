"""A grid of training runs: each in a folder named by its content, each made once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfl_train.deep.config import Config
from sfl_train.runs.log import read_log

DIGITS = 16
"""Of the hash in a folder's name; the folder itself checks all of it."""


def folder(config: Config, root: Path) -> Path:
    """Return where a run lives.

    Args:
        config: of the run.
        root: folder of all runs.

    Returns:
        ``root/HASH``.
    """
    return root / config.hash[:DIGITS]


def make(configs: Sequence[Config], root: Path, quiet: bool = False) -> None:
    """Make the runs that are missing; finished ones return at once.

    Args:
        configs: of the runs.
        root: folder of all runs.
        quiet: show no progress.
    """
    # Both take seconds, which who only looks for folders need not wait for.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from sfl_train.deep.training import train

    with Progress(
        TextColumn("run {task.completed}/{task.total}"),
        BarColumn(),
        TextColumn("{task.fields[words]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        disable=quiet or not sys.stderr.isatty(),
    ) as bar:
        task = bar.add_task("", total=len(configs), words="")
        for config in configs:
            bar.update(task, words=folder(config, root).name)
            train(config, folder(config, root))
            bar.advance(task)


def final(config: Config, root: Path, name: str, last: int) -> float:
    """Return the mean of a measured quantity over the last evaluations of a run.

    Args:
        config: of the run.
        root: folder of all runs.
        name: key of ``metrics.jsonl``.
        last: how many evaluations.

    Returns:
        Their mean.

    Raises:
        ValueError: if the run did not reach its last round or has fewer evaluations.
    """
    records: list[dict[str, Any]] = read_log(folder(config, root) / "metrics.jsonl")
    values = [one[name] for one in records if one.get(name) is not None]
    if not records or records[-1]["round"] != config.rounds or len(values) < last:
        raise ValueError(
            f"{folder(config, root)}: the run diverged or is unfinished; its last "
            "evaluations cannot be compared"
        )
    return float(sum(values[-last:]) / last)


def seconds(config: Config, root: Path) -> float:
    """Return the wall-clock of a run's rounds, evaluations left out."""
    records = read_log(folder(config, root) / "speed.jsonl")
    return float(sum(one["seconds"] for one in records))
