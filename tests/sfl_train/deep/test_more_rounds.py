"""More rounds on a finished run: the bits of one run that was asked for at once.

Protects who looks at a run of few rounds and wants more, from a run that is neither.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from sfl_train.__main__ import main
from sfl_train.deep import training
from sfl_train.deep.config import resolve
from sfl_train.deep.training import train
from sfl_train.runs import checkpoint
from sfl_train.runs.done import read_done
from sfl_train.runs.files import RunError
from sfl_train.runs.folder import RunFolder

SMALL = {
    "model": "mlp", "width": 0.05, "clients": 4, "batch_size": 50, "epochs": 1,
    "partition": "dirichlet:1",
}  # fmt: skip
RUNS = {
    "fedavg": {"algorithm": "fedavg"},
    "sfl-v1": {"algorithm": "sfl-v1", "cut": 2},
    "sfl-v1, two periods": {"epochs": None, "tau": 3, "tau_server": 2},
    "sfl-v1, momentum kept": {
        "momentum": 0.9, "lifetime": "run", "server_lifetime": "run",
    },
    "sfl-v1 waits, in the loop": {
        "server_waits": True, "evaluation": "in-loop", "participation": 0.5,
    },
    "sfl-v2": {"algorithm": "sfl-v2", "participation": 0.6},
    "sfl-v2 by client, adam": {
        "algorithm": "sfl-v2", "order": "client-sequential", "optimizer": "adam",
        "lifetime": "run", "server_lifetime": "run",
    },
    "minibatch-sfl": {"algorithm": "minibatch-sfl"},
    "fedopt": {"algorithm": "fedopt", "fedopt": "yogi"},
    "steps": {"schedule": "step:2:0.5"},
    "theorem": {
        "algorithm": "sfl-v2", "epochs": None, "tau": 2,
        "schedule": "theorem:3.7/strongly_convex:S=10,mu=0.5",
    },
    "batch norm": {"model": "cnn", "width": 0.1, "norm": "batch", "cut": 2},
    "measured, few lines": {"measure": "every=2", "evaluate_every": 4},
    "few lines": {"evaluate_every": 4},
}  # fmt: skip


def config(rounds: int, **more: object):
    return resolve("paper", {**SMALL, "rounds": rounds, **more})


def results(folder: Path) -> dict[str, bytes]:
    """Everything that a run leaves but clocks and when checkpoints were taken."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and path.name not in {"speed.jsonl", "lock"}
    }


OFTEN = {
    "fedavg", "sfl-v1, two periods", "sfl-v1 waits, in the loop",
    "sfl-v2 by client, adam", "fedopt", "steps", "batch norm", "measured, few lines",
}  # fmt: skip
"""Every kind of state that a run keeps; the others are among the long tests."""


@pytest.mark.parametrize(
    "kind",
    [pytest.param(one, marks=() if one in OFTEN else pytest.mark.long) for one in RUNS],
)
def test_the_bits_of_one_run_at_once(kind: str, tmp_path: Path) -> None:
    """Also where the last round of the short run has a line only for being the last."""
    train(config(5, **RUNS[kind]), tmp_path / "whole")
    for rounds in (1, 3, 5):
        summary = train(config(rounds, **RUNS[kind]), tmp_path / "parts")
        assert summary["rounds"] == rounds
    assert results(tmp_path / "whole") == results(tmp_path / "parts")
    assert read_done(tmp_path / "parts", config(5, **RUNS[kind]).hash) is not None


def test_rounds_that_were_made_are_not_made_again(tmp_path, monkeypatch) -> None:
    train(config(3), tmp_path)
    made = []
    kept = training._Training._write_speed
    monkeypatch.setattr(
        training._Training,
        "_write_speed",
        lambda self, *of: (made.append(self._round), kept(self, *of)),
    )
    train(config(5), tmp_path)
    assert made == [4, 5]


