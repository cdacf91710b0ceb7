"""FEMNIST in LEAF's JSON files: handwritten characters, one group per writer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfl_train.deep.data.files import DataError, Files, Layout, find
from sfl_train.deep.data.images import Images
from sfl_train.deep.data.moments import moments

PIXELS = 28
LABELS = 62
"""Ten digits, then capital letters, then small ones."""

_ORIGIN = (
    "LEAF, https://github.com/TalwalkarLab/leaf: data/femnist/preprocess.sh makes "
    "train/*.json and test/*.json"
)

Writers = dict[str, tuple[NDArray[np.uint8], NDArray[np.int64]]]


@dataclass(frozen=True)
class Femnist:
    """Which of the characters are taken.

    Attributes:
        name: of the variant.
        classes: 62, or the first 10: digits alone.
    """

    name: str
    classes: int

    layouts = (Layout("femnist/data", _ORIGIN), Layout("femnist", _ORIGIN))

    def read(self, root: Path) -> Images:
        """Read all files of ``train/`` and ``test/``.

        Samples are ordered by writer, as strings, whatever the files are; writers
        without a sample of the variant are left out. Which samples test was decided
        when LEAF made the files.

        Args:
            root: folder of all data sets.

        Returns:
            The images, black 0 and paper 255, with mean and standard deviation over
            all pixels of the training images.

        Raises:
            DataError: if files are missing or not LEAF's.
        """
        layout, files = find(self.name, root, self.layouts)
        names = [name for name in files.names() if name.endswith(".json")]
        splits = []
        for split in ("train", "test"):
            mine = [name for name in names if name.startswith(f"{split}/")]
            if not mine:
                raise DataError(
                    f"{files.where(split)}/*.json: missing; {layout.advice}"
                )
            splits.append(self._writers(files, mine, split))
        train, test = splits
        train_x = np.concatenate([x for x, _ in train.values()])
        mean, std = moments(train_x)
        sizes = [len(y) for _, y in train.values()]
        return Images(
            name=self.name,
            train_x=train_x,
            train_y=np.concatenate([y for _, y in train.values()]),
            test_x=np.concatenate([x for x, _ in test.values()]),
            test_y=np.concatenate([y for _, y in test.values()]),
            classes=self.classes,
            mean=mean,
            std=std,
            groups=np.repeat(np.arange(len(train)), sizes),
            source="FEMNIST, S. Caldas et al., LEAF, arXiv 1812.01097; from NIST "
            "Special Database 19",
        )

    def _writers(self, files: Files, names: list[str], split: str) -> Writers:
        found: Writers = {}
        for name in names:
            for writer, (x, y) in _file(files.read(name), files.where(name)).items():
                if writer in found:
                    raise DataError(
                        f"{files.where(name)}: writer {writer!r} was in another file "
                        f"of {split}/ already"
                    )
                chosen = y < self.classes
                found[writer] = (x[chosen], y[chosen])
        kept = {writer: found[writer] for writer in sorted(found)}
        kept = {writer: pair for writer, pair in kept.items() if pair[1].size}
        if not kept:
            raise DataError(f"{files.where(split)}: no sample of {self.name} there")
        return kept


FEMNIST = Femnist("femnist", LABELS)
DIGITS = Femnist("femnist-digits", 10)


def _file(content: bytes, where: str) -> Writers:
    try:
        found = json.loads(content)
        users, counts, data = (
            found[key] for key in ("users", "num_samples", "user_data")
        )
        if len(users) != len(counts) or set(users) != set(data):
            raise DataError(
                f"{where}: users, num_samples and user_data do not speak of the same "
                "writers"
            )
        return {
            writer: _writer(data[writer], count, f"{where}: writer {writer!r}")
            for writer, count in zip(users, counts, strict=True)
        }
    except DataError:
        raise
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise DataError(
            f"{where}: not one of LEAF's JSON files "
            f"({type(error).__name__}: {error}); it may be truncated"
        ) from error


def _writer(
    entry: dict[str, Any], count: int, where: str
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    given, labels = entry["x"], entry["y"]
    if len(given) != count or len(labels) != count:
        raise DataError(
            f"{where}: expected {count} samples, got {len(given)} images and "
            f"{len(labels)} labels"
        )
    if any(len(image) != PIXELS * PIXELS for image in given):
        raise DataError(f"{where}: expected images of {PIXELS * PIXELS} numbers")
    x = np.array(given, dtype=np.float64).reshape(count, 1, PIXELS, PIXELS)
    if x.size and not (x.min() >= 0.0 and x.max() <= 1.0):  # also if NaN
        raise DataError(f"{where}: expected pixels from 0 to 1")
    if any(type(y) is not int or not 0 <= y < LABELS for y in labels):
        raise DataError(f"{where}: expected integer labels from 0 to {LABELS - 1}")
    # LEAF divided bytes by 255, so rounding gives them back.
    return np.round(255.0 * x).astype(np.uint8), np.array(labels, dtype=np.int64)
