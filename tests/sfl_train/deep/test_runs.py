"""Protects runs: killed at any moment they end as if nothing had happened.

And nothing that lies in a run folder is lost or taken for something else.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import time
from pathlib import Path

import pytest

from sfl_train.__main__ import main
from sfl_train.deep.config import Config, resolve
from sfl_train.deep.training import train
from sfl_train.runs.files import RunError
from sfl_train.runs.folder import RunFolder
from sfl_train.runs.log import Log, read_log

SMALL = {
    "model": "mlp",
    "width": 0.125,
    "clients": 4,
    "rounds": 5,
    "batch_size": 64,
    "checkpoint_every": 1,
}
VARIANTS = {
    "sfl-v1": {"lifetime": "run", "momentum": 0.9, "participation": 0.6},
    "rounds without anyone": {"participation": 0.15},
    "fedopt": {"algorithm": "fedopt", "optimizer": "adam"},
    "sfl-v2": {"algorithm": "sfl-v2", "server_lifetime": "run", "momentum": 0.5},
    "released": {"server_waits": True, "participation": 0.5, "evaluation": "in-loop"},
    "measured": {"measure": "every=3", "checkpoint_every": 2},
    "seldom": {"evaluate_every": 3, "participation": 0.6, "epochs": 2},
}


def config(**more) -> Config:
    return resolve("paper", SMALL, more)


def content(folder: Path) -> tuple[bytes, ...]:
    names = ("metrics.jsonl", "model.safetensors", "bytes.json")
    return tuple((folder / name).read_bytes() for name in names)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    made = {}

    def of(name: str) -> Path:
        if name not in made:
            made[name] = tmp_path_factory.mktemp("whole") / name
            train(config(**VARIANTS[name]), made[name])
        return made[name]

    return of


def killed_after(seconds: float, chosen: Config, out: Path) -> int:
    """Train in a child and kill it; return its exit code (-9 if it was killed)."""
    child = multiprocessing.get_context("fork").Process(
        target=train, args=(chosen, out)
    )
    child.start()
    child.join(seconds)
    if child.is_alive():
        os.kill(child.pid, signal.SIGKILL)
    child.join()
    return child.exitcode


KILLED = ("sfl-v1", "sfl-v2", "measured")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one, marks=[] if one in KILLED else [pytest.mark.long])
        for one in VARIANTS
    ],
)
def test_killed_at_random_moments_it_ends_bit_for_bit_the_same(
    name, uninterrupted, tmp_path
) -> None:
    chosen, out = config(**VARIANTS[name]), tmp_path / "run"
    uninterrupted(name)  # and everything is warm
    began = time.monotonic()
    train(chosen, tmp_path / "timed")
    whole = time.monotonic() - began
    rng, kills = random.Random(name), 0
    for _ in range(8):
        ended = killed_after(rng.uniform(0.1, 0.9) * whole, chosen, out)
        assert ended in (0, -signal.SIGKILL)
        kills += ended == -signal.SIGKILL
        if not kills:  # the machine was busier when it was timed
            shutil.rmtree(out)
            whole /= 2
    train(chosen, out)
    assert kills, "the process was never caught alive"
    assert content(out) == content(uninterrupted(name))
    assert json.loads((out / "done").read_text())["rounds"] == SMALL["rounds"]


OFTEN = ("sfl-v1", "fedopt", "sfl-v2", "measured")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one, marks=[] if one in OFTEN else [pytest.mark.long])
        for one in VARIANTS
    ],
)
def test_it_goes_on_from_every_round(name, uninterrupted, tmp_path) -> None:
    chosen, copies = config(**VARIANTS[name]), []

    def keep(progress) -> None:
        copies.append(tmp_path / f"copy-{progress.round}")
        shutil.copytree(tmp_path / "run", copies[-1])

    train(chosen, tmp_path / "run", keep)
    for copy in copies:
        train(chosen, copy)
        assert content(copy) == content(uninterrupted(name)), copy.name


@pytest.mark.parametrize("cut_off", [1, 17, 40])
def test_a_torn_line_of_metrics_is_completed(cut_off, uninterrupted, tmp_path) -> None:
    chosen, out = config(**VARIANTS["sfl-v1"]), tmp_path / "run"
    train(chosen, out)
    (out / "done").unlink()
    newest = sorted((out / "checkpoint").iterdir())[-1]
    newest.unlink()
    metrics = out / "metrics.jsonl"
    metrics.write_bytes(metrics.read_bytes()[:-cut_off])
    train(chosen, out)
    assert content(out) == content(uninterrupted("sfl-v1"))


def test_a_finished_run_returns_at_once(uninterrupted, capsys) -> None:
    folder = uninterrupted("sfl-v1")
    before = {p: p.stat().st_mtime_ns for p in folder.iterdir() if p.name != "lock"}
    train(config(**VARIANTS["sfl-v1"]), folder)
    after = {p: p.stat().st_mtime_ns for p in folder.iterdir() if p.name != "lock"}
    assert before == after


def test_two_processes_on_one_folder_the_second_refuses(tmp_path) -> None:
    with (
        RunFolder(tmp_path / "run", config()),
        pytest.raises(RunError, match=f"in use by process {os.getpid()}"),
    ):
        train(config(), tmp_path / "run")


def test_another_run_is_refused_by_what_differs(uninterrupted) -> None:
    folder = uninterrupted("sfl-v1")
    before = content(folder)
    with pytest.raises(RunError, match=r"--lr 0\.05 there, 0\.2 here"):
        train(config(**VARIANTS["sfl-v1"], lr=0.2), folder)
    assert content(folder) == before


def test_a_folder_with_other_files_is_refused(tmp_path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(RunError, match=r"thesis\.tex"):
        train(config(), tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "x"


@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign", "empty", "text"])
def test_a_damaged_or_foreign_checkpoint_is_refused_and_kept(damage, tmp_path) -> None:
    chosen, out = config(rounds=3), tmp_path / "run"
    train(chosen, out)
    (out / "done").unlink()
    newest = sorted((out / "checkpoint").iterdir())[-1]
    if damage == "foreign":
        other = tmp_path / "other"
        train(config(rounds=3, seed=9), other)
        data = sorted((other / "checkpoint").iterdir())[-1].read_bytes()
    else:
        data = bytearray(newest.read_bytes())
        if damage == "cut":
            data = data[: len(data) // 2]
        elif damage == "flipped":
            data[-5] ^= 1
        else:
            data = b"" if damage == "empty" else b"not a checkpoint at all"
    newest.write_bytes(data)
    with pytest.raises(RunError, match=newest.name):
        train(chosen, out)
    assert newest.read_bytes() == bytes(data)
    newest.unlink()  # as the message says
    train(chosen, out)
    train(chosen, tmp_path / "whole")
    assert content(out) == content(tmp_path / "whole")


def limited(chosen: Config, out: Path, size: int, answer) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    try:
        train(chosen, out)
        answer.put("finished")
    except RunError as error:
        answer.put(str(error))


@pytest.mark.parametrize("size", [700, 5000, 9000])
def test_a_full_disk_is_said_clearly_and_nothing_is_lost(size, tmp_path) -> None:
    """The limit on file sizes stands in for a disk that fills up while training."""
    chosen, out = config(), tmp_path / "run"
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    child = context.Process(target=limited, args=(chosen, out, size, answer))
    child.start()
    said = answer.get(timeout=60)
    child.join()
    assert "cannot be written" in said, said
    train(chosen, out)
    train(chosen, tmp_path / "whole")
    assert content(out) == content(tmp_path / "whole")


def test_metrics_of_another_history_are_refused(tmp_path) -> None:
    chosen, out = config(rounds=3), tmp_path / "run"
    train(chosen, out)
    (out / "done").unlink()
    for path in (out / "checkpoint").iterdir():
        path.unlink()
    metrics = out / "metrics.jsonl"
    lines = metrics.read_text().replace("0.", "0.9", 1)
    metrics.write_text(lines)
    with pytest.raises(RunError, match="differs"):
        train(chosen, out)
    assert metrics.read_text() == lines


def test_a_log_shorter_than_its_checkpoint_is_refused(tmp_path) -> None:
    (tmp_path / "log").write_text("{}\n")
    with pytest.raises(RunError, match="lines are missing"):
        Log(tmp_path / "log", 100)
    (tmp_path / "log").write_text('{"a": 1}\n{"a"')
    assert read_log(tmp_path / "log") == [{"a": 1}]


def test_the_command_trains_says_mistakes_in_a_line_and_stops_cleanly(
    tmp_path, capsys
) -> None:
    file = tmp_path / "run.toml"
    file.write_text('model = "mlp"\nwidth = 0.125\nrounds = 2\nbatch-size = 64\n')
    out = str(tmp_path / "run")
    assert main(["--config", str(file), "--rounds", "1", "--out", out]) == 0
    assert "round 1: accuracy" in capsys.readouterr().out
    assert json.loads((tmp_path / "run/config.json").read_text())["rounds"] == 1
    mistakes = [
        (["--tau", "2", "--epochs", "1"], "--tau: excludes --epochs"),
        (["--cut", "7"], "cut: expected a number from 1 to 3"),
        (["--dataset", "mnist"], "--dataset: unknown data set 'mnist'"),
        (["--clients", "0"], "--clients: expected an integer from 1 to 1000000, got 0"),
        (["--schedule", "step:3"], "--schedule: cannot read 'step:3'"),
        (["--measure", "often"], "--measure: expected off, auto or every=K"),
        (["--lr", "nan"], "--lr: expected a positive number up to 1e+30, got nan"),
        (["--config", str(tmp_path / "none.toml")], "No such file"),
    ]
    for arguments, words in mistakes:
        with pytest.raises(SystemExit) as stopped:
            main([*arguments, "--out", str(tmp_path / "bad")])
        error = capsys.readouterr().err
        assert stopped.value.code == 2
        assert words in error, error
        assert error.count("\n") == 1
        assert not (tmp_path / "bad").exists()


def test_diverging_is_not_a_traceback(tmp_path, capsys) -> None:
    arguments = ["--model", "mlp", "--lr", "1e30", "--rounds", "20"]
    assert main([*arguments, "--out", str(tmp_path / "run")]) == 1
    assert "diverged in round" in capsys.readouterr().err
    assert json.loads((tmp_path / "run/done").read_text())["diverged"]
