r"""FedAvg side by side with pfl and Flower: same data, start and batches.

The peers are installed from the package index into an environment of their own. First
all contenders train the same rounds, and the models must agree to 1e-5; only then is
anything timed. Every contender is a process that waits while another one trains; a turn
is one round of each, in alternating order, and a ratio is the median of the ratios
within a turn with the 95 % interval of order statistics. The peers train in float32
with their batches gathered beforehand, ours in float64 (softmax) or float32 (CNN) with
its draws inside the clock.

- *pfl*: simulated backend, one process (`pfl.aggregate.simulate`).
- *flower*: server loop and strategy FedAvg with clients in the same process; neither
  Ray nor messages, so that it is a lower bound of what Flower costs.
- *ours*: the batched trainer with 1 or 20 seeds; the deep trainer for the CNN.

Goals: 100 times pfl with 100 clients and 20 seeds, 30 times with one seed, 2 times with
the CNN.

    python tests/benchmarks/peers.py [--environment FOLDER] [--turns 7] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from turns import Estimate, Seconds, ratios

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sfl_train import streams
from sfl_train.deep.data.digits import digits
from sfl_train.deep.data.store import Store
from sfl_train.deep.federation import DeepFederation, LocalWork
from sfl_train.deep.models.named import build as build_network
from sfl_train.partition import partition
from sfl_train.problems.named import build
from sfl_train.streams import Purpose

PEERS = {"pfl": "pfl==0.6.0", "flower": "flwr==1.41.0"}
CHECKED_ROUNDS = 3
TOLERANCE = 1e-5
WORKER = Path(__file__).with_name("peer_worker.py")


@dataclass(frozen=True)
class Case:
    """A comparison: which model, how many clients, which goal against pfl."""

    name: str
    kind: str
    clients: int
    batch: int
    seeds: int = 1
    goal: float | None = None
    at_once: int = 1


CASES = (
    Case("softmax, 10 clients", "softmax", 10, 32),
    Case("softmax, 100 clients", "softmax", 100, 32, goal=30),
    Case("softmax, 100 clients, 20 seeds", "softmax", 100, 32, 20, 100),
    Case("softmax, 1000 clients", "softmax", 1000, 32),
    Case("CNN, 50 clients", "cnn", 50, 10, goal=2),
    Case("CNN, 50 clients at once", "cnn", 50, 10, goal=2, at_once=50),
)


class Process:
    """A contender at work."""

    def __init__(self, name: str, python: Path, task: Path, threads: int) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [python, WORKER, name, task, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if name != "ours" else None,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            text=True,
        )
        self._read()

    def ask(self, command: str) -> dict[str, float]:
        """Return the answer to a command."""
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        return self._read()

    def seconds(self) -> Seconds:
        """Train a round."""
        found = self.ask("round")
        return Seconds(found["wall"], found["processor"])

    def model(self, folder: Path) -> np.ndarray:
        """Return the model as it is."""
        path = folder / f"{self.name}.npy"
        self.ask(f"model {path}")
        return np.load(path)

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait()

    def _read(self) -> dict[str, float]:
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name}: the process ended, see above or run it")
        return json.loads(line)


def main() -> None:
    """Install, check, time, and print and write what came out."""
    options = arguments()
    pythons = {"ours": Path(sys.executable), **installed(options.environment)}
    results = {}
    for case in CASES:
        if options.only and options.only not in case.name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            results[case.name] = compare(case, pythons, Path(folder), options)
        Console(width=118).print(table(case, results[case.name]))
    if options.json:
        setting = {k: str(v) for k, v in vars(options).items()}
        load = os.getloadavg()
        told = {"setting": setting, "load": load, "cases": results}
        options.json.write_text(json.dumps(told, indent=2))


def installed(folder: Path) -> dict[str, Path]:
    """Install the peers into an environment; return who can be run by which Python."""
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"installing {', '.join(PEERS.values())} into {folder}")
        venv.create(folder, with_pip=True)
    found = {}
    for name, requirement in PEERS.items():
        module = requirement.split("==")[0]
        if not imports(python, module, "torch"):
            import torch

            exact = f"torch=={torch.__version__}"
            pip = [python, "-m", "pip", "install", "--quiet", "--no-input"]
            index = ["--extra-index-url", "https://download.pytorch.org/whl/cpu"]
            made = subprocess.run([*pip, exact, requirement, *index], check=False)
            if made.returncode or not imports(python, module, "torch"):
                print(f"{name}: {requirement} cannot be installed here, left out")
                continue
        found[name] = python
    return found


def imports(python: Path, *modules: str) -> bool:
    """Say whether an environment has some modules."""
    words = f"import {', '.join(modules)}"
    run = subprocess.run([python, "-c", words], capture_output=True, check=False)
    return run.returncode == 0


def compare(
    case: Case, pythons: dict[str, Path], folder: Path, options: argparse.Namespace
) -> dict[str, object]:
    """Return times, memory and agreement of all contenders in one case.

    Raises:
        SystemExit: if the models do not agree.
    """
    rounds = CHECKED_ROUNDS + options.turns
    task = folder / "task.npz"
    np.savez(task, **(softmax if case.kind == "softmax" else cnn)(case, rounds))
    first, apart, agree = {}, {}, {}
    for name, python in pythons.items():
        first[name], again = (
            _checked(name, python, task, folder, options.threads) for _ in range(2)
        )
        apart[name] = float(np.abs(first[name] - first["ours"]).max())
        if not apart[name] <= TOLERANCE * max(1.0, np.abs(first["ours"]).max()):
            raise SystemExit(f"{case.name}: {name} differs by {apart[name]:.3g}")
        agree[name] = bool(np.array_equal(first[name], again))

    processes = {
        name: Process(name, python, task, options.threads)
        for name, python in pythons.items()
    }
    for process in processes.values():
        process.seconds()
    seconds: dict[str, list[Seconds]] = {name: [] for name in processes}
    for turn in range(options.turns):
        order = list(processes)
        for name in order if turn % 2 == 0 else reversed(order):
            seconds[name].append(processes[name].seconds())
    rows = {}
    for name, process in processes.items():
        seeds = case.seeds if name == "ours" else 1
        mine = [Seconds(*(s / seeds for s in one)) for one in seconds[name]]
        own = [Seconds(*(s / case.seeds for s in one)) for one in seconds["ours"]]
        steps = case.clients * options.tau
        rows[name] = {
            "microseconds": 1e6 * float(np.median([s.wall for s in mine])) / steps,
            "times_ours": ratios(mine, own, "wall"),
            "times_ours_processor": ratios(mine, own, "processor"),
            "memory_MiB": process.ask("memory"),
            "differs_from_ours": apart[name],
            "two_runs_agree": agree[name],
        }
        process.close()
    return rows


def _checked(
    name: str, python: Path, task: Path, folder: Path, threads: int
) -> np.ndarray:
    process = Process(name, python, task, threads)
    for _ in range(CHECKED_ROUNDS):
        process.seconds()
    model = process.model(folder)
    process.close()
    return model


TAU, ETA, WIDTH = 5, 0.05, 0.25


def softmax(case: Case, rounds: int) -> dict[str, object]:
    """Return softmax regression on digits as the peers need it."""
    instance = build("softmax:digits", clients=case.clients)
    sizes = np.array([len(part) for part in instance.parts])
    at = np.ix_(np.arange(rounds), np.arange(case.clients), np.arange(TAU))
    keys = streams.keys(0, Purpose.MINIBATCH, at[0], at[1], at[2])
    drawn = streams.integers(keys, case.batch, sizes[None, :, None])
    width = int(sizes.max())
    padded = np.stack([np.resize(part, width) for part in instance.parts])
    return {
        "kind": "softmax",
        "x": instance.data.X,
        "y": instance.data.y.astype(np.int64),
        "classes": instance.data.classes,
        "batches": padded[at[1][..., None], drawn],
        "start": np.zeros(instance.problem.dimension),
        "eta": ETA,
        "l2": instance.problem.l2,
        "seeds": case.seeds,
    }


def cnn(case: Case, rounds: int) -> dict[str, object]:
    """Return the small CNN on digits as the peers need it."""
    data = digits()
    parts = partition("iid", data.train_y, case.clients, 0, None)
    least = min(map(len, parts))
    parts = np.stack([part[:least] for part in parts])
    store = Store(data)
    work = LocalWork(TAU, None, case.batch, "replacement")
    federation = DeepFederation(store, list(parts), work, weights="uniform")
    batches = np.stack([
        [federation.batches(t, n).indices.numpy() for n in range(case.clients)]
        for t in range(rounds)
    ]).reshape(rounds, case.clients, TAU, -1)
    network = build_network("cnn", 1, 10, 8, width=WIDTH)
    start = [p.detach().numpy().reshape(-1) for p in network.blocks.parameters()]
    x = (data.train_x / 255.0 - data.mean[0]) / data.std[0]
    return {
        "kind": "cnn",
        "x": x.astype(np.float32),
        "y": data.train_y,
        "classes": 10,
        "batches": batches,
        "parts": parts,
        "start": np.concatenate(start),
        "eta": ETA,
        "l2": 0.0,
        "seeds": case.seeds,
        "width": WIDTH,
        "clients_at_once": case.at_once,
    }


def table(case: Case, rows: dict[str, dict]) -> Table:
    """Return one case as a table."""
    goal = "" if case.goal is None else f", goal {case.goal:g} times pfl"
    made = Table(
        "",
        "µs / client-step",
        "times ours",
        "times ours (processor)",
        "peak MiB (before)",
        "differs",
        "two runs agree",
        title=f"{case.name}, batch {case.batch}, tau {TAU}{goal}",
    )
    for name, row in rows.items():
        wall: Estimate = row["times_ours"]
        memory = row["memory_MiB"]
        made.add_row(
            name,
            f"{row['microseconds']:.2f}",
            f"{wall}",
            f"{row['times_ours_processor']}",
            f"{memory['peak']:.0f} ({memory['before']:.0f})",
            f"{row['differs_from_ours']:.1e}",
            "yes" if row["two_runs_agree"] else "no",
        )
    return made


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    parser.add_argument(
        "--environment", type=Path, default=cache / "sfl-verify" / "peers"
    )
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", help="cases whose name has this in it")
    parser.add_argument("--json", type=Path)
    parser.set_defaults(tau=TAU)
    return parser.parse_args()


if __name__ == "__main__":
    main()
