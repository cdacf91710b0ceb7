r"""MiniBatch-SFL: at every step the server trains on the smashed data of all clients.

The clients' features form one batch for the server (huang2023, Algorithm 1). Its loss
is $\sum_n\frac{p_n}{\sum_mp_m}\bar\ell_n$, with $\bar\ell_n$ the mean loss of client
n's mini-batch and $p_n=a_n$ (with participation $a_n/q_n$), so a large client counts as
the paper has it, whatever its batch size. A client steps along the gradient of its own
mean loss $\bar\ell_n$, not along its share of the server's loss, which would be
$p_n/\sum_mp_m$ of that. BatchNorm on the server side sees the whole batch, on a client
its own part: that is the algorithm, and it is not the composed model of any client.

All client sides are held at once. What the server's blocks draw themselves, as Dropout
does, goes on from the draws of the step's last client. A client whose data are used up
sits out the rest of the round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor
from torch.func import functional_call

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
from sfl_train.deep.worker import Worker


class MiniBatchSFL(DeepRun):
    """MiniBatch-SFL."""

    def __init__(
        self,
        worker: Worker,
        federation: DeepFederation,
        cut: int,
        options: Options | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        """Start at the worker's present model, see `DeepRun`.

        Args:
            worker: the model.
            federation: the clients.
            cut: number of client-side blocks.
            options: optimizers and aggregation.
            cluster: must be one process.

        Raises:
            ValueError: if there are several processes.
        """
        super().__init__(worker, federation, options, cluster)
        if self.cluster.size > 1:
            raise ValueError("MiniBatch-SFL's server needs all clients in one process")
        self.client_part, self.server_part = worker.model.sides(cut)
        x = self.state.parameters
        self._client = Memories(self.options.optimizer, x[self.client_part.parameters])
        self._server = Memories(self.options.server, x[self.server_part.parameters])

    def round(self, t: int, rates: Rates) -> Report:
        """Return what happened in round t, see `DeepRun.round`."""
        federation, options = self.federation, self.options
        participants = federation.participants(t)
        weights, parts, kept = shares(federation, participants, options.aggregation)
        state, loss = self.worker.state, self._no_loss()
        state.copy_(self.state)
        before = self.state.side(self.client_part)
        servers = state.parameters[self.server_part.parameters]
        server_gradient = self.worker.model.gradient[self.server_part.parameters]
        server_memory = self._server.of(0)
        models = {n: before.clone() for n in participants}
        memories = self._client.all_of(participants)
        work = {n: federation.batches(t, n) for n in participants}
        batches = {n: self._watched(work[n], n) for n in participants}
        self.worker.model.blocks.train()
        for step in range(max((len(b) for b in work.values()), default=0)):
            active = [n for n in participants if step < len(work[n])]
            total = sum(weights[n] for n in active)
            here = {n: weights[n] / total for n in active}
            rows = self._gradients(active, models, batches, here, loss)
            for client, row in rows.items():
                g = row.div_(here[client])
                x = models[client].parameters
                x.sub_(memories[client].direction(x, g), alpha=rates.client_at(step))
                if self.watch is not None and step + 1 == len(work[client]):
                    state.side(self.client_part).copy_(models[client])
                    self.watch.client_done(client, self.worker)
            p = server_memory.direction(servers, server_gradient)
            servers.sub_(p, alpha=rates.server_at(step))
        if participants:
            average = Average(before)
            for client in participants:
                average.add(models[client], weights[client], parts[client])
            average.into(before, kept, options.counters, self.cluster)
            self.state.side(self.server_part).copy_(state.side(self.server_part))
        return Report(loss, tuple(contribution(n, work[n]) for n in participants))

    def memories(self) -> dict[str, dict[str, Tensor]]:
        """Return what outlives a round beside the model, in named groups."""
        return {"client": self._client.tensors(), "server": self._server.tensors()}

    def load_memories(self, groups: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Take over what `memories` returned."""
        self._client.load(groups.get("client", {}))
        self._server.load(groups.get("server", {}))

    def _gradients(
        self,
        active: Sequence[int],
        models: Mapping[int, State],
        batches: Mapping[int, Iterator[tuple[Tensor, Tensor]]],
        here: Mapping[int, float],
        loss: Tensor,
    ) -> dict[int, Tensor]:
        """Fill the server's gradient and return that of every client's side.

        Args:
            active: clients with a batch left.
            models: their client sides.
            batches: iterators over their batches.
            here: weight of every client in the server's loss, sum 1.
            loss: sum of the losses so far; increased.

        Returns:
            Client -> gradient of the server's loss in its side, shape (d_c,).
        """
        model, worker = self.worker.model, self.worker
        model.zero_gradient()
        client_blocks = model.blocks[self.client_part.blocks]
        server_blocks = model.blocks[self.server_part.blocks]
        rows, smashed, labels, scales = {}, [], [], []
        for client in active:
            if self.watch is not None:
                worker.state.side(self.client_part).copy_(models[client])
            x, y = next(batches[client])
            row = models[client].parameters.detach().requires_grad_()
            side = State(row, models[client].buffers, models[client].counters)
            views = model.views(self.client_part, side)
            with worker.autocast():
                smashed.append(functional_call(client_blocks, views, (x,)))
            rows[client] = row
            labels.append(y)
            scales.append(torch.full_like(y, here[client] / len(y), dtype=row.dtype))
        with worker.autocast():
            logits = server_blocks(torch.cat(smashed))
        each = torch.nn.functional.cross_entropy(
            logits.float() if logits.dtype == torch.bfloat16 else logits,
            torch.cat(labels),
            reduction="none",
        )
        (each * torch.cat(scales)).sum().backward()
        loss += each.detach().double().sum()
        # Blocks without parameters have none.
        return {
            client: torch.zeros_like(row) if row.grad is None else row.grad
            for client, row in rows.items()
        }
