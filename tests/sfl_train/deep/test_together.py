"""Protects: clients trained in one call are clients trained one after the other."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from federations import Toy, same, trained
from hypothesis import given, settings
from hypothesis import strategies as st

from sfl_train.deep.algorithms.parallel import SFLV1, FedAvg
from sfl_train.deep.algorithms.run import Options, Rates
from sfl_train.deep.config import Config
from sfl_train.deep.federation import LocalWork, Participation
from sfl_train.optimizer import SGD, Adam

RATES = Rates(0.05, 0.1, ((0.05, 0.1), (0.02, 0.07)))
# eps is large: where a gradient is nearly 0, Adam takes its rounding for a direction.
OPTIMIZERS = (
    SGD(),
    SGD(momentum=0.9, weight_decay=1e-2, lifetime="run"),
    Adam(eps=1e-2),
    Adam(lifetime="run", eps=1e-2),
    Adam(lifetime="step", eps=1e-2),
)
WORKS = (
    LocalWork(epochs=2, batch_size=4),
    LocalWork(tau=3, epochs=None, batch_size=5),
    LocalWork(tau=2, epochs=None, batch_size=30, sampling="replacement"),
)


def fedavg(toy: Toy, options: Options):
    return FedAvg(toy.worker(), toy.federation(), options, proximal=0.3)


def sfl_v1(toy: Toy, options: Options):
    tau = (3, 2) if toy.work.tau == 3 else (None, None)
    return SFLV1(toy.worker(), toy.federation(), 1, options, None, *tau)


close = partial(torch.testing.assert_close, rtol=1e-11, atol=1e-11)
"""Up to the rounding of float64; a mean taken in float32 is off by 1e-8."""


class Watcher:
    def __init__(self) -> None:
        self.seen: dict[tuple, torch.Tensor] = {}

    def before_step(self, client, step, worker) -> None:
        key = (client, step, len(self.seen))
        self.seen[key] = worker.state.parameters.clone()

    def client_done(self, client, worker) -> None:
        self.seen[client, -1, len(self.seen)] = worker.state.parameters.clone()

    def models(self) -> dict[tuple[int, int], list[torch.Tensor]]:
        found: dict[tuple[int, int], list[torch.Tensor]] = {}
        for (client, step, _), model in self.seen.items():
            found.setdefault((client, step), []).append(model)
        return found


@settings(max_examples=25, deadline=None)
@given(
    make=st.sampled_from((fedavg, sfl_v1)),
    at_once=st.integers(2, 6),
    optimizer=st.sampled_from(OPTIMIZERS),
    work=st.sampled_from(WORKS),
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=5),
    model=st.sampled_from([("mlp", None), ("cnn", "none"), ("cnn", "group")]),
    part=st.sampled_from([None, Participation(0.6)]),
    augmentation=st.sampled_from(["none", "crop-flip"]),
    channels_last=st.booleans(),
)
def test_several_at_once_end_where_each_alone_does(
    make, at_once, optimizer, work, sizes, model, part, augmentation, channels_last
) -> None:
    toy = Toy(
        *model,
        sizes=tuple(sizes),
        work=work,
        participation=part,
        augmentation=augmentation,
        dtype=torch.float64,
        channels_last=channels_last,
    )
    runs = [make(toy, Options(optimizer, clients_at_once=k)) for k in (1, at_once)]
    watchers = [Watcher(), Watcher()]
    reports = []
    for run, watcher in zip(runs, watchers, strict=True):
        run.watch = watcher
        reports.append([run.round(t, RATES) for t in range(2)])
    alone, crowd = runs
    close(crowd.state.parameters, alone.state.parameters)
    for one, other in zip(*reports, strict=True):
        close(other.loss, one.loss)
        assert other.contributions == one.contributions
    for group, tensors in alone.memories().items():
        assert set(crowd.memories()[group]) == set(tensors)
        for name, tensor in tensors.items():
            close(crowd.memories()[group][name], tensor)
    one, other = (watcher.models() for watcher in watchers)
    assert one.keys() == other.keys()
    for key, models in one.items():
        close(other[key], models)


def test_the_same_run_twice_has_the_same_bits() -> None:
    toy = Toy("cnn", sizes=(7, 11, 26))
    one, other = (
        trained(sfl_v1(toy, Options(clients_at_once=2)), rates=RATES) for _ in range(2)
    )
    assert same(one, other)


def test_a_network_whose_samples_meet_is_refused() -> None:
    with pytest.raises(ValueError, match="clients-at-once: needs a network without"):
        fedavg(Toy(norm="batch"), Options(clients_at_once=2))


def test_a_network_that_draws_is_refused() -> None:
    toy = Toy("mlp")
    worker = toy.worker()
    worker.model.blocks[0].append(torch.nn.Dropout(0.5))
    with pytest.raises(ValueError, match="Dropout"):
        FedAvg(worker, toy.federation(), Options(clients_at_once=2))


def test_it_is_part_of_what_a_run_is_and_old_runs_keep_their_names() -> None:
    assert Config().hash == Config(clients_at_once=1).hash
    assert Config().hash != Config(clients_at_once=2).hash
    assert "clients_at_once" not in Config().identity()


def test_it_does_not_go_with_compile() -> None:
    with pytest.raises(ValueError, match="--compile"):
        Config(clients_at_once=2, compile=True)
