"""Writing the comparison of finished runs with a bound; the run folders stay as are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bounds.plot import picture
from bounds.record import write_json
from bounds.run_comparison import RunComparison
from sfl_theory.evidence.instance import Finding
from sfl_train.files import replace_file

NOTE_HEIGHT = 0.13
"""Inches of a line below a panel: room for many departures and remarks."""


def write_run_folder(
    folder: Path,
    comparisons: Sequence[RunComparison],
    instances: Mapping[str, Finding] = MappingProxyType({}),
) -> Path:
    """Write picture, JSON, and per case the options and curves that were compared.

    The folder gets ``compare.png``, ``compare.pdf``, ``compare.json`` and, in a folder
    called like the case, ``config.json``, ``constants.json`` (of every run) and
    ``metrics.jsonl`` (the left side of every run). Every file is replaced as a whole.

    Args:
        folder: made if absent.
        comparisons: of one case; they share their runs.
        instances: case -> the instance that refutes its printed bound, for the picture.

    Returns:
        Path of the picture.
    """
    drawn = picture(comparisons, instances)
    texts = [text.get_text() for panel in drawn.axes for text in panel.texts]
    longest = max(text.count("\n") for text in texts)
    drawn.set_figheight(drawn.get_figheight() + NOTE_HEIGHT * longest)
    content = {}
    for kind in ("png", "pdf"):
        stream = BytesIO()
        drawn.savefig(stream, format=kind, dpi=150, bbox_inches="tight")
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
