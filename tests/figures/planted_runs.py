"""Run folders with planted numbers, and a small figure; nothing is trained for them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from figures.figure import Curve, Figure, Panel
from figures.grid import folder
from figures.scale import Preset
from sfl_train.deep.config import Config
from sfl_train.runs.done import RESULTS, digests

TINY = Preset("cpu", (0, 1), "tiny, not the paper's", 1)
"""A preset of the name "cpu", so that it is scaled as that."""
DATA, ROUNDS = "synthetic:2x1x8:40", 3

SETUP: dict[str, Any] = {
    "model": "mlp",
    "dataset": "cifar10",
    "partition": "iid",
    "clients": 10,
    "rounds": 200,
    "epochs": 1,
    "batch_size": 16,
    "lr": 0.01,
}


def small(key: str = "han2024/fig-90", quantity: str = "test_accuracy") -> Figure:
    """Two panels, SFL-V1 and SFL-V2, at two cuts each."""
    cuts = tuple(Curve(f"$L_c={cut}$", {"cut": cut}) for cut in (1, 2))
    panels = tuple(
        Panel(letter, ("algorithm",), {"algorithm": algorithm}, cuts, quantity)
        for letter, algorithm in (("a", "sfl-v1"), ("b", "sfl-v2"))
    )
    return Figure(key, "A small figure", SETUP, panels)


def shrink(monkeypatch) -> None:
    """Make the preset cpu tiny and put small figures among the papers'."""
    from figures import papers, scale, selection

    monkeypatch.setitem(scale.DATASETS, "cifar10", DATA)
    monkeypatch.setitem(scale.ROUNDS, 200, ROUNDS)
    monkeypatch.setitem(scale.CLIENTS, 10, 2)
    monkeypatch.setitem(selection.PRESETS, "cpu", TINY)
    for key in ("han2024/fig-90", "han2024/fig-91"):
        monkeypatch.setitem(papers.BY_KEY, key, small(key))


def plant(
    config: Config,
    root: Path,
    records: Sequence[Mapping[str, Any]],
    **done: Any,
) -> Path:
    """Write a run folder as `sfl_train` does; ``done={}`` leaves the run unfinished."""
    path = folder(config, root)
    path.mkdir(parents=True)
    content = {"hash": config.hash, **config.as_dict()}
    (path / "config.json").write_text(json.dumps(content))
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (path / "metrics.jsonl").write_text(lines)
    for name in RESULTS[1:]:
        (path / name).write_text("{}")
    if done:
        end(config, path, **done)
    return path


def end(config: Config, path: Path, **done: Any) -> None:
    """Write the end of a run whose results stand in its folder."""
    scores = {} if done["diverged"] else {"test_accuracy": 0.5, "test_loss": 1.0}
    summary = {"hash": config.hash, "rounds": config.rounds, **scores, **done}
    content = {**summary, "files": digests(path)}
    (path / "done").write_text(json.dumps(content))


def accuracies(values: Sequence[float]) -> list[dict[str, Any]]:
    """Records of the rounds 0, 1, ... with an accuracy and losses from it."""
    return [
        {
            "round": t,
            "train_loss": None if t == 0 else 1 - value,
            "test_loss": 2 - value,
            "test_accuracy": value,
        }
        for t, value in enumerate(values)
    ]
