r"""SFL-V1 as released: the server side waits until every client has been seen."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from sfl_train.deep.algorithms.average import Average
from sfl_train.deep.algorithms.parallel import SFLV1
from sfl_train.deep.algorithms.run import (
    Options,
    Rates,
    Report,
    contribution,
    shares,
)
from sfl_train.deep.cluster import Cluster
from sfl_train.deep.federation import DeepFederation
from sfl_train.deep.flat import State
from sfl_train.deep.worker import Worker


class WaitingSFLV1(SFLV1):
    r"""SFL-V1 as released: the server side waits until every client has been seen.

    Under partial participation the released code keeps the server-side model of every
    client it has seen, lets it go on from where it was, and averages them, the latest
    of each client, only when all clients have been seen since the last average. With
    full participation that is SFL-V1.
    """

    def __init__(
        self,
        worker: Worker,
        federation: DeepFederation,
        cut: int,
        options: Options | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        """Start at the worker's present model, see `SFLV1`.

        Args:
            worker: the model.
            federation: the clients.
            cut: number of client-side blocks.
            options: optimizers and aggregation.
            cluster: must be one process.

        Raises:
            ValueError: if there are several processes.
        """
        super().__init__(worker, federation, cut, options, cluster)
        if self.cluster.size > 1:
            raise ValueError("the released server cannot be shared among processes")
        self._seen: dict[int, State] = {}

    def round(self, t: int, rates: Rates) -> Report:
        """Return what happened in round t, see `DeepRun.round`."""
        federation, options = self.federation, self.options
        participants = federation.participants(t)
        weights, parts, kept = shares(federation, participants, options.aggregation)
        loss, done = self._no_loss(), []
        mine = Average(self.state.side(self.client_part))
        for client in participants:
            batches = federation.batches(t, client)
            done.append(contribution(client, batches))
            state = self.worker.state
            state.copy_(self.state)
            servers = state.side(self.server_part)
            if client in self._seen:
                servers.copy_(self._seen[client])
            sides = self._sides(lambda m, n=client: m.of(n), rates)
            loss += self._train(batches, client, sides)
            mine.add(state.side(self.client_part), weights[client], parts[client])
            self._seen[client] = servers.clone()
        if participants:
            clients = self.state.side(self.client_part)
            mine.into(clients, kept, options.counters, self.cluster)
        if len(self._seen) == federation.clients:
            self._average_servers()
        return Report(loss, tuple(done))

    def memories(self) -> dict[str, dict[str, Tensor]]:
        """Return what outlives a round beside the model, in named groups."""
        seen = {
            f"{client}.{index}": tensor
            for client, state in self._seen.items()
            for index, tensor in enumerate(state.vectors)
        }
        return {**super().memories(), "seen": seen}

    def load_memories(self, groups: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Take over what `memories` returned."""
        super().load_memories(groups)
        kept = groups.get("seen", {})
        clients = sorted({int(name.split(".")[0]) for name in kept})
        self._seen = {
            n: State(*(kept[f"{n}.{k}"].clone() for k in range(3))) for n in clients
        }

    def _average_servers(self) -> None:
        servers = self.state.side(self.server_part)
        average = Average(servers)
        for client in sorted(self._seen):
            share = float(self.federation.weights[client])
            average.add(self._seen[client], share, share)
        average.into(servers, 0.0, self.options.counters, self.cluster)
        self._seen.clear()
