r"""Both sides of a claim on a ``FederatedRun``, in float64, for pictures and texts.

The left side follows the recursion of ``moments``; a single bowl without noise is
followed as it is. The right side is the printed ``Bound`` with the run's constants.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfl_theory.bound import total
from sfl_theory.models.federated import FederatedRun
from sfl_theory.models.functions import Bowl
from sfl_theory.models.moments import (
    WEIGHTED,
    curved,
    measured,
    one_round,
    printed,
    resting,
    side_of,
)


def expected(run: FederatedRun, rounds: ArrayLike) -> NDArray[np.float64]:
    """Return the left side of the claim at some rounds, in float64.

    Args:
        run: its iterates must stay where pieces are parabolas; bowls: one client,
            nothing drawn.
        rounds: T, at least the metric's first round, shape (m,).

    Returns:
        Values of shape (m,).

    Raises:
        ValueError: if the run is not of that kind.
    """
    wanted = np.asarray(rounds, dtype=np.int64)
    last = int(wanted.max())
    if run.columns:
        if not curved(run):
            raise ValueError("the iterates leave the part where pieces are parabolas")
        values = np.zeros(last + 1)
        for j, weight in enumerate(measured(run)):
            if weight and not resting(run, j):
                values += float(weight) * _squares(run, j, last)
    else:
        values = _descent(run, last)
    if printed(run).metric.key not in WEIGHTED:
        return np.asarray(values[wanted])
    sums = np.cumsum(run.client_rate.at(np.arange(last)) * values[:last])
    return np.asarray(sums[wanted - 1] / wanted)


def _squares(run: FederatedRun, j: int, last: int) -> NDArray[np.float64]:
    r"""Return $\mathbb E(x_j^t-x_j^*)^2$, t = 0..last."""
    (rate, steps), t = side_of(run, j), np.arange(last)
    if run.per_step:
        etas = [rate.at(t * run.tau + i) for i in range(steps)]
    else:
        etas = [rate.at(t)] * steps
    rows = [
        np.broadcast_to(np.asarray(row, dtype=np.float64), last).tolist()
        for row in one_round(run, j, etas).rows
    ]
    m, s = float(run.offsets[j]), float(run.offsets[j] ** 2)
    found = [s]
    for p0, p1, r0, r1, r2 in zip(*rows, strict=True):
        m, s = p0 + p1 * m, r0 + r1 * m + r2 * s
        found.append(s)
    return np.array(found)


def _descent(run: FederatedRun, last: int) -> NDArray[np.float64]:
    """Return the metric of a single bowl before it is averaged, rounds 0..last.

    Raises:
        ValueError: if something is drawn, or sides or rates need more than descent.
    """
    (bowl,) = run.clients if len(run.clients) == 1 else (None,)
    if not isinstance(bowl, Bowl) or not run.deterministic or run.tau != run.tau_server:
        raise ValueError("bowls: one client, no draws and one tau are needed")
    H, key = np.array(bowl.H, dtype=np.float64), printed(run).metric.key
    steps = np.arange(last * run.tau)
    at = steps if run.per_step else steps // run.tau
    client, server = run.client_rate.at(at), run.server_rate.at(at)
    e = np.array(run.offsets, dtype=np.float64)
    own = np.arange(e.size) < run.cut
    course = [e]
    for i, (ours, theirs) in enumerate(zip(client, server, strict=True), start=1):
        e = e - np.where(own, ours, theirs) * (H @ e)
        if i % run.tau == 0:
            course.append(e)
    x = np.array(course)
    if key in {"objective_gap", "weighted_gap"}:
        return np.asarray(((x @ H) * x).sum(1) / 2)
    if key == "weighted_gradient":
        return np.asarray(((x @ H) ** 2).sum(1))
    side = own if key == "client_distance" else ~own
    return np.asarray((x[:, side] ** 2).sum(1))


def right_side(run: FederatedRun, rounds: ArrayLike) -> NDArray[np.float64]:
    """Return the printed bound with the run's constants and rates, shape (m,)."""
    return total(printed(run).formula(run.constants, rounds, run.schedule))


def crossing(run: FederatedRun) -> int:
    """Return the first T at which the expected left side exceeds the printed bound.

    Args:
        run: a refuting one.

    Returns:
        T, at most the run's.

    Raises:
        ValueError: if there is none up to the run's T.
    """
    rounds = np.arange(1, run.rounds + 1)
    above = expected(run, rounds) > right_side(run, rounds)
    if not above.any():
        raise ValueError(f"{run.theorem}: the bound holds up to T = {run.rounds}")
    return int(rounds[np.argmax(above)])


def course(
    run: FederatedRun, last: int | None = None, count: int = 200
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return both sides over the rounds, for pictures.

    Args:
        run: a refuting one.
        last: the last round; None: ten times the crossing, at least the run's T.
        count: how many rounds, about evenly spread in log T.

    Returns:
        Rounds, left and right side, shape (m,) each.
    """
    end = max(10 * crossing(run), run.rounds) if last is None else last
    rounds = spread(end, count)
    return rounds, expected(run, rounds), right_side(run, rounds)


def spread(last: int, count: int) -> NDArray[np.int64]:
    """Return at most ``count`` rounds from 1 to ``last``, evenly spread in log T."""
    return np.unique(np.geomspace(1, last, count).round().astype(np.int64))
