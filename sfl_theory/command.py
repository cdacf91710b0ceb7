"""What every command of the toolkit shares: one clear line for a user's error."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

EXTRAS = {
    "torch": "train",
    "sklearn": "train",
    "scipy": "train",
    "matplotlib": "train",
    "safetensors": "train",
    "PIL": "images",
    "ray": "cluster",
    "clarabel": "worst-case",
}
"""Modules that the core does without -> the extra of the package that brings them."""


class CommandError(ValueError):
    """A mistake in what the user gave: reported in one line, exit status 2."""


class Parser(argparse.ArgumentParser):
    """An argument parser that reports a mistake in one line, without the usage."""

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
    """
    try:
        return work(parser.parse_args(arguments))
    except CommandError as error:
        parser.error(str(error))
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRAS:
            raise
        parser.error(f'needs {module}: pip install "sfl-verify[{EXTRAS[module]}]"')
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted", file=sys.stderr)
        return 130
