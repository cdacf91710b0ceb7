"""What a repeated run returns, and the problems that such runs share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from members import Outcomes, Rate, Smooth
from numpy.typing import NDArray

from sfl_theory import Constants, theorem
from sfl_train.federation import Federation
from sfl_train.problems.quadratic import Quadratic

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Trained:
    """Left sides of a claim, one per replica.

    Attributes:
        values: shape (R,).
        probability: of the replicas, if they are all outcomes of the draws.
    """

    values: Array
    probability: Array | None = None


def bowls(centres, cut=1, start=(0.0, 0.0)) -> Quadratic:
    """Return F_n = ||x - c_n||^2/2."""
    centres = np.atleast_2d(np.asarray(centres, dtype=float))
    N, d = centres.shape
    return Quadratic(np.stack([np.eye(d)] * N), centres, start, cut)


def hubers(centres, start, noise=None, kind=Smooth) -> Smooth:
    """Return F_n = sum over coordinates of h(x_j - c_nj), h Huber."""
    centres = np.atleast_2d(np.asarray(centres, dtype=float))
    N, d = centres.shape
    flat = np.zeros((N, d, d)), np.zeros((N, d))
    return kind(
        *flat, start, 1, noise,
        directions=np.stack([np.eye(d)] * N), offsets=centres,
    )  # fmt: skip


def alone(problem, weights=None) -> Outcomes:
    """Return a federation without randomness: one replica of probability 1."""
    return Outcomes(problem, weights, probability=np.ones(1))


def printed(number: str, **constants) -> Rate:
    """Return the printed learning rates of a strongly convex case, by the toolkit."""
    bound = theorem(number).case("strongly_convex").bound("printed")
    schedule = bound.step_size.schedule(Constants(S=1, mu=1, G2=1, **constants))
    rounds = np.arange(8000, dtype=float)
    table = [
        np.broadcast_to(side(rounds), rounds.shape)
        for side in (schedule.client, schedule.server)
    ]
    return Rate(tuple(column.__getitem__ for column in table))


def gaps(federation: Federation, x, best) -> Array:
    """Return f(x) - f(x*) per replica."""
    problem, weights = federation.problem, torch.tensor(federation.weights)
    star = torch.tensor(best, dtype=torch.float64).view(-1, 1)
    return (problem.value(x, weights) - problem.value(star, weights)).numpy()


Run = Callable[[], Trained]
