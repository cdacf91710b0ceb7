r"""Cost of training: batched engine, per-client PyTorch loop, bare matrix products.

Softmax regression on digits, float64, SGD with mini-batches drawn with replacement.
The unit is a client-step: one local step of one client in one replica. The contenders
take turns in one process, in alternating order, and a ratio is the median of the ratios
within a turn with the 95 % interval of order statistics, so a machine that is busy with
other things moves numerator and denominator alike. With one thread the ratio of
processor seconds, which is shown beside it, is moved less still.

- *engine*: whole rounds of `Trainer`, with draws, aggregation and bookkeeping.
- *loop*: for each client and each replica `nn.Linear`, `cross_entropy`, ``backward``
  and ``optimizer.step`` on an indexed mini-batch; a sample of the clients is timed,
  the draws, copies and averages left out.
- *products*: per local step one batched product of the clients' samples with their
  models and one of the transposed samples with the scores, into preallocated memory.

Goals: engine at most 1/100 of the loop and at most 1.5 times the products; SFL-V2,
whose visits come one after the other, at most 3 times them with 20 seeds and 8 times
with one.

    python tests/benchmarks/train_speed.py [--clients 100 --seeds 20 ...] [--json FILE]
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

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import nn
from turns import Seconds, ratios, take_turns

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sfl_train.algorithms import SFLV1, SFLV2, Algorithm, FedAvg, MiniBatchSFL
from sfl_train.engine import ConstantRate, Trainer
from sfl_train.federation import Federation
from sfl_train.problems.named import Instance, build
from sfl_train.problems.problem import Sampling

ETA = 0.05


def main() -> None:
    """Time everything and print, and write, what came out."""
    options = arguments()
    torch.set_num_threads(options.threads)
    instance = build("softmax:digits", clients=options.clients)
    federation = Federation(
        instance.problem,
        instance.weights,
        sampling=Sampling(options.batch),
        seeds=range(options.seeds),
    )
    tau, cut = options.tau, instance.problem.cuts[instance.problem.default_cut]
    algorithms = {
        "FedAvg": FedAvg(tau),
        "SFL-V1": SFLV1(tau, tau, cut),
        "SFL-V1, tau_server=1": SFLV1(tau, 1, cut),
        "MiniBatch-SFL": MiniBatchSFL(tau, cut),
        "SFL-V2": SFLV2(tau, cut),
        "SFL-V2, client by client": SFLV2(tau, cut, "client-sequential"),
    }
    contenders = {
        name: engine(federation, algorithm) for name, algorithm in algorithms.items()
    }
    contenders["products"] = products(federation, tau)
    contenders["loop"] = loop(instance, options)
    report(take_turns(contenders, options.turns), options)


def engine(federation: Federation, algorithm: Algorithm) -> Callable[[], object]:
    """Return a function that trains one more round."""
    rounds = Trainer(federation, algorithm, ConstantRate(ETA)).rounds(10**9)
    return partial(next, rounds)


def products(federation: Federation, tau: int) -> Callable[[], object]:
    """Return a function that does the bare products of one round."""
    N, R = federation.clients, federation.replicas
    problem = federation.problem
    D, F, C = int(problem.sizes.max()), problem.features, problem.outputs
    X = torch.randn(N, D, F, dtype=torch.float64)
    Xt = X.transpose(1, 2).contiguous()
    x = torch.randn(N, F, C * R, dtype=torch.float64)
    z, g = x.new_empty(N, D, C * R), torch.empty_like(x)

    def once() -> None:
        for _ in range(tau):
            torch.bmm(X, x, out=z)
            torch.bmm(Xt, z, out=g)

    return once


def loop(instance: Instance, options: argparse.Namespace) -> Callable[[], object]:
    """Return a function that trains some clients for a round in the ordinary way."""
    data, random = instance.data, np.random.default_rng(0)
    X, y = torch.tensor(data.X), torch.tensor(data.y)
    parts = [torch.tensor(part) for part in instance.parts[: options.loop_clients]]
    batches = [
        torch.tensor(random.integers(len(part), size=(options.tau, options.batch)))
        for part in parts
    ]

    def once() -> None:
        for part, mine in zip(parts, batches, strict=True):
            model = nn.Linear(X.shape[1], data.classes).double()
            optimizer = torch.optim.SGD(
                model.parameters(), lr=ETA, weight_decay=instance.problem.l2
            )
            features, labels = X[part], y[part]
            for batch in mine:
                optimizer.zero_grad()
                nn.functional.cross_entropy(
                    model(features[batch]), labels[batch]
                ).backward()
                optimizer.step()

    return once


def report(seconds: dict[str, list[Seconds]], options: argparse.Namespace) -> None:
    """Print the table and write the JSON file."""
    steps = dict.fromkeys(seconds, options.clients * options.seeds * options.tau)
    steps["loop"] = options.loop_clients * options.tau
    each = {
        name: [Seconds(*(s / steps[name] for s in turn)) for turn in mine]
        for name, mine in seconds.items()
    }
    rows = {
        name: {
            "microseconds": 1e6 * statistics.median(s.wall for s in mine),
            "times_faster_than_loop": ratios(each["loop"], mine, "wall"),
            "times_products": ratios(mine, each["products"], "wall"),
            "times_products_processor": ratios(mine, each["products"], "processor"),
        }
        for name, mine in each.items()
    }
    table = Table(
        title=f"softmax on digits: {options.clients} clients, {options.seeds} seeds, "
        f"batch {options.batch}, tau {options.tau}, {torch.get_num_threads()} threads"
    )
    for heading in ("", "µs", "faster than loop", "x products", "x, processor"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, row in rows.items():
        cells = list(row.values())
        table.add_row(name, f"{cells[0]:.3f}", *map(str, cells[1:]))
    Console(width=120).print(table)
    if options.json:
        setting = {k: v for k, v in vars(options).items() if k != "json"}
        told = {"setting": setting, "load": os.getloadavg(), "rows": rows}
        options.json.write_text(json.dumps(told, indent=2))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--tau", type=int, default=5)
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--loop-clients", type=int, default=10)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
