r"""What a run costs, before it is made: images times operations over a throughput.

Training images are $T\cdot E\cdot q\cdot D$, an evaluated image counts a third, and a
measured round what `sfl_train.deep.measure` says it costs. Operations per image are
counted by PyTorch on the network itself; small networks are bound by the cost of a
step, not of its operations. Both throughputs are rough: they say hours or days, seconds
or minutes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from math import ceil

from sfl_train.deep.config import Config, cadence
from sfl_train.deep.data.named import ENTRIES, Entry

GPU_THROUGHPUT = 5e12
"""Operations per second: han2024 reports about 10 h per curve of 200 rounds, 5 epochs
of CIFAR-10 and ResNet-18 on an A100."""
CORE_THROUGHPUT = 2e10
CORE_LAYER = 1e-4
"""Seconds of a layer in a mini-batch of any size; like the throughput measured on runs
of the preset cpu, on one core of a server of 2023."""
LEAF_IMAGES = 226
"""Images of a writer of FEMNIST, on average (805263 of 3550)."""


@dataclass(frozen=True)
class Work:
    """What a run does.

    Attributes:
        images: processed, in units of a training step's image.
        steps: mini-batches.
        flops: operations of an image's forward and backward pass.
        layers: of the network, with parameters.
    """

    images: float
    steps: float
    flops: int
    layers: int

    @property
    def core_seconds(self) -> float:
        """On one core of a processor."""
        fixed = self.steps * self.layers * CORE_LAYER
        return fixed + self.images * self.flops / CORE_THROUGHPUT

    @property
    def gpu_seconds(self) -> float:
        """On one GPU."""
        return self.images * self.flops / GPU_THROUGHPUT


def work(config: Config) -> Work:
    """Estimate a run.

    Args:
        config: of the run.

    Returns:
        What it does.
    """
    train, test, channels, pixels, classes = _data(config.dataset, config.clients)
    clients = config.clients or 1
    epochs = config.epochs or 1
    if config.tau is not None:
        steps = config.tau * clients * config.participation
        trained = steps * config.batch_size
    else:
        trained = epochs * train * config.participation
        batches = ceil(train / clients / config.batch_size)
        steps = epochs * clients * batches * config.participation
    trained, steps = trained * config.rounds, steps * config.rounds
    evaluations = config.rounds // config.evaluate_every + 1
    flops, layers, blocks = _network(
        config.model, channels, config.classes or classes, pixels, config.width,
        config.depth,
    )  # fmt: skip
    images = trained + evaluations * test / 3 + _measured(config, train, blocks)
    return Work(images, steps + images / 512, flops, layers)


def entry(dataset: str) -> Entry:
    """Return the description of a data set.

    Args:
        dataset: its name.

    Returns:
        Its entry.

    Raises:
        ValueError: if there is none.
    """
    for one in ENTRIES:
        if re.fullmatch(one.pattern, dataset):
            return one
    raise ValueError(f"unknown data set {dataset!r}")


def _data(dataset: str, clients: int | None) -> tuple[int, int, int, int, int]:
    """Return training and test images, channels, pixels and classes."""
    found = entry(dataset)
    given = [int(number) for number in re.findall(r"\d+", dataset.partition(":")[2])]
    if dataset.startswith("synthetic:") and len(given) == 4:
        classes, channels, pixels, train = given
        return train, train // 4, channels, pixels, classes
    channels, pixels, _ = (int(number) for number in found.shape.split("x"))
    sizes = [int(number) for number in re.findall(r"\d+", found.images)]
    if len(sizes) != 2:
        train = LEAF_IMAGES * (clients or 3550)
        sizes = [train, train // 9]
    return sizes[0], sizes[1], channels, pixels, int(found.classes)


def _measured(config: Config, train: int, blocks: int) -> float:
    if not config.measure.startswith("every="):
        return 0.0
    from sfl_train.deep.measure.measurement import cost_of_one

    return cost_of_one(train, blocks) * (1 + config.rounds // cadence(config.measure))


@cache
def _network(
    model: str,
    channels: int,
    classes: int,
    pixels: int,
    width: float,
    depth: int | None,
) -> tuple[int, int, int]:
    """Return an image's operations, counted without storage; layers and blocks."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from sfl_train.deep.models.named import build

    with torch.device("meta"):
        network = build(model, channels, classes, pixels, width=width, blocks=depth)
        images = torch.zeros(2, channels, pixels, pixels)
    with FlopCounterMode(display=False) as counter:
        network.blocks(images).sum().backward()
    layers = [m for m in network.blocks.modules() if m._parameters]
    blocks = [b for b in network.blocks if list(b.parameters())]
    return counter.get_total_flops() // 2, len(layers), len(blocks)
