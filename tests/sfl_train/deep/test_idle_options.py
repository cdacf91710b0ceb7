"""Protects users from options that they set and that do nothing."""

from __future__ import annotations

import json
from itertools import zip_longest

import pytest

from sfl_train.__main__ import main
from sfl_train.deep.config import PRESETS, Config, resolve
from sfl_train.deep.idle_options import NEEDS, refuse_idle
from sfl_train.deep.training import train

IDLE = [
    ("--width 2 --model mine.py:net", "a --model by name"),
    ("--depth 2 --model mine.py:net", "a --model by name"),
    ("--norm group --model mine.py:net", "a --model by name"),
    ("--fedopt yogi", "--algorithm fedopt"),
    ("--fedopt adam", "--algorithm fedopt"),
    ("--fedopt-lr 0.1 --algorithm fedavg", "--algorithm fedopt"),
    ("--proximal 0.1", "--algorithm fedprox"),
    ("--order client-sequential", "--algorithm sfl-v2"),
    ("--server-weights size", "--algorithm sfl-v2"),
    ("--clients-at-once 2 --algorithm sfl-v2", "--algorithm fedavg or"),
    ("--clients-at-once 2 --server-waits", "no --server-waits"),
    ("--server-optimizer adam --algorithm fedopt", "--algorithm sfl-v1 or"),
    ("--server-lifetime run --algorithm fedavg", "--algorithm sfl-v1 or"),
    ("--server-lifetime run", "a memory"),
    ("--lifetime run", "a memory"),
    ("--lr-server 0.1 --algorithm centralized", "--algorithm sfl-v1 or"),
    ("--lr 0.1 --tau 2 --schedule theorem:3.7/non_convex:S=10", "a --schedule"),
    ("--momentum 0.9 --optimizer adam", "sgd on one side"),
    ("--weights uniform --algorithm centralized", "clients"),
    ("--weights uniform --algorithm sl", "an average"),
    ("--participation 0.5 --algorithm centralized", "clients"),
    ("--participation-draw fixed", "--participation below 1"),
    ("--aggregation normalised", "--participation below 1"),
    ("--aggregation models --participation 0.5 --algorithm sl", "--algorithm fedavg"),
    ("--counters average --algorithm sl", "--algorithm fedavg"),
    ("--evaluation in-loop --algorithm centralized", "clients"),
]


OWN = """
from torch import nn

def net(pixels, classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(pixels**2, classes))
"""


@pytest.mark.parametrize(("line", "needs"), IDLE)
def test_an_option_that_does_nothing_is_refused(
    line, needs, tmp_path, capsys, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN)
    with pytest.raises(SystemExit) as stopped:
        main([*line.split(), "--out", str(tmp_path / "bad")])
    said = capsys.readouterr().err
    assert stopped.value.code == 2
    assert f"{line.split()[0]}: does nothing here, it needs {needs}" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "bad").exists()


def test_every_option_that_may_be_idle_is_tested() -> None:
    assert {line.split()[0] for line, _ in IDLE} | {"--server-waits"} == {
        f"--{name.replace('_', '-')}" for name in NEEDS
    }


def test_in_a_file_it_is_refused_too(tmp_path, capsys) -> None:
    file = tmp_path / "run.toml"
    file.write_text('algorithm = "sfl-v2"\nserver-waits = true\n')
    with pytest.raises(SystemExit) as stopped:
        main(["--config", str(file), "--out", str(tmp_path / "bad")])
    assert stopped.value.code == 2
    assert "--server-waits: does nothing here" in capsys.readouterr().err


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("algorithm", ["fedavg", "sfl-v2", "sl", "centralized"])
def test_what_a_preset_sets_is_not_refused(preset, algorithm) -> None:
    config = resolve(preset, {"algorithm": algorithm})
    refuse_idle(config, {"algorithm": algorithm})


def test_a_switch_that_is_off_states_what_is_the_case(tmp_path) -> None:
    line = "--algorithm sfl-v2 --no-server-waits --model mlp --rounds 1 --quiet"
    assert main([*line.split(), "--out", str(tmp_path / "run")]) == 0


SMALL = {"model": "mlp", "width": 0.1, "clients": 4, "rounds": 2, "batch_size": 50}
OTHER = {
    "fedopt": "yogi", "fedopt_lr": 0.3, "proximal": 0.5, "order": "client-sequential",
    "server_weights": "size", "server_optimizer": "adam", "server_lifetime": "run",
    "lifetime": "run", "momentum": 0.9, "lr": 0.2, "lr_server": 0.2,
    "weights": "uniform", "participation": 0.5, "participation_draw": "fixed",
    "aggregation": "models", "counters": "average", "evaluation": "in-loop",
    "width": 2.0, "depth": 3, "norm": "group", "clients_at_once": 3,
}  # fmt: skip


@pytest.mark.parametrize("line", [line for line, _ in IDLE])
def test_what_is_refused_does_nothing_indeed(line, tmp_path, monkeypatch) -> None:
    """Another value changes no byte of the metrics and of the model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN)
    words = line.split()
    name = words[0][2:].replace("-", "_")
    pairs = zip_longest(words[2::2], words[3::2], fillvalue="on")
    rest = {k[2:].replace("-", "_"): v for k, v in pairs}
    more = {
        k: True if v == "on" else type(getattr(Config(), k) or 0)(v)
        for k, v in rest.items()
    }
    found = []
    for number, value in enumerate(({}, {name: OTHER[name]})):
        out = tmp_path / str(number)
        train(resolve("paper", SMALL, more, value), out)
        names = ("metrics.jsonl", "model.safetensors")
        found.append([(out / file).read_bytes() for file in names])
    assert found[0] == found[1]
    assert json.loads((tmp_path / "0/done").read_text())["rounds"] == 2
