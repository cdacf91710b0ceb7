r"""A bound's left side as measured, with every constant of its right side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bounds.experiment import Experiment, Setting
from bounds.training import Progress, Trained, Training, train, trainings
from sfl_theory import Bound, Constants, Metric, Theorem
from sfl_theory.schedules import Schedule
from sfl_train.measure.constants import TrajectoryConstants


@dataclass(frozen=True)
class Measurement:
    r"""What was measured for a bound.

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
        trajectory: measured constants with their shares at every cut, or None where
            they were not measured.
        resolution: absolute error of the metric by rounding, an estimate from above.
        gap: mean over seeds of $f(x^T)-f^*$ after the last round, or None where it
            was not measured.
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
    trajectory: TrajectoryConstants | None
    resolution: float
    gap: float | None = None

    def same_run(self, other: Measurement) -> bool:
        """Return whether two measurements come from one training."""
        return self.rounds is other.rounds


def measure(
    item: Theorem,
    case: str,
    bound: Bound,
    experiment: Experiment,
    progress: Progress | None = None,
) -> Measurement:
    """Train the theorem's algorithm under the bound's learning rate and measure.

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
    (run,) = trainings(item, case, [bound], experiment)
    (found,) = measured(run, train(run, progress))
    return found


def measured(run: Training, found: Trained) -> tuple[Measurement, ...]:
    """Return what a training says on each of the bounds that it serves.

    Args:
        run: what was trained.
        found: what it yielded.

    Returns:
        One measurement per bound of the run, in their order.
    """
    setting = run.setting
    schedule = run.schedule(found.constants)
    remarks = found.remarks
    if len(setting.federation.seeds) == 1 and not setting.deterministic:
        remarks += ("one seed gives no confidence interval, so nothing is decided",)
    return tuple(
        Measurement(
            setting,
            bound.metric,
            found.rounds,
            found.curves[bound.metric.key],
            found.constants,
            found.along,
            found.distances,
            schedule,
            setting.departures(bound, found.constants, schedule),
            remarks,
            found.trajectory,
            found.resolutions[bound.metric.key],
            found.gap,
        )
        for bound in run.bounds
    )
