"""Small problem files that the tests of ``bounds`` share."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def quadratic_file(
    path: Path,
    clients: int = 3,
    dimension: int = 4,
    mu: float = 1.0,
    noise: float = 0.1,
    spread: float = 1.0,
    seed: int = 0,
    **changes: object,
) -> Path:
    """Write a random quadratic with smallest eigenvalue at least ``mu``."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(clients, dimension, dimension))
    arrays = {
        "H": A @ A.transpose(0, 2, 1) / dimension + mu * np.eye(dimension),
        "b": spread * rng.normal(size=(clients, dimension)),
        "x0": np.ones(dimension),
        "cut": np.array(2),
        "noise": np.full(clients, noise),
    }
    arrays.update(changes)
    np.savez(path, **{k: np.asarray(v) for k, v in arrays.items() if v is not None})
    return path
