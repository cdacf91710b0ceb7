"""Data sets by name: what exists, how it is read, which files it needs."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sfl_train.deep.data import cifar, fashion_mnist, femnist, ham10000, tiny_imagenet
from sfl_train.deep.data.digits import digits
from sfl_train.deep.data.images import Images
from sfl_train.deep.data.npz import own_images
from sfl_train.deep.data.synthetic import NOISE, synthetic


@dataclass(frozen=True)
class Entry:
    """A data set that can be asked for.

    Attributes:
        name: as it is written, with what may follow it.
        pattern: of the name; its groups are numbers, or one path.
        read: makes the images of the root and these (None where left out).
        images: training and test images.
        shape: channels and pixels.
        classes: number of classes.
        files: what lies below ``--data-root``, alternatives by "or".
        origin: where to get it.
        notes: what else one should know.
    """

    name: str
    pattern: str
    read: Callable[..., Images]
    images: str
    shape: str
    classes: str
    files: str = "none"
    origin: str = "ships with scikit-learn"
    notes: str = ""
    group: Callable[[str], int | Path] = int


def _synthetic(root: Path, *numbers: int | None) -> Images:
    defaults = (10, 3, 32, 2000, NOISE)
    classes, channels, pixels, train, noise = (
        default if number is None else number
        for number, default in zip(numbers, defaults, strict=True)
    )
    test = max(classes, train // 4)
    return synthetic(classes, channels, pixels, train, test, noise=noise)


def _ham10000(root: Path, pixels: int | None) -> Images:
    return ham10000.HAM10000.read(root, 64 if pixels is None else pixels)


_CIFAR = "https://www.cs.toronto.edu/~kriz/cifar.html"

ENTRIES = (
    Entry(
        "digits",
        "digits",
        lambda root: digits(),
        "1437 + 360",
        "1x8x8",
        "10",
        notes="the default",
    ),
    Entry(
        "synthetic[:CLASSESxCHANNELSxSIZE[:IMAGES[:NOISE]]]",
        r"synthetic(?::(\d+)x(\d+)x(\d+)(?::(\d+)(?::(\d+))?)?)?",
        _synthetic,
        "2000 + 500",
        "3x32x32",
        "10",
        origin="generated",
        notes="can be learnt; size in pixels, noise in percent of the range",
    ),
    Entry(
        "cifar10",
        "cifar10",
        lambda root: cifar.CIFAR10.read(root),
        "50000 + 10000",
        "3x32x32",
        "10",
        "cifar-10-batches-py/ or cifar-10-batches-bin/ or cifar-10-python.tar.gz or "
        "cifar-10-binary.tar.gz",
        _CIFAR,
    ),
    Entry(
        "cifar100",
        "cifar100",
        lambda root: cifar.CIFAR100.read(root),
        "50000 + 10000",
        "3x32x32",
        "100",
        "cifar-100-python/ or cifar-100-binary/ or cifar-100-python.tar.gz or "
        "cifar-100-binary.tar.gz",
        _CIFAR,
        "fine labels",
    ),
    Entry(
        "fashion-mnist",
        "fashion-mnist",
        lambda root: fashion_mnist.FASHION_MNIST.read(root),
        "60000 + 10000",
        "1x28x28",
        "10",
        "{fashion-mnist or FashionMNIST/raw}/{train,t10k}-{images-idx3,labels-idx1}"
        "-ubyte[.gz]",
        "https://github.com/zalandoresearch/fashion-mnist",
    ),
    Entry(
        "femnist",
        "femnist",
        lambda root: femnist.FEMNIST.read(root),
        "as LEAF sampled",
        "1x28x28",
        "62",
        "femnist/{train,test}/*.json or femnist/data/{train,test}/*.json",
        "https://github.com/TalwalkarLab/leaf (data/femnist/preprocess.sh)",
        "groups are writers: --partition natural",
    ),
    Entry(
        "femnist-digits",
        "femnist-digits",
        lambda root: femnist.DIGITS.read(root),
        "as LEAF sampled",
        "1x28x28",
        "10",
        "as femnist",
        "as femnist",
        "digits alone; groups are writers",
    ),
    Entry(
        "ham10000[:PIXELS]",
        r"ham10000(?::(\d+))?",
        _ham10000,
        "about 8000 + 2000",
        "3x64x64",
        "7",
        "ham10000/HAM10000_metadata.csv, ham10000/**/ISIC_*.jpg",
        "https://doi.org/10.7910/DVN/DBW86T",
        "groups are lesions, never on both sides of the split; --partition iid-groups "
        "keeps each at one client; needs the extra 'images'",
    ),
    Entry(
        "tiny-imagenet",
        "tiny-imagenet",
        lambda root: tiny_imagenet.TINY_IMAGENET.read(root),
        "100000 + 10000",
        "3x64x64",
        "200",
        "tiny-imagenet-200/ or tiny-imagenet-200.zip",
        "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
        "tested on the validation images; needs the extra 'images'",
    ),
    Entry(
        "npz:FILE",
        r"npz:(.+)",
        lambda root, path: own_images(path),
        "your own",
        "any",
        "any",
        "FILE with uint8 arrays train_x, test_x of shape (samples, channels, pixels, "
        "pixels) and integers train_y, test_y from 0 on; groups if there are any",
        "yours",
        "FILE is not looked for below --data-root",
        Path,
    ),
)

NAMES = tuple(entry.name for entry in ENTRIES)


def load(name: str, root: Path) -> Images:
    """Return a data set.

    Args:
        name: one of ``NAMES``.
        root: folder that holds the standard files.

    Returns:
        The images.

    Raises:
        ValueError: if the name is unknown, or files are missing or damaged.
    """
    for entry in ENTRIES:
        match = re.fullmatch(entry.pattern, name)
        if match:
            words = match.groups()
            found = (None if word is None else entry.group(word) for word in words)
            return entry.read(root, *found)
    raise ValueError(f"--dataset: unknown data set {name!r}; known: {', '.join(NAMES)}")


def table() -> str:
    """Return a description of all data sets, for a terminal of 88 columns."""
    head = ("name", "train + test", "shape", "classes")
    rows = [head, *((e.name, e.images, e.shape, e.classes) for e in ENTRIES)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row, entry in zip(rows, (None, *ENTRIES), strict=True):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join(cells).rstrip())
        if entry is not None:
            given = (entry.files, entry.origin, entry.notes)
            words = zip(("files", "from", "note"), given, strict=True)
            for word, text in words:
                start = f"    {word}: "
                wrapped = textwrap.wrap(
                    text, 88, initial_indent=start, subsequent_indent=" " * len(start)
                )
                lines += wrapped if text else []
    return "\n".join(lines)
