r"""Clients with images: who takes part, with which weight, on which mini-batches.

Every draw is named by (seed, purpose, round, client, step), so it depends neither on
the cut, nor on the order in which clients are simulated, nor on the number of
processes, nor on where a run was resumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfl_train import streams
from sfl_train.deep.data.store import Batches, Store
from sfl_train.streams import Purpose

Sampling = Literal["reshuffle", "replacement"]
Weights = Literal["size", "uniform"]
MINIBATCH_ORDER = 1 << 20
"""Offset of the steps that name shuffles, so that they never meet those of draws."""


@dataclass(frozen=True)
class LocalWork:
    r"""How much a client does in a round.

    Attributes:
        tau: number of local steps; None: ``epochs`` passes over the client's data.
        epochs: number of passes; the number of steps then differs between clients.
        batch_size: samples of a mini-batch; a client with fewer uses all it has.
        sampling: "reshuffle" walks through a fresh permutation of the client's data in
            every pass; "replacement" draws every sample of every batch independently,
            as the theory's unbiased gradients with independent draws.
    """

    tau: int | None = None
    epochs: int | None = 1
    batch_size: int = 32
    sampling: Sampling = "reshuffle"

    def __post_init__(self) -> None:
        """Check the amounts.

        Raises:
            ValueError: if one is impossible, or both or neither of tau and epochs are
                given.
        """
        if (self.tau is None) == (self.epochs is None):
            raise ValueError("expected either tau or epochs, not both and not neither")
        for name in ("tau", "epochs", "batch_size"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}: expected a positive number, got {value}")
        if self.sampling not in {"reshuffle", "replacement"}:
            raise ValueError(
                f"sampling: expected reshuffle or replacement, got {self.sampling!r}"
            )

    def steps(self, size: int) -> int:
        """Return the number of local steps of a client.

        Args:
            size: number of its samples.

        Returns:
            tau, or the number of batches in its epochs, the last one of an epoch
            being smaller where the batch size does not divide.
        """
        if self.tau is not None:
            return self.tau
        return (self.epochs or 0) * -(-size // min(self.batch_size, size))

    def samples(self, size: int) -> int:
        """Return the number of samples that a client processes in a round.

        Args:
            size: number of its samples.

        Returns:
            Each sample counted as often as it is processed.
        """
        batch, steps = min(self.batch_size, size), self.steps(size)
        if self.sampling == "replacement":
            return steps * batch
        passes, rest = divmod(steps, -(-size // batch))
        return passes * size + rest * batch

    def smallest(self, size: int) -> int:
        """Return the number of samples in the smallest mini-batch of a round.

        Args:
            size: number of the client's samples.

        Returns:
            The last batch of a pass where the round gets that far.
        """
        batch = min(self.batch_size, size)
        passes_end = self.steps(size) >= -(-size // batch)
        if self.sampling == "replacement" or not passes_end:
            return batch
        return size % batch or batch


@dataclass(frozen=True)
class Participation:
    r"""Who takes part in a round.

    Attributes:
        rate: $q_n$ of every client for independent draws, as the theory has them.
        count: number of clients drawn uniformly without replacement, as the released
            code does; None: independent draws with ``rate``.
    """

    rate: float = 1.0
    count: int | None = None

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ValueError: if the rate is not in (0, 1] or the count not positive.
        """
        if not 0 < self.rate <= 1:
            raise ValueError(
                f"participation: expected a rate in (0, 1], got {self.rate}"
            )
        if self.count is not None and self.count < 1:
            raise ValueError(f"participation: expected a client, got {self.count}")

    def probability(self, clients: int) -> float:
        """Return the probability with which a client takes part."""
        return self.rate if self.count is None else min(1.0, self.count / clients)


