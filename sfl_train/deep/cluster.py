"""Processes that share the clients of a round among them.

Under ``torchrun --nproc-per-node=k -m sfl_train ...`` every process simulates its
clients and adds their weighted models in float64; the sums are added over processes.
One process adds all models one after the other, so the two differ by the rounding of a
float64 sum, which float32 parameters mostly do not show.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed

from sfl_train.deep.device import check

T = TypeVar("T")


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
                distributed.all_reduce(tensor)

    def merged(self, mine: Mapping[Any, T]) -> dict[Any, T]:
        """Return the mappings of all processes as one, to each of them.

        Args:
            mine: of this process; keys of different processes differ.

        Returns:
            Their union.
        """
        if self.size == 1:
            return dict(mine)
        found: list[Any] = [None] * self.size
        distributed.all_gather_object(found, dict(mine))
        return {key: value for one in found for key, value in one.items()}

    def from_first(self, value: T) -> T:
        """Return the value of the first process to each of them."""
        if self.size == 1:
            return value
        box = [value]
        distributed.broadcast_object_list(box)
        return box[0]


@contextmanager
def joined(device: str) -> Iterator[tuple[Cluster, str]]:
    """Join the processes that ``torchrun`` started, if it did.

    Args:
        device: of the run; with several processes on GPUs each takes its own.

    Yields:
        The cluster and this process's device.

    Raises:
        ValueError: if the device is not there.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size > 1 and device.startswith("cuda"):
        device = f"cuda:{os.environ['LOCAL_RANK']}"
    on_gpu = check(device).type == "cuda"
    if size == 1:
        yield Cluster(), device
        return
    if on_gpu:
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if on_gpu else "gloo")
    try:
        yield Cluster(distributed.get_rank(), size), device
        distributed.barrier()  # the first process serves the others until the end
    finally:
        distributed.destroy_process_group()
