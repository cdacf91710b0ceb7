"""``partition.json``: which client holds which samples, and how they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfl_train.index_lists import digest
from sfl_train.partition import Indices, heterogeneity
from sfl_train.runs.files import RunError, read_json
from sfl_train.runs.folder import RunFolder


def keep_partition(
    folder: RunFolder, labels: NDArray[np.int64], parts: Sequence[Indices]
) -> None:
    """Write ``partition.json``, or see that the run began with the same one.

    The configuration's hash knows the name of a file of index lists or of a data set,
    not its content.

    Args:
        folder: of the run.
        labels: classes of all training samples.
        parts: samples of every client.

    Raises:
        RunError: if the run began with another partition.
    """
    mine = partition_record(folder.config.partition, labels, parts)
    path = folder.path / "partition.json"
    if path.exists():
        found = read_json(path)
        if not isinstance(found, dict) or found.get("clients") != mine["clients"]:
            raise RunError(
                f"{path}: the run began with another partition; the data or the file "
                f"of --partition {mine['partition']} changed: choose another folder"
            )
    folder.write_json(path.name, mine)


def partition_record(
    spec: str, labels: NDArray[np.int64], parts: Sequence[Indices]
) -> dict[str, Any]:
    """Return the content of the file.

    Args:
        spec: the partition as asked for.
        labels: classes of all training samples.
        parts: samples of every client.

    Returns:
        Index lists and their SHA-256 (see `digest`), sizes, the number of samples that
        no client holds, label histograms, total-variation distances to the pool.
    """
    found = heterogeneity(labels, parts)
    sizes = [len(part) for part in parts]
    return {
        "partition": spec,
        "sha256": digest(parts),
        "unused": len(labels) - sum(sizes),
        "clients": [part.tolist() for part in parts],
        "sizes": sizes,
        "label_histograms": found.histograms.tolist(),
        "total_variation": np.round(found.total_variation, 12).tolist(),
    }
