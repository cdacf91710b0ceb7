"""``python -m figures``: the papers' figures and tables, made, drawn and checked."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from sfl_theory.command import Parser, run

COMMANDS = {
    "list": ("figures.listing", "what there is, what it needs, what is made already"),
    "make": ("figures.making", "make the runs that are missing and draw"),
    "check": ("figures.checking", "test what the papers read off their figures"),
    "report": ("figures.reporting", "write one page with everything"),
}
"""Sub-commands: a module with ``add_arguments`` and ``work``, and its help."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: command line without the program's name; None: the real one.

    Returns:
        The exit status: 0, 1 if something could not be made, 2 for a mistake.
    """
    return run(_parser(), _work, arguments)


def _parser() -> Parser:
    parser = Parser(
        prog="python -m figures",
        description="Every figure and table of the three papers, from training runs.",
    )
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="|".join(COMMANDS), parser_class=Parser
    )
    for name, (module, words) in COMMANDS.items():
        import_module(module).add_arguments(
            commands.add_parser(name, help=words, description=f"{words.capitalize()}.")
        )
    return parser


def _work(options: argparse.Namespace) -> int:
    module, _ = COMMANDS[options.command]
    status: int = import_module(module).work(options)
    return status


if __name__ == "__main__":
    sys.exit(main())
