"""Protects run folders and the command from what is damaged, foreign or impossible."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from sfl_train.__main__ import main
from sfl_train.deep.config import resolve
from sfl_train.deep.measure.curvature import lanczos
from sfl_train.deep.training import train
from sfl_train.runs.files import RunError
from sfl_train.runs.log import read_log

SMALL = {
    "model": "mlp",
    "width": 0.05,
    "clients": 3,
    "rounds": 3,
    "batch_size": 64,
    "checkpoint_every": 1,
}


def config(**more):
    return resolve("paper", SMALL, more)


def results(folder: Path) -> list[bytes]:
    names = ("metrics.jsonl", "model.safetensors", "done")
    return [(folder / name).read_bytes() for name in names]


def refused(capsys, *arguments: str) -> str:
    """Return the one line that the command says."""
    with pytest.raises(SystemExit) as stopped:
        main(["--model", "mlp", "--rounds", "1", "--quiet", *arguments])
    said = capsys.readouterr()
    assert stopped.value.code == 2 and not said.out
    assert said.err.count("\n") == 1, said.err
    return said.err


@pytest.mark.parametrize(
    "text", ["[]", "null", "{}", "[" * 100_000, '{"diverged": false}']
)
@pytest.mark.parametrize("name", ["config.json", "done"])
def test_a_damaged_file_is_said_and_kept(name, text, tmp_path) -> None:
    out = tmp_path / "run"
    train(config(rounds=1), out)
    (out / name).write_text(text)
    with pytest.raises(RunError, match=r"damaged|cannot be read|holds another run"):
        train(config(rounds=1), out)
    assert (out / name).read_text() == text


def test_the_summary_of_another_run_is_refused(tmp_path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    train(config(rounds=1), one)
    train(config(rounds=1, seed=1), other)
    shutil.copy(other / "done", one / "done")
    with pytest.raises(RunError, match="no summary of this run"):
        train(config(rounds=1), one)


@pytest.mark.parametrize(
    "lie",
    [
        {"round": "1"}, {"round": "99"}, {"round": None}, {"position": "0"},
        {"channels_last": None},
    ],
)  # fmt: skip
def test_a_checkpoint_with_another_header_is_refused(lie, tmp_path) -> None:
    """A wrong round would train rounds twice, or skip some, and nobody would see."""
    out = tmp_path / "run"
    train(config(), out)
    (out / "done").unlink()
    newest = sorted((out / "checkpoint").iterdir())[-1]
    with safe_open(str(newest), framework="pt") as opened:
        header = {k: v for k, v in {**opened.metadata(), **lie}.items() if v}
    save_file(load_file(str(newest)), str(newest), metadata=header)
    with pytest.raises(RunError, match=f"{newest.name}: damaged"):
        train(config(), out)


def test_weights_in_another_order_are_not_taken_over(tmp_path) -> None:
    """The memory format is no part of the run's identity, but orders the weights."""
    out = tmp_path / "run"
    chosen = {"model": "cnn", "width": 0.1}
    train(config(**chosen), out)
    (out / "done").unlink()
    with pytest.raises(RunError, match="go on with --no-channels-last"):
        train(config(**chosen, channels_last=True), out)
    train(config(**chosen), out)


def test_a_folder_is_left_as_it_was_found(tmp_path) -> None:
    empty, used, new = (tmp_path / name for name in ("empty", "used", "new"))
    empty.mkdir()
    used.mkdir()
    (used / "lock").write_text("mine")
    (used / "thesis.tex").write_text("x")
    for folder in (empty, used, new):
        with pytest.raises(ValueError, match=r"cut: expected|\(lock\)"):
            train(config(cut=9), folder)
    assert empty.is_dir() and not any(empty.iterdir())
    assert {p.name: p.read_text() for p in used.iterdir()} == {
        "lock": "mine",
        "thesis.tex": "x",
    }
    assert not new.exists()
    (used / "lock").unlink()
    with pytest.raises(RunError, match=r"thesis\.tex"):
        train(config(), used)
    assert [p.name for p in used.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    "more", [{}, {"evaluation": "in-loop"}, {"lr": 1e30, "evaluate_every": 2}]
)
def test_killed_while_it_ends_it_ends_the_same(more, tmp_path, monkeypatch) -> None:
    """The last checkpoint stands already, the summary does not."""
    chosen, whole, out = config(**more), tmp_path / "whole", tmp_path / "run"
    train(chosen, whole)

    def kill(*_) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("sfl_train.deep.training.write_whole", kill)
        with pytest.raises(KeyboardInterrupt):
            train(chosen, out)
    assert not (out / "done").exists()
    train(chosen, out)
    assert results(out) == results(whole)


