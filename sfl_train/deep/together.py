r"""Local steps of several clients at once: their models are rows of one matrix.

A small network on a small batch spends its time in calls, not in products.
`torch.func.vmap` makes one call of the forward and backward passes of K clients, each
with its own weights. Results are those of one client after the other up to rounding.

Clients need not have equal batches: a batch is filled up with samples of weight zero,
and a model whose steps are done stands still. That needs networks whose samples do not
meet (BatchNorm) and that draw nothing (Dropout).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor
from torch.func import functional_call, grad_and_value, vmap

from sfl_train.deep.data.store import Batches, Store
from sfl_train.deep.worker import Proximal, Side, Worker, step_side

Seen = Callable[[int, int, Tensor], None]
"""Is told of a client's position in the group, a local step, and its model before."""


class Together:
    """Several models with the network of one worker."""

    def __init__(self, worker: Worker, store: Store) -> None:
        """Set up.

        Args:
            worker: whose network.
            store: the data.
        """
        self._worker, self._store = worker, store
        self._gradients = vmap(grad_and_value(self._loss))

    def steps(
        self,
        x: Tensor,
        each: Sequence[Batches],
        sides: Sequence[Side],
        proximal: Proximal | None = None,
        seen: Seen | None = None,
    ) -> Tensor:
        """Make the local steps of a round, see `Worker.steps`.

        Args:
            x: the models, shape (K, d); overwritten.
            each: mini-batches of every client.
            sides: stretches of the parameter vectors that step; their memories are
                stacks of K.
            proximal: FedProx's term.
            seen: looks on.

        Returns:
            Sum over clients and steps of batch size times mean loss, on the device.
        """
        self._worker.model.blocks.train()
        total = torch.zeros((), dtype=torch.float64, device=x.device)
        for index, (images, labels, weight, sizes) in enumerate(self._filled(each)):
            if seen is not None:
                for k in sizes.nonzero().flatten().tolist():
                    seen(k, index, x[k])
            g, loss = self._gradients(self._rows(x), images, labels, weight)
            total += loss.double() @ sizes.double()
            gradient = self._worker.model.flattened(list(g.values()))
            done = None if bool(sizes.all()) else (sizes == 0).unsqueeze(1)
            for side in sides:
                step_side(x, gradient, side, index, proximal, done)
        return total

    def _loss(
        self, parameters: dict[str, Tensor], x: Tensor, y: Tensor, weight: Tensor
    ) -> Tensor:
        """Return the weighted loss of one client's batch."""
        worker = self._worker
        with worker.autocast():
            logits = functional_call(worker.model.blocks, parameters, (x,))
        losses = torch.nn.functional.cross_entropy(
            logits.to(weight.dtype), y, reduction="none"
        )
        return losses @ weight

    def _rows(self, x: Tensor) -> dict[str, Tensor]:
        """Return models as stacks of parameters by name, views of (K, d)."""
        model = self._worker.model
        names = [name for name, _ in model.blocks.named_parameters()]
        return dict(zip(names, model.stacked(x), strict=True))

    def _filled(
        self, each: Sequence[Batches]
    ) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
        """Yield every step's batches, filled up to one size, and how full they are.

        Yields:
            Images (K, B, C, H, W), labels (K, B), weights (K, B) that sum to 1 over a
            client's samples, and sizes (K,), 0 for a client whose steps are done.
        """
        steps = max(map(len, each))
        rows = [[*b.sizes, *[0] * (steps - len(b))] for b in each]
        for (x, y), sizes in zip(
            self._store.iterate(_merged(each)), zip(*rows, strict=True), strict=True
        ):
            K, B = len(sizes), max(sizes)
            count = torch.tensor(sizes)
            full = torch.arange(B) < count.unsqueeze(1)
            weight = full.to(x) / count.clamp(min=1).unsqueeze(1).to(x)
            if not bool(full.all()):
                place = full.flatten().nonzero().flatten().to(x.device)
                x = x.new_zeros(K * B, *x.shape[1:]).index_copy_(0, place, x)
                y = y.new_zeros(K * B).index_copy_(0, place, y)
            yield (
                x.view(K, B, *x.shape[1:]),
                y.view(K, B),
                weight,
                count.to(x.device),
            )


def _merged(each: Sequence[Batches]) -> Batches:
    """Return mini-batches of which each holds one of every client, in order."""
    cuts = [list(b.indices.split(b.sizes)) for b in each]
    views = [
        [] if b.windows is None else list(b.windows.split(b.sizes, dim=1)) for b in each
    ]
    steps = range(max(map(len, each)))
    order = [(k, i) for i in steps for k in range(len(each)) if i < len(each[k])]
    windows = None
    if each[0].windows is not None:
        windows = torch.cat([views[k][i] for k, i in order], dim=1)
    return Batches(
        torch.cat([cuts[k][i] for k, i in order]),
        tuple(sum(b.sizes[i] for b in each if i < len(b)) for i in steps),
        windows,
    )
