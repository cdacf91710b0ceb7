"""Small data sets written as the published ones lie on a disk."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import pickle
import struct
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sfl_train.deep.data import cifar, fashion_mnist, ham10000, tiny_imagenet
from sfl_train.deep.data.cifar import Cifar
from sfl_train.deep.data.files import DataError


class Python2Pickler(pickle._Pickler):
    """Writes bytes as Python 2 wrote its strings, and numpy's names of that time."""

    dispatch = pickle._Pickler.dispatch.copy()

    def save_bytes(self, obj):
        size = len(obj)
        self.write(
            b"U" + bytes([size]) if size < 256 else struct.pack("<ci", b"T", size)
        )
        self.write(obj)
        self.memoize(obj)

    dispatch[bytes] = save_bytes

    def save_global(self, obj, name=None):
        old = obj.__module__.replace("numpy._core", "numpy.core")
        self.write(b"c" + f"{old}\n{obj.__name__}\n".encode())
        self.memoize(obj)

    dispatch[type] = save_global
    dispatch[type(pickle.dumps)] = save_global

    def reducer_override(self, obj):
        # Python 2 gave strings where numpy now gives text.
        if isinstance(obj, np.dtype):
            state = (3, b"|", None, None, None, -1, -1, 0)
            return np.dtype, (obj.str[1:].encode(), 0, 1), state
        return NotImplemented


def python2_pickle(content) -> bytes:
    stream = io.BytesIO()
    Python2Pickler(stream, protocol=2).dump(content)
    return stream.getvalue()


def md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def random_images(count: int, classes: int, seed: int, shape=(3, 32, 32)):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 256, (count, *shape), dtype=np.uint8)
    return x, rng.integers(0, classes, count)


def tar(path: Path, members: dict[str, bytes], more=()) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for info in more:
            archive.addfile(info)


