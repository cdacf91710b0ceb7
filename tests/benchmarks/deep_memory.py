r"""Peak memory of a run with 100 clients beside the same run with 10.

Every run is a fresh process that trains on the same images with the same batches. On
the CPU its memory is the peak of the resident set (``ru_maxrss``) and, after the
imports are taken off, what data, model and training add to it; on a GPU it is
`torch.cuda.max_memory_allocated`. Interleaved SFL-V2, which has to hold every client's
side and momentum, is there to show that the measurement sees what is held.

Goal: at most 1.2 for SFL-V1, FedAvg and client-sequential SFL-V2.

    python tests/benchmarks/deep_memory.py [--repeats 3] [--device cuda] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

CONTENDERS = {
    "SFL-V1": {"algorithm": "sfl-v1"},
    "FedAvg": {"algorithm": "fedavg"},
    "SFL-V2, client-sequential": {"algorithm": "sfl-v2", "order": "client-sequential"},
    "SFL-V2, interleaved": {"algorithm": "sfl-v2", "order": "interleaved"},
}
COMMON = {
    "model": "resnet18",
    "dataset": "synthetic:10x3x32:1600",
    "partition": "iid",
    "augmentation": "crop-flip",
    "cut": 4,
    "momentum": 0.9,
    "batch_size": 8,
    "tau": 1,
    "epochs": None,
    "rounds": 2,
}
FEW, MANY = 10, 100
MEBI = 2**20


def main() -> None:
    """Measure in fresh processes and print, and write, what came out."""
    options = arguments()
    if options.child:
        print(json.dumps(measured(json.loads(options.child))))
        return
    table = Table("", "MiB, N=10", "MiB, N=100", "peak", "above imports")
    rows = {}
    for name, contender in CONTENDERS.items():
        few, many = (middle(contender, n, options) for n in (FEW, MANY))
        rows[name] = {
            "few": few,
            "many": many,
            "peak": many["peak"] / few["peak"],
            "above": many["above"] / few["above"],
        }
        table.add_row(
            name,
            *(f"{one['peak'] / MEBI:.0f}" for one in (few, many)),
            *(f"{rows[name][key]:.2f}" for key in ("peak", "above")),
        )
    Console().print(table)
    if options.json:
        options.json.write_text(json.dumps({"setting": COMMON, "rows": rows}, indent=2))


def middle(contender: dict[str, str], clients: int, options: argparse.Namespace):
    """Return medians over fresh processes, in bytes."""
    given = {
        **COMMON,
        **contender,
        "clients": clients,
        "width": options.width,
        "device": options.device,
    }
    found = []
    for _ in range(options.repeats):
        answer = subprocess.run(
            [sys.executable, __file__, "--child", json.dumps(given)],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        found.append(json.loads(answer.splitlines()[-1]))
    return {key: statistics.median(one[key] for one in found) for key in found[0]}


def measured(given: dict[str, object]) -> dict[str, int]:
    """Train in this process; return its peak and what came on top of the imports."""
    import torch

    from sfl_train.deep.config import Config
    from sfl_train.deep.training import train

    torch.ones(8, requires_grad=True).sum().backward()
    before = resident()
    with tempfile.TemporaryDirectory() as folder:
        train(Config(**given), Path(folder) / "run")
    if str(given["device"]).startswith("cuda"):
        peak = torch.cuda.max_memory_allocated()
        return {"peak": peak, "above": peak}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"peak": peak, "above": peak - before}


def resident() -> int:
    """Return the bytes of this process that are in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--width", type=float, default=0.5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
