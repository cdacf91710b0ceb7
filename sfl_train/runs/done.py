"""The end of a run: its summary, and digests by which a later change is noticed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sfl_theory.user_files import FileError, exists, ordinary_size
from sfl_train.runs.files import RunError, read_json

NAME = "done"
LOG = "metrics.jsonl"
RESULTS = (LOG, "partition.json", "bytes.json", "model.safetensors")
"""What every run leaves behind."""
MEASURED = "constants.json"
"""What a measured run leaves behind as well."""
LARGEST = 1e300
"""Of a score."""
RECENT = 2.0
"""Seconds in which two changes of a file may bear the same time."""


@dataclass(frozen=True)
class Done:
    """How a run ended.

    Attributes:
        summary: hash, rounds, whether it diverged, and the last scores if not.
        note: what cannot be known about an older folder, in one line; or empty.
    """

    summary: Mapping[str, Any]
    note: str = ""


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of a run's results.

    Args:
        folder: of the run.

    Returns:
        By the name of the file; `MEASURED` only where it is there.
    """
    names = [*RESULTS, *([MEASURED] if (folder / MEASURED).exists() else [])]
    return {name: _digest(folder / name) for name in names}


def read_done(folder: Path, run_hash: str) -> Done | None:
    """Return how a run ended, if it has and all that it left behind is still that.

    Args:
        folder: of the run.
        run_hash: of its configuration.

    Returns:
        The end; None of an unfinished run.

    Raises:
        RunError: if the summary is none of this run, or a result is missing or changed.
    """
    path = folder / NAME
    if not exists(path):
        return None
    found = read_json(path)
    summary = dict(found) if isinstance(found, dict) else {}
    files = summary.pop("files", None)
    if not _fits(summary, run_hash) or not _is_digests(files):
        raise RunError(
            f"{path}: damaged: it is no summary of this run; remove it, and the "
            "same command writes it again"
        )
    names = RESULTS if files is None else tuple(files)
    missing = [name for name in names if not exists(folder / name)]
    if missing:
        raise RunError(
            f"{folder}: {_and(missing)} missing though the run has ended; "
            f"{_remedy(path, missing)}"
        )
    if files is None:
        return Done(
            summary,
            f"{path}: written by an earlier version, without digests: whether the "
            "results were changed since cannot be known",
        )
    changed = [name for name, one in files.items() if _digest(folder / name) != one]
    if changed:
        raise RunError(
            f"{folder}: {_and(changed)} changed since the run ended; "
            f"{_remedy(path, changed)}"
        )
    return Done(summary)


def nobody(folder: Path) -> bool:
    """Return whether no client took part in any round of an ended run.

    Args:
        folder: of the run.
    """
    content = read_json(folder / "bytes.json")
    total = content.get("total") if isinstance(content, dict) else None
    return isinstance(total, dict) and total.get("rounds") == 0


def _fits(summary: Mapping[str, Any], run_hash: str) -> bool:
    """Return whether a summary is one of this run; a diverged one has no scores."""
    rounds, diverged = summary.get("rounds"), summary.get("diverged", False)
    scores = [summary.get(name) for name in ("test_accuracy", "test_loss")]
    return (
        summary.get("hash") == run_hash
        and type(rounds) is int
        and rounds >= 0
        and type(diverged) is bool
        and "diverged" in summary
        and (diverged or all(map(_finite, scores)))
    )


def _finite(value: Any) -> bool:
    return type(value) in {int, float} and -LARGEST < value < LARGEST


def _is_digests(files: object) -> bool:
    """Return whether digests are those of a run's results, or absent."""
    if files is None:
        return True
    return isinstance(files, dict) and {*RESULTS} <= files.keys() <= {
        *RESULTS,
        MEASURED,
    }


def _and(names: list[str]) -> str:
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"


def _remedy(path: Path, names: list[str]) -> str:
    if LOG in names:
        return "remove the folder to make the run again"
    return f"remove {path}, and the same command makes it again"


def _digest(path: Path) -> str:
    try:
        ordinary_size(path)
        found = path.stat()
        if time.time() - found.st_mtime < RECENT:
            return _of_content.__wrapped__(path)
        return _of_content(path, found.st_ino, found.st_mtime_ns, found.st_size)
    except FileError as error:
        raise RunError(str(error)) from error
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from error


@lru_cache(maxsize=4096)
def _of_content(path: Path, *version: int) -> str:
    """Return a file's digest, taken once for every version of it."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
