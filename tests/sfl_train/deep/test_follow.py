"""Protects runs from whoever follows them, and what is handed on from being another."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest

from sfl_train.__main__ import LOGS, main
from sfl_train.follow import KINDS, Follower, numbers
from sfl_train.runs.log import read_log

LINE = "--model mlp --width 0.05 --clients 3 --rounds 4 --batch-size 64 --quiet --out"


def results(folder: Path) -> list[bytes]:
    names = ("config.json", "metrics.jsonl", "model.safetensors", "done")
    return [(folder / name).read_bytes() for name in names]


def table(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("more", ["", "--measure every=2 --evaluate-every 3"])
def test_csv_holds_every_number_and_the_run_its_bits(more, tmp_path) -> None:
    for name, log in (("plain", ""), ("followed", "--log csv")):
        assert (
            main([*LINE.split(), str(tmp_path / name), *f"{more} {log}".split()]) == 0
        )
    followed = tmp_path / "followed"
    assert results(tmp_path / "plain") == results(followed)
    rows, lines = table(followed), read_log(followed / "metrics.jsonl")
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines, strict=True):
        found = {name: float(value) for name, value in row.items() if value}
        assert found == dict(numbers(line))
        assert float(row["test_accuracy"]) == line["test_accuracy"]
    if more:
        at = lines[0]["measured"]["cuts"][1]["server"]["epsilon2"]
        assert float(rows[0]["measured/cut2/server/epsilon2"]) == at


def test_lines_are_handed_on_while_the_run_goes_on(tmp_path) -> None:
    """A line that is still being written waits; a new name makes a new header."""
    follower, log = Follower("csv", tmp_path), tmp_path / "metrics.jsonl"
    follower.step()
    assert not (tmp_path / "metrics.csv").exists()
    lines = [{"round": 0, "a": 1.5, "b": None}, {"round": 1, "a": 2.5, "b": 3.0}]
    whole = "".join(json.dumps(line) + "\n" for line in lines)
    seen = []
    for end in (10, whole.index("\n") + 1, len(whole) - 1, len(whole)):
        log.write_text(whole[:end])
        follower.step()
        there = (tmp_path / "metrics.csv").exists()
        seen.append(len(table(tmp_path)) if there else 0)
    assert seen == [0, 1, 1, 2]
    assert [row["b"] for row in table(tmp_path)] == ["", "3.0"]


def test_a_finished_run_and_one_that_goes_on_are_followed_whole(tmp_path) -> None:
    """Also where the last line of the shorter run is none of the longer one."""
    few = [*LINE.split(), str(tmp_path), "--evaluate-every", "3"]
    assert main(few) == 0
    assert main([*few, "--log", "csv"]) == 0
    assert [row["round"] for row in table(tmp_path)] == ["0", "3", "4"]
    assert main([*few, "--rounds", "7", "--log", "csv"]) == 0
    assert [row["round"] for row in table(tmp_path)] == ["0", "3", "6", "7"]


def test_a_file_may_ask_for_it(tmp_path, capsys) -> None:
    (tmp_path / "run.toml").write_text('log = "csv"\n')
    line = f"{LINE} {tmp_path}/run --config {tmp_path}/run.toml".split()
    assert main(line) == 0
    assert (tmp_path / "run" / "metrics.csv").exists()
    (tmp_path / "run.toml").write_text('log = "wandb"\n')
    with pytest.raises(SystemExit) as stopped:
        main(line)
    assert stopped.value.code == 2
    assert "--log: expected one of csv, tensorboard" in capsys.readouterr().err


def test_what_is_not_installed_is_said_before_the_run(
    tmp_path, capsys, monkeypatch
) -> None:
    for name in ("tensorboard", "torch.utils.tensorboard"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(SystemExit) as stopped:
        main([*LINE.split(), str(tmp_path / "run"), "--log", "tensorboard"])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.endswith('error: needs tensorboard: pip install "sfl-verify[log]"\n')
    assert not (tmp_path / "run").exists()


def test_every_kind_is_an_option() -> None:
    assert tuple(KINDS) == LOGS


@pytest.mark.long
def test_tensorboard_reads_what_the_run_wrote(tmp_path) -> None:
    """Once, though the second start goes over the first's lines again."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    line = [*LINE.split(), str(tmp_path / "run"), "--log", "tensorboard"]
    assert main([*LINE.split(), str(tmp_path / "plain")]) == 0
    assert main(line) == 0
    assert results(tmp_path / "plain") == results(tmp_path / "run")
    assert main([*line, "--rounds", "6"]) == 0
    found = EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload()
    scalars = found.Scalars("test_loss")
    lines = read_log(tmp_path / "run" / "metrics.jsonl")
    assert [one.step for one in scalars] == list(range(7))
    wanted = [line["test_loss"] for line in lines]
    assert [one.value for one in scalars] == pytest.approx(wanted, rel=1e-6)
