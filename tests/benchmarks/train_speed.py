r"""Cost of training: batched engine, per-client PyTorch loop, bare matrix products.

Softmax regression on digits, float64, SGD with mini-batches drawn with replacement.
The unit is a client-step: one local step of one client in one replica. The contenders
take turns in one process and a ratio is the median of the ratios within a turn, so a
machine that is busy with other things moves numerator and denominator alike.

- *engine*: whole rounds of `Trainer`, with draws, aggregation and bookkeeping.
- *loop*: for each client and each replica `nn.Linear`, `cross_entropy`, ``backward``
  and ``optimizer.step`` on an indexed mini-batch; a sample of the clients is timed,
  the draws, copies and averages left out.
- *products*: per local step one batched product of the clients' samples with their
  models and one of the transposed samples with the scores, into preallocated memory.

Goals: engine at most 1/100 of the loop and at most 1.5 times the products.

    python tests/benchmarks/train_speed.py [--clients 100 --seeds 20 ...] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sfl_train.algorithms import SFLV1, SFLV2, Algorithm, FedAvg, MiniBatchSFL
from sfl_train.engine import ConstantRate, Trainer
from sfl_train.federation import Federation
from sfl_train.problems.named import build
from sfl_train.problems.problem import Sampling

ETA = 0.05


def main() -> None:
    """Time everything and print, and write, what came out."""
    options = arguments()
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
    }
    contenders = {
        name: engine(federation, algorithm) for name, algorithm in algorithms.items()
    }
    contenders["products"] = products(federation, tau)
    contenders["loop"] = loop(instance, options)
    if not options.no_visits:
        contenders["SFL-V2"] = engine(federation, SFLV2(tau, cut))
    seconds = take_turns(contenders, options.turns)
    report(seconds, options)


def engine(federation: Federation, algorithm: Algorithm) -> Callable[[], float]:
    """Return a function that trains one more round and returns seconds per step."""
    rounds = Trainer(federation, algorithm, ConstantRate(ETA)).rounds(10**9)
    next(rounds)
    steps = federation.clients * federation.replicas * algorithm.tau

    def once() -> float:
        start = perf_counter()
        next(rounds)
        return (perf_counter() - start) / steps

    return once


def products(federation: Federation, tau: int) -> Callable[[], float]:
    """Return a function that does the bare products of one round."""
    N, R = federation.clients, federation.replicas
    problem = federation.problem
    D, F, C = int(problem.sizes.max()), problem.features, problem.outputs
    X = torch.randn(N, D, F, dtype=torch.float64)
    Xt = X.transpose(1, 2).contiguous()
    x = torch.randn(N, F, C * R, dtype=torch.float64)
    z, g = x.new_empty(N, D, C * R), torch.empty_like(x)

    def once() -> float:
        start = perf_counter()
        for _ in range(tau):
            torch.bmm(X, x, out=z)
            torch.bmm(Xt, z, out=g)
        return (perf_counter() - start) / (N * R * tau)

    return once


def loop(instance, options: argparse.Namespace) -> Callable[[], float]:
    """Return a function that trains some clients for a round in the ordinary way."""
    data, random = instance.data, np.random.default_rng(0)
    X, y = torch.tensor(data.X), torch.tensor(data.y)
    parts = [torch.tensor(part) for part in instance.parts[: options.loop_clients]]
    steps = len(parts) * options.tau

    def once() -> float:
        seconds = 0.0
        for part in parts:
            model = nn.Linear(X.shape[1], data.classes).double()
            optimizer = torch.optim.SGD(
                model.parameters(), lr=ETA, weight_decay=instance.problem.l2
            )
            mine, labels = X[part], y[part]
            batches = torch.tensor(
                random.integers(len(part), size=(options.tau, options.batch))
            )
            start = perf_counter()
            for batch in batches:
                optimizer.zero_grad()
                nn.functional.cross_entropy(
                    model(mine[batch]), labels[batch]
                ).backward()
                optimizer.step()
            seconds += perf_counter() - start
        return seconds / steps

    return once


def take_turns(
    contenders: dict[str, Callable[[], float]], turns: int
) -> dict[str, list[float]]:
    """Return seconds per client-step of every contender in every turn."""
    for once in contenders.values():
        once()
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(turns):
        for name, once in contenders.items():
            seconds[name].append(once())
    return seconds


def report(seconds: dict[str, list[float]], options: argparse.Namespace) -> None:
    """Print the table and write the JSON file."""
    rows = {}
    for name, mine in seconds.items():
        rows[name] = {
            "microseconds": 1e6 * statistics.median(mine),
            "times_faster_than_loop": ratio(seconds["loop"], mine),
            "times_products": ratio(mine, seconds["products"]),
        }
    table = Table(
        title=f"softmax on digits: {options.clients} clients, {options.seeds} seeds, "
        f"batch {options.batch}, tau {options.tau}, {torch.get_num_threads()} threads"
    )
    for heading in ("", "µs / client-step", "faster than loop", "x bare products"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, row in rows.items():
        table.add_row(
            name,
            f"{row['microseconds']:.3f}",
            f"{row['times_faster_than_loop']:.0f}",
            f"{row['times_products']:.2f}",
        )
    Console().print(table)
    if options.json:
        setting = {k: v for k, v in vars(options).items() if k != "json"}
        options.json.write_text(
            json.dumps({"setting": setting, "rows": rows}, indent=2)
        )


def ratio(above: list[float], below: list[float]) -> float:
    """Return the median over turns of the ratio within a turn."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--tau", type=int, default=5)
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--loop-clients", type=int, default=10)
    parser.add_argument("--no-visits", action="store_true", help="leave out SFL-V2")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
