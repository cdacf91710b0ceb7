r"""A model held still while it is measured.

BatchNorm uses its running statistics and they stay as they are, so that every sample
has a loss of its own and $\nabla F_n$ is the mean of its samples' gradients.
Parameters, buffers, gradients and mode are given back to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

from sfl_train.deep.data.store import Store
from sfl_train.deep.flat import FlatModel, State
from sfl_train.deep.worker import Worker

IN_CACHE, IN_MEMORY = 2**22, 2**26
"""Entries of the per-sample gradients held at once, on the CPU and on other devices."""


class Frozen:
    """Gradients of a model that does not move, in the precision of its parameters."""

    def __init__(self, model: FlatModel, store: Store, chunk: int = 256) -> None:
        """Look at a model.

        Args:
            model: the network, already at the point of interest.
            store: its training data.
            chunk: samples per pass.
        """
        self._model, self._store, self._chunk = model, store, chunk

    @property
    def dimension(self) -> int:
        """Number of parameters d."""
        return self._model.dimension

    @property
    def offsets(self) -> tuple[int, ...]:
        """Where the blocks begin in the parameter vector, and d."""
        return self._model.offsets

    def gradient(self, indices: Tensor) -> tuple[float, Tensor]:
        r"""Return $F=\frac1{|J|}\sum_{j\in J}\ell_j(x)$ and its gradient.

        Args:
            indices: samples J, on the device.

        Returns:
            The mean loss, and a vector of shape (d,).
        """
        model = self._model
        model.zero_gradient()
        total = torch.zeros((), dtype=torch.float64, device=indices.device)
        for chosen in indices.split(self._chunk):
            x, y = self._store.samples(chosen)
            loss = torch.nn.functional.cross_entropy(
                model.blocks(x), y, reduction="sum"
            )
            (loss / len(indices)).backward()
            total += loss.detach()
        return float(total) / len(indices), model.gradient.clone()

    def variance(self, indices: Tensor, mean: Tensor) -> Tensor:
        r"""Return $\frac1{|J|}\sum_{j\in J}\|\nabla\ell_j(x)-\bar g\|^2$ by blocks.

        Args:
            indices: samples J.
            mean: $\bar g=\nabla F_n(x)$, shape (d,).

        Returns:
            Shape (blocks,), float64.
        """
        total = torch.zeros(len(self._model.blocks), dtype=torch.float64)
        if len(indices) == 1:
            return total
        entries = IN_CACHE if indices.device.type == "cpu" else IN_MEMORY
        rows = max(1, min(self._chunk, entries // self._model.dimension))
        for chosen in indices.split(rows):
            x, y = self._store.samples(chosen)
            deviation = self._each(x, y).sub_(mean)
            total += self.by_blocks(deviation).sum(0).cpu()
        return total / len(indices)

    def hessian_product(self, indices: Tensor, v: Tensor) -> Tensor:
        r"""Return $\frac1{|J|}\sum_{j\in J}\nabla^2\ell_j(x)\,v$.

        Args:
            indices: samples J.
            v: shape (d,).

        Returns:
            Shape (d,).
        """
        model = self._model
        parameters = list(model.blocks.parameters())
        pieces = model.like_parameters(v)
        total = torch.zeros_like(v)
        out = model.like_parameters(total)
        for chosen in indices.split(self._chunk):
            x, y = self._store.samples(chosen)
            loss = torch.nn.functional.cross_entropy(
                model.blocks(x), y, reduction="sum"
            )
            first = torch.autograd.grad(
                loss / len(indices), parameters, create_graph=True
            )
            along = sum((g * p).sum() for g, p in zip(first, pieces, strict=True))
            second = torch.autograd.grad(along, parameters, materialize_grads=True)
            for mine, piece in zip(out, second, strict=True):
                mine.add_(piece)
        return total

    def by_blocks(self, vectors: Tensor) -> Tensor:
        """Return squared norms of the blocks of vectors.

        Args:
            vectors: shape (d,) or (k, d).

        Returns:
            Shape (blocks,) or (k, blocks), float64: they add up over blocks to the
            squared norm, so that every cut's share comes from one pass.
        """
        bounds = self._model.offsets
        return torch.stack(
            [
                vectors[..., first:last].double().square().sum(-1)
                for first, last in pairwise(bounds)
            ],
            dim=-1,
        )

    def _each(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the gradient of every sample's loss, shape (k, d)."""
        blocks = self._model.blocks
        buffers = dict(blocks.named_buffers())

        def loss(parameters: dict[str, Tensor], image: Tensor, label: Tensor) -> Tensor:
            logits = functional_call(
                blocks, (parameters, buffers), (image.unsqueeze(0),)
            )
            return torch.nn.functional.cross_entropy(logits, label.unsqueeze(0))

        parameters = {k: p.detach() for k, p in blocks.named_parameters()}
        found = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
        return self._model.flattened(list(found.values()))


@contextmanager
def frozen(worker: Worker, state: State, store: Store) -> Iterator[Frozen]:
    """Hold a worker's model at a state; afterwards everything is as it was.

    Args:
        worker: whose model is used.
        state: where it is held.
        store: its training data.

    Yields:
        The model held still.
    """
    model = worker.model
    kept, gradient = worker.state.clone(), model.gradient.clone()
    training = model.blocks.training
    worker.state.copy_(state)
    model.blocks.eval()
    try:
        yield Frozen(model, store)
    finally:
        model.blocks.train(training)
        worker.state.copy_(kept)
        model.gradient.copy_(gradient)
