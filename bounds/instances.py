r"""Refuting instances of the ledger, run by the trainer beside the bound they break.

``runnable`` takes the run that the ledger holds for a claim and makes problem,
federation, algorithm and learning rates of it; ``trained`` runs it and judges the
measured curve against the printed bound with the run's analytic constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from bounds.verdict import Band, Verdict, judge
from sfl_theory import Bound, Constants
from sfl_theory.evidence import Claim, Model
from sfl_theory.ledger import entered, ledger
from sfl_theory.models.federated import FederatedRun
from sfl_theory.models.moments import WEIGHTED, crossing, printed, right_side, spread
from sfl_theory.schedules import Schedule
from sfl_train.algorithms import SFLV1, SFLV2, Algorithm, MiniBatchSFL
from sfl_train.engine import Trainer
from sfl_train.federation import Federation
from sfl_train.problems.problem import Problem
from sfl_train.problems.quadratic import Quadratic
from sfl_train.problems.separable import Separable

NOISY_SEEDS = 1000
"""Replicas where gradients are noisy, which then makes most of the metric."""

SEEDS = 100
"""Replicas where participation or the visiting order is drawn, but no noise."""

SHOWN = 32
"""Rounds over the whole run; up to ``CLOSE`` more lie at the crossing and after it."""

CLOSE = 8


@dataclass(frozen=True)
class RunnableInstance:
    """A refuting run, ready for the trainer.

    Attributes:
        claim: id of the refuted claim.
        run: the run as data.
        problem: the clients' objectives.
        federation: weights, participation, seeds.
        algorithm: what the clients run.
        schedule: learning rates of both sides.
    """

    claim: str
    run: FederatedRun
    problem: Problem
    federation: Federation
    algorithm: Algorithm
    schedule: Schedule

    @property
    def bound(self) -> Bound:
        """The printed bound that the run breaks."""
        return printed(self.run)

    @property
    def constants(self) -> Constants:
        """The constants of the assumptions on the run, all analytic."""
        return self.run.constants

    @property
    def crossing(self) -> int:
        """First T at which the expected left side exceeds the bound."""
        return crossing(self.run)


@dataclass(frozen=True)
class TrainedInstance:
    """A refuting run, trained and judged.

    Attributes:
        instance: what was run.
        rounds: T at which the curve is shown, shape (m,).
        curve: the claim's metric, one curve per seed, shape (m, R).
        bound: the printed bound at these rounds, shape (m,).
        band: of the metric over seeds.
        verdict: on the bound.
    """

    instance: RunnableInstance
    rounds: NDArray[np.int64]
    curve: NDArray[np.float64]
    bound: NDArray[np.float64]
    band: Band
    verdict: Verdict


def runnable(claim: str, seeds: int | None = None, seed: int = 0) -> RunnableInstance:
    """Return the first instance of a refuted claim that is a run.

    Args:
        claim: id of the claim, for instance "han2024/thm-3.7/strongly_convex".
        seeds: number of replicas; None: as many as decide, see ``prepared``.
        seed: the first replica.

    Returns:
        Problem, federation, algorithm and learning rates.

    Raises:
        ValueError: if the claim is unknown or not refuted, or if none of its instances
            is a run of an algorithm.
    """
    known = ledger().claim(claim)
    if entered(known).status != "refuted":
        raise ValueError(f"instance: {claim} is not refuted, so no instance breaks it")
    run = next(runs(known), None)
    if run is None:
        raise ValueError(
            f"instance: what refutes {claim} is no run that the trainer makes: replay "
            f"it with python -m bounds.audit --claim {claim}"
        )
    return prepared(claim, run, seeds, seed)


def runs(claim: Claim) -> Iterator[FederatedRun]:
    """Yield the runs among what refutes a claim."""
    for part in claim.parts:
        if isinstance(part.by, Model) and part.by.run is not None:
            yield part.by.run()


def prepared(
    claim: str, run: FederatedRun, seeds: int | None = None, seed: int = 0
) -> RunnableInstance:
    """Make a run ready for the trainer.

    Args:
        claim: what it breaks.
        run: the run as data.
        seeds: number of replicas; None: one where nothing is drawn, else ``SEEDS``
            or ``NOISY_SEEDS``.
        seed: the first replica.

    Returns:
        Problem, federation, algorithm and learning rates.
    """
    enough = NOISY_SEEDS if any(run.sigma2) else SEEDS
    count = seeds or (1 if run.deterministic else enough)
    problem = _problem(f"instance:{claim}", run)
    federation = Federation(
        problem,
        [float(a) for a in run.weights],
        [float(q) for q in run.q],
        seeds=range(seed, seed + count),
    )
    algorithm = _ALGORITHMS[run.algorithm](run)
    return RunnableInstance(claim, run, problem, federation, algorithm, run.schedule)


def _problem(name: str, run: FederatedRun) -> Problem:
    start = [float(x) for x in run.start]
    if not run.separable:
        H, b = (
            np.array([getattr(client, part) for client in run.clients], dtype=float)
            for part in ("H", "b")
        )
        return Quadratic(H, b, start, run.cut, name=name)
    pieces = [client.pieces for client in run.separable]
    kinks = [
        [np.inf if p.kink is None else float(p.kink) for p in row] for row in pieces
    ]
    return Separable(
        [[float(p.centre) for p in row] for row in pieces],
        start,
        [[float(p.curvature) for p in row] for row in pieces],
        [[np.inf if kink is None else float(kink) for kink in row] for row in kinks],
        [[float(z) for z in client.zeta] for client in run.clients],
        run.cut,
        name,
    )


def _sfl_v1(run: FederatedRun) -> Algorithm:
    return SFLV1(run.tau, run.tau_server, run.cut, aggregation=run.aggregation)


def _sfl_v2(run: FederatedRun) -> Algorithm:
    return SFLV2(run.tau, run.cut, run.order, aggregation=run.aggregation)


def _minibatch_sfl(run: FederatedRun) -> Algorithm:
    return MiniBatchSFL(run.tau, run.cut, aggregation=run.aggregation)


_ALGORITHMS: dict[str, Callable[[FederatedRun], Algorithm]] = {
    "sfl-v1": _sfl_v1,
    "sfl-v2": _sfl_v2,
    "minibatch-sfl": _minibatch_sfl,
}


def trained(
    instance: RunnableInstance,
    rounds: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> TrainedInstance:
    """Run an instance and judge its curve against the printed bound.

    Args:
        instance: what to run.
        rounds: T; None: the ledger's.
        progress: called with (what, done, total).

    Returns:
        Curves over seeds, bound, band and verdict.
    """
    run, last = instance.run, rounds or instance.run.rounds
    shown = shown_rounds(instance, last)
    curve = _curve(instance, shown, progress)
    bound = right_side(run, shown)
    band = Band.of(shown, curve, run.deterministic)
    return TrainedInstance(instance, shown, curve, bound, band, judge(band, bound))


def shown_rounds(instance: RunnableInstance, last: int) -> NDArray[np.int64]:
    """Return at most 40 rounds up to the last, several of them after the crossing.

    Args:
        instance: what runs.
        last: T.

    Returns:
        Rounds in rising order.
    """
    rounds, first = spread(last, SHOWN), instance.crossing
    if first <= last:
        rounds = np.union1d(rounds, np.geomspace(first, last, CLOSE).round())
    return rounds.astype(np.int64)


def _curve(
    instance: RunnableInstance,
    shown: NDArray[np.int64],
    progress: Callable[[str, int, int], None] | None,
) -> NDArray[np.float64]:
    """Train and measure at the shown rounds.

    Returns:
        The metric, shape (m, R).
    """
    run, problem, metric = instance.run, instance.problem, instance.bound.metric.key
    a = torch.tensor([float(w) for w in run.weights], dtype=torch.float64)
    best = torch.tensor([[float(x)] for x in run.minimiser], dtype=torch.float64)
    floor, last, wanted = problem.value(best, a), int(shown[-1]), {*shown.tolist()}

    def now(x: torch.Tensor) -> torch.Tensor:
        if metric in {"objective_gap", "weighted_gap"}:
            return problem.value(x, a) - floor
        if metric == "weighted_gradient":
            return torch.tensordot(a, problem.full_gradients(x), 1).square().sum(0)
        side = (
            slice(0, run.cut) if metric == "client_distance" else slice(run.cut, None)
        )
        return (x - best)[side].square().sum(0)

    trainer = Trainer(instance.federation, instance.algorithm, instance.schedule)
    total = torch.zeros(instance.federation.replicas, dtype=torch.float64)
    values = []
    for t, x in trainer.rounds(last):
        if t in wanted:
            values.append((total / t if metric in WEIGHTED else now(x)).numpy().copy())
        if metric in WEIGHTED:
            total += float(run.client_rate.at(t)) * now(x)
        if progress is not None:
            progress("refuting instance", t, last)
    return np.array(values)
