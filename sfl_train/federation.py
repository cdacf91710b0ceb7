r"""Who takes part: clients, their weights and participation, and the replicas.

A federation says everything about a run that is not the algorithm: the objectives
$F_1..F_N$, the weights $a_n$ of $f=\sum_na_nF_n$, how a client samples, how often it
participates, and which seeds are simulated side by side. Its methods are the only
places where a run draws random numbers, each from the stream named by
(seed, purpose, round, client identity, step).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from sfl_train import streams
from sfl_train.problems.problem import Problem, Sampling
from sfl_train.streams import Purpose

_DRAW_BYTES = 64 * 2**20


@dataclass(frozen=True, eq=False)
class Federation:
    r"""Clients with objectives, weights and participation, in R replicas.

    Attributes:
        problem: the objectives $F_1..F_N$.
        weights: $a_n\ge0$ with $\sum_na_n=1$, shape (N,); None: $a_n=1/N$.
        participation: $q_n\in(0,1]$, shape (N,) or one number; client n takes part in
            a round with probability $q_n$, independently of all else.
        sampling: how a client draws its mini-batch.
        seeds: the replicas: one non-negative integer each.
        client_ids: identity of each client in the names of its streams, shape (N,);
            None: 0..N-1. Relabelling clients permutes it together with the data.
    """

    problem: Problem
    weights: ArrayLike | None = None
    participation: ArrayLike = 1.0
    sampling: Sampling = field(default_factory=Sampling)
    seeds: Sequence[int] = (0,)
    client_ids: ArrayLike | None = None

    def __post_init__(self) -> None:
        """Check every field and bring it to its canonical type.

        Raises:
            ValueError: if a field is impossible or of the wrong length.
        """
        N = self.problem.clients
        if N < 1:
            raise ValueError(f"clients: expected at least one client, got {N}")
        if self.weights is None:
            a = np.full(N, 1.0 / N)
        else:
            a = _vector("weights", self.weights, N)
        if (a < 0).any() or abs(a.sum() - 1.0) > 1e-9:
            raise ValueError(
                "weights: expected non-negative numbers that sum to 1, got sum "
                f"{a.sum():.12g} and minimum {a.min():.6g}"
            )
        q = np.asarray(self.participation, dtype=np.float64)
        q = np.full(N, q) if q.ndim == 0 else _vector("participation", q, N)
        if not ((q > 0) & (q <= 1)).all():
            raise ValueError(
                "participation: expected probabilities in (0, 1], got "
                f"{q[~((q > 0) & (q <= 1))][0]:.6g}"
            )
        seeds = tuple(int(seed) for seed in self.seeds)
        if not seeds or min(seeds) < 0:
            raise ValueError(
                f"seeds: expected one or more non-negative integers, got {seeds}"
            )
        if len(set(seeds)) < len(seeds):
            raise ValueError(f"seeds: expected distinct replicas, got {seeds}")
        ids = np.arange(N) if self.client_ids is None else np.asarray(self.client_ids)
        if ids.shape != (N,) or ids.dtype.kind not in "iu" or len(set(ids)) < N:
            raise ValueError(f"client_ids: expected {N} distinct integers, got {ids}")
        for name, value in (("weights", a), ("participation", q), ("client_ids", ids)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "seeds", seeds)

    @property
    def clients(self) -> int:
        """Number of clients N."""
        return self.problem.clients

    @property
    def replicas(self) -> int:
        """Number of replicas R."""
        return len(self.seeds)

    @property
    def full(self) -> bool:
        """Whether every client takes part in every round."""
        return bool(np.all(np.asarray(self.participation) == 1.0))

    def present(self, round: int) -> Tensor | None:
        r"""Draw $I_n^t\sim$ Bernoulli$(q_n)$ for all clients and replicas.

        Args:
            round: t.

        Returns:
            Booleans of shape (N, R), or None if every client always takes part.
        """
        if self.full:
            return None
        u = streams.uniforms(self._keys(Purpose.PARTICIPATION, round), 1)[..., 0]
        return torch.from_numpy(u < np.asarray(self.participation)[:, None])

    def draws(self, round: int, steps: int) -> Iterator[Tensor | None]:
        """Draw the mini-batches (or the noise) of the local steps of a round.

        Args:
            round: t.
            steps: number of local steps.

        Yields:
            One draw for all clients and replicas per local step, as
            `Problem.gradient` takes it.
        """
        widest = max(int(self.problem.sizes.max()), self.problem.dimension)
        row = 8 * widest * self.clients * self.replicas
        for block in _blocks(steps, row):
            keys = self._keys(Purpose.MINIBATCH, round, block[:, None, None])
            drawn = self.problem.draw(self.sampling, keys)
            yield from [None] * len(block) if drawn is None else drawn.unbind(0)

    def visiting_orders(
        self, round: int, steps: int, present: Tensor | None = None
    ) -> Iterator[Tensor]:
        """Draw the order in which the server visits the clients of each replica.

        Args:
            round: t.
            steps: number of local steps.
            present: participants, shape (N, R); None: everyone.

        Yields:
            Client positions of shape (N, R) per local step: row v holds the v-th
            visited client of each replica; those who do not take part come last.
        """
        for block in _blocks(steps, 8 * self.clients * self.replicas):
            keys = self._keys(Purpose.VISITING_ORDER, round, block[:, None, None])
            u = streams.uniforms(keys, 1)[..., 0]
            if present is not None:
                u = np.where(present.numpy(), u, 2.0)
            yield from torch.from_numpy(np.argsort(u, axis=1, kind="stable")).unbind(0)

    def _keys(
        self, purpose: Purpose, round: int, step: int | NDArray[np.int64] = 0
    ) -> streams.Keys:
        ids = np.asarray(self.client_ids)[:, None]
        return streams.keys(np.asarray(self.seeds), purpose, round, ids, step)


def _blocks(steps: int, size: int) -> Iterator[NDArray[np.int64]]:
    """Cut the local steps into pieces.

    Args:
        steps: number of local steps.
        size: bytes that the draws of one step take.

    Yields:
        Consecutive steps whose draws fit `_DRAW_BYTES` together, at least one.
    """
    chunk = max(1, _DRAW_BYTES // size)
    for first in range(0, steps, chunk):
        yield np.arange(first, min(first + chunk, steps))


def _vector(name: str, values: ArrayLike, length: int) -> NDArray[np.float64]:
    array = np.array(values, dtype=np.float64)
    if array.shape != (length,):
        raise ValueError(
            f"{name}: expected one number per client, shape ({length},), got shape "
            f"{array.shape}"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: expected finite numbers, got {array}")
    return array
