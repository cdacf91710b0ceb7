"""Options that do nothing beside the others, which nobody should set and believe in.

They would change the run's hash and nothing else. What a preset or a default sets is
not looked at, nor is a switch that is turned off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sfl_train.deep.config import MODELS, SPLIT, Config, flag


@dataclass(frozen=True)
class Need:
    """What an option needs to do something.

    Attributes:
        met: whether a run has it.
        words: what it is, after "needs".
    """

    met: Callable[[Config], bool]
    words: str


def _among(*algorithms: str) -> Need:
    words = f"--algorithm {' or '.join(algorithms)}"
    return Need(lambda config: config.algorithm in algorithms, words)


def _server_rule(config: Config) -> str:
    return config.server_optimizer or config.optimizer


def _momentum(config: Config) -> bool:
    return config.optimizer == "sgd" or (config.split and _server_rule(config) == "sgd")


def _own_rate(config: Config) -> bool:
    return not config.schedule.startswith("theorem:")


def _weighed(config: Config) -> bool:
    theory = config.measure != "off" or not _own_rate(config)
    return config.algorithm != "sl" or theory


AVERAGING = ("fedavg", "fedprox", "fedopt", "sfl-v1", "sfl-v2", "minibatch-sfl")
CLIENTS = Need(lambda c: c.algorithm != "centralized", "clients, not centralized")
PARTIAL = Need(lambda c: c.participation < 1, "--participation below 1")
RATE = Need(_own_rate, "a --schedule with a rate of its own, not a theorem's")
OURS = Need(lambda c: c.model in MODELS, f"a --model by name: {', '.join(MODELS)}")
REMEMBERS = "a memory: --momentum or adam"

NEEDS: dict[str, tuple[Need, ...]] = {
    "width": (OURS,),
    "depth": (OURS,),
    "norm": (OURS,),
    "fedopt": (_among("fedopt"),),
    "fedopt_lr": (_among("fedopt"),),
    "proximal": (_among("fedprox"),),
    "order": (_among("sfl-v2"),),
    "server_weights": (_among("sfl-v2"),),
    "server_waits": (_among("sfl-v1"),),
    "clients_at_once": (
        _among("fedavg", "fedprox", "fedopt", "sfl-v1"),
        Need(lambda c: not c.server_waits, "no --server-waits"),
    ),
    "server_optimizer": (_among(*SPLIT),),
    "server_lifetime": (
        _among(*SPLIT),
        Need(lambda c: _server_rule(c) == "adam" or c.momentum > 0, REMEMBERS),
    ),
    "lifetime": (Need(lambda c: c.optimizer == "adam" or c.momentum > 0, REMEMBERS),),
    "momentum": (Need(_momentum, "sgd on one side at least"),),
    "lr": (RATE,),
    "lr_server": (_among(*SPLIT), RATE),
    "weights": (CLIENTS, Need(_weighed, "an average, which sl has not, or --measure")),
    "participation": (CLIENTS,),
    "participation_draw": (CLIENTS, PARTIAL),
    "aggregation": (_among(*AVERAGING), PARTIAL),
    "counters": (_among(*AVERAGING),),
    "evaluation": (CLIENTS,),
}


def refuse_idle(config: Config, given: Mapping[str, Any]) -> None:
    """Refuse options that the user gave and that do nothing in this run.

    Args:
        config: the options, complete.
        given: those on the command line and in the file.

    Raises:
        ValueError: if there is one; it names the option and what it needs.
    """
    for name, value in given.items():
        if value is False:
            continue
        for need in NEEDS.get(name, ()):
            if not need.met(config):
                raise ValueError(
                    f"--{flag(name)}: does nothing here, it needs {need.words}"
                )