@pytest.mark.parametrize("measure", ["off", "every=1"])
def test_a_last_step_that_diverges_is_seen(measure, tmp_path) -> None:
    """The only loss of the round is the one before the step."""
    chosen = config(rounds=1, tau=1, epochs=None, lr=1e20, measure=measure)
    assert train(chosen, tmp_path / "run") == {
        "hash": chosen.hash,
        "rounds": 1,
        "diverged": True,
    }


def test_lanczos_says_that_a_product_overflowed() -> None:
    assert lanczos(lambda v: v * float("inf"), torch.ones(3)).norm != 0
    found = lanczos(lambda v: v * float("nan"), torch.ones(3))
    assert found.norm != found.norm


def test_a_torn_line_of_the_speeds_does_not_spoil_the_next(tmp_path) -> None:
    out = tmp_path / "run"
    train(config(), out)
    (out / "done").unlink()
    sorted((out / "checkpoint").iterdir())[-1].unlink()
    speed = out / "speed.jsonl"
    speed.write_bytes(speed.read_bytes()[:-20])
    train(config(), out)
    assert [line["round"] for line in read_log(speed)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seed", "99999999999999999999"], "--seed: expected"),
        (["--lr", "1e300"], "--lr: expected a positive number up to"),
        (["--algorithm", "fedprox", "--proximal", "1e300"], "--proximal: expected"),
        (["--algorithm", "fedopt", "--fedopt-lr", "1e300"], "--fedopt-lr: expected"),
        (["--weight-decay", "-1"], "--weight-decay: expected"),
        (["--depth", "0"], "--depth: expected an integer from 1 to 200, got 0"),
        (["--model", "cnn", "--depth", "2"], "--depth: the cnn has a fixed depth"),
        (["--cut", "9"], "error: --cut: expected"),
        (["--clients", "9999"], "error: --clients: 9999 cannot share"),
        (["--participation", "1.5"], "error: --participation: expected a rate"),
        (["--participation", "1e-300"], "error: --participation: expected a rate"),
        (["--compile", "--algorithm", "minibatch-sfl"], "error: --compile: goes with"),
        (["--tau", "99999999999"], "--tau: expected an integer from 1 to 1000000"),
        (["--epochs", "99999999999"], "--epochs: expected an integer from 1 to 1000"),
        (["--depth", "99999999999"], "--depth: expected an integer from 1 to 200"),
        (["--rounds", "99999999999"], "--rounds: expected an integer from 1 to 1000"),
        (["--classes", "9223372036854775807"], "--classes: expected an integer from"),
        (["--momentum", "1"], "error: --momentum: expected"),
        (["--norm", "batch"], "error: --norm: the mlp has none"),
        (["--partition", "natural"], "error: --partition: partition 'natural' needs"),
        (["--threads", "100000"], "--threads: expected"),
        (["--width", "1e17"], "--model: has more weights than any memory"),
        (["--width", "1e12"], "--model: has more weights than any memory"),
        (["--width", "1e5"], "--model: mlp (weights"),
        (["--classes", "1000000", "--width", "1e4"], "--model: mlp (weights"),
        (
            ["--dataset", "synthetic:2x1x1000000:4"],
            "--dataset: 6 images of 1x1000000x1000000 needs",
        ),
        (
            ["--dataset", "synthetic:2x1x8:9999999999999"],
            "--dataset: 12499999999998 images of 1x8x8 needs",
        ),
        (["--tau", "2", "--schedule", "theorem:3.7/non_convex:S=1e-310"], "--schedule"),
    ],
)
def test_impossible_values_are_told_in_a_line(arguments, words, tmp_path, capsys):
    assert words in refused(capsys, *arguments, "--out", str(tmp_path / "bad"))
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"threads": 2}, "--threads 1 there, 2 here"),
        ({"compile": True}, "--compile False there, True here"),
    ],
)
def test_what_changes_roundings_cannot_change_when_a_run_goes_on(more, words, tmp_path):
    """Two threads sum in another order; with few evaluations nobody would see it."""
    out = tmp_path / "run"
    train(config(), out)
    for end in (lambda: None, (out / "done").unlink):
        end()
        with pytest.raises(RunError, match=words):
            train(config(**more), out)
    assert config(**more).hash != config().hash
    train(config(threads=1, compile=False), out)


