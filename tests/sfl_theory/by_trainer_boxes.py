"""Runs behind the refutations of ``han2024``'s algorithm boxes and of its text."""

from __future__ import annotations

from functools import partial

import numpy as np
from members import Smooth, all_outcomes, train
from trained import Run, Trained, alone, gaps, hubers

from sfl_train.algorithms import SFLV1, SFLV2
from sfl_train.engine import ConstantRate
from sfl_train.problems.quadratic import Quadratic

ETA = 1 / 32


def steps_of_algorithm_1(rounds: int) -> Trained:
    """The box makes (T - 1) tau + 1 steps, the analysis T tau; tau = 2."""
    fed = alone(hubers([[0, 0]], (1.0, 0.0)))
    box = train(fed, SFLV1(1, 1, 1), ConstantRate(ETA), 2 * (rounds - 1) + 1)
    analysed = train(fed, SFLV1(2, 2, 1), ConstantRate(ETA), rounds)
    return Trained((box - analysed[-1])[-1, 0].numpy() ** 2)


def clock_of_algorithm_1(tau: int) -> Trained:
    rate = ConstantRate(1 / (16 * tau**2))
    fed = alone(hubers([[0, 0]], (0.0, 1.0)))
    box, analysed = (
        train(fed, SFLV1(tau, 1, 1, clock), rate, 1)[-1, 1]
        for clock in ("algorithm", "analysis")
    )
    return Trained((box - analysed).numpy() ** 2)


def visits_of_algorithm_2() -> Trained:
    """Of two visits the box keeps one: the server of a single client."""
    one, two = (
        train(
            alone(hubers([[0, 0]] * N, (0.0, 3.0))), SFLV2(1, 1), ConstantRate(ETA), 1
        )[-1, 1]
        for N in (1, 2)
    )
    return Trained((one - two).numpy() ** 2)


def objective_of_algorithm_2(other: float) -> Trained:
    """The change is -c eta + d eta^2, exactly; its first order from two rates."""
    eta, start = 1 / 32, other / 2
    fed = alone(hubers([[0, 0], [0, 0.5]], (0.0, start)), (1 - other, other))
    once, twice = (
        train(fed, SFLV2(1, 1), ConstantRate(rate), 1)[-1, 1].numpy() - start
        for rate in (eta, 2 * eta)
    )
    return Trained(((4 * once - twice) / (2 * eta)) ** 2)


def bias_of_models() -> Trained:
    """Difference of the means of (3) at q = 1/2 and of (2), client block.

    A client of weight 0 that moves nothing keeps the sum of (3) non-empty.
    """
    coupled = np.array([[2.0, 1.0], [1.0, 2.0]]) / 3
    H, start = np.stack([coupled, np.zeros((2, 2))]), (255.0, -126.0)
    fed = all_outcomes(Smooth(H, np.zeros((2, 2)), start, 1), (1, 0), (0.5, 1), 1, 2)
    x = train(fed, SFLV2(2, 1, aggregation="models"), ConstantRate(ETA), 1)
    whole = alone(Quadratic(coupled[None], np.zeros((1, 2)), start, 1))
    full = train(whole, SFLV2(2, 1), ConstantRate(ETA), 1)
    return Trained(np.array([(fed.mean(x[-1, 0]) - float(full[-1, 0, 0])) ** 2]))


def constant_rate_stalls(eta: float) -> Trained:
    fed = all_outcomes(hubers([[0, 0]], (0.0, 0.0), [[0.0, 1.0]]), [1.0], 1.0, 1, 1)
    x = train(fed, SFLV1(1, 1, 1), ConstantRate(eta), 1)
    return Trained(gaps(fed, x[-1], (0, 0)), fed.probability)


def squared_weights() -> Trained:
    """Weights a_n^2 = a_n/2 halve the step of two equal clients."""
    fed = alone(hubers([[0, 0], [0, 0]], (0.0, 1.0)))
    written, analysed = (
        train(fed, SFLV1(1, 1, 1), ConstantRate(eta), 1)[-1, 1]
        for eta in (1 / 8, 1 / 4)
    )
    return Trained((written - analysed).numpy() ** 2)


BOXES: dict[str, tuple[Run, ...]] = {
    "alg-1": tuple(partial(steps_of_algorithm_1, T) for T in (1, 2)),
    "alg-1/clock": tuple(partial(clock_of_algorithm_1, tau) for tau in (2, 5)),
    "alg-2": (visits_of_algorithm_2,),
    "alg-2/objective": tuple(partial(objective_of_algorithm_2, a) for a in (0, 0.25)),
    "app-F.1/server-update": (squared_weights,),
    "eq-3/unbiased/sfl-v2": (bias_of_models,),
    "cond/general_convex/constant-rate": tuple(
        partial(constant_rate_stalls, eta) for eta in (1 / 16, 1e-4)
    ),
}
