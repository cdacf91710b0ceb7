r"""What an engine is: it makes training runs, wherever they are made.

Every engine makes a run by `make_one`, in ``root/HASH``, so that its result depends on
the configuration alone and whoever comes next finds it, whichever engine made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from sfl_train.deep.config import Config

State = Literal["running", "again", "finished", "diverged", "failed"]
"""Of a run: it makes rounds, its worker was lost and another one takes it up, or one of
the three ends."""

ENDS = ("finished", "diverged", "failed")


@dataclass(frozen=True)
class Event:
    """What a display is told of one run.

    Attributes:
        hash: of the run's configuration, whole.
        round: rounds made; 0 at the start.
        rounds: rounds in all.
        state: of the run.
    """

    hash: str
    round: int
    rounds: int
    state: State


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Attributes:
        state: "finished", "diverged" (a result too: the folder holds it), or "failed".
        words: one line that says why, for the last two.
    """

    state: Literal["finished", "diverged", "failed"]
    words: str = ""


class Engine(Protocol):
    """Makes runs."""

    def run(
        self, configs: Sequence[Config], root: Path, told: Callable[[Event], None]
    ) -> dict[str, Outcome]:
        """Make the runs that are missing; finished ones cost next to nothing.

        A run that fails or diverges does not keep the others from being made. After
        an interruption no worker is left behind and the folders go on where they are.

        Args:
            configs: of the runs, each of them once (see `distinct`).
            root: folder of all runs.
            told: is told, in the calling thread, when a run starts, after its rounds,
                and how it ends.

        Returns:
            How every run ended, by the hash of its configuration.

        Raises:
            CommandError: if the engine itself cannot work; one line.
        """


def distinct(configs: Iterable[Config]) -> list[Config]:
    """Return every run once, in the order of the first mention.

    Args:
        configs: of runs, some of them maybe twice.

    Returns:
        Configurations with different hashes.
    """
    return list({config.hash: config for config in configs}.values())


def make_one(config: Config, root: Path, told: Callable[[Event], None]) -> Outcome:
    """Make one run in this process.

    Args:
        config: of the run.
        root: folder of all runs.
        told: is told of the start and of every round; the end is the outcome.

    Returns:
        How it ended; a mistake in the options or the folder is a failure.
    """
    # PyTorch takes seconds, and what only lists or draws need not wait for it.
    from figures.grid import folder
    from sfl_train.deep.training import Progress, train

    def show(now: Progress) -> None:
        told(Event(config.hash, now.round, config.rounds, "running"))

    told(Event(config.hash, 0, config.rounds, "running"))
    try:
        summary = train(config, folder(config, root), show)
    except Exception as error:  # of one run: the others go on
        # The trainer's option for a run's folder is none of this command.
        return Outcome("failed", one_line(error).removeprefix("--out: "))
    if summary["diverged"]:
        return Outcome("diverged", f"diverged in round {summary['rounds']}")
    return Outcome("finished")


def one_line(error: BaseException) -> str:
    """Return what an error says, in one line.

    Args:
        error: of a run.

    Returns:
        Its message; with its class if that is none a user causes.
    """
    words = " ".join(str(error).split())
    if isinstance(error, ValueError) and words:
        return words
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
