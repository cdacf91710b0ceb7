"""Protects memory: it does not grow with the number of clients where it need not."""

from __future__ import annotations

import pytest
from federations import Toy
from torch.profiler import ProfilerActivity, profile

from sfl_train.deep.algorithms.parallel import SFLV1, FedAvg
from sfl_train.deep.algorithms.run import DeepRun, Options, Rates
from sfl_train.deep.algorithms.sequential import InterleavedSFLV2, SequentialSFLV2
from sfl_train.deep.federation import LocalWork
from sfl_train.deep.measure.measurement import Measurement
from sfl_train.optimizer import SGD, Adam

SAMPLES = 400
RATES = Rates(0.05, 0.05)
ADAM, MOMENTUM = Adam(), SGD(momentum=0.9)


def run_of(
    kind: type[DeepRun], clients: int, optimizer=MOMENTUM, samples: int = SAMPLES
) -> DeepRun:
    """A perceptron on the same samples, shared among the clients."""
    work = LocalWork(tau=2, epochs=None, batch_size=3)
    toy = Toy(model="mlp", sizes=(samples // clients,) * clients, work=work)
    cut = () if kind is FedAvg else (1,)
    return kind(toy.worker(), toy.federation(), *cut, Options(optimizer))


def allocated(action) -> tuple[int, int]:
    """Return the highest and the last number of bytes of tensors above the start."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        result = action()
    events = seen.profiler.kineto_results.events()
    changes = sorted(
        (event.start_ns(), event.nbytes())
        for event in events
        if event.name() == "[memory]"
    )
    assert changes, "the profiler saw no allocation"
    now = peak = 0
    for _, change in changes:
        now += change
        peak = max(peak, now)
    del result
    return peak, now


def of_a_round(kind: type[DeepRun], clients: int, optimizer=MOMENTUM):
    run = run_of(kind, clients, optimizer)
    run.round(0, RATES)
    return allocated(lambda: run.round(1, RATES))


@pytest.mark.parametrize("optimizer", [MOMENTUM, ADAM], ids=["momentum", "adam"])
@pytest.mark.parametrize("kind", [SFLV1, FedAvg, SequentialSFLV2])
def test_a_round_holds_as_much_for_40_clients_as_for_10(kind, optimizer) -> None:
    (few, kept_few), (many, kept_many) = (
        of_a_round(kind, clients, optimizer) for clients in (10, 40)
    )
    model = run_of(kind, 10).worker.model.dimension * 4
    assert few > model, "a round needs at least a gradient or a sum of models"
    assert many <= 1.003 * few
    assert max(kept_few, kept_many) < 0.01 * model


def test_the_count_sees_models_that_are_held() -> None:
    """Interleaved SFL-V2 holds a client side and a momentum per participant."""
    few, many = (of_a_round(InterleavedSFLV2, n)[0] for n in (10, 40))
    run = run_of(InterleavedSFLV2, 10)
    side = run.state.side(run.client_part).parameters.numel() * 4
    assert many - few >= 2 * 30 * side


def test_the_first_round_holds_as_much_for_40_clients_as_for_10() -> None:
    few, many = (
        allocated(lambda n=n: run_of(SFLV1, n).round(0, RATES))[0] for n in (10, 40)
    )
    assert many <= 1.003 * few


def test_measuring_holds_as_much_for_30_clients_as_for_10() -> None:
    """No client's gradient is kept for the divergence from the mean.

    Every client has 8 samples and Lanczos uses 64, so that no pass is larger.
    """

    def peak(clients: int) -> int:
        run = run_of(SFLV1, clients, samples=8 * clients)
        measurement = Measurement(run, "every=1", 0, [1])
        measurement.begin(0)
        run.round(0, RATES)
        return allocated(measurement.measure)[0]

    few, many = peak(10), peak(30)
    assert many <= 1.004 * few


def test_no_tensor_is_left_behind_by_rounds() -> None:
    """Rounds leave nothing but what the next one needs, which was there before."""
    run = run_of(SFLV1, 10)
    run.round(0, RATES)

    def rounds() -> None:
        for t in range(1, 4):
            run.round(t, RATES)

    _, kept = allocated(rounds)
    assert kept <= 8
