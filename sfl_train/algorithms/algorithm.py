r"""What all algorithms have in common: their options, and a run as an object.

An algorithm is a description (a frozen dataclass). ``begin`` gives a `Run`, which owns
the buffers of one training run and makes one communication round after the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

import torch
from torch import Tensor

from sfl_train.federation import Federation
from sfl_train.optimizer import SGD, Optimizer

Aggregation = Literal["updates", "models"]

Rates = Callable[[int], tuple[float, float]]
"""Learning rates (client side, server side) at a local step of the current round."""


class Run(Protocol):
    """A training run: buffers, and the model after the last round.

    Attributes:
        x: the aggregated model $x^t$, shape (d, R).
    """

    x: Tensor

    def round(self, t: int, rates: Rates) -> None:
        """Make round t, from $x^t$ to $x^{t+1}$.

        Args:
            t: index of the round, from 0.
            rates: learning rates at each local step.
        """


class Ball:
    r"""Remembers how far from the initial point the local models got.

    Attributes:
        center: $x^0$, shape (d, R).
        farthest: largest $\|x_n^{t,i}-x^0\|$ so far, per replica, shape (R,).
    """

    def __init__(self, center: Tensor) -> None:
        """Start at the initial point.

        Args:
            center: $x^0$, shape (d, R).
        """
        self.center = center.clone()
        self.farthest = torch.zeros(center.shape[1], dtype=torch.float64)

    def see(self, x: Tensor, absent: Tensor | None = None) -> None:
        """Take note of the models ``x``.

        Args:
            x: shape (K, d, R) or (d, R).
            absent: models that do not count, shape (K, 1, R).
        """
        distance = torch.linalg.vector_norm(x - self.center, dim=-2, keepdim=True)
        if absent is not None:
            distance = distance.masked_fill(absent, 0.0)
        farthest = distance.reshape(-1, x.shape[-1]).amax(0)
        self.farthest = torch.maximum(self.farthest, farthest)

    def see_in(self, lanes: Tensor, x: Tensor) -> None:
        """Take note of one model in each of some replicas.

        Args:
            lanes: replicas, shape (k,).
            x: their models, shape (k, d).
        """
        self.reach(lanes, torch.linalg.vector_norm(x - self.center.T[lanes], dim=1))

    def reach(self, replicas: Tensor, distances: Tensor) -> None:
        r"""Take note of distances $\|x_n^{t,i}-x^0\|$.

        Args:
            replicas: of each, shape (k,); a replica may come more than once.
            distances: shape (k,).
        """
        self.farthest.scatter_reduce_(0, replicas, distances, "amax")


@dataclass(frozen=True, kw_only=True)
class Algorithm(ABC):
    r"""Options that every algorithm has.

    Attributes:
        aggregation: what the fed server sums over the participants, see
            `sfl_train.algorithms.aggregation`.
        optimizer: of the client side, and of the server side unless that has its own.
        server_optimizer: of the server side; None: the same as the client side's.
    """

    aggregation: Aggregation = "updates"
    optimizer: Optimizer = field(default_factory=SGD)
    server_optimizer: Optimizer | None = None

    def __post_init__(self) -> None:
        """Check the options that do not depend on the federation.

        Raises:
            ValueError: if an option is impossible.
        """
        if self.aggregation not in get_args(Aggregation):
            raise ValueError(
                f"aggregation: expected one of {', '.join(get_args(Aggregation))}, "
                f"got {self.aggregation!r}"
            )
        for name in ("tau", "tau_server"):
            value = getattr(self, name, 1)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name}: expected an integer >= 1, got {value!r}")

    @property
    @abstractmethod
    def steps(self) -> int:
        """Number of local steps (iterations) in a round."""

    @property
    def server(self) -> Optimizer:
        """The optimizer of the server side."""
        return self.server_optimizer or self.optimizer

    @property
    def memoryless(self) -> bool:
        """Whether a round depends on the rounds before it through $x^t$ alone."""
        return all(
            o.slots == 0 or o.lifetime != "run" for o in (self.optimizer, self.server)
        )

    @abstractmethod
    def begin(self, federation: Federation, x: Tensor, ball: Ball | None = None) -> Run:
        """Return a run that starts at ``x``.

        Args:
            federation: who takes part.
            x: the model at the start, shape (d, R).
            ball: told of all local models, if given.

        Returns:
            A run with buffers of its own.

        Raises:
            ValueError: if the algorithm does not fit the federation.
        """


def check_cut(cut: int, federation: Federation) -> None:
    """Check that both sides of the cut hold parameters.

    Args:
        cut: length of the client block in coordinates.
        federation: its problem has the dimension d.

    Raises:
        ValueError: if the cut does not lie in 1..d-1.
    """
    d = federation.problem.dimension
    if not isinstance(cut, int) or not 1 <= cut < d:
        raise ValueError(f"cut: expected an integer in 1..{d - 1}, got {cut!r}")
