"""Training a run to its end: rounds, evaluations, checkpoints, a summary."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from sfl_train.deep.assembly import Assembly, assemble
from sfl_train.deep.cluster import Cluster
from sfl_train.deep.config import Config
from sfl_train.deep.costs import Costs, costs
from sfl_train.deep.evaluation import InLoop, Score, evaluate
from sfl_train.deep.ledger import Ledger
from sfl_train.deep.measure.constants import constants
from sfl_train.deep.measure.drift import Both
from sfl_train.deep.measure.measurement import Measurement
from sfl_train.deep.partition_record import keep_partition
from sfl_train.runs import checkpoint
from sfl_train.runs.checkpoint import Checkpoint
from sfl_train.runs.environment import environment
from sfl_train.runs.files import RunError, write_whole
from sfl_train.runs.folder import RunFolder
from sfl_train.runs.log import Log, cut, foreign_line, read_log, without_torn_line

SECONDS = 5.0
"""Time between two checkpoints unless the user asks for a number of rounds."""


@dataclass(frozen=True)
class Progress:
    """What a live display shows.

    Attributes:
        round: rounds made.
        rounds: rounds in all.
        images: training images processed by this process since it started.
        seconds: since it started.
        loss: mean training loss of the last round, or None.
        accuracy: of the last evaluation.
        started: the round at which this process took over.
    """

    round: int
    rounds: int
    images: int
    seconds: float
    loss: float | None
    accuracy: float | None
    started: int


def train(
    config: Config,
    out: Path,
    show: Callable[[Progress], None] | None = None,
    cluster: Cluster | None = None,
) -> dict[str, Any]:
    """Train a run, or what is left of it.

    Args:
        config: the options.
        out: the run folder.
        show: is told after every round.
        cluster: processes that share the clients; the first one writes.

    Returns:
        The summary that ``done`` holds.

    Raises:
        RunError: if the folder cannot be used.
        ValueError: if the options do not fit each other or the data.
    """
    torch.set_num_threads(config.threads)
    cluster = cluster or Cluster()
    with _opened(out, config, cluster) as (folder, summary):
        if summary is None:
            training = _Training(assemble(config, cluster), folder, show)
            summary = training.finish()
        return summary


@contextmanager
def _opened(
    out: Path, config: Config, cluster: Cluster
) -> Iterator[tuple[RunFolder | None, dict[str, Any] | None]]:
    """Open the run folder in the first process and tell the others what it found.

    Args:
        out: the folder.
        config: of the run.
        cluster: the processes.

    Yields:
        The folder (None in the others) and the summary of a finished run.

    Raises:
        RunError: in every process, if the folder cannot be used.
    """
    with ExitStack() as stack:
        folder, found = None, None
        if cluster.rank == 0:
            try:
                folder = stack.enter_context(RunFolder(out, config))
                done = folder.done
                if done is not None:
                    found = dict(done.summary)
            except RunError as error:
                found = error
        found = cluster.from_first(found)
        if isinstance(found, RunError):
            raise found
        yield folder, found


class _Training:
    """One process's part in a run."""

    def __init__(
        self,
        assembly: Assembly,
        folder: RunFolder | None,
        show: Callable[[Progress], None] | None,
    ) -> None:
        self._a, self._folder, self._show = assembly, folder, show
        self._config, self._run = assembly.config, assembly.run
        self._ledger = Ledger(_costs(assembly), self._run.federation)
        self._store = self._run.federation.store
        self._in_loop = None
        if self._config.evaluation == "in-loop" and self._config.algorithm != (
            "centralized"
        ):
            part = self._run.worker.model.sides(assembly.cut)[0]
            self._in_loop = InLoop(
                self._run.worker,
                self._store,
                self._run.federation.clients,
                part if self._config.split else None,
            )
            self._run.watch = self._in_loop
        self._measurement = None
        if self._config.measure != "off":
            cuts = list(assembly.network.cuts) or list(
                range(1, len(assembly.network.blocks))
            )
            self._measurement = Measurement(
                self._run,
                self._config.measure,
                self._config.seed,
                cuts,
                self._config.rounds,
            )
            self._run.watch = Both(self._measurement.drift, self._in_loop)
        self._round, self._log, self._speed = 0, None, None
        self._open(folder)

    def finish(self) -> dict[str, Any]:
        """Return the summary after the last round."""
        began = saved = time.monotonic()
        started, images, loss, score = self._round, 0, None, None
        if self._round == 0:
            score = self._score()
            self._write(self._record(0, None, score) | self._measured())
        while self._round < self._config.rounds:
            t, before = self._round, time.monotonic()
            if self._in_loop is not None:
                self._in_loop.begin(self._run.state)
            if self._measurement is not None:
                self._measurement.begin(t)
            report = self._run.round(t, self._a.rates(t))
            self._round += 1
            self._ledger.add(report)
            loss = float(report.loss) / report.samples if report.samples else None
            seconds = time.monotonic() - before
            images += report.samples
            seen = self._recorded(self._round)
            score = self._score() if seen else score
            if self._diverged(loss, score):
                return self._end({"rounds": self._round, "diverged": True})
            if seen:
                record = self._record(self._round, loss, score)
                record |= self._ledger.since()
                self._write(record | self._measured())
            self._write_speed(seconds, report.samples)
            now = time.monotonic()
            every = self._config.checkpoint_every
            due = (now - saved > SECONDS) if every is None else self._round % every == 0
            if self._run.cluster.from_first(due):
                self._save()
                saved = time.monotonic()
            if self._show is not None:
                accuracy = None if score is None else score.accuracy
                self._show(
                    Progress(
                        self._round,
                        self._config.rounds,
                        images,
                        now - began,
                        loss,
                        accuracy,
                        started,
                    )
                )
        summary: dict[str, Any] = {"rounds": self._round, "diverged": False}
        if self._folder is not None:
            last = read_log(self._folder.path / "metrics.jsonl")[-1]
            summary |= {name: last[name] for name in ("test_loss", "test_accuracy")}
        return self._end(summary)

    def _diverged(self, loss: float | None, score: Score | None) -> bool:
        """Return whether a loss or a weight is not finite, the same in all processes.

        A last step may spoil the weights after the round's last loss.

        Args:
            loss: of training in this round, or None.
            score: of the last evaluation, or None.
        """
        losses = (loss, None if score is None else score.loss)
        finite = all(value is None or isfinite(value) for value in losses)
        finite = finite and bool(self._run.state.parameters.isfinite().all())
        return not self._run.cluster.from_first(finite)

    def _open(self, folder: RunFolder | None) -> None:
        found: Checkpoint | RunError | None = None
        if folder is not None:
            try:
                found = self._prepare(folder)
            except RunError as error:
                found = error
        found = self._run.cluster.from_first(found)
        if isinstance(found, RunError):
            raise found
        if found is not None:
            try:
                self._run.load(found.tensors)
            except (ValueError, KeyError) as error:
                raise RunError(f"the checkpoint does not fit: {error}") from error
            self._round = found.round
            recorded = filter(self._recorded, range(found.round, 0, -1))
            self._ledger.replay(found.round, next(recorded, 0))

    def _prepare(self, folder: RunFolder) -> Checkpoint | None:
        config, path = self._config, folder.path
        found = checkpoint.latest(path / "checkpoint", *folder.hashes)
        if found is not None and found.channels_last != config.channels_last:
            word = "--channels-last" if found.channels_last else "--no-channels-last"
            raise RunError(
                f"{path}: the run began with {word}, in which the weights lie in "
                f"another order: go on with {word}"
            )
        folder.claim()
        folder.write_json("environment.json", environment(config.device))
        keep_partition(folder, self._a.images.train_y, self._a.parts)
        metrics = path / "metrics.jsonl"
        end = foreign_line(metrics, self._recorded)
        if end is not None:  # the checkpoint first: then a sudden end loses nothing
            if found is not None and found.position > end:
                found = replace(found, position=end)
                checkpoint.write(path / "checkpoint", config.lineage, found)
            cut(metrics, end)
        self._log = Log(metrics, 0 if found is None else found.position)
        speed = path / "speed.jsonl"
        self._speed = Log(speed, without_torn_line(speed))
        return found

    def _score(self) -> Score | None:
        if self._in_loop is not None and self._round:
            found = self._in_loop.score(self._run.cluster)
            if found is not None:
                return found
        if self._folder is None:
            return None
        return evaluate(self._run.worker, self._run.state, self._store)

    def _measured(self) -> dict[str, Any]:
        if self._measurement is None or not self._measurement.due(self._round):
            return {}
        return {"measured": self._measurement.record()}

    def _recorded(self, round: int) -> bool:
        """Return whether the metrics have a line after so many rounds."""
        if self._measurement is not None and self._measurement.due(round):
            return True
        return not round % self._config.evaluate_every or round == self._config.rounds

    def _record(
        self, round: int, loss: float | None, score: Score | None
    ) -> dict[str, Any]:
        return {
            "round": round,
            "train_loss": loss,
            "test_loss": None if score is None else score.loss,
            "test_accuracy": None if score is None else score.accuracy,
        }

    def _write(self, record: dict[str, Any]) -> None:
        if self._log is not None:
            self._log.append(record)

    def _write_speed(self, seconds: float, images: int) -> None:
        if self._speed is not None:
            self._speed.append({
                "round": self._round,
                "seconds": round(seconds, 6),
                "images_per_second": round(images / seconds, 3),
            })

    def _save(self) -> None:
        tensors = self._run.cluster.merged(self._run.tensors())
        if self._folder is None or self._log is None:
            return
        self._log.flush()
        checkpoint.write(
            self._folder.path / "checkpoint",
            self._config.lineage,
            Checkpoint(
                self._round, self._log.position, tensors, self._config.channels_last
            ),
        )

    def _end(self, summary: dict[str, Any]) -> dict[str, Any]:
        if not summary["diverged"]:  # else an interrupted end would go on from there
            self._save()
        if self._folder is None or self._log is None:
            return summary
        self._run.worker.state.copy_(self._run.state)
        weights = {
            name: tensor.detach().cpu().contiguous()
            for name, tensor in self._run.worker.model.blocks.state_dict().items()
        }
        write_whole(self._folder.path / "model.safetensors", save(weights))
        self._folder.write_json("bytes.json", self._ledger.by_client())
        if self._measurement is not None:
            found = constants(self._a, read_log(self._folder.path / "metrics.jsonl"))
            self._folder.write_json("constants.json", found)
        self._log.flush()
        return self._folder.finish(summary)


def _costs(assembly: Assembly) -> Costs:
    config, images = assembly.config, assembly.images
    return costs(
        assembly.run.worker.model,
        assembly.cut if config.split else None,
        (images.channels, images.pixels, images.pixels),
        exchanges=config.algorithm != "centralized",
    )
