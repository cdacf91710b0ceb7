r"""What finished runs say about a curve: a quantity by seed and round, and what lacks.

Only run folders are read. A quantity that the theory speaks of is the client side's
share at the run's own cut. A round without participants leaves the model as it is, and
its training loss is that of the round before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from figures.figure import MEASURED, Curve, Figure, Panel
from figures.grid import folder
from figures.scale import Preset
from sfl_train.deep.config import Config
from sfl_train.runs.done import read_done
from sfl_train.runs.files import RunError, read_json
from sfl_train.runs.log import read_log

Standing = Literal["finished", "diverged", "unfinished", "missing"]


@dataclass(frozen=True)
class Series:
    """A curve as measured.

    Attributes:
        rounds: at which the quantity was evaluated, shape (T,), ascending.
        values: one row per finished seed, shape (R, T); accuracies are shares.
        seeds: of the rows.
        lacking: seeds whose runs are not drawn, and how they stand.
    """

    rounds: NDArray[np.int64]
    values: NDArray[np.float64]
    seeds: tuple[int, ...]
    lacking: tuple[tuple[int, Standing], ...]

    def mean(self) -> NDArray[np.float64]:
        """Return the mean over seeds, shape (T,); NaN without seeds."""
        if not len(self.seeds):
            return np.full(self.rounds.shape, np.nan)
        return self.values.mean(0)


def series(
    figure: Figure,
    panel: Panel,
    curve: Curve,
    preset: Preset,
    root: Path,
    stands: Callable[[Config, Path], Standing] | None = None,
) -> Series:
    """Read the runs behind a curve.

    Args:
        figure: of the panel.
        panel: of the curve.
        curve: what is read.
        preset: the sizes.
        root: folder of all runs.
        stands: what is known of `standing` already; None: folders are asked.

    Returns:
        What was found.

    Raises:
        RunError: if a folder holds another run, one of another version, or damage.
    """
    rows, seeds, lacking = [], [], []
    for seed in preset.seeds:
        config = figure.config(panel, curve, preset, seed)
        found = (stands or standing)(config, root)
        if found == "finished":
            rows.append(_read(config, root, panel.quantity))
            seeds.append(seed)
        else:
            lacking.append((seed, found))
    if not rows:
        return Series(
            np.zeros(0, np.int64), np.zeros((0, 0)), (), tuple(lacking)
        )  # fmt: skip
    if panel.quantity == "train_loss":
        # Before the first participants there is no training loss.
        common = set.intersection(*(set(row[0]) for row in rows))
        rows = [
            (
                [t for t in at if t in common],
                [v for t, v in zip(at, values, strict=True) if t in common],
            )
            for at, values in rows
        ]
    rounds = rows[0][0]
    if any(row[0] != rounds for row in rows):
        raise RunError(
            f"{root}: the runs of {figure.key} ({panel.letter}), {curve.label} were "
            "evaluated at different rounds; remove their folders to make them again"
        )
    return Series(
        np.asarray(rounds, np.int64),
        np.asarray([values for _, values in rows], np.float64),
        tuple(seeds),
        tuple(lacking),
    )


def standing(config: Config, root: Path) -> Standing:
    """Return how far a run is.

    Args:
        config: of the run.
        root: folder of all runs.

    Returns:
        "finished", "diverged", "unfinished" (begun, not ended) or "missing".

    Raises:
        RunError: if its folder holds another run or one of another version, or what
            it left behind is not that any more.
    """
    path = folder(config, root)
    if not (path / "config.json").exists():
        return "missing"
    there = read_json(path / "config.json")
    if not isinstance(there, dict) or there.get("hash") != config.hash:
        raise RunError(
            f"{path}: holds another run or one of another version of this program; "
            "choose another --runs, or remove the folder to make its run again"
        )
    done = read_done(path, config.hash)
    if done is None:
        return "unfinished"
    return "diverged" if done.summary["diverged"] else "finished"


def _read(
    config: Config, root: Path, quantity: str
) -> tuple[list[int], list[float]]:  # fmt: skip
    path = folder(config, root) / "metrics.jsonl"
    rounds, values, last = [], [], None
    for record in read_log(path):
        try:
            last = record["round"]
            value = _value(record, quantity, config.cut)
            if value is None and quantity == "train_loss" and values:
                value = values[-1]
            if value is not None:
                rounds.append(int(record["round"]))
                values.append(float(value))
        except (KeyError, IndexError, TypeError) as error:
            raise _other_version(path, f"{quantity!r}") from error
    if not rounds or last != config.rounds:
        raise RunError(
            f"{path}: the run is done, but {quantity!r} of its last round is not "
            "there; remove the folder to make the run again"
        )
    return rounds, values


def _value(record: dict[str, Any], quantity: str, cut: int) -> float | None:
    """Return the quantity in a record.

    Args:
        record: of the metrics file.
        quantity: key of ``QUANTITIES``.
        cut: $L_c$ of the run.

    Returns:
        Its value; None where it was not evaluated.

    Raises:
        KeyError: if the record lacks what it should have.
    """
    if quantity not in MEASURED:
        found: float | None = record[quantity]
        return found
    if "measured" not in record:
        return None
    at = record["measured"]["cuts"][cut - 1]
    if at["cut"] != cut:
        raise KeyError(cut)
    if quantity == "epsilon2":
        return float(at["client"]["epsilon2"])
    return float(at[f"{quantity}_per_cut"])


def _other_version(path: Path, lacking: str) -> RunError:
    return RunError(
        f"{path}: lacks {lacking}; another version of this program wrote it; choose "
        "another --runs, or remove the folder to make its run again"
    )


def standings(configs: Sequence[Config], root: Path) -> dict[Standing, int]:
    """Return how many runs stand how.

    Args:
        configs: of the runs, each once.
        root: folder of all runs.

    Returns:
        Counts of all four standings.
    """
    counts: dict[Standing, int] = {
        "finished": 0, "diverged": 0, "unfinished": 0, "missing": 0,
    }  # fmt: skip
    for config in configs:
        counts[standing(config, root)] += 1
    return counts
