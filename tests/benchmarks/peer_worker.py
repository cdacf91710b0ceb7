"""A contender of `peers.py` in a process of its own: trains a round when told to.

    python peer_worker.py ours|pfl|flower TASK.npz THREADS

It reads commands from standard input, one a line, and answers each with one line of
JSON: ``round`` (seconds of the round), ``model FILE`` (writes the model as a vector, as
`torch` lists parameters), ``memory`` (MiB: peak, and what was held before training).
The task says everything that must be equal: samples, start, batches, rates. For the
peers, batches are gathered before the clock starts.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

Vector = np.ndarray


class Contender(NamedTuple):
    """What answers the commands."""

    round: Callable[[int], object]
    model: Callable[[], Vector]


def main() -> None:
    """Serve until standard input ends."""
    name, task, threads = sys.argv[1], dict(np.load(sys.argv[2])), int(sys.argv[3])
    torch.set_num_threads(threads)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 (the generator that pfl draws from)
    torch.manual_seed(0)
    contender = {"ours": ours, "pfl": pfl, "flower": flower}[name](task)
    held, t = peak(), 0
    answer(ready=name)
    for line in sys.stdin:
        command, *rest = line.split()
        if command == "round":
            wall, processor = perf_counter(), process_time()
            contender.round(t)
            t += 1
            answer(wall=perf_counter() - wall, processor=process_time() - processor)
        elif command == "model":
            np.save(rest[0], contender.model())
            answer(done=True)
        elif command == "memory":
            answer(peak=peak(), before=held)


def answer(**values: object) -> None:
    """Write one line."""
    OUT.write(json.dumps(values) + "\n")
    OUT.flush()


def peak() -> float:
    """Return the largest resident size so far in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def network(task: dict[str, Vector]) -> nn.Module:
    """Return the model of a task at its start, in ordinary PyTorch."""
    if task["kind"] == "softmax":
        model: nn.Module = nn.Linear(task["x"].shape[1], int(task["classes"]))
    else:
        from plain import CNN

        channels, pixels = task["x"].shape[1:3]
        width = float(task["width"])
        model = CNN(int(channels), int(task["classes"]), int(pixels), width)
    start = torch.from_numpy(task["start"]).float()
    nn.utils.vector_to_parameters(start, model.parameters())
    return model


def gathered(task: dict[str, Vector]) -> Callable[[int, int], tuple[Tensor, Tensor]]:
    """Return a function of (round, client) to its samples, batch after batch."""
    x, y = torch.from_numpy(task["x"]).float(), torch.from_numpy(task["y"])
    found = {}
    for t, row in enumerate(task["batches"]):
        for n, mine in enumerate(row):
            index = torch.from_numpy(mine).reshape(-1)
            found[t, n] = x[index], y[index]
    return lambda t, n: found[t, n]


def vector(model: nn.Module) -> Vector:
    """Return the parameters as one vector."""
    return nn.utils.parameters_to_vector(model.parameters()).detach().numpy()


def pfl(task: dict[str, Vector]) -> Contender:
    """Return Apple's pfl: simulated backend, FederatedAveraging, PyTorchModel."""
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.data.dataset import Dataset
    from pfl.data.federated_dataset import FederatedDataset
    from pfl.hyperparam import NNTrainHyperParams
    from pfl.model.pytorch import PyTorchModel

    class Wrapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = network(task)

        def loss(self, x: Tensor, y: Tensor) -> Tensor:
            return nn.functional.cross_entropy(self.inner(x), y)

        def metrics(self, x: Tensor, y: Tensor) -> dict[str, object]:
            return {}

    clients, batch = task["batches"].shape[1], task["batches"].shape[3]
    samples, visited = gathered(task), iter(range(10**9))

    def sample() -> int:
        return next(visited)

    def dataset(count: int) -> Dataset:
        return Dataset(raw_data=list(samples(*divmod(count, clients))))

    wrapped = Wrapped()
    model = PyTorchModel(
        wrapped,
        partial(torch.optim.SGD, weight_decay=float(task["l2"])),
        torch.optim.SGD(wrapped.parameters(), lr=1.0),
    )
    data = FederatedDataset(dataset, sample)
    backend, algorithm = SimulatedBackend(data, data), FederatedAveraging()
    train = NNTrainHyperParams(
        local_num_epochs=1,
        local_learning_rate=float(task["eta"]),
        local_batch_size=int(batch),
    )

    def once(t: int) -> None:
        algorithm.run(
            NNAlgorithmParams(
                central_num_iterations=t + 1,
                evaluation_frequency=10**9,
                train_cohort_size=int(clients),
                val_cohort_size=None,
            ),
            backend,
            model,
            train,
            send_metrics_to_platform=False,
        )

    return Contender(once, lambda: vector(wrapped.inner))


