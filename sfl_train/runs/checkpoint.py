r"""Checkpoints: all that the next round depends on, in one safetensors file each.

The file's header carries the run's hash, the round, the length of the metrics, the
memory format and a digest of all these and all tensors, so that a damaged file or one
of another run is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import safetensors
import torch
from safetensors.torch import load_file, save
from torch import Tensor

from sfl_theory.user_files import FileError, ordinary_size
from sfl_train.runs.files import RunError, write_whole

KEPT = 2


@dataclass(frozen=True)
class Checkpoint:
    """A state between two rounds.

    Attributes:
        round: number of rounds made.
        position: length of the metrics file in bytes.
        tensors: by name.
        channels_last: order in which convolutions lie in the vectors of parameters.
    """

    round: int
    position: int
    tensors: Mapping[str, Tensor]
    channels_last: bool = False


def write(folder: Path, lineage: str, checkpoint: Checkpoint) -> None:
    """Write a checkpoint and remove those before the last two.

    Args:
        folder: of the checkpoints; made if missing.
        lineage: of the run: its hash but for the number of rounds.
        checkpoint: the state.

    Raises:
        RunError: if the disk refuses.
    """
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder}: cannot be made ({error.strerror})") from error
    tensors = {k: v.detach().cpu().contiguous() for k, v in checkpoint.tensors.items()}
    header = {
        "run": lineage,
        "round": str(checkpoint.round),
        "position": str(checkpoint.position),
        "channels_last": str(checkpoint.channels_last),
    }
    header["digest"] = digest(tensors, header)
    write_whole(_path(folder, checkpoint.round), save(tensors, metadata=header))
    for old in _files(folder)[:-KEPT]:
        with suppress(OSError):
            old.unlink()


def latest(folder: Path, *known: str) -> Checkpoint | None:
    """Return the newest checkpoint.

    Args:
        folder: of the checkpoints.
        *known: lineage of the run that is to go on, and its hash, which stands in
            checkpoints of earlier versions.

    Returns:
        The checkpoint, or None if there is none.

    Raises:
        RunError: if the newest one is damaged or of another run; it is not touched.
    """
    files = _files(folder)
    if not files:
        return None
    path = files[-1]
    hint = (
        f"remove it to go on from {files[-2].name}"
        if len(files) > 1
        else "remove it to start over"
    )
    try:
        ordinary_size(path)
        with safetensors.safe_open(str(path), framework="pt") as opened:
            header = opened.metadata() or {}
        tensors = load_file(str(path))
    except (OSError, FileError, safetensors.SafetensorError) as error:
        raise RunError(f"{path}: damaged ({error}); {hint}") from error
    if header.get("run") not in known:
        raise RunError(f"{path}: belongs to another run; {hint}")
    if "channels_last" not in header:
        raise RunError(
            f"{path}: damaged, or written by an earlier version; remove it and those "
            "beside it to start over"
        )
    signed = {key: value for key, value in header.items() if key != "digest"}
    if header.get("digest") != digest(tensors, signed):
        raise RunError(f"{path}: damaged (its digest differs); {hint}")
    return Checkpoint(
        int(header["round"]),
        int(header["position"]),
        tensors,
        header["channels_last"] == "True",
    )


def digest(tensors: Mapping[str, Tensor], header: Mapping[str, str]) -> str:
    """Return a hash of a header and of the tensors' names, types, shapes and bits."""
    total = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        total.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        total.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("round-*.safetensors"))


def _path(folder: Path, round: int) -> Path:
    return folder / f"round-{round:08d}.safetensors"