def test_an_older_run_of_two_threads_is_not_taken_up_by_one(tmp_path) -> None:
    """Its hash is that of one thread, its configuration says two."""
    out = tmp_path / "run"
    train(config(), out)
    path = out / "config.json"
    path.write_text(path.read_text().replace('"threads": 1', '"threads": 2'))
    with pytest.raises(RunError, match="--threads 2 there, 1 here"):
        train(config(), out)


@pytest.mark.parametrize(
    "name", ["metrics.jsonl", "model.safetensors", "partition.json", "bytes.json"]
)
def test_results_that_were_lost_or_changed_are_not_reported(name, tmp_path, capsys):
    out = tmp_path / "run"
    summary = train(config(), out)
    kept = (out / name).read_bytes()
    (out / name).write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    with pytest.raises(RunError, match=f"{name} is changed since the run ended"):
        train(config(), out)
    (out / name).unlink()
    with pytest.raises(RunError, match=f"{name} is missing"):
        train(config(), out)
    (out / name).write_bytes(kept)
    assert train(config(), out) == summary


@pytest.mark.parametrize("name", ["model.safetensors", "bytes.json", "partition.json"])
def test_a_lost_result_is_made_again_as_the_message_says(name, tmp_path) -> None:
    out = tmp_path / "run"
    summary = train(config(), out)
    kept = (out / name).read_bytes()
    (out / name).unlink()
    with pytest.raises(RunError, match=f"remove {out / 'done'}, and the same command"):
        train(config(), out)
    (out / "done").unlink()
    assert train(config(), out) == summary
    assert (out / name).read_bytes() == kept


def test_an_older_end_without_digests_is_taken_and_said(tmp_path, capsys) -> None:
    out = tmp_path / "run"
    arguments = ["--model", "mlp", "--rounds", "1", "--quiet", "--out", str(out)]
    assert main(arguments) == 0
    assert not capsys.readouterr().err
    content = json.loads((out / "done").read_text())
    assert content.pop("files").keys() >= {"metrics.jsonl", "model.safetensors"}
    (out / "done").write_text(json.dumps(content))
    assert main(arguments) == 0
    said = capsys.readouterr().err
    assert "without digests" in said and said.count("\n") == 1
    kept = (out / "bytes.json").read_bytes()
    (out / "bytes.json").write_bytes(b"\xff")
    assert "bytes.json: not a text" in refused(capsys, "--out", str(out))
    (out / "bytes.json").write_bytes(kept)
    (out / "model.safetensors").unlink()
    assert "model.safetensors is missing" in refused(capsys, "--out", str(out))


