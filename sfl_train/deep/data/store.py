r"""Images that stay on the device: batches are gathered, cropped and flipped there.

Crops and flips are those of the released code: zero padding of 4 pixels, a window of
the original size at a uniform place, a mirror image with probability 1/2, then
$(\text{pixel}/255-\text{mean})/\text{std}$.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfl_train import streams
from sfl_train.deep.data.images import Images

Augmentation = Literal["none", "crop-flip"]
PADDING = 4


@dataclass(frozen=True)
class Batches:
    """The mini-batches of one client's round, already on the device.

    Attributes:
        indices: samples of all batches one after the other, shape (sum of sizes,).
        sizes: number of samples of each batch.
        windows: top, left and mirror (0 or 1) of every sample, shape (3, sum of
            sizes); None without augmentation.
        keys: for what the network draws itself at each batch, shape (len(sizes),);
            None: it goes on with PyTorch's global generator.
    """

    indices: Tensor
    sizes: tuple[int, ...]
    windows: Tensor | None
    keys: streams.Keys | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def samples(self) -> int:
        """Number of samples in all batches."""
        return sum(self.sizes)


class Store:
    """A data set on a device.

    Attributes:
        images: the data set.
        train_y: labels, shape (D,).
        test_y: labels of the test images.
        device: where the data live.
    """

    def __init__(
        self,
        images: Images,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        augmentation: Augmentation = "none",
        channels_last: bool = False,
    ) -> None:
        """Move a data set to the device, as bytes.

        Args:
            images: the data set.
            device: where to.
            dtype: of the batches.
            augmentation: of the training batches.
            channels_last: memory format of the batches.

        Raises:
            ValueError: if the augmentation is unknown.
        """
        if augmentation not in {"none", "crop-flip"}:
            raise ValueError(
                f"augmentation: expected none or crop-flip, got {augmentation!r}"
            )
        self.images = images
        self.device = torch.device(device)
        self.train_y = torch.from_numpy(images.train_y).to(device)
        self.test_y = torch.from_numpy(images.test_y).to(device)
        self._train = torch.from_numpy(images.train_x).to(device)
        self._test = torch.from_numpy(images.test_x).to(device)
        self._augment = augmentation == "crop-flip"
        self._padded = (
            torch.nn.functional.pad(self._train, (PADDING,) * 4)
            if self._augment
            else self._train
        )
        self._format = torch.channels_last if channels_last else torch.contiguous_format
        shape = (1, images.channels, 1, 1)
        mean, std = (
            torch.tensor(values, dtype=torch.float64).view(shape)
            for values in (images.mean, images.std)
        )
        self._scale = (1.0 / (255.0 * std)).to(device, dtype)
        self._shift = (-mean / std).to(device, dtype)

    def batches(self, indices: list[NDArray[np.int64]], keys: streams.Keys) -> Batches:
        """Bring the mini-batches of one client's round to the device at once.

        Args:
            indices: samples of each batch.
            keys: one stream for the augmentation of each batch, shape (len(indices),).

        Returns:
            The batches.
        """
        sizes = tuple(len(batch) for batch in indices)
        chosen = np.concatenate(indices) if indices else np.empty(0, np.int64)
        windows = None
        if self._augment and indices:
            places = [
                _windows(key, size) for key, size in zip(keys, sizes, strict=True)
            ]
            windows = self._move(np.concatenate(places, axis=1))
        return Batches(self._move(chosen), sizes, windows)

    def iterate(self, batches: Batches) -> Iterator[tuple[Tensor, Tensor]]:
        """Form the training batches one by one.

        Args:
            batches: which samples, and where they are cropped.

        Yields:
            Images of shape (B, C, H, W) and labels of shape (B,).
        """
        start = 0
        for size in batches.sizes:
            here = slice(start, start + size)
            chosen = batches.indices[here]
            windows = None if batches.windows is None else batches.windows[:, here]
            yield self._images(chosen, windows), self.train_y[chosen]
            start += size

    def samples(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """Return training samples without augmentation.

        Args:
            indices: which ones, on the device.

        Returns:
            Images and labels.
        """
        return self._normalised(self._train[indices]), self.train_y[indices]

    def test(self, indices: slice | Tensor) -> tuple[Tensor, Tensor]:
        """Return test images and labels."""
        return self._normalised(self._test[indices]), self.test_y[indices]

    def _images(self, chosen: Tensor, windows: Tensor | None) -> Tensor:
        if windows is None:
            return self._normalised(self._train[chosen])
        side = torch.arange(self.images.pixels, device=self.device)
        top, left, mirror = windows
        rows = top[:, None] + side
        columns = torch.where(mirror[:, None] > 0, side.flip(0), side) + left[:, None]
        picked = self._padded[chosen[:, None, None], :, rows[:, :, None],
                              columns[:, None, :]]  # fmt: skip
        return self._normalised(picked.permute(0, 3, 1, 2))

    def _normalised(self, pixels: Tensor) -> Tensor:
        x = pixels.to(self._scale.dtype).mul_(self._scale).add_(self._shift)
        return x.contiguous(memory_format=self._format)

    def _move(self, array: NDArray[np.int64]) -> Tensor:
        tensor = torch.from_numpy(array)
        if self.device.type == "cuda":
            return tensor.pin_memory().to(self.device, non_blocking=True)
        return tensor.to(self.device)


def _windows(key: np.uint64, size: int) -> NDArray[np.int64]:
    u = streams.uniforms(np.asarray(key), 3 * size).reshape(3, size)
    places = [2 * PADDING + 1, 2 * PADDING + 1, 2]
    return (u * np.array(places)[:, None]).astype(np.int64)
