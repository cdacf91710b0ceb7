"""Runs of the ordinary trainer behind the refutations of ``dachille2024``."""

from __future__ import annotations

from functools import partial

import numpy as np
from members import Smooth, all_outcomes, train
from trained import Run, Trained, alone, bowls

from sfl_train.algorithms import SFLV1
from sfl_train.engine import ConstantRate
from sfl_train.problems.quadratic import Quadratic


def fresh_samples() -> Trained:
    problem = Smooth([np.eye(2)], np.zeros((1, 2)), (0.0, 0.0), 1, noise=[[0.0, 1.0]])
    fed = all_outcomes(problem, [1.0], 1.0, 2, 1)
    x = train(fed, SFLV1(1, 1, 1), ConstantRate(0.01), 2).numpy() / 0.01
    return Trained((2 * x[1, 1] - x[0, 1] - x[2, 1]) ** 2, fed.probability)


def coupled_block(what: str, along_s: float, along_c: float, tau: int) -> Trained:
    """f = (c^2 + s^2 + cs)/2 with these block gradients at the start."""
    H, eta = np.array([[1.0, 0.5], [0.5, 1.0]]), 1 / 72
    start = np.linalg.solve(H, [along_c, along_s])
    fed = alone(Quadratic(H[None], np.zeros((1, 2)), start, 1))
    end = train(fed, SFLV1(tau, tau, 1), ConstantRate(eta), 1)[-1, 1].numpy()
    moved = end - start[1]
    if what == "drift":
        path = train(fed, SFLV1(1, 1, 1), ConstantRate(eta), tau)[:, 1].numpy()
        assert np.allclose(path[-1], end, rtol=1e-12)
        return Trained(((path[:-1] - start[1]) ** 2).sum(0))
    return Trained({"slope": along_s * moved, "square": 0.75 * moved**2}[what])


def box_of_dachille() -> Trained:
    fed = alone(bowls([[0.0, 0.0]], start=(0.0, 1.0)))
    box, analysed = (
        train(fed, SFLV1(2, tau_server, 1), ConstantRate(1 / 48), 1)[-1, 1]
        for tau_server in (1, 2)
    )
    return Trained((box - analysed).abs().numpy())


DACHILLE2024: dict[str, tuple[Run, ...]] = {
    **dict.fromkeys(("lemma-2", "eq-12", "eq-17", "eq-22"), (fresh_samples,)),
    "eq-18": (partial(coupled_block, "slope", 1, 200, 2),),
    "eq-19": (partial(coupled_block, "drift", 0, 100, 3),),
    **dict.fromkeys(("eq-20", "eq-24"), (partial(coupled_block, "slope", 1, 200, 2),)),
    "eq-21": (partial(coupled_block, "square", 1, -10, 2),),
    **dict.fromkeys(("eq-23", "eq-25"), (partial(coupled_block, "square", 0, 100, 2),)),
    "alg-1": (box_of_dachille,),
}
