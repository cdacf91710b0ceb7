"""Which runs are one training, and which effects are therefore zero, before any run.

SFL-V1 whose two sides make the same steps with the same optimizer is FedAvg at every
cut, to the last bit (see `tests/sfl_train`), and an algorithm that cuts nothing does
not depend on the cut. Effects that compare only such runs are known without a run: they
are verified, not tested, and no correction for multiple tests counts them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from figures.effects import Effect, Largest, Level
from figures.figure import MEASURED
from figures.scale import Preset
from sfl_train.deep.config import Config

TINY = 1e-9


@cache
def training(config: Config) -> Config:
    """Return the plainest run that makes the same models.

    Args:
        config: of a run.

    Returns:
        FedAvg's configuration where the run is FedAvg.
    """
    one_side = (
        config.algorithm == "sfl-v1"
        and config.tau_server in (None, config.tau)
        and config.lr_server in (None, config.lr)
        and config.server_optimizer in (None, config.optimizer)
        and config.server_lifetime == config.lifetime
        and config.lifetime != "step"
        and not config.server_waits
    )
    if one_side:
        config = replace(config, algorithm="fedavg", tau_server=None)
    return config if config.split else replace(config, cut=1)


def is_zero(effect: Effect, preset: Preset) -> bool:
    """Return whether an effect is zero since it compares one training with itself.

    Args:
        effect: of a claim.
        preset: the sizes.

    Returns:
        Whether its weights cancel, training by training.
    """
    sums: dict[tuple[Config | Largest, str], float] = {}
    for weight, term in effect.terms:
        if isinstance(term, Largest):
            if not all(is_zero(option, preset) for option in term.options):
                sums[term, ""] = sums.get((term, ""), 0.0) + weight
            continue
        key = _training(term, preset), f"{term.summary} {_quantity(term)}"
        sums[key] = sums.get(key, 0.0) + weight
    return all(abs(weight) < TINY for weight in sums.values())


def _training(term: Level, preset: Preset) -> Config:
    figure, panel, curve = term.place.declared
    config = figure.config(panel, curve, preset, preset.seeds[0])
    # What is measured on one side depends on where the sides meet.
    return config if panel.quantity in MEASURED else training(config)


def _quantity(term: Level) -> str:
    return term.place.declared[1].quantity
