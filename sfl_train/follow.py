r"""``--log``: a run's metrics in the format of another program, from outside.

Whoever follows reads ``metrics.jsonl`` and nothing else, so the run is the same bits
with and without it, and a finished run can still be followed. Numbers are taken by the
path of their names, as in ``measured/cut2/client/epsilon2``; lists by client and by
block stay in the run's own file.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from sfl_train.runs.done import LOG
from sfl_train.runs.files import write_whole

CSV, EVENTS = "metrics.csv", "tensorboard"
"""File and folder in the run's folder."""


class Writer(Protocol):
    """Takes records one by one."""

    def add(self, record: Mapping[str, float]) -> None:
        """Write a record; ``round`` is among its names."""

    def flush(self) -> None:
        """Let others see what was written."""


class Follower:
    """Reads the lines that a run has added and hands them on."""

    def __init__(self, kind: str, folder: Path) -> None:
        """Name the run; nothing is touched yet.

        Args:
            kind: one of `KINDS`.
            folder: of the run; it need not exist yet.

        Raises:
            ModuleNotFoundError: if the other program's package is not installed.
        """
        if kind == "tensorboard":
            import_module("torch.utils.tensorboard")
        self._kind, self._folder = kind, folder
        self._writer: Writer | None = None
        self._at = 0

    def step(self) -> None:
        """Hand on the whole lines that are new."""
        path = self._folder / LOG
        if not path.exists():
            return
        with path.open("rb") as stream:
            stream.seek(self._at)
            lines = stream.read().split(b"\n")[:-1]
        if not lines:
            return
        self._writer = self._writer or KINDS[self._kind](self._folder)
        for line in lines:
            self._writer.add(dict(numbers(json.loads(line))))
            self._at += len(line) + 1
        self._writer.flush()


def numbers(record: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers of a record under the path of their names.

    Args:
        record: a line of the metrics.
        before: what the names begin with.
    """
    for name, value in record.items():
        path = f"{before}{name}"
        if isinstance(value, int | float):
            yield path, value
        elif isinstance(value, dict) and not any(key.isdecimal() for key in value):
            yield from numbers(value, f"{path}/")
        elif isinstance(value, list) and name == "cuts":
            for one in value:
                yield from numbers(one, f"{before}cut{one['cut']}/")


class _Csv:
    """One row per line; a file begins anew where a record has a new name."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / CSV
        self._names: list[str] = []
        self._rows: list[Mapping[str, float]] = []
        self._kept = 0

    def add(self, record: Mapping[str, float]) -> None:
        new = [name for name in record if name not in self._names]
        if new:
            self._names += new
            self._kept = 0
        self._rows.append(record)

    def flush(self) -> None:
        text = io.StringIO(newline="")
        table = csv.DictWriter(text, self._names)
        if not self._kept:
            table.writeheader()
        table.writerows(self._rows[self._kept :])
        content = text.getvalue().encode()
        if not self._kept:
            write_whole(self._path, content)
        else:
            with self._path.open("ab") as stream:
                stream.write(content)
        self._kept = len(self._rows)


class _Events:
    """TensorBoard's event files; what an earlier start left is written again."""

    def __init__(self, folder: Path) -> None:
        place = folder / EVENTS
        for left in place.glob("events.out.tfevents.*"):
            left.unlink()
        module = import_module("torch.utils.tensorboard")
        self._writer = module.SummaryWriter(str(place))

    def add(self, record: Mapping[str, float]) -> None:
        for name, value in record.items():
            if name != "round":
                self._writer.add_scalar(name, value, int(record["round"]))

    def flush(self) -> None:
        self._writer.flush()


KINDS = {"csv": _Csv, "tensorboard": _Events}
"""What may follow a run."""
