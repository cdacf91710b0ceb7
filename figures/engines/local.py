r"""Processes of this machine, one run at a time each.

They are spawned, so nothing is shared but run folders. A process that dies takes down
its run alone: it is reported, and another process goes on with the rest. They leave
Ctrl-C to the calling process, which ends them; a run folder survives that.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from figures.engines.engine import Event, Outcome, make_one
from sfl_train.deep.config import Config

PATIENCE = 5.0
"""Seconds in which an ended process has to be gone."""


class LocalEngine:
    """Makes runs in processes of this machine."""

    def __init__(self, jobs: int | None = None) -> None:
        """Choose how many.

        Args:
            jobs: number of processes; None: the cores this process may use.
        """
        self.jobs = jobs or len(os.sched_getaffinity(0))

    def run(
        self, configs: Sequence[Config], root: Path, told: Callable[[Event], None]
    ) -> dict[str, Outcome]:
        """Make the runs; see `figures.engines.engine.Engine`.

        Args:
            configs: of the runs, each once.
            root: folder of all runs.
            told: is told of every run's start, rounds and end.

        Returns:
            How every run ended, by hash.
        """
        rest, ends = deque(configs), dict[str, Outcome]()
        workers: list[_Worker] = []
        try:
            while rest or workers:
                while rest and len(workers) < self.jobs:
                    workers.append(_Worker.start(root, rest.popleft()))
                for ready in wait([one.connection for one in workers]):
                    worker = next(one for one in workers if one.connection is ready)
                    outcome = worker.hear(told)
                    if outcome is None:
                        continue
                    config = worker.config
                    ends[config.hash] = outcome
                    told(Event(
                        config.hash, config.rounds, config.rounds, outcome.state
                    ))  # fmt: skip
                    if worker.process.is_alive() and rest:
                        worker.give(rest.popleft())
                    else:
                        workers.remove(worker)
                        worker.end()
        finally:
            for worker in workers:
                worker.end()
        return ends


@dataclass
class _Worker:
    """A process and the run it makes."""

    process: BaseProcess
    connection: Connection
    config: Config

    @classmethod
    def start(cls, root: Path, config: Config) -> _Worker:
        context = get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=_serve, args=(there, root), daemon=True)
        # Inherited by the process, which so leaves Ctrl-C to this one from its birth.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        there.close()
        worker = cls(process, here, config)
        worker.give(config)
        return worker

    def give(self, config: Config) -> None:
        """Send a run; a process that is gone is noticed when it is heard."""
        self.config = config
        with suppress(OSError):
            self.connection.send(config)

    def hear(self, told: Callable[[Event], None]) -> Outcome | None:
        """Take a message and pass it on.

        Args:
            told: is told of rounds.

        Returns:
            How the run ended; None if it goes on.
        """
        try:
            message = self.connection.recv()
        except (EOFError, OSError):
            self.process.join(PATIENCE)
            return Outcome("failed", f"its process {_death(self.process.exitcode)}")
        if isinstance(message, Event):
            told(message)
            return None
        ended: Outcome = message
        return ended

    def end(self) -> None:
        """Close the connection, at which an idle process ends, and end a busy one."""
        self.connection.close()
        if self.process.is_alive():
            self.process.terminate()
        self.process.join(PATIENCE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def _death(code: int | None) -> str:
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        hint = "; out of memory? use fewer --jobs" if name == "SIGKILL" else ""
        return f"was ended by {name}{hint}"
    return f"ended with status {code}"


def _serve(connection: Connection, root: Path) -> None:
    """Make runs until nobody asks for more."""
    try:
        while True:
            config = connection.recv()
            connection.send(make_one(config, root, connection.send))
    except (EOFError, OSError):
        return  # whoever asked is gone
