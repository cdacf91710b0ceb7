"""Protects memory from what an ``.npz`` file claims to hold."""

from __future__ import annotations

import io
import resource
import zipfile

import numpy as np
import pytest
from numpy.lib import format as npy

from sfl_train.arrays import read_arrays


def archive(path, *members: tuple[str, bytes]):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members:
            opened.writestr(name, content)
    return path


def member(shape: tuple[int, ...], kind: str = "<f8", held: int = 16) -> bytes:
    """Return an array whose header claims a shape, and that holds so many bytes."""
    stream = io.BytesIO()
    header = {"descr": kind, "fortran_order": False, "shape": shape}
    npy.write_array_header_1_0(stream, header)
    return stream.getvalue() + b"\0" * held


def test_arrays_are_read_as_written(tmp_path) -> None:
    path = tmp_path / "a.npz"
    given = {"H": np.arange(6.0).reshape(2, 3), "n": np.array(3), "e": np.zeros((0, 2))}
    for save in (np.savez, np.savez_compressed):
        save(path, **given)
        found = read_arrays(path)
        assert found.keys() == given.keys()
        for name, array in given.items():
            np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ((10**12,), "<f8"), ((2**62, 2**62), "<f8"), ((3,), "<f8"), ((1,), "<f8"),
        ((-2,), "<f8"), ((10**6,), "<U1000000"), ((2,), "|O"),
    ],
)  # fmt: skip
def test_a_header_is_compared_before_the_memory_is_taken(shape, kind, tmp_path) -> None:
    path = archive(tmp_path / "a.npz", ("H.npy", member(shape, kind)))
    with pytest.raises(ValueError, match=r"not an \.npz|cannot be read") as error:
        read_arrays(path)
    assert "\n" not in str(error.value)


def test_a_small_archive_may_not_unpack_to_a_large_one(tmp_path) -> None:
    large = 1 << 24
    path = archive(tmp_path / "a.npz", ("H.npy", member((large // 8,), held=large)))
    assert path.stat().st_size < large // 100
    with pytest.raises(ValueError, match="larger than the 8 MiB"):
        read_arrays(path, 1 << 23)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match="larger than"):
        read_arrays(path, 1 << 23)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2 * 1024


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([("H.npy", member((2,))), ("H", member((2,)))], "more than once"),
        ([("H.npy", b"no array")], "plain numbers"),
        ([("H.npy", b"")], "plain numbers"),
        ([("H.npy", member((2,), held=0))], "its header says 2 numbers"),
    ],
)
def test_what_is_no_archive_of_arrays_is_refused(members, words, tmp_path) -> None:
    with pytest.raises(ValueError, match=words):
        read_arrays(archive(tmp_path / "a.npz", *members))
