r"""Runs on a Ray cluster: a task each, taken up by another node if a worker is lost.

The command runs on a node of the cluster, and every node has this toolkit installed and
sees the folder of the runs under the same path. A run whose worker disappears is
handed out again and goes on from its checkpoint in the run folder; the lock on that
folder, which ends with the process that holds it, keeps two workers from one run.
"""

from __future__ import annotations

import fcntl
import os
import platform
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from figures.engines.engine import Event, Outcome, distinct, make_one
from figures.engines.ray_connection import CONNECT, connected
from figures.grid import folder
from sfl_theory.command import CommandError
from sfl_train.deep.config import Config

LOSSES = 5
"""Workers that a run may lose without a new round before it counts as failed."""
TELL = 0.2
"""Seconds between two looks at the cluster, and between two events of a run."""
RELEASE = 60.0
"""Seconds in which a lost worker's lock must be gone, or a lost kind of node back."""


@dataclass(frozen=True)
class RayEngine:
    """Makes runs on a cluster.

    Attributes:
        address: "HOST:PORT" of the cluster's head, or "auto" for the cluster that this
            machine is part of; None: what ``RAY_ADDRESS`` says, else this machine
            alone.
    """

    address: str | None = None

    def run(
        self, configs: Sequence[Config], root: Path, told: Callable[[Event], None]
    ) -> dict[str, Outcome]:
        """Make the runs that are missing (see `figures.engines.engine.Engine`).

        Args:
            configs: of the runs.
            root: folder of all runs, seen by all nodes.
            told: is told of starts, rounds, lost workers and ends.

        Returns:
            How every run ended, by the hash of its configuration.
        """
        if not configs:
            return {}
        with connected(self.address) as ray, _marked(root) as mark:
            return _Sweep(ray, distinct(configs), mark, told).outcomes()


@dataclass
class _Run:
    """A run of the sweep.

    Attributes:
        config: its options.
        round: the last one told of.
        secured: rounds made when its worker was last lost.
        losses: workers lost since then without a new round.
    """

    config: Config
    round: int = 0
    secured: int = 0
    losses: int = 0

    @property
    def needs(self) -> tuple[int, int]:
        """Processors and GPUs."""
        return self.config.threads, int(self.config.device.startswith("cuda"))


class _Sweep:
    """Hands out runs and collects how they end."""

    def __init__(
        self,
        ray: Any,
        configs: Sequence[Config],
        mark: Path,
        told: Callable[[Event], None],
    ) -> None:
        self._ray, self._mark, self._told = ray, mark, told
        self._runs = {config.hash: _Run(config) for config in configs}
        lacking = self._lacking(self._runs.values())
        if lacking:
            raise CommandError(lacking)
        near = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=True
        )  # The desk must not go down with a node that only makes runs.
        desk = ray.remote(num_cpus=0, max_restarts=-1, scheduling_strategy=near)
        self._desk = desk(_Desk).remote()
        # Ray's own retries would be silent, and without end when memory runs out.
        self._task = ray.remote(max_retries=0)(_task)
        self._pending = {self._submit(run): run for run in self._runs.values()}

    def outcomes(self) -> dict[str, Outcome]:
        """Return how all runs ended.

        Raises:
            CommandError: if the nodes that runs need went away for good.
        """
        found: dict[str, Outcome] = {}
        looked = sound = time.monotonic()
        while self._pending:
            ready, _ = self._ray.wait(
                list(self._pending), num_returns=len(self._pending), timeout=TELL
            )
            self._pass_on(found)
            for task in ready:
                run = self._pending.pop(task)
                outcome = self._outcome(task, run)
                if outcome is None:
                    self._tell(run, "again")
                    self._pending[self._submit(run)] = run
                else:
                    found[run.config.hash] = outcome
                    self._tell(run, outcome.state)
            now = time.monotonic()
            if now - looked > CONNECT:
                looked, lacking = now, self._lacking(self._pending.values())
                sound = sound if lacking else now
                if now - sound > RELEASE:
                    raise CommandError(f"{lacking}; the runs made so far are kept")
        return {key: found[key] for key in self._runs}

    def _submit(self, run: _Run) -> Any:
        processors, gpus = run.needs
        config = run.config
        return self._task.options(
            num_cpus=processors, num_gpus=gpus, name=config.hash
        ).remote(config, config.hash, str(self._mark), os.getcwd(), self._desk)

    def _outcome(self, task: Any, run: _Run) -> Outcome | None:
        """Return how a task ended, or None if its run is to be handed out again."""
        errors = self._ray.exceptions
        try:
            outcome: Outcome = self._ray.get(task)
        except errors.RayTaskError as error:
            cause = " ".join(str(error.cause or error).split()) or "unknown error"
            return Outcome("failed", f"a worker could not begin: {cause}")
        except errors.RayError as error:
            run.losses = 1 if run.round > run.secured else run.losses + 1
            run.secured = max(run.secured, run.round)
            if run.losses < LOSSES:
                return None
            why = str(error).strip().split("\n")[0]
            return Outcome("failed", f"lost its worker {LOSSES} times in a row: {why}")
        if outcome.state == "finished":
            run.round = run.config.rounds
        return outcome

    def _pass_on(self, found: dict[str, Outcome]) -> None:
        """Tell what the workers reported."""
        try:
            reports = self._ray.get(self._desk.take.remote(), timeout=CONNECT)
        except (self._ray.exceptions.RayError, TimeoutError):
            return  # The runs are made all the same.
        for event in reports:
            if event.hash not in found:
                self._runs[event.hash].round = event.round
                self._told(event)

    def _tell(self, run: _Run, state: Any) -> None:
        self._told(Event(run.config.hash, run.round, run.config.rounds, state))

    def _lacking(self, runs: Iterable[_Run]) -> str:
        """Return which kind of node these runs miss, or nothing."""
        needs = Counter(run.needs for run in runs)
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        for (processors, gpus), count in needs.items():
            if not any(
                node.get("CPU", 0) >= processors and node.get("GPU", 0) >= gpus
                for node in nodes
            ):
                what = f"{processors} CPU" + (f" and {gpus} GPU" if gpus else "")
                return (
                    f"--engine ray: {count} of the runs need {what} each, and no node "
                    f"of the cluster ({len(nodes)} alive) has that"
                )
        return ""


