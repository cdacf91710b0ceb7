"""What the README shows runs as shown."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, flags=re.DOTALL)


def run(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_python_blocks_run_in_order(tmp_path: Path) -> None:
    """Each Python block stands alone and prints what the text says."""
    blocks = [code for language, code in BLOCKS if language == "python"]
    outputs = [run([sys.executable, "-c", code], tmp_path) for code in blocks]
    assert len(blocks) == 5
    assert "noise and heterogeneity" in outputs[0]
    assert (tmp_path / "mine.npz").exists()
    assert "word='violated'" in outputs[2]
    assert "no_bounded_gradients" in outputs[3]
    assert blocks[4].count("\n") < 60
    assert outputs[4] == ""


def test_own_theorem_is_audited_by_the_commands_shown(tmp_path: Path) -> None:
    """The file as shown, the commands as shown, and the replay line that they print."""
    own = next(code for _, code in BLOCKS if "CLAIMS = " in code)
    (tmp_path / "mine.py").write_text(own)
    commands = [
        line.split("  #")[0].strip()
        for language, code in BLOCKS
        if language == "sh"
        for line in code.splitlines()
        if "--file" in line
    ]
    assert len(commands) == 2
    table, entry = (
        run([sys.executable, *shlex.split(line)[1:]], tmp_path) for line in commands
    )
    assert "1 proved, 1 refuted, 0 unproved" in table
    assert "status:    proved" in entry
    (replay,) = re.findall(r"^replay: +python (.*)$", entry, flags=re.M)
    assert run([sys.executable, *shlex.split(replay)], tmp_path) == entry


def test_theory_commands_run(tmp_path: Path) -> None:
    """The commands on theorems and constants print what they promise."""
    lines = [
        line.split("  #")[0].strip()
        for language, code in BLOCKS
        if language == "sh"
        for line in code.splitlines()
        if "sfl_theory" in line or line.startswith("echo")
    ]
    assert len(lines) == 7
    for line in lines:
        if line.startswith("echo"):
            content, target = line.removeprefix("echo ").split(" > ")
            (tmp_path / target).write_text(shlex.split(content)[0])
        else:
            words = shlex.split(line)
            assert run([sys.executable, *words[1:]], tmp_path)


@pytest.mark.parametrize("marker", ["run command", "test command"])
def test_the_two_commands_are_single_lines(marker: str) -> None:
    """Each makes its own virtual environment in one line that CI can extract."""
    block = README.split(f"<!-- {marker} -->\n```sh\n")[1].split("```")[0]
    assert block.count("\n") == 1
    assert block.startswith("python3 -m venv .venv && ")


def test_documented_compare_options_exist() -> None:
    """Options in the README's compare commands are options of the command."""
    from bounds.compare import _parser

    known = {
        option for action in _parser()._actions for option in action.option_strings
    }
    for language, code in BLOCKS:
        if language == "sh":
            for line in code.splitlines():
                if "bounds.compare" in line and "pip" not in line:
                    used = {w for w in shlex.split(line) if w.startswith("--")}
                    assert used <= known
