r"""What measuring costs, in the training steps' cost of a sample.

`GRADIENT`, `PER_SAMPLE` and `PRODUCT` in `sfl_train/deep/measure/measurement.py` stand
for the three passes of a measurement: gradients of all clients, per-sample gradients,
Hessian products. Each is timed here in turns with training steps on as many samples,
and divided by them; the constants must not lie below the medians. Then the whole: a run
with ``--measure auto`` beside the same run without, at the cadence that ``auto`` chose.

Goal: the run that measures takes at most 1.1 times as long.

    python tests/benchmarks/deep_measure.py [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from turns import Estimate, ratios, take_turns

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sfl_train.deep.algorithms.run import DeepRun, Rates
from sfl_train.deep.assembly import assemble
from sfl_train.deep.config import Config
from sfl_train.deep.measure import measurement
from sfl_train.deep.measure.frozen import frozen
from sfl_train.deep.training import train

NETWORKS = {
    "ResNet-18, width 1/4": {"model": "resnet18", "dataset": "synthetic:10x3x32:256"},
    "CNN, width 1/4, digits": {"model": "cnn", "dataset": "digits"},
    "MLP, width 1/4, digits": {"model": "mlp", "dataset": "digits"},
}
WHOLE = {"model": "cnn", "dataset": "digits", "clients": 10, "evaluate_every": 1000}
CONSTANTS = ("GRADIENT", "PER_SAMPLE", "PRODUCT")


def main() -> None:
    """Time passes and runs, and print, and write, what came out."""
    options = arguments()
    torch.set_num_threads(options.threads)
    found = {name: passes(made, options.turns) for name, made in NETWORKS.items()}
    known = {name: getattr(measurement, name) for name in CONSTANTS}
    table = Table("", *CONSTANTS, title="cost of a pass over a training step's")
    for name, row in found.items():
        table.add_row(name, *map(str, row.values()))
    table.add_row("in measurement.py", *map(str, known.values()))
    Console().print(table)
    share = whole(options)
    print(f"run with --measure auto / without: {share} (goal: at most 1.1)")
    if options.json:
        options.json.write_text(
            json.dumps({"passes": found, "constants": known, "whole": share}, indent=2)
        )


def passes(made: dict[str, object], turns: int) -> dict[str, Estimate]:
    """Return the cost of each pass over that of training on the same samples."""
    run = assemble(Config(clients=1, partition="iid", **made)).run
    seconds = take_turns(contenders(run), turns)
    return {
        name: ratios(seconds[name], seconds["training"], "processor")
        for name in CONSTANTS
    }


def contenders(run: DeepRun) -> dict[str, Callable[[], object]]:
    """Return training and the three passes, each over all samples of the client."""
    store = run.federation.store
    samples = torch.from_numpy(run.federation.parts[0])
    v = torch.randn_like(run.state.parameters)
    rounds = iter(range(10**9))

    def held(pass_: Callable[[object], object]) -> Callable[[], object]:
        def once() -> object:
            with frozen(run.worker, run.state, store) as model:
                return pass_(model)

        return once

    return {
        "training": lambda: run.round(next(rounds), Rates(0.01, 0.01)),
        "GRADIENT": held(lambda model: model.gradient(samples)),
        "PER_SAMPLE": held(lambda model: model.variance(samples, v)),
        "PRODUCT": held(lambda model: model.hessian_product(samples, v)),
    }


def whole(options: argparse.Namespace) -> Estimate:
    """Return the time of a whole run with measurements over that without."""
    kinds = {"off": "off", "auto": "auto"}
    seconds = take_turns(
        {name: lambda m=m: once(options, m) for name, m in kinds.items()},
        options.runs,
        warm_up=0,
    )
    return ratios(seconds["auto"], seconds["off"], "processor")


def once(options: argparse.Namespace, measure: str) -> None:
    """Train in a folder of its own."""
    config = Config(
        rounds=options.rounds,
        measure=measure,
        threads=options.threads,
        checkpoint_every=options.rounds,
        **WHOLE,
    )
    with tempfile.TemporaryDirectory() as folder:
        train(config, Path(folder) / "run")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=240)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
