"""All runs of a declared figure, planted: what the trainer would leave, untrained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import planted_runs

from figures.claims import Claim
from figures.grid import folder
from figures.papers import BY_KEY
from figures.papers.claims import CLAIMS
from figures.scale import CPU
from sfl_train.deep.config import Config

Level = Callable[[Config, np.random.Generator], float]


def plant(key: str, root: Path, accuracy: Level) -> None:
    """Write a finished run for every curve and seed of a figure in the preset cpu.

    Accuracies rise to their level in the first half of the rounds. Measured runs have
    measurements that grow with the cut, and constants.

    Args:
        key: of the figure.
        root: folder of all runs; those that are there stay.
        accuracy: final accuracy in [0, 1] of a run, with a source of noise.
    """
    draws = np.random.default_rng(0)
    for config in BY_KEY[key].configs(CPU):
        if not folder(config, root).exists():
            _write(config, root, accuracy(config, draws))


def _write(config: Config, root: Path, accuracy: float) -> None:
    now = [accuracy * min(1.0, 2 * t / config.rounds) for t in range(config.rounds + 1)]
    records = planted_runs.accuracies(now)
    if config.measure != "off":
        for record in records[::2]:
            record["measured"] = {"cuts": [_measured(cut) for cut in (1, 2, 3, 4)]}
    path = planted_runs.plant(config, root, records, diverged=False)
    if config.measure != "off":
        known = {"S": 2.0, "sigma2": [1.0, 3.0], "G2": 4.0, "eps2": 5.0}
        content = {"constants": known | {"initial_gap": 2.3}}
        (path / "constants.json").write_text(json.dumps(content))
        planted_runs.end(config, path, diverged=False)


def _measured(cut: int) -> dict:
    return {
        "cut": cut,
        "client": {"epsilon2": float(cut)},
        "variance_at_client_per_cut": 1 / cut,
        "variance_across_clients_per_cut": 1 / cut,
    }


def claim_named(name: str) -> Claim:
    """Return a claim of the catalogue."""
    return next(claim for claim in CLAIMS if claim.id == name)
