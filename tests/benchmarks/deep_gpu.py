r"""ResNet-18 at the papers' size on one GPU: images per second by precision.

CIFAR-10 shapes (50 000 images of 3x32x32 as bytes on the device, crop and flip there),
batch 128, SGD with momentum and weight decay: whole epochs of SFL-V1 with one client
beside the plain loop of `plain.py` in the same memory format and precision, see
`deep_speed`. Peak memory is that of the two together.

Goals on one H200: 10 000 images/s in fp32 or TF32 and 23 000 in bf16.

    python tests/benchmarks/deep_gpu.py [--no-compile] [--turns 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import deep_speed
import torch
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sfl_train.deep.device import prepare

GOALS = {"fp32": 10_000, "tf32": 10_000, "bf16": 23_000}


def main() -> None:
    """Time every precision and print, and write, what came out."""
    options = arguments()
    rows = {}
    for precision in options.precisions:
        prepare(options.device, precision, deterministic=False)
        rows[precision] = one(precision, options)
    title = f"ResNet-18, batch {options.batch}, {name(options.device)}"
    Console().print(table(title, rows))
    if options.json:
        options.json.write_text(json.dumps({"title": title, "rows": rows}, indent=2))


def one(precision: str, options: argparse.Namespace) -> dict[str, object]:
    """Return speeds, their ratio and the peak memory in one precision."""
    words = [
        *("--width", str(options.width), "--images", str(options.images)),
        *("--batch", str(options.batch), "--turns", str(options.turns)),
        *("--device", options.device, "--precision", precision),
        *(["--channels-last"] if options.channels_last else []),
        *(["--compile"] if options.compile else []),
    ]
    on_gpu = options.device.startswith("cuda")
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    found = deep_speed.compare(deep_speed.arguments(words))
    peak = torch.cuda.max_memory_allocated() if on_gpu else None
    return {**found, "goal": GOALS[precision], "peak_bytes": peak}


def table(title: str, rows: dict[str, dict[str, object]]) -> Table:
    """Return the results as a table."""
    made = Table("", "split", "plain", "split / plain", "goal", title=title)
    for precision, row in rows.items():
        speeds = row["images_per_second"]
        made.add_row(
            precision,
            *(f"{speeds[kind]:.0f}" for kind in ("split", "plain")),
            str(row["wall"]),
            str(row["goal"]),
        )
    return made


def name(device: str) -> str:
    """Return what the device is called."""
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    yes = argparse.BooleanOptionalAction
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precisions", nargs="+", choices=GOALS, default=list(GOALS))
    parser.add_argument("--width", type=float, default=1.0)
    parser.add_argument("--images", type=int, default=50_000)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--channels-last", action=yes, default=True)
    parser.add_argument("--compile", action=yes, default=True)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"deep_gpu: {error}")
