r"""What a run costs, before it is made: images times operations over a throughput.

Training images are $T\cdot E\cdot q\cdot D$, an evaluated image counts a third, and a
measured round what `sfl_train.deep.measure` says it costs. Operations per image are
counted by PyTorch on the network itself; small networks are bound by the cost of a
step, not of its operations. PyTorch takes seconds to load, so the networks of the
declared figures are counted once: `figures.networks` holds the numbers,
``python -m figures.estimate`` writes it anew, and a test counts again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cache
from math import ceil
from pathlib import Path

from figures.networks import NETWORKS
from sfl_train.deep.config import Config, cadence
from sfl_train.deep.data.named import ENTRIES, Entry
from sfl_train.deep.measure.cost import cost_of_one

GPU_THROUGHPUT = 5e12
"""Operations per second: han2024 reports about 10 h per curve of 200 rounds, 5 epochs
of CIFAR-10 and ResNet-18 on an A100."""
CORE_THROUGHPUT = 9e9
CORE_LAYER = 2.2e-4
"""Seconds of a layer in a mini-batch of any size."""
CORE_RUN = 0.5
"""Seconds of a run's data, partition, network and files."""
CORE_START = 6.0
"""Seconds until a process that makes runs has loaded what it needs. All four numbers
are processor time of the preset cpu on one core of a server of 2023, measured."""
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
        """On one core of a processor, in a process that has started."""
        fixed = CORE_RUN + self.steps * self.layers * CORE_LAYER
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
    train, test, *_ = _data(config.dataset, config.clients)
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
    flops, layers, blocks = network(shape(config))
    images = trained + evaluations * test / 3 + _measured(config, train, blocks)
    return Work(images, steps + images / 512, flops, layers)


@dataclass(frozen=True)
class Shape:
    """What a network's cost depends on; options of `sfl_train.deep.models.named`."""

    model: str
    channels: int
    classes: int
    pixels: int
    width: float
    depth: int | None

    @property
    def name(self) -> str:
        """In the file."""
        return " ".join(str(value) for value in astuple(self))


def shape(config: Config) -> Shape:
    """Return the network of a run."""
    _, _, channels, pixels, classes = _data(config.dataset, config.clients)
    return Shape(
        config.model,
        channels,
        config.classes or classes,
        pixels,
        config.width,
        config.depth,
    )


def core_seconds(configs: Sequence[Config], jobs: int = 1) -> float:
    """Return the processor time of runs on cores, start-up included.

    Args:
        configs: of the runs.
        jobs: number of processes.

    Returns:
        Seconds, of all processes together.
    """
    if not configs:
        return 0.0
    return min(jobs, len(configs)) * CORE_START + sum(
        work(config).core_seconds for config in configs
    )


def gpu_hours(configs: Sequence[Config]) -> float:
    """Return the time of runs on one GPU."""
    return sum(work(config).gpu_seconds for config in configs) / 3600


def in_words(configs: Sequence[Config], preset: str, jobs: int | None) -> str:
    """Return what runs cost, in words.

    Args:
        configs: of the runs.
        preset: name of the size.
        jobs: number of processes; None: as many as there are cores.

    Returns:
        Hours on a GPU in the papers' sizes, else minutes on cores.
    """
    if preset == "paper":
        return f"about {gpu_hours(configs):.0f} h on one GPU"
    processes = jobs or len(os.sched_getaffinity(0))
    seconds = core_seconds(configs, processes)
    return (
        f"about {seconds / 60:.1f} min of processor time, "
        f"{seconds / 60 / processes:.1f} min on {processes} idle cores"
    )


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
    if dataset.startswith("synthetic:") and len(given) >= 4:
        classes, channels, pixels, train = given[:4]
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
    return cost_of_one(train, blocks) * (1 + config.rounds // cadence(config.measure))


def network(shape: Shape) -> tuple[int, int, int]:
    """Return what a network costs, as it was counted if it is a declared one.

    Args:
        shape: of the network.

    Returns:
        Operations of an image; layers and blocks with parameters.
    """
    return NETWORKS.get(shape.name) or counted(shape)


@cache
def counted(shape: Shape) -> tuple[int, int, int]:
    """Return what a network costs, counted without storage.

    Args:
        shape: of the network.

    Returns:
        Operations of an image; layers and blocks with parameters.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from sfl_train.deep.models.named import build

    with torch.device("meta"):
        made = build(
            shape.model,
            shape.channels,
            shape.classes,
            shape.pixels,
            width=shape.width,
            blocks=shape.depth,
        )
        images = torch.zeros(2, shape.channels, shape.pixels, shape.pixels)
    with FlopCounterMode(display=False) as counter:
        made.blocks(images).sum().backward()
    layers = [m for m in made.blocks.modules() if m._parameters]
    blocks = [b for b in made.blocks if list(b.parameters())]
    return counter.get_total_flops() // 2, len(layers), len(blocks)


def shapes() -> set[Shape]:
    """Return the networks of all declared figures, in both sizes."""
    from figures.papers import FIGURES
    from figures.scale import PRESETS

    return {
        shape(config)
        for figure in FIGURES
        for preset in PRESETS.values()
        for config in figure.configs(preset)
    }


if __name__ == "__main__":
    lines = sorted(f'    "{one.name}": {counted(one)},\n' for one in shapes())
    Path(__file__).with_name("networks.py").write_text(
        '"""Operations, layers and blocks by a network\'s shape.\n\n'
        'Written by ``python -m figures.estimate``; do not edit.\n"""\n\n'
        "NETWORKS: dict[str, tuple[int, int, int]] = {\n" + "".join(lines) + "}\n"
    )
