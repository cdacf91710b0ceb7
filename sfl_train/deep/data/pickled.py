"""Pickles of CIFAR, read by an unpickler that can only build data.

A pickle is a program: it may import any function and call it. Here every import is
refused but the three names that an array of bytes is pickled with, and even these lead
to the stand-ins below, so that no code of numpy runs on what the file says.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from pickle import UnpicklingError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfl_train.deep.data.files import DataError


def unpickled(content: bytes, where: str) -> dict[Any, Any]:
    """Return the dictionary in a pickle; its strings of Python 2 are bytes.

    Args:
        content: the pickle.
        where: its file, for messages.

    Returns:
        Numbers, bytes, strings, lists, tuples, dictionaries and arrays of uint8 by key.

    Raises:
        DataError: if it is no pickle, is truncated, holds no dictionary, or asks for
            anything else.
    """
    try:
        _check_memo(content)
        found = _DataUnpickler(io.BytesIO(content), encoding="bytes").load()
        return {key: _opened(value) for key, value in _dictionary(found).items()}
    except Exception as error:  # a damaged pickle can raise anything
        raise DataError(
            f"{where}: refused: not a pickled dictionary of plain data ({error})"
        ) from error


class _Bytes:
    """Stands in for ``numpy.dtype``; the only one admitted is uint8."""

    __slots__ = ()

    def __init__(self, kind: Any, *rest: Any) -> None:
        if kind not in {b"u1", "u1", b"|u1", "|u1"}:
            raise UnpicklingError(f"it holds an array of {kind!r}")

    def __setstate__(self, state: Any) -> None:
        """Ignore byte order and alignment: a byte has none."""


class _Array:
    """Stands in for an array and for the function that makes an empty one."""

    __slots__ = ("value",)

    def __init__(self, *rest: Any) -> None:
        self.value: NDArray[np.uint8] | None = None

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran, raw = state
        if type(kind) is not _Bytes or type(raw) is not bytes:
            raise UnpicklingError("it holds an array of something else")
        flat = np.frombuffer(raw, np.uint8)
        self.value = flat.reshape(shape, order="F" if fortran else "C")


_ADMITTED = {
    ("numpy", "dtype"): _Bytes,
    ("numpy", "ndarray"): _Array,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
}


class _DataUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type:
        if (module, name) not in _ADMITTED:
            raise UnpicklingError(f"it asks for {module}.{name}")
        return _ADMITTED[module, name]


def _check_memo(content: bytes) -> None:
    """Refuse a place in the memo beyond any that honest content needs.

    The unpickler makes the memo as long as the largest place says: a few bytes would
    take all memory.

    Args:
        content: the pickle.

    Raises:
        UnpicklingError: if there is such a place.
    """
    for code, place, _ in pickletools.genops(content):
        if code.name in {"PUT", "BINPUT", "LONG_BINPUT"} and place > len(content):
            raise UnpicklingError(f"it fills place {place} of its memo")


def _dictionary(found: Any) -> dict[Any, Any]:
    if not isinstance(found, dict):
        raise UnpicklingError(f"it holds a {type(found).__name__}")
    return found


def _opened(value: Any) -> Any:
    if not isinstance(value, _Array):
        return value
    if value.value is None:
        raise UnpicklingError("it holds an array without values")
    return value.value