class _Desk:
    """An actor that keeps the workers' reports until they are fetched."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def tell(self, event: Event) -> None:
        """Keep a report."""
        self._events.append(event)

    def take(self) -> list[Event]:
        """Return the reports since the last call."""
        taken, self._events = self._events, []
        return taken


def _task(config: Config, name: str, mark: str, home: str, desk: Any) -> Outcome:
    """Make one run in a worker.

    Args:
        config: of the run.
        name: its hash where the command runs.
        mark: a file in the folder of the runs that is there for this sweep only.
        home: where relative paths begin.
        desk: is told of the rounds.

    Returns:
        How the run ended.
    """
    node = platform.node()
    if config.hash != name:
        words = f"{node} has another version of the toolkit; install one on all nodes"
        return Outcome("failed", words)
    if not Path(mark).exists():
        words = f"{node} does not see {Path(mark).parent}; --runs must be a folder that"
        return Outcome("failed", f"{words} all nodes share")
    try:
        os.chdir(home)
    except OSError as error:
        return Outcome("failed", f"{node}: {home}: {error.strerror}; start the command"
                       " in a folder that all nodes share")  # fmt: skip
    if config.device.startswith("cuda"):
        config = replace(config, device="cuda")  # Ray shows a worker its own GPU only.
    last = 0.0

    def told(event: Event) -> None:
        nonlocal last
        if time.monotonic() - last >= TELL or event.round in {0, event.rounds}:
            desk.tell.remote(event)
            last = time.monotonic()

    root = Path(mark).parent
    _await_release(folder(config, root))
    return make_one(config, root, told)


def _await_release(run: Path) -> None:
    """Wait a while for a worker that was given up to let go of a run folder.

    Args:
        run: the folder; whoever holds it after that while is left alone, and named in
            the run's failure.
    """
    until = time.monotonic() + RELEASE
    while time.monotonic() < until:
        try:
            lock = os.open(run / "lock", os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(TELL)
        else:
            return
        finally:
            os.close(lock)


@contextmanager
def _marked(root: Path) -> Iterator[Path]:
    """Put a file into the folder of the runs by which workers know it.

    Args:
        root: the folder; made if missing.

    Yields:
        The file's absolute path.

    Raises:
        CommandError: if it cannot be written.
    """
    mark = root.resolve() / f".sweep-{uuid.uuid4().hex}"
    try:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    except OSError as error:
        raise CommandError(f"--runs: {root}: {error.strerror}") from error
    try:
        yield mark
    finally:
        mark.unlink(missing_ok=True)
