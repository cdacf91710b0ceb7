"""Writing the comparison of finished runs with a bound; the run folders stay as are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bounds.audited import Audited
from bounds.plot import picture
from bounds.record import write_json
from bounds.run_comparison import RunComparison
from sfl_train.files import replace_file


def write_run_folder(
    folder: Path,
    comparisons: Sequence[RunComparison],
    audits: Mapping[str, Audited] = MappingProxyType({}),
) -> Path:
    """Write picture, JSON, and per case the options and curves that were compared.

    The folder gets ``compare.png``, ``compare.pdf``, ``compare.json`` and, in a folder
    called like the case, ``config.json``, ``constants.json`` (of every run) and
    ``metrics.jsonl`` (the left side of every run). Every file is replaced as a whole.

    Args:
        folder: made if absent.
        comparisons: of one case; they share their runs.
        audits: case -> what the ledger says of it, for the picture.

    Returns:
        Path of the picture.
    """
    drawn = picture(comparisons, audits)
    content = {}
    for kind in ("png", "pdf"):
        stream = BytesIO()
        drawn.savefig(stream, format=kind, dpi=150)
        content[f"compare.{kind}"] = stream.getvalue()
    first = comparisons[0]
    found, runs = first.measurement, first.as_dict()["run"]
    lines = [
        {
            "round": int(T),
            "metric": first.bound.metric.key,
            "mean": float(curve.mean()),
            "per_seed": curve.tolist(),
        }
        for T, curve in zip(found.rounds, found.curve, strict=True)
    ]
    record = Path(first.case)
    (folder / record).mkdir(parents=True, exist_ok=True)
    content |= {
        record / "config.json": _json(found.setting.record(found.schedule)),
        record / "constants.json": _json({r["folder"]: r["constants"] for r in runs}),
        record / "metrics.jsonl": "".join(
            json.dumps(line) + "\n" for line in lines
        ).encode(),
    }
    for name, data in content.items():
        replace_file(folder / name, data)
    write_json(folder / "compare.json", comparisons)
    return folder / "compare.png"


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=1, allow_nan=False) + "\n").encode()
