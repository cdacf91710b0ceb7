"""Tiny ImageNet: 200 classes of 64x64 pixels, tested on its validation images."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfl_train.deep.data.files import DataError, Files, Layout, find
from sfl_train.deep.data.images import Images
from sfl_train.deep.data.jpeg import decoded
from sfl_train.deep.data.moments import moments

PIXELS = 64
ANNOTATIONS = "val/val_annotations.txt"
_TRAIN = re.compile(r"train/([^/]+)/images/[^/]+\.JPEG")


@dataclass(frozen=True)
class TinyImagenet:
    """Where it lies and how large it is.

    Attributes:
        layouts: folder and archive.
        classes: number of classes.
        per_class: training images of each.
        test_size: validation images, all of which test.
    """

    layouts: tuple[Layout, ...] = (
        Layout(
            "tiny-imagenet-200",
            "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
            "tiny-imagenet-200.zip",
            "90528d7ca1a48142e341f4ef8d21d0de",
        ),
    )
    classes: int = 200
    per_class: int = 500
    test_size: int = 10000

    def read(self, root: Path) -> Images:
        """Read training and validation images; the unlabelled test images stay unread.

        Args:
            root: folder of all data sets.

        Returns:
            The images by class and file name. A class's index is its place among the
            sorted names (wnid); grey images have three equal channels. Mean and
            standard deviation are over all pixels of the training images.

        Raises:
            DataError: if files are missing, damaged or not those published.
        """
        layout, files = find("tiny-imagenet", root, self.layouts)
        matches = [m for m in map(_TRAIN.fullmatch, files.names()) if m]
        counts = Counter(match[1] for match in matches)
        if len(counts) != self.classes:
            raise DataError(
                f"{files.where('train')}: expected {self.classes} folders with images, "
                f"got {len(counts)}; {layout.advice}"
            )
        for wnid, count in counts.items():
            if count != self.per_class:
                raise DataError(
                    f"{files.where(f'train/{wnid}/images')}: expected "
                    f"{self.per_class} images, got {count}; {layout.advice}"
                )
        index = {wnid: n for n, wnid in enumerate(sorted(counts))}
        test = self._annotations(files, index)
        # Images are decoded last, when everything else was found in order.
        train_x = decoded(files, [m[0] for m in matches], PIXELS, resize=False)
        mean, std = moments(train_x)
        return Images(
            name="tiny-imagenet",
            train_x=train_x,
            train_y=np.array([index[m[1]] for m in matches], dtype=np.int64),
            test_x=decoded(files, list(test), PIXELS, resize=False),
            test_y=np.array(list(test.values()), dtype=np.int64),
            classes=self.classes,
            mean=mean,
            std=std,
            source="Y. Le, X. Yang, Tiny ImageNet visual recognition challenge, 2015",
        )

    def _annotations(self, files: Files, index: dict[str, int]) -> dict[str, int]:
        where, found = files.where(ANNOTATIONS), {}
        try:
            lines = files.read(ANNOTATIONS).decode().splitlines()
        except UnicodeDecodeError as error:
            raise DataError(f"{where}: not a text ({error})") from error
        for number, line in enumerate(lines, 1):
            words = line.split("\t")
            if len(words) != 6 or words[1] not in index or "/" in words[0]:
                raise DataError(
                    f"{where}: line {number}: expected an image, one of the "
                    f"{self.classes} classes and four numbers, got {line[:80]!r}"
                )
            found[f"val/images/{words[0]}"] = index[words[1]]
        if len(found) != self.test_size:
            raise DataError(
                f"{where}: expected {self.test_size} images, got {len(found)}"
            )
        return dict(sorted(found.items()))


TINY_IMAGENET = TinyImagenet()
