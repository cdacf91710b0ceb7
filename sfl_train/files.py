"""Files that users keep: written as wholes or not at all, refused before the work."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def check_writable(option: str, path: Path, folder: bool) -> None:
    """Refuse a target that cannot be written, before any work is done.

    Args:
        option: name of the option, for the message.
        path: the folder or file to come.
        folder: whether it is to be a folder.

    Raises:
        ValueError: if it cannot be written; the message names the option.
    """
    try:
        _check_place(option, path, folder)
    except OSError as error:
        raise ValueError(f"{option}: {path}: {error.strerror}") from error


def check_files(
    written: Mapping[str, Path | None], read: Mapping[str, str | Path | None]
) -> None:
    """Refuse files that cannot be written, or that would take the place of others.

    Args:
        written: option -> the file to come; None where it is not given.
        read: option -> a file that the command reads, or what else was given there.

    Raises:
        ValueError: one cannot be written, or two are the same, or one would be the
            folder of the other; both options are named.
    """
    taken = {
        Path(os.path.realpath(path)): option
        for option, path in read.items()
        if path and "\0" not in str(path)
    }
    for option, path in written.items():
        if path is None:
            continue
        check_writable(option, path, folder=False)
        place = Path(os.path.realpath(path))
        for other, name in taken.items():
            if place == other:
                raise ValueError(f"{option}: {path} is the file of {name}, too")
            if place in other.parents or other in place.parents:
                raise ValueError(
                    f"{option}: {path} and the file of {name} cannot both be: one "
                    "would be the folder of the other"
                )
        taken[place] = option


def _check_place(option: str, path: Path, folder: bool) -> None:
    if "\0" in str(path):
        raise ValueError(f"{option}: {str(path)!a}: not a path")
    for one in (path, *path.parents):
        if one.is_symlink() and not one.exists():
            raise ValueError(f"{option}: {one} is a link that leads nowhere")
    if folder and path.exists() and not path.is_dir():
        raise ValueError(f"{option}: {path} is a file, a folder is needed")
    if not folder and path.is_dir():
        raise ValueError(f"{option}: {path} is a folder, a file is needed")
    if not folder and path.exists() and not path.is_file():
        raise ValueError(f"{option}: {path} is not a regular file")
    place = path if folder else path.parent
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise ValueError(f"{option}: {place} is not a folder")
    with tempfile.TemporaryFile(dir=place):
        pass


def replace_file(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there.

    Args:
        path: the file; its folder must exist.
        content: all of it.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(name).chmod(0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """Return the process's mask; a temporary file would stay closed to others."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
