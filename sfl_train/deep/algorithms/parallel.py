r"""Algorithms whose clients start a round from one model and are averaged after it.

FedAvg (McMahan et al., AISTATS 2017), FedProx and FedOpt train the whole model at the
client. SFL-V1 trains the same composed model with a server-side model for every client
and averages both sides (han2024, Algorithm 1 and App. C.2): with $\tau=\tilde\tau$ and
the same optimizer on both sides it is FedAvg to the last bit at every cut. Clients are
simulated one after the other on one model, or several at once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack

from torch import Tensor

from sfl_train.deep.algorithms.average import Average
from sfl_train.deep.algorithms.run import (
    DeepRun,
    Options,
    Rates,
    Report,
    contribution,
    shares,
)
from sfl_train.deep.algorithms.server_optimizer import ServerOptimizer
from sfl_train.deep.cluster import Cluster
from sfl_train.deep.data.store import Batches
from sfl_train.deep.federation import DeepFederation
from sfl_train.deep.flat import State
from sfl_train.deep.memories import Memories
from sfl_train.deep.together import Seen, Together
from sfl_train.deep.worker import Proximal, Side, Worker
from sfl_train.optimizer import Memory

Lend = Callable[[Memories], Memory]
"""Picks the memory of one client, or of several as a stack."""


class Parallel(DeepRun):
    """Local training from the same model, then aggregation."""

    def __init__(
        self,
        worker: Worker,
        federation: DeepFederation,
        options: Options | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        """Start at the worker's present model, see `DeepRun`.

        Raises:
            ValueError: if several clients at once are asked of a network that cannot.
        """
        super().__init__(worker, federation, options, cluster)
        self._average = Average(self.state)
        self._together = None
        if self.options.clients_at_once > 1:
            if self.state.buffers.numel() or self.state.counters.numel() or self._draws:
                raise ValueError(
                    "--clients-at-once: needs a network without BatchNorm, Dropout and "
                    "other buffers or draws; take --norm group or none"
                )
            self._together = Together(worker, federation.store)

    def round(self, t: int, rates: Rates) -> Report:
        """Return what happened in round t, see `DeepRun.round`."""
        federation, options = self.federation, self.options
        participants = federation.participants(t)
        weights, parts, kept = shares(federation, participants, options.aggregation)
        loss, done = self._no_loss(), []
        group: dict[int, Batches] = {}
        for client in participants:
            batches = federation.batches(t, client)
            done.append(contribution(client, batches))
            if client in self.cluster.mine([client]):
                group[client] = batches
            full = len(group) == options.clients_at_once
            if group and (full or client == participants[-1]):
                for own, state in self._trained(group, rates, loss):
                    self._average.add(state, weights[own], parts[own])
                group = {}
        self.cluster.sum_(loss)
        if participants:
            self._aggregate(kept)
        return Report(loss, tuple(done))

    def _trained(
        self, group: Mapping[int, Batches], rates: Rates, loss: Tensor
    ) -> Iterator[tuple[int, State]]:
        """Train some clients and yield their models.

        Args:
            group: their mini-batches.
            rates: learning rates.
            loss: training losses are added to it.

        Yields:
            Clients and their models, each until the next one is asked for.
        """
        worker, clients = self.worker, tuple(group)
        if self._together is None:
            for client, batches in group.items():
                worker.state.copy_(self.state)
                sides = self._sides(lambda m, n=client: m.of(n), rates)
                loss += self._train(batches, client, sides, self._proximal())
                yield client, worker.state
            return
        models = self.state.parameters.repeat(len(clients), 1)
        with ExitStack() as held:
            sides = self._sides(
                lambda m: held.enter_context(m.together(clients)), rates
            )
            seen, each = self._seen(clients), tuple(group.values())
            loss += self._together.steps(models, each, sides, self._proximal(), seen)
        for client, model in zip(clients, models, strict=True):
            worker.state.parameters.copy_(model)
            if self.watch is not None:
                self.watch.client_done(client, worker)
            yield client, worker.state

    def _seen(self, clients: Sequence[int]) -> Seen | None:
        watch = self.watch
        if watch is None:
            return None

        def seen(k: int, step: int, model: Tensor) -> None:
            self.worker.state.parameters.copy_(model)
            watch.before_step(clients[k], step, self.worker)

        return seen

    def _aggregate(self, kept: float) -> None:
        self._average.into(self.state, kept, self.options.counters, self.cluster)

    def _proximal(self) -> Proximal | None:
        return None

    @abstractmethod
    def _sides(self, of: Lend, rates: Rates) -> tuple[Side, ...]:
        """Return how clients' models step in this round.

        Args:
            of: the memory of theirs.
            rates: learning rates.
        """


class FedAvg(Parallel):
    r"""Federated averaging, with FedProx's term and FedOpt's server step if wanted."""

    def __init__(
        self,
        worker: Worker,
        federation: DeepFederation,
        options: Options | None = None,
        cluster: Cluster | None = None,
        proximal: float = 0.0,
        server: ServerOptimizer | None = None,
    ) -> None:
        r"""Start at the worker's present model, see `DeepRun`.

        Args:
            worker: the model.
            federation: the clients.
            options: optimizers and aggregation.
            cluster: the processes that share the clients.
            proximal: coefficient of FedProx.
            server: FedOpt's step; None: the aggregated model is taken as it is.

        Raises:
            ValueError: if the coefficient is negative.
        """
        super().__init__(worker, federation, options, cluster)
        if not 0 <= proximal < float("inf"):
            raise ValueError(f"proximal: expected a number >= 0, got {proximal}")
        self._mu, self._server = proximal, server
        self._memories = Memories(self.options.optimizer, self.state.parameters)
        self._server_memory = (
            () if server is None else server.begin(self.state.parameters)
        )

    def memories(self) -> dict[str, dict[str, Tensor]]:
        """Return what outlives a round beside the model, in named groups."""
        server = {str(k): tensor for k, tensor in enumerate(self._server_memory)}
        return {"client": self._memories.tensors(), "fedopt": server}

    def load_memories(self, groups: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Take over what `memories` returned."""
        self._memories.load(groups.get("client", {}))
        for key, tensor in groups.get("fedopt", {}).items():
            self._server_memory[int(key)].copy_(tensor)

    def _sides(self, of: Lend, rates: Rates) -> tuple[Side, ...]:
        whole = self.worker.model.whole.parameters
        return (Side(whole, of(self._memories), rates.client_at),)

    def _proximal(self) -> Proximal | None:
        return Proximal(self._mu, self.state.parameters) if self._mu else None

    def _aggregate(self, kept: float) -> None:
        if self._server is None:
            super()._aggregate(kept)
            return
        before = self.state.parameters.clone()
        super()._aggregate(kept)
        delta = self.state.parameters - before
        self._server.step(before, delta, self._server_memory)
        self.state.parameters.copy_(before)


