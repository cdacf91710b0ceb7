"""Protects every option of every command from files and values that are none."""

from __future__ import annotations

import shutil
import signal
import sys
from importlib import import_module
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "fuzz"))

from commands import COMMANDS, TINY
from test_user_files import KINDS, extraordinary

from sfl_train.arrays import ARRAYS

PATIENCE = 30
"""Seconds after which a command counts as hanging."""


@pytest.fixture(autouse=True)
def in_time(tmp_path, monkeypatch):
    """A command that waits for a pipe fails, and does not wait for ever."""
    monkeypatch.chdir(tmp_path)

    def late(*_) -> None:
        raise TimeoutError("the command hangs")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)


def refused(capsys, module: str, *line: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        import_module(module).main(list(line))
    said = capsys.readouterr()
    assert stopped.value.code == 2
    assert said.err.count("\n") == 1, said.err
    assert not said.out
    return said.err


def all_options():
    for command in COMMANDS:
        if not command.module.endswith("replay"):
            for one in command.options:
                yield pytest.param(
                    command, one.option_strings[-1], id=f"{command.name} {one.dest}"
                )


@pytest.mark.parametrize(("command", "option"), [*all_options()])
def test_two_hyphens_are_no_value_of_any_option(command, option, capsys) -> None:
    """argparse takes them for the end of options, and then stumbles."""
    verb = [command.verb] if command.verb else []
    assert option in refused(capsys, command.module, *verb, f"{option}=--")


COMPARE = ("--theorem", "3.7", "--quiet", "--out", "o")
EVALUATE = ("evaluate", "3.7", "--case", "non_convex", "--rounds", "1")
READS = {
    "sfl_train --config": ("sfl_train.__main__", "--config", "{}"),
    "sfl_train --partition": (
        "sfl_train.__main__", *TINY, "--out", "o", "--partition", "file:{}",
    ),
    "compare --problem": ("bounds.compare", *COMPARE, "--problem", "quadratic:{}"),
    "compare --partition": (
        "bounds.compare", *COMPARE, "--problem", "softmax:digits",
        "--partition", "file:{}",
    ),
    "audit --file": ("bounds.audit", "--file", "{}"),
    "evaluate --constants": ("sfl_theory.__main__", *EVALUATE, "--constants", "{}"),
}  # fmt: skip
"""Every option that names a file to be read."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("option", READS)
def test_only_ordinary_files_are_read(option, kind, tmp_path, capsys) -> None:
    path, words = extraordinary(tmp_path)[kind]
    module, *line = (word.replace("{}", str(path)) for word in READS[option])
    assert words in refused(capsys, module, *line)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A finished and measured run."""
    from sfl_train.__main__ import main

    out = tmp_path_factory.mktemp("runs") / "run"
    measured = ("--measure", "every=1", "--tau", "1", "--out", str(out))
    assert main([*TINY, *measured]) == 0
    return out


@pytest.mark.parametrize("kind", ["device", "device by a link", "pipe", "socket"])
@pytest.mark.parametrize("name", ["config.json", "done", "metrics.jsonl"])
def test_in_a_run_folder_too(name, kind, run, tmp_path, capsys) -> None:
    path, words = extraordinary(tmp_path)[kind]
    shutil.copytree(run, "run")
    Path("run", name).unlink()
    Path("run", name).symlink_to(path)
    assert words in refused(capsys, "bounds.compare", *COMPARE, "--run", "run")


@pytest.mark.parametrize("kind", sorted({*KINDS} - {"folder", "null"}))
def test_a_run_is_a_folder_of_a_run(kind, tmp_path, capsys) -> None:
    path, _ = extraordinary(tmp_path)[kind]
    said = refused(capsys, "bounds.compare", *COMPARE, "--run", str(path))
    assert "--run: " in said


def test_a_file_larger_than_the_limit_is_not_read(tmp_path, capsys) -> None:
    """Sparse files of a gibibyte and more: nothing of them lies on the disk."""
    large = tmp_path / "large"
    with large.open("wb") as stream:
        stream.truncate(ARRAYS + 1)
    for words in READS.values():
        module, *line = (word.replace("{}", str(large)) for word in words)
        assert "is larger than" in refused(capsys, module, *line)


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = " + "{b=" * 5000])
def test_toml_that_is_nested_deeply_is_one_line(text, tmp_path, capsys) -> None:
    (tmp_path / "deep.toml").write_text(text)
    assert "--config: deep.toml:" in refused(
        capsys, "sfl_train.__main__", "--config", "deep.toml"
    )


OUTPUTS = {
    "sfl_train --out": ("sfl_train.__main__", *TINY, "--out", "{}"),
    "compare --out": ("bounds.compare", "--theorem", "3.7", "--out", "{}"),
    "compare --json": ("bounds.compare", *COMPARE, "--json", "{}"),
    "compare --csv": ("bounds.compare", *COMPARE, "--csv", "{}"),
    "audit --json": ("bounds.audit", "--claim", "han2024/eq-2", "--json", "{}"),
    "audit --html": ("bounds.audit", "--claim", "han2024/eq-2", "--html", "{}"),
    "audit --proofs": ("bounds.audit", "--claim", "han2024/eq-2", "--proofs", "{}"),
    "worst_case --json": ("bounds.worst_case", "--quiet", "--json", "{}"),
    "worst_case --out": ("bounds.worst_case", "--quiet", "--out", "{}"),
    "worst_case --proof": ("bounds.worst_case", "--quiet", "--proof", "{}"),
    "make --out": ("figures.__main__", "make", "--all", "--draw-only", "--out", "{}"),
    "make --runs": ("figures.__main__", "make", "--all", "--draw-only", "--runs", "{}"),
    "check --json": ("figures.__main__", "check", "--all", "--json", "{}"),
    "report --html": ("figures.__main__", "report", "--html", "{}"),
}


NO_TARGETS = (
    "long name", "below a file", "device", "pipe", "link to itself", "link to nothing",
)  # fmt: skip


@pytest.mark.parametrize("kind", NO_TARGETS)
@pytest.mark.parametrize("option", OUTPUTS)
def test_an_impossible_target_is_refused_before_the_work(
    option, kind, tmp_path, capsys
) -> None:
    path, _ = extraordinary(tmp_path)[kind]
    module, *line = (word.replace("{}", str(path)) for word in OUTPUTS[option])
    refused(capsys, module, *line)


TWICE = {
    "audit --file": ("bounds.audit", "--file", "one", "--json", "./one"),
    "audit --html": ("bounds.audit", "--html", "one", "--latex", "one"),
    "compare --problem": (
        "bounds.compare", *COMPARE, "--problem", "quadratic:one", "--json", "one",
    ),
    "compare --partition": (
        "bounds.compare", *COMPARE, "--problem", "softmax:digits",
        "--partition", "file:one", "--csv", "one",
    ),
    "compare --json": ("bounds.compare", *COMPARE, "--csv", "one", "--json", "link"),
    "worst_case --json": ("bounds.worst_case", "--json", "one", "--proof", "one"),
}  # fmt: skip
"""A file that two options of a line name: what is written would be lost, or read."""


@pytest.mark.parametrize("line", TWICE)
def test_a_target_is_no_other_file_of_the_line(line, tmp_path, capsys) -> None:
    (tmp_path / "one").write_text("mine")
    (tmp_path / "link").symlink_to("one")
    said = refused(capsys, *TWICE[line])
    assert f"is the file of {line.split()[1]}, too" in said
    assert (tmp_path / "one").read_text() == "mine"


def test_a_target_is_no_folder_of_another_one(capsys) -> None:
    for first, second in (("out", "out/a"), ("out/a", "out")):
        line = ("--claim", "han2024/eq-2", "--json", first, "--proofs", second)
        assert "--proofs" in refused(capsys, "bounds.audit", *line)
    assert not Path("out").exists()
