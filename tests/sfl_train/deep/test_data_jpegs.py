"""Protects HAM10000 and Tiny ImageNet: lesions do not leak, no image is skipped."""

from __future__ import annotations

import csv
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standard_files import (
    jpeg,
    refused,
    tiny_files,
    write_ham10000,
    write_tiny,
)

from sfl_train.deep.data.files import DataError
from sfl_train.deep.data.ham10000 import DIAGNOSES, METADATA
from sfl_train.deep.data.jpeg import decoded

LIST = "val/val_annotations.txt"

# HAM10000


@pytest.fixture(scope="module")
def ham(tmp_path_factory):
    root = tmp_path_factory.mktemp("ham")
    return (root, *write_ham10000(root))


def lesions(x):
    """Return the lesion that the colour of every image tells."""
    return np.round(x[:, 0, 4, 4] / 5.0).astype(int)


def test_no_lesion_of_ham10000_is_on_both_sides_or_in_two_groups(ham):
    root, data, table = ham
    images = data.read(root)
    assert images.train_x.shape[1:] == (3, 64, 64)
    assert len(images.train_y) + len(images.test_y) == len(table)
    train, test = lesions(images.train_x), lesions(images.test_x)
    assert not set(train) & set(test)
    assert set(train) | set(test) == {int(row[0][4:]) for row in table}
    pairs = set(zip(train.tolist(), images.groups.tolist(), strict=True))
    assert len(pairs) == len(set(train)) == len(set(images.groups.tolist()))
    for x, y in ((train, images.train_y), (test, images.test_y)):
        np.testing.assert_array_equal(y, x % 7)
    assert tuple(sorted(DIAGNOSES)) == DIAGNOSES
    # 40 lesions of 7 diagnoses: five or six of each, one of which tests.
    assert len(set(test)) == 7 and set(images.test_y) == set(range(7))


def test_the_split_of_ham10000_does_not_depend_on_the_order_of_the_rows(ham, tmp_path):
    root, data, table = ham
    copy = tmp_path / "ham10000"
    (copy / "images").mkdir(parents=True)
    for path in root.rglob("*.jpg"):
        (copy / "images" / path.name).symlink_to(path)
    with (copy / METADATA).open("w", newline="") as stream:
        head = ["lesion_id", "image_id", "dx", "dx_type", "age", "sex", "localization"]
        csv.writer(stream).writerows([head, *table[::-1]])
    first, second = data.read(root, 32), data.read(tmp_path, 32)
    for name in ("train_x", "train_y", "test_x", "test_y", "groups"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert first.pixels == 32 and first.name == "ham10000:32"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.replace(",mel,", ",melanoma,"), "unknown diagnosis 'melanoma'"),
        (lambda t: t.rsplit("\n", 2)[0], "rows, got"),
        (lambda t: t.replace("lesion_id", "lesion"), "expected image_id, lesion_id"),
        (lambda t: t.replace("ISIC_0024306", "ISIC_0024307"), "occurs twice"),
        (
            lambda t: t.replace("ISIC_0024306", "ISIC_9999999"),
            "ISIC_9999999.jpg: missing",
        ),
        (lambda t: t + '"', "not a table in CSV"),
    ],
)
def test_metadata_of_ham10000_that_do_not_fit_are_refused(change, words, ham, tmp_path):
    root, data, _ = ham
    (tmp_path / "ham10000").mkdir()
    for path in root.rglob("*.jpg"):
        (tmp_path / "ham10000" / path.name).symlink_to(path)
    text = (root / "ham10000" / METADATA).read_text().replace("\r\n", "\n")
    (tmp_path / "ham10000" / METADATA).write_text(change(text))
    refused(data, tmp_path, words)


@pytest.mark.parametrize("damage", ["cut", "text", "png", "empty"])
def test_an_image_that_is_no_jpeg_is_refused_by_its_name(damage, tmp_path):
    data, _ = write_ham10000(tmp_path)
    path = next(tmp_path.rglob("ISIC_0024310.jpg"))
    whole = path.read_bytes()
    png = jpeg(np.zeros((45, 60, 3), np.uint8), "PNG")
    changed = {"cut": whole[:-100], "text": b"no", "png": png, "empty": b""}[damage]
    path.write_bytes(changed)
    refused(data, tmp_path, str(path), "not a whole JPEG")


class InMemory:
    """The one file that is decoded."""

    def __init__(self, content):
        self.content = content

    def read(self, name):
        return self.content

    def where(self, name):
        return name


