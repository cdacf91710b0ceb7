r"""A training run of a deep model: one communication round after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from sfl_train.deep.algorithms.own_draws import draws
from sfl_train.deep.cluster import Cluster
from sfl_train.deep.data.store import Batches
from sfl_train.deep.federation import DeepFederation
from sfl_train.deep.worker import Proximal, Side, Worker
from sfl_train.optimizer import SGD, Optimizer

Aggregation = Literal["updates", "models", "normalised"]
CounterPolicy = Literal["keep", "average"]


@dataclass(frozen=True)
class Rates:
    """Learning rates of a round.

    Attributes:
        client: of the client side, and of everything that has no sides.
        server: of the server side.
        local: (client, server) at every local step, for schedules that count those;
            empty: the same at all of them. Steps beyond the last take its rates.
    """

    client: float
    server: float
    local: tuple[tuple[float, float], ...] = ()

    def at(self, step: int) -> Rates:
        """Return the rates of one local step, for all steps."""
        if not self.local:
            return self
        return Rates(*self.local[min(step, len(self.local) - 1)])

    def client_at(self, step: int) -> float:
        """Return the client side's rate at a local step."""
        return self.at(step).client

    def server_at(self, step: int) -> float:
        """Return the server side's rate at a local step."""
        return self.at(step).server


@dataclass(frozen=True)
class Contribution:
    """What one client did in a round.

    Attributes:
        client: its position.
        steps: local steps.
        samples: processed samples, each as often as it was processed.
    """

    client: int
    steps: int
    samples: int


@dataclass(frozen=True)
class Report:
    """What happened in a round.

    Attributes:
        loss: sum of the training losses of all processed samples, on the device.
        contributions: of the participants, ascending.
    """

    loss: Tensor
    contributions: tuple[Contribution, ...]

    @property
    def samples(self) -> int:
        """Number of processed samples."""
        return sum(one.samples for one in self.contributions)


class Watch(Protocol):
    """Someone who looks on while clients train, without changing anything."""

    def before_step(self, client: int, step: int, worker: Worker) -> None:
        """See the local model $x_n^{t,i}$ before the local step i."""

    def client_done(self, client: int, worker: Worker) -> None:
        """See the local model after the client's last local step."""


@dataclass(frozen=True)
class Options:
    """What the algorithms have in common.

    Attributes:
        optimizer: of the client side, and of everything that has no sides.
        server_optimizer: of the server side; None: the same.
        aggregation: "updates" (han2024, App. C.2) and "models" (eq. (3)) weigh
            participants with $a_n/q_n$; "normalised" with $a_n$ over the sum of the
            participants' weights, as practice does, and then SFL-V2's server steps are
            not divided by q_n either. The three agree when everyone takes part. Buffers
            are always averaged with normalised weights: an extrapolated variance could
            be negative.
        counters: integer buffers stay as they are ("keep") or are averaged and rounded
            towards zero, as in the released code ("average").
        clients_at_once: how many clients train in one call (`sfl_train.deep.together`),
            where they train in parallel; the others take no notice.
    """

    optimizer: Optimizer = field(default_factory=SGD)
    server_optimizer: Optimizer | None = None
    aggregation: Aggregation = "updates"
    counters: CounterPolicy = "keep"
    clients_at_once: int = 1

    def __post_init__(self) -> None:
        """Check the choices.

        Raises:
            ValueError: if one is unknown.
        """
        for name, known in (
            ("aggregation", ("updates", "models", "normalised")),
            ("counters", ("keep", "average")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name}: expected one of {', '.join(known)}, got "
                    f"{getattr(self, name)!r}"
                )

    @property
    def server(self) -> Optimizer:
        """The optimizer of the server side."""
        return self.server_optimizer or self.optimizer


