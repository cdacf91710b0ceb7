"""A finished run of ``python -m sfl_train``, read for a comparison with a bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfl_theory import Constants
from sfl_train.deep.config import FORMAT, Config, cadence, flag
from sfl_train.deep.federation import LocalWork
from sfl_train.deep.schedule import LearningRates
from sfl_train.runs.done import read_done
from sfl_train.runs.files import read_json
from sfl_train.runs.log import read_log

TRAIN = "python -m sfl_train"
AGAIN = f"train it again with {TRAIN} --measure every=1"


@dataclass(frozen=True)
class FinishedRun:
    r"""What a run folder says about the left side and the constants of a bound.

    Attributes:
        folder: where it lies.
        config: its options.
        constants: as measured along the run; where clients make different numbers of
            local steps, tau is the largest of them.
        measured: rounds t at which it was measured, ascending from 0.
        gradient2: $\|\nabla f(x^t)\|^2$ at these rounds.
        sizes: samples of every client.
        cuts: number of cuts of the model.
        objective: f at the last measured round.
    """

    folder: Path
    config: Config
    constants: Constants
    measured: tuple[int, ...]
    gradient2: NDArray[np.float64]
    sizes: tuple[int, ...]
    cuts: int
    objective: float

    @property
    def every(self) -> int:
        """Rounds between two measurements; 1: every round was measured."""
        if len(self.measured) == 1:
            return self.config.rounds
        return self.measured[1] - self.measured[0]

    @property
    def steps(self) -> tuple[int, ...]:
        """Local steps of every client in a round."""
        return _steps(self.config, self.sizes)

    @property
    def whole_batches(self) -> bool:
        """Whether every mini-batch holds all of its client's samples, so is exact."""
        largest = max(_held(self.config, self.sizes))
        return self.config.sampling == "reshuffle" and largest <= self.config.batch_size

    @property
    def full(self) -> bool:
        """Whether all clients take part in every round."""
        return bool(np.all(self.constants.per_client("participation") == 1))

    @property
    def deterministic(self) -> bool:
        """Whether the run, its partition and start given, draws nothing."""
        parallel = self.config.algorithm in {"fedavg", "fedprox", "fedopt", "sfl-v1"}
        plain = self.config.augmentation == "none"
        return parallel and plain and self.full and self.whole_batches

    @cached_property
    def rates(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Learning rates of client side and server side, shape (T,) each."""
        weights, q = (
            self.constants.per_client(name) for name in ("weights", "participation")
        )
        rule = LearningRates(self.config, weights.tolist(), float(q[0]))
        both = [rule(t) for t in range(self.config.rounds)]
        client = np.array([one.client for one in both])
        if not self.config.split:
            return client, client
        return client, np.array([one.server for one in both])


def load(folders: Sequence[Path]) -> list[FinishedRun]:
    """Read runs of one configuration under several seeds.

    Args:
        folders: the run folders, at least one.

    Returns:
        The runs by seed, ascending.

    Raises:
        ValueError: if a folder holds no finished, measured, undamaged run, or they
            are not seeds of one configuration; the message says what to do.
    """
    runs = []
    for folder in folders:
        try:
            runs.append(_read(folder))
        except OSError as error:
            raise ValueError(f"--run: {folder}: {error.strerror}") from error
        except RecursionError:
            raise ValueError(f"--run: {folder}: JSON nested too deeply") from None
        except ValueError as error:
            raise ValueError(f"--run: {error}") from error
    first = runs[0]
    for run in runs[1:]:
        if replace(run.config, seed=0).hash != replace(first.config, seed=0).hash:
            mine = run.config.decisive()
            differing = [
                f"--{flag(name)} {value} there, {mine[name]} here"
                for name, value in first.config.decisive().items()
                if name != "seed" and mine[name] != value
            ]
            raise ValueError(
                f"--run: {run.folder} differs from {first.folder} in more than the "
                f"seed: {'; '.join(differing[:4])}"
            )
    runs.sort(key=lambda run: run.config.seed)
    for one, other in pairwise(runs):
        if one.config.seed == other.config.seed:
            raise ValueError(
                f"--run: {one.folder} and {other.folder} have the same seed "
                f"{one.config.seed}; the same run twice adds nothing"
            )
    return runs


def _read(folder: Path) -> FinishedRun:
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "there is no such folder"
        raise ValueError(f"{folder}: {what}")
    if not (folder / "config.json").exists():
        raise ValueError(f"{folder}: no run of {TRAIN} (config.json is missing)")
    config = _config(folder / "config.json")
    _check_done(folder, config)
    if config.measure == "off":
        raise ValueError(f"{folder}: nothing was measured in this run; {AGAIN}")
    sizes = _part(folder / "partition.json", _sizes)
    log = read_log(folder / "metrics.jsonl")
    measured, gradient2, cuts, last = _part(folder / "metrics.jsonl", _gradients, log)
    _check_rounds(folder, config, measured)
    constants = _part(folder / "constants.json", _constants, config, sizes, measured)
    clients = len(_held(config, sizes))
    if clients != constants.clients:
        raise ValueError(
            f"{folder}: damaged: {len(sizes)} clients in partition.json, "
            f"{constants.clients} in constants.json"
        )
    return FinishedRun(
        folder, config, constants, measured, gradient2, sizes, cuts, last
    )


def _part(path: Path, reader: Any, *more: Any) -> Any:
    """Read one file of the folder; whatever is wrong with it is said in one line.

    Args:
        path: the file.
        reader: takes its content, or what ``more`` begins with for a log.
        *more: further arguments of the reader.

    Returns:
        What the reader returns.

    Raises:
        ValueError: if the file does not hold what a run writes.
    """
    try:
        if path.suffix == ".json":
            return reader(read_json(path), *more)
        return reader(*more)
    except (KeyError, IndexError) as error:
        raise ValueError(f"{path}: damaged: {error.args[0]} is missing") from error
    except (TypeError, AttributeError) as error:
        raise ValueError(f"{path}: damaged: {error}") from error
    except ValueError as error:
        begun = str(error).startswith(str(path))
        raise ValueError(str(error) if begun else f"{path}: {error}") from error


def _config(path: Path) -> Config:
    options = read_json(path)
    found = options.pop("hash", None) if isinstance(options, dict) else None
    if found is None:
        raise ValueError(f"{path}: not the configuration of a run of {TRAIN}")
    try:
        config = Config(**options)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{path}: written by another version, or changed by hand ({error})"
        ) from error
    if config.hash != found:
        raise ValueError(
            f"{path}: its hash is not that of its options under format {FORMAT}: "
            "written by another version of the format, or changed by hand"
        )
    return config


def _check_done(folder: Path, config: Config) -> None:
    done = read_done(folder, config.hash)
    if done is None:
        raise ValueError(
            f"{folder}: the run is unfinished; the command that started it goes on"
        )
    rounds = done.summary["rounds"]
    if done.summary["diverged"]:
        raise ValueError(
            f"{folder}: the run diverged in round {rounds}: there is no curve to "
            "compare"
        )
    if rounds != config.rounds:
        raise ValueError(f"{folder / 'done'}: says {rounds} of {config.rounds}")


def _check_rounds(folder: Path, config: Config, measured: tuple[int, ...]) -> None:
    if config.measure != "auto":
        every = cadence(config.measure)
    else:
        every = config.rounds + 1 if len(measured) < 2 else measured[1] - measured[0]
    if measured != tuple(range(0, config.rounds + 1, max(1, every))):
        raise ValueError(
            f"{folder / 'metrics.jsonl'}: damaged: measured rounds are missing or not "
            "in order"
        )


def _sizes(content: Any) -> tuple[int, ...]:
    sizes = tuple(len(part) for part in content["clients"])
    if not sizes or min(sizes) < 1:
        raise ValueError("damaged: a client without samples")
    return sizes


def _gradients(
    log: Sequence[Any],
) -> tuple[tuple[int, ...], NDArray[np.float64], int, float]:
    lines = [line for line in log if "measured" in line]
    if not lines:
        raise ValueError("damaged: it holds no measured round")
    values = [line["measured"]["gradient2"] for line in lines]
    for line, value in zip(lines, values, strict=True):
        if type(line["round"]) is not int or type(value) not in {int, float}:
            raise TypeError("a round or its squared gradient is not a number")
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(
                f"the squared gradient of round {line['round']} is {value}: no curve "
                "to compare"
            )
    last = lines[-1]["measured"]
    rounds = tuple(line["round"] for line in lines)
    found = np.array(values, np.float64), len(last["cuts"]), float(last["objective"])
    return (rounds, *found)


def _constants(
    content: Any, config: Config, sizes: tuple[int, ...], measured: tuple[int, ...]
) -> Constants:
    found, provenance = dict(content["constants"]), dict(content["provenance"])
    if tuple(content["rounds"]) != measured:
        raise ValueError("damaged: it is not of the rounds in metrics.jsonl")
    if "tau" not in found:
        found["tau"] = found["tau_server"] = max(_steps(config, sizes))
        provenance["tau"] = provenance["tau_server"] = "assumed"
    where = f"aggregated models of {len(measured)} rounds of the run"
    domain = {name: where for name in ("S", "sigma2", "G2", "eps2")}
    domain["initial_gap"] = "f(x^0), which is at least f(x^0) - f* since f >= 0"
    return Constants.from_dict({**found, "provenance": provenance, "domain": domain})


def _steps(config: Config, sizes: tuple[int, ...]) -> tuple[int, ...]:
    tau = max(filter(None, (config.tau, config.tau_server)), default=None)
    work = LocalWork(tau, config.epochs, config.batch_size)
    return tuple(work.steps(size) for size in _held(config, sizes))


def _held(config: Config, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the samples of everyone who trains; centralised training pools them."""
    return (sum(sizes),) if config.algorithm == "centralized" else sizes
