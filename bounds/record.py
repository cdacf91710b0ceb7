"""Writing what was found: whole files or nothing, and refused before the work."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from bounds.audited import Audited
from bounds.comparison import Comparison
from bounds.plot import picture
from sfl_train.files import replace_file

PACKAGES = ("torch", "numpy", "scipy", "sympy", "matplotlib", "scikit-learn")


def write_json(path: Path, comparisons: Sequence[Comparison]) -> None:
    """Write one JSON array with one object per compared bound.

    Args:
        path: the file; replaced as a whole (where it is a link, what it points to).
        comparisons: in the order of the array.
    """
    _replace(path, _json([item.as_dict() for item in comparisons]))


def write_csv(path: Path, comparisons: Sequence[Comparison]) -> None:
    """Write curves and bounds as a table, one row per bound and round.

    Args:
        path: the file; replaced as a whole (where it is a link, what it points to).
        comparisons: in the order of the rows.
    """
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for item in comparisons:
        band, floor = item.band, item.floor
        columns = band.rounds, band.mean, band.low, band.high, item.values, item.unit
        for *numbers, unit in zip(*(c.tolist() for c in columns), strict=True):
            known = None if floor is None else floor.value * unit
            named = item.theorem.key, item.case, item.bound.version
            rows.writerow([*named, item.bound.metric.key, *numbers, known, unit])
    _replace(path, text.getvalue())


COLUMNS = (
    "theorem", "case", "version", "metric", "round", "measured_mean", "ci_low",
    "ci_high", "bound", "floor", "unit",
)  # fmt: skip
"""Of ``write_csv``; "unit" is the mean learning rate where the metric is weighted by
it, else 1."""


def write_folder(
    folder: Path,
    comparisons: Sequence[Comparison],
    audits: Mapping[str, Audited] = MappingProxyType({}),
) -> Path:
    """Write picture, JSON and one run record per case.

    The folder gets ``compare.png``, ``compare.pdf``, ``compare.json`` and for each run
    a record: ``config.json`` (resolved, with its hash), ``environment.json``,
    ``partition.json``, ``constants.json``, ``metrics.jsonl`` (one object per shown
    round), and ``done``, written last.

    Args:
        folder: made if absent; files in it are replaced as wholes.
        comparisons: what to write.
        audits: case -> what the ledger says of it, for the picture.

    Returns:
        Path of the picture.
    """
    # Inside the folder: what lies beside it may be another file system, or closed.
    fresh = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".staging-", dir=folder))
    try:
        drawn = picture(comparisons, audits)
        drawn.savefig(staging / "compare.png", dpi=150)
        drawn.savefig(staging / "compare.pdf")
        write_json(staging / "compare.json", comparisons)
        written: set[tuple[int, str]] = set()
        for item in comparisons:
            found = item.measurement
            run = id(found.rounds), found.metric.key
            if run not in written:
                written.add(run)
                taken = (staging / item.case).exists()
                name = f"{item.case}-{item.bound.version}" if taken else item.case
                _write_run(staging / name, item)
        _move_into(staging, folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        if fresh and not any(folder.iterdir()):
            folder.rmdir()
    return folder / "compare.png"


def environment() -> dict[str, Any]:
    """Return versions of Python, platform and packages."""
    versions = {}
    for name in (*PACKAGES, "sfl-verify"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "packages": versions,
    }


def _write_run(folder: Path, item: Comparison) -> None:
    folder.mkdir()
    found = item.measurement
    config = found.setting.record(found.schedule)
    digest = hashlib.sha256(_json(config).encode()).hexdigest()
    met = found.trajectory
    shares = {} if met is None else {
        "client_share_by_cut": {
            "unit": "entry k: the first k coordinates; mean over rounds, seeds and "
            "clients (weights a_n)",
            "variance": met.client_sigma2_mean.tolist(),
            "divergence": met.client_eps2_mean.tolist(),
        }
    }  # fmt: skip
    files: Mapping[str, Any] = {
        "config.json": {**config, "hash": digest},
        "environment.json": environment(),
        "partition.json": [
            np.array(part).tolist() for part in found.setting.instance.parts or ()
        ],
        "constants.json": {
            "bound": found.constants.as_dict(),
            "along_trajectory": found.along.as_dict(),
            **shares,
        },
    }
    for name, content in files.items():
        (folder / name).write_text(_json(content), encoding="utf-8")
    lines = [
        json.dumps({
            "round": int(T),
            "metric": item.bound.metric.key,
            "mean": float(np.mean(curve)),
            "per_seed": curve.tolist(),
        })
        for T, curve in zip(found.rounds, found.curve, strict=True)
    ]
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "done").write_text("", encoding="utf-8")


def _move_into(staging: Path, folder: Path) -> None:
    """Move every file of the staging folder to its place, ``done`` files last."""
    files = sorted(
        (path for path in staging.rglob("*") if path.is_file()),
        key=lambda path: (path.name == "done", str(path)),
    )
    for path in files:
        target = folder / path.relative_to(staging)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, target)


def _replace(path: Path, content: str) -> None:
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content.encode())


def _json(content: Any) -> str:
    return json.dumps(content, indent=1, allow_nan=False) + "\n"
