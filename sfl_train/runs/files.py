"""Files of a run folder: read as what they should be, written as wholes."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from sfl_theory.user_files import FileError, read_text

UNFINISHED = ".unfinished-"
"""Beginning of the name of a file that is being written."""


class RunError(ValueError):
    """A run folder that cannot be used; the message says why and what to do."""


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
        return json.loads(read_text(path))
    except RecursionError as error:
        raise RunError(f"{path}: cannot be read (JSON nested too deeply)") from error
    except FileError as error:
        raise RunError(str(error)) from error
    except ValueError as error:
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
        beside.unlink(missing_ok=True)
        with beside.open("xb") as stream:
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
