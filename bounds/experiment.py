r"""What a user chooses, and what it becomes: problem, federation, algorithm, rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfl_theory import Bound, Constants, Theorem, schedules, theorem
from sfl_theory.conditions import Algorithm as Chosen
from sfl_theory.conditions import (
    Clock,
    EqualWeights,
    OwnSteps,
    UpdatesAggregated,
    WeightedServer,
)
from sfl_theory.schedules import Schedule
from sfl_train.algorithms import SFLV1, SFLV2, Algorithm, FedAvg, MiniBatchSFL
from sfl_train.federation import Federation
from sfl_train.problems.named import Instance, build
from sfl_train.problems.network import Network
from sfl_train.problems.problem import Problem, Sampling

DEFAULT_PROBLEMS = {
    "strongly_convex": "softmax:digits",
    "general_convex": "least-squares:digits",
    "non_convex": "network:digits",
    "any": "softmax:digits",
}
ADMITS = {
    "strongly_convex": ("strongly_convex", "general_convex", "non_convex", "any"),
    "general_convex": ("general_convex", "non_convex", "any"),
    "non_convex": ("non_convex",),
}


LARGEST = {
    "tau": 10**6,
    "tau_server": 10**6,
    "rounds": 10**9,
    "seeds": 10**6,
    "seed": 2**62,
    "clients": 10**6,
    "batch_size": 10**6,
}
"""Beyond these a run has no end, or its arrays have no memory."""


@dataclass(frozen=True)
class Experiment:
    r"""Everything about a run that a user can choose.

    Attributes:
        problem: name as in ``sfl_train.problems.named``, or None: the case's default.
        clients: N, or None: the problem's default.
        tau: $\tau$.
        tau_server: $\tilde\tau$ (SFL-V1 only), or None: the same as ``tau``.
        rounds: T.
        seeds: number of replicas R.
        seed: of the partition and the initial model; replicas are seed, seed+1, ...
        weights: "uniform", "size" or N numbers; None: "size", or "uniform" for bounds
            that are on equal weights.
        participation: $q_n$, one number or N; None: 1, or 1/2 for theorems on
            partial participation.
        partition: how data are dealt to clients.
        cut: label of a cut or number of coordinates of the client block; None: the
            problem's default.
        batch_size: B, or None: full gradients.
        replacement: draw mini-batches with replacement.
        learning_rate: a constant or a schedule in place of the theorem's rule, or None.
        order: SFL-V2's visiting order.
        clock: SFL-V1's clock.
        aggregation: "updates" or "models".
    """

    problem: str | None = None
    clients: int | None = None
    tau: int = 5
    tau_server: int | None = None
    rounds: int = 200
    seeds: int = 10
    seed: int = 0
    weights: str | Sequence[float] | None = None
    participation: float | Sequence[float] | None = None
    partition: str = "dirichlet:0.5"
    cut: str | None = None
    batch_size: int | None = 32
    replacement: bool = True
    learning_rate: float | Schedule | None = None
    order: str = "interleaved"
    clock: str = "analysis"
    aggregation: str = "updates"

    def __post_init__(self) -> None:
        for name in ("tau", "rounds", "seeds"):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"{name} must be at least 1, got {getattr(self, name)}"
                )
        for name, largest in LARGEST.items():
            if (getattr(self, name) or 0) > largest:
                raise ValueError(
                    f"{name.replace('_', '-')} must be at most {largest}, "
                    f"got {getattr(self, name)}"
                )
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, got {self.seed}")
        if self.clients is not None and self.clients < 1:
            raise ValueError(f"clients must be at least 1, got {self.clients}")
        if self.tau_server is not None and self.tau_server < 1:
            raise ValueError(f"tau-server must be at least 1, got {self.tau_server}")
        if self.batch_size is not None and self.batch_size < 1:
            raise ValueError(f"batch-size must be at least 1, got {self.batch_size}")


@dataclass(frozen=True)
class Setting:
    """A choice made concrete: everything that training needs but the learning rate.

    Attributes:
        theorem: whose algorithm is run.
        case: name of the case.
        experiment: the choice.
        instance: problem, weights and data.
        federation: clients with weights, participation and seeds.
        algorithm: what they run.
        cut: length of the client block in coordinates.
    """

    theorem: Theorem
    case: str
    experiment: Experiment
    instance: Instance
    federation: Federation
    algorithm: Algorithm
    cut: int

    @property
    def problem(self) -> Problem:
        """The client objectives."""
        return self.instance.problem

    @property
    def algorithm_name(self) -> str:
        """Name of the algorithm as the papers write it."""
        names = {FedAvg: "FedAvg", SFLV1: "SFL-V1", SFLV2: "SFL-V2"}
        return names.get(type(self.algorithm), "MiniBatch-SFL")

    @property
    def deterministic(self) -> bool:
        """Whether nothing is drawn: exact gradients, everyone present, no order."""
        noise = getattr(self.problem, "noise", None)
        exact = (
            self.federation.sampling.batch_size is None
            if noise is None
            else not np.any(np.asarray(noise))
        )
        ordered = isinstance(self.algorithm, SFLV2) and self.problem.clients > 1
        return bool(exact and self.federation.full and not ordered)

    def departures(
        self, bound: Bound, known: Constants, schedule: Schedule
    ) -> tuple[str, ...]:
        """Return how the run differs from what the theorem analyses, in words.

        Args:
            bound: under test.
            known: constants that its learning-rate rule needs.
            schedule: the learning rate used.

        Returns:
            One phrase per departure; empty if the run is the theorem's.
        """
        experiment = self.experiment
        chosen = Chosen(aggregation=experiment.aggregation, clock=experiment.clock)
        given = None if experiment.learning_rate is None else schedule
        found = [*bound.unmet(known, experiment.rounds, given, chosen)]
        kind = self.theorem.algorithm
        if kind == "sfl-v2" and experiment.order != "interleaved":
            found.append("client-sequential order; the theorem analyses Algorithm 2")
        told = bound.assumes(Clock) or bound.assumes(OwnSteps)
        if kind == "sfl-v1" and experiment.clock != "analysis" and not told:
            found.append("Algorithm 1's clock; the proof analyses App. C.2's")
        if (
            self.theorem.participation == "partial"
            and experiment.aggregation != "updates"
            and not bound.assumes(UpdatesAggregated)
        ):
            found.append("eq. (3)'s aggregation; the proof analyses App. C.2's")
        return tuple(found)

    def words(self, schedule: Schedule) -> str:
        """Return in one line what decides a run, as captions and reports say it.

        Args:
            schedule: the learning rate used.

        Returns:
            Algorithm, problem, clients, weights, participation, periods, learning rate
            on both sides, and, where they exist, partition, batch and cut; seeds.
        """
        experiment, problem = self.experiment, self.problem
        q = np.unique(np.array(self.federation.participation, dtype=np.float64))
        parts = [
            f"{self.algorithm_name} on {problem.name}",
            f"N = {problem.clients}",
            _weights_words(experiment.weights, np.array(self.federation.weights)),
            "all take part" if np.all(q == 1) else f"q = {_range(q)}",
            f"tau = {experiment.tau}",
        ]
        tau_server = getattr(self.algorithm, "tau_server", experiment.tau)
        if tau_server != experiment.tau:
            parts.append(f"tau_server = {tau_server}")
        if isinstance(self.algorithm, SFLV2):
            parts.append(f"{experiment.order} visits")
        if not self.federation.full:
            parts.append(f"aggregation of {experiment.aggregation}")
        parts.append(f"eta = {schedule.sides}")
        if self.instance.data is not None:
            batch = experiment.batch_size or "all samples"
            parts += [experiment.partition, f"batch {batch}"]
        first = experiment.seed
        seeds = f"seeds {first}..{first + experiment.seeds - 1}"
        parts.append(f"cut {self.cut} of {problem.dimension} coordinates")
        parts.append(seeds if experiment.seeds > 1 else f"seed {first}")
        return ", ".join(parts)

    def record(self, schedule: Schedule) -> dict[str, Any]:
        """Return the resolved configuration, for JSON.

        Args:
            schedule: the learning rate used.

        Returns:
            Every choice with its default filled in.
        """
        given = replace(self.experiment, learning_rate=None)
        return {
            "theorem": self.theorem.key,
            "case": self.case,
            "algorithm": self.algorithm_name,
            **asdict(given),
            "learning_rate": schedule.words,
            "problem": self.problem.name,
            "clients": self.problem.clients,
            "participation": np.array(self.federation.participation).tolist(),
            "weights": np.array(self.federation.weights).tolist(),
            "cut": self.cut,
            "dimension": self.problem.dimension,
            "sizes": np.array(self.problem.sizes).tolist(),
        }


def _weights_words(
    chosen: str | Sequence[float] | None, weights: NDArray[np.float64]
) -> str:
    if np.allclose(weights, weights[0]):
        return "equal weights"
    rule = "weights by size" if chosen == "size" else "weights"
    if weights.size <= 3:
        return f"{rule} ({', '.join(f'{a:.3g}' for a in weights)})"
    return f"{rule} ({_range(weights)})"


def _range(values: NDArray[np.float64]) -> str:
    low, high = float(np.min(values)), float(np.max(values))
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def cases_for(item: Theorem, experiment: Experiment) -> tuple[str, ...]:
    """Return the cases of a theorem that the experiment's problem meets.

    Args:
        item: the theorem.
        experiment: the choice; without a problem every case has its own default.

    Returns:
        Names of cases, in the theorem's order.

    Raises:
        ValueError: if the problem meets none of them, or is impossible.
    """
    if experiment.problem is None:
        return tuple(item.cases)
    convexity = _build(experiment.problem, experiment).problem.convexity
    met = tuple(name for name in item.cases if name in ADMITS[convexity])
    if not met:
        raise ValueError(
            f"problem: {experiment.problem} is {convexity.replace('_', ' ')}; "
            f"{item.key} is on: {', '.join(item.cases)}"
        )
    return met


def resolve(item: Theorem, case: str, bound: Bound, experiment: Experiment) -> Setting:
    """Make a choice concrete for one case of a theorem.

    Args:
        item: the theorem.
        case: name of the case.
        bound: under test; its conditions decide the default weights.
        experiment: the choice.

    Returns:
        The setting.

    Raises:
        ValueError: if the problem is not of the kind the case speaks of, or a choice
            is impossible.
    """
    name = experiment.problem or DEFAULT_PROBLEMS[case]
    if experiment.weights is None:
        equal = bound.assumes(EqualWeights) or bound.assumes(WeightedServer)
        default = "uniform" if equal else "size"
        experiment = replace(experiment, weights=default)
    instance = _build(name, experiment)
    problem = instance.problem
    if case not in ADMITS[problem.convexity]:
        raise ValueError(
            f"case: {item.key} ({case}) does not apply to {name}, which is "
            f"{problem.convexity.replace('_', ' ')}"
        )
    federation = Federation(
        problem,
        instance.weights,
        _participation(item, experiment, problem),
        Sampling(experiment.batch_size, experiment.replacement),
        tuple(range(experiment.seed, experiment.seed + experiment.seeds)),
    )
    cut = _cut(problem, experiment.cut)
    algorithm = _algorithm(item, experiment, cut)
    return Setting(item, case, experiment, instance, federation, algorithm, cut)


def schedule_of(bound: Bound, known: Constants, experiment: Experiment) -> Schedule:
    """Return the learning rate: the user's, else the bound's rule.

    Args:
        bound: under test; a decomposition without a rule takes that of Theorem 3.7.
        known: constants that the rule needs.
        experiment: may hold a constant learning rate.

    Returns:
        The schedule.
    """
    given, rule = experiment.learning_rate, bound.step_size
    if given is not None:
        chosen = given if isinstance(given, Schedule) else schedules.constant(given)
        ratio = None if rule is None or rule.per_step else rule.ratio(known)
        return chosen if ratio is None else chosen.scaled(ratio)
    if rule is None:
        rule = theorem("3.7").case("strongly_convex").bound().step_size
    return rule.schedule(known)


def _build(name: str, experiment: Experiment) -> Instance:
    return build(
        name,
        clients=experiment.clients,
        partition=experiment.partition,
        weights="size" if experiment.weights is None else experiment.weights,
        seed=experiment.seed,
    )


def _participation(
    item: Theorem, experiment: Experiment, problem: Problem
) -> float | Sequence[float]:
    q = experiment.participation
    if item.participation != "partial":
        if q is not None and np.any(np.asarray(q) != 1):
            raise ValueError(
                f"participation must be 1: {item.key} is on full participation, "
                "Theorems 3.8 and 3.9 are on partial participation"
            )
        return 1.0
    if q is None:
        return 0.5
    if np.ndim(q) == 1 and len(q) != problem.clients:
        raise ValueError(
            f"participation has {len(q)} entries for {problem.clients} clients"
        )
    return q


def _cut(problem: Problem, wanted: str | None) -> int:
    """Return the length of the client block for a label or a number of coordinates.

    Raises:
        ValueError: if the problem has no such cut.
    """
    if wanted is None:
        return problem.cuts[problem.default_cut]
    if wanted in problem.cuts:
        return problem.cuts[wanted]
    labels = ", ".join(problem.cuts)
    if isinstance(problem, Network):
        raise ValueError(
            f"cut must be one of {labels} for {problem.name}, got {wanted}"
        )
    try:
        cut = int(wanted)
    except ValueError:
        cut = 0
    if not 1 <= cut < problem.dimension:
        raise ValueError(
            f"cut must lie in 1..{problem.dimension - 1} (coordinates of the client "
            f"block) or be one of {labels}, got {wanted}"
        )
    return cut


def _algorithm(item: Theorem, experiment: Experiment, cut: int) -> Algorithm:
    tau, tau_server = experiment.tau, experiment.tau_server
    name = "sfl-v2" if item.algorithm == "any" else item.algorithm
    if tau_server not in {None, tau} and name != "sfl-v1":
        raise ValueError(
            f"tau-server differs from tau: {name} has no server aggregation period"
        )
    if tau_server not in {None, tau} and item.paper == "dachille2024":
        raise ValueError(f"tau-server must equal tau: {item.key} has one tau")
    if name == "fedavg":
        return FedAvg(tau=tau, aggregation=experiment.aggregation)
    if name == "sfl-v1":
        return SFLV1(
            tau=tau,
            tau_server=tau_server or tau,
            cut=cut,
            clock=experiment.clock,
            aggregation=experiment.aggregation,
        )
    if name == "sfl-v2":
        return SFLV2(
            tau=tau,
            cut=cut,
            order=experiment.order,
            aggregation=experiment.aggregation,
        )
    if name == "minibatch-sfl":
        return MiniBatchSFL(tau=tau, cut=cut, aggregation=experiment.aggregation)
    raise ValueError(f"no algorithm is called '{name}'")
