"""Protects networks of the user's own: what they draw themselves, what is frozen."""

from __future__ import annotations

import pytest
import torch
from federations import Toy, same, trained
from torch import nn

from sfl_train.deep.algorithms.centralised import Centralised
from sfl_train.deep.algorithms.minibatch import MiniBatchSFL
from sfl_train.deep.algorithms.own_draws import draws
from sfl_train.deep.algorithms.parallel import SFLV1, FedAvg
from sfl_train.deep.algorithms.run import Rates
from sfl_train.deep.algorithms.sequential import (
    InterleavedSFLV2,
    SequentialSFLV2,
    SplitLearning,
)
from sfl_train.deep.federation import LocalWork
from sfl_train.deep.flat import FlatModel
from sfl_train.deep.worker import Worker

TOY = Toy(augmentation="none", work=LocalWork(epochs=1, batch_size=7))
SPLIT = (SFLV1, InterleavedSFLV2, SequentialSFLV2, MiniBatchSFL, SplitLearning)
KINDS = (FedAvg, Centralised, *SPLIT)


class Noise(nn.Module):
    """Draws without being one of PyTorch's random modules."""

    def forward(self, x):
        return x + 0.1 * torch.randn_like(x) if self.training else x


def network(*random: nn.Module) -> nn.Sequential:
    torch.manual_seed(1)
    first, second = random or (nn.Identity(), nn.Identity())
    return nn.Sequential(
        nn.Sequential(nn.AvgPool2d(4), nn.Flatten(), nn.Linear(48, 8), first),
        nn.BatchNorm1d(8),
        nn.Sequential(nn.ReLU(), second, nn.Linear(8, 4)),
    )


def dropout() -> nn.Sequential:
    return network(nn.Dropout(0.4), Noise())


def run_of(kind, blocks: nn.Sequential, cut: int = 1):
    cut_at = (cut,) if kind in SPLIT else ()
    return kind(Worker(FlatModel(blocks)), TOY.federation(), *cut_at)


@pytest.mark.parametrize("kind", KINDS)
def test_what_modules_draw_is_named_by_round_client_and_step(kind) -> None:
    """A run that is resumed after one round, elsewhere, ends with the same bits."""
    whole = trained(run_of(kind, dropout()), 3)
    torch.manual_seed(99)
    first = run_of(kind, dropout())
    first.round(0, Rates(0.05, 0.05))
    kept = {name: tensor.clone() for name, tensor in first.tensors().items()}
    torch.rand(17)
    resumed = run_of(kind, dropout())
    resumed.load(kept)
    for t in (1, 2):
        resumed.round(t, Rates(0.05, 0.05))
    assert same(resumed.state, whole)
    assert not same(whole, trained(run_of(kind, network()), 3))


def test_the_cut_changes_nothing_that_modules_draw() -> None:
    wanted = trained(run_of(FedAvg, dropout()))
    for cut in (1, 2):
        assert same(trained(run_of(SFLV1, dropout(), cut)), wanted)


def test_rounds_clients_and_steps_have_draws_of_their_own() -> None:
    """A network whose loss is what it draws, at a rate of 0."""
    seen = []

    class Spy(nn.Module):
        def forward(self, x):
            if self.training:
                seen.append(float(torch.rand(())))
            return x

    run = run_of(FedAvg, network(Spy(), nn.Identity()))
    seen.clear()
    trained(run, 2)
    assert len(seen) == 2 * sum(run.federation.work.steps(n) for n in TOY.sizes)
    assert len(set(seen)) == len(seen)


def test_a_network_that_draws_nothing_leaves_the_generator_alone() -> None:
    run = run_of(FedAvg, network())
    before = torch.get_rng_state()
    run.round(0, Rates(0.05, 0.05))
    assert torch.equal(torch.get_rng_state(), before)


def test_whether_a_network_draws_is_seen_and_leaves_no_trace() -> None:
    store = TOY.federation().store
    for blocks, wanted in ((network(), False), (dropout(), True)):
        worker = Worker(FlatModel(blocks))
        kept, before = worker.state.clone(), torch.get_rng_state()
        assert draws(worker, store) is wanted
        assert same(worker.state, kept)
        assert torch.equal(torch.get_rng_state(), before)


def test_frozen_parameters_are_refused_by_name() -> None:
    blocks = network()
    blocks[2][2].weight.requires_grad_(False)
    with pytest.raises(ValueError, match=r"parameter 2\.2\.weight has requires_grad"):
        FlatModel(blocks)


def test_a_network_that_draws_in_evaluation_is_refused() -> None:
    class Always(nn.Module):
        def forward(self, x):
            return nn.functional.dropout(x)  # training=True unless told otherwise

    with pytest.raises(ValueError, match="draws random numbers in evaluation"):
        run_of(FedAvg, network(Always(), nn.Identity()))


@pytest.mark.parametrize("channels_last", [False, True])
def test_narrow_convolutions_meet_images_in_plain_order(channels_last) -> None:
    """On processors with AVX2 alone PyTorch writes past its memory otherwise."""
    narrow, wide = nn.Conv2d(3, 8, 1), nn.Conv2d(8, 8, 1)
    blocks = nn.Sequential(narrow, wide, nn.Flatten(), nn.Linear(128, 2))
    images = torch.ones(5, 3, 4, 4).to(memory_format=torch.channels_last)
    model, seen = FlatModel(blocks, channels_last=channels_last), []
    for one in (narrow, wide):
        one.register_forward_hook(lambda _, given, out: seen.append(given[0].stride()))
    model.blocks(images).sum().backward()
    assert seen[0] == (48, 16, 4, 1)
    assert narrow.weight.stride() == (3, 1, 1, 1)
