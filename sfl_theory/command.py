"""What every command of the toolkit shares: one clear line for a user's error."""

from __future__ import annotations

import argparse
import errno
import io
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

EXTRAS = {
    "torch": "train",
    "sklearn": "train",
    "scipy": "train",
    "matplotlib": "train",
    "safetensors": "train",
    "tensorboard": "log",
    "PIL": "images",
    "ray": "cluster",
    "clarabel": "worst-case",
}
"""Modules that the core does without -> the extra of the package that brings them."""
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
"""What a disk says that takes no more."""


class CommandError(ValueError):
    """A mistake in what the user gave: reported in one line, exit status 2."""


class Parser(argparse.ArgumentParser):
    """An argument parser that reports a mistake in one line, without the usage."""

    def parse_known_args(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        namespace: argparse.Namespace | None = None,
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, after a look for ``--option=--``, on which argparse itself stumbles.

        Args:
            args: the command line; None: the real one.
            namespace: that is filled.

        Returns:
            The options, and what is left over.
        """
        given = sys.argv[1:] if args is None else list(args)
        before = given[: given.index("--")] if "--" in given else given
        for one in before:
            if re.fullmatch(r"-[^=]*=--", one, re.DOTALL):
                self.error(f"argument {one.removesuffix('=--')}: expected a value")
        return super().parse_known_args(given, namespace)

    def error(self, message: str) -> NoReturn:
        """Print one line on standard error and exit with status 2.

        Args:
            message: what is wrong, naming the option.
        """
        line = " ".join(message.split())
        self.exit(2, f"{self.prog}: error: {line}\n")


def run(
    parser: Parser,
    work: Callable[[argparse.Namespace], int],
    arguments: Sequence[str] | None,
) -> int:
    """Parse, work, and turn a user's error into one line and exit status 2.

    A module of an extra that is not installed is such an error, too.

    Args:
        parser: of the command.
        work: does the job and returns the exit status.
        arguments: command line without the program's name; None: the real one.

    Returns:
        The exit status of ``work``; 130 after an interruption.

    Raises:
        ModuleNotFoundError: a module is missing that no extra brings.
        OSError: from the work, unless it says that a disk takes no more.
    """
    try:
        options = parser.parse_args(arguments)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A path need not be text of the terminal's encoding.
            sys.stdout.reconfigure(errors="backslashreplace")
        with _silent(), _interruptible():
            status = work(options)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except CommandError as error:
        parser.error(str(error))
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRAS:
            raise
        parser.error(f'needs {module}: pip install "sfl-verify[{EXTRAS[module]}]"')
    except MemoryError:
        parser.error("not enough memory for this")
    except BrokenPipeError:
        _drop_output()
        return 0
    except OSError as error:
        if error.errno not in FULL:
            raise
        _drop_output()
        where = error.filename or "an output of the command"
        parser.error(f"{where}: {error.strerror}")
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted", file=sys.stderr)
        return 130


def _drop_output() -> None:
    """Drop what standard output did not take: the end of the process tries again."""
    with suppress(AttributeError, OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let nothing that a library makes of Ctrl-C stand for a fault.

    Compiled code that asks Python for a number (matplotlib's transforms, for one) may
    meet the interruption there and report it as an argument of a wrong type.

    Raises:
        KeyboardInterrupt: the command was interrupted, whatever it ended in.
    """
    before, heard = signal.getsignal(signal.SIGINT), False

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        heard = True
        assert callable(before)
        before(number, frame)

    try:
        if callable(before):
            signal.signal(signal.SIGINT, hear)
    except ValueError:  # only the main thread is told of signals
        pass
    try:
        yield
    except Exception as error:
        if heard:
            raise KeyboardInterrupt from error
        raise
    finally:
        if signal.getsignal(signal.SIGINT) is hear:
            signal.signal(signal.SIGINT, before)


@contextmanager
def _silent() -> Iterator[None]:
    """Keep warnings of libraries from the user, who is told in the command's own words.

    Who asks Python for warnings, by ``-W`` or PYTHONWARNINGS, gets them, and one that
    is made an error stays one.
    """
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.showwarning = lambda *_, **__: None
        yield
