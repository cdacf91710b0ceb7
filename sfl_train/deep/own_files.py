"""Files of the user's own that a run depends on: a network, a data set.

A path says nothing about what stands there, so the digests of such files are part of
what a run is.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from sfl_theory.user_files import ARRAYS, TEXT, read_bytes

MODEL = re.compile(r"(.+\.py):(\w+)")
"""``FILE.py:FUNCTION``."""
DATASET = "npz:"
"""Beginning of ``npz:FILE``."""


def own_model(model: str) -> tuple[Path, str] | None:
    """Return file and function that make a network, or None if it is one of ours.

    Args:
        model: the option.
    """
    match = MODEL.fullmatch(model)
    return (Path(match[1]), match[2]) if match else None


def own_dataset(dataset: str) -> Path | None:
    """Return the file that holds a data set, or None if it is a known one.

    Args:
        dataset: the option.
    """
    path = dataset.removeprefix(DATASET)
    return Path(path) if path not in {dataset, ""} else None


def digests(model: str, dataset: str) -> str | None:
    """Return the digests of the files that two options name, in one line.

    Args:
        model: the option.
        dataset: the option.

    Returns:
        Name and SHA-256 of each; None if they name no file.

    Raises:
        ValueError: if a file cannot be read; the option is named.
    """
    found, network, data = [], own_model(model), own_dataset(dataset)
    if network is not None:
        found.append(f"model {_digest('--model', network[0], TEXT)}")
    if data is not None:
        found.append(f"dataset {_digest('--dataset', data, ARRAYS)}")
    return ", ".join(found) or None


def _digest(option: str, path: Path, most: int) -> str:
    try:
        return hashlib.sha256(read_bytes(path, most)).hexdigest()
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from error
