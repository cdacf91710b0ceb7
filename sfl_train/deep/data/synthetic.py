r"""Images that can be learnt and need no file, in any of the papers' shapes.

Class c has a smooth template: a random image of 4x4 pixels, enlarged. A sample is
its class's template, shifted by up to an eighth of the image in each direction, times a
contrast from [0.6, 1.4], plus white noise. So convolutions help, no pixel decides, and
the noise sets the attainable accuracy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfl_train import streams
from sfl_train.deep.data.images import Images
from sfl_train.memory import require
from sfl_train.streams import Purpose

COARSE = 4
NOISE = 25
"""Standard deviation of the white noise, in percent of the range of intensities."""


def synthetic(
    classes: int = 10,
    channels: int = 3,
    pixels: int = 32,
    train: int = 2000,
    test: int = 500,
    seed: int = 0,
    noise: int = NOISE,
) -> Images:
    """Return generated images, balanced over the classes.

    Args:
        classes: number of classes.
        channels: of the images.
        pixels: height and width, at least 8.
        train: number of training images.
        test: number of test images.
        seed: of everything drawn.
        noise: standard deviation of the white noise, in percent of the range of
            intensities; the more, the harder the images are to tell apart.

    Returns:
        The images.

    Raises:
        ValueError: if a number is too small.
    """
    if min(classes, channels) < 1 or pixels < 8 or min(train, test) < classes:
        raise ValueError(
            "synthetic: expected at least one class and channel, 8 pixels and one "
            f"image per class, got {classes}x{channels}x{pixels}, {train} and {test}"
        )
    large = pixels + 2 * (pixels // 8)
    require(
        channels * ((train + test) * pixels**2 + 8 * classes * large**2),
        f"--dataset: {train + test} images of {channels}x{pixels}x{pixels}",
        "take fewer or smaller ones",
    )
    key = streams.keys(seed, Purpose.DATA, 1)
    shape = (classes, channels, COARSE, COARSE)
    coarse = streams.uniforms(key, int(np.prod(shape))).reshape(shape)
    margin = pixels // 8
    templates = _enlarged(coarse, pixels + 2 * margin)
    parts = [
        _split(templates, pixels, margin, count, seed, which, noise / 100)
        for which, count in ((2, train), (3, test))
    ]
    (train_x, train_y), (test_x, test_y) = parts
    seen = train_x.astype(np.float64) / 255.0
    return Images(
        name=f"synthetic:{classes}x{channels}x{pixels}:{train}"
        + f":{noise}" * (noise != NOISE),
        train_x=train_x,
        train_y=train_y,
        test_x=test_x,
        test_y=test_y,
        classes=classes,
        mean=tuple(seen.mean((0, 2, 3)).tolist()),
        std=tuple(seen.std((0, 2, 3)).tolist()),
        source="generated; see sfl_train/deep/data/synthetic.py",
    )


def _split(
    templates: NDArray[np.float64],
    pixels: int,
    margin: int,
    count: int,
    seed: int,
    which: int,
    scale: float,
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    classes, channels = templates.shape[:2]
    samples = np.arange(count)
    labels = (samples % classes).astype(np.int64)
    x = np.empty((count, channels, pixels, pixels), np.uint8)
    for n in samples:
        key = streams.keys(seed, Purpose.DATA, which, int(n))
        u, v, contrast = streams.uniforms(key, 3)
        top, left = (int(w * (2 * margin + 1)) for w in (u, v))
        window = templates[labels[n], :, top : top + pixels, left : left + pixels]
        key = streams.keys(seed, Purpose.DATA, which, int(n), 1)
        noise = streams.normals(key, window.size).reshape(window.shape)
        value = 0.5 + (0.6 + 0.8 * contrast) * (window - 0.5) + scale * noise
        x[n] = np.clip(np.round(255 * value), 0, 255).astype(np.uint8)
    return x, labels


def _enlarged(coarse: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return images interpolated linearly from the coarse grid to ``size`` pixels."""
    at = np.linspace(0, COARSE - 1, size)
    low = np.minimum(at.astype(int), COARSE - 2)
    weight = np.zeros((size, COARSE))
    weight[np.arange(size), low] = 1 - (at - low)
    weight[np.arange(size), low + 1] = at - low
    return np.einsum("ncij,hi,wj->nchw", coarse, weight, weight)
