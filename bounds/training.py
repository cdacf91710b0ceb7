r"""What has to be trained for some bounds, and what one training yields.

Bounds that are claimed for one algorithm under one learning rate share one run,
whatever they bound: the run collects the left side of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from bounds.experiment import Experiment, Setting, resolve, schedule_of
from bounds.verdict import ROUNDING
from sfl_theory import Bound, Constants, Theorem
from sfl_theory.schedules import Schedule
from sfl_train.engine import Trainer
from sfl_train.measure.constants import Trajectory, TrajectoryConstants, at_point
from sfl_train.problems.minimum import Minimum, lower_bound, minimum
from sfl_train.problems.network import Network
from sfl_train.problems.problem import Problem

SHOWN_ROUNDS = 40
MEASURED_ROUNDS = 20
SMOOTHNESS_ROUNDS = 4
SMOOTHNESS_SEEDS = 3
SMOOTHNESS_MARGIN = 1.5
SMOOTHNESS_ATTEMPTS = 5

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Training:
    """One run and the bounds that it serves.

    Attributes:
        setting: what is run.
        bounds: claimed for this algorithm under one learning rate.
    """

    setting: Setting
    bounds: tuple[Bound, ...]

    def schedule(self, known: Constants) -> Schedule:
        """Return the learning rate.

        Args:
            known: constants that the rule needs.

        Returns:
            The user's, else the rule that the bounds share.
        """
        return schedule_of(self.bounds[0], known, self.setting.experiment)


@dataclass(frozen=True)
class Trained:
    r"""What a training yields; holds numbers only, so that processes can exchange it.

    Attributes:
        rounds: T at which the curves are shown, shape (m,), from 1.
        curves: key of a metric -> one curve per seed, shape (m, R).
        gap: mean over seeds of $f(x^T)-f^*$ after the last round.
        distances: means over seeds of $\|x_c^T-x_c^*\|^2$ and $\|x_s^T-x_s^*\|^2$,
            shape (m,) each; None where there is no minimiser.
        constants: for the bounds; analytic on the stated ball where that is known,
            else the largest values along the runs.
        along: the same with the largest values along the runs everywhere.
        remarks: what a reader must know of the constants.
        trajectory: measured constants with their shares at every cut.
        resolutions: key of a metric -> its absolute error by rounding, from above.
    """

    rounds: NDArray[np.int64]
    curves: dict[str, NDArray[np.float64]]
    gap: float
    distances: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    constants: Constants
    along: Constants
    remarks: tuple[str, ...]
    trajectory: TrajectoryConstants
    resolutions: dict[str, float]


def trainings(
    item: Theorem, case: str, bounds: Sequence[Bound], experiment: Experiment
) -> list[Training]:
    """Return the distinct runs that some bounds of a case need.

    Args:
        item: the theorem; names the algorithm.
        case: name of the case.
        bounds: to be compared with a measured curve.
        experiment: the choices.

    Returns:
        One training per distinct algorithm and learning rate, each with the bounds it
        serves, in their order.
    """
    found: list[Training] = []
    for bound in bounds:
        setting = resolve(item, case, bound, experiment)
        shared = next((run for run in found if _shares(run, setting, bound)), None)
        if shared is None:
            found.append(Training(setting, (bound,)))
        else:
            at = found.index(shared)
            found[at] = Training(shared.setting, (*shared.bounds, bound))
    return found


def _shares(run: Training, setting: Setting, bound: Bound) -> bool:
    """Say whether weights and learning rates of a run are also another bound's own.

    The rates are compared at S = 1 where S is known after training only: they are
    proportional to 1/S.

    Returns:
        Whether the run serves the bound.
    """
    ours, others = (
        np.array(one.federation.weights, dtype=np.float64)
        for one in (run.setting, setting)
    )
    if not np.array_equal(ours, others):
        return False
    known = given(setting, None)
    if known.S is None:
        known = known.with_values(S=1.0)
    mine = run.schedule(known)
    other = schedule_of(bound, known, setting.experiment)
    at = np.arange(setting.experiment.rounds, dtype=np.float64)
    sides = ((mine.client, other.client), (mine.server, other.server))
    return mine.per_step == other.per_step and all(
        np.allclose(rate(at), wanted(at), rtol=1e-12, atol=0) for rate, wanted in sides
    )


def train(run: Training, progress: Progress | None = None) -> Trained:
    r"""Train and measure every ingredient of the bounds that the run serves.

    The learning rate follows from constants that are known before training (S,
    $\mu$, $\tau$, weights, participation). Where S is not known analytically (the
    network), it is 1.5 times the largest Hessian eigenvalue at the start, and the run
    is repeated with a larger S until it meets no eigenvalue above the S it uses.

    Args:
        run: what to train.
        progress: called with (what, done, total).

    Returns:
        Curves and constants.
    """
    setting = run.setting
    optimum = None
    if setting.problem.convexity != "non_convex":
        optimum = minimum(setting.problem, setting.instance.weights)
    gamma = any("Gamma" in bound.needs for bound in run.bounds)
    known = given(setting, optimum, gamma)
    if setting.problem.S is not None:
        schedule = run.schedule(known)
        curves = _trained(run, schedule, optimum, progress)
    else:
        known, schedule, curves = _with_met_smoothness(run, known, progress)
    constants, along, remarks = _constants(setting, known, curves, optimum)
    return Trained(
        curves.rounds,
        curves.metrics,
        curves.gap,
        curves.distances,
        constants,
        along,
        remarks,
        curves.trajectory,
        {
            bound.metric.key: _resolution(setting, bound.metric.key, schedule, optimum)
            for bound in run.bounds
        },
    )


@dataclass(frozen=True)
class _Curves:
    """Everything collected along one training run of all replicas."""

    rounds: NDArray[np.int64]
    metrics: dict[str, NDArray[np.float64]]
    gap: float
    distances: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    trajectory: TrajectoryConstants
    farthest: float
    smoothness: float


def _resolution(
    setting: Setting, metric: str, schedule: Schedule, optimum: Minimum | None
) -> float:
    r"""Return an absolute error that rounding may make in the metric.

    With $\varepsilon$ the relative error of a sum: the terms of $f$ are as large as
    $\sum_na_n|F_n|$ and $S\|x\|^2$, those of $\nabla f$ as $\sum_na_n\|\nabla F_n\|$
    and $S\|x\|$; $x^*$ is wrong by $\varepsilon\|x^*\|+\|\nabla f(x^*)\|/\mu$.
    """
    problem, weights = setting.problem, np.array(setting.federation.weights)
    at = problem.x0 if optimum is None else optimum.x
    point = torch.from_numpy(at)[:, None].expand(problem.clients, -1, 1)
    norm, S, mu = float(np.linalg.norm(at)), problem.S or 0.0, problem.mu or 0.0
    rate = float(np.max(schedule.client(np.zeros(1))))
    if metric in {"objective_gap", "weighted_gap"}:
        terms = np.abs(problem.loss(point).numpy()[:, 0])
        gap = ROUNDING * float(weights @ terms + S * norm**2)
        return gap if metric == "objective_gap" else rate * gap
    if metric == "weighted_gradient":
        slopes = torch.linalg.vector_norm(problem.gradient(point), dim=1).numpy()[:, 0]
        return rate * (ROUNDING * float(weights @ slopes + S * norm)) ** 2
    error = ROUNDING * norm
    if optimum is not None and mu > 0:
        error += optimum.gradient_norm / mu
    return error**2


def _trained(
    run: Training,
    schedule: Schedule,
    optimum: Minimum | None,
    progress: Progress | None,
    what: str = "training",
) -> _Curves:
    setting = run.setting
    problem, federation, cut = setting.problem, setting.federation, setting.cut
    T = setting.experiment.rounds
    wanted = {bound.metric.key for bound in run.bounds}
    weights = np.array(federation.weights)
    a = torch.from_numpy(weights)
    floor = optimum.value if optimum else lower_bound(problem, weights)
    minimiser = None if optimum is None else torch.from_numpy(optimum.x)[:, None]
    shown = _spread(T, SHOWN_ROUNDS)
    measured = {0, *_spread(T, MEASURED_ROUNDS)}
    sharp = {0, *_spread(T, SMOOTHNESS_ROUNDS)} if problem.S is None else set()
    trainer = Trainer(federation, setting.algorithm, schedule, track_ball=True)
    trajectory, smoothness, gap = Trajectory(), 0.0, 0.0
    averaged = {
        key: torch.zeros(federation.replicas, dtype=torch.float64)
        for key in wanted & {"weighted_gradient", "weighted_gap"}
    }
    values: dict[str, list[NDArray[np.float64]]] = {key: [] for key in wanted}
    distances: list[tuple[float, float]] = []
    for t, x in trainer.rounds(T):
        if t in measured:
            trajectory.add(at_point(problem, x, federation.sampling, weights))
        if t in sharp and isinstance(problem, Network):
            few = x[:, :SMOOTHNESS_SEEDS].contiguous()
            smoothness = max(smoothness, float(problem.smoothness(few).max()))
        if t in shown:
            for key, total in averaged.items():
                values[key].append((total / t).numpy())
            if "objective_gap" in wanted:
                values["objective_gap"].append((problem.value(x, a) - floor).numpy())
            if minimiser is not None:
                offset2 = (x - minimiser).square()
                sides = offset2[:cut].sum(0), offset2[cut:].sum(0)
                distances.append((float(sides[0].mean()), float(sides[1].mean())))
                for key, side in zip(DISTANCES, sides, strict=True):
                    if key in wanted:
                        values[key].append(side.numpy())
        if t < T:
            rate = float(schedule.client(np.array(float(t))))
            if "weighted_gap" in averaged:
                averaged["weighted_gap"] += rate * (problem.value(x, a) - floor)
            if "weighted_gradient" in averaged:
                gradient = torch.tensordot(a, problem.full_gradients(x), 1)
                averaged["weighted_gradient"] += rate * gradient.square().sum(0)
        else:
            gap = float((problem.value(x, a) - floor).mean())
        if progress is not None:
            progress(what, t, T)
    pair = np.array(distances).T if distances else None
    return _Curves(
        np.array(shown),
        {key: np.array(rows) for key, rows in values.items()},
        gap,
        None if pair is None else (pair[0], pair[1]),
        trajectory.result(),
        0.0 if trainer.farthest is None else float(trainer.farthest.max()),
        smoothness,
    )


DISTANCES = ("client_distance", "server_distance")


def _with_met_smoothness(
    run: Training, known: Constants, progress: Progress | None
) -> tuple[Constants, Schedule, _Curves]:
    """Repeat the run until the S of its learning rate is at least the S it meets.

    Returns:
        The constants with S, the learning rate, and the run that meets no larger S.

    Raises:
        ValueError: if that does not come to an end.
    """
    problem = run.setting.problem
    if not isinstance(problem, Network):
        raise ValueError(f"{problem.name}: no smoothness constant is known")
    S = SMOOTHNESS_MARGIN * float(problem.smoothness(problem.start(1)).max())
    for attempt in range(SMOOTHNESS_ATTEMPTS):
        known = known.with_values(S=S)
        schedule = run.schedule(known)
        what = "training" if attempt == 0 else f"training again with S = {S:.3g}"
        curves = _trained(run, schedule, None, progress, what)
        if curves.smoothness <= S:
            where = (
                f"used; the largest Hessian eigenvalue met is {curves.smoothness:.4g} "
                f"(aggregated models, {SMOOTHNESS_SEEDS} seeds at most)"
            )
            return known.with_values(domain={"S": where}), schedule, curves
        S = SMOOTHNESS_MARGIN * curves.smoothness
    raise ValueError(
        f"{problem.name}: the smoothness met along the run keeps growing "
        f"(S = {S:.3g} after {SMOOTHNESS_ATTEMPTS} runs); give --learning-rate"
    )


def given(setting: Setting, optimum: Minimum | None, gamma: bool = False) -> Constants:
    r"""Return what is known before training.

    Args:
        setting: what is run.
        optimum: of f, or None: distances and the gap to $f^*$ are then left out (a
            lower bound stands in for $f^*$ where f is not convex).
        gamma: whether $\Gamma$ is needed, which takes a minimisation per client.

    Returns:
        The constants.
    """
    problem, federation, cut = setting.problem, setting.federation, setting.cut
    weights = np.array(federation.weights)
    found: dict[str, float] = {}
    if optimum is not None or problem.convexity == "non_convex":
        start = problem.value(problem.start(1), torch.from_numpy(weights))
        floor = optimum.value if optimum else lower_bound(problem, weights)
        found["initial_gap"] = max(float(start[0]) - floor, 0.0)
    if problem.S is not None:
        found["S"] = problem.S
    if problem.mu is not None:
        found["mu"] = problem.mu
    if optimum is not None:
        offset2 = (problem.x0 - optimum.x) ** 2
        found["initial_distance2"] = float(offset2.sum())
        found["initial_distance2_client"] = float(offset2[:cut].sum())
        found["initial_distance2_server"] = float(offset2[cut:].sum())
        if gamma:
            found["Gamma"] = _gamma(problem, weights, optimum)
    return Constants(
        **found,
        weights=tuple(weights.tolist()),
        participation=tuple(np.array(federation.participation).tolist()),
        tau=setting.experiment.tau,
        tau_server=getattr(setting.algorithm, "tau_server", setting.experiment.tau),
        provenance=dict.fromkeys(found, "analytic"),
    )


def _gamma(problem: Problem, weights: NDArray[np.float64], optimum: Minimum) -> float:
    r"""Return $\Gamma=f^*-\sum_na_n\min F_n$."""
    least = sum(
        weight * minimum(problem, alone).value
        for weight, alone in zip(weights, np.eye(len(weights)), strict=True)
    )
    return max(optimum.value - float(least), 0.0)


def _constants(
    setting: Setting, known: Constants, curves: _Curves, optimum: Minimum | None
) -> tuple[Constants, Constants, tuple[str, ...]]:
    r"""Return the constants on the ball, those along the runs, and remarks.

    Proofs compare a run with $x^*$, where gradients of clients differ too: the ball
    need not reach it, so $\epsilon^2$ is made to hold there.
    """
    met = curves.trajectory
    where = f"aggregated models of {met.points} rounds, all seeds"
    along = _with_gradients(known, met.sigma2, met.G2, met.eps2, "trajectory", where)
    if setting.problem.S is None:
        along = along.with_values(provenance={**along.provenance, "S": "trajectory"})
    radius = curves.farthest * (1 + 1e-9)
    ball = setting.problem.on_ball(
        setting.problem.x0,
        radius,
        setting.federation.sampling,
        np.array(setting.federation.weights),
    )
    if ball is None:
        remark = (
            "sigma2, G2, eps2 are the largest values met along the runs: lower "
            "estimates of the assumptions' constants; S is no less than what was met, "
            "but holds nowhere else for certain"
        )
        return along, along, (remark,)
    where = f"ball of radius {radius:.6g} around x0; every local iterate lies in it"
    eps2 = ball.eps2
    if optimum is not None:
        eps2 = max(eps2, _apart(setting, optimum))
        where = f"{where}; eps2 also at x*"
    proved = _with_gradients(known, ball.sigma2, ball.G2, eps2, "analytic", where)
    return proved, along, ()


def _apart(setting: Setting, optimum: Minimum) -> float:
    r"""Return $\max_n\|\nabla F_n(x^*)-\nabla f(x^*)\|^2$."""
    x, problem = torch.from_numpy(optimum.x)[:, None], setting.problem
    weights = np.array(setting.federation.weights)
    return float(
        at_point(problem, x, setting.federation.sampling, weights).totals().eps2
    )


def _with_gradients(
    known: Constants,
    sigma2: NDArray[np.float64],
    G2: float,
    eps2: float,
    origin: str,
    where: str,
) -> Constants:
    """Add what bounds the gradients; R^2 of huang2023 is G^2 of han2024.

    Returns:
        The constants with provenance and domain.
    """
    found = {
        "sigma2": tuple(np.array(sigma2, dtype=np.float64).tolist()),
        "G2": float(G2),
        "eps2": float(eps2),
        "R2": float(G2),
    }
    return known.with_values(
        **found,
        provenance={**known.provenance, **dict.fromkeys(found, origin)},
        domain={**known.domain, **dict.fromkeys(found, where)},
    )


def _spread(last: int, count: int) -> list[int]:
    """Return at most ``count`` rounds from 1 to ``last``, evenly spread in log T."""
    spread = np.geomspace(1, last, count)
    return sorted({round(float(value)) for value in spread} | {1, last})
