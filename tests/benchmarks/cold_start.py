"""The main job from a cold start: wall time, peak memory, ratio to bare imports.

Run ``python tests/benchmarks/cold_start.py [RUNS]``. Each run is a fresh process;
"imports" is a process that only imports the packages that the job needs.
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
IMPORTS = "import torch, sympy, scipy.stats, matplotlib.figure, sklearn.datasets, rich"


def run(arguments: list[str]) -> tuple[float, float]:
    """Return seconds and peak resident megabytes of a fresh Python process."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            raise SystemExit(f"{arguments} failed with status {status}")
        return time.perf_counter() - start, usage.ru_maxrss / 1024


def main() -> None:
    """Print the medians."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    job = ["-m", "bounds.compare", "--theorem", "3.7", "--quiet"]
    pairs = [(run(job), run(["-c", IMPORTS])) for _ in range(runs)]
    wall = statistics.median(pair[0][0] for pair in pairs)
    ratio = statistics.median(pair[0][0] / pair[1][0] for pair in pairs)
    memory = max(pair[0][1] for pair in pairs)
    print(f"main job: {wall:.1f} s, {memory:.0f} MB, {ratio:.1f} x its imports")


if __name__ == "__main__":
    main()