def refused(data, root, *words) -> None:
    """Read a data set and expect one line that contains all words."""
    with pytest.raises(DataError) as error:
        data.read(root)
    message = str(error.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message


class SmallCifar:
    """CIFAR with a few images per file, as files by name, for both versions."""

    def __init__(self, fine: bool, size: int = 6, test: int = 4):
        original = cifar.CIFAR100 if fine else cifar.CIFAR10
        files = len(original.versions[0].train)
        sizes = [size] * files + [test]
        self.parts = [
            random_images(n, original.classes, i) for i, n in enumerate(sizes)
        ]
        self.coarse = [y // 5 for _, y in self.parts]
        self.fine = fine
        self.original = replace(original, train_size=size, test_size=test)

    def pickles(self) -> dict[str, bytes]:
        names = (*self.original.versions[0].train, self.original.versions[0].test)
        found = {}
        for name, (x, y), coarse in zip(names, self.parts, self.coarse, strict=True):
            content = {
                b"batch_label": b"some batch",
                b"data": x.reshape(len(x), -1),
                b"filenames": [b"image_%d.png" % i for i in range(len(x))],
            }
            if self.fine:
                content[b"fine_labels"] = y.tolist()
                content[b"coarse_labels"] = coarse.tolist()
            else:
                content[b"labels"] = y.tolist()
            found[name] = python2_pickle(content)
        return found

    def records(self) -> dict[str, bytes]:
        names = (*self.original.versions[1].train, self.original.versions[1].test)
        found = {}
        for name, (x, y), coarse in zip(names, self.parts, self.coarse, strict=True):
            head = [coarse, y] if self.fine else [y]
            rows = [*(h[:, None].astype(np.uint8) for h in head), x.reshape(len(x), -1)]
            found[name] = np.concatenate(rows, axis=1).tobytes()
        return found

    def write(self, root: Path, version: int, archived: bool = False) -> Cifar:
        return self.written(root, version, self.files(version), archived)

    def files(self, version: int) -> dict[str, bytes]:
        return self.records() if version else self.pickles()

    def written(
        self, root: Path, version: int, files: dict[str, bytes], archived: bool = False
    ) -> Cifar:
        """Write files and return the data set that knows their checksums."""
        layout = self.original.versions[version].layout
        if archived:
            path = root / layout.archive
            tar(path, {f"{layout.folder}/{name}": c for name, c in files.items()})
            layout = replace(layout, md5=md5(path.read_bytes()))
        else:
            (root / layout.folder).mkdir()
            for name, content in files.items():
                (root / layout.folder / name).write_bytes(content)
        known = self.original.versions[version].layout.digests
        digests = {name: md5(files[name]) for name in known if name in files}
        versions = list(self.original.versions)
        versions[version] = replace(
            versions[version], layout=replace(layout, digests=digests)
        )
        return replace(self.original, versions=tuple(versions))


def idx(array: np.ndarray) -> bytes:
    head = struct.pack(f">I{array.ndim}I", 0x0800 | array.ndim, *array.shape)
    return head + array.astype(np.uint8).tobytes()


def fashion_files(train: int = 12, test: int = 5) -> dict[str, bytes]:
    found = {}
    for prefix, count, seed in (("train", train, 0), ("t10k", test, 1)):
        x, y = random_images(count, 10, seed, (28, 28))
        found[f"{prefix}-images-idx3-ubyte"] = idx(x)
        found[f"{prefix}-labels-idx1-ubyte"] = idx(y)
    return found


def write_fashion(root: Path, folder: str, files: dict[str, bytes], packed: bool):
    """Write the files and return the data set that knows their checksums."""
    (root / folder).mkdir(parents=True)
    digests = {}
    for name, content in files.items():
        if packed:
            name, content = f"{name}.gz", gzip.compress(content, mtime=0)
            digests[name] = md5(content)
        (root / folder / name).write_bytes(content)
    original = fashion_mnist.FASHION_MNIST
    layouts = tuple(replace(layout, digests=digests) for layout in original.layouts)
    return replace(original, layouts=layouts, train_size=12, test_size=5)


def leaf(writers: dict[str, tuple[np.ndarray, np.ndarray]], digits: int = 17) -> str:
    """Return LEAF's JSON of images of bytes and labels by writer."""
    return json.dumps({
        "users": list(writers),
        "num_samples": [len(y) for _, y in writers.values()],
        "user_data": {
            name: {
                "x": np.round(x.reshape(len(x), -1) / 255, digits).tolist(),
                "y": y.tolist(),
            }
            for name, (x, y) in writers.items()
        },
    })


def writers(names: str, seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return some images per writer; the one called b wrote no digit."""
    found = {}
    for n, name in enumerate(names):
        x, y = random_images(20 + n % 3, 62, 10 * seed + n, (28, 28))
        found[f"f{name}"] = (x, 10 + y % 52 if name == "b" else y)
    return found


def jpeg(image: np.ndarray, kind: str = "JPEG") -> bytes:
    """Return an image file; an array without a channel gives a grey one."""
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, kind, quality=95)
    return stream.getvalue()


def write_ham10000(root: Path, lesions: int = 40, seed: int = 0):
    """Lesions of one to three images; every image has the colour of its lesion."""
    rng = np.random.default_rng(seed)
    rows = []
    for lesion in range(lesions):
        dx = ham10000.DIAGNOSES[lesion % 7]
        rows += [(f"HAM_{lesion:07d}", dx) for _ in range(1 + lesion % 3)]
    order = rng.permutation(len(rows))
    folder = root / "ham10000"
    for part in ("HAM10000_images_part_1", "HAM10000_images_part_2"):
        (folder / part).mkdir(parents=True)
    table = []
    for n, at in enumerate(order):
        lesion, dx = rows[at]
        name, code = f"ISIC_{24306 + n:07d}", int(lesion[4:])
        image = np.full((45, 60, 3), (5 * code, 255 - 5 * code, 100), np.uint8)
        place = folder / f"HAM10000_images_part_{1 + n % 2}" / f"{name}.jpg"
        place.write_bytes(jpeg(image))
        table.append((lesion, name, dx, "histo", "80.0", "male", "scalp"))
    with (folder / ham10000.METADATA).open("w", newline="") as stream:
        writer = csv.writer(stream)
        head = ["lesion_id", "image_id", "dx", "dx_type", "age", "sex", "localization"]
        writer.writerows([head, *table])
    return replace(ham10000.HAM10000, size=len(rows)), table


def tiny_files(classes=3, per_class=2, test=4) -> dict[str, bytes]:
    rng = np.random.default_rng(0)
    wnids = [f"n{9 - n:08d}" for n in range(classes)]
    found = {"wnids.txt": "\n".join(wnids).encode()}
    for wnid in wnids:
        for i in range(per_class):
            grey = i == 1
            image = rng.integers(0, 256, (64, 64) if grey else (64, 64, 3), np.uint8)
            content = jpeg(image)
            found[f"train/{wnid}/images/{wnid}_{i}.JPEG"] = content
        found[f"train/{wnid}/{wnid}_boxes.txt"] = b"boxes"
    lines = []
    for i in range(test):
        image = rng.integers(0, 256, (64, 64, 3), np.uint8)
        found[f"val/images/val_{i}.JPEG"] = jpeg(image)
        lines.append(f"val_{i}.JPEG\t{wnids[i % classes]}\t0\t0\t63\t63\n")
    found["val/val_annotations.txt"] = "".join(lines).encode()
    return found


def write_tiny(root: Path, files: dict[str, bytes], archived: bool = False):
    """Write the files and return the data set that knows their sizes and checksum."""
    original = tiny_imagenet.TINY_IMAGENET
    layout = original.layouts[0]
    if archived:
        with zipfile.ZipFile(root / layout.archive, "w") as archive:
            for name, content in files.items():
                archive.writestr(f"{layout.folder}/{name}", content)
        digest = md5((root / layout.archive).read_bytes())
        layout = replace(layout, md5=digest)
    else:
        for name, content in files.items():
            path = root / layout.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return replace(original, layouts=(layout,), classes=3, per_class=2, test_size=4)
