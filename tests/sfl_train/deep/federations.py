"""Small federations of images for the tests of deep training."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import torch

from sfl_train.deep.data.images import Images
from sfl_train.deep.data.store import Store
from sfl_train.deep.federation import DeepFederation, LocalWork, Participation
from sfl_train.deep.flat import FlatModel
from sfl_train.deep.models.named import build
from sfl_train.deep.worker import Worker

CLASSES, PIXELS = 4, 16


def images(seed: int = 0, count: int = 44, channels: int = 3) -> Images:
    rng = np.random.default_rng(seed)
    shape = (channels, PIXELS, PIXELS)
    return Images(
        name="toy",
        train_x=rng.integers(0, 256, (count, *shape), dtype=np.uint8),
        train_y=rng.integers(0, CLASSES, count),
        test_x=rng.integers(0, 256, (9, *shape), dtype=np.uint8),
        test_y=rng.integers(0, CLASSES, 9),
        classes=CLASSES,
        mean=(0.5,) * channels,
        std=(0.25,) * channels,
    )


@dataclass(frozen=True)
class Toy:
    """Unequal clients (the last batch of an epoch is smaller) and a small network."""

    model: str = "resnet18"
    norm: str | None = None
    sizes: tuple[int, ...] = (7, 11, 14)
    work: LocalWork = field(default_factory=lambda: LocalWork(epochs=1, batch_size=6))
    participation: Participation | None = None
    augmentation: str = "crop-flip"
    weights: str = "size"
    dtype: torch.dtype = torch.float32
    channels_last: bool = False
    seed: int = 3

    def network(self):
        width = 1 / 16 if self.model != "mlp" else 1 / 8
        blocks = 1 if self.model.startswith("resnet") else None
        return build(
            self.model, 3, CLASSES, PIXELS, norm=self.norm, width=width,
            blocks=blocks, seed=self.seed,
        )  # fmt: skip

    def worker(self) -> Worker:
        blocks = self.network().blocks.to(self.dtype)
        return Worker(FlatModel(blocks, channels_last=self.channels_last))

    def federation(self, ids=None) -> DeepFederation:
        bounds = np.cumsum((0, *self.sizes))
        parts = [np.arange(a, b) for a, b in pairwise(bounds)]
        store = Store(
            images(count=int(bounds[-1])),
            dtype=self.dtype,
            augmentation=self.augmentation,
            channels_last=self.channels_last,
        )
        return DeepFederation(
            store, parts, self.work, self.participation, self.weights, self.seed, ids
        )


def trained(run, rounds: int = 2, rates=None):
    """Return the model after some rounds, as one vector with its buffers."""
    from sfl_train.deep.algorithms.run import Rates

    for t in range(rounds):
        run.round(t, rates or Rates(0.05, 0.05))
    return run.state


def same(a, b) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a.vectors, b.vectors, strict=True))