@pytest.mark.parametrize("resize", [False, True])
def test_rows_columns_and_colours_keep_their_places(resize):
    image = np.zeros((64, 64, 3), np.uint8)
    image[:32, :, 0] = 200  # red above
    image[:, :32, 2] = 100  # blue on the left
    (found,) = decoded(InMemory(jpeg(image)), ["a.jpg"], 64, resize)
    places = found[:, [8, 8, 56, 56], [8, 56, 8, 56]].astype(int)
    expected = [[200, 200, 0, 0], [0, 0, 0, 0], [100, 0, 100, 0]]
    assert np.abs(places - expected).max() <= 3


@given(st.integers(0, 10**6), st.integers(0, 255), st.booleans())
@settings(max_examples=200, deadline=None)
def test_no_changed_byte_crashes_the_decoder(place, value, cut):
    content = bytearray(jpeg(np.full((16, 16, 3), 90, np.uint8)))
    place %= len(content)
    content[place] = value
    changed = bytes(content[:place] if cut else content)
    try:
        assert decoded(InMemory(changed), ["a.jpg"], 16, True).shape == (1, 3, 16, 16)
    except DataError as error:
        assert str(error).startswith("a.jpg: ")


def test_without_pillow_the_extra_is_named(ham, monkeypatch):
    root, data, _ = ham
    monkeypatch.setitem(sys.modules, "PIL", None)  # Importing it fails then.
    refused(data, root, "Pillow", "[images]")


@pytest.mark.parametrize("pixels", [0, 7, 451])
def test_impossible_sizes_of_ham10000_are_refused(pixels, ham):
    root, data, _ = ham
    with pytest.raises(DataError, match="8 to 450"):
        data.read(root, pixels)


# Tiny ImageNet


@pytest.mark.parametrize("archived", [False, True])
def test_tiny_imagenet_reads_back(archived, tmp_path):
    images = write_tiny(tmp_path, tiny_files(), archived).read(tmp_path)
    assert images.train_x.shape == (6, 3, 64, 64)
    # Folders were written in falling order of names; the classes are the rising one.
    np.testing.assert_array_equal(images.train_y, [0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(images.test_y, [2, 1, 0, 2])
    grey = images.train_x[1::2]
    np.testing.assert_array_equal(grey[:, 0], grey[:, 1])
    assert not np.array_equal(images.train_x[0, 0], images.train_x[0, 1])
    np.testing.assert_allclose(
        images.mean, images.train_x.mean((0, 2, 3)) / 255, atol=1e-12
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda f: f.pop("train/n00000008/images/n00000008_1.JPEG"),
            "expected 2 images",
        ),
        (
            lambda f: [f.pop(n) for n in list(f) if n.startswith("train/n00000007")],
            "expected 3 folders",
        ),
        (lambda f: f.pop("val/images/val_2.JPEG"), "val/images/val_2.JPEG: missing"),
        (lambda f: f.pop(LIST), "val_annotations.txt: missing"),
        (
            lambda f: f.update({LIST: b"val_0.JPEG\tn1\t0\t0\t1\t1"}),
            "line 1: expected an image, one of the 3 classes",
        ),
        (
            lambda f: f.update({LIST: b"../../x\tn00000008\t0\t0\t1\t1"}),
            "line 1",
        ),
        (
            lambda f: f.update({LIST: b"a\tn00000008\t0\t0\t1\t1"}),
            "expected 4 images, got 1",
        ),
        (lambda f: f.update({LIST: b"\xff"}), "not a text"),
        (
            lambda f: f.update({
                "val/images/val_1.JPEG": jpeg(np.zeros((32, 64, 3), np.uint8))
            }),
            "expected 64x64 pixels, got 64x32",
        ),
        (
            lambda f: f.update({
                "val/images/val_1.JPEG": f["val/images/val_1.JPEG"][:200]
            }),
            "val_1.JPEG: not a whole JPEG",
        ),
    ],
)
def test_tiny_imagenet_that_does_not_fit_is_refused(change, words, tmp_path):
    files = tiny_files()
    change(files)
    refused(write_tiny(tmp_path, files), tmp_path, words)


def test_a_truncated_zip_is_refused(tmp_path):
    data = write_tiny(tmp_path, tiny_files(), archived=True)
    path = tmp_path / "tiny-imagenet-200.zip"
    path.write_bytes(path.read_bytes()[:-3])
    refused(data, tmp_path, str(path), "wrong checksum", "cs231n.stanford.edu")
