"""What is shown while runs are made: bars over runs and rounds, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from figures.engines.engine import ENDS, Event
from sfl_train.deep.config import Config

NAME = 38
"""Characters of a run's name beside its bar, so that a line fits a terminal."""


class Display:
    """Bars over runs and rounds, and the runs that are being made.

    Attributes:
        ended: number of runs that have ended.
    """

    def __init__(
        self, configs: Sequence[Config], names: Mapping[str, str], quiet: bool
    ) -> None:
        """Prepare.

        Args:
            configs: of the runs to be made.
            names: what to call a run, by hash.
            quiet: show nothing.
        """
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self.ended = 0
        self._rounds = dict.fromkeys((config.hash for config in configs), 0)
        self._names, self._lines = names, dict[str, Any]()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(12),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=quiet or not sys.stderr.isatty(),
            transient=True,
        )
        self._runs = self._bar.add_task("runs", total=len(configs))
        total = sum(config.rounds for config in configs)
        self._all = self._bar.add_task("rounds", total=total)

    def __enter__(self) -> Display:
        """Begin to show.

        Returns:
            The display.
        """
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Take the bars away."""
        self._bar.stop()

    def told(self, event: Event) -> None:
        """Take note of an event.

        Args:
            event: of an engine.
        """
        over = event.state in ENDS
        made = event.rounds if over else event.round
        # A run that is taken up again may have lost rounds: the bar never goes back.
        self._rounds[event.hash] = max(self._rounds[event.hash], made)
        self._bar.update(self._all, completed=sum(self._rounds.values()))
        line = self._lines.get(event.hash)
        if over:
            self.ended += 1
            self._bar.update(self._runs, completed=self.ended)
            if line is not None:
                self._bar.remove_task(self._lines.pop(event.hash))
            return
        if line is None:
            words = f"  {self._names[event.hash]}"
            if len(words) > NAME:
                words = f"{words[: NAME // 2]}…{words[-NAME // 2 + 1 :]}"
            line = self._bar.add_task(words, total=event.rounds)
            self._lines[event.hash] = line
        self._bar.update(line, completed=event.round)
