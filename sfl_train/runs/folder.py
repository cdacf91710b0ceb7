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

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from sfl_theory.user_files import exists
from sfl_train.deep.config import Config, flag
from sfl_train.runs.done import NAME as DONE
from sfl_train.runs.done import Done, digests, read_done
from sfl_train.runs.files import UNFINISHED, RunError, read_json, write_whole
from sfl_train.runs.lock import NAME as LOCK
from sfl_train.runs.lock import Lock

CONFIG = "config.json"


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
        self._lock: Lock | None = None
        self._made = False
        self._shorter: Config | None = None

    def __enter__(self) -> RunFolder:
        """Lock the folder and see that it is this run's.

        Returns:
            The folder.

        Raises:
            RunError: if another process holds it or it holds another run.
        """
        try:
            self._made = not self.path.is_dir()
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = Lock(self.path)
        except OSError as error:
            raise RunError(f"--out: {self.path}: {error.strerror}") from error
        try:
            claimed = self._check_identity()
            if claimed or not self._lock.found:
                self._lock.sign()
            if claimed:
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
    def done(self) -> Done | None:
        """How a finished run ended, or None; the end of a shorter one is no end.

        Raises:
            RunError: if it is not this run's end, or a result was lost or changed.
        """
        if self._shorter is not None:
            read_done(self.path, self._shorter.hash)
            return None
        return read_done(self.path, self.config.hash)

    @property
    def hashes(self) -> tuple[str, ...]:
        """What a checkpoint of this run may bear."""
        begun = () if self._shorter is None else (self._shorter.hash,)
        return self.config.lineage, self.config.hash, *begun

    def finish(self, summary: dict[str, Any]) -> dict[str, Any]:
        """Write the summary, with the digests of all results, which stand already.

        Args:
            summary: of the run.

        Returns:
            The summary with the run's hash.
        """
        summary = {"hash": self.config.hash, **summary}
        self.write_json(DONE, {**summary, "files": digests(self.path)})
        return summary

    def claim(self) -> None:
        """Write the configuration; from now on the folder is this run's.

        Of a shorter run the end is taken away first: whatever happens between the two,
        both commands go on from its last checkpoint.

        Raises:
            RunError: if the disk refuses.
        """
        if self._shorter is not None:
            try:
                (self.path / DONE).unlink(missing_ok=True)
            except OSError as error:
                raise RunError(f"{self.path / DONE}: {error.strerror}") from error
        if self._shorter is not None or not exists(self.path / CONFIG):
            mine = {"hash": self.config.hash, **self.config.as_dict()}
            self.write_json(CONFIG, mine)

    def write_json(self, name: str, content: Any) -> None:
        """Write a file of the folder as a whole."""
        text = json.dumps(content, indent=1) + "\n"
        write_whole(self.path / name, text.encode())

    def _check_identity(self) -> bool:
        """Return whether this run was begun here.

        Raises:
            RunError: if the folder holds something else.
        """
        path = self.path / CONFIG
        if not exists(path):
            others = [
                p.name
                for p in self.path.iterdir()
                if p.name not in {LOCK, f"{UNFINISHED}{CONFIG}"}
            ]
            if others:
                raise RunError(
                    f"--out: {self.path} holds other files ({min(others)}) and no "
                    "run; choose an empty folder"
                )
            return False
        found = read_json(path)
        if not isinstance(found, dict):
            raise RunError(f"{path}: damaged: it holds no configuration")
        self._shorter = self._begun(found)
        if self._shorter is not None:
            return True
        differing = [
            "the files of --model or --dataset have changed"
            if name == "digests"
            else f"--{flag(name)} {found.get(name)!r} there, {value!r} here"
            for name, value in self.config.decisive().items()
            if found.get(name) != value
        ]
        if differing or found.get("hash") != self.config.hash:
            why = "; ".join(differing[:4]) or "another version of the format"
            raise RunError(
                f"--out: {self.path} holds another run: {why}; choose another folder"
            )
        return True

    def _begun(self, found: dict[str, Any]) -> Config | None:
        """Return the run that is there if this one goes on where it ends.

        Args:
            found: its configuration.

        Raises:
            RunError: if it is the same but for its rounds, on which others depend.
        """
        rounds = found.get("rounds")
        if type(rounds) is not int or not 0 < rounds < self.config.rounds:
            return None
        there = replace(self.config, rounds=rounds)
        same = all(found.get(k) == value for k, value in there.decisive().items())
        if not same or found.get("hash") != there.hash:
            return None
        if there.bound_to_rounds is not None:
            raise RunError(
                f"--rounds: {rounds} in {self.path}, {self.config.rounds} here, and "
                f"{there.bound_to_rounds} depends on their number: choose another --out"
            )
        return there

    def _release(self) -> None:
        if self._lock is not None:
            if not exists(self.path / CONFIG):
                # Nothing came of it: the folder is left as it was found.
                with suppress(OSError):
                    self._lock.remove()
                    if self._made:
                        self.path.rmdir()
            self._lock.release()
            self._lock = None
