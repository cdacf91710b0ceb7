"""Runs of the ordinary trainer behind the refutations of ``huang2023``."""

from __future__ import annotations

from functools import partial
from math import comb

import numpy as np
from members import Outcomes, Rate, Smooth, train
from trained import Run, Trained, alone

from sfl_train.algorithms import MiniBatchSFL
from sfl_train.engine import ConstantRate
from sfl_train.problems.quadratic import Quadratic

HALF_COUPLED = [[1.0, 0.5], [0.5, 1.0]]
FAR_COUPLED = [[2.0, -1.0, 0.0], [-1.0, 2.0, 0.0], [0.0, 0.0, 500.0]]


def mean_noise(eta: float | None, divide=False, N=37) -> Trained:
    """One step of N equal clients from w* = 0; outcomes up to relabelling."""
    problem = Smooth(
        np.stack([np.eye(2)] * N), np.zeros((N, 2)), (0.0, 0.0), 1,
        noise=[[0.0, 1.0]] * N,
    )  # fmt: skip
    count = np.arange(N + 1)
    signs = np.where(np.arange(N)[:, None] < count, 1.0, -1.0)[None, None]
    probability = np.array([comb(N, k) / 2**N for k in count])
    fed = Outcomes(
        problem, seeds=range(N + 1), probability=probability, signs=signs
    )  # fmt: skip
    rate = ConstantRate(eta) if eta else Rate((lambda i: 2 / (7 + i),) * 2, True)
    x = train(fed, MiniBatchSFL(1, 1), rate, 1)
    scale = eta if divide else 1.0
    return Trained((x[-1, 1].numpy() / scale) ** 2, probability)


def pulled_away(kappa: int, rounds: int, block: int) -> Trained:
    """One block starts at its optimum; a third coordinate has the curvature S."""
    H = np.array([[[2.0, -1.0, 0.0], [-1.0, 2.0, 0.0], [0.0, 0.0, kappa]]])
    start = np.array([1.0, 1.0, 0.0])
    start[block] = 0.0
    problem = Quadratic(H, np.zeros((1, 3)), start, 1)
    rate = Rate((lambda i: 2 / (8 * kappa - 1 + i),) * 2, per_step=True)
    x = train(alone(problem), MiniBatchSFL(1, 1), rate, rounds)
    return Trained(x[-1, block].numpy() ** 2)


def weights_differ() -> Trained:
    problem = Quadratic(
        np.stack([np.eye(2)] * 2), [[0.0, -1.0], [0.0, 1.0]], (0.0, 0.0), 1
    )
    used, written = (
        train(alone(problem, p), MiniBatchSFL(1, 1), ConstantRate(1.0), 1)[-1, 1]
        for p in ((0.75, 0.25), (0.5, 0.5))
    )
    return Trained((used - written).abs().numpy())


def heterogeneous_server() -> Trained:
    H = np.array([[[1.0, b], [b, 1.0]] for b in (0.5, -0.5)])
    problem = Quadratic(H, [[1.0, 0.0], [-1.0, 0.0]], (0.0, 0.0), 1)
    rate = Rate((lambda i: 4 / (23 + i),) * 2, per_step=True)
    x = train(alone(problem), MiniBatchSFL(2, 1), rate, 1)
    return Trained(x[-1, 1].numpy() ** 2)


def client_moves(H, start, eta: float) -> Trained:
    d = len(start)
    problem = Quadratic(np.array([H], dtype=float), np.zeros((1, d)), start, 1)
    x = train(alone(problem), MiniBatchSFL(1, 1), ConstantRate(eta), 1)
    return Trained(x[-1, 0].numpy() ** 2)


HUANG2023: dict[str, tuple[Run, ...]] = {
    "prop-1": (partial(mean_noise, None, N=100), partial(mean_noise, None)),
    **dict.fromkeys(("eq-17", "eq-18"), (partial(mean_noise, None),)),
    **dict.fromkeys(("eq-14", "eq-15"), (partial(mean_noise, 0.25),)),
    **dict.fromkeys(("eq-13", "eq-13/3"), (partial(mean_noise, 1.0, True),)),
    "prop-1/coupling": (partial(pulled_away, 200, 505, 1),),
    **dict.fromkeys(
        ("prop-2", "eq-24", "eq-25"), (partial(pulled_away, 500, 1264, 0),)
    ),
    "eq-12/weights": (weights_differ,),
    "text/server-non-iid": (heterogeneous_server,),
    **dict.fromkeys(
        ("lemma-2", "eq-34"), (partial(client_moves, HALF_COUPLED, (0.0, 1.0), 1 / 6),)
    ),
    "eq-22": (partial(client_moves, FAR_COUPLED, (1.0, 4.0, 0.0), 2 / 3999),),
}
