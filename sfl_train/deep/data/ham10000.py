"""HAM10000: dermatoscopic images, split so that no lesion is on both sides.

Many lesions were photographed several times. A split by image, as in the released code
of dachille2024, tests on lesions that were trained on.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from sfl_train import streams
from sfl_train.deep.data.files import DataError, Files, Layout, find
from sfl_train.deep.data.images import Images
from sfl_train.deep.data.jpeg import decoded
from sfl_train.deep.data.moments import moments
from sfl_train.streams import Purpose

DIAGNOSES = ("akiec", "bcc", "bkl", "df", "mel", "nv", "vasc")
METADATA = "HAM10000_metadata.csv"
TEST_SHARE = 5
"""Of the lesions of every diagnosis, one in this many is tested on."""


@dataclass(frozen=True)
class Ham10000:
    """Where it lies and how large it is.

    Attributes:
        size: number of images.
    """

    size: int = 10015

    layouts = tuple(
        Layout(folder, "HAM10000_metadata.csv and the images from "
               "https://doi.org/10.7910/DVN/DBW86T")
        for folder in ("ham10000", "HAM10000")
    )  # fmt: skip

    def read(self, root: Path, pixels: int = 64) -> Images:
        """Read the metadata, and the images wherever they lie in the folder.

        The lesions of each diagnosis are shuffled, always in the same way, and one in
        ``TEST_SHARE`` goes to the test set with all its images. Images are sorted by
        their names.

        Args:
            root: folder of all data sets.
            pixels: height and width that the images (600x450) are brought to.

        Returns:
            The images; the groups are the lesions. Mean and standard deviation are
            over all pixels of the training images.

        Raises:
            DataError: if files are missing, damaged or not those published.
        """
        name = f"ham10000:{pixels}"
        if not 8 <= pixels <= 450:
            raise DataError(f"{name}: expected 8 to 450 pixels")
        layout, files = find("ham10000", root, self.layouts)
        images, lesions, y = self._metadata(files)
        paths = {
            PurePosixPath(path).stem: path
            for path in files.names()
            if path.lower().endswith(".jpg")
        }
        missing = [image for image in images if image not in paths]
        if missing:
            raise DataError(
                f"{files.where(missing[0])}.jpg: missing, with {len(missing) - 1} "
                f"other images of {METADATA}; {layout.advice}"
            )
        x = decoded(files, [paths[image] for image in images], pixels, resize=True)
        codes = np.unique(lesions, return_inverse=True)[1].astype(np.int64)
        test = _tested(codes, y)[codes]
        mean, std = moments(x[~test])
        return Images(
            name=name,
            train_x=x[~test],
            train_y=y[~test],
            test_x=x[test],
            test_y=y[test],
            classes=len(DIAGNOSES),
            mean=mean,
            std=std,
            groups=np.unique(codes[~test], return_inverse=True)[1].astype(np.int64),
            source="P. Tschandl, C. Rosendahl, H. Kittler, The HAM10000 dataset, "
            "doi:10.7910/DVN/DBW86T, CC BY-NC 4.0",
        )

    def _metadata(self, files: Files) -> tuple[list[str], list[str], NDArray[np.int64]]:
        where = files.where(METADATA)
        try:
            text = files.read(METADATA).decode("utf-8-sig")
            rows = list(csv.DictReader(io.StringIO(text), strict=True))
        except (UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"{where}: not a table in CSV ({error})") from error
        columns = ("image_id", "lesion_id", "dx")
        if any(not row.get(column) for row in rows for column in columns):
            raise DataError(f"{where}: expected {', '.join(columns)} in every row")
        if len(rows) != self.size:
            raise DataError(f"{where}: expected {self.size} rows, got {len(rows)}")
        rows.sort(key=lambda row: row["image_id"])
        images, lesions, named = ([row[c] for row in rows] for c in columns)
        if len(set(images)) != len(images):
            raise DataError(f"{where}: an image_id occurs twice")
        unknown = set(named) - set(DIAGNOSES)
        if unknown:
            raise DataError(
                f"{where}: unknown diagnosis {min(unknown)!r}; expected "
                f"{', '.join(DIAGNOSES)}"
            )
        y = np.array([DIAGNOSES.index(dx) for dx in named], dtype=np.int64)
        return images, lesions, y


HAM10000 = Ham10000()


def _tested(codes: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for every lesion whether its images test."""
    _, first = np.unique(codes, return_index=True)
    diagnosis = y[first]
    tested = np.zeros(len(first), dtype=bool)
    for c in np.unique(diagnosis):
        mine = np.flatnonzero(diagnosis == c)
        key = streams.keys(0, Purpose.DATA, 4, int(c))
        order = np.argsort(streams.uniforms(key, mine.size), kind="stable")
        tested[mine[order[TEST_SHARE - 1 :: TEST_SHARE]]] = True
    return tested
