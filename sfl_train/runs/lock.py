"""One process at a time in a run folder, by a lock file that is never a user's own."""

from __future__ import annotations

import fcntl
import os
import re
import stat
from pathlib import Path

from sfl_train.runs.files import RunError

NAME = "lock"
HOLDER = re.compile(rb"\d{0,20}\n?")
"""What a lock file holds: the number of the process that holds it, or nothing."""


class Lock:
    """A file lock; it ends with the process at the latest.

    Attributes:
        found: whether the file was there before.
    """

    def __init__(self, folder: Path) -> None:
        """Take the lock.

        A file that was there before is opened but not written to: it may be a user's.

        Args:
            folder: that is to be held; it exists.

        Raises:
            RunError: if another process holds it, or the file is no lock.
        """
        self._path = folder / NAME
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            self.found = os.path.lexists(self._path)
            self._file = os.open(self._path, flags | os.O_CREAT, 0o666)
        except OSError as error:
            link = self._path.is_symlink()
            reason = "a link, which is not followed" if link else error.strerror
            raise RunError(f"--out: {self._path}: {reason}") from error
        try:
            self._take(folder)
        except BaseException:
            os.close(self._file)
            raise

    def _take(self, folder: Path) -> None:
        ordinary = stat.S_ISREG(os.fstat(self._file).st_mode)
        text = os.pread(self._file, 32, 0) if ordinary else b""
        if not ordinary or not HOLDER.fullmatch(text):
            raise RunError(
                f"--out: {folder} holds a file of yours ({NAME}): choose another folder"
            )
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A process that gives up takes its file away.
            ours = os.path.samestat(os.fstat(self._file), os.lstat(self._path))
        except OSError:
            ours = False
        if not ours:
            holder = text.decode().strip() or "unknown"
            raise RunError(
                f"--out: {folder} is in use by process {holder}; wait for it or choose "
                "another folder"
            )

    def sign(self) -> None:
        """Write this process's number into the file, which is known to be the run's."""
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def remove(self) -> None:
        """Take the file away, if it was not there before."""
        if not self.found:
            self._path.unlink()

    def release(self) -> None:
        """Give the lock back."""
        os.close(self._file)
