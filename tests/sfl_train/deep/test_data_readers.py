"""Protects the other readers: what was written is read, what is damaged is refused."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standard_files import (
    fashion_files,
    idx,
    leaf,
    random_images,
    refused,
    write_fashion,
    writers,
)

from sfl_train.deep.data.fashion_mnist import FASHION_MNIST
from sfl_train.deep.data.fashion_mnist import idx as read_idx
from sfl_train.deep.data.femnist import DIGITS, FEMNIST
from sfl_train.deep.data.files import DataError
from sfl_train.deep.data.ham10000 import HAM10000
from sfl_train.deep.data.moments import moments
from sfl_train.deep.data.tiny_imagenet import TINY_IMAGENET


@pytest.mark.parametrize(
    "data", [FASHION_MNIST, FEMNIST, DIGITS, HAM10000, TINY_IMAGENET]
)
def test_missing_data_say_where_they_were_looked_for(data, tmp_path):
    refused(data, tmp_path, "found no", f"in {tmp_path} (--data-root)", "; get ")


# Fashion-MNIST


@pytest.mark.parametrize("folder", ["fashion-mnist", "FashionMNIST/raw"])
@pytest.mark.parametrize("packed", [False, True])
def test_fashion_mnist_reads_back(packed, folder, tmp_path):
    data = write_fashion(tmp_path, folder, fashion_files(), packed)
    images = data.read(tmp_path)
    for (x, y), found_x, found_y in (
        (random_images(12, 10, 0, (28, 28)), images.train_x, images.train_y),
        (random_images(5, 10, 1, (28, 28)), images.test_x, images.test_y),
    ):
        np.testing.assert_array_equal(found_x, x[:, None])
        np.testing.assert_array_equal(found_y, y)
        assert found_x.flags.writeable


def test_fashion_mnist_damaged(tmp_path):
    data = write_fashion(tmp_path, "fashion-mnist", fashion_files(), packed=True)
    path = tmp_path / "fashion-mnist/train-images-idx3-ubyte.gz"
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    refused(data, tmp_path, str(path), "wrong checksum", "https://")
    layouts = tuple(replace(layout, digests={}) for layout in data.layouts)
    refused(replace(data, layouts=layouts), tmp_path, str(path), "cannot be unpacked")
    path.write_bytes(whole)
    data.read(tmp_path)
    path.unlink()
    refused(data, tmp_path, f"{path}: missing")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("train-images-idx3-ubyte", lambda c: c[:-1], "truncated or has a tail"),
        ("train-images-idx3-ubyte", lambda c: c + b"x", "truncated or has a tail"),
        ("train-images-idx3-ubyte", lambda c: c[:9], "truncated"),
        ("train-images-idx3-ubyte", lambda c: b"", "wrong magic number"),
        (
            "train-images-idx3-ubyte",
            lambda c: b"\0\0\x0d" + c[3:],
            "wrong magic number",
        ),
        (
            "train-labels-idx1-ubyte",
            lambda c: fashion_files()["train-images-idx3-ubyte"],
            "expected 0x0801, got 0x0803",
        ),
        ("train-labels-idx1-ubyte", lambda c: idx(np.arange(11) % 10), "12 labels"),
        (
            "train-labels-idx1-ubyte",
            lambda c: idx(np.arange(12)),
            "from 0 to 9, got 11",
        ),
        (
            "t10k-images-idx3-ubyte",
            lambda c: idx(np.zeros((4, 28, 28))),
            "(5, 28, 28), got (4, 28, 28)",
        ),
    ],
)
def test_idx_files_that_do_not_fit_are_refused(name, content, words, tmp_path):
    files = fashion_files()
    files[name] = content(files[name])
    data = write_fashion(tmp_path, "fashion-mnist", files, packed=False)
    refused(data, tmp_path, name, words)


@given(st.binary(max_size=40), st.integers(1, 3))
@settings(max_examples=200, deadline=None)
def test_no_bytes_crash_the_idx_reader(content, dimensions):
    try:
        found = read_idx(content, dimensions, "file")
    except DataError:
        return
    assert idx(found) == content


def test_a_packed_file_of_another_kind_is_refused(tmp_path):
    files = fashion_files()
    data = write_fashion(tmp_path, "fashion-mnist", files, packed=False)
    path = tmp_path / "fashion-mnist/t10k-labels-idx1-ubyte"
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(b"other"))
    data.read(tmp_path)  # the unpacked file is there and is taken
    path.unlink()
    refused(data, tmp_path, "t10k-labels-idx1-ubyte.gz: wrong magic")


@given(st.integers(1, 5), st.integers(1, 3), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_moments_are_those_of_numpy(count, channels, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 256, (count, channels, 4, 4), dtype=np.uint8)
    mean, std = moments(x)
    np.testing.assert_allclose(mean, (x / 255).mean((0, 2, 3)), atol=1e-12)
    np.testing.assert_allclose(std, (x / 255).std((0, 2, 3)), atol=1e-12)
    assert moments(np.full((2, 1, 4, 4), 7, np.uint8))[1] == (1.0,)


# FEMNIST


def write_femnist(root, folder="femnist"):
    train, test = writers("cab", 1), writers("abd", 2)
    for split, found in (("train", train), ("test", test)):
        (root / folder / split).mkdir(parents=True)
        names = list(found)
        for n, mine in enumerate((names[:2], names[2:])):
            path = root / folder / split / f"all_data_{n}_niid_0_keep_0_{split}_9.json"
            path.write_text(leaf({name: found[name] for name in mine}))
    return train, test


@pytest.mark.parametrize("folder", ["femnist", "femnist/data"])
@pytest.mark.parametrize("data", [FEMNIST, DIGITS])
def test_femnist_reads_back_by_writer(data, folder, tmp_path):
    train, test = write_femnist(tmp_path, folder)
    images = data.read(tmp_path)
    found_x, found_y, groups, code = [], [], [], 0
    for name in sorted(train):
        x, y = train[name]
        chosen = y < data.classes
        found_x.append(x[chosen])
        found_y.append(y[chosen])
        groups += [code] * int(chosen.sum())
        code += bool(chosen.any())
    np.testing.assert_array_equal(images.train_x[:, 0], np.concatenate(found_x))
    np.testing.assert_array_equal(images.train_y, np.concatenate(found_y))
    np.testing.assert_array_equal(images.groups, groups)
    assert images.classes == data.classes
    expected = np.concatenate([test[name][1] for name in sorted(test)])
    np.testing.assert_array_equal(images.test_y, expected[expected < data.classes])


@pytest.mark.parametrize("digits", [4, 7, 17])
def test_the_grey_values_are_the_bytes_leaf_divided(digits, tmp_path):
    x, y = np.arange(784).reshape(1, 28, 28).astype(np.uint8), np.array([3])
    for split in ("train", "test"):
        (tmp_path / "femnist" / split).mkdir(parents=True)
        path = tmp_path / "femnist" / split / "all.json"
        path.write_text(leaf({"f": (x, y)}, digits))
    np.testing.assert_array_equal(FEMNIST.read(tmp_path).train_x[0], x)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["num_samples"].__setitem__(0, 7), "expected 7 samples, got 2"),
        (lambda d: d["user_data"]["fa"]["y"].pop(), "expected 2 samples"),
        (lambda d: d["user_data"]["fa"]["y"].__setitem__(0, 62), "from 0 to 61"),
        (lambda d: d["user_data"]["fa"]["y"].__setitem__(0, True), "from 0 to 61"),
        (lambda d: d["user_data"]["fa"]["x"][0].pop(), "784 numbers"),
        (lambda d: d["user_data"]["fa"]["x"][0].__setitem__(0, 255), "from 0 to 1"),
        (lambda d: d["user_data"]["fa"]["x"][0].__setitem__(0, float("nan")), "0 to 1"),
        (lambda d: d["user_data"]["fa"]["x"][0].__setitem__(0, "a"), "LEAF's JSON"),
        (lambda d: d["user_data"]["fa"]["x"][0].__setitem__(0, 10**400), "LEAF's JSON"),
        (lambda d: d["user_data"].pop("fa"), "the same writers"),
        (lambda d: d["users"].append("fz"), "the same writers"),
        (lambda d: d.pop("users"), "LEAF's JSON"),
        (lambda d: d.update(user_data=["fa"]), "LEAF's JSON"),
    ],
)
def test_femnist_that_does_not_fit_is_refused(change, words, tmp_path):
    write_femnist(tmp_path)
    path = tmp_path / "femnist/train/again.json"
    content = json.loads(leaf({"fa": random_images(2, 62, 0, (28, 28))}))
    change(content)
    (tmp_path / "femnist/train/all_data_0_niid_0_keep_0_train_9.json").unlink()
    path.write_text(json.dumps(content))
    refused(FEMNIST, tmp_path, str(path), words)


def test_femnist_truncated_doubled_or_incomplete(tmp_path):
    write_femnist(tmp_path)
    first = tmp_path / "femnist/train/all_data_0_niid_0_keep_0_train_9.json"
    whole = first.read_text()
    first.write_text(whole[: len(whole) // 2])
    refused(FEMNIST, tmp_path, str(first), "may be truncated")
    first.write_text(whole)
    copy = tmp_path / "femnist/train/copy.json"
    copy.write_text(whole)
    refused(FEMNIST, tmp_path, str(copy), "writer 'fc' was in another file")
    copy.unlink()
    for path in (tmp_path / "femnist/test").iterdir():
        path.unlink()
    refused(FEMNIST, tmp_path, "test/*.json: missing", "TalwalkarLab/leaf")
