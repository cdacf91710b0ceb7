"""Protects CIFAR: every published version reads alike, nothing damaged is taken."""

from __future__ import annotations

import os
import pickle
import tarfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standard_files import SmallCifar, md5, python2_pickle, refused, tar

from sfl_train.deep.data.cifar import CIFAR10, CIFAR100, binary
from sfl_train.deep.data.files import DataError
from sfl_train.deep.data.pickled import unpickled


@pytest.mark.parametrize("archived", [False, True])
@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("fine", [False, True])
def test_every_version_gives_the_same_images(fine, version, archived, tmp_path):
    small = SmallCifar(fine)
    images = small.write(tmp_path, version, archived).read(tmp_path)
    *train, (test_x, test_y) = small.parts
    np.testing.assert_array_equal(images.train_x, np.concatenate([x for x, _ in train]))
    np.testing.assert_array_equal(images.train_y, np.concatenate([y for _, y in train]))
    np.testing.assert_array_equal(images.test_x, test_x)
    np.testing.assert_array_equal(images.test_y, test_y)
    assert (images.name, images.classes) == (
        ("cifar100", 100) if fine else ("cifar10", 10)
    )
    assert images.train_x.flags.writeable and images.test_x.flags.writeable


def test_the_pickles_are_those_of_python_2():
    """The unpickler is tested on what the published files consist of."""
    content = SmallCifar(False).pickles()["data_batch_1"]
    assert content.startswith(b"\x80\x02}")
    assert b"cnumpy.core.multiarray\n_reconstruct\n" in content
    assert b"U\x06labels" in content and b"U\x02u1" in content
    assert b"_codecs" not in content
    plain = pickle.loads(content, encoding="bytes")
    assert plain[b"data"].shape == (6, 3072)


def test_published_sizes_and_checksums_stand():
    for data in (CIFAR10, CIFAR100):
        files = len(data.versions[0].train)
        assert (files * data.train_size, data.test_size) == (50000, 10000)
        for version in data.versions:
            assert len(version.layout.md5) == 32
    assert CIFAR10.versions[0].layout.md5 == "c58f30108f718f92721af3b95e74349a"
    digests = CIFAR10.versions[0].layout.digests
    assert digests["test_batch"] == "40351d587109b95175f43aff81a1287e"
    assert len(set(digests.values())) == 6


@pytest.mark.parametrize("cut", [1, 1000])
def test_a_truncated_file_is_refused_by_its_checksum(cut, tmp_path):
    data = SmallCifar(False).write(tmp_path, 0)
    path = tmp_path / "cifar-10-batches-py/data_batch_3"
    path.write_bytes(path.read_bytes()[:-cut])
    refused(data, tmp_path, str(path), "wrong checksum", "cifar-10-python.tar.gz")


def test_any_flipped_bit_is_refused(tmp_path):
    data = SmallCifar(False).write(tmp_path, 0)
    path = tmp_path / "cifar-10-batches-py/test_batch"
    whole = path.read_bytes()

    @given(st.integers(0, 8 * len(whole) - 1))
    @settings(max_examples=20, deadline=None)
    def flipped(bit):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        refused(data, tmp_path, "wrong checksum")

    flipped()


@pytest.mark.parametrize("cut", [1, 4000])
@pytest.mark.parametrize("version", [0, 1])
def test_a_truncated_archive_is_refused(version, cut, tmp_path):
    data = SmallCifar(True).write(tmp_path, version, archived=True)
    path = tmp_path / data.versions[version].layout.archive
    path.write_bytes(path.read_bytes()[:-cut])
    refused(data, tmp_path, str(path), "wrong checksum", "kriz/cifar-100")


def test_an_archive_damaged_before_it_was_summed_is_refused(tmp_path):
    """Even with a matching checksum nothing but a whole archive passes."""
    data = SmallCifar(True).write(tmp_path, 1, archived=True)
    path = tmp_path / "cifar-100-binary.tar.gz"
    path.write_bytes(path.read_bytes()[:-4000])
    version = data.versions[1]
    layout = replace(version.layout, md5=md5(path.read_bytes()))
    data = replace(data, versions=(data.versions[0], replace(version, layout=layout)))
    refused(data, tmp_path, str(path), "cannot be read")


