"""JPEG files decoded by Pillow, many at a time."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from sfl_train.deep.data.files import DataError, Files

LARGEST = 1 << 26
"""Pixels of the largest image that is decoded."""


def decoded(
    files: Files, names: Sequence[str], pixels: int, resize: bool
) -> NDArray[np.uint8]:
    """Decode images to RGB; grey ones get three equal channels.

    Args:
        files: that hold them.
        names: of the images, in the order of the result.
        pixels: height and width of the result.
        resize: bring images of any size to this one (the whole image, whatever its
            proportions; reduced by a power of two while decoding to no less than twice
            the size, then bilinear with anti-aliasing); otherwise another size is an
            error.

    Returns:
        Array of shape (len(names), 3, pixels, pixels).

    Raises:
        DataError: if Pillow is missing, or an image is missing, damaged, or of another
            size.
    """
    image = _pillow()
    found = np.empty((len(names), 3, pixels, pixels), np.uint8)

    def decode(n: int) -> None:
        content, where = files.read(names[n]), files.where(names[n])
        found[n] = _decoded(image, content, where, pixels, resize)

    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        for _ in pool.map(decode, range(len(names))):
            pass  # an error in a thread is raised here, and the rest is cancelled
    return found


def _decoded(
    image: ModuleType, content: bytes, where: str, pixels: int, resize: bool
) -> NDArray[np.uint8]:
    try:
        with image.open(io.BytesIO(content), formats=("JPEG",)) as opened:
            width, height = opened.size
            if width * height > LARGEST:
                raise DataError(f"{where}: {width}x{height} pixels are too many")
            if not resize and (width, height) != (pixels, pixels):
                raise DataError(
                    f"{where}: expected {pixels}x{pixels} pixels, got {width}x{height}"
                )
            if resize:
                opened.draft("RGB", (2 * pixels, 2 * pixels))
            colours = opened.convert("RGB")
            if resize:
                colours = colours.resize((pixels, pixels), image.Resampling.BILINEAR)
            return np.asarray(colours).transpose(2, 0, 1)
    except DataError:
        raise
    except Exception as error:  # Pillow meets a damaged file with any of several
        raise DataError(f"{where}: not a whole JPEG image ({error})") from error


def _pillow() -> ModuleType:
    try:
        from PIL import Image
    except ImportError as error:
        raise DataError(
            "this data set consists of JPEG files, which need Pillow: install the "
            "extra 'images', as in pip install -e '.[images]'"
        ) from error
    return Image
