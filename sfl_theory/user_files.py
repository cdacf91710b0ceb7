"""Files that users give: ordinary ones, of a size that was agreed, read as wholes."""

from __future__ import annotations

import os
import stat
import sys
import traceback
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

from sfl_theory.notation.plain import text_of

MEBI = 1 << 20
TEXT = 64 * MEBI
"""Bytes of the largest text that is read: options, constants, programs, lists."""
ARRAYS = 1024 * MEBI
"""Bytes of the largest file of arrays."""

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class FileError(ValueError):
    """A file that cannot be used; the message begins with its path."""


def read_bytes(path: str | os.PathLike[str], most: int = TEXT) -> bytes:
    """Return the content of an ordinary file.

    A device would never end and a pipe might never begin, so neither is read; opening
    one of them waits for nobody. A file that grows while it is read stays bounded.

    Args:
        path: of the file; a link is followed.
        most: bytes that it may have.

    Returns:
        All of it.

    Raises:
        FileError: if it is missing, not ordinary, larger, or cannot be read.
    """
    where = os.fspath(path)
    try:
        handle = os.open(where, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        ordinary_size(where)  # a socket cannot be opened at all
        raise FileError(f"{where}: {_reason(error)}") from error
    except ValueError as error:
        raise FileError(f"{where!a}: not a path ({error})") from error
    try:
        _limit(where, _checked(where, os.fstat(handle)), most)
        parts, left = [], most + 1
        while left and (part := os.read(handle, min(left, 16 * MEBI))):
            parts.append(part)
            left -= len(part)
    except OSError as error:
        raise FileError(f"{where}: {_reason(error)}") from error
    finally:
        os.close(handle)
    content = b"".join(parts)
    _limit(where, len(content), most)
    return content


def read_text(path: str | os.PathLike[str], most: int = TEXT) -> str:
    """Return the content of an ordinary text file; see `read_bytes`.

    Args:
        path: of the file.
        most: bytes that it may have.

    Returns:
        Its text, which must be UTF-8.

    Raises:
        FileError: also if it is no text.
    """
    try:
        return read_bytes(path, most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"{os.fspath(path)}: not a text file ({error})") from error


def ordinary_size(path: str | os.PathLike[str]) -> int:
    """Return the number of bytes of an ordinary file that another library will open.

    Args:
        path: of the file; a link is followed.

    Returns:
        Its size.

    Raises:
        FileError: if it is missing or not ordinary.
    """
    where = os.fspath(path)
    try:
        found = os.stat(where)
    except OSError as error:
        raise FileError(f"{where}: {_reason(error)}") from error
    except ValueError as error:
        raise FileError(f"{where!a}: not a path ({error})") from error
    return _checked(where, found)


def exists(path: Path) -> bool:
    """Return whether something is there; not where the name itself is impossible."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _checked(where: str, found: os.stat_result) -> int:
    if not stat.S_ISREG(found.st_mode):
        kind = next((word for of, word in _KINDS if of(found.st_mode)), "no file")
        raise FileError(f"{where}: is {kind}, an ordinary file is needed")
    return found.st_size


def _limit(where: str, size: int, most: int) -> None:
    if size > most:
        raise FileError(
            f"{where}: is larger than the {most // MEBI} MiB that are read here"
        )


def _reason(error: OSError) -> str:
    return error.strerror or "cannot be read"


# A Python file of the user's own: run, with one line for what it does wrong -----------


def run(path: Path, name: str) -> ModuleType:
    """Run a Python file and return the module that it is.

    The file is the user's own program and may do whatever a program does. It is loaded
    under a private name, leaves no bytecode behind, and may import what lies beside it.

    Args:
        path: of the file.
        name: of the module.

    Returns:
        The module.

    Raises:
        FileError: in one line that begins with the path, if the file cannot be read,
            is no Python, or raises.
    """
    source = read_bytes(path)
    loader = SourceFileLoader(name, str(path))
    spec = spec_from_loader(name, loader)
    if spec is None:
        raise FileError(f"{path}: cannot be loaded")
    module = module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        exec(loader.source_to_code(source, str(path)), vars(module))
    except (Exception, SystemExit) as error:
        raise FileError(f"{path}: running it: {said(error, path)}") from error
    return module


def said(error: BaseException, path: Path | None = None) -> str:
    """Return in one line what a program raised, and in which line of its file.

    Args:
        error: what came out of it.
        path: of the file; None: no line is known.

    Returns:
        Half a sentence.
    """
    words = " ".join(text_of(error).split())[:200]
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ]
    what = "raises"
    if isinstance(error, SyntaxError) and error.filename == str(path):
        what, words, lines = "is no Python, raises", error.msg, [error.lineno]
    where = f" (line {lines[-1]})" if lines else ""
    return f"{what} {type(error).__name__}: {words}".rstrip(": ") + where
