r"""Client drift $\sum_i\|x_n^{t,i}-x^t\|^2$, the left side of Lemmas C.5 and C.6."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from sfl_train.deep.algorithms.run import Watch
from sfl_train.deep.worker import Worker


class Drift:
    """Sums the drift of every client over a round, by blocks; a `Watch`.

    It sums only in rounds announced by `begin`, so that others cost nothing. A side
    that stands still after some steps of the round (SFL-V1 with two periods) has its
    sum over those steps, i < tau or i < tau_server.

    Attributes:
        sums: client -> shape (blocks,), float64, of the last round.
    """

    def __init__(self, periods: Sequence[int | None] = ()) -> None:
        """Set up.

        Args:
            periods: steps of a round that each block makes, None: all; empty: all of
                all blocks.
        """
        self.sums: dict[int, Tensor] = {}
        self._periods = periods
        self._origin: Tensor | None = None

    def begin(self, parameters: Tensor) -> None:
        """Remember the aggregated model $x^t$ before a round."""
        self._origin = parameters.clone()
        self.sums = {}

    def before_step(self, client: int, step: int, worker: Worker) -> None:
        """Add the squared distance of the local model before its step i."""
        if self._origin is None or step == 0:
            return
        moved = worker.state.parameters - self._origin
        bounds = list(pairwise(worker.model.offsets))
        periods = self._periods or [None] * len(bounds)
        none = moved.new_zeros((), dtype=torch.float64)
        squares = torch.stack([
            moved[first:last].double().square().sum()
            if period is None or step < period
            else none
            for (first, last), period in zip(bounds, periods, strict=True)
        ])
        self.sums[client] = self.sums.get(client, 0) + squares

    def end(self) -> None:
        """Stop summing until the next `begin`."""
        self._origin = None

    def client_done(self, client: int, worker: Worker) -> None:
        """Look on; the model after the last step is not in the sum."""


class Both:
    """Two who look on."""

    def __init__(self, first: Watch, second: Watch | None) -> None:
        """Bring them together.

        Args:
            first: is told first.
            second: is told second, or nobody.
        """
        self._watches = [first] if second is None else [first, second]

    def before_step(self, client: int, step: int, worker: Worker) -> None:
        """Tell both."""
        for watch in self._watches:
            watch.before_step(client, step, worker)

    def client_done(self, client: int, worker: Worker) -> None:
        """Tell both."""
        for watch in self._watches:
            watch.client_done(client, worker)
