"""Protects: Ctrl-C ends a command as an interruption, a full disk in one line."""

from __future__ import annotations

import argparse
import errno
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sfl_theory.command import CommandError, Parser, run


def _swallowed(_: argparse.Namespace) -> int:
    """Do as compiled code that asks Python for a number and is interrupted there."""
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise TypeError("incompatible function arguments") from None
    return 0


def _misread(_: argparse.Namespace) -> int:
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise CommandError("--out: not a number") from None
    return 0


def _plain(_: argparse.Namespace) -> int:
    signal.raise_signal(signal.SIGINT)
    return 0


@pytest.fixture
def before() -> Iterator[object]:
    """How Ctrl-C is heard before a command, also where these tests hear none."""
    found = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, found)


@pytest.mark.parametrize("work", [_swallowed, _misread, _plain])
def test_an_interruption_ends_as_one(
    work: Callable[[argparse.Namespace], int],
    capsys: pytest.CaptureFixture[str],
    before: object,
) -> None:
    assert run(Parser(prog="p"), work, []) == 130
    assert capsys.readouterr().err == "p: interrupted\n"
    assert signal.getsignal(signal.SIGINT) is before


def test_a_fault_without_an_interruption_stays_a_fault(before: object) -> None:
    def work(_: argparse.Namespace) -> int:
        raise TypeError("incompatible function arguments")

    with pytest.raises(TypeError, match="incompatible"):
        run(Parser(prog="p"), work, [])
    assert signal.getsignal(signal.SIGINT) is before


def test_a_command_that_hears_no_signals_goes_on_hearing_none() -> None:
    """Started in the background by a shell, a command is not to be interrupted."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert run(Parser(prog="p"), _plain, []) == 0
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full disk to be had")
@pytest.mark.parametrize("module", ["sfl_theory show 3.5", "bounds", "sfl_theory list"])
def test_a_full_disk_is_one_line(module: str) -> None:
    """Standard output may fail at the end of the process only, when it is flushed."""
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", *module.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert "No space left" in ended.stderr


def test_only_a_full_disk_is_told_in_a_line() -> None:
    def work(_: argparse.Namespace) -> int:
        raise OSError(errno.EBADF, "Bad file descriptor")

    with pytest.raises(OSError, match="Bad file"):
        run(Parser(prog="p"), work, [])


def test_a_file_that_a_full_disk_did_not_take_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def work(_: argparse.Namespace) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", "out.json")

    with pytest.raises(SystemExit) as ended:
        run(Parser(prog="p"), work, [])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "p: error: out.json: No space left on device\n"
