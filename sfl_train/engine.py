"""Training: one round after the other, until the end or until it diverges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Protocol

from torch import Tensor

from sfl_train.algorithms.algorithm import Algorithm, Ball
from sfl_train.federation import Federation

_HUGE = 1e60  # squares of squares of it are numbers still


class LearningRate(Protocol):
    r"""Learning rates of the two sides.

    An object with an attribute ``per_step = True`` is called with the global step
    $i=t\cdot$steps + local step instead of the round t, where "steps" is
    `Algorithm.steps` (the schedule of huang2023, Theorem 1).
    """

    def client(self, t: int) -> float:
        """Return the learning rate of the client side in round t."""

    def server(self, t: int) -> float:
        """Return the learning rate of the server side in round t."""


@dataclass(frozen=True)
class ConstantRate:
    """The same learning rate in every round.

    Attributes:
        eta: of the client side.
        eta_server: of the server side; None: the same.
    """

    eta: float
    eta_server: float | None = None

    def client(self, t: int) -> float:
        """Return the learning rate of the client side."""
        return self.eta

    def server(self, t: int) -> float:
        """Return the learning rate of the server side."""
        return self.eta if self.eta_server is None else self.eta_server


class Diverged(Exception):  # noqa: N818
    """The model became non-finite or larger than 1e60.

    Attributes:
        round: the round in which it happened.
        learning_rate: (client side, server side) at the first step of that round.
    """

    def __init__(self, round: int, learning_rate: tuple[float, float]) -> None:
        """Say where it happened.

        Args:
            round: the round in which it happened.
            learning_rate: (client side, server side).
        """
        client, server = learning_rate
        super().__init__(
            f"diverged in round {round} with learning rate {client:g} (client side), "
            f"{server:g} (server side)"
        )
        self.round = round
        self.learning_rate = learning_rate


class Trainer:
    r"""Trains a federation with an algorithm.

    Attributes:
        federation: who takes part.
        algorithm: what they do.
        learning_rate: with which learning rates.
        farthest: largest $\|x_n^{t,i}-x^0\|$ met over clients, local steps and rounds,
            the aggregated models included, shape (R,); None unless ``track_ball``.
    """

    def __init__(
        self,
        federation: Federation,
        algorithm: Algorithm,
        learning_rate: LearningRate,
        track_ball: bool = False,
    ) -> None:
        """Set up; nothing is trained yet.

        Args:
            federation: who takes part.
            algorithm: what they do.
            learning_rate: with which learning rates.
            track_ball: measure ``farthest``.
        """
        self.federation = federation
        self.algorithm = algorithm
        self.learning_rate = learning_rate
        self.farthest: Tensor | None = None
        self._track_ball = track_ball

    def rounds(
        self, T: int, start: int = 0, x: Tensor | None = None
    ) -> Iterator[tuple[int, Tensor]]:
        """Train up to round T.

        Args:
            T: the last round to reach.
            start: the round to start from; continuing changes nothing, since all
                randomness is named by the round.
            x: the model $x^{start}$, shape (d, R); None: the problem's initial point.

        Yields:
            t and the aggregated model $x^t$, shape (d, R), for t = start..T.

        Raises:
            ValueError: if the algorithm carries more than the model from round to
                round and so cannot start in the middle, or an argument is impossible.
            Diverged: if the model leaves the range of numbers.
        """
        if not 0 <= start <= T:
            raise ValueError(f"rounds: expected 0 <= start <= T, got {start} and {T}")
        if start > 0 and (x is None or not self.algorithm.memoryless):
            raise ValueError(
                "start: cannot continue from a round without its model, or with an "
                "algorithm whose clients remember earlier rounds; start at round 0"
            )
        initial = self.federation.problem.start(self.federation.replicas)
        x = initial if x is None else x.clone()
        if x.shape != initial.shape:
            raise ValueError(
                f"x: expected shape {tuple(initial.shape)}, got {tuple(x.shape)}"
            )
        ball = Ball(initial) if self._track_ball else None
        run = self.algorithm.begin(self.federation, x, ball)
        yield start, self._see(ball, run.x)
        for t in range(start, T):
            steps = self._rates(t)
            run.round(t, steps.__getitem__)
            if not float(run.x.abs().amax()) <= _HUGE:
                raise Diverged(t, steps[0])
            yield t + 1, self._see(ball, run.x)

    def _see(self, ball: Ball | None, x: Tensor) -> Tensor:
        if ball is not None:
            ball.see(x)
            self.farthest = ball.farthest
        return x

    def _rates(self, t: int) -> list[tuple[float, float]]:
        steps, rate = self.algorithm.steps, self.learning_rate
        if getattr(rate, "per_step", False):
            return [self._rate(t * steps + i) for i in range(steps)]
        return [self._rate(t)] * steps

    def _rate(self, index: int) -> tuple[float, float]:
        rate = self.learning_rate
        pair = float(rate.client(index)), float(rate.server(index))
        if not all(isfinite(eta) and eta >= 0 for eta in pair):
            raise ValueError(
                "learning rate: expected finite numbers >= 0, got "
                f"{pair[0]:g} (client side) and {pair[1]:g} (server side) at {index}"
            )
        return pair
