r"""Cost of a round against clients, local steps, parameters and seeds.

Softmax regression on random samples, 20 of them per client, mini-batches of 32 with
replacement, float64. From a base point one quantity at a time is changed; every point
is a federation of its own, and all of them take turns in one process, a round each. The
exponent is the slope of log seconds against log quantity (least squares), within each
turn; given are its median over turns and the 95 % interval of order statistics. A slope
below 1 means that part of the cost is overhead which the larger run shares. Seconds are
those of the processor, which other processes disturb less; with more than one thread
they say nothing, and the wall clock's are taken.

    python tests/benchmarks/cost.py [--turns 9] [--out FOLDER]

writes ``cost.png`` and ``cost.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import matplotlib as mpl
import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from turns import Estimate, Seconds, estimate, take_turns

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sfl_train.algorithms import SFLV1, SFLV2, Algorithm, FedAvg
from sfl_train.data.bundled import Dataset
from sfl_train.engine import ConstantRate, Trainer
from sfl_train.federation import Federation
from sfl_train.problems.linear_model import LinearModel
from sfl_train.problems.problem import Sampling

mpl.use("Agg")

SAMPLES, CLASSES, BATCH = 20, 10, 32
BASE = {"N": 100, "tau": 5, "d": 650, "seeds": 10}
VALUES = {
    "N": (10, 30, 100, 300, 1000),
    "tau": (1, 2, 5, 10, 20, 40),
    "d": (80, 160, 320, 650, 1300, 2600),
    "seeds": (1, 2, 5, 10, 20, 40),
}
WORDS = {
    "N": "clients N",
    "tau": "local steps τ",
    "d": "parameters d",
    "seeds": "seeds",
}
ALGORITHMS: dict[str, Callable[[int, int], Algorithm]] = {
    "FedAvg": lambda tau, cut: FedAvg(tau),
    "SFL-V1": lambda tau, cut: SFLV1(tau, tau, cut),
    "SFL-V2": lambda tau, cut: SFLV2(tau, cut),
}


def main() -> None:
    """Time all points, fit, and print, draw and write what came out."""
    options = arguments()
    torch.set_num_threads(options.threads)
    result = measure(options.turns, "processor" if options.threads == 1 else "wall")
    Console().print(table(result))
    options.out.mkdir(parents=True, exist_ok=True)
    setting = {
        "base": BASE,
        "threads": options.threads,
        "clock": "processor" if options.threads == 1 else "wall",
        "turns": options.turns,
        "load": os.getloadavg(),
    }
    told = {"setting": setting, "result": result}
    (options.out / "cost.json").write_text(json.dumps(told, indent=2))
    draw(result, options.out / "cost.png")


def measure(turns: int, kind: str) -> dict[str, dict[str, dict[str, object]]]:
    """Return algorithm -> quantity -> values, seconds per round and the exponent."""
    points = {
        (name, *point): one_round(make, *point)
        for name, make in ALGORITHMS.items()
        for point in dict.fromkeys(
            tuple({**BASE, quantity: value}.values())
            for quantity, values in VALUES.items()
            for value in values
        )
    }
    seconds = take_turns(points, turns)
    result: dict[str, dict[str, dict[str, object]]] = {}
    for name in ALGORITHMS:
        result[name] = {}
        for quantity, values in VALUES.items():
            found = [
                seconds[name, *{**BASE, quantity: value}.values()] for value in values
            ]
            result[name][quantity] = {
                "values": values,
                "seconds": [
                    statistics.median(getattr(s, kind) for s in mine) for mine in found
                ],
                "exponent": exponent(values, found, kind),
            }
    return result


def one_round(
    make: Callable[[int, int], Algorithm], clients: int, tau: int, d: int, seeds: int
) -> Callable[[], object]:
    """Return a function that trains one more round."""
    random, features = np.random.default_rng(0), d // CLASSES
    count = clients * SAMPLES
    data = Dataset(
        "random",
        random.normal(size=(count, features)) / features**0.5,
        random.integers(CLASSES, size=count),
        CLASSES,
        None,
        "none",
    )
    parts = np.split(np.arange(count), clients)
    problem = LinearModel(data, parts, "softmax", 0.1, bias=False)
    federation = Federation(problem, sampling=Sampling(BATCH), seeds=range(seeds))
    algorithm = make(tau, features // 2 * CLASSES)
    rounds = Trainer(federation, algorithm, ConstantRate(0.05)).rounds(10**9)
    return partial(next, rounds)


def exponent(
    values: tuple[int, ...], seconds: list[list[Seconds]], kind: str
) -> Estimate:
    """Return the slope of log seconds against log values over the turns."""
    x = np.log(values)
    turns = np.log([[getattr(s, kind) for s in mine] for mine in seconds]).T
    return estimate([float(np.polyfit(x, y, 1)[0]) for y in turns])


def table(result: dict[str, dict[str, dict[str, object]]]) -> Table:
    """Return the exponents as a table."""
    made = Table("exponent of", *ALGORITHMS, title="seconds of a round")
    for quantity, values in VALUES.items():
        cells = [
            f"{Estimate(*result[name][quantity]['exponent'])}" for name in ALGORITHMS
        ]
        made.add_row(f"{WORDS[quantity]}, {values[0]} to {values[-1]}", *cells)
    return made


def draw(result: dict[str, dict[str, dict[str, object]]], path: Path) -> None:
    """Draw seconds per round, a panel per quantity, exponents in the legends."""
    from matplotlib import pyplot as plt

    fig, axes = plt.subplots(1, 4, figsize=(14, 3.6), sharey=True, layout="tight")
    for axis, quantity in zip(axes, VALUES, strict=True):
        for name, marker in zip(ALGORITHMS, "osD", strict=True):
            one = result[name][quantity]
            slope = Estimate(*one["exponent"])
            axis.loglog(
                one["values"],
                one["seconds"],
                marker=marker,
                markersize=4,
                label=f"{name}: {slope.median:.2f} [{slope.low:.2f}, {slope.high:.2f}]",
            )
        axis.set_xlabel(WORDS[quantity])
        axis.grid(alpha=0.3, which="both", linewidth=0.4)
        axis.legend(fontsize=7.5, title="exponent [95 %]", title_fontsize=7.5)
    axes[0].set_ylabel("seconds of a round")
    fixed = (
        f"N = {BASE['N']}, τ = {BASE['tau']}, d = {BASE['d']}, {BASE['seeds']} seeds"
    )
    fig.suptitle(f"Cost of a round; where not varied: {fixed}", fontsize=10)
    fig.savefig(path, dpi=150)
    plt.close(fig)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("cost-out"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
