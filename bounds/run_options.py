"""What goes with ``--run`` and what does not; imports nothing slow."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from sfl_theory import Theorem
from sfl_theory.bound import WEIGHTED_GRADIENT
from sfl_theory.command import CommandError
from sfl_theory.statement import Case

TRAINING = {
    "problem": None,
    "clients": None,
    "partition": "dirichlet:0.5",
    "weights": None,
    "participation": None,
    "tau": 5,
    "tau_server": None,
    "rounds": 100,
    "seeds": 10,
    "seed": 0,
    "batch_size": "32",
    "without_replacement": False,
    "cut": None,
    "learning_rate": None,
    "order": "interleaved",
    "clock": "analysis",
    "aggregation": "updates",
}
"""Options on what to train, with their defaults; a finished run has its own."""

INSTANCE = "instance:"
"""How a problem is named that is a refuting instance; a claim's id follows."""

CHOSEN_ON_INSTANCES = {"problem", "rounds", "seeds", "seed"}
"""What a user may choose for a refuting instance; the rest belongs to it."""


def fill(options: argparse.Namespace) -> None:
    """Fill in the defaults of what to train; a finished run leaves no choice.

    Args:
        options: of the command; changed.

    Raises:
        CommandError: if there is a run and an option on what to train.
    """
    for name, default in TRAINING.items():
        given = getattr(options, name)
        if given is None or given is False:
            setattr(options, name, default)
        elif options.run is not None:
            raise CommandError(
                f"--{name.replace('_', '-')}: does not go with --run, which has its own"
            )


def check_refuting(options: argparse.Namespace) -> None:
    """Refuse options on what to train beside a refuting instance, which has its own.

    Args:
        options: of the command.

    Raises:
        CommandError: if there is one that does not go with it.
    """
    what = "--refute" if options.refute else f"--problem {INSTANCE}..."
    if options.refute and options.problem is not None:
        raise CommandError("--refute: does not go with --problem")
    if options.run is not None:
        raise CommandError(f"--run: does not go with {what}")
    if options.version not in {"story", "printed"}:
        raise CommandError(
            f"--version: {what} is about the printed bound, got '{options.version}'"
        )
    for name in TRAINING.keys() - CHOSEN_ON_INSTANCES:
        if getattr(options, name) not in {None, False}:
            raise CommandError(
                f"--{name.replace('_', '-')}: does not go with {what}, which has its "
                "own"
            )


def gradient_case(item: Theorem, wanted: Sequence[Case]) -> Case:
    """Return the case whose left side a deep run has: squared gradients, no f*.

    Args:
        item: the theorem.
        wanted: its cases, or the one asked for.

    Returns:
        The case.

    Raises:
        ValueError: if there is none.
    """
    for case in wanted:
        if case.printed.metric == WEIGHTED_GRADIENT:
            return case
    raise ValueError(
        f"{item.key} ({', '.join(case.name for case in wanted)}) bounds "
        f"{wanted[0].printed.metric.words}; a network's f is not convex and its "
        "minimum unknown: --run goes with non_convex, of Theorems 3.6 to 3.9 and "
        "dachille2024/prop-1"
    )
