"""Searches against the proved bounds of Theorems 3.6-3.9, and Prop. 1 of dachille2024.

The ordinary trainer runs a random federation; the expectation is over all outcomes of
its draws. $G^2$ and $\\epsilon^2$ are the largest values met at points of the run, so
the set on which Assumptions 3.3 and 3.4 are read is as small as it can be.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from members import (
    Outcomes,
    Rate,
    Smooth,
    all_outcomes,
    count_outcomes,
    squares_of_outcomes,
    train,
)
from random_members import convex, participation, quadratic, smooth, weights
from search import Random, Search, Sides

from sfl_theory import Constants, schedules, theorem
from sfl_theory.bound import OBJECTIVE_GAP, Bound
from sfl_train.algorithms import SFLV1, SFLV2

MANY = 3000
"""Most replicas of a run."""


def periods(r: Random, one: bool) -> tuple[int, int]:
    """Return tau and tau_server."""
    tau = r.of(1, 2, 3, 5)
    return (tau, tau) if one else (tau, r.of(1, 2, 3, 5))


def settle(r: Random, problem: Smooth, a: np.ndarray) -> None:
    """Now and then start where f has its minimum, so that noise and drift show."""
    if r.of(True, False, False):
        problem.x0 = problem.minimiser(a)


def drawn(r: Random, make, sequential: bool, equal: bool, partially: bool, one: bool):
    """Return problem, federation, periods and rounds of a random run.

    Without randomness runs are long; with it as long as all outcomes can be listed.
    """
    N, (d, cut) = r.of(1, 2, 2, 3), r.of((2, 1), (2, 1), (3, 1), (3, 2))
    tau, tau_server = periods(r, one)
    if r.of(True, False) and not partially:
        problem, T = make(r, N, d, cut), r.of(1, 2, 5, 20, 60)
        a = weights(r, N, equal)
        settle(r, problem, a)
        fed = all_outcomes(problem, a, 1.0, T, 1)
        return problem, fed, tau, tau_server, T
    problem = make(r, N, d, cut, noisy=r.of(0, 1, 1, N))
    a, q = weights(r, N, equal), participation(r, N, partially)
    settle(r, problem, a)
    T, steps = r.of(1, 2, 3, 4, 6), max(tau, tau_server)
    orders = sequential and r.of(True, False)
    while count_outcomes(problem, q, T, steps, orders) > MANY:
        if T > 1:
            T -= 1
        elif steps > 1:
            steps = tau = tau_server = steps - 1
        elif orders:
            orders = False
        else:
            q = np.ones(N)
    fed = all_outcomes(problem, a, q, T, steps, orders)
    return problem, fed, tau, tau_server, T


def linear_run(r: Random, equal: bool, one: bool):
    """Return a long noisy run of quadratics, whose squares are integrated exactly."""
    N, (d, cut) = r.of(1, 2, 3), r.of((2, 1), (3, 2))
    tau, tau_server = periods(r, one)
    noisy = r.of(1, N)
    problem = quadratic(r, N, d, cut, noisy=noisy, same_curvature=True)
    steps = max(tau, tau_server)
    T = max(1, min(r.of(10, 30, 60), MANY // (2 * steps * noisy)))
    fed = squares_of_outcomes(problem, weights(r, N, equal), T, steps)
    return problem, fed, tau, tau_server, T


def constants(problem: Smooth, fed: Outcomes, tau, tau_server, **more) -> Constants:
    return Constants(
        S=problem.S, mu=problem.mu or None, sigma2=tuple(problem.sigma2),
        weights=tuple(fed.weights), participation=tuple(np.array(fed.participation)),
        tau=tau, tau_server=tau_server, **more,
    )  # fmt: skip


def rates_of(r: Random, bound: Bound, known: Constants, T: int):
    """Return the schedule: as stated, or below the largest admitted rate."""
    rule = bound.step_size
    if rule.relation == "=":
        schedule = rule.schedule(known)
    else:
        top = float(rule.schedule(known).client(np.zeros(1))[0])
        share = r.rng.uniform(0.01, 1, size=T)
        if r.of(True, True, False):
            share[:] = r.of(1.0, 1.0, 0.3)
        schedule = schedules.table(top * share).scaled(rule.ratio(known))
    t = np.arange(T, dtype=float)
    client, server = (
        np.broadcast_to(np.asarray(side(t), float), t.shape)
        for side in (schedule.client, schedule.server)
    )
    return schedule, client, Rate((client.__getitem__, server.__getitem__))


def at_all(problem: Smooth, fed: Outcomes, x):
    """Return f and all client gradients at models of shape (d, R)."""
    a = torch.tensor(np.asarray(fed.weights))
    values = problem.value(x, a).numpy()
    gradients = problem.full_gradients(x).numpy()
    problem.seen.pop()
    return values, gradients


def lowest(problem: Smooth, fed: Outcomes, starts) -> float:
    """Return a value of f that is low: descent from some points."""
    a, x = torch.tensor(np.asarray(fed.weights)), starts.clone()
    for _ in range(60):
        g = problem.full_gradients(x)
        problem.seen.pop()
        x = x - (a.view(-1, 1, 1) * g).sum(0) / problem.S
    return float(problem.value(x, a).min())


def non_convex(
    r: Random, bound: Bound, sequential=False, partially=False, one=False
) -> list[Sides]:
    """Evaluate a bound on the weighted mean of the squared gradient."""
    equal = sequential
    if not sequential and not partially and r.of(True, False, False):
        problem, fed, tau, tau_server, T = linear_run(r, equal, one)
    else:
        problem, fed, tau, tau_server, T = drawn(
            r, smooth, sequential, equal, partially, one
        )
    if sequential:
        tau_server = tau
    known = constants(problem, fed, tau, tau_server)
    schedule, eta, rate = rates_of(r, bound, known, T)
    algorithm = SFLV2(tau, cut_of(problem)) if sequential else SFLV1(
        tau, tau_server, cut_of(problem)
    )  # fmt: skip
    x = train(fed, algorithm, rate, T)
    a, left, eps2 = np.asarray(fed.weights), 0.0, 0.0
    for t in range(T):
        _, g = at_all(problem, fed, x[t])
        mean = np.tensordot(a, g, 1)
        left += eta[t] * fed.mean((mean**2).sum(0)) / T
        eps2 = max(eps2, float(((g - mean) ** 2).sum(1).max()))
    start = at_all(problem, fed, x[0])[0][0]
    visited = x[:, :, :50].permute(1, 0, 2).reshape(x.shape[1], -1)
    gap = start - lowest(problem, fed, visited)
    known = constants(
        problem, fed, tau, tau_server, eps2=eps2, initial_gap=max(gap, 0.0)
    )
    (right,) = bound.evaluate(known, [T], schedule)
    return [Sides(left, float(right), f"{known} {schedule.words}")]


def cut_of(problem: Smooth) -> int:
    return problem.cuts[problem.default_cut]


def convex_case(
    r: Random, bound: Bound, sequential=False, partially=False, one=True
) -> list[Sides]:
    """Evaluate a repaired bound on the gap, or on its weighted mean."""
    last = bound.metric is OBJECTIVE_GAP
    mu = r.of(0.02, 0.3, 1.0) if last else 0.0
    problem, fed, tau, tau_server, T = drawn(
        r, partial(convex, mu=mu), sequential, sequential, partially, one
    )
    best = problem.minimiser(fed.weights)
    distance2 = float(((problem.x0 - best) ** 2).sum())
    common = {"initial_distance2": distance2}
    known = constants(problem, fed, tau, tau_server, **common)
    schedule, eta, rate = rates_of(r, bound, known, T)
    cut = cut_of(problem)
    algorithm = SFLV2(tau, cut) if sequential else SFLV1(tau, tau_server, cut)
    problem.seen.clear()
    x = train(fed, algorithm, rate, T)
    for point in x:
        problem.full_gradients(point)
    G2 = problem.largest_gradient2()
    known = constants(problem, fed, tau, tau_server, G2=G2, **common)
    least = float(np.asarray(fed.weights) @ problem.values(best))
    gaps = [fed.mean(at_all(problem, fed, point)[0]) - least for point in x]
    left = gaps[-1] if last else float(eta @ gaps[:T]) / T
    (right,) = bound.evaluate(known, [T], schedule)
    return [Sides(left, float(right), f"{known} {schedule.words}")]


def _bound(number: str, case: str, version: str = "repaired") -> Bound:
    return theorem(number).case(case).bound(version)


def _convex(
    case: str,
    number: str,
    sequential: bool,
    partially: bool,
    slack: float,
    version: str = "repaired",
    one: bool = True,
):
    bound = _bound(number, case, version)
    search = partial(
        convex_case, bound=bound, sequential=sequential, partially=partially, one=one
    )
    return {f"han2024/thm-{number}/{case}#repair": Search(search, slack)}


PRINTED_6, PRINTED_8 = (_bound(k, "non_convex", "printed") for k in ("3.6", "3.8"))
REPAIRED_7, REPAIRED_9 = (_bound(k, "non_convex") for k in ("3.7", "3.9"))

THEOREMS = {
    "han2024/thm-3.6/non_convex": Search(lambda r: non_convex(r, PRINTED_6), 12),
    "han2024/thm-3.8/non_convex": Search(
        lambda r: non_convex(r, PRINTED_8, partially=True), 40
    ),
    "han2024/thm-3.7/non_convex#repair": Search(
        lambda r: non_convex(r, REPAIRED_7, True), 15
    ),
    "han2024/thm-3.9/non_convex#repair": Search(
        lambda r: non_convex(r, REPAIRED_9, True, True), 15
    ),
    **_convex("strongly_convex", "3.6", False, False, 60, one=False),
    **_convex("strongly_convex", "3.7", True, False, 30),
    **_convex("strongly_convex", "3.8", False, True, 100, one=False),
    **_convex("strongly_convex", "3.9", True, True, 35),
    **_convex("general_convex", "3.6", False, False, 3),
    **_convex("general_convex", "3.7", True, False, 3),
    **_convex("general_convex", "3.8", False, True, 4),
    **_convex("general_convex", "3.9", True, True, 8),
}
