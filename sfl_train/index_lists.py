"""A partition in a file: for every client the list of its samples.

The format is that of the released code of han2024: one list of lists of integers,
written as a Python literal or as JSON. It is parsed, never evaluated.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfl_theory.user_files import FileError, read_text

Indices = NDArray[np.int64]

LARGEST = 16 << 20
"""Bytes of the largest file that is read: about two million samples."""


def read_index_lists(path: str | Path, samples: int) -> tuple[Indices, ...]:
    """Return the clients' samples as a file lists them.

    Samples that no client lists are not used; that is no error.

    Args:
        path: the file.
        samples: number of samples of the data set.

    Returns:
        One sorted index array per client.

    Raises:
        ValueError: if the file cannot be read or is something else, a client has no
            samples, or an index is out of range or listed twice.
    """
    where = f"partition 'file:{path}'"
    lists = _literal(Path(path), where)
    if not isinstance(lists, list | tuple) or not lists:
        raise ValueError(f"{where}: expected a list of lists of integers")
    parts, owner = [], np.full(samples, -1, np.int64)
    for n, given in enumerate(lists):
        if not isinstance(given, list | tuple):
            raise ValueError(
                f"{where}: client {n}: expected a list of integers, got {given!r:.40}"
            )
        if not given:
            raise ValueError(f"{where}: client {n} has no samples")
        for index in given:
            if type(index) is not int:
                raise ValueError(
                    f"{where}: client {n}: expected integers, got {index!r:.40}"
                )
            if not 0 <= index < samples:
                raise ValueError(
                    f"{where}: client {n}: index {index!s:.40} is out of range for "
                    f"{samples} samples"
                )
            if owner[index] >= 0:
                raise ValueError(
                    f"{where}: sample {index} is listed twice, for client "
                    f"{owner[index]} and for client {n}"
                )
            owner[index] = n
        parts.append(np.sort(np.array(given, dtype=np.int64)))
    return tuple(parts)


def digest(parts: Sequence[Indices]) -> str:
    """Return the SHA-256 of a partition: of its lists as JSON without spaces."""
    lists = [[int(index) for index in part] for part in parts]
    text = json.dumps(lists, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _literal(path: Path, where: str) -> Any:
    try:
        text = read_text(path, LARGEST)
    except FileError as error:
        reason = str(error).removeprefix(f"{path}: ")
        raise ValueError(f"{where}: {reason}") from error
    try:
        return json.loads(text)  # ten times faster, and usually enough
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(
            f"{where}: neither a Python literal nor JSON; it may be truncated"
        ) from error
