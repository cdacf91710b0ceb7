"""Protects dachille2024's Prop. 1 at ResNets: the cut of SFL-V1 changes no bit.

SFL-V1 with tau = tau_server is FedAvg whatever the cut, the optimizer, the
normalisation, the sizes of the clients and who takes part; and the released code's
server optimizer, rebuilt at every mini-batch, breaks it.
"""

from __future__ import annotations

import pytest
import torch
from federations import Toy, same, trained
from hypothesis import given, settings
from hypothesis import strategies as st

from sfl_train.deep.algorithms.parallel import SFLV1, FedAvg
from sfl_train.deep.algorithms.run import Options
from sfl_train.deep.algorithms.waiting import WaitingSFLV1
from sfl_train.deep.federation import LocalWork, Participation
from sfl_train.optimizer import SGD, Adam

OPTIMIZERS = {
    "sgd": SGD(),
    "momentum": SGD(momentum=0.9, weight_decay=5e-4),
    "momentum kept": SGD(momentum=0.9, lifetime="run"),
    "adam": Adam(),
}


@pytest.mark.parametrize(
    ("model", "name"),
    [*(("resnet18", name) for name in OPTIMIZERS), ("resnet50", "momentum kept")],
)
def test_sfl_v1_is_fedavg_to_the_last_bit_at_all_four_cuts(model, name) -> None:
    toy, options = Toy(model=model), Options(OPTIMIZERS[name])
    reference = trained(FedAvg(toy.worker(), toy.federation(), options))
    network = toy.network()
    for number in (1, 2, 3, 4):
        cut = network.cut(number)
        run = SFLV1(toy.worker(), toy.federation(), cut, options)
        assert same(trained(run), reference), f"cut {number}"


@settings(max_examples=12, deadline=None)
@given(
    model=st.sampled_from(["resnet18", "cnn", "mlp"]),
    norm=st.sampled_from(["batch", "group", "none"]),
    optimizer=st.sampled_from(list(OPTIMIZERS)),
    tau=st.integers(1, 3),
    rate=st.sampled_from([1.0, 0.6]),
    aggregation=st.sampled_from(["updates", "models", "normalised"]),
    weights=st.sampled_from(["size", "uniform"]),
    sampling=st.sampled_from(["reshuffle", "replacement"]),
    seed=st.integers(0, 50),
    data=st.data(),
)
def test_no_cut_changes_a_bit_of_sfl_v1(
    model, norm, optimizer, tau, rate, aggregation, weights, sampling, seed, data
) -> None:
    toy = Toy(
        model=model,
        norm=None if model == "mlp" else norm,
        work=LocalWork(tau=tau, epochs=None, batch_size=5, sampling=sampling),
        participation=Participation(rate),
        weights=weights,
        seed=seed,
    )
    options = Options(OPTIMIZERS[optimizer], aggregation=aggregation)
    cut = data.draw(st.integers(1, len(toy.network().blocks) - 1))
    reference = trained(FedAvg(toy.worker(), toy.federation(), options))
    run = SFLV1(toy.worker(), toy.federation(), cut, options)
    assert same(trained(run), reference)


def test_the_released_servers_optimizer_breaks_the_invariance() -> None:
    """By a relative distance that falls with the cut: less of the model is server's."""
    toy = Toy()
    client = SGD(momentum=0.9)
    released = Options(client, SGD(momentum=0.9, lifetime="step"))
    reference = trained(FedAvg(toy.worker(), toy.federation(), Options(client)))
    moved = reference.parameters - toy.worker().state.parameters
    gaps = []
    for number in (1, 2, 3, 4):
        cut = toy.network().cut(number)
        run = SFLV1(toy.worker(), toy.federation(), cut, released)
        gap = trained(run).parameters - reference.parameters
        gaps.append(float(gap.norm() / moved.norm()))
    assert min(gaps) > 0.01, gaps
    assert gaps[0] > gaps[-1], gaps


def test_waiting_for_everyone_is_sfl_v1_when_everyone_comes() -> None:
    toy, options = Toy(), Options(SGD(momentum=0.9))
    plain = SFLV1(toy.worker(), toy.federation(), 3, options)
    waiting = WaitingSFLV1(toy.worker(), toy.federation(), 3, options)
    assert same(trained(plain), trained(waiting))


def test_the_memory_format_changes_nothing_but_rounding() -> None:
    toy, last = Toy(dtype=torch.float64), Toy(dtype=torch.float64, channels_last=True)
    # The same weights lie in another order inside a block, so compare by name.
    states = []
    for one in (toy, last):
        run = SFLV1(one.worker(), one.federation(), 2)
        run.worker.state.copy_(trained(run))
        states.append(run.worker.model.blocks.state_dict())
    for name, value in states[0].items():
        torch.testing.assert_close(value, states[1][name], rtol=1e-9, atol=1e-9)


def test_relabelling_clients_changes_nothing_but_rounding() -> None:
    toy = Toy(dtype=torch.float64)
    one = trained(SFLV1(toy.worker(), toy.federation(), 2))
    federation = toy.federation()
    permuted = type(federation)(
        federation.store,
        [federation.parts[k] for k in (2, 0, 1)],
        federation.work,
        weights="size",
        seed=toy.seed,
        ids=(2, 0, 1),
    )
    other = trained(SFLV1(toy.worker(), permuted, 2))
    torch.testing.assert_close(one.parameters, other.parameters, rtol=1e-10, atol=1e-12)
