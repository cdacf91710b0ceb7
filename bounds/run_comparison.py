r"""A finished deep run beside a bound on the squared gradients.

The left side $\frac1T\sum_{t<T}\eta^t\,\mathbb E\|\nabla f(x^t)\|^2$ is exact where
every round was measured. Where only some were, their average stands in for it
("over measured rounds"); it decides nothing against the bound, because between the
measured rounds the gradients may be smaller. There the sum over the measured rounds
divided by T, which the left side cannot fall below, must lie above the bound too.

A seed draws partition and initial model as well, so every run has a problem of its own.
The bound is evaluated with each run's own constants and averaged over the runs, as the
left sides are: if each run's expectation lies below its bound, so do the means.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bounds.audited import Audited
from bounds.comparison import Comparison
from bounds.finished_run import FinishedRun, load
from bounds.informative import floor, informative, mean_floor, mean_rate
from bounds.measurement import Measurement
from bounds.run_departures import departures, excess, largest_rates
from bounds.run_setting import RunSetting
from bounds.training import SHOWN_ROUNDS
from bounds.verdict import Band, Verdict, judge, rate
from sfl_theory import Bound, Constants, Theorem, schedules
from sfl_theory.ledger import Standing
from sfl_theory.schedules import Schedule

SINGLE_PRECISION = 1e-3
"""Relative error of a squared norm of float32 gradients, TF32 products included."""


@dataclass(frozen=True)
class RunComparison(Comparison):
    """A comparison whose left side comes from finished runs.

    Attributes:
        per_run: the bound with each run's own constants, shape (m, R).
    """

    per_run: NDArray[np.float64] = field(kw_only=True)

    @property
    def progress(self) -> float | None:
        """Share of f(x^0) that is gone at the last measured round, mean over runs."""
        pairs = [
            (run.constants.initial_gap, run.objective)
            for run in self.measurement.setting.runs
        ]
        if not all(start for start, _ in pairs):
            return None
        return float(np.mean([1 - end / start for start, end in pairs]))

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON keys of every comparison, and ``run``: one object per run."""
        runs = self.measurement.setting.runs
        return {
            **super().as_dict(),
            "run": [
                {
                    "folder": str(run.folder),
                    "hash": run.config.hash,
                    "seed": run.config.seed,
                    "measured_every": run.every,
                    "constants": run.constants.as_dict(),
                    "measured": curve.tolist(),
                    "bound": [v if math.isfinite(v) else None for v in bound.tolist()],
                }
                for run, curve, bound in zip(
                    runs, self.measurement.curve.T, self.per_run.T, strict=True
                )
            ],
        }


def compare_runs(
    item: Theorem,
    case: str,
    bounds: Sequence[Bound],
    folders: Sequence[Path],
    audit: Audited | None = None,
) -> list[RunComparison]:
    """Put finished runs beside the bounds of the non-convex case of a theorem.

    Args:
        item: the theorem.
        case: name of the case, whose left side is that of (13), (16), (19), (22).
        bounds: versions of its bound.
        folders: run folders: seeds of one configuration.
        audit: what the ledger says of the case.

    Returns:
        One comparison per bound.
    """
    runs = load(folders)
    shown = shown_rounds(runs[0])
    return [
        _against(
            item, case, bound, runs, shown, audit and audit.of(item.case(case), bound)
        )
        for bound in bounds
    ]