def test_nothing_of_an_archive_is_written_to_the_disk(tmp_path):
    """Paths that climb out of the folder and links in its place do no harm."""
    root = tmp_path / "root"
    root.mkdir()
    small = SmallCifar(True)
    folder = "cifar-100-binary"
    link = tarfile.TarInfo(f"{folder}/test.bin")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    records = small.records()
    members = {f"{folder}/../../evil": b"x", "/evil": b"x", "../evil": b"x"}
    members[f"{folder}/train.bin"] = records["train.bin"]
    path = root / "cifar-100-binary.tar.gz"
    tar(path, members, [link])
    data = small.original
    layout = replace(data.versions[1].layout, md5=md5(path.read_bytes()), digests={})
    version = replace(data.versions[1], layout=layout)
    data = replace(data, versions=(data.versions[0], version))
    refused(data, root, "cifar-100-binary/test.bin: missing")
    assert list(tmp_path.iterdir()) == [root]
    assert list(root.iterdir()) == [path]


def test_missing_data_says_what_where_and_how_to_get_it(tmp_path):
    refused(
        CIFAR10, tmp_path, "cifar-10-batches-py/", "cifar-10-python.tar.gz",
        str(tmp_path), "--data-root", "https://www.cs.toronto.edu/~kriz/",
        "c58f30108f718f92721af3b95e74349a",
    )  # fmt: skip
    data = SmallCifar(False).write(tmp_path, 1)
    path = tmp_path / "cifar-10-batches-bin/data_batch_4.bin"
    path.unlink()
    refused(data, tmp_path, f"{path}: missing", "cifar-10-binary.tar.gz")
    path.mkdir()
    refused(data, tmp_path, f"{path}: is a folder")


def planted(tmp_path, content, name="test_batch"):
    """Write a pickle whose checksum is right, so that only the reader can refuse."""
    small = SmallCifar(False)
    files = small.pickles()
    files[name] = content if isinstance(content, bytes) else python2_pickle(content)
    return small.written(tmp_path, 0, files)


class Runs:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize(
    "function", ["os.system", "eval", "open", "numpy.save", "numpy.fromfile"]
)
def test_a_malicious_pickle_is_refused_before_it_acts(function, protocol, tmp_path):
    target = tmp_path / "made"
    call = {
        "os.system": Runs(os.system, f"touch {target}"),
        "eval": Runs(eval, f"open({str(target)!r}, 'w')"),
        "open": Runs(open, str(target), "w"),
        "numpy.save": Runs(np.save, str(target), 0),
        "numpy.fromfile": Runs(np.fromfile, str(target)),
    }[function]
    content = pickle.dumps({b"data": call, b"labels": [0]}, protocol)
    data = planted(tmp_path, content)
    refused(data, tmp_path, "test_batch: refused", "asks for")
    assert not target.exists()
    if function not in {"numpy.save", "numpy.fromfile"}:
        pickle.loads(content)
        assert function == "eval" or target.exists(), "the pickle does no harm anyway"


@pytest.mark.parametrize("put", [b"r\xff\xff\xff\x7f", b"p2000000000\n"])
def test_a_few_bytes_do_not_take_all_memory(put):
    with pytest.raises(DataError, match=r"place 2\d{9} of its memo"):
        unpickled(b"\x80\x02}" + put + b".", "file")


def test_names_reached_through_admitted_ones_are_refused():
    """A dotted name climbs from an admitted one to its attributes."""
    for line in (b"cnumpy\nndarray.tofile\n", b"cnumpy\ndtype.type\n",
                 b"cnumpy.core.multiarray\nfromfile\n", b"cbuiltins\ngetattr\n",
                 b"ccopyreg\n_reconstructor\n", b"c_codecs\nencode\n"):  # fmt: skip
        with pytest.raises(DataError, match="asks for"):
            unpickled(b"\x80\x04}U\x01a" + line + b"s.", "file")


