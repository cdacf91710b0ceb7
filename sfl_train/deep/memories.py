"""What the clients' optimizers remember: one memory, or one per client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from torch import Tensor

from sfl_train.optimizer import Memory, Optimizer


class Memories:
    """The memories of one side's optimizer, handed out client by client.

    Memory that ends with the round is one buffer for all clients, so it does not grow
    with their number; memory of lifetime "run" is kept per client.
    """

    def __init__(self, optimizer: Optimizer, like: Tensor) -> None:
        """Start empty.

        Args:
            optimizer: whose memories they are.
            like: the parameters that they belong to, shape (k,).
        """
        self._optimizer, self._like = optimizer, like
        self._kept: dict[int, Memory] = {}
        self._shared = self._fresh()

    def of(self, client: int) -> Memory:
        """Return the memory with which a client begins a round."""
        if self._optimizer.lifetime != "run" or not self._optimizer.slots:
            self._shared.clear()
            return self._shared
        if client not in self._kept:
            self._kept[client] = self._fresh()
        return self._kept[client]

    def all_of(self, clients: Sequence[int]) -> dict[int, Memory]:
        """Return memories that several clients hold at the same time."""
        if self._optimizer.lifetime == "run" and self._optimizer.slots:
            return {client: self.of(client) for client in clients}
        return {client: self._fresh() for client in clients}

    @contextmanager
    def together(self, clients: Sequence[int]) -> Iterator[Memory]:
        """Lend the memories of several clients as one stack, for a round.

        Args:
            clients: K of them.

        Yields:
            Memory of shape (K, k).
        """
        kept = self._optimizer.lifetime == "run" and self._optimizer.slots
        held = [self.of(client) for client in clients] if kept else []
        stack = Memory(
            self._optimizer,
            (len(clients), *self._like.shape),
            (len(clients), 1),
            like=self._like,
        )
        for k, memory in enumerate(held):
            for whole, mine in zip(stack.tensors(), memory.tensors(), strict=True):
                whole[k].copy_(mine)
        yield stack
        for k, memory in enumerate(held):
            for whole, mine in zip(stack.tensors(), memory.tensors(), strict=True):
                mine.copy_(whole[k])

    def tensors(self) -> dict[str, Tensor]:
        """Return what outlives a round, by name, for a checkpoint."""
        found = {}
        for client, memory in self._kept.items():
            for index, tensor in enumerate(memory.tensors()):
                found[f"{client}.{index}"] = tensor
        return found

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what `tensors` returned."""
        self._kept.clear()
        for name, tensor in tensors.items():
            client, index = (int(word) for word in name.split("."))
            memory = self._kept.setdefault(client, self._fresh())
            memory.tensors()[index].copy_(tensor)

    def _fresh(self) -> Memory:
        return Memory(self._optimizer, self._like.shape, (1,), like=self._like)
