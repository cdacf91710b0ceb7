"""CIFAR-10 and CIFAR-100 (fine labels), in their Python and binary versions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfl_train.deep.data.files import DataError, Layout, find
from sfl_train.deep.data.images import Images
from sfl_train.deep.data.pickled import unpickled

SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32

Records = tuple[NDArray[np.uint8], NDArray[np.int64]]


@dataclass(frozen=True)
class Version:
    """One of the published versions.

    Attributes:
        layout: where it lies.
        train: files of training images, in order.
        test: file of test images.
        records: makes images of shape (D, 3072) and labels out of a file's content
            and name.
    """

    layout: Layout
    train: tuple[str, ...]
    test: str
    records: Callable[[bytes, str], Records]


@dataclass(frozen=True)
class Cifar:
    """What the two data sets differ in.

    Attributes:
        name: of the data set.
        classes: number of classes.
        train_size: images of each training file.
        test_size: test images.
        mean: of the channels.
        std: of the channels.
        versions: in the order in which they are looked for.
    """

    name: str
    classes: int
    train_size: int
    test_size: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    versions: tuple[Version, ...]

    def read(self, root: Path) -> Images:
        """Read whichever version lies below a folder.

        Args:
            root: folder of all data sets.

        Returns:
            The images, in the order of the files.

        Raises:
            DataError: if files are missing, damaged or not those published.
        """
        layout, files = find(self.name, root, [v.layout for v in self.versions])
        version = next(v for v in self.versions if v.layout is layout)

        def records(name: str, size: int) -> Records:
            where = files.where(name)
            x, y = version.records(files.read(name), where)
            if len(x) != size or len(y) != size:
                raise DataError(
                    f"{where}: expected {size} images with labels, got {len(x)} images "
                    f"and {len(y)} labels; {layout.advice}"
                )
            if y.min() < 0 or y.max() >= self.classes:
                raise DataError(
                    f"{where}: expected labels from 0 to {self.classes - 1}, got "
                    f"{y.min()} to {y.max()}"
                )
            return x.reshape(-1, *SHAPE), y

        parts = [records(name, self.train_size) for name in version.train]
        test_x, test_y = records(version.test, self.test_size)
        return Images(
            name=self.name,
            train_x=np.concatenate([x for x, _ in parts]),
            train_y=np.concatenate([y for _, y in parts]),
            test_x=test_x.copy(),
            test_y=test_y,
            classes=self.classes,
            mean=self.mean,
            std=self.std,
            source="A. Krizhevsky, Learning multiple layers of features from tiny "
            "images, 2009; https://www.cs.toronto.edu/~kriz/cifar.html",
        )


def pickled(key: bytes) -> Callable[[bytes, str], Records]:
    """Return a reader of the Python version, whose labels have a key."""

    def read(content: bytes, where: str) -> Records:
        found = unpickled(content, where)
        x, y = found.get(b"data"), found.get(key)
        if not isinstance(x, np.ndarray) or x.ndim != 2 or x.shape[1] != PIXELS:
            raise DataError(f"{where}: expected bytes of shape (D, {PIXELS}) as 'data'")
        if not isinstance(y, list) or any(type(label) is not int for label in y):
            raise DataError(f"{where}: expected a list of integers as {key.decode()!r}")
        try:
            return x, np.array(y, dtype=np.int64)
        except OverflowError as error:
            raise DataError(f"{where}: a label has more than 64 bits") from error

    return read


def binary(label_bytes: int) -> Callable[[bytes, str], Records]:
    """Return a reader of records: labels, the finest last, then 3072 bytes."""

    def read(content: bytes, where: str) -> Records:
        length = label_bytes + PIXELS
        if not content or len(content) % length:
            raise DataError(
                f"{where}: expected records of {length} bytes, got {len(content)} bytes"
            )
        rows = np.frombuffer(content, np.uint8).reshape(-1, length)
        return rows[:, label_bytes:], rows[:, label_bytes - 1].astype(np.int64)

    return read


_SITE = "https://www.cs.toronto.edu/~kriz/"
_BATCHES = tuple(f"data_batch_{i}" for i in range(1, 6))


def _layout(folder: str, archive: str, md5: str, digests: dict[str, str]) -> Layout:
    return Layout(folder, _SITE + archive, archive, md5, digests)


CIFAR10 = Cifar(
    name="cifar10",
    classes=10,
    train_size=10000,
    test_size=10000,
    mean=(0.4914, 0.4822, 0.4465),
    std=(0.2023, 0.1994, 0.2010),
    versions=(
        Version(
            _layout(
                "cifar-10-batches-py",
                "cifar-10-python.tar.gz",
                "c58f30108f718f92721af3b95e74349a",
                {
                    "data_batch_1": "c99cafc152244af753f735de768cd75f",
                    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
                    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
                    "data_batch_4": "634d18415352ddfa80567beed471001a",
                    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
                    "test_batch": "40351d587109b95175f43aff81a1287e",
                },
            ),
            _BATCHES,
            "test_batch",
            pickled(b"labels"),
        ),
        Version(
            _layout(
                "cifar-10-batches-bin",
                "cifar-10-binary.tar.gz",
                "c32a1d4ab5d03f1284b67883e8d87530",
                {},
            ),
            tuple(f"{name}.bin" for name in _BATCHES),
            "test_batch.bin",
            binary(1),
        ),
    ),
)
"""Mean and standard deviation are those of the released code of han2024, whose
deviation is the mean over images of each image's own."""

CIFAR100 = Cifar(
    name="cifar100",
    classes=100,
    train_size=50000,
    test_size=10000,
    mean=(0.5071, 0.4867, 0.4408),
    std=(0.2675, 0.2565, 0.2761),
    versions=(
        Version(
            _layout(
                "cifar-100-python",
                "cifar-100-python.tar.gz",
                "eb9058c3a382ffc7106e4002c42a8d85",
                {
                    "train": "16019d7e3df5f24257cddd939b257f8d",
                    "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
                },
            ),
            ("train",),
            "test",
            pickled(b"fine_labels"),
        ),
        Version(
            _layout(
                "cifar-100-binary",
                "cifar-100-binary.tar.gz",
                "03b5dce01913d631647c71ecec9e9cb8",
                {
                    "train.bin": "6172c7755cfe09b2fe270c85cebc1b15",
                    "test.bin": "4499cfba6c016c1be1438163640a0898",
                },
            ),
            ("train.bin",),
            "test.bin",
            binary(2),
        ),
    ),
)
"""Mean and standard deviation over all pixels of the training images, as usually
published."""
