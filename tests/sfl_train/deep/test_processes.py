"""Protects runs that are shared among processes: they give what one process gives."""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import sys
import tempfile
from pathlib import Path

import pytest
from safetensors.torch import load_file

from sfl_train.__main__ import main

SMALL = [
    "--model", "mlp", "--width", "0.125", "--clients", "5", "--rounds", "4",
    "--batch-size", "64", "--checkpoint-every", "1", "--quiet",
]  # fmt: skip


def together(arguments: list[str], size: int = 2) -> list[tuple[int, str]]:
    """Run the command as torchrun does; exit status and errors of every rank."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    fork, ended = multiprocessing.get_context("fork"), []
    with tempfile.TemporaryDirectory() as folder:
        errors = [Path(folder) / str(rank) for rank in range(size)]
        children = [
            fork.Process(target=_rank, args=(arguments, rank, size, port, errors[rank]))
            for rank in range(size)
        ]
        for child in children:
            child.start()
        for child, error in zip(children, errors, strict=True):
            child.join(120)
            child.kill()
            child.join()
            ended.append((child.exitcode, error.read_text()))
    return ended


def _rank(arguments: list[str], rank: int, size: int, port: int, error: Path) -> None:
    """Be one of the processes: torch is loaded, so a fork begins at once."""
    os.environ |= {
        "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
    }  # fmt: skip
    with error.open("w", buffering=1) as sys.stderr:
        sys.exit(main(arguments))


def records(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").open()]


def near(a, b, key: str = "") -> None:
    """Compare nested numbers, floats to rounding and all else exactly."""
    if isinstance(a, dict):
        assert a.keys() == b.keys(), key
        for name in a:
            near(a[name], b[name], f"{key}/{name}")
    elif isinstance(a, list):
        for x, y in zip(a, b, strict=True):
            near(x, y, key)
    elif isinstance(a, float):
        assert a == pytest.approx(b, rel=1e-3, abs=1e-6), key
    else:
        assert a == b, key


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(["--lifetime", "run", "--momentum", "0.9"], id="kept momentum"),
        pytest.param(
            ["--algorithm", "fedopt", "--participation", "0.6"],
            id="fedopt",
            marks=pytest.mark.long,
        ),
        pytest.param(
            ["--measure", "every=2", "--evaluation", "in-loop"],
            id="measured",
            marks=pytest.mark.long,
        ),
    ],
)
def test_two_processes_give_what_one_gives(more, tmp_path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    assert main([*SMALL, *more, "--out", str(one)]) == 0
    ended = together([*SMALL, *more, "--out", str(two)])
    assert [code for code, _ in ended] == [0, 0], ended
    near(records(one), records(two))
    wanted, found = (load_file(path / "model.safetensors") for path in (one, two))
    for name, tensor in wanted.items():
        assert (tensor - found[name]).abs().max() < 1e-5, name


@pytest.mark.long
def test_one_process_goes_on_where_two_stopped_and_back(tmp_path) -> None:
    """What clients' optimizers remember is gathered into the checkpoint."""
    more = ["--lifetime", "run", "--momentum", "0.9"]
    out, whole = tmp_path / "run", tmp_path / "whole"
    assert main([*SMALL, *more, "--out", str(whole)]) == 0
    ended = together([*SMALL, *more, "--out", str(out)])
    assert [code for code, _ in ended] == [0, 0], ended
    newest = sorted((out / "checkpoint").iterdir())
    newest[-1].unlink()
    (out / "done").unlink()
    lines = (out / "metrics.jsonl").read_text().splitlines(keepends=True)
    (out / "metrics.jsonl").write_text("".join(lines[:-1]))
    assert main([*SMALL, *more, "--out", str(out)]) == 0
    near(records(whole), records(out))


@pytest.mark.long
def test_what_cannot_be_shared_is_refused_by_all(tmp_path) -> None:
    arguments = [*SMALL, "--algorithm", "sfl-v2", "--out", str(tmp_path / "run")]
    for code, said in together(arguments):
        assert code == 2
        assert "cannot be shared among processes" in said
