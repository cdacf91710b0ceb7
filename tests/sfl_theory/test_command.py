"""Protects: Ctrl-C ends a command as an interruption, whatever a library does."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable, Iterator

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