@pytest.mark.parametrize(
    "kind", ["object", "int64", "structured", "wrong length", "no values", "not raw"]
)
def test_arrays_of_anything_but_bytes_are_refused(kind):
    arrays = {
        "object": np.array([b"a"], object),
        "int64": np.arange(3),
        "structured": np.zeros(2, [("a", "u1")]),
    }
    if kind in arrays:
        with pytest.raises(DataError, match=r"it holds an array of b'(O|i8|V1)'"):
            unpickled(python2_pickle({b"a": arrays[kind]}), "file")
        return
    content = python2_pickle({b"a": np.arange(4, dtype=np.uint8)})
    raw = b"U\x04\x00\x01\x02\x03"
    assert raw in content
    changed = {
        "wrong length": content.replace(raw, b"U\x03\x00\x01\x02"),
        "not raw": content.replace(raw, b"K\x03"),
        "no values": b"\x80\x02}U\x01acnumpy.core.multiarray\n_reconstruct\n)Rs.",
    }[kind]
    with pytest.raises(DataError, match="refused"):
        unpickled(changed, "file")


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_no_bytes_crash_the_unpickler(content):
    try:
        assert isinstance(unpickled(content, "file"), dict)
    except DataError as error:
        assert str(error).startswith("file: refused")


@given(st.integers(0, 10**6), st.integers(0, 255))
@settings(max_examples=200, deadline=None)
def test_no_changed_byte_crashes_the_unpickler(place, value):
    content = bytearray(
        python2_pickle({b"data": np.zeros((2, 3), np.uint8), b"labels": [1, 2]})
    )
    content[place % len(content)] = value
    try:
        found = unpickled(bytes(content), "file")
    except DataError:
        return
    assert all(
        isinstance(entry, np.ndarray | list | tuple | dict | bytes | str | int | float)
        or entry is None
        for entry in found.values()
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({b"labels": [0, 1, 2, 10]}, "labels from 0 to 9, got 0 to 10"),
        ({b"labels": [0, 1, 2, -1]}, "labels from 0 to 9, got -1 to 2"),
        ({b"labels": [0, 1, 2]}, "expected 4 images with labels, got 4 images and 3"),
        ({b"labels": [0, 1, 2, 2**70]}, "64 bits"),
        ({b"labels": [0, 1, 2, 1.5]}, "list of integers as 'labels'"),
        ({b"labels": b"0123"}, "list of integers as 'labels'"),
        ({b"data": np.zeros((4, 3071), np.uint8)}, "(D, 3072)"),
        ({b"data": np.zeros((5, 3072), np.uint8)}, "got 5 images and 4"),
        ({b"data": [0]}, "(D, 3072)"),
        ([1, 2], "holds a list"),
        (b"", "refused"),
        (b"PNG", "refused"),
    ],
)
def test_what_does_not_fit_is_refused(change, words, tmp_path):
    content = change
    if isinstance(change, dict):
        x = np.zeros((4, 3072), np.uint8)
        content = {b"data": x, b"labels": [0, 1, 2, 3], **change}
    refused(planted(tmp_path, content), tmp_path, "test_batch: ", words)


def test_records_that_do_not_fit_are_refused(tmp_path):
    small = SmallCifar(False)
    files = small.records()
    files["data_batch_2.bin"] = files["data_batch_2.bin"][:-3073]
    data = small.written(tmp_path, 1, files)
    refused(data, tmp_path, "data_batch_2.bin", "expected 6 images", "got 5 images")
    for wrong in (b"", bytes(3072), bytes(3074)):
        with pytest.raises(DataError, match="records of 3073 bytes"):
            binary(1)(wrong, "file")


def test_a_column_major_array_keeps_its_pixels():
    x = np.arange(12, dtype=np.uint8).reshape(3, 4)
    for order in (x, np.asfortranarray(x)):
        found = unpickled(python2_pickle({b"data": order}), "file")
        np.testing.assert_array_equal(found[b"data"], x)