class SFLV1(Parallel):
    r"""SFL-V1 with $\tau$ client-side and $\tilde\tau$ server-side steps per round."""

    def __init__(
        self,
        worker: Worker,
        federation: DeepFederation,
        cut: int,
        options: Options | None = None,
        cluster: Cluster | None = None,
        tau: int | None = None,
        tau_server: int | None = None,
    ) -> None:
        r"""Start at the worker's present model, see `DeepRun`.

        Args:
            worker: the model.
            federation: the clients; its work has $\max\{\tau,\tilde\tau\}$ steps.
            cut: number of client-side blocks.
            options: optimizers and aggregation.
            cluster: the processes that share the clients.
            tau: the client side stands still after so many steps of a round (App.
                C.2's clock); None: never.
            tau_server: the same for the server side.
        """
        super().__init__(worker, federation, options, cluster)
        self.client_part, self.server_part = worker.model.sides(cut)
        x = self.state.parameters
        self._client = Memories(self.options.optimizer, x[self.client_part.parameters])
        self._server = Memories(self.options.server, x[self.server_part.parameters])
        self._steps = tau, tau_server

    @property
    def periods(self) -> tuple[int | None, ...]:
        """Local steps of a round that each block makes, tau or tau_server."""
        blocks = len(self.worker.model.blocks)
        cut = self.client_part.blocks.stop
        return (self._steps[0],) * cut + (self._steps[1],) * (blocks - cut)

    def memories(self) -> dict[str, dict[str, Tensor]]:
        """Return what outlives a round beside the model, in named groups."""
        return {"client": self._client.tensors(), "server": self._server.tensors()}

    def load_memories(self, groups: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Take over what `memories` returned."""
        self._client.load(groups.get("client", {}))
        self._server.load(groups.get("server", {}))

    def _sides(self, of: Lend, rates: Rates) -> tuple[Side, ...]:
        mine, servers = self.client_part.parameters, self.server_part.parameters
        tau, tau_server = self._steps
        return (
            Side(mine, of(self._client), rates.client_at, tau),
            Side(servers, of(self._server), rates.server_at, tau_server),
        )
