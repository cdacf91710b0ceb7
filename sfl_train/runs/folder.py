r"""The folder of one run, held by one process at a time.

- ``config.json``: all options and the run's hash, written as soon as the options
  turn out to fit each other and the data;
- ``environment.json``: versions and machine of the last start;
- ``partition.json``: the clients' samples and label histograms;
- ``metrics.jsonl``: one object per evaluated round, only ever appended to; bytes and
  operations are those since the object before;
- ``speed.jsonl``: wall-clock, apart from the metrics because no two runs agree on it;
- ``checkpoint/``: the last two states;
- ``bytes.json``: rounds, samples and bytes up and down by client, of the whole run;
- ``constants.json``: the theory's constants as measured;
- ``model.safetensors`` and ``done``: the result.

Every file but the two logs is written beside its place, flushed to the disk and moved
there. Two processes cannot hold one folder, on one machine or over a file system that
passes locks on.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from sfl_train.deep.config import Config, flag

UNFINISHED = ".unfinished-"
"""Beginning of the name of a file that is being written."""

SCORED = ["rounds", "diverged", "test_accuracy", "test_loss"]


class RunError(ValueError):
    """A run folder that cannot be used; the message says why and what to do."""


class RunFolder:
    """A run folder, locked from ``with`` to the end of its block.

    Attributes:
        path: the folder.
        config: of the run.
    """

    def __init__(self, path: Path, config: Config) -> None:
        """Name the folder; nothing is touched yet.

        Args:
            path: the folder; made when entered.
            config: of the run.
        """
        self.path = path
        self.config = config
        self._lock: int | None = None
        self._made = self._found = False

    def __enter__(self) -> RunFolder:
        """Lock the folder and see that it is this run's.

        Returns:
            The folder.

        Raises:
            RunError: if another process holds it or it holds another run.
        """
        lock = self.path / "lock"
        try:
            self._made = not self.path.is_dir()
            self.path.mkdir(parents=True, exist_ok=True)
            self._found = lock.exists()
            self._lock = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise RunError(f"--out: {self.path}: {error.strerror}") from error
        if not _locked(self._lock, lock):
            holder = os.read(self._lock, 32).decode(errors="replace").strip()
            os.close(self._lock)
            self._lock = None
            raise RunError(
                f"--out: {self.path} is in use by process {holder or 'unknown'}; wait "
                "for it or choose another folder"
            )
        try:
            self._check_identity()
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
            for left in self.path.rglob(f"{UNFINISHED}*"):
                left.unlink()  # of a process that was killed: the lock is ours
        except OSError as error:
            self._release()
            raise RunError(f"--out: {self.path}: {error.strerror}") from error
        except BaseException:
            self._release()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the folder back."""
        self._release()

    @property
    def done(self) -> dict[str, Any] | None:
        """The summary of a finished run, or None.

        Raises:
            RunError: if the file is not one of this run.
        """
        path = self.path / "done"
        if not path.exists():
            return None
        found = read_json(path)
        summary = found if isinstance(found, dict) else {}
        # A run that diverged has no scores.
        needed = ["rounds"] if summary.get("diverged") else SCORED
        if summary.get("hash") != self.config.hash or not {*needed} <= summary.keys():
            raise RunError(
                f"{path}: damaged: it is no summary of this run; remove it, and the "
                "same command writes it again"
            )
        return found

    def claim(self) -> None:
        """Write the configuration; from now on the folder is this run's."""
        if not (self.path / "config.json").exists():
            mine = {"hash": self.config.hash, **self.config.as_dict()}
            self.write_json("config.json", mine)

    def write_json(self, name: str, content: Any) -> None:
        """Write a file of the folder as a whole."""
        text = json.dumps(content, indent=1) + "\n"
        write_whole(self.path / name, text.encode())

    def _check_identity(self) -> None:
        path = self.path / "config.json"
        if not path.exists():
            others = [
                p
                for p in self.path.iterdir()
                if p.name != "lock" and not p.name.startswith(UNFINISHED)
            ]
            if others:
                raise RunError(
                    f"--out: {self.path} holds other files ({others[0].name}) and no "
                    "run; choose an empty folder"
                )
            return
        found = read_json(path)
        if not isinstance(found, dict):
            raise RunError(f"{path}: damaged: it holds no configuration")
        if found.get("hash") != self.config.hash:
            differing = [
                f"--{flag(name)} {found.get(name)!r} there, {value!r} here"
                for name, value in self.config.identity().items()
                if name != "format" and found.get(name) != value
            ]
            why = "; ".join(differing[:4]) or "another version of the format"
            raise RunError(
                f"--out: {self.path} holds another run: {why}; choose another folder"
            )

    def _release(self) -> None:
        if self._lock is not None:
            if not self._found and not (self.path / "config.json").exists():
                # Nothing came of it: the folder is left as it was found.
                with suppress(OSError):
                    (self.path / "lock").unlink()
                    if self._made:
                        self.path.rmdir()
            os.close(self._lock)
            self._lock = None


def _locked(handle: int, path: Path) -> bool:
    """Return whether a file could be locked and is still the one at its path.

    A process that gives up takes its file away.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False


def read_json(path: Path) -> Any:
    """Return the content of a JSON file.

    Args:
        path: the file.

    Returns:
        What it holds.

    Raises:
        RunError: if it cannot be read.
    """
    try:
        return json.loads(path.read_text())
    except RecursionError as error:
        raise RunError(f"{path}: cannot be read (JSON nested too deeply)") from error
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: cannot be read ({error})") from error


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place, flush it to the disk, and move it there.

    Args:
        path: the file; its folder must exist.
        content: all of it.

    Raises:
        RunError: if the disk refuses; what was there before stays.
    """
    beside = path.with_name(f"{UNFINISHED}{path.name}")
    try:
        with beside.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
        flush_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise RunError(f"{path}: cannot be written ({error.strerror})") from error


def flush_folder(path: Path) -> None:
    """Make renames in a folder last."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
