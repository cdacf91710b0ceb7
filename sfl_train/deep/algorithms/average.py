r"""The fed server: a weighted sum of models, in float64 and in a fixed order.

Models are added one by one, so memory does not grow with the number of clients; every
coordinate is summed by itself, so the result does not depend on the cut.
"""

from __future__ import annotations

import torch

from sfl_train.deep.algorithms.run import CounterPolicy
from sfl_train.deep.cluster import Cluster
from sfl_train.deep.flat import State

SHORTFALL = 1e-6
"""Ten times a tenth may sum to less than one, and a count is rounded towards zero."""


class Average:
    """A running weighted sum of models or of one side of them."""

    def __init__(self, like: State) -> None:
        """Start at zero.

        Args:
            like: a model of the same shape.
        """
        self._sums = State(
            *(torch.zeros_like(v, dtype=torch.float64) for v in like.vectors)
        )

    def add(self, state: State, weight: float, share: float) -> None:
        """Add a model.

        Args:
            state: the model.
            weight: of its parameters.
            share: of its buffers.
        """
        for total, vector, factor in zip(
            self._sums.vectors, state.vectors, (weight, share, share), strict=True
        ):
            total.add_(vector, alpha=factor)

    def into(
        self, state: State, kept: float, counters: CounterPolicy, cluster: Cluster
    ) -> None:
        """Write the sum over a model, and start again at zero.

        Args:
            state: the model from before the round; overwritten.
            kept: its weight in the sum of the parameters.
            counters: "keep" leaves its integer buffers as they are.
            cluster: processes whose sums are added first.
        """
        cluster.sum_(*self._sums.vectors)
        if kept:
            self._sums.parameters.add_(state.parameters, alpha=kept)
        state.parameters.copy_(self._sums.parameters)
        state.buffers.copy_(self._sums.buffers)
        if counters == "average":
            state.counters.copy_(self._sums.counters + SHORTFALL)
        for total in self._sums.vectors:
            total.zero_()