class DeepFederation:
    r"""Clients, their data and the draws of a run.

    Attributes:
        store: the data on the device.
        parts: samples of every client.
        weights: $a_n$, shape (N,).
        participation: who takes part.
        work: what a client does in a round.
        seed: of all draws.
        ids: identity of each client in the names of its draws.
    """

    def __init__(
        self,
        store: Store,
        parts: Sequence[NDArray[np.int64]],
        work: LocalWork,
        participation: Participation | None = None,
        weights: Weights = "size",
        seed: int = 0,
        ids: Sequence[int] | None = None,
    ) -> None:
        """Bring clients together.

        Args:
            store: the data.
            parts: samples of every client, none empty.
            work: what a client does in a round.
            participation: who takes part; None: everyone.
            weights: $a_n=D_n/D$ ("size") or $1/N$ ("uniform").
            seed: of all draws.
            ids: identity of each client in the names of its draws; None: 0..N-1.

        Raises:
            ValueError: if a client has no data or an option is impossible.
        """
        if not parts or min(map(len, parts)) == 0:
            raise ValueError("expected at least one sample for every client")
        if weights not in {"size", "uniform"}:
            raise ValueError(f"weights: expected size or uniform, got {weights!r}")
        self.store = store
        self.parts = tuple(np.asarray(part, np.int64) for part in parts)
        self.work = work
        self.participation = participation or Participation()
        if (self.participation.count or 1) > len(parts):
            raise ValueError(
                f"participation: {self.participation.count} of {len(parts)} clients"
            )
        self.seed = seed
        self.ids = tuple(range(len(parts)) if ids is None else ids)
        sizes = np.array([len(part) for part in parts], dtype=np.float64)
        uniform = np.full(len(parts), 1.0 / len(parts))
        self.weights = uniform if weights == "uniform" else sizes / sizes.sum()

    @property
    def clients(self) -> int:
        """Number of clients N."""
        return len(self.parts)

    @property
    def q(self) -> float:
        """Probability with which a client takes part."""
        return self.participation.probability(self.clients)

    def participants(self, round: int) -> tuple[int, ...]:
        """Draw who takes part in a round.

        Args:
            round: t.

        Returns:
            Positions of clients, ascending; may be empty for independent draws.
        """
        if self.q == 1.0:
            return tuple(range(self.clients))
        u = self._uniforms(Purpose.PARTICIPATION, round, range(self.clients))
        if self.participation.count is None:
            return tuple(np.flatnonzero(u < self.participation.rate).tolist())
        chosen = np.argsort(u, kind="stable")[: self.participation.count]
        return tuple(sorted(chosen.tolist()))

    def order(self, round: int, step: int, among: Sequence[int]) -> tuple[int, ...]:
        """Draw the order in which the server visits participants.

        Args:
            round: t.
            step: local step.
            among: the participants.

        Returns:
            The same clients in the order of visits.
        """
        u = self._uniforms(Purpose.VISITING_ORDER, round, among, step)
        return tuple(among[k] for k in np.argsort(u, kind="stable"))

    def batches(self, round: int, client: int) -> Batches:
        """Draw the mini-batches of one client's round.

        Args:
            round: t.
            client: its position.

        Returns:
            The batches, on the device.
        """
        mine, work = self.parts[client], self.work
        steps, size = work.steps(len(mine)), min(work.batch_size, len(mine))
        identity = self.ids[client]
        if work.sampling == "replacement":
            keys = streams.keys(
                self.seed, Purpose.MINIBATCH, round, identity, np.arange(steps)
            )
            drawn = streams.integers(keys, size, len(mine))
            chosen = [mine[row] for row in drawn]
        else:
            chosen = []
            while len(chosen) < steps:
                key = streams.keys(
                    self.seed,
                    Purpose.MINIBATCH,
                    round,
                    identity,
                    MINIBATCH_ORDER + len(chosen),
                )
                shuffled = mine[
                    np.argsort(streams.uniforms(key, len(mine)), kind="stable")
                ]
                chosen += [
                    shuffled[first : first + size]
                    for first in range(0, len(mine), size)
                ]
            chosen = chosen[:steps]
        windows = streams.keys(
            self.seed, Purpose.AUGMENTATION, round, identity, np.arange(steps)
        )
        modules = streams.keys(
            self.seed, Purpose.MODULES, round, identity, np.arange(steps)
        )
        return replace(self.store.batches(chosen, windows), keys=modules)

    def pooled(self) -> DeepFederation:
        """Return one client that holds all data, for centralised training."""
        everything = np.sort(np.concatenate(self.parts))
        return DeepFederation(self.store, [everything], self.work, seed=self.seed)

    def _uniforms(
        self, purpose: Purpose, round: int, clients: Sequence[int], step: int = 0
    ) -> NDArray[np.float64]:
        ids = np.array([self.ids[n] for n in clients], dtype=np.int64)
        return streams.uniforms(streams.keys(self.seed, purpose, round, ids, step), 1)[
            :, 0
        ]
