"""Protects the presets: every departure of the released code is one option, golden.

For each option the trainer is compared, in float64, with the released scripts' plain
loops (`released.Script`) that differ from Algorithms 1 and 2 by that departure alone;
and the option must matter.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from federations import images
from released import Script

from sfl_train.__main__ import main
from sfl_train.deep import assembly
from sfl_train.deep.config import PRESETS, resolve
from sfl_train.deep.data.store import Store
from sfl_train.deep.models.network import Network
from sfl_train.deep.training import train
from sfl_train.partition import partition

ROUNDS = 2
TESTED = images(seed=2, count=22)
DATA = replace(images(seed=1, count=44), test_x=TESTED.train_x, test_y=TESTED.train_y)
BASE = {
    "model": "resnet18",
    "width": 0.0625,
    "depth": 1,
    "clients": 3,
    "partition": "dirichlet:1.0",
    "batch_size": 6,
    "tau": 3,
    "lr": 0.05,
    "momentum": 0.9,
    "weight_decay": 5e-4,
    "cut": 2,
    "seed": 5,
}
COUNTERS = "num_batches_tracked"


@pytest.fixture(autouse=True)
def _float64(monkeypatch) -> None:
    """Let the command's own assembly build tiny federations in float64."""
    built = assembly.build

    def double(*args, **options) -> Network:
        network = built(*args, **options)
        return replace(network, blocks=network.blocks.double())

    monkeypatch.setattr(assembly, "build", double)
    monkeypatch.setattr(assembly, "Store", partial(Store, dtype=torch.float64))
    monkeypatch.setattr(assembly, "load", lambda *_: DATA)


def ours(rounds: int = ROUNDS, **options) -> dict[str, torch.Tensor]:
    """Return the trainer's model by name after some rounds."""
    made = assembly.assemble(resolve("paper", BASE, options))
    for t in range(rounds):
        made.run.round(t, made.rates(t))
    made.run.worker.state.copy_(made.run.state)
    return copied(made.run.worker.model.blocks)


def copied(blocks) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in blocks.state_dict().items()}


def script(departures: dict | None = None, **options) -> Script:
    """Return the released script with the same draws and initial model."""
    config = resolve("paper", BASE, options)
    made = assembly.assemble(config)
    return Script(
        made.network.blocks,
        made.cut,
        made.federation,
        config.lr,
        config.momentum,
        config.weight_decay,
        config.batch_size,
        config.epochs,
        config.tau,
        **(departures or {}),
    )


def agree(mine, theirs, counters: bool = False, rounding: float = 1e-10) -> None:
    assert set(mine) == set(theirs)
    for name, value in theirs.items():
        if counters or not name.endswith(COUNTERS):
            torch.testing.assert_close(
                mine[name],
                value,
                rtol=10 * rounding,
                atol=rounding,
                msg=lambda words, name=name: f"{name}: {words}",
            )


def distance(one, other) -> float:
    """Largest difference of an entry of parameters and running statistics."""
    return max(
        float((one[name] - value).abs().max())
        for name, value in other.items()
        if value.is_floating_point()
    )


@pytest.mark.parametrize("cut", [1, 4])
def test_without_departures_the_scripts_are_algorithm_1_and_2(cut) -> None:
    agree(ours(cut=cut), script(cut=cut).v1(ROUNDS).state())
    options = {"algorithm": "sfl-v2", "cut": cut}
    agree(ours(**options), script(**options).v2(ROUNDS).state())


