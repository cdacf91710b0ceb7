r"""Does "accuracy rises with Lc" for SFL-V1 vanish when the server keeps its optimizer?

The released scripts of han2024 build the server's optimizer anew at every mini-batch,
so the server side makes plain SGD steps while the clients keep momentum, and the later
the cut the more of the model has momentum. Here everything else is as in Algorithm 1;
only the server's optimizer changes:

- ``step``: rebuilt at every mini-batch, as released;
- ``step-scaled``: the same with the server's rate divided by $1-\beta$, the step
  that momentum makes in the long run;
- ``round``: kept within a round, as the clients keep theirs;
- ``run``: never rebuilt.

With ``round`` the cut changes no bit of SFL-V1, so its slope is zero in every seed:
that is verified on the models of one seed at every cut, and the other seeds are
trained at one cut only.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from figures import grid
from sfl_train.deep.config import Config, resolve

CUTS = (1, 2, 3, 4)
SEEDS = tuple(range(8))
LAST = 3
"""Evaluations whose mean is the final accuracy."""

SETTING = {
    "algorithm": "sfl-v1",
    "model": "resnet18",
    "width": 0.125,
    "depth": 1,
    "dataset": "synthetic:10x3x16:1000",
    "partition": "dirichlet:0.3",
    "clients": 10,
    "epochs": 1,
    "batch_size": 32,
    "rounds": 20,
    "lr": 0.03,
    "momentum": 0.9,
    "weight_decay": 5e-4,
}
"""Rate, epochs and partition come from five runs of the arm ``round`` with seed 1000,
which is not among the seeds, so that it ends neither near chance nor near 1; no other
arm was run before the design was fixed."""

ARMS = {
    "step": {"server_lifetime": "step"},
    "step-scaled": {"server_lifetime": "step", "lr_server": 0.3},
    "round": {"server_lifetime": "round"},
    "run": {"server_lifetime": "run"},
}

LABELS = {
    "step": "rebuilt at every mini-batch (released)",
    "step-scaled": "rebuilt, server's rate times 10",
    "round": "kept within the round (FedAvg)",
    "run": "never rebuilt",
}


def config(arm: str, cut: int, seed: int) -> Config:
    """Return the configuration of one run.

    Args:
        arm: key of ``ARMS``.
        cut: $L_c$.
        seed: shared by all arms and cuts.

    Returns:
        The configuration.
    """
    return resolve("paper", SETTING, ARMS[arm], {"cut": cut, "seed": seed})


def cells() -> list[tuple[str, int, int]]:
    """Return arm, cut and seed of every run, those of the invariance first."""
    chosen = [("round", cut, SEEDS[0]) for cut in CUTS]
    for seed in SEEDS:
        chosen += [
            (arm, cut, seed)
            for arm in ARMS
            for cut in (CUTS if arm != "round" else CUTS[:1])
        ]
    return list(dict.fromkeys(chosen))


def check_invariance(root: Path) -> None:
    """See that the cut changed no bit of the models of the arm ``round``.

    Args:
        root: folder of all runs.

    Raises:
        ValueError: if two cuts end with different models.
    """
    models = {
        (grid.folder(config("round", cut, SEEDS[0]), root) / "model.safetensors")
        .read_bytes()
        for cut in CUTS
    }  # fmt: skip
    if len(models) != 1:
        raise ValueError(
            "SFL-V1 whose server keeps its optimizer within a round depends on the cut"
        )


def accuracies(root: Path) -> dict[str, NDArray[np.float64]]:
    """Return final accuracies by arm, shape (seeds, cuts).

    Args:
        root: folder of all runs.

    Returns:
        One array per arm; that of ``round`` repeats its one cut, see
        `check_invariance`.
    """
    return {
        arm: np.array([
            [
                grid.final(
                    config(arm, cut if arm != "round" else CUTS[0], seed),
                    root,
                    "test_accuracy",
                    LAST,
                )
                for cut in CUTS
            ]
            for seed in SEEDS
        ])
        for arm in ARMS
    }
