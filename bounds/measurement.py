r"""Train what a theorem speaks of and measure every ingredient of its bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from bounds.experiment import Experiment, Setting, resolve, schedule_of
from bounds.verdict import ROUNDING
from sfl_theory import Bound, Constants, Metric, Theorem
from sfl_theory.papers.repaired import EQUAL
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
class Measurement:
    r"""What was measured.

    Attributes:
        setting: what was run.
        metric: what was measured.
        rounds: T at which the curve is shown, shape (m,), from 1.
        curve: the bound's metric, one curve per seed, shape (m, R).
        constants: for the bound; analytic on the stated ball where that is known,
            else the largest values along the runs.
        along: the same with the largest values along the runs everywhere.
        distances: means over seeds of $\|x_c^T-x_c^*\|^2$ and $\|x_s^T-x_s^*\|^2$,
            shape (m,) each; None where there is no minimiser.
        schedule: the learning rate that was used.
        departures: how the run differs from what the theorem analyses.
        remarks: other things a reader must know.
        trajectory: measured constants with their shares at every cut.
        resolution: absolute error of the metric by rounding, an estimate from above.
    """

    setting: Setting
    metric: Metric
    rounds: NDArray[np.int64]
    curve: NDArray[np.float64]
    constants: Constants
    along: Constants
    distances: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    schedule: Schedule
    departures: tuple[str, ...]
    remarks: tuple[str, ...]
    trajectory: TrajectoryConstants
    resolution: float


def measure(
    item: Theorem,
    case: str,
    bound: Bound,
    experiment: Experiment,
    progress: Progress | None = None,
) -> Measurement:
    r"""Train the theorem's algorithm under the bound's learning rate and measure.

    The learning rate follows from constants that are known before training (S,
    $\mu$, $\tau$, weights, participation). Where S is not known analytically (the
    network), it is 1.5 times the largest Hessian eigenvalue at the start, and the run
    is repeated with a larger S until it meets no eigenvalue above the S it uses.

    Args:
        item: the theorem; names the algorithm.
        case: name of the case.
        bound: its metric is measured, its step size used unless the experiment gives
            one.
        experiment: the choices.
        progress: called with (what, done, total).

    Returns:
        Curve, constants, and what departs from the theorem.
    """
    setting = resolve(item, case, bound, experiment)
    optimum = None
    if setting.problem.convexity != "non_convex":
        optimum = minimum(setting.problem, setting.instance.weights)
    known = _known(setting, optimum, "Gamma" in bound.needs)
    if setting.problem.S is not None:
        schedule = schedule_of(bound, known, setting.experiment)
        curves = _train(setting, bound, schedule, optimum, progress)
    else:
        known, schedule, curves = _train_with_met_smoothness(
            setting, bound, known, progress
        )
    constants, along, remarks = _constants(setting, known, curves)
    if len(setting.federation.seeds) == 1 and not setting.deterministic:
        remarks += ("one seed gives no confidence interval, so nothing is decided",)
    return Measurement(
        setting,
        bound.metric,
        curves.rounds,
        curves.metric,
        constants,
        along,
        curves.distances,
        schedule,
        setting.departures(bound, known, schedule),
        remarks,
        curves.trajectory,
        _resolution(setting, bound, schedule, optimum),
    )


def serves(found: Measurement, bound: Bound) -> bool:
    """Say whether a measurement is also one for another bound of the same case.

    Args:
        found: the measurement.
        bound: the other bound.

    Returns:
        Whether metric, weights and learning rates are those of the bound's own run.
    """
    setting = found.setting
    default = resolve(setting.theorem, setting.case, bound, setting.experiment)
    same_weights = np.array_equal(
        default.federation.weights, setting.federation.weights
    ) and not (
        EQUAL in bound.conditions
        and not np.allclose(
            np.array(setting.federation.weights), 1 / setting.problem.clients
        )
    )
    at = np.arange(setting.experiment.rounds, dtype=np.float64)
    schedule = schedule_of(bound, found.constants, setting.experiment)
    return (
        found.metric == bound.metric
        and same_weights
        and schedule.per_step == found.schedule.per_step
        and _same(schedule.client(at), found.schedule.client(at))
        and _same(schedule.server(at), found.schedule.server(at))
    )


def _same(rates: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    return np.allclose(rates, others, rtol=1e-12, atol=0)


@dataclass(frozen=True)
class _Curves:
    """Everything collected along one training run of all replicas."""

    rounds: NDArray[np.int64]
    metric: NDArray[np.float64]
    distances: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    trajectory: TrajectoryConstants
    farthest: float
    smoothness: float


def _resolution(
    setting: Setting, bound: Bound, schedule: Schedule, optimum: Minimum | None
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
    if bound.metric.key in {"objective_gap", "weighted_gap"}:
        terms = np.abs(problem.loss(point).numpy()[:, 0])
        gap = ROUNDING * float(weights @ terms + S * norm**2)
        return gap if bound.metric.key == "objective_gap" else rate * gap
    if bound.metric.key == "weighted_gradient":
        slopes = torch.linalg.vector_norm(problem.gradient(point), dim=1).numpy()[:, 0]
        return rate * (ROUNDING * float(weights @ slopes + S * norm)) ** 2
    error = ROUNDING * norm
    if optimum is not None and mu > 0:
        error += optimum.gradient_norm / mu
    return error**2


def _train(
    setting: Setting,
    bound: Bound,
    schedule: Schedule,
    optimum: Minimum | None,
    progress: Progress | None,
    what: str = "training",
) -> _Curves:
    problem, federation, cut = setting.problem, setting.federation, setting.cut
    T, metric = setting.experiment.rounds, bound.metric.key
    weights = np.array(federation.weights)
    a = torch.from_numpy(weights)
    floor = optimum.value if optimum else lower_bound(problem, weights)
    minimiser = None if optimum is None else torch.from_numpy(optimum.x)[:, None]
    shown = _spread(T, SHOWN_ROUNDS)
    measured = {0, *_spread(T, MEASURED_ROUNDS)}
    sharp = {0, *_spread(T, SMOOTHNESS_ROUNDS)} if problem.S is None else set()
    trainer = Trainer(federation, setting.algorithm, schedule, track_ball=True)
    trajectory, smoothness = Trajectory(), 0.0
    weighted = torch.zeros(federation.replicas, dtype=torch.float64)
    values: list[NDArray[np.float64]] = []
    distances: list[tuple[float, float]] = []
    for t, x in trainer.rounds(T):
        if t in measured:
            trajectory.add(at_point(problem, x, federation.sampling, weights))
        if t in sharp and isinstance(problem, Network):
            few = x[:, :SMOOTHNESS_SEEDS].contiguous()
            smoothness = max(smoothness, float(problem.smoothness(few).max()))
        if t in shown:
            offset2 = None if minimiser is None else (x - minimiser).square()
            if offset2 is not None:
                sides = offset2[:cut].sum(0), offset2[cut:].sum(0)
                distances.append((float(sides[0].mean()), float(sides[1].mean())))
            if metric == "objective_gap":
                values.append((problem.value(x, a) - floor).numpy())
            elif metric in {"weighted_gradient", "weighted_gap"}:
                values.append((weighted / t).numpy())
            elif offset2 is not None:
                values.append(sides[metric == "server_distance"].numpy())
        if metric in {"weighted_gradient", "weighted_gap"} and t < T:
            if metric == "weighted_gap":
                now = problem.value(x, a) - floor
            else:
                gradient = torch.tensordot(a, problem.full_gradients(x), 1)
                now = gradient.square().sum(0)
            weighted = weighted + float(schedule.client(np.array(float(t)))) * now
        if progress is not None:
            progress(what, t, T)
    pair = np.array(distances).T if distances else None
    return _Curves(
        np.array(shown),
        np.array(values),
        None if pair is None else (pair[0], pair[1]),
        trajectory.result(),
        0.0 if trainer.farthest is None else float(trainer.farthest.max()),
        smoothness,
    )


def _train_with_met_smoothness(
    setting: Setting, bound: Bound, known: Constants, progress: Progress | None
) -> tuple[Constants, Schedule, _Curves]:
    """Repeat the run until the S of its learning rate is at least the S it meets.

    Returns:
        The constants with S, the learning rate, and the run that meets no larger S.

    Raises:
        ValueError: if that does not come to an end.
    """
    problem = setting.problem
    if not isinstance(problem, Network):
        raise ValueError(f"{problem.name}: no smoothness constant is known")
    S = SMOOTHNESS_MARGIN * float(problem.smoothness(problem.start(1)).max())
    for attempt in range(SMOOTHNESS_ATTEMPTS):
        known = known.with_values(S=S)
        schedule = schedule_of(bound, known, setting.experiment)
        what = "training" if attempt == 0 else f"training again with S = {S:.3g}"
        curves = _train(setting, bound, schedule, None, progress, what)
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


def _known(setting: Setting, optimum: Minimum | None, gamma: bool) -> Constants:
    """Return what is known before training."""
    problem, federation, cut = setting.problem, setting.federation, setting.cut
    weights = np.array(federation.weights)
    start = problem.value(problem.start(1), torch.from_numpy(weights))
    floor = optimum.value if optimum else lower_bound(problem, weights)
    found: dict[str, float] = {"initial_gap": max(float(start[0]) - floor, 0.0)}
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
    setting: Setting, known: Constants, curves: _Curves
) -> tuple[Constants, Constants, tuple[str, ...]]:
    """Return the constants on the ball, those along the runs, and remarks."""
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
    proved = _with_gradients(known, ball.sigma2, ball.G2, ball.eps2, "analytic", where)
    return proved, along, ()


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
