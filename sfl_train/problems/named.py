"""Problems by the names that the command line knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfl_train.data.bundled import Dataset, load
from sfl_train.partition import partition as split
from sfl_train.partition import weights as weigh
from sfl_train.problems.linear_model import LinearModel
from sfl_train.problems.network import Network
from sfl_train.problems.problem import Problem
from sfl_train.problems.quadratic import random_quadratic, read_quadratic

DEFAULT_CLIENTS = 10


@dataclass(frozen=True)
class Instance:
    """A problem together with how it was made.

    Attributes:
        problem: the client objectives.
        weights: $a_n$, shape (N,).
        data: the data set, or None for quadratics.
        parts: indices of every client's samples, or None for quadratics.
    """

    problem: Problem
    weights: NDArray[np.float64]
    data: Dataset | None
    parts: tuple[NDArray[np.int64], ...] | None


@dataclass(frozen=True)
class _Entry:
    data: str
    loss: str
    l2: float


_ON_DATA = {
    "softmax:digits": _Entry("digits", "softmax", 0.1),
    "logistic:breast_cancer": _Entry("breast_cancer", "logistic", 0.05),
    "ridge:diabetes": _Entry("diabetes", "squared", 0.05),
    "least-squares:digits": _Entry("digits", "squared", 0.0),
    "logistic:digits-parity": _Entry("digits-parity", "logistic", 0.0),
    "logistic:breast_cancer-mean": _Entry("breast_cancer-mean", "logistic", 0.0),
    "network:digits": _Entry("digits", "network", 0.0),
}
NAMES = (*_ON_DATA, "quadratic:random", "quadratic:FILE.npz")


def build(
    name: str,
    clients: int | None = None,
    partition: str = "iid",
    weights: str | Sequence[float] = "uniform",
    seed: int = 0,
    l2: float | None = None,
) -> Instance:
    """Return the problem called ``name``, distributed over clients.

    The first three on data are strongly convex, the next three general convex (each
    has a minimiser), ``network:digits`` is non-convex (one hidden layer of 16 tanh
    units). ``quadratic:random`` has S = 10, mu = 0.1, 20 coordinates and noise 1.

    Args:
        name: one of ``NAMES``, or ``quadratic:`` and the path of a file.
        clients: N; by default 10, the groups of a ``natural`` partition, or what the
            file holds.
        partition: see ``sfl_train.partition``; quadratics have no data to split.
        weights: "uniform", "size" or N numbers.
        seed: of the partition, the initial network and the random quadratic.
        l2: coefficient of the squared norm in place of the default of the name.

    Returns:
        Problem, weights, and for problems on data the data and the partition.

    Raises:
        ValueError: if the name is unknown or another argument does not fit.
    """
    if clients is not None and clients < 1:
        raise ValueError(f"the number of clients must be at least 1, got {clients}")
    if name.startswith("quadratic:") and name != "quadratic:":
        if l2 is not None:
            raise ValueError(f"{name} takes no l2: add it to H")
        return _quadratic(name.removeprefix("quadratic:"), clients, weights, seed)
    if name not in _ON_DATA:
        raise ValueError(f"unknown problem {name!r}: choose one of {', '.join(NAMES)}")
    entry = _ON_DATA[name]
    data = load(entry.data)
    known = partition == "natural" or partition.startswith("file:")
    count = clients or (None if known else DEFAULT_CLIENTS)
    parts = split(partition, data.y, count, seed, data.groups)
    coefficient = entry.l2 if l2 is None else l2
    problem: Problem
    if entry.loss == "network":
        problem = Network(data, parts, l2=coefficient, seed=seed, name=name)
    else:
        problem = LinearModel(data, parts, entry.loss, coefficient, name=name)
    return Instance(problem, weigh(weights, problem.sizes), data, parts)


def _quadratic(
    which: str, clients: int | None, weights: str | Sequence[float], seed: int
) -> Instance:
    if which == "random":
        count = clients or DEFAULT_CLIENTS
        problem = random_quadratic(count, 20, S=10.0, mu=0.1, noise=1.0, seed=seed)
    else:
        # Whether a convex f has a minimiser depends on the weights.
        given = (
            None if isinstance(weights, str) else weigh(weights, np.ones(len(weights)))
        )
        problem = read_quadratic(which, given)
        if clients is not None and clients != problem.clients:
            raise ValueError(
                f"clients: {which} holds {problem.clients}, but {clients} were asked"
                " for: leave the number out"
            )
    return Instance(problem, weigh(weights, problem.sizes), None, None)
