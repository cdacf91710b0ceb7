"""Arrays in a user's ``.npz`` file, measured before the memory for them is taken.

An array's header may claim any shape, and numpy takes the memory before it reads the
numbers; a small archive may unpack to a large one. So what every header claims is
compared with what the archive holds, and that with a limit, first.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import Any

from numpy.lib import format as npy
from numpy.typing import NDArray

from sfl_theory.user_files import ARRAYS, MEBI, read_bytes

UNREADABLE = (
    OSError,
    EOFError,
    RuntimeError,  # encrypted; an unknown compression is its NotImplementedError
    SyntaxError,  # of an array's header
    TokenError,
    MemoryError,  # of a header's parser
    OverflowError,
    zipfile.BadZipFile,
    zlib.error,
)


def read_arrays(path: Path, most: int = ARRAYS) -> dict[str, NDArray[Any]]:
    """Return the arrays of an ``.npz`` file; nothing in it is ever unpickled.

    Args:
        path: of the file.
        most: bytes that the file may have, and its arrays together.

    Returns:
        The arrays by name.

    Raises:
        ValueError: if the file cannot be read, is no archive of plain numbers, or is
            too large; one line that begins with the path.
    """
    content = read_bytes(path, most)
    if content.startswith(npy.MAGIC_PREFIX):
        raise ValueError(f"{path}: expected an .npz archive, got a single array")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = [info.filename.removesuffix(".npy") for info in archive.infolist()]
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{', '.join(twice)} is there more than once")
            total = sum(_claimed(archive, info) for info in archive.infolist())
            if total > most:
                raise ValueError(
                    f"its arrays are larger than the {most // MEBI} MiB that are read"
                )
            found = {}
            for name, info in zip(names, archive.infolist(), strict=True):
                with archive.open(info) as stream:
                    found[name] = npy.read_array(stream, allow_pickle=False)
            return found
    except UNREADABLE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path}: cannot be read as .npz ({reason})") from None
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path}: not an .npz of plain numbers ({reason})") from None


def _claimed(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> int:
    """Return the bytes of an array as its header claims them.

    Args:
        archive: that holds it.
        info: its entry.

    Returns:
        Their number, which is that of the entry.

    Raises:
        ValueError: if the entry holds something else, or more or less than that.
    """
    with archive.open(info) as stream:
        read = {
            (1, 0): npy.read_array_header_1_0,
            (2, 0): npy.read_array_header_2_0,
        }.get(npy.read_magic(stream))
        if read is None:
            raise ValueError(f"{info.filename}: unknown version of the format")
        shape, _, kind = read(stream)
        held = info.file_size - stream.tell()
    if kind.hasobject:
        raise ValueError(f"{info.filename}: holds Python objects")
    claimed = prod(shape) * kind.itemsize
    if claimed != held or min(shape, default=0) < 0:
        raise ValueError(
            f"{info.filename}: its header says {'x'.join(map(str, shape)) or '1'} "
            f"numbers of {kind.itemsize} bytes, it holds {held} bytes"
        )
    return claimed