def left_side(
    run: FinishedRun, shown: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return the left side, and what it cannot fall below.

    Args:
        run: measured at rounds t = 0, K, 2K, ...
        shown: T, from 1, shape (m,).

    Returns:
        With $h_t=\eta^t\|\nabla f(x^t)\|^2$, the mean of $h_t$ over the measured
        $t<T$, and $\frac1T$ times their sum, shape (m,) each; the same for K = 1.
    """
    times = np.array(run.measured)
    sums = np.cumsum(run.rates[0][times[times < run.config.rounds]]
                     * run.gradient2[times < run.config.rounds])  # fmt: skip
    count = np.searchsorted(times, shown, side="left")
    return sums[count - 1] / count, sums[count - 1] / shown


def shown_rounds(run: FinishedRun, most: int = SHOWN_ROUNDS) -> NDArray[np.int64]:
    """Return the rounds T at which the curve is shown.

    Args:
        run: a finished run.
        most: how many there may be.

    Returns:
        T right after measured rounds, spread evenly in log T, with 1 and the last.
    """
    last = run.config.rounds
    known = np.array(sorted({*(t + 1 for t in run.measured if t < last), last}))
    wanted = np.geomspace(1, last, most)
    nearest = np.abs(np.log(known)[:, None] - np.log(wanted)).argmin(axis=0)
    return known[np.unique(nearest)]


def _against(
    item: Theorem,
    case: str,
    bound: Bound,
    runs: Sequence[FinishedRun],
    shown: NDArray[np.int64],
    standing: Standing | None,
) -> RunComparison:
    first = runs[0]
    every_round = all(run.every == 1 for run in runs)
    sides = [left_side(run, shown) for run in runs]
    curve, least = (np.array(rows).T for rows in zip(*sides, strict=True))
    setting = RunSetting(tuple(runs))
    schedule = _schedule(first)
    each = [bound.formula(run.constants, shown, schedule) for run in runs]
    terms = {name: np.mean([one[name] for one in each], axis=0) for name in bound.parts}
    values = np.sum(list(terms.values()), axis=0)
    band = Band.of(shown, curve, setting.deterministic)
    verdict, remark = _verdict(
        band, Band.of(shown, least, setting.deterministic), values
    )
    constants = _largest(runs)
    measurement = Measurement(
        setting,  # type: ignore[arg-type]
        bound.metric,
        shown,
        curve,
        constants,
        constants,
        None,
        schedule,
        departures(item, bound, runs),
        (*_remarks(item, bound, runs), *remark),
        None,  # type: ignore[arg-type]
        SINGLE_PRECISION * float(curve.max()),
    )
    tested = bound if every_round else replace(bound, metric=_over_measured(bound))
    own = [run.constants for run in runs]
    known = mean_floor([floor(bound, one) for one in own])
    return RunComparison(
        item,
        case,
        tested,
        measurement,
        band,
        values,
        terms,
        values,
        verdict,
        rate(shown, curve, setting.deterministic),
        mean_rate(bound.metric, shown, schedule),
        known,
        informative(bound, own, schedule, known),
        standing,
        per_run=np.array([np.sum(list(one.values()), axis=0) for one in each]).T,
    )


def _verdict(
    band: Band, least: Band, values: NDArray[np.float64]
) -> tuple[Verdict, tuple[str, ...]]:
    """Judge; what the average over measured rounds says against a bound needs proof.

    Returns:
        The verdict, and a remark where the average alone lies above the bound.
    """
    found, sure = (judge(_widened(one), values) for one in (band, least))
    if sure.word == "violated":
        return replace(sure, tightness=found.tightness), ()
    if found.word != "violated":
        return found, ()
    remark = (
        f"the average over measured rounds lies above the bound from T="
        f"{found.first_violation}, but would not if the gradients vanished in all "
        "other rounds: measure every round to decide"
    )
    return replace(found, word="inconclusive", first_violation=None), (remark,)


def _widened(band: Band) -> Band:
    slack = SINGLE_PRECISION * np.abs(band.mean)
    return replace(band, low=band.low - slack, high=band.high + slack)


def _over_measured(bound: Bound) -> Any:
    return replace(
        bound.metric,
        key=f"{bound.metric.key}_over_measured_rounds",
        latex=r"\operatorname{mean}_{t<T,\ t\ \text{measured}}\ "
        r"\eta^t\,\mathbb{E}\|\nabla f(x^t)\|^2",
        words="mean of eta^t E||grad f(x^t)||^2 over measured rounds t < T",
        mean="mean of E||grad f(x^t)||^2 over measured rounds t < T",
        axis=r"\mathrm{mean}_{\,t<T\ \mathrm{measured}}\;"
        r"\eta^t\,\mathbb{E}\|\nabla f(x^t)\|^2",
    )


def _schedule(run: FinishedRun) -> Schedule:
    rates, config = run.rates[0], run.config
    if np.all(rates == rates[0]):
        return schedules.constant(float(rates[0]))
    words = config.schedule
    if not words.startswith("theorem"):
        words += f" from {config.lr:g}"
    return replace(schedules.table(rates.tolist()), words=words)


def _largest(runs: Sequence[FinishedRun]) -> Constants:
    """Return the largest constants over the runs; one run's are its own."""
    first = runs[0].constants
    if len(runs) == 1:
        return first
    found = {}
    for name in ("S", "sigma2", "G2", "eps2", "initial_gap", "tau", "tau_server"):
        found[name] = max(float(np.max(getattr(run.constants, name))) for run in runs)
    weights = [run.constants.weights for run in runs]
    where = "largest over runs, clients and measured rounds; each run's own: see run"
    domain = dict.fromkeys(("S", "sigma2", "G2", "eps2", "initial_gap"), where)
    return first.with_values(
        **found,
        weights=weights[0] if len(set(weights)) == 1 else None,
        domain={**first.domain, **domain},
    )


def _remarks(
    item: Theorem, bound: Bound, runs: Sequence[FinishedRun]
) -> tuple[str, ...]:
    """Return what a reader must know beside the departures."""
    first, config = runs[0], runs[0].config
    found = [
        "S, sigma2, G2, eps2 are the largest values met at the measured models: lower "
        "estimates of the assumptions' constants; the initial gap is taken as f(x^0), "
        "no less than f(x^0) - f*; a violated bound is a lead, no refutation"
    ]
    if len(runs) == 1 and not first.deterministic:
        found.append(
            "one run does not estimate the expectation over draws and gives no "
            "confidence interval, so nothing is decided; give runs of other seeds, "
            "each with --run"
        )
    if len(runs) > 1:
        seeds = ", ".join(str(run.config.seed) for run in runs)
        found.append(
            f"seeds {seeds}: a seed draws partition and initial model too, so the "
            "bound is the mean of the bounds with each run's own constants"
        )
    # With --measure auto the seeds may differ, as their partitions do.
    sparse = max(runs, key=lambda run: run.every)
    if sparse.every > 1:
        count = sum(t < config.rounds for t in sparse.measured)
        found.append(
            f"{count} of {config.rounds} rounds were measured (every {sparse.every}): "
            "the left side is the average over measured rounds, not the theorem's "
            "over all"
        )
    largest = [largest_rates(bound, run) for run in runs]
    if not any(excess(bound, run) for run in runs) and None not in largest:
        least = min(pair[0].min() for pair in largest if pair is not None)
        found.append(
            f"the step-size condition holds with the S met (eta up to "
            f"{first.rates[0].max():.4g}, admitted {least:.4g}); a larger S may break "
            "it"
        )
    if config.algorithm == "fedavg" and item.algorithm == "sfl-v1":
        found.append("FedAvg makes the iterates of SFL-V1 with tau_server = tau")
    return tuple(found)
