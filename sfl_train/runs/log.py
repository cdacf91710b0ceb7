r"""A log that is only appended to, and that an interrupted run takes up where it was.

A run that starts again from an older checkpoint repeats rounds that the log holds
already. Since every round is determined by the configuration, their lines must come out
as they stand there: they are compared, not written again; a line that was cut off by a
sudden end is completed. So the file of an interrupted run is, byte for byte, that of an
uninterrupted one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sfl_theory.user_files import (
    ARRAYS,
    FileError,
    ordinary_size,
    read_bytes,
    read_text,
)
from sfl_train.runs.files import RunError


class Log:
    """Lines of JSON, in the order of the rounds."""

    def __init__(self, path: Path, position: int = 0) -> None:
        """Open the log.

        Args:
            path: the file; made if missing.
            position: bytes that the checkpoint had seen; what follows is compared.

        Raises:
            RunError: if the file is shorter than the checkpoint says, or unreadable.
        """
        self._path = path
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._file = os.open(path, flags, 0o666)
            size = ordinary_size(path)
        except FileError as error:
            raise RunError(str(error)) from error
        except OSError as error:
            raise RunError(f"{path}: {error.strerror}") from error
        if size < position:
            raise RunError(
                f"{path}: {size} bytes, but the checkpoint was made at {position}; "
                "lines are missing, so the run cannot go on here"
            )
        self.position = position

    def append(self, record: dict[str, Any]) -> None:
        """Add a line, or see that it is the one which is there.

        Args:
            record: what the line says.

        Raises:
            RunError: if another line stands there, or the disk refuses.
        """
        line = (json.dumps(record) + "\n").encode()
        there = os.pread(self._file, len(line), self.position)
        if not line.startswith(there):
            raise RunError(
                f"{self._path}: the line at byte {self.position} differs from what the "
                f"run gives now; another version or machine wrote it"
            )
        missing = line[len(there) :]
        at = self.position + len(there)
        try:
            while missing:
                written = os.pwrite(self._file, missing, at)
                missing, at = missing[written:], at + written
        except OSError as error:
            raise RunError(
                f"{self._path}: cannot be written ({error.strerror}); free some space "
                "and start the same command again"
            ) from error
        self.position += len(line)

    def flush(self) -> None:
        """Make the lines last.

        Raises:
            RunError: if the disk refuses.
        """
        try:
            os.fsync(self._file)
        except OSError as error:
            raise RunError(
                f"{self._path}: cannot be written ({error.strerror})"
            ) from error

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def foreign_line(path: Path, due: Callable[[int], bool]) -> int | None:
    """Return where the first line stands that this run would not write.

    The last round of a run has a line for being the last. A longer run that goes on
    from there may have none for it: what stands there is cut off by `cut`.

    Args:
        path: the file.
        due: whether there is a line after so many rounds.

    Returns:
        Its first byte, or None.

    Raises:
        RunError: if a line cannot be read.
    """
    at = 0
    for line in _lines(path) if path.exists() else ():
        record = _read(path, line)
        rounds = record.get("round") if isinstance(record, dict) else None
        if type(rounds) is int and rounds and not due(rounds):
            return at
        at += len(line.encode()) + 1
    return None


def cut(path: Path, length: int) -> None:
    """Cut a log off.

    Args:
        path: the file.
        length: what is left of it, in bytes.

    Raises:
        RunError: if the disk refuses.
    """
    try:
        os.truncate(path, length)
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from error


def without_torn_line(path: Path) -> int:
    """Cut off the torn last line of a log whose lines are never compared.

    Args:
        path: the file.

    Returns:
        Its length; 0 if there is none.

    Raises:
        RunError: if the disk refuses.
    """
    try:
        if not path.exists():
            return 0
        whole = read_bytes(path, ARRAYS).rpartition(b"\n")
        length = len(whole[0]) + len(whole[1])
        if whole[2]:
            os.truncate(path, length)
        return length
    except FileError as error:
        raise RunError(str(error)) from error
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from error


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return the records of a log; a cut-off last line is left out.

    Args:
        path: the file.

    Returns:
        One record per line.

    Raises:
        RunError: if a line cannot be read.
    """
    return [_read(path, line) for line in _lines(path)]


def _lines(path: Path) -> list[str]:
    try:
        return read_text(path, ARRAYS).split("\n")[:-1]
    except FileError as error:
        raise RunError(str(error)) from error


def _read(path: Path, line: str) -> Any:
    try:
        return json.loads(line)
    except RecursionError as error:
        raise RunError(f"{path}: cannot be read (JSON nested too deeply)") from error
    except ValueError as error:
        raise RunError(f"{path}: cannot be read ({error})") from error
