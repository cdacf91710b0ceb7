"""Protects the pace on GPUs: no local step asks the device for a value."""

from __future__ import annotations

import pytest
import torch
from federations import Toy
from torch.utils._python_dispatch import TorchDispatchMode

from sfl_train.deep.algorithms.minibatch import MiniBatchSFL
from sfl_train.deep.algorithms.parallel import SFLV1, FedAvg
from sfl_train.deep.algorithms.run import Options, Rates
from sfl_train.deep.algorithms.sequential import (
    InterleavedSFLV2,
    SequentialSFLV2,
    SplitLearning,
)
from sfl_train.optimizer import SGD, Adam

WAITING = {
    "_local_scalar_dense",
    "nonzero",
    "masked_select",
    "unique_dim",
    "_unique2",
    "equal",
    "repeat_interleave",
}
"""Operators whose result, or its size, the host must wait for."""


class Waits(TorchDispatchMode):
    """Collects the operators for which a host would wait."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        masks = (a for a in (args[1] if name == "index" else ()) if a is not None)
        if name in WAITING or any(mask.dtype is torch.bool for mask in masks):
            self.found.append(name)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("optimizer", [SGD(momentum=0.9), Adam()])
@pytest.mark.parametrize(
    "kind",
    [FedAvg, SFLV1, SequentialSFLV2, InterleavedSFLV2, MiniBatchSFL, SplitLearning],
)
def test_a_round_waits_for_nothing(kind, optimizer) -> None:
    toy = Toy()
    cut = () if kind is FedAvg else (2,)
    run = kind(toy.worker(), toy.federation(), *cut, Options(optimizer))
    with Waits() as waits:
        report = run.round(0, Rates(0.05, 0.05))
    assert waits.found == []
    with waits:
        float(report.loss)
    assert waits.found == ["_local_scalar_dense"]
