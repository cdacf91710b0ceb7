"""Protects the default cadence: measuring takes its share of the time, no more."""

from __future__ import annotations

import pytest
from federations import Toy

from sfl_train.deep.algorithms.parallel import FedAvg
from sfl_train.deep.algorithms.run import Rates
from sfl_train.deep.federation import LocalWork
from sfl_train.deep.measure.cost import (
    GRADIENT,
    LANCZOS_STEPS,
    PER_SAMPLE,
    PRODUCT,
    curvature_count,
)
from sfl_train.deep.measure.frozen import Frozen
from sfl_train.deep.measure.measurement import SHARE, Measurement, automatic

SIZES = (7, 11, 26)


def run_of(**work):
    return FedAvg(*_toy(LocalWork(**work)))


def _toy(work: LocalWork):
    toy = Toy(model="mlp", sizes=SIZES, work=work)
    return toy.worker(), toy.federation()


def cost_of_one() -> float:
    """The mlp has three blocks, all of them with parameters."""
    samples = sum(SIZES)
    products = PRODUCT * (LANCZOS_STEPS + 3) * curvature_count(samples)
    return (3 * GRADIENT + PER_SAMPLE) * samples + products


@pytest.mark.parametrize("epochs", [1, 5, 40])
@pytest.mark.parametrize("rounds", [700, 999, 2000, 20000])
def test_all_measurements_together_stay_within_the_share(epochs, rounds) -> None:
    """The one at the initial model included; and one more would not fit."""
    every = automatic(run_of(epochs=epochs, batch_size=6), rounds)
    training = rounds * epochs * sum(SIZES)
    count = 1 + rounds // every
    assert count * cost_of_one() <= SHARE * training
    if every > 1:
        more = 1 + rounds // (every - 1)
        affordable = SHARE * training / cost_of_one()
        assert more > affordable or more == count


def test_a_run_too_short_measures_the_initial_model_only() -> None:
    assert automatic(run_of(epochs=1, batch_size=6), 10) == 11


def test_steps_are_counted_as_the_samples_that_they_process() -> None:
    """tau steps of at most 6 samples; a client with fewer would use all it has."""
    by_steps = automatic(run_of(tau=10, epochs=None, batch_size=100), 1000)
    by_epochs = automatic(run_of(epochs=10, batch_size=100), 1000)
    assert by_steps == by_epochs


def test_the_passes_paid_for_are_those_made(monkeypatch) -> None:
    """The initial model has no secant, so one pass of gradients less."""
    seen = {"gradient": 0, "variance": 0, "hessian_product": 0}

    def counted(name, made):
        def pass_(self, indices, *rest):
            seen[name] += len(indices)
            return made(self, indices, *rest)

        return pass_

    for name in seen:
        monkeypatch.setattr(Frozen, name, counted(name, getattr(Frozen, name)))
    run = run_of(epochs=1, batch_size=6)
    measurement = Measurement(run, "every=1", 0, [1, 2])
    for passes in (2, 3):
        seen.update(dict.fromkeys(seen, 0))
        measurement.measure()
        paid = GRADIENT * seen["gradient"] + PER_SAMPLE * seen["variance"]
        paid += PRODUCT * seen["hessian_product"]
        assert cost_of_one() - paid == (3 - passes) * GRADIENT * sum(SIZES)
        measurement.begin(0)
        run.round(0, Rates(0.05, 0.05))