def flower(task: dict[str, Vector]) -> Contender:
    """Return Flower's server loop and FedAvg with clients in the same process.

    Without its Ray engine and without messages: the least that Flower can cost.
    """
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
    import logging

    from flwr.common import (
        Code,
        FitRes,
        Status,
        ndarrays_to_parameters,
        parameters_to_ndarrays,
    )
    from flwr.server.client_manager import SimpleClientManager
    from flwr.server.client_proxy import ClientProxy
    from flwr.server.server import Server
    from flwr.server.strategy import FedAvg

    logging.getLogger("flwr").setLevel(logging.ERROR)
    model, samples = network(task), gathered(task)
    clients, batch = task["batches"].shape[1], int(task["batches"].shape[3])
    eta, l2 = float(task["eta"]), float(task["l2"])

    class Client(ClientProxy):
        def fit(self, ins, timeout, group_id):
            with torch.no_grad():
                given = parameters_to_ndarrays(ins.parameters)
                for p, new in zip(model.parameters(), given, strict=True):
                    p.copy_(torch.from_numpy(new))
            optimizer = torch.optim.SGD(model.parameters(), lr=eta, weight_decay=l2)
            x, y = samples(ins.config["round"], int(self.cid))
            for xs, ys in zip(x.split(batch), y.split(batch), strict=True):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(xs), ys).backward()
                optimizer.step()
            trained = [p.detach().numpy() for p in model.parameters()]
            ok = Status(Code.OK, "")
            return FitRes(ok, ndarrays_to_parameters(trained), 1, {})

        get_properties = get_parameters = evaluate = reconnect = None

    Client.__abstractmethods__ = frozenset()
    manager = SimpleClientManager()
    for n in range(clients):
        manager.register(Client(str(n)))
    strategy = FedAvg(
        fraction_evaluate=0.0,
        min_fit_clients=clients,
        min_available_clients=clients,
        on_fit_config_fn=lambda t: {"round": t},
    )
    server = Server(client_manager=manager, strategy=strategy)
    server.set_max_workers(1)
    server.parameters = ndarrays_to_parameters([
        p.detach().numpy() for p in model.parameters()
    ])

    def once(t: int) -> None:
        found = server.fit_round(server_round=t, timeout=None)
        if found is None or found[0] is None:
            raise RuntimeError("Flower: the round failed")
        server.parameters = found[0]

    def now() -> Vector:
        return np.concatenate([
            p.reshape(-1) for p in parameters_to_ndarrays(server.parameters)
        ])

    return Contender(once, now)


def ours(task: dict[str, Vector]) -> Contender:
    """Return this project's trainer: the batched one, or the deep one for the CNN."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    return ours_softmax(task) if task["kind"] == "softmax" else ours_cnn(task)


def ours_softmax(task: dict[str, Vector]) -> Contender:
    """Return the batched trainer, all seeds at once; its model is the first seed's."""
    from sfl_train.algorithms import FedAvg
    from sfl_train.engine import ConstantRate, Trainer
    from sfl_train.federation import Federation
    from sfl_train.problems.named import build
    from sfl_train.problems.problem import Sampling

    _, clients, tau, batch = task["batches"].shape
    instance = build("softmax:digits", clients=clients, l2=float(task["l2"]))
    federation = Federation(
        instance.problem, sampling=Sampling(batch), seeds=range(int(task["seeds"]))
    )
    rate = ConstantRate(float(task["eta"]))
    rounds = Trainer(federation, FedAvg(tau), rate).rounds(10**9)
    x = next(rounds)

    def once(t: int) -> None:
        nonlocal x
        x = next(rounds)

    def model() -> Vector:
        W = x[1][:, 0].view(instance.problem.features, -1)
        return torch.cat([W[:-1].T.reshape(-1), W[-1]]).numpy()

    return Contender(once, model)


def ours_cnn(task: dict[str, Vector]) -> Contender:
    """Return the deep trainer."""
    from sfl_train.deep.algorithms.parallel import FedAvg
    from sfl_train.deep.algorithms.run import Options, Rates
    from sfl_train.deep.data.digits import digits
    from sfl_train.deep.data.store import Store
    from sfl_train.deep.federation import DeepFederation, LocalWork
    from sfl_train.deep.flat import FlatModel
    from sfl_train.deep.models.named import build
    from sfl_train.deep.worker import Worker

    tau, batch = task["batches"].shape[2:]
    built = build("cnn", 1, 10, 8, width=float(task["width"]))
    work = LocalWork(int(tau), None, int(batch), "replacement")
    federation = DeepFederation(
        Store(digits()), list(task["parts"]), work, weights="uniform"
    )
    at_once = Options(clients_at_once=int(task["clients_at_once"]))
    run = FedAvg(Worker(FlatModel(built.blocks)), federation, at_once)
    rates = Rates(float(task["eta"]), float(task["eta"]))
    return Contender(
        lambda t: run.round(t, rates), lambda: run.state.parameters.numpy()
    )


if __name__ == "__main__":
    OUT = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not look like an answer
    main()
