"""Processes that share the clients of a round among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Cluster:
    """One process, or one of several under ``torchrun``.

    Client n belongs to the process ``n % size`` for the whole run, so what its
    optimizer remembers stays where it is.

    Attributes:
        rank: of this process.
        size: number of processes.
    """

    rank: int = 0
    size: int = 1

    def mine(self, clients: Sequence[int]) -> tuple[int, ...]:
        """Return those clients that this process simulates."""
        return tuple(n for n in clients if n % self.size == self.rank)

    def sum_(self, *tensors: Tensor) -> None:
        """Replace each tensor by its sum over the processes, in place."""
        if self.size > 1:
            for tensor in tensors:
                torch.distributed.all_reduce(tensor)
