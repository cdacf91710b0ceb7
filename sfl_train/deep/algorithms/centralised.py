"""Centralised training, the reference without clients."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from sfl_train.deep.algorithms.run import (
    DeepRun,
    Options,
    Rates,
    Report,
    contribution,
)
from sfl_train.deep.cluster import Cluster
from sfl_train.deep.federation import DeepFederation
from sfl_train.deep.memories import Memories
from sfl_train.deep.worker import Side, Worker


class Centralised(DeepRun):
    """SGD on the data of all clients together."""

    def __init__(
        self,
        worker: Worker,
        federation: DeepFederation,
        options: Options | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        """Start at the worker's present model, see `DeepRun`; clients are pooled.

        Args:
            worker: the model.
            federation: the clients.
            options: the optimizer.
            cluster: must be one process.

        Raises:
            ValueError: if there are several processes.
        """
        super().__init__(worker, federation.pooled(), options, cluster)
        if self.cluster.size > 1:
            raise ValueError("centralised training has one process")
        self._memories = Memories(self.options.optimizer, self.state.parameters)

    def round(self, t: int, rates: Rates) -> Report:
        """Return what happened in round t, see `DeepRun.round`."""
        self.worker.state.copy_(self.state)
        batches = self.federation.batches(t, 0)
        whole = self.worker.model.whole.parameters
        sides = (Side(whole, self._memories.of(0), rates.client_at),)
        loss = self._train(batches, 0, sides)
        self.state.copy_(self.worker.state)
        return Report(loss, (contribution(0, batches),))

    def memories(self) -> dict[str, dict[str, Tensor]]:
        """Return what outlives a round beside the model, in named groups."""
        return {"client": self._memories.tensors()}

    def load_memories(self, groups: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Take over what `memories` returned."""
        self._memories.load(groups.get("client", {}))
