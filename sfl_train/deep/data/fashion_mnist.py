"""Fashion-MNIST in its IDX files, as published (gzipped) or unpacked."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfl_train.deep.data.files import DataError, Files, Layout, find
from sfl_train.deep.data.images import Images

_DIGESTS = {
    "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
}
_ORIGIN = (
    "train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz "
    "and t10k-labels-idx1-ubyte.gz from "
    "https://github.com/zalandoresearch/fashion-mnist/tree/master/data/fashion"
)


@dataclass(frozen=True)
class FashionMnist:
    """Where it lies and how large it is.

    Attributes:
        layouts: folders in the order in which they are looked for.
        train_size: training images.
        test_size: test images.
    """

    layouts: tuple[Layout, ...] = (
        Layout("fashion-mnist", _ORIGIN, digests=_DIGESTS),
        Layout("FashionMNIST/raw", _ORIGIN, digests=_DIGESTS),
    )
    train_size: int = 60000
    test_size: int = 10000

    def read(self, root: Path) -> Images:
        """Read the four files.

        Args:
            root: folder of all data sets.

        Returns:
            The images; mean and standard deviation as usually published (over all
            pixels of the training images).

        Raises:
            DataError: if files are missing, damaged or not those published.
        """
        _, files = find("fashion-mnist", root, self.layouts)
        train_x, train_y = _split(files, "train", self.train_size)
        test_x, test_y = _split(files, "t10k", self.test_size)
        return Images(
            name="fashion-mnist",
            train_x=train_x,
            train_y=train_y,
            test_x=test_x,
            test_y=test_y,
            classes=10,
            mean=(0.2860,),
            std=(0.3530,),
            source="H. Xiao, K. Rasul, R. Vollgraf, Fashion-MNIST, arXiv 1708.07747; "
            "MIT licence",
        )


FASHION_MNIST = FashionMnist()


def idx(content: bytes, dimensions: int, where: str) -> NDArray[np.uint8]:
    """Return the array of bytes in an IDX file.

    Args:
        content: of the file: two zero bytes, 8 for uint8, the number of dimensions,
            each size as a big-endian 32-bit integer, the bytes.
        dimensions: expected.
        where: its name, for messages.

    Returns:
        The array.

    Raises:
        DataError: if it is something else or has another length than it says.
    """
    start, expected = 4 * (1 + dimensions), 0x0800 | dimensions
    magic = int.from_bytes(content[:4], "big")
    if magic != expected:
        raise DataError(
            f"{where}: wrong magic number: expected {expected:#06x}, got {magic:#06x}"
        )
    shape = tuple(
        int.from_bytes(content[at : at + 4], "big") for at in range(4, start, 4)
    )
    if len(content) < start or len(content) - start != prod(shape):
        raise DataError(
            f"{where}: expected {start + prod(shape)} bytes for sizes {shape}, got "
            f"{len(content)}; the file is truncated or has a tail"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _split(
    files: Files, prefix: str, size: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    x, where = _array(files, f"{prefix}-images-idx3-ubyte", 3)
    y, labels = _array(files, f"{prefix}-labels-idx1-ubyte", 1)
    if x.shape != (size, 28, 28):
        raise DataError(f"{where}: expected sizes {(size, 28, 28)}, got {x.shape}")
    if y.shape != (size,):
        raise DataError(f"{labels}: expected {size} labels, got {len(y)}")
    if y.max() > 9:
        raise DataError(f"{labels}: expected labels from 0 to 9, got {y.max()}")
    return x[:, None].copy(), y.astype(np.int64)


def _array(files: Files, name: str, dimensions: int) -> tuple[NDArray[np.uint8], str]:
    present = set(files.names())
    packed = name not in present
    name = f"{name}.gz" if packed else name
    content, where = files.read(name), files.where(name)
    if packed:
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{where}: cannot be unpacked ({error})") from error
    return idx(content, dimensions, where), where