@pytest.mark.parametrize(
    "lie",
    [
        {"test_accuracy": "high"}, {"test_loss": None}, {"rounds": 1.5},
        {"rounds": True}, {"diverged": "no"}, {"diverged": None}, {"files": 3},
        {"files": {}}, {"files": {"../../etc/passwd": "x"}}, {"test_accuracy": [1]},
    ],
)  # fmt: skip
def test_a_summary_of_other_types_is_refused_in_a_line(lie, tmp_path, capsys) -> None:
    out = tmp_path / "run"
    assert main(["--model", "mlp", "--rounds", "1", "--quiet", "--out", str(out)]) == 0
    capsys.readouterr()
    content = json.loads((out / "done").read_text())
    (out / "done").write_text(json.dumps(content | lie))
    assert "no summary of this run" in refused(capsys, "--out", str(out))


def test_a_lock_is_never_a_users_file(tmp_path) -> None:
    thesis = tmp_path / "thesis"
    thesis.write_text("all of it")

    def own(lock: Path) -> None:
        lock.write_text("all of it")

    def link(lock: Path) -> None:
        lock.symlink_to(thesis)

    def dangling(lock: Path) -> None:
        lock.symlink_to(tmp_path / "new")

    for k, plant in enumerate((own, link, dangling, Path.mkdir, os.mkfifo)):
        for claimed in (False, True):
            out = tmp_path / f"run{k}{claimed}"
            if claimed:
                train(config(), out)
                (out / "lock").unlink()
            else:
                out.mkdir()
            plant(out / "lock")
            with pytest.raises(RunError, match="lock"):
                train(config(), out)
            assert os.path.lexists(out / "lock")
            assert claimed or [p.name for p in out.iterdir()] == ["lock"]
            if plant is own:
                assert (out / "lock").read_text() == "all of it"
    assert thesis.read_text() == "all of it"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("text", ["", "123\n"])
def test_a_lock_that_was_there_before_the_run_is_not_written_to(text, tmp_path) -> None:
    """It may be what a killed process left, or a user's empty file."""
    (tmp_path / "lock").write_text(text)
    train(config(), tmp_path)
    assert (tmp_path / "lock").read_text() == text


def test_a_log_is_never_written_through_a_link(tmp_path) -> None:
    out, thesis = tmp_path / "run", tmp_path / "thesis"
    thesis.write_text("")
    train(config(), out)
    for name in ("metrics.jsonl", "speed.jsonl"):
        (out / "done").unlink(missing_ok=True)
        kept = (out / name).read_bytes()
        (out / name).unlink()
        (out / name).symlink_to(thesis)
        with pytest.raises(RunError, match=name):
            train(config(), out)
        (out / name).unlink()
        (out / name).write_bytes(kept)
    assert thesis.read_text() == ""


RESNET = ["--model", "resnet18", "--width", "0.03125", "--depth", "1", "--quiet"]
ALONE = [*RESNET, "--clients", "1", "--rounds", "1", "--batch-size", "359"]


def test_a_mini_batch_of_one_is_refused_before_the_training(tmp_path, capsys) -> None:
    """1437 = 4 * 359 + 1, and the images of digits shrink to one pixel."""
    said = refused(capsys, *ALONE, "--out", str(tmp_path / "bad"))
    assert "client 0 has 1437 samples and so a mini-batch of one" in said
    assert not (tmp_path / "bad").exists()
    for more in (["--norm", "group"], ["--tau", "4"], ["--batch-size", "360"]):
        assert main([*ALONE, *more, "--out", str(tmp_path / more[0])]) == 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("preset = ['paper']", "--preset: expected one of"),
        ("out = 5", "--out: expected str, got 5"),
        ("quiet = 1", "--quiet: expected bool, got 1"),
    ],
)
def test_a_file_with_wrong_types_is_told_in_a_line(line, words, tmp_path, capsys):
    file = tmp_path / "run.toml"
    file.write_text(line)
    assert words in refused(capsys, "--config", str(file))


def test_a_file_may_ask_for_silence(tmp_path) -> None:
    file = tmp_path / "run.toml"
    out = tmp_path / "öü 日本"
    file.write_text(f'quiet = true\nmodel = "mlp"\nrounds = 1\nout = "{out}"\n')
    assert main(["--config", str(file)]) == 0
    assert json.loads((out / "done").read_text())["rounds"] == 1
