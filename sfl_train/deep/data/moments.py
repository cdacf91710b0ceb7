"""Mean and standard deviation of the channels, from the images themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CHUNK = 1000
"""Images counted at once, which bounds the memory."""


def moments(x: NDArray[np.uint8]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and standard deviation of every channel over all pixels.

    Args:
        x: images, shape (D, C, H, W).

    Returns:
        Both for pixel values scaled to [0, 1]; a constant channel has deviation 1.
    """
    counts = np.zeros((x.shape[1], 256), np.int64)
    for start in range(0, len(x), CHUNK):
        for channel, count in enumerate(counts):
            here = x[start : start + CHUNK, channel].reshape(-1)
            count += np.bincount(here, minlength=256)
    values = np.arange(256) / 255.0
    shares = counts / counts.sum(1, keepdims=True)
    mean = shares @ values
    variance = (shares * (values - mean[:, None]) ** 2).sum(1)
    std = np.where(variance > 0, np.sqrt(variance), 1.0)
    return tuple(mean.tolist()), tuple(std.tolist())
