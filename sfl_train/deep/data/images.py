"""Labelled images, as every reader returns them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Images:
    """Training and test images with their labels.

    Attributes:
        name: of the data set.
        train_x: uint8, shape (D, C, H, W), square images.
        train_y: class indices, int64, shape (D,).
        test_x: uint8, shape (E, C, H, W).
        test_y: class indices, int64, shape (E,).
        classes: number of classes.
        mean: of every channel, for pixel values scaled to [0, 1], shape (C,).
        std: its standard deviation, shape (C,).
        groups: natural group of every training sample (writer, lesion), int64, shape
            (D,), or None.
        source: where the data come from and under which licence.
    """

    name: str
    train_x: NDArray[np.uint8]
    train_y: NDArray[np.int64]
    test_x: NDArray[np.uint8]
    test_y: NDArray[np.int64]
    classes: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    groups: NDArray[np.int64] | None = None
    source: str = ""

    def __post_init__(self) -> None:
        """Check shapes, types and labels.

        Raises:
            ValueError: if something does not fit.
        """
        for split in ("train", "test"):
            x, y = getattr(self, f"{split}_x"), getattr(self, f"{split}_y")
            if x.dtype != np.uint8 or x.ndim != 4 or x.shape[2] != x.shape[3]:
                raise ValueError(
                    f"{self.name}: expected {split} images as uint8 of shape "
                    f"(samples, channels, pixels, pixels), got {x.dtype} {x.shape}"
                )
            if y.dtype != np.int64 or y.shape != x.shape[:1] or not y.size:
                raise ValueError(
                    f"{self.name}: expected one int64 label per {split} image, got "
                    f"{y.dtype} {y.shape} for {x.shape[0]} images"
                )
            if y.min() < 0 or y.max() >= self.classes:
                raise ValueError(
                    f"{self.name}: expected {split} labels below {self.classes}, got "
                    f"{y.min()} to {y.max()}"
                )
        channels = self.train_x.shape[1]
        if self.test_x.shape[1:] != self.train_x.shape[1:]:
            raise ValueError(
                f"{self.name}: training and test images differ in shape: "
                f"{self.train_x.shape[1:]} and {self.test_x.shape[1:]}"
            )
        if len(self.mean) != channels or len(self.std) != channels:
            raise ValueError(f"{self.name}: expected mean and std of every channel")

    @property
    def channels(self) -> int:
        """Number of channels C."""
        return int(self.train_x.shape[1])

    @property
    def pixels(self) -> int:
        """Height and width."""
        return int(self.train_x.shape[2])
