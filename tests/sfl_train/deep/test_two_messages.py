"""Protects the fused trainer: it does what the protocol of messages does.

Every algorithm is run as separate client and server modules with PyTorch's optimizers;
model, buffers and counted bytes must agree.
"""

from __future__ import annotations

from functools import partial

import protocol
import pytest
import torch
from federations import PIXELS, Toy, trained
from torch import nn

from sfl_train.deep.algorithms.minibatch import MiniBatchSFL
from sfl_train.deep.algorithms.parallel import SFLV1
from sfl_train.deep.algorithms.run import Options, Rates
from sfl_train.deep.algorithms.sequential import (
    InterleavedSFLV2,
    SequentialSFLV2,
    SplitLearning,
)
from sfl_train.deep.costs import costs
from sfl_train.deep.federation import LocalWork
from sfl_train.deep.flat import FlatModel
from sfl_train.deep.worker import Worker
from sfl_train.optimizer import SGD

RATE, ROUNDS = 0.05, 2
ALGORITHMS = {
    "sfl-v1": (SFLV1, protocol.sfl_v1),
    "sfl-v2 interleaved": (
        InterleavedSFLV2,
        partial(protocol.sfl_v2, interleaved=True),
    ),
    "sfl-v2 sequential": (
        SequentialSFLV2,
        partial(protocol.sfl_v2, interleaved=False),
    ),
    "minibatch-sfl": (MiniBatchSFL, protocol.minibatch_sfl),
    "sl": (SplitLearning, protocol.split_learning),
}


@pytest.mark.parametrize(("cut", "momentum"), [(1, 0.9), (3, 0.0)])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_fused_training_is_the_protocol(name, cut, momentum) -> None:
    kind, reference = ALGORITHMS[name]
    toy = Toy(dtype=torch.float64, work=LocalWork(epochs=2, batch_size=6))
    parties = protocol.Parties(toy.network().blocks.double(), cut, momentum)
    reference(parties, toy.federation(), ROUNDS, RATE)
    options = Options(SGD(momentum=momentum))
    run = kind(toy.worker(), toy.federation(), cut, options)
    run.worker.state.copy_(trained(run, ROUNDS, Rates(RATE, RATE)))
    wanted = {
        **{f"client.{k}": v for k, v in parties.client.state_dict().items()},
        **{f"server.{k}": v for k, v in parties.server.state_dict().items()},
    }
    blocks = run.worker.model.blocks
    found = {
        **{f"client.{k}": v for k, v in blocks[:cut].state_dict().items()},
        **{f"server.{k}": v for k, v in blocks[cut:].state_dict().items()},
    }
    for name_, value in wanted.items():
        if value.is_floating_point():
            torch.testing.assert_close(found[name_], value, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_bytes_are_those_of_the_messages(name) -> None:
    kind, reference = ALGORITHMS[name]
    toy, cut = Toy(work=LocalWork(epochs=1, batch_size=6)), 2
    parties = protocol.Parties(toy.network().blocks, cut, 0.0)
    reference(parties, toy.federation(), 1, RATE)
    run = kind(toy.worker(), toy.federation(), cut)
    report = run.round(0, Rates(RATE, RATE))
    cost = costs(run.worker.model, cut, (3, PIXELS, PIXELS))
    totals = cost.round(report)
    assert (totals["bytes_up"], totals["bytes_down"]) == (parties.up, parties.down)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_any_sequence_is_cut_anywhere(name) -> None:
    """Where the client's blocks have no parameters, only the server learns."""
    kind, reference = ALGORITHMS[name]
    work = LocalWork(epochs=1, batch_size=9)
    toy = Toy(dtype=torch.float64, work=work, augmentation="none")
    for cut in range(1, 6):
        torch.manual_seed(1)
        blocks = nn.Sequential(
            nn.AvgPool2d(4), nn.Flatten(), nn.Linear(48, 8), nn.BatchNorm1d(8),
            nn.ReLU(), nn.Linear(8, 4),
        ).double()  # fmt: skip
        parties = protocol.Parties(blocks, cut, 0.0)
        if cut > 2:  # PyTorch's optimizers want parameters
            reference(parties, toy.federation(), 1, RATE)
        run = kind(Worker(FlatModel(blocks)), toy.federation(), cut)
        report = run.round(0, Rates(RATE, RATE))
        cost = costs(run.worker.model, cut, (3, PIXELS, PIXELS))
        assert cost.flops_client + cost.flops_server > 0
        if cut > 2:
            found = run.state.parameters[run.client_part.parameters]
            wanted = torch.cat([p.flatten() for p in parties.client.parameters()])
            torch.testing.assert_close(found, wanted, rtol=1e-7, atol=1e-9)
            assert cost.round(report)["bytes_up"] == parties.up
        else:
            assert cost.model == cost.flops_client == 0


def test_bytes_and_work_are_those_of_table_4() -> None:
    """Per client and epoch 2 D/K v + 2 r |W|, in all 2 D v + 2 r K |W|."""
    from sfl_theory.papers.baselines import TABLE_4

    toy, cut = Toy(work=LocalWork(epochs=1, batch_size=6)), 2
    run = SFLV1(toy.worker(), toy.federation(), cut)
    report = run.round(0, Rates(RATE, RATE))
    model = run.worker.model
    cost = costs(model, cut, (3, PIXELS, PIXELS))
    totals = cost.round(report)
    row = next(row for row in TABLE_4 if row.method == "SFL-V1")
    size = 4 * model.dimension
    values = {
        "K": len(toy.sizes), "D": sum(toy.sizes), "v": cost.features, "W": size,
        "r": cost.model / size, "R": 1.0, "T_fb": 0.0, "T_fedavg": 0.0,
    }  # fmt: skip
    assert totals["bytes_up"] + totals["bytes_down"] == pytest.approx(
        row.evaluate(values)["total"]
    )
    flops = {c: costs(model, c, (3, PIXELS, PIXELS)) for c in (1, 2, 3)}
    sums = {one.flops_client + one.flops_server for one in flops.values()}
    assert max(sums) <= min(sums) * 1.01  # the cut moves work, it makes none
    assert flops[1].flops_client < flops[3].flops_client
