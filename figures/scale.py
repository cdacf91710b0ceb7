r"""The two sizes of every figure: the papers', and one that two cores can make.

``cpu`` keeps what a claim is about (algorithm, cut, heterogeneity, participation, order
of the options) and scales what costs: images are generated, the network is a ResNet-18
with one block per stage and a sixteenth of the channels, and clients, rounds, epochs
and batches shrink by fixed tables. No figure has a rule of its own, so none can be
tuned. Sizes follow from a budget, hardness from a rule that looks at no claim:

- *budget*: all figures at five seeds in 45 minutes of two cores. Hence the numbers of
  images and pixels, and batches of 32;
- *rate*: with twice the batch, half the steps are made at twice the rate (Goyal et al.
  2017, arXiv 1706.02677);
- *hardness*: a task near chance or near 1 shows no difference between methods. One
  noise for all data, of 25, 35 and 50 percent the one at which FedAvg in the default
  setup of ``han2024`` ends nearest to the middle between chance and 1, on average over
  the data sets. FedAvg's own level is no claim's effect, and its seeds (1000, 1001) are
  no figure's. ``python -m figures.hardness`` repeats it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Preset:
    """A size.

    Attributes:
        name: "paper" or "cpu".
        seeds: of the runs behind every curve.
        words: what the size is.
        measure_every: cadence of measured runs, in rounds.
    """

    name: str
    seeds: tuple[int, ...]
    words: str
    measure_every: int

    @property
    def caption(self) -> str:
        """What every picture of this size says of itself."""
        first, last = self.seeds[0], self.seeds[-1]
        which = f" ({first}-{last})" if first else ""
        return f"preset {self.name}: {self.words}, {len(self.seeds)} seeds{which}"

    @property
    def options(self) -> str:
        """What on the command line asks for it."""
        seeds = f" --seeds {self.seeds[0]}-{self.seeds[-1]}"
        return f"--preset {self.name}{seeds if self.seeds != SEEDS else ''}"


SEEDS = (0, 1, 2, 3, 4)
"""Unless others are asked for."""


PAPER = Preset("paper", SEEDS, "the paper's sizes", 10)
CPU = Preset(
    "cpu",
    SEEDS,
    "not the paper's experiment; scaled-down network on generated images, few rounds",
    2,
)
PRESETS = {preset.name: preset for preset in (PAPER, CPU)}

NOISE = 35
"""Of generated images, in percent of the range of intensities; see *hardness*."""
DATASETS = {
    paper: f"synthetic:{shape}:{NOISE}"
    for paper, shape in (
        ("cifar10", "10x3x12:400"),
        ("cifar100", "20x3x12:500"),
        ("fashion-mnist", "10x1x12:400"),
        ("femnist", "20x1x12:500"),
        ("ham10000", "7x3x12:400"),
        ("tiny-imagenet", "20x3x12:500"),
    )
}
CLIENTS = {10: 5, 50: 10, 100: 20}
ROUNDS = {100: 10, 200: 10, 300: 10, 500: 10, 60: 10}
EPOCHS = {1: 1, 2: 1, 5: 2, 10: 4}
BATCH = 32
"""No mini-batch is larger."""
LEARNING_RATE = 6.0
"""Factor on SGD's rate: a few hundredths of the steps are made; see *rate*."""
NATURAL = "dirichlet:0.3"
"""Stands in for a partition by writer or lesion, which generated images lack."""


def scaled(options: Mapping[str, Any], preset: Preset) -> dict[str, Any]:
    """Return the options of a run in a preset's size.

    Args:
        options: in the paper's sizes; ``measure`` may be "paper", meaning the
            preset's cadence.
        preset: the size.

    Returns:
        Options for `sfl_train.deep.config.resolve`.

    Raises:
        ValueError: if the tables do not know a size.
    """
    chosen = dict(options)
    if chosen.get("measure") == "paper":
        chosen["measure"] = f"every={preset.measure_every}"
    if preset.name == "paper":
        return chosen
    try:
        chosen["dataset"] = DATASETS[chosen["dataset"]]
        chosen["rounds"] = ROUNDS[chosen["rounds"]]
        chosen["epochs"] = EPOCHS[chosen["epochs"]]
        if chosen.get("clients") is not None:
            chosen["clients"] = CLIENTS[chosen["clients"]]
    except KeyError as missing:
        raise ValueError(f"the cpu preset has no size for {missing}") from missing
    if chosen["partition"] == "natural":
        chosen["partition"], chosen["clients"] = NATURAL, CLIENTS[100]
    if chosen["model"].startswith("resnet"):
        chosen |= {"model": "resnet18", "width": 1 / 16, "depth": 1}
    else:
        chosen |= {"width": 1 / 8}
    if chosen.get("optimizer", "sgd") == "sgd":
        chosen["lr"] *= LEARNING_RATE
    chosen["batch_size"] = min(chosen["batch_size"], BATCH)
    chosen["augmentation"] = "none"
    return chosen
