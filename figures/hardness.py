r"""``python -m figures.hardness``: the noise of generated images, by `figures.scale`.

FedAvg is trained in the default setup of ``han2024``, at the size of the preset cpu, on
every generated data set with every noise of a ladder of factors $\sqrt2$, with seeds
that no figure uses. Of the noises, the rule takes the one whose final accuracies are
nearest to the middle between chance and 1 on average. No other method is run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from figures import grid
from figures.papers.han2024 import SETUP
from figures.scale import CPU, DATASETS, NOISE, scaled
from sfl_theory.command import CommandError, Parser, run
from sfl_train.deep.config import Config, resolve

LADDER = (25, NOISE, 50)
SEEDS = (1000, 1001)
LAST = 3
"""Evaluations whose mean is the final accuracy."""


def config(dataset: str, noise: int, seed: int) -> Config:
    """Return a run.

    Args:
        dataset: the paper's, for which generated images stand in.
        noise: of these, in percent.
        seed: of the run.

    Returns:
        FedAvg in the default setup.
    """
    options = {**SETUP, "dataset": dataset, "algorithm": "fedavg", "seed": seed}
    found = resolve("paper", scaled(options, CPU))
    shape = found.dataset.rpartition(":")[0]
    return replace(found, dataset=f"{shape}:{noise}")


def configs(noise: int) -> list[Config]:
    """Return all runs with a noise, each once."""
    found = [config(dataset, noise, seed) for dataset in DATASETS for seed in SEEDS]
    return list({one.hash: one for one in found}.values())


def middle(one: Config) -> float:
    """Return the accuracy half-way between chance and 1."""
    classes = int(one.dataset.split(":")[1].split("x")[0])
    return (1 + 1 / classes) / 2


def distance(noise: int, root: Path) -> float:
    """Return how far final accuracies are from the middle.

    Args:
        noise: of the images, in percent.
        root: folder of all runs.

    Returns:
        Mean absolute distance over data sets and seeds.
    """
    return float(
        np.mean([
            abs(grid.final(one, root, "test_accuracy", LAST) - middle(one))
            for one in configs(noise)
        ])
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: command line without the program's name; None: the real one.

    Returns:
        The exit status.
    """
    parser = Parser(
        prog="python -m figures.hardness",
        description="Train FedAvg at every noise and say which one the rule takes.",
    )
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="run folders")
    parser.add_argument("--quiet", action="store_true", help="no live progress")
    return run(parser, _work, arguments)


def _work(options: argparse.Namespace) -> int:
    found = {}
    try:
        for noise in LADDER:
            grid.make(configs(noise), options.runs, options.quiet)
            found[noise] = distance(noise, options.runs)
            print(f"noise {noise} %: {100 * found[noise]:.1f} points from the middle")
    except ValueError as error:
        raise CommandError(str(error)) from error
    print(f"the rule takes {min(found, key=found.__getitem__)} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
