"""Commands from a cold start: wall time, peak memory, ratio to bare imports.

Run ``python tests/benchmarks/cold_start.py [RUNS [CHECKOUT]]``. Each run is a fresh
process; "imports" is a process that only imports the packages that the command needs:
all of them for the main job, none that takes seconds for the list of figures. With
another checkout of this repository the commands of both run in turn, and their ratio is
printed, pair by pair.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
JOBS = {
    "main job": (
        ["-m", "bounds.compare", "--theorem", "3.7", "--quiet"],
        "import torch, sympy, scipy.special, matplotlib.figure, rich",
    ),
    "figures list": (
        ["-m", "figures", "list"],
        "import numpy, sympy",
    ),
}
"""Command line after "python", and the imports of the packages that it needs."""


def run(arguments: list[str], root: Path = ROOT) -> tuple[float, float]:
    """Return seconds and peak resident megabytes of a fresh Python process.

    The memory is that of the largest process of its tree.
    """
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(root)},
            stdout=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            raise SystemExit(f"{arguments} failed with status {status}")
        return time.perf_counter() - start, usage.ru_maxrss / 1024


def main() -> None:
    """Print the medians, a row for each command."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    other = Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
    for name, (job, imports) in JOBS.items():
        pairs = [(run(job), run(["-c", imports])) for _ in range(runs)]
        wall = statistics.median(pair[0][0] for pair in pairs)
        ratio = statistics.median(pair[0][0] / pair[1][0] for pair in pairs)
        memory = max(pair[0][1] for pair in pairs)
        print(f"{name}: {wall:.1f} s, {memory:.0f} MB, {ratio:.1f} x its imports")
        if other is not None:
            print(f"{name} {_against(other, job, runs)}")


def _against(other: Path, job: list[str], runs: int) -> str:
    """Return what a command takes here and in another checkout, in turn."""
    turns = [(run(job)[0], run(job, other)[0]) for _ in range(runs)]
    ratios = [mine / theirs for mine, theirs in turns]
    return (
        f"against {other.name}: {statistics.median(ratios):.2f} x its wall time "
        f"({min(ratios):.2f} to {max(ratios):.2f}), "
        f"{statistics.median(mine for mine, _ in turns):.1f} s against "
        f"{statistics.median(theirs for _, theirs in turns):.1f} s"
    )


if __name__ == "__main__":
    main()