@pytest.mark.parametrize("algorithm", ["sfl-v1", "sfl-v2"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_the_servers_optimizer_is_built_anew_at_every_mini_batch(
    algorithm, optimizer
) -> None:
    """Adam is what the scripts' ancestor rebuilds: its server makes sign steps."""
    base = {"algorithm": algorithm, "optimizer": optimizer, "lr": 0.01}
    options = {**base, "server_lifetime": "step"}
    reference = script({"server_rebuilt": True, "adam": optimizer == "adam"}, **options)
    theirs = (reference.v1 if algorithm == "sfl-v1" else reference.v2)(ROUNDS).state()
    # A sign step divides by |g| + 1e-8, which magnifies what rounding does to g.
    agree(ours(**options), theirs, rounding=1e-10 if optimizer == "sgd" else 1e-7)
    assert distance(ours(**base), theirs) > 1e-3


def test_local_work_is_epochs_over_the_clients_own_data() -> None:
    options = {"epochs": 2, "tau": None}
    reference = script(**options).v1(ROUNDS)
    agree(ours(**options), reference.state())
    sizes = [len(part) for part in reference.federation.parts]
    assert reference.steps == {n: 2 * -(-D // 6) for n, D in enumerate(sizes)}
    assert len(set(reference.steps.values())) > 1
    assert distance(ours(), reference.state()) > 1e-3


def test_the_average_is_unweighted() -> None:
    theirs = script({"unweighted": True}).v1(ROUNDS).state()
    agree(ours(weights="uniform"), theirs)
    assert distance(ours(weights="size"), theirs) > 1e-3


@pytest.mark.parametrize(
    ("clients", "work"), [(10, {"tau": 3}), (3, {"tau": None, "epochs": 2})]
)
def test_counters_are_averaged_as_numbers(clients, work) -> None:
    """Ten equal counts average to themselves, whatever 0.1 is in binary."""
    base = {"weights": "uniform", "clients": clients, **work}
    theirs = script({"unweighted": True}, **base).v1(ROUNDS).state()
    agree(ours(counters="average", **base), theirs, counters=True)
    name = f"stem.1.{COUNTERS}"
    assert theirs[name] > 0
    assert ours(**base)[name] == 0


def test_running_statistics_are_averaged_with_the_weights() -> None:
    """Neither kept by the clients nor forgotten: the scripts average the state dict."""
    theirs = script({"unweighted": True}).v1(1).state()
    mine = ours(1, weights="uniform")
    statistics = [name for name in theirs if "running_" in name]
    assert statistics
    before = copied(assembly.assemble(resolve("paper", BASE)).network.blocks)
    for name in statistics:
        torch.testing.assert_close(mine[name], theirs[name], rtol=1e-10, atol=1e-12)
        assert (mine[name] - before[name]).abs().max() > 1e-3, name


def test_sfl_v2_finishes_one_client_before_the_next() -> None:
    options = {"algorithm": "sfl-v2", "order": "client-sequential"}
    theirs = script({"sequential": True}, **options).v2(ROUNDS).state()
    agree(ours(**options), theirs)
    assert distance(ours(algorithm="sfl-v2"), theirs) > 1e-3


FIXED = {
    "clients": 4,
    "participation": 0.5,
    "participation_draw": "fixed",
    "aggregation": "normalised",
}


def test_the_server_side_waits_until_every_client_was_seen() -> None:
    options = {**FIXED, "server_waits": True, "weights": "uniform", "seed": 6}
    reference = script({"waits": True, "unweighted": True}, **options)
    people = [reference.federation.participants(t) for t in range(3)]
    assert people == [(1, 2), (2, 3), (0, 1)]  # 1 and 2 come twice, 0 late
    waiting = {rounds: ours(rounds, **options) for rounds in (1, 2, 3, 4)}
    for rounds, mine in waiting.items():
        fresh = replace(reference, tests=[], steps={})
        agree(mine, fresh.v1(rounds).state())
    head = "head.linear.weight"
    assert torch.equal(waiting[1][head], waiting[2][head])  # nobody averaged yet
    assert not torch.equal(waiting[2][head], waiting[3][head])
    assert torch.equal(waiting[3][head], waiting[4][head])
    assert distance(ours(4, **{**options, "server_waits": False}), waiting[4]) > 1e-3


def test_a_fixed_number_of_clients_takes_part_each_as_likely_as_any_other() -> None:
    federation = assembly.assemble(resolve("paper", BASE, FIXED)).federation
    drawn = [federation.participants(t) for t in range(3000)]
    assert {len(people) for people in drawn} == {2}
    pairs = {pair: drawn.count(pair) / len(drawn) for pair in set(drawn)}
    assert len(pairs) == 6
    assert all(abs(share - 1 / 6) < 0.03 for share in pairs.values()), pairs
    independent = assembly.assemble(
        resolve("paper", BASE, {**FIXED, "participation_draw": "independent"})
    ).federation
    assert {len(independent.participants(t)) for t in range(300)} == set(range(5))


def test_participants_are_averaged_without_their_probabilities() -> None:
    """Everyone has the same weight, nothing is divided by q_n, nothing is kept."""
    options = {**FIXED, "weights": "uniform"}
    theirs = script({"unweighted": True}, **options).v1(1).client.state_dict()
    mine = ours(1, **options)
    for name, value in theirs.items():
        if not name.endswith(COUNTERS):
            torch.testing.assert_close(mine[name], value, rtol=1e-9, atol=1e-10)
    # 1/N over q = 1/2 would be the same for two of four; by sizes it is not.
    sized = {**FIXED, "weights": "size"}
    mine = ours(1, **sized)
    agree(mine, script(**sized).v1(1).state())
    for rule in ("updates", "models"):
        assert distance(ours(1, **{**sized, "aggregation": rule}), mine) > 1e-3


def test_the_model_is_tested_inside_the_client_loop(tmp_path) -> None:
    """The client side of the round's start, on the client's own test images."""
    theirs = script().v1(ROUNDS).tests
    chosen = resolve("paper", BASE, {"rounds": ROUNDS, "evaluation": "in-loop"})
    train(chosen, tmp_path / "released")
    found = [
        json.loads(line)
        for line in (tmp_path / "released/metrics.jsonl").read_text().splitlines()
    ]
    assert [one["round"] for one in found] == [0, 1, 2]
    for one, (loss, accuracy) in zip(found[1:], theirs, strict=True):
        assert one["test_loss"] == pytest.approx(loss, rel=1e-9)
        assert one["test_accuracy"] == pytest.approx(accuracy, rel=1e-9)
    train(replace(chosen, evaluation="aggregated"), tmp_path / "paper")
    plain = (tmp_path / "paper/metrics.jsonl").read_text().splitlines()
    gaps = [
        abs(json.loads(line)["test_loss"] - one["test_loss"])
        for line, one in zip(plain, found, strict=True)
    ]
    assert min(gaps[1:]) > 1e-3
    weights = [tmp_path / name / "model.safetensors" for name in ("released", "paper")]
    assert weights[0].read_bytes() == weights[1].read_bytes()  # it only looks on


def test_the_head_has_a_hundred_ways_whatever_the_data() -> None:
    theirs = script(classes=100).v1(ROUNDS).state()
    mine = ours(classes=100)
    agree(mine, theirs)
    assert mine["head.linear.weight"].shape[0] == 100
    start = assembly.assemble(resolve("paper", BASE, {"classes": 100})).network.blocks
    unused = mine["head.linear.bias"][4:] - start.state_dict()["head.linear.bias"][4:]
    assert (unused < 0).all()  # ways without a label are pushed down, step after step
    assert ours()["head.linear.weight"].shape[0] == 4


def test_images_are_cropped_and_flipped_before_they_are_normalised() -> None:
    options = {"augmentation": "crop-flip"}
    theirs = script({"augmented": True}, **options).v1(ROUNDS).state()
    agree(ours(**options), theirs)
    assert distance(ours(), theirs) > 1e-3


def test_label_shards_are_contiguous_in_the_sorted_labels() -> None:
    labels = DATA.train_y
    parts = partition("blocks:1", labels, 4, seed=5)
    ends = np.cumsum([0, *(len(part) for part in parts)])
    ordered = np.sort(labels)
    for part, first, last in zip(parts, ends[:-1], ends[1:], strict=True):
        assert np.array_equal(np.sort(labels[part]), ordered[first:last])
    assert sorted(np.concatenate(parts)) == list(range(44))
    drawn = partition("dirichlet:1.0", labels, 4, seed=5)
    assert max(len(np.unique(labels[part])) for part in parts) <= 3
    assert max(len(np.unique(labels[part])) for part in drawn) == 4


def test_clients_hold_what_the_shipped_index_lists_say(tmp_path) -> None:
    lists = [[5, 0, 9, 12], [1, 2, 40, 41, 42, 3, 17], list(range(20, 40))]
    file = tmp_path / "cifar0.1.txt"
    file.write_text(repr(lists))
    options = {"partition": f"file:{file}"}
    reference = script(**options)
    assert [sorted(part) for part in reference.federation.parts] == [
        sorted(one) for one in lists
    ]
    mine = ours(**options)
    agree(mine, reference.v1(ROUNDS).state())
    assert distance(ours(), mine) > 1e-3


@pytest.mark.parametrize("participation", [1.0, 0.67])
@pytest.mark.parametrize("algorithm", ["sfl-v1", "sfl-v2"])
def test_the_whole_preset_is_the_whole_script(algorithm, participation) -> None:
    """Server steps included: SFL-V2's are divided by q_n in Algorithm 2 only."""
    tiny = {
        name: BASE[name] for name in ("model", "width", "depth", "clients", "seed")
    } | {"algorithm": algorithm, "batch_size": 6, "epochs": 2, "cut": 3}
    tiny["participation"] = participation
    config = resolve("released-code", tiny)
    made = assembly.assemble(config)
    reference = Script(
        made.network.blocks, made.cut, made.federation, config.lr, config.momentum,
        config.weight_decay, config.batch_size, config.epochs, augmented=True,
        server_rebuilt=True, unweighted=True, sequential=True, waits=True,
    )  # fmt: skip
    theirs = (reference.v1 if algorithm == "sfl-v1" else reference.v2)(ROUNDS).state()
    for t in range(ROUNDS):
        made.run.round(t, made.rates(t))
    made.run.worker.state.copy_(made.run.state)
    agree(copied(made.run.worker.model.blocks), theirs, counters=True)


SMALL = ["--model", "mlp", "--width", "0.1", "--rounds", "2", "--epochs", "1"]


@pytest.mark.parametrize(
    "more",
    [
        [],
        pytest.param(["--participation", "0.5"], marks=pytest.mark.long),
        ["--algorithm", "sfl-v2", "--participation", "0.5"],
        pytest.param(["--algorithm", "fedavg"], marks=pytest.mark.long),
        pytest.param(["--algorithm", "sl"], marks=pytest.mark.long),
        ["--algorithm", "centralized"],
        ["--model", "resnet18", "--width", "0.03125", "--depth", "1"],
    ],
    ids=lambda more: " ".join(more) or "as it is",
)
def test_the_released_code_runs_as_a_command(more, tmp_path, monkeypatch) -> None:
    monkeypatch.undo()  # float32 on digits, as a user's run
    out = tmp_path / "run"
    arguments = ["--preset", "released-code", *SMALL, *more, "--quiet"]
    assert main([*arguments, "--out", str(out)]) == 0
    config = json.loads((out / "config.json").read_text())
    given = {"epochs"} | {word[2:] for word in more if word.startswith("--")}
    wanted = dict(PRESETS["released-code"])
    wanted["server_waits"] = config["algorithm"] == "sfl-v1"  # nobody else can
    for name, value in wanted.items():
        if name not in given:
            assert config[name] == value, name
    assert json.loads((out / "done").read_text())["rounds"] == 2


def test_preset_then_file_then_command_line(tmp_path) -> None:
    file = tmp_path / "run.toml"
    file.write_text(
        'preset = "released-code"\nmodel = "mlp"\nwidth = 0.1\nlr = 0.02\n'
        f'rounds = 3\ntau = 2\nout = "{tmp_path / "file"}"\n'
    )
    base = ["--config", str(file), "--quiet", "--rounds", "1"]
    assert main(base) == 0
    found = json.loads((tmp_path / "file/config.json").read_text())
    assert found["rounds"] == 1  # the command line over the file
    assert (found["lr"], found["tau"], found["epochs"]) == (0.02, 2, None)  # over ...
    assert found["batch_size"] == 128  # ... the preset over the defaults
    assert found["server_lifetime"] == "step"

    out = tmp_path / "line"
    assert main([*base, "--preset", "paper", "--out", str(out), "--epochs", "1"]) == 0
    found = json.loads((out / "config.json").read_text())
    assert found["server_lifetime"] == "round"  # the command line's preset ...
    assert (found["lr"], found["batch_size"]) == (0.02, 32)  # ... under the file
    assert (found["tau"], found["epochs"]) == (None, 1)