class DeepRun(ABC):
    """A run of one algorithm.

    Attributes:
        worker: the model on the device that is refilled in place.
        federation: the clients.
        options: optimizers and aggregation.
        cluster: the processes that share the clients.
        state: the aggregated model after the last round.
        watch: looks on, or None.
    """

    def __init__(
        self,
        worker: Worker,
        federation: DeepFederation,
        options: Options | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        """Start at the worker's present model.

        Args:
            worker: the model.
            federation: the clients.
            options: optimizers and aggregation.
            cluster: the processes that share the clients; None: this one alone.
        """
        self.worker = worker
        self.federation = federation
        self.options = options or Options()
        self.cluster = cluster or Cluster()
        self.state = worker.state.clone()
        self.watch: Watch | None = None
        self._draws = draws(worker, federation.store)

    @property
    def periods(self) -> tuple[int | None, ...]:
        """Local steps of a round that each block makes; empty: all of all blocks."""
        return ()

    @abstractmethod
    def round(self, t: int, rates: Rates) -> Report:
        """Make round t.

        Args:
            t: index of the round, from 0.
            rates: learning rates.

        Returns:
            What happened.
        """

    def tensors(self) -> dict[str, Tensor]:
        """Return all that the next round depends on, by name, for a checkpoint."""
        return {
            "parameters": self.state.parameters,
            "buffers": self.state.buffers,
            "counters": self.state.counters,
            **{
                f"{name}.{key}": tensor
                for name, group in self.memories().items()
                for key, tensor in group.items()
            },
        }

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what `tensors` returned.

        Args:
            tensors: by name.

        Raises:
            ValueError: if they belong to another model.
        """
        own = self.state
        for name in ("parameters", "buffers", "counters"):
            given, mine = tensors[name], getattr(own, name)
            if given.shape != mine.shape or given.dtype != mine.dtype:
                raise ValueError(
                    f"{name}: expected {mine.dtype} of shape {tuple(mine.shape)}, got "
                    f"{given.dtype} of shape {tuple(given.shape)}"
                )
            mine.copy_(given)
        groups: dict[str, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            group, dot, name = key.partition(".")
            if dot:
                groups.setdefault(group, {})[name] = tensor
        self.load_memories(groups)

    def memories(self) -> dict[str, dict[str, Tensor]]:
        """Return what outlives a round beside the model, in named groups."""
        return {}

    def load_memories(self, groups: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Take over what `memories` returned; groups without tensors are missing.

        Args:
            groups: by name.

        Raises:
            ValueError: if this algorithm remembers nothing.
        """
        if any(groups.values()):
            raise ValueError(f"nothing to take over {', '.join(groups)} for")

    def _train(
        self,
        batches: Batches,
        client: int,
        sides: Sequence[Side],
        proximal: Proximal | None = None,
    ) -> Tensor:
        loss = self.worker.steps(self._watched(batches, client), sides, proximal)
        if self.watch is not None:
            self.watch.client_done(client, self.worker)
        return loss

    def _watched(
        self, batches: Batches, client: int
    ) -> Iterator[tuple[Tensor, Tensor]]:
        for step, batch in enumerate(self.federation.store.iterate(batches)):
            if self.watch is not None:
                self.watch.before_step(client, step, self.worker)
            if batches.keys is not None:
                self._name_draws(batches.keys[step])
            yield batch

    def _name_draws(self, key: np.uint64) -> None:
        """Make what the network draws next, if it draws, a function of a key."""
        if self._draws:
            torch.manual_seed(int(key))

    def _no_loss(self) -> Tensor:
        device = self.state.parameters.device
        return torch.zeros((), dtype=torch.float64, device=device)


def contribution(client: int, batches: Batches) -> Contribution:
    """Return what a client does with its batches."""
    return Contribution(client, len(batches), batches.samples)


def shares(
    federation: DeepFederation, participants: Sequence[int], rule: Aggregation
) -> tuple[dict[int, float], dict[int, float], float]:
    r"""Return the weights of an aggregation.

    Args:
        federation: holds $a_n$ and $q_n$.
        participants: of the round.
        rule: of the aggregation.

    Returns:
        Weight of every participant's parameters; weight of its buffers, with sum 1;
        and the weight of the model from before the round.
    """
    a = federation.weights
    present = float(sum(a[n] for n in participants)) if participants else 1.0
    normalised = {n: float(a[n]) / present for n in participants}
    if federation.q == 1.0:
        exact = {n: float(a[n]) for n in participants}
        return exact, exact, 0.0
    if rule == "normalised":
        return normalised, normalised, 0.0
    weights = {n: float(a[n]) / federation.q for n in participants}
    kept = 1.0 - sum(weights.values()) if rule == "updates" else 0.0
    return weights, normalised, kept
