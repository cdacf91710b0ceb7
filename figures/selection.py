"""Which figures a command is about, and the options that all commands share."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from figures.figure import Figure
from figures.papers import BY_KEY, FIGURES
from figures.scale import PRESETS, SEEDS, Preset
from sfl_theory.command import CommandError, Parser

MOST_SEEDS = 1000


def add_preset(parser: Parser) -> None:
    """Add ``--preset``, ``--seeds`` and ``--runs``.

    Args:
        parser: of a sub-command.
    """
    parser.add_argument(
        "--preset",
        choices=tuple(PRESETS),
        default="cpu",
        help="the papers' sizes, or one for two cores (default: cpu)",
    )
    parser.add_argument(
        "--seeds",
        type=_seeds,
        metavar="FIRST-LAST",
        help="of the runs behind every curve (default: "
        f"{SEEDS[0]}-{SEEDS[-1]}); more decide more claims",
    )
    parser.add_argument(
        "--runs",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help="folder of all run folders (default: runs)",
    )


def add_keys(parser: Parser) -> None:
    """Add ``KEY...`` and ``--all``.

    Args:
        parser: of a sub-command.
    """
    parser.add_argument(
        "keys", nargs="*", metavar="KEY", help="figure or table, see list"
    )
    parser.add_argument("--all", action="store_true", help="every figure and table")


def chosen(options: argparse.Namespace) -> tuple[Figure, ...]:
    """Return the figures that ``KEY...`` or ``--all`` name.

    Args:
        options: parsed.

    Returns:
        Figures in the order given, each once.

    Raises:
        CommandError: if none or both are given, or a key is unknown.
    """
    if options.all:
        if options.keys:
            raise CommandError("--all: leave out the keys, or --all")
        return FIGURES
    if not options.keys:
        raise CommandError("expected a KEY as 'list' shows them, or --all")
    return tuple(BY_KEY[_known(key)] for key in dict.fromkeys(options.keys))


def _known(key: str) -> str:
    if key in BY_KEY:
        return key
    raise CommandError(f"unknown figure {key!r}; {_hint(key, tuple(BY_KEY))}")


def _hint(key: str, keys: Sequence[str]) -> str:
    of_number = [one for one in keys if one.rpartition("/")[2] == key]
    near = of_number or difflib.get_close_matches(key, keys, 4, 0.6)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return "'python -m figures list' shows all"


def preset(options: argparse.Namespace) -> Preset:
    """Return the preset asked for, with the seeds asked for."""
    found = PRESETS[options.preset]
    return found if options.seeds is None else replace(found, seeds=options.seeds)


def _seeds(text: str) -> tuple[int, ...]:
    first, dash, last = text.partition("-")
    if not (dash and first.isdecimal() and last.isdecimal()):
        raise argparse.ArgumentTypeError(f"expected FIRST-LAST, like 0-4, not {text!r}")
    if int(first) >= int(last):
        raise argparse.ArgumentTypeError(
            f"{text}: at least two seeds, the first one first, or there is no interval"
        )
    if int(last) - int(first) >= MOST_SEEDS:
        raise argparse.ArgumentTypeError(f"{text}: at most {MOST_SEEDS} seeds")
    return tuple(range(int(first), int(last) + 1))