@pytest.mark.parametrize("stop", ["done", "config", "checkpoint", "cut", "round"])
def test_a_sudden_end_on_the_way_loses_nothing(stop, tmp_path, monkeypatch) -> None:
    """Whatever was done until then, the same command goes on."""
    few = {"evaluate_every": 4, "checkpoint_every": 1}
    train(config(7, **few), tmp_path / "whole")
    train(config(3, **few), tmp_path / "parts")

    class Stopped(BaseException):
        pass

    def stops(*of: object, **more: object):
        raise Stopped

    with monkeypatch.context() as patched:
        if stop == "done":
            patched.setattr(Path, "unlink", stops)
        elif stop == "config":
            patched.setattr(RunFolder, "write_json", stops)
        elif stop == "checkpoint":
            patched.setattr(checkpoint, "write", stops)
        elif stop == "cut":
            patched.setattr(training, "cut", stops)
        else:
            kept = training._Training._save
            count = iter(range(9))
            patched.setattr(
                training._Training,
                "_save",
                lambda self: (kept(self), stops() if next(count) else None),
            )
        with pytest.raises(Stopped):
            train(config(7, **few), tmp_path / "parts")
    train(config(7, **few), tmp_path / "parts")
    assert results(tmp_path / "whole") == results(tmp_path / "parts")


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--schedule cosine", "--schedule cosine depends on their number"),
        ("--measure auto", "--measure auto depends on their number"),
    ],
)
def test_what_depends_on_the_number_is_refused(option, says, tmp_path, capsys) -> None:
    """And what is there stays, to the last byte."""
    line = f"{option} --model mlp --width 0.05 --quiet --out {tmp_path}/run"
    assert main(["--rounds", "2", *line.split()]) == 0
    before = results(tmp_path / "run")
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        main(["--rounds", "3", *line.split()])
    said = capsys.readouterr().err
    assert stopped.value.code == 2 and said.count("\n") == 1
    assert said.startswith(f"python -m sfl_train: error: --rounds: 2 in {tmp_path}/run")
    assert says in said
    assert results(tmp_path / "run") == before


def test_every_schedule_says_whether_it_depends_on_the_number() -> None:
    """The rates of a shorter run are the first of a longer one, or it is refused."""
    from sfl_train.deep.schedule import LearningRates

    for schedule in ("constant", "step:2:0.5", "cosine", RUNS["theorem"]["schedule"]):
        chosen = {"schedule": schedule, "tau": 2, "epochs": None}
        short, long = (
            [LearningRates(config(rounds, **chosen))(t) for t in range(5)]
            for rounds in (5, 9)
        )
        assert (short != long) == (config(5, **chosen).bound_to_rounds is not None)


@pytest.mark.parametrize("other", [{"rounds": 2}, {"seed": 1}, {"lr": 0.01}])
def test_fewer_rounds_or_another_run_are_refused(other, tmp_path) -> None:
    train(config(3), tmp_path / "run")
    before = results(tmp_path / "run")
    with pytest.raises(RunError, match="holds another run: --"):
        train(config(**{"rounds": 5, **other}), tmp_path / "run")
    assert results(tmp_path / "run") == before


def test_without_a_folder_a_copy_goes_on(tmp_path, monkeypatch, capsys) -> None:
    """The longest finished one of the same run; it stays, and no other is taken."""
    monkeypatch.chdir(tmp_path)
    line = "--model mlp --width 0.05 --clients 4 --batch-size 50 --quiet"
    for more in ("--rounds 2", "--rounds 3", "--rounds 5 --seed 1", "--rounds 9"):
        main([*line.split(), *more.split()])
    main([*line.split(), "--rounds", "6", "--out", "whole"])
    folders = {path: results(path) for path in Path("runs").iterdir()}
    assert len(folders) == 4
    (three,) = (path for path in folders if b'"rounds": 3' in folders[path]["done"])
    capsys.readouterr()
    main([*line.split(), "--rounds", "6"])
    assert capsys.readouterr().err == f"going on from {three}, which stays\n"
    (new,) = set(Path("runs").iterdir()) - set(folders)
    assert results(new) == results(Path("whole"))
    assert {path: results(path) for path in folders} == folders
    main([*line.split(), "--rounds", "6"])
    assert not capsys.readouterr().err


@pytest.mark.parametrize("lost", ["model.safetensors", "metrics.jsonl"])
def test_a_damaged_run_does_not_go_on(lost, tmp_path) -> None:
    train(config(2), tmp_path / "run")
    (tmp_path / "run" / lost).unlink()
    with pytest.raises(RunError, match=f"{lost} is missing"):
        train(config(4), tmp_path / "run")


def test_a_diverged_run_diverges_again(tmp_path) -> None:
    wild = {"lr": 1e25}
    first = train(config(2, **wild), tmp_path / "run")
    second = train(config(4, **wild), tmp_path / "run")
    whole = train(config(4, **wild), tmp_path / "whole")
    assert first["diverged"] and second == whole
    assert results(tmp_path / "whole") == results(tmp_path / "run")


def test_the_checkpoint_of_another_run_is_refused(tmp_path) -> None:
    train(config(2), tmp_path / "run")
    train(config(2, seed=1), tmp_path / "other")
    shutil.rmtree(tmp_path / "run" / "checkpoint")
    shutil.copytree(tmp_path / "other" / "checkpoint", tmp_path / "run" / "checkpoint")
    with pytest.raises(RunError, match="belongs to another run"):
        train(config(3), tmp_path / "run")
    assert json.loads((tmp_path / "run" / "config.json").read_text())["rounds"] == 2
    assert os.path.exists(tmp_path / "run" / "done")
