"""Protects users from what malformed input may do, in any command (`tests/fuzz`)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def fuzzed(count: int, seed: int, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the attack in a process of its own, whose limits are then its own."""
    return subprocess.run(
        [sys.executable, "tests/fuzz/drive.py", "--count", str(count), "--seed",
         str(seed), *more],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def test_some_malformed_inputs_do_no_harm() -> None:
    done = fuzzed(60, 0, "--jobs", "1")
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert "60 inputs, 0 bad" in done.stdout


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(1_500, marks=pytest.mark.long),
        pytest.param(10_000, marks=pytest.mark.whole),
    ],
)
def test_many_malformed_inputs_do_no_harm(count: int) -> None:
    done = fuzzed(count, 1)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert f"{count} inputs, 0 bad" in done.stdout
    refused = [
        int(row.split("|")[column])
        for column in [_column(done.stdout, "refused")]
        for row in re.findall(r"^\| `.*$", done.stdout, re.MULTILINE)
    ]
    assert sum(refused) > count / 2, "the inputs are not malformed enough"


def _column(table: str, name: str) -> int:
    (head,) = re.findall(r"^\| command .*$", table, re.MULTILINE)
    return [cell.strip() for cell in head.split("|")].index(name)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("raise RuntimeError('x')", "RuntimeError: x"),
        ("import sys; sys.exit(3)", "status 3"),
        ("import sys; print('a\\nb', file=sys.stderr); sys.exit(2)", "in one line"),
        ("import sys; sys.exit(2)", "in one line"),
        ("import sys; print('x Warning', file=sys.stderr); return 0", "a Warning"),
        ("open('user/thesis.txt', 'w').write('gone'); return 0", "changed"),
        ("import os; os.unlink('user/thesis.txt'); return 0", "changed"),
        ("import os; os.kill(os.getpid(), 9)", "died or hung"),
        ("b = bytearray(1 << 33); return 0", "MemoryError"),
    ],
)
def test_the_attack_sees_each_kind_of_harm(fault, words, tmp_path) -> None:
    """A command that does harm is planted; its inputs have to come out bad."""
    planted = tmp_path / "planted.py"
    planted.write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(ROOT / 'tests/fuzz')!r})\n"
        "import commands, drive\n"
        f"def harm(line):\n    {fault}\n"
        "class Planted(commands.Command):\n"
        "    main = property(lambda self: harm)\n"
        "    options = property(lambda self: [])\n"
        "drive.COMMANDS = commands.COMMANDS = (Planted('planted', [('x',)]),)\n"
        "drive._warm = lambda: None\n"
        "drive.stock = lambda user: ((user / 'thesis.txt').write_text('all'),\n"
        "    [(user / n).write_text('') for n in ('pipe', 'socket')])\n"
        "sys.exit(drive.main())\n"
    )
    done = subprocess.run(
        [sys.executable, str(planted), "--count", "2", "--jobs", "1"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr[-2000:]
    assert words in done.stdout
    assert "2 inputs, 2 bad" in done.stdout
