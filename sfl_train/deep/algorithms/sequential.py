r"""Algorithms in which the server has one model and clients come one after the other.

- SFL-V2, order ``client-sequential`` (the released code): each participant starts from
  the aggregated client side, makes all its local steps with the one server-side model,
  and hands on; afterwards the client sides are averaged.
- SFL-V2, order ``interleaved`` (han2024, Algorithm 2): at each local step the server
  visits all participants that still have steps to make, in a fresh random order.
- SL (Gupta & Raskar, 2018): the client side is handed from client to client as well.

SFL-V2's server steps are scaled by $1/q_n$ and carry no $a_n$, as printed; with
``weighted`` they are scaled by $a_n/q_n$, which the repaired Theorem 3.7 needs. Where
the aggregation is "normalised", as in the released code, nothing is divided by q_n.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

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
from sfl_train.deep.cluster import Cluster
from sfl_train.deep.federation import DeepFederation
from sfl_train.deep.flat import State
from sfl_train.deep.memories import Memories
from sfl_train.deep.worker import Side, Worker


class _OneServer(DeepRun):
    """What SFL-V2 and SL share: two sides, one server-side model."""

    def __init__(
        self,
        worker: Worker,
        federation: DeepFederation,
        cut: int,
        options: Options | None = None,
        cluster: Cluster | None = None,
        weighted: bool = False,
    ) -> None:
        """Start at the worker's present model, see `DeepRun`.

        Args:
            worker: the model.
            federation: the clients.
            cut: number of client-side blocks.
            options: optimizers and aggregation.
            cluster: must be one process: the server's steps follow each other.
            weighted: server steps carry $a_n$.

        Raises:
            ValueError: if there are several processes.
        """
        super().__init__(worker, federation, options, cluster)
        if self.cluster.size > 1:
            raise ValueError(
                "one server-side model is trained step after step and cannot be "
                "shared among processes; start a single process"
            )
        self.client_part, self.server_part = worker.model.sides(cut)
        x = self.state.parameters
        self._client = Memories(self.options.optimizer, x[self.client_part.parameters])
        self._server = Memories(self.options.server, x[self.server_part.parameters])
        self._weighted = weighted

    def memories(self) -> dict[str, dict[str, Tensor]]:
        """Return what outlives a round beside the model, in named groups."""
        return {"client": self._client.tensors(), "server": self._server.tensors()}

    def load_memories(self, groups: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Take over what `memories` returned."""
        self._client.load(groups.get("client", {}))
        self._server.load(groups.get("server", {}))

    def _server_rate(self, client: int, rates: Rates, step: int) -> float:
        scale = float(self.federation.weights[client]) if self._weighted else 1.0
        rate = rates.server_at(step) * scale
        normalised = self.options.aggregation == "normalised"
        return rate if normalised else rate / self.federation.q


class SequentialSFLV2(_OneServer):
    """SFL-V2 in the order of the released code."""

    def round(self, t: int, rates: Rates) -> Report:
        """Return what happened in round t, see `DeepRun.round`."""
        federation, options = self.federation, self.options
        participants = federation.participants(t)
        weights, parts, kept = shares(federation, participants, options.aggregation)
        state = self.worker.state
        state.copy_(self.state)
        mine, before = state.side(self.client_part), self.state.side(self.client_part)
        average = Average(mine)
        server_memory = self._server.of(0)
        loss, done = self._no_loss(), []
        for client in federation.order(t, 0, participants):
            batches = federation.batches(t, client)
            done.append(contribution(client, batches))
            mine.copy_(before)
            sides = (
                Side(
                    self.client_part.parameters,
                    self._client.of(client),
                    rates.client_at,
                ),
                Side(
                    self.server_part.parameters,
                    server_memory,
                    partial(self._server_rate, client, rates),
                ),
            )
            loss += self._train(batches, client, sides)
            average.add(mine, weights[client], parts[client])
        if participants:
            average.into(before, kept, options.counters, self.cluster)
            self.state.side(self.server_part).copy_(state.side(self.server_part))
        return Report(loss, tuple(sorted(done, key=lambda one: one.client)))


class InterleavedSFLV2(_OneServer):
    """SFL-V2 in the order of Algorithm 2; holds the client side of all participants."""

    def round(self, t: int, rates: Rates) -> Report:
        """Return what happened in round t, see `DeepRun.round`."""
        federation, options = self.federation, self.options
        participants = federation.participants(t)
        weights, parts, kept = shares(federation, participants, options.aggregation)
        state, model = self.worker.state, self.worker.model
        state.copy_(self.state)
        mine, before = state.side(self.client_part), self.state.side(self.client_part)
        server_memory = self._server.of(0)
        models: dict[int, State] = {n: before.clone() for n in participants}
        memories = self._client.all_of(participants)
        work = {n: federation.batches(t, n) for n in participants}
        batches = {n: self._watched(work[n], n) for n in participants}
        loss = self._no_loss()
        model.blocks.train()
        for step in range(max((len(b) for b in work.values()), default=0)):
            active = [n for n in participants if step < len(work[n])]
            now = rates.at(step)
            for client in federation.order(t, step, active):
                mine.copy_(models[client])
                sides = (
                    Side(self.client_part.parameters, memories[client], now.client_at),
                    Side(
                        self.server_part.parameters,
                        server_memory,
                        partial(self._server_rate, client, now),
                    ),
                )
                loss += self.worker.steps(_first(batches[client]), sides)
                models[client].copy_(mine)
                if self.watch is not None and step + 1 == len(work[client]):
                    self.watch.client_done(client, self.worker)
        if participants:
            average = Average(mine)
            for client in participants:
                average.add(models[client], weights[client], parts[client])
            average.into(before, kept, options.counters, self.cluster)
            self.state.side(self.server_part).copy_(state.side(self.server_part))
        done = tuple(contribution(n, work[n]) for n in participants)
        return Report(loss, done)


class SplitLearning(_OneServer):
    """SL: one model on both sides, handed from participant to participant."""

    def round(self, t: int, rates: Rates) -> Report:
        """Return what happened in round t, see `DeepRun.round`."""
        federation = self.federation
        participants = federation.participants(t)
        self.worker.state.copy_(self.state)
        memories = self._client.of(0), self._server.of(0)
        parts = self.client_part.parameters, self.server_part.parameters
        sides = tuple(
            Side(part, memory, rate)
            for part, memory, rate in zip(
                parts, memories, (rates.client_at, rates.server_at), strict=True
            )
        )
        loss, done = self._no_loss(), []
        for client in federation.order(t, 0, participants):
            batches = federation.batches(t, client)
            done.append(contribution(client, batches))
            loss += self._train(batches, client, sides)
        self.state.copy_(self.worker.state)
        return Report(loss, tuple(sorted(done, key=lambda one: one.client)))


def _first(batches: Iterator[tuple[Tensor, Tensor]]) -> list[tuple[Tensor, Tensor]]:
    """Return the next batch, formed only now, in a list."""
    return [next(batches)]
