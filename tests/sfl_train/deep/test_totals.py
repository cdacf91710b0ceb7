"""Protects the account of a run: bytes and work, whatever the cadence, by client."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from sfl_theory.papers.baselines import TABLE_4
from sfl_train.deep.assembly import assemble
from sfl_train.deep.config import resolve
from sfl_train.deep.costs import Counted, costs
from sfl_train.deep.federation import LocalWork
from sfl_train.deep.ledger import EXCHANGED
from sfl_train.deep.training import train
from sfl_train.runs.log import read_log

SMALL = {"model": "mlp", "width": 0.1, "clients": 4, "rounds": 4, "batch_size": 50}
KEYS = (*EXCHANGED, "flops_client", "flops_server")


def made(folder, **more):
    """Return the sums over a run's lines and its account by client."""
    train(resolve("paper", SMALL, more), folder)
    lines = read_log(folder / "metrics.jsonl")
    sums = {key: sum(line.get(key, 0) for line in lines) for key in KEYS}
    return sums, json.loads((folder / "bytes.json").read_text()), len(lines)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"algorithm": "sfl-v2", "tau": 3, "participation": 0.5},
        pytest.param({"algorithm": "fedavg", "epochs": 2}, marks=pytest.mark.long),
        {"participation": 0.15},
        pytest.param({"algorithm": "centralized"}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_the_lines_add_up_whatever_the_cadence(more, tmp_path) -> None:
    each, account, count = made(tmp_path / "each", **more)
    assert count == 5
    for name, seldom, lines in (
        ("three", {"evaluate_every": 3}, 3),
        ("hundred", {"evaluate_every": 100}, 2),
        ("measured", {"evaluate_every": 3, "measure": "every=2"}, 4),
    ):
        sums, found, count = made(tmp_path / name, **more, **seldom)
        assert (sums, found, count) == (each, account, lines), name
    assert account["rounds"] == 4
    for key in EXCHANGED:
        assert account["total"][key] == each[key]
        assert sum(one[key] for one in account["clients"].values()) == each[key]


def test_the_totals_of_a_run_are_those_of_table_4(tmp_path) -> None:
    """Rounds times 2 D v + 2 r K |W|, and of a client 2 D_n v + 2 r |W|."""
    sums, account, _ = made(tmp_path / "run", evaluate_every=3)
    assembly = assemble(resolve("paper", SMALL))
    model, images = assembly.run.worker.model, assembly.images
    cost = costs(model, assembly.cut, (images.channels, images.pixels, images.pixels))
    size = 4 * model.dimension
    row = next(row for row in TABLE_4 if row.method == "SFL-V1")
    sizes = [len(part) for part in assembly.parts]
    values = {
        "K": 4, "D": sum(sizes), "v": cost.features, "W": size,
        "r": cost.model / size, "R": 1.0, "T_fb": 0.0, "T_fedavg": 0.0,
    }  # fmt: skip
    total = row.evaluate(values)["total"]
    assert sums["bytes_up"] + sums["bytes_down"] == pytest.approx(4 * total)
    assert len(set(sizes)) > 1
    for n, size_ in enumerate(sizes):
        one = account["clients"][str(n)]
        each_way = 4 * (size_ * cost.features + cost.model)
        assert one["bytes_up"] == one["bytes_down"] == each_way
        assert (one["rounds"], one["samples"]) == (4, 4 * size_)


def test_a_client_that_sits_out_exchanges_nothing(tmp_path) -> None:
    _, account, _ = made(tmp_path / "run", participation=0.4, rounds=5)
    federation = assemble(resolve("paper", SMALL, {"participation": 0.4})).federation
    seen = np.zeros(4, int)
    for t in range(5):
        seen[list(federation.participants(t))] += 1
    assert [one["rounds"] for one in account["clients"].values()] == seen.tolist()
    assert 0 < seen.min() < 5 or 0 in seen


@pytest.mark.parametrize("sampling", ["reshuffle", "replacement"])
@pytest.mark.parametrize("amount", [{"tau": 7, "epochs": None}, {"epochs": 2}])
@pytest.mark.parametrize("size", [3, 12, 14])
def test_samples_of_a_round_are_those_of_its_batches(size, amount, sampling) -> None:
    from federations import Toy

    work = LocalWork(**amount, batch_size=4, sampling=sampling)
    batches = Toy(model="mlp", sizes=(size, 5), work=work).federation().batches(1, 0)
    assert work.samples(size) == batches.samples


def test_work_is_that_of_the_products_and_loads_no_compiler(monkeypatch) -> None:
    """Forward once, backward for weights and for what is no image."""
    monkeypatch.setitem(sys.modules, "torch._dynamo", None)  # its import would fail
    blocks = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(100, 6)
    )
    with Counted() as work:
        blocks(torch.zeros(2, 3, 5, 5)).sum().backward()
    images, outputs = 2, 4 * 5 * 5
    convolution, linear = images * outputs * 3 * 3 * 3, images * outputs * 6
    assert work.total == 2 * (2 * convolution + 3 * linear)


@pytest.mark.long  # torch's own counter loads torch's compiler
@pytest.mark.parametrize(
    ("blocks", "shape"),
    [
        (nn.Sequential(nn.Conv2d(4, 8, 3, groups=2), nn.BatchNorm2d(8)), (2, 4, 6, 6)),
        (nn.ConvTranspose2d(3, 4, 3), (2, 3, 6, 6)),
        (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
    ],
    ids=["groups", "transposed", "attention"],
)
def test_work_is_what_torch_counts(blocks, shape) -> None:
    with FlopCounterMode(display=False) as theirs:
        blocks(torch.zeros(shape)).sum().backward()
    with Counted() as ours:
        blocks(torch.zeros(shape)).sum().backward()
    assert ours.total == theirs.get_total_flops() > 0
