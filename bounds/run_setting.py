"""What was run, as report and picture read it of a `bounds.experiment.Setting`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bounds.finished_run import FinishedRun
from sfl_theory.schedules import Schedule

NAMES = {"fedavg": "FedAvg", "sfl-v1": "SFL-V1", "sfl-v2": "SFL-V2"}


@dataclass(frozen=True)
class RunProblem:
    """What the report and the picture say about the problem of deep runs.

    Attributes:
        name: model and data.
        clients: N.
        dimension: number of the model's cuts, beside which a picture puts the cut.
        cuts: none: the shares at the cuts are in the run folder, round by round.
    """

    name: str
    clients: int
    dimension: int
    cuts: dict[str, int]


@dataclass(frozen=True)
class RunSetting:
    """What was run, in the place of `bounds.experiment.Setting`.

    Attributes:
        runs: by seed.
    """

    runs: tuple[FinishedRun, ...]

    @property
    def problem(self) -> RunProblem:
        """Model and data."""
        first, config = self.runs[0], self.runs[0].config
        name = f"{config.model} on {config.dataset}"
        return RunProblem(name, len(first.sizes), first.cuts, {})

    @property
    def experiment(self) -> RunSetting:
        """The choices, which are attributes of this object."""
        return self

    @property
    def algorithm(self) -> RunSetting:
        """The algorithm, of which a picture needs ``tau_server``."""
        return self

    @property
    def algorithm_name(self) -> str:
        """Name of the algorithm as the papers write it."""
        name = self.runs[0].config.algorithm
        return NAMES.get(name, name)

    @property
    def tau(self) -> int | str:
        """Local steps; smallest to largest where they differ."""
        steps = [n for run in self.runs for n in run.steps]
        if min(steps) < max(steps):
            return f"{min(steps)} to {max(steps)}"
        return self.runs[0].constants.tau or max(steps)

    @property
    def tau_server(self) -> int | str:
        """The server side's."""
        given = self.runs[0].config.tau_server
        return self.tau if given is None else given

    @property
    def partition(self) -> str:
        """How data were dealt."""
        return self.runs[0].config.partition

    @property
    def batch_size(self) -> int:
        """B."""
        return self.runs[0].config.batch_size

    @property
    def cut(self) -> int:
        """The cut as the papers number it."""
        return self.runs[0].config.cut

    @property
    def deterministic(self) -> bool:
        """Whether each run, its partition and start given, draws nothing."""
        return all(run.deterministic for run in self.runs)

    def words(self, schedule: Schedule) -> str:
        """Return in one line what decides the runs, as captions and reports say it.

        Args:
            schedule: the learning rate used.

        Returns:
            Algorithm, model and data, clients, periods, learning rate, partition,
            batch, cut, seeds.
        """
        tau = f"tau = {self.tau}"
        if self.tau_server != self.tau:
            tau += f", tau_server = {self.tau_server}"
        seeds = ", ".join(str(run.config.seed) for run in self.runs)
        return (
            f"{self.algorithm_name}, {self.problem.name}, N = {self.problem.clients}, "
            f"{tau}, eta = {schedule.sides}, {self.partition}, batch "
            f"{self.batch_size}, cut {self.cut} of {self.problem.dimension}, "
            f"seeds {seeds}"
        )

    def record(self, schedule: Schedule) -> dict[str, Any]:
        """Return the options that the runs share, for JSON.

        Args:
            schedule: the learning rate used.

        Returns:
            Every option of the runs, with their seeds.
        """
        shared = {
            k: v for k, v in self.runs[0].config.identity().items() if k != "seed"
        }
        seeds = [run.config.seed for run in self.runs]
        return {**shared, "seeds": seeds, "learning_rate": schedule.words}
