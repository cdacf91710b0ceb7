"""Protects machines from runs that cannot fit, and users from refusing what can."""

from __future__ import annotations

import tracemalloc

import pytest
import torch
from test_memory import allocated

from sfl_train import memory
from sfl_train.__main__ import main
from sfl_train.deep.assembly import assemble
from sfl_train.deep.config import resolve
from sfl_train.deep.evaluation import evaluate
from sfl_train.deep.footprint import footprint, outline
from sfl_train.deep.models.named import build
from sfl_train.deep.training import _costs as counted

BASE = {"clients": 6, "partition": "iid", "tau": 2, "batch_size": 40, "rounds": 1}
RUNS = [
    {"model": "mlp", "width": 8.0, "algorithm": "fedavg"},
    {"model": "mlp", "width": 8.0, "algorithm": "fedavg", "momentum": 0.9},
    {"model": "mlp", "width": 8.0, "algorithm": "fedopt", "optimizer": "adam"},
    {"model": "mlp", "width": 8.0, "algorithm": "sfl-v1", "optimizer": "adam"},
    {"model": "mlp", "width": 8.0, "algorithm": "sfl-v2", "momentum": 0.9, "cut": 2},
    {"model": "mlp", "width": 8.0, "algorithm": "sfl-v2", "cut": 2,
     "order": "client-sequential"},
    {"model": "mlp", "width": 8.0, "algorithm": "minibatch-sfl", "cut": 2},
    {"model": "mlp", "width": 8.0, "algorithm": "sl", "momentum": 0.9},
    {"model": "mlp", "width": 8.0, "algorithm": "centralized", "optimizer": "adam"},
    {"model": "mlp", "width": 8.0, "momentum": 0.9, "lifetime": "run"},
    {"model": "mlp", "width": 8.0, "server_waits": True, "participation": 0.5,
     "participation_draw": "fixed"},
    {"model": "cnn", "width": 0.5, "norm": "batch", "batch_size": 200},
    {"model": "resnet18", "width": 0.25, "depth": 1, "batch_size": 200},
    {"model": "resnet50", "width": 0.125, "depth": 1, "norm": "group"},
]  # fmt: skip


def estimated(config, made):
    counts = len(made.images.train_y), len(made.images.test_y)
    sizes = [len(part) for part in made.parts]
    image = made.images.train_x.shape[1:]
    return footprint(config, made.network, image, counts, sizes)


@pytest.mark.parametrize("augmentation", ["none", "crop-flip"])
@pytest.mark.parametrize("sampling", ["reshuffle", "replacement"])
def test_the_draws_of_a_round_are_estimated_from_below(augmentation, sampling) -> None:
    """They are numpy's, which tracemalloc sees."""
    more = {"model": "mlp", "width": 0.1, "tau": 500, "augmentation": augmentation}
    config = resolve("paper", BASE, more, {"sampling": sampling})
    made = assemble(config)
    pixels = made.images.train_x.shape
    padded = pixels[0] * 16 * 16 if augmentation == "crop-flip" else 0
    found = estimated(config, made).draws - padded
    tracemalloc.start()
    try:
        made.federation.batches(0, 0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0 < found <= peak <= 20 * found


@pytest.mark.parametrize(
    "more", RUNS, ids=lambda more: " ".join(map(str, more.values()))
)
def test_the_estimate_is_below_what_is_held_and_not_far(more, monkeypatch) -> None:
    """Every tensor of a round and an evaluation is counted by PyTorch's profiler."""
    config = resolve("paper", BASE, more)
    monkeypatch.setattr("sfl_train.deep.assembly.refuse_too_large", lambda *_: None)

    def whole():
        made = assemble(config)
        counted(made)
        made.run.round(0, made.rates(0))
        evaluate(made.run.worker, made.run.state, made.federation.store)
        held = [tensor.numpy().tobytes() for tensor in made.run.tensors().values()]
        return made, held

    peak, _ = allocated(lambda: whole()[0])
    found = estimated(config, assemble(config)).total
    assert found <= 1.02 * peak
    assert peak <= 3 * found


def test_an_outline_is_the_network_without_its_numbers() -> None:
    for name in ("resnet18", "resnet50", "cnn", "mlp"):
        there, here = (
            [(k, p.shape) for k, p in one.blocks.state_dict().items()]
            for one in (
                outline(lambda name=name: build(name, 3, 10, 16, width=0.25)),
                build(name, 3, 10, 16, width=0.25),
            )
        )
        assert there == here
    assert outline(lambda: build("mlp", 3, 9, 16)).blocks[0][1].weight.is_meta
    assert torch.nn.Linear(2, 2).weight.device.type == "cpu"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "resnet18", "--width", "8"], "take a smaller --model or --width"),
        (["--model", "mlp", "--width", "30", "--algorithm", "sfl-v2", "--cut", "2",
          "--clients", "300"], "take fewer --clients"),
        (["--model", "cnn", "--width", "4", "--batch-size", "1437", "--clients", "1",
          "--dataset", "synthetic:4x1x64:4000"], "take a smaller --batch-size"),
        (["--model", "mlp", "--width", "0.1", "--tau", "1000000", "--clients", "2",
          "--batch-size", "700"], "take a smaller --tau"),
    ],
)  # fmt: skip
def test_a_run_that_cannot_fit_is_refused_with_both_figures(
    arguments, words, monkeypatch, tmp_path, capsys
) -> None:
    """On a machine of a gibibyte, and before anything is taken."""
    monkeypatch.setattr(memory, "_bounds", lambda: iter([1 << 30]))

    def took(*_, **__):
        raise AssertionError("memory was taken")

    monkeypatch.setattr("sfl_train.deep.assembly.FlatModel", took)
    with pytest.raises(SystemExit) as stopped:
        main([*arguments, "--quiet", "--out", str(tmp_path / "run")])
    said = capsys.readouterr().err
    assert stopped.value.code == 2 and said.count("\n") == 1
    assert "needs at least" in said and "1 GiB is free on this machine" in said, said
    assert words in said
    assert not (tmp_path / "run").exists()


def test_what_is_free_is_what_the_least_limit_leaves() -> None:
    import resource

    before = memory.free()
    assert before > 0
    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = memory.free.__globals__["Path"]("/proc/self/statm").read_text().split()[0]
    size = int(used) * resource.getpagesize()
    try:
        resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 28), limits[1]))
        assert memory.free() <= 1 << 28
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
