"""The instances that refute a theorem, run by the trainer and compared like any run."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bounds.audited import Audited, audited
from bounds.comparison import Comparison, against
from bounds.experiment import Experiment, Setting
from bounds.instances import RunnableInstance, runnable, trained
from bounds.measurement import Measurement
from bounds.parallel import run_all
from bounds.report import progress
from bounds.run_options import INSTANCE
from bounds.training import Progress
from sfl_theory import Case, Theorem
from sfl_theory.ledger import standing
from sfl_theory.models.federated import FederatedRun
from sfl_theory.schedules import Schedule
from sfl_train.problems.named import Instance

if TYPE_CHECKING:
    from sfl_train.measure.constants import TrajectoryConstants


@dataclass(frozen=True)
class RefutingSetting(Setting):
    """What a refuting instance runs.

    Attributes:
        run: the instance as data.
    """

    run: FederatedRun

    @property
    def deterministic(self) -> bool:
        """Whether nothing is drawn."""
        return self.run.deterministic

    def words(self, schedule: Schedule) -> str:
        """Return the instance in one line."""
        first, count = self.experiment.seed, self.experiment.seeds
        seeds = f"seeds {first}..{first + count - 1}" if count > 1 else f"seed {first}"
        return f"{self.algorithm_name}, {self.run.words}, {seeds}"


def refute(
    item: Theorem,
    cases: Sequence[Case],
    claim: str | None,
    options: argparse.Namespace,
) -> tuple[list[Comparison], dict[str, Audited], list[str]]:
    """Run refuting instances of a theorem beside the printed bounds that they break.

    Args:
        item: the theorem.
        cases: of it.
        claim: the claim whose instance runs, its paper may be left out; None: every
            refuted case.
        options: of the command: rounds, seeds, seed, quiet.

    Returns:
        One comparison per instance, what the ledger says of the cases, and notes on
        cases without an instance.

    Raises:
        ValueError: if the claim is no refuted case of the theorem, or none is refuted.
    """
    import torch

    torch.set_num_threads(1)
    chosen = {
        name: value
        for name in ("rounds", "seeds", "seed")
        if (value := getattr(options, name)) is not None
    }
    Experiment(**chosen)  # refuses impossible numbers
    notes: list[str] = []
    claims = [] if claim is None else [_full(item, claim)]
    for case in cases if claim is None else ():
        known = standing(item.key, case.name)
        if known is not None and known.status == "refuted":
            claims.append(known.claim)
        else:
            words = "has no entry" if known is None else f"is {known.words}"
            notes.append(f"{case.name} {words}: no instance to run")
    if not claims:
        raise ValueError(f"refute: no case of {item.key} is refuted: {notes[0]}")
    seed = chosen.get("seed", 0)
    found = [runnable(one, options.seeds, seed) for one in claims]
    for one in found:
        if one.run.theorem != item.key or one.run.case not in {c.name for c in cases}:
            raise ValueError(
                f"problem: the instance of {one.claim} is one of {one.run.theorem} "
                f"({one.run.case}), not of what --theorem and --case name"
            )
    jobs: dict[str, Callable[[Progress], object]] = {
        f"instance of {one.claim}": partial(_curve, one, options.rounds)
        for one in found
    }
    with progress(options.quiet) as show:
        curves = run_all(jobs, show)
    comparisons, audits = [], {}
    for one, (rounds, curve) in zip(found, curves, strict=True):
        audit = audited(item, one.run.case, [one.bound.version])
        known = audit and audit.of(item.case(one.run.case), one.bound)
        if audit is not None:
            audits[one.run.case] = audit
        measurement = _measurement(item, one, rounds, curve)
        comparisons.append(against(item, one.run.case, one.bound, measurement, known))
    return comparisons, audits, notes


def _full(item: Theorem, claim: str) -> str:
    """Return a claim's id with its paper, for one of a theorem's short number too."""
    known = claim if claim.startswith(f"{item.paper}/") else f"{item.paper}/{claim}"
    if claim.split("/")[0] == item.number:
        known = claim.replace(item.number, item.key, 1)
    return known


def _curve(
    one: RunnableInstance, rounds: int | None, move: Progress
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    found = trained(one, rounds, move)
    return found.rounds, found.curve


def _measurement(
    item: Theorem,
    one: RunnableInstance,
    rounds: NDArray[np.int64],
    curve: NDArray[np.float64],
) -> Measurement:
    run, federation = one.run, one.federation
    setting = RefutingSetting(
        item,
        run.case,
        Experiment(
            problem=f"{INSTANCE}{one.claim}",
            clients=len(run.clients),
            tau=run.tau,
            tau_server=run.tau_server if run.algorithm == "sfl-v1" else None,
            rounds=int(rounds[-1]),
            seeds=federation.replicas,
            seed=min(federation.seeds),
            weights=tuple(map(float, run.weights)),
            participation=tuple(map(float, run.q)),
            batch_size=None,
            order=run.order,
            aggregation=run.aggregation,
        ),
        Instance(one.problem, np.array(federation.weights), None, None),
        federation,
        one.algorithm,
        run.cut,
        run,
    )
    trajectory: TrajectoryConstants | None = None
    bound = one.bound
    gap = float(curve[-1].mean()) if bound.metric.key == "objective_gap" else None
    return Measurement(
        setting,
        bound.metric,
        rounds,
        curve,
        one.constants,
        one.constants,
        None,
        one.schedule,
        (),
        (),
        trajectory,
        0.0,
        gap,
    )
